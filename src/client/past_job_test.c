/* past_job_test.c - see past_job.h */
#include "base/buf.h"
#include "base/str.h"
#include "client/client_files_testing.h"
#include "client/past_job.h"
#include "terminal/format.h"
#include "terminal/story.h"

#include <string.h>

#define BEGINNING                                                                                  \
    "{\"seq\":0,\"t\":1000,\"event\":\"job\",\"state\":\"NEW\",\"job\":\"local-1\",\"name\":"      \
    "\"m\","                                                                                       \
    "\"roles\":[{\"name\":\"w\",\"count\":1,\"procs\":1}]}\n"                                      \
    "{\"seq\":1,\"t\":1500,\"event\":\"job\",\"state\":\"RUNNING\"}\n"
#define END                                                                                        \
    "{\"seq\":2,\"t\":3000,\"event\":\"end\",\"state\":\"FAILED\",\"exit\":3,\"whose\":\"w:0\"}\n"
#define FACTS "{\"id\":\"local-1\",\"name\":\"m\",\"user\":\"me\",\"created\":900}"

static void both_views_tell_the_end(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *full = NULL;
    AUTO_JSON *brief = NULL;
    struct err err = ERR_INIT;

    put(*state, "events.jsonl", BEGINNING "cut sho\n" END);
    put(*state, "job.json", FACTS);
    assert_int_equal(past_status(&d, true, &full, &err), 0);
    assert_int_equal(past_summary(&d, &brief, &err), 0);
    for (int i = 0; i < 2; i++) {
        const json_t *v = i ? brief : full;

        assert_string_equal(format_text(v, "job"), "local-1");
        assert_string_equal(format_text(v, "name"), "m");
        assert_string_equal(format_text(v, "user"), "me");
        assert_string_equal(format_text(v, "state"), "FAILED");
        assert_int_equal(json_int_or(v, "exit", -1), 3);
        assert_int_equal(json_int_or(v, "ended", -1), 3000);
        assert_null(json_object_get(v, "lost"));
    }
}

/* As earlier builds left it. */
static void the_end_counts_where_it_stands(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *v = NULL;

    put(*state, "events.jsonl",
        BEGINNING END "{\"seq\":3,\"t\":3100,\"event\":\"agent\",\"agent\":1,\"state\":\"lost\"}\n"
                      "{\"seq\":4,\"t\":3200,\"event\":\"note\",\"text\":\"late\"}\n");
    assert_int_equal(past_summary(&d, &v, NULL), 0);
    assert_int_equal(json_int_or(v, "exit", -1), 3);
    assert_int_equal(json_int_or(v, "ended", -1), 3000);
    assert_null(json_object_get(v, "lost"));
}

static void a_log_without_an_end_is_a_lost_job(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *full = NULL;
    AUTO_JSON *brief = NULL;
    struct err err = ERR_INIT;

    put(*state, "events.jsonl", BEGINNING "{\"seq\":2,\"t\":3000,\"event\":\"e");
    put(*state, "job.json", FACTS);
    assert_int_equal(past_status(&d, false, &full, &err), 0);
    assert_int_equal(past_summary(&d, &brief, &err), 0);
    for (int i = 0; i < 2; i++) {
        const json_t *v = i ? brief : full;

        assert_string_equal(format_text(v, "state"), "FAILED");
        assert_string_equal(format_text(v, "reason"), "its master was killed");
        assert_int_equal(json_int_or(v, "exit", -1), PAST_EXIT_LOST);
        assert_true(json_is_true(json_object_get(v, "lost")));
    }
}

static void nothing_at_all_is_no_trap(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *full = NULL;
    AUTO_JSON *brief = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(past_status(&d, true, &full, &err), 0);
    assert_int_equal(past_summary(&d, &brief, &err), 0);
    assert_string_equal(format_text(full, "state"), "FAILED");
    assert_string_equal(format_text(brief, "state"), "FAILED");
}

static void a_master_that_never_ran_has_a_story_too(void **state)
{
    static const struct past_end end = { .state = "FAILED",
                                         .reason = "User carol not found",
                                         .exit = PAST_EXIT_LOST,
                                         .lines = "failed 2 times\nUser carol not found\n",
                                         .hint = "make an account" };
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "a", .fs = local_files(&set), .dir = *state, .end = &end };
    AUTO_BUF text = { .max = MIB };
    AUTO_JSON *v = NULL;

    assert_int_equal(past_status(&d, true, &v, NULL), 0);
    assert_string_equal(format_text(v, "reason"), "User carol not found");
    assert_int_equal(story_text(v, NULL, &text), 0);
    assert_string_equal(buf_text(&text), "ydl: job a failed: User carol not found\n"
                                         "    failed 2 times\n"
                                         "    User carol not found\n"
                                         "  hint: make an account\n"
                                         "  logs: ydl logs a\n"
                                         "  next: ydl status a --tasks; ydl events a\n");
}

