/* launch_golden_test.c - what earlier versions left in the directories of their jobs is read as
 * what it says (test/golden/README.md), and what a later one might leave is one sentence. */
#include "client/client_files_testing.h"
#include "client/past_job.h"
#include "job/engine/state.h"
#include "terminal/format.h"

#define GOLDEN YDL_SOURCE_DIR "/test/golden/0.1.0-5c3a05b/"

static const struct {
    const char *dir, *id, *name, *state;
    int64_t exit, restarts, ended;
} jobs[] = {
    { GOLDEN "local/local-20261118-003303-1365f9", "local-20261118-003303-1365f9", "ended",
      "SUCCEEDED", 0, 0, 1794961983209 },
    { GOLDEN "local/local-20261118-003730-646da2", "local-20261118-003730-646da2", "restarted",
      "SUCCEEDED", 0, 1, 0 },
    { GOLDEN "local/local-20261118-003303-279004", "local-20261118-003303-279004", "failed",
      "FAILED", 7, 0, 1794961983335 },
    { GOLDEN "yarn/application_1794962330713_0001", "application_1794962330713_0001", "taken-over",
      "SUCCEEDED", 0, 0, 1794962954484 },
};

static void assert_told(const json_t *v, size_t i)
{
    assert_string_equal(format_text(v, "job"), jobs[i].id);
    assert_string_equal(format_text(v, "name"), jobs[i].name);
    assert_string_equal(format_text(v, "user"), "alice");
    assert_string_equal(format_text(v, "state"), jobs[i].state);
    assert_int_equal(json_int_or(v, "exit", -1), jobs[i].exit);
    assert_null(json_object_get(v, "lost"));
    if (jobs[i].ended)
        assert_int_equal(json_int_or(v, "ended", -1), jobs[i].ended);
}

static void jobs_of_earlier_versions_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        AUTO_FS_SET *set = NULL;
        struct past p = { .id = jobs[i].id, .fs = local_files(&set), .dir = (char *)jobs[i].dir };
        AUTO_JSON *full = NULL;
        AUTO_JSON *brief = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(past_status(&p, true, &full, &err), 0);
        assert_int_equal(past_summary(&p, &brief, &err), 0);
        assert_told(full, i);
        assert_told(brief, i);
        assert_int_equal(json_int_or(full, "restarts", -1), jobs[i].restarts);
        assert_int_equal(json_array_size(json_object_get(full, "tasks")), 2);
    }
}

static int count_line(void *arg, const char *line, size_t n)
{
    unsigned *lines = arg;

    (void)line;
    (void)n;
    (*lines)++;
    return 0;
}

/* Its second master began with all that the first had written. */
static void each_record_of_a_job_that_was_taken_over_is_read_once(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past p = { .id = jobs[3].id, .fs = local_files(&set), .dir = (char *)jobs[3].dir };
    unsigned lines = 0;

    (void)state;
    assert_int_equal(past_events(&p, count_line, &lines, NULL), 0);
    assert_int_equal(lines, 35);
}

static void a_log_of_a_later_version_is_one_sentence(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past p = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *full = NULL;
    AUTO_JSON *brief = NULL;
    struct err err = ERR_INIT;
    unsigned lines = 0;

    put(*state, "job.json",
        "{\"format\":2,\"id\":\"local-1\",\"name\":\"m\",\"user\":\"me\",\"more\":[]}");
    put(*state, "events.jsonl",
        "{\"seq\":0,\"t\":1,\"event\":\"job\",\"state\":\"NEW\",\"format\":2,\"job\":\"local-1\"}\n"
        "{\"seq\":1,\"t\":2,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0}\n");
    assert_int_equal(past_status(&p, true, &full, &err), -EPROTONOSUPPORT);
    assert_string_equal(err.text, "read the events log of local-1: the events log: version 2 is "
                                  "newer than this ydl understands (1)");
    assert_int_equal(past_events(&p, count_line, &lines, NULL), -EPROTONOSUPPORT);
    assert_int_equal(lines, 0);
    /* A list shows what it can. */
    assert_int_equal(past_summary(&p, &brief, &err), 0);
    assert_string_equal(format_text(brief, "name"), "m");
    assert_string_equal(format_text(brief, "state"), "SUCCEEDED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_earlier_versions_are_read),
        cmocka_unit_test(each_record_of_a_job_that_was_taken_over_is_read_once),
        cmocka_unit_test_setup_teardown(a_log_of_a_later_version_is_one_sentence, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
