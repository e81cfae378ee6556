/* history_test.c - events as lines, and a job's past read from them. */
#include "base/str.h"
#include "job/event.h"
#include "job/history.h"
#include "test.h"

#include <math.h>
#include <string.h>

static void a_record_is_one_line_of_json(void **state)
{
    static const uint16_t ports[] = { 1, 65535 };
    AUTO_BUF out = { .max = KIB };
    AUTO_JSON *metrics = json_object();
    struct event ev;

    (void)state;
    event_begin(&ev, &out, 7, 1763274830123, EVENT_TASK);
    event_str(&ev, "task", "worker:1");
    event_str(&ev, "left out", NULL);
    event_int(&ev, "least", INT64_MIN);
    event_num(&ev, "half", 0.5);
    event_num(&ev, "none", NAN);
    event_bool(&ev, "yes", 1);
    event_ports(&ev, "ports", ports, 2);
    event_json(&ev, "metrics", metrics);
    assert_int_equal(event_end(&ev), 0);
    assert_string_equal(buf_text(&out),
                        "{\"seq\":7,\"t\":1763274830123,\"event\":\"task\",\"task\":\"worker:1\","
                        "\"least\":-9223372036854775808,\"half\":0.5,\"none\":null,\"yes\":true,"
                        "\"ports\":[1,65535],\"metrics\":{}}\n");
}

static void any_bytes_become_valid_json(void **state)
{
    static const struct {
        const char *in;
        size_t n;
        const char *out;
    } rows[] = {
        { "a\"b\\c\n\t\r\x01", 9, "a\"b\\c\n\t\r\x01" },
        { "\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\xe2\x82\xac", 2, "\xef\xbf\xbd\xef\xbf\xbd" }, /* cut short */
        { "\xc2\x85", 2, "\xc2\x85" },
        { "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "a\0b", 3,
          "a\xef\xbf\xbd"
          "b" },
        { "\x7f", 1, "\x7f" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = KIB };
        AUTO_JSON *v = NULL;
        struct event ev;

        event_begin(&ev, &out, 0, 0, EVENT_NOTE);
        event_strn(&ev, "text", rows[i].in, rows[i].n);
        assert_int_equal(event_end(&ev), 0);
        assert_int_equal(json_parse("line", out.data, out.len, &v, NULL), 0);
        assert_string_equal(json_string_value(json_object_get(v, "text")), rows[i].out);
        assert_int_equal(out.data[out.len - 1], '\n');
        assert_null(memchr(out.data, '\n', out.len - 1));
    }
}

static void a_line_that_does_not_fit_leaves_nothing(void **state)
{
    AUTO_BUF out = { .max = 60 };
    struct event ev;

    (void)state;
    event_begin(&ev, &out, 0, 0, EVENT_NOTE);
    event_str(&ev, "text", "a text that is longer than the room there is");
    assert_int_equal(event_end(&ev), -E2BIG);
    assert_int_equal(out.len, 0);
}

static void classes_are_read_back_by_their_keys(void **state)
{
    enum fail_class c;

    (void)state;
    for (int i = 0; i < FAIL_CLASSES_; i++) {
        assert_int_equal(fail_from_key(fail_key((enum fail_class)i), &c), 0);
        assert_int_equal(c, i);
        assert_non_null(fail_name((enum fail_class)i));
    }
    assert_int_equal(fail_from_key("nonsense", &c), -EINVAL);
    for (int i = 0; i < EVENT_KINDS_; i++)
        assert_non_null(event_name((enum event_kind)i));
}

/* ---- history ---- */

#define ROLES_LINE                                                                                 \
    "{\"t\":5,\"event\":\"job\",\"state\":\"NEW\",\"job\":\"local-1\",\"name\":\"mnist\","         \
    "\"user\":\"me\",\"platform\":\"local\",\"framework\":\"mxnet\",\"roles\":[{\"name\":\"ps\","  \
    "\"count\":1,\"procs\":1},{\"name\":\"worker\",\"count\":2,\"procs\":1,\"decides\":true}]}"