static void the_end_is_told_by_who_knows_it(void **state)
{
    static const struct past_end end = { "KILLED", "killed by root", PAST_EXIT_KILLED, 7000 };
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    struct err err = ERR_INIT;

    put(*state, "events-1.jsonl", BEGINNING);
    for (int i = 0; i < 3; i++) {
        AUTO_JSON *v = NULL;

        d.end = &end;
        d.runs = i == 2;
        assert_int_equal(i ? past_status(&d, true, &v, &err) : past_summary(&d, &v, &err), 0);
        if (d.runs) { /* nothing is made up */
            assert_string_equal(format_text(v, "state"), "RUNNING");
            assert_false(json_is_integer(json_object_get(v, "exit")));
            continue;
        }
        assert_string_equal(format_text(v, "state"), "KILLED");
        assert_string_equal(format_text(v, "reason"), "killed by root");
        assert_int_equal(json_int_or(v, "exit", -1), 143);
        assert_int_equal(json_int_or(v, "ended", -1), 7000);
    }
    put(*state, "events-2.jsonl", END); /* then nobody else is asked */
    d.runs = false;
    {
        AUTO_JSON *v = NULL;

        assert_int_equal(past_summary(&d, &v, &err), 0);
        assert_int_equal(json_int_or(v, "exit", -1), 3);
        assert_null(json_object_get(v, "lost"));
    }
}

/* As `status`, which has read all of the log. */
static void a_summary_knows_of_results_that_were_not_saved(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "a", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *v = NULL;

    put(*state, "events-1.jsonl",
        "{\"seq\":0,\"t\":5,\"event\":\"note\",\"unsaved\":true,\"text\":\"full\"}\n"
        "{\"seq\":1,\"t\":6,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0,"
        "\"unsaved\":true}\n");
    assert_int_equal(past_summary(&d, &v, NULL), 0);
    assert_int_equal(json_int_or(v, "exit", -1), 73);
}

static int collect(void *arg, const char *line, size_t n)
{
    return buf_add(arg, line, n);
}

static void parts_of_a_log_come_in_their_order(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_BUF all = { .max = 4096 };
    struct err err = ERR_INIT;

    put(*state, "events-10.jsonl", "f\n");
    put(*state, "events-1.jsonl", "a\nb\ncut sho"); /* its master was killed */
    put(*state, "events-2.jsonl", "c\nd\n");
    put(*state, "events-9.jsonl", "e\n");
    put(*state, "events-.jsonl", "x\n");
    put(*state, "events-0.jsonl", "x\n");
    put(*state, "events-x.jsonl", "x\n");
    put(*state, "events-3.json", "x\n");
    put(*state, "worker-0.out", "x\n");
    assert_int_equal(past_events(&d, collect, &all, &err), 0);
    assert_string_equal(buf_text(&all), "abcdef");
}

