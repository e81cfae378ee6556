/* stored_test.c - logs that earlier builds of ydl have written, as they wrote them: they are read
 * as what they say, alone and where a later master has repeated them. The files are also fuzz
 * corpora (those of engine_restore have a byte before them, so that the first record is cut off),
 * and nobody writes them again. */
#include "base/path.h"
#include "base/str.h"
#include "job/history.h"
#include "job/segment.h"
#include "test.h"

#include <string.h>

#define CORPUS YDL_SOURCE_DIR "/fuzz/corpus/"

static const struct {
    const char *path, *state;
    int64_t exit, restarts;
} stored[] = {
    { CORPUS "history/run0", "SUCCEEDED", 0, 0 },
    { CORPUS "history/run1", "SUCCEEDED", 0, 0 },
    { CORPUS "history/failed", "FAILED", 3, 2 },
    { CORPUS "engine_restore/fail", "FAILED", 3, 0 },
    { CORPUS "engine_restore/gang", "KILLED", 143, 1 },
    { CORPUS "engine_restore/long", "KILLED", 143, 1 },
    { CORPUS "engine_restore/plain", "KILLED", 143, 0 },
    { CORPUS "engine_restore/task", "KILLED", 143, 2 },
};

static void apply_all(struct history *h, struct segment_seen *seen, const struct buf *text)
{
    const char *at = (const char *)text->data, *end = at + text->len, *nl;

    for (; at < end && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL; at = nl + 1)
        if (!segment_seen_before(seen, at, (size_t)(nl - at)))
            assert_true(history_apply(h, at, (size_t)(nl - at), NULL) != -ENOMEM);
}

/* Read once, and once more as the beginning of a next segment. */
static void logs_of_earlier_builds_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        AUTO(history) struct history *h = NULL;
        AUTO_BUF text = { .max = MIB };
        struct segment_seen seen = { 0 };

        assert_int_equal(path_read(stored[i].path, &text, NULL), 0);
        assert_int_equal(history_new(&h, NULL), 0);
        for (int times = 0; times < 2; times++) {
            AUTO_JSON *doc = NULL;
            const char *said;

            apply_all(h, &seen, &text);
            assert_int_equal(history_json(h, 1, &doc, NULL), 0);
            said = json_string_value(json_object_get(doc, "state"));
            if (!str_eq(said, stored[i].state))
                fail_msg("%s: %s", stored[i].path, said);
            assert_int_equal(json_integer_value(json_object_get(doc, "exit")), stored[i].exit);
            assert_int_equal(json_integer_value(json_object_get(doc, "restarts")),
                             stored[i].restarts);
        }
    }
}

/* What a later build may add. */
static void what_a_later_build_adds_is_passed_over(void **state)
{
    static const char *const lines[] = {
        ("{\"seq\":0,\"t\":1,\"event\":\"job\",\"state\":\"NEW\",\"job\":\"j\",\"colour\":\"red\","
         "\"roles\":[{\"name\":\"w\",\"count\":1,\"procs\":1,\"shape\":{}}]}"),
        "{\"seq\":1,\"t\":2,\"event\":\"weather\",\"state\":\"RAIN\",\"task\":\"w:0\"}",
        "{\"seq\":2,\"t\":3,\"event\":\"task\",\"task\":\"w:0\",\"state\":\"DREAMING\"}",
        "{\"seq\":3,\"t\":4,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0,\"mood\":1}",
    };
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *doc = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_int_equal(history_apply(h, lines[i], strlen(lines[i]), NULL), 0);
    assert_int_equal(history_json(h, 1, &doc, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(doc, "state")), "SUCCEEDED");
    assert_int_equal(json_integer_value(json_object_get(doc, "exit")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_of_earlier_builds_are_read),
        cmocka_unit_test(what_a_later_build_adds_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