static int apply(struct history *h, const char *line)
{
    return history_apply(h, line, strlen(line), NULL);
}

static char *shown(const struct history *h, int with_tasks)
{
    AUTO_JSON *doc = NULL;
    char *text;

    assert_int_equal(history_json(h, with_tasks, &doc, NULL), 0);
    text = json_dumps(doc, JSON_COMPACT);
    assert_non_null(text);
    return text;
}

/* Each container that a job ever had is an agent of its own. */
static void the_agents_of_a_long_job_are_known(void **state)
{
    AUTO(history) struct history *h = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    assert_int_equal(apply(h, ROLES_LINE), 0);
    assert_int_equal(apply(h, "{\"t\":6,\"event\":\"agent\",\"agent\":720000,\"node\":\"n9\"}"), 0);
    assert_int_equal(apply(h, "{\"t\":7,\"event\":\"task\",\"task\":\"worker:1\","
                              "\"state\":\"GRANTED\",\"agent\":720000}"),
                     0);
    text = shown(h, 1);
    assert_non_null(strstr(text, "\"node\":\"n9\""));
}

static void the_document_says_what_happened(void **state)
{
    static const char *const lines[] = {
        ROLES_LINE,
        "{\"t\":6,\"event\":\"agent\",\"agent\":3,\"node\":\"n1\",\"host\":\"10.0.0.1\"}",
        "{\"t\":7,\"event\":\"task\",\"task\":\"worker:1\",\"state\":\"GRANTED\",\"agent\":3}",
        "{\"t\":8,\"event\":\"task\",\"task\":\"worker:1\",\"state\":\"READY\",\"ports\":[9000]}",
        "{\"t\":9,\"event\":\"job\",\"state\":\"RUNNING\",\"generation\":2}",
        "{\"t\":10,\"event\":\"task\",\"task\":\"worker:1\",\"state\":\"RUNNING\",\"pid\":42,"
        "\"generation\":2,\"attempt\":1}",
        "{\"t\":11,\"event\":\"ready\",\"task\":\"worker:1\"}",
        "{\"t\":1000,\"event\":\"progress\",\"task\":\"worker:1\",\"step\":10,\"total\":100}",
        "{\"t\":2000,\"event\":\"progress\",\"task\":\"worker:1\",\"step\":20,\"total\":100,"
        "\"metrics\":{\"loss\":0.5}}",
    };
    AUTO(history) struct history *h = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_int_equal(apply(h, lines[i]), 0);
    text = shown(h, 1);
    assert_string_equal(
        text,
        "{\"job\":\"local-1\",\"name\":\"mnist\",\"user\":\"me\",\"platform\":\"local\","
        "\"framework\":\"mxnet\",\"state\":\"RUNNING\",\"reason\":null,\"generation\":2,"
        "\"restarts\":0,\"created\":5,\"started\":9,\"ended\":null,\"exit\":null,\"whose\":null,"
        "\"roles\":[{\"name\":\"ps\",\"count\":1,\"states\":{\"WAITING\":1},\"step\":null,"
        "\"total\":null},{\"name\":\"worker\",\"count\":2,\"states\":{\"WAITING\":1,\"RUNNING\":1},"
        "\"step\":20,\"total\":100}],\"tasks\":["
        "{\"task\":\"ps:0\",\"role\":\"ps\",\"rank\":0,\"state\":\"WAITING\",\"ready\":false,"
        "\"generation\":0,\"attempt\":0,\"agent\":null,\"node\":null,\"host\":null,\"ports\":[],"
        "\"pid\":null,\"since\":null,\"code\":null,\"class\":null,\"step\":0,\"total\":0,"
        "\"metrics\":null},"
        "{\"task\":\"worker:0\",\"role\":\"worker\",\"rank\":0,\"state\":\"WAITING\","
        "\"ready\":false,\"generation\":0,\"attempt\":0,\"agent\":null,\"node\":null,"
        "\"host\":null,\"ports\":[],\"pid\":null,\"since\":null,\"code\":null,\"class\":null,"
        "\"step\":0,\"total\":0,\"metrics\":null},"
        "{\"task\":\"worker:1\",\"role\":\"worker\",\"rank\":1,\"state\":\"RUNNING\","
        "\"ready\":true,\"generation\":2,\"attempt\":1,\"agent\":3,\"node\":\"n1\","
        "\"host\":\"10.0.0.1\",\"ports\":[9000],\"pid\":42,\"since\":10,\"code\":null,"
        "\"class\":null,\"step\":20,\"total\":100,\"metrics\":{\"loss\":0.5}}],"
        "\"story\":null,\"progress\":{\"step\":20,\"total\":100,\"eta_ms\":8000},\"unsaved\":"
        "null,\"missing\":null,\"published\":null}");
}