/* What a master writes after HDFS was away is part of the story, and the end may stand there. */
static void a_segment_after_one_that_broke_is_read(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *full = NULL;
    AUTO_JSON *brief = NULL;
    struct err err = ERR_INIT;

    put(*state, "events-1.jsonl", BEGINNING "{\"seq\":2,\"t\":30");
    put(*state, "events-1.1.jsonl", "");
    put(*state, "events-1.2.jsonl", END);
    put(*state, "events-1.10.jsonl", "");
    assert_int_equal(past_status(&d, true, &full, &err), 0);
    assert_int_equal(past_summary(&d, &brief, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(json_int_or(i ? brief : full, "exit", -1), 3);
        assert_int_equal(json_int_or(i ? brief : full, "ended", -1), 3000);
        assert_null(json_object_get(i ? brief : full, "lost"));
    }
}

/* The state is read from the last summary on; the events are all shown, and the summary is not. */
static void a_summary_stands_for_what_is_before_it(void **state)
{
#define SUM(what) "{\"t\":2000,\"event\":\"summary\",\"what\":" what "}\n"
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *v = NULL;
    AUTO_BUF all = { .max = 4096 };
    struct err err = ERR_INIT;

    put(*state, "events-1.jsonl", "{\"seq\":0,\"event\":\"restart\"}\n");
    put(*state, "events-1.1.jsonl",
        SUM("\"job\",\"state\":\"RUNNING\",\"restarts\":720,\"created\":1000,"
            "\"roles\":[{\"name\":\"w\",\"count\":1,\"procs\":1}]")
            SUM("\"task\",\"task\":\"w:0\",\"state\":\"RUNNING\",\"attempt\":720,\"since\":1500")
                SUM("\"end\",\"records\":3") "{\"seq\":1,\"event\":\"restart\"}\n");
    assert_int_equal(past_status(&d, true, &v, &err), 0);
    assert_int_equal(json_int_or(v, "restarts", -1), 721);
    assert_int_equal(json_int_or(v, "created", -1), 1000);
    assert_int_equal(json_int_or(json_array_get(json_object_get(v, "tasks"), 0), "attempt", -1),
                     720);
    assert_int_equal(past_events(&d, collect, &all, &err), 0);
    assert_string_equal(buf_text(&all), "{\"seq\":0,\"event\":\"restart\"}"
                                        "{\"seq\":1,\"event\":\"restart\"}");
#undef SUM
}

/* Whoever begins with a summary has to find out there that the log is newer. */
static void a_summary_of_a_newer_version_is_not_guessed_at(void **state)
{
#define SUM(what) "{\"t\":2000,\"event\":\"summary\",\"what\":" what "}\n"
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    put(*state, "events-1.jsonl", "{\"seq\":0,\"event\":\"restart\"}\n");
    put(*state, "events-1.1.jsonl",
        SUM("\"job\",\"next\":1,\"state\":\"RUNNING\",\"format\":99") SUM("\"end\",\"records\":2"));
    assert_int_equal(past_status(&d, true, &v, &err), -EPROTONOSUPPORT);
#undef SUM
}

static void a_record_in_two_segments_counts_once(void **state)
{
    static const char first[] =
        BEGINNING "{\"seq\":2,\"t\":2000,\"event\":\"restart\",\"what\":\"gang\"}\n";
    static const char next[] = "{\"seq\":3,\"t\":2100,\"event\":\"master\",\"attempt\":2}\n";
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_FREE char *both = str_printf("%s%s", first, next);
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    assert_non_null(both);
    put(*state, "events-1.jsonl", first);
    put(*state, "events-2.jsonl", both);
    assert_int_equal(past_status(&d, true, &v, &err), 0);
    assert_int_equal(json_int_or(v, "restarts", -1), 1);
}

/* The first master was cut off, replaced, and wrote on when it was back. */
static void what_a_replaced_master_writes_does_not_count(void **state)
{
    static const char late[] = "{\"seq\":2,\"t\":2000,\"event\":\"restart\",\"what\":\"gang\"}\n"
                               "{\"seq\":3,\"t\":2000,\"event\":\"restart\",\"what\":\"gang\"}\n";
    static const char summed[] =
        "{\"t\":2000,\"event\":\"summary\",\"what\":\"job\",\"next\":3,\"state\":\"RUNNING\","
        "\"restarts\":7}\n"
        "{\"t\":2000,\"event\":\"summary\",\"what\":\"end\",\"records\":2}\n";
    static const char next[] = "{\"seq\":2,\"t\":2100,\"event\":\"master\",\"attempt\":2}\n"
                               "{\"seq\":3,\"t\":2200,\"event\":\"note\"}\n";
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "application_1_0001", .fs = local_files(&set), .dir = *state };
    AUTO_BUF all = { .max = 4096 };
    AUTO_JSON *v = NULL;
    AUTO_JSON *again = NULL;

    put(*state, "events-1.jsonl", BEGINNING);
    put(*state, "events-1.1.jsonl", late);
    put(*state, "events-2.jsonl", next);
    assert_int_equal(past_status(&d, true, &v, NULL), 0);
    assert_int_equal(json_int_or(v, "restarts", -1), 0);
    assert_int_equal(past_events(&d, collect, &all, NULL), 0);
    assert_null(strstr(buf_text(&all), "restart"));
    assert_non_null(strstr(buf_text(&all), "note"));
    put(*state, "events-1.2.jsonl", summed);
    assert_int_equal(past_status(&d, true, &again, NULL), 0);
    assert_int_equal(json_int_or(again, "restarts", -1), 0);
}

static int count(void *arg, const char *line, size_t n)
{
    (void)line;
    (void)n;
    return ++*(int *)arg == 3 ? 42 : 0;
}

static void a_reader_may_stop(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct past d = { .id = "local-1", .fs = local_files(&set), .dir = *state };
    struct err err = ERR_INIT;
    int n = 0;

    put(*state, "events.jsonl", "1\n2\n3\n4\n");
    assert_int_equal(past_events(&d, count, &n, &err), 42);
    assert_int_equal(n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_views_tell_the_end, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_end_counts_where_it_stands, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_log_without_an_end_is_a_lost_job, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(nothing_at_all_is_no_trap, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_master_that_never_ran_has_a_story_too, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_summary_knows_of_results_that_were_not_saved, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(the_end_is_told_by_who_knows_it, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(parts_of_a_log_come_in_their_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_segment_after_one_that_broke_is_read, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_summary_stands_for_what_is_before_it, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_summary_of_a_newer_version_is_not_guessed_at, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_record_in_two_segments_counts_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_replaced_master_writes_does_not_count, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_reader_may_stop, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