/* A job that succeeded has an exit code of its own then; one that failed keeps its task's. */
static void results_that_were_not_saved_change_the_exit_code(void **state)
{
    static const struct {
        const char *end;
        int exit;
    } rows[] = {
        { "{\"t\":5,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0}", HISTORY_UNSAVED_EXIT },
        { "{\"t\":5,\"event\":\"end\",\"state\":\"FAILED\",\"exit\":4}", 4 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(history) struct history *h = NULL;
        AUTO_JSON *v = NULL;

        assert_int_equal(history_new(&h, NULL), 0);
        assert_int_equal(apply(h, rows[i].end), 0);
        assert_int_equal(apply(h, "{\"event\":\"note\",\"text\":\"harmless\"}"), 0);
        assert_int_equal(apply(h, "{\"event\":\"note\",\"unsaved\":true,\"text\":\"full\"}"), 0);
        assert_int_equal(apply(h, "{\"event\":\"note\",\"unsaved\":true,\"text\":\"late\"}"), 0);
        assert_int_equal(history_json(h, 0, &v, NULL), 0);
        assert_int_equal(json_integer_value(json_object_get(v, "exit")), rows[i].exit);
        assert_string_equal(json_string_value(json_object_get(v, "unsaved")), "full");
    }
}

static void what_was_published_is_kept(void **state)
{
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *v = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    assert_int_equal(apply(h, "{\"event\":\"note\",\"text\":\"x\",\"published\":5}"), 0);
    assert_int_equal(apply(h, "{\"event\":\"note\",\"text\":\"x\","
                              "\"published\":{\"model\":\"m:3\"}}"),
                     0);
    assert_int_equal(history_json(h, 0, &v, NULL), 0);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(v, "published"), "model")), "m:3");
}

/* It may be told by several masters, one after the other; the exit code is not touched. */
static void output_that_is_missing_is_counted_once(void **state)
{
    static const char one[] = "{\"event\":\"note\",\"missing\":2,\"text\":\"output of a, b\"}";
    static const char two[] = "{\"event\":\"note\",\"missing\":1,\"text\":\"output of c\"}";
    AUTO(history) struct history *h = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_JSON *v = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    assert_int_equal(apply(h, one), 0);
    assert_int_equal(apply(h, two), 0);
    assert_int_equal(apply(h, one), 0);
    assert_int_equal(apply(h, "{\"t\":5,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0}"), 0);
    assert_int_equal(history_json(h, 0, &v, NULL), 0);
    text = json_dumps(json_object_get(v, "missing"), JSON_COMPACT);
    assert_string_equal(text, "{\"tasks\":3,\"texts\":[\"output of a, b\",\"output of c\"]}");
    assert_int_equal(json_integer_value(json_object_get(v, "exit")), 0);
}

static void a_line_cut_short_changes_nothing(void **state)
{
    static const char end[] = "{\"t\":9,\"event\":\"end\",\"state\":\"FAILED\",\"exit\":1}";
    AUTO(history) struct history *h = NULL;
    AUTO_FREE char *before = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    assert_int_equal(apply(h, ROLES_LINE), 0);
    before = shown(h, 1);
    for (size_t n = 0; n < sizeof(end) - 1; n++) {
        AUTO_FREE char *after = NULL;

        assert_int_equal(history_apply(h, end, n, NULL), -EINVAL);
        after = shown(h, 1);
        assert_string_equal(after, before);
    }
    assert_int_equal(apply(h, end), 0);
}

static void hostile_lines_do_no_harm(void **state)
{
    static const char *const lines[] = {
        "{\"event\":\"from the future\"}",
        "{\"event\":\"task\",\"task\":\"worker:99999999\",\"state\":\"RUNNING\"}",
        "{\"event\":\"task\",\"task\":\"worker:-1\",\"state\":\"RUNNING\"}",
        "{\"event\":\"task\",\"task\":\"nobody:0\",\"state\":\"RUNNING\"}",
        "{\"event\":\"task\",\"task\":7,\"state\":[]}",
        "{\"event\":\"task\",\"task\":\"worker:0\",\"state\":\"ASLEEP\"}",
        "{\"event\":\"agent\",\"agent\":999999999999,\"node\":\"x\"}",
        "{\"event\":\"agent\",\"agent\":-1,\"node\":\"x\"}",
        "{\"event\":\"job\",\"state\":9,\"roles\":{\"a\":1},\"name\":[1]}",
        "{\"event\":\"job\",\"roles\":[1,{\"name\":\"x\",\"count\":-1},{\"count\":2},"
        "{\"name\":\"y\",\"count\":20000,\"procs\":20000},{\"name\":\"worker\",\"count\":1}]}",
        "{\"event\":\"request\",\"what\":\"scale\",\"role\":\"worker\",\"count\":2000000000}",
        "{\"event\":\"request\",\"what\":\"scale\",\"role\":\"nobody\",\"count\":2}",
        "{\"event\":\"progress\",\"task\":\"worker:0\",\"step\":9223372036854775807,"
        "\"total\":-5,\"metrics\":[1]}",
        "{\"event\":\"story\"}",
        "{\"event\":\"restart\"}",
        "{\"event\":\"note\",\"text\":\"one\",\"missing\":9223372036854775807}",
        "{\"event\":\"note\",\"text\":\"two\",\"missing\":9223372036854775807}",
    };
    AUTO(history) struct history *h = NULL;
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(history_new(&h, NULL), 0);
    assert_int_equal(apply(h, "{\"t\":5,\"event\":\"summary\",\"what\":\"job\","
                              "\"restarts\":9223372036854775807}"),
                     0);
    assert_int_equal(apply(h, ROLES_LINE), 0);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_int_equal(apply(h, lines[i]), 0);
    assert_int_equal(apply(h, "[]"), -EINVAL);
    assert_int_equal(apply(h, "{\"event\":7}"), -EINVAL);
    text = shown(h, 0);
    assert_non_null(strstr(text, "\"roles\":[{\"name\":\"worker\",\"count\":1,"));
    assert_null(strstr(text, "\"tasks\":["));
    assert_non_null(strstr(text, "\"restarts\":1,"));
    assert_non_null(strstr(text, "\"missing\":{\"tasks\":0,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_one_line_of_json),
        cmocka_unit_test(any_bytes_become_valid_json),
        cmocka_unit_test(a_line_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(classes_are_read_back_by_their_keys),
        cmocka_unit_test(the_agents_of_a_long_job_are_known),
        cmocka_unit_test(the_document_says_what_happened),
        cmocka_unit_test(results_that_were_not_saved_change_the_exit_code),
        cmocka_unit_test(what_was_published_is_kept),
        cmocka_unit_test(output_that_is_missing_is_counted_once),
        cmocka_unit_test(a_line_cut_short_changes_nothing),
        cmocka_unit_test(hostile_lines_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
