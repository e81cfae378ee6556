/* story_test.c - see story.h */
#include "base/str.h"
#include "terminal/story.h"
#include "test.h"

#include <string.h>

static json_t *status_of(const char *text)
{
    struct err err = ERR_INIT;
    json_t *v = NULL;

    if (json_parse("test", text, strlen(text), &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

static void check_line(const char *status, const char *line)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO_JSON *v = status_of(status);

    assert_int_equal(story_line(v, &out), 0);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), line);
}

static void the_first_line_says_who_and_why(void **state)
{
    static const struct {
        const char *status, *line;
    } rows[] = {
        { "{\"job\":\"local-1\",\"name\":\"mnist\",\"state\":\"SUCCEEDED\",\"created\":1000,"
          "\"ended\":43500}",
          "job 'mnist' (local-1) succeeded in 42 s" },
        { "{\"job\":\"local-1\",\"state\":\"SUCCEEDED\"}", "job local-1 succeeded" },
        { "{\"job\":\"local-1\",\"state\":\"SUCCEEDED\",\"unsaved\":\"no\\u0007thing\"}",
          "job local-1 succeeded, but no\\x07thing" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"RUNNING\"}",
          "job 'm' (local-1) is running" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"KILLED\",\"reason\":\"stopped by me\"}",
          "job 'm' (local-1) was stopped by me" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":75,"
          "\"reason\":\"the gang was not formed in time\"}",
          "job 'm' (local-1) failed: the gang was not formed in time (exit code 75)" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":3}",
          "job 'm' (local-1) failed: exit code 3" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":3,"
          "\"tasks\":[{\"task\":\"ps:0\",\"node\":\"b\"},{\"task\":\"worker:1\",\"node\":\"a\"}],"
          "\"story\":{\"task\":\"worker:1\",\"class\":\"exit\",\"code\":3}}",
          "job 'm' (local-1) failed: worker:1 on a: exit code 3" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":1,"
          "\"story\":{\"task\":\"worker:1\",\"class\":\"exit\",\"code\":1,"
          "\"text\":\"ValueError: no\"}}",
          "job 'm' (local-1) failed: worker:1: ValueError: no (exit code 1)" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":139,"
          "\"story\":{\"task\":\"worker:1\",\"class\":\"signal\",\"signal\":11,\"code\":139}}",
          "job 'm' (local-1) failed: worker:1: ended by SIGSEGV (exit code 139)" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":190,"
          "\"story\":{\"task\":\"worker:1\",\"class\":\"signal\",\"signal\":62,\"code\":190}}",
          "job 'm' (local-1) failed: worker:1: ended by signal 62 (exit code 190)" },
        { "{\"job\":\"j\",\"state\":\"FAILED\",\"story\":{\"task\":\"w:1\",\"class\":\"signal\","
          "\"signal\":9,\"code\":137,\"text\":\"ended by signal 9 (SIGKILL)\"}}",
          "job j failed: w:1: ended by signal 9 (SIGKILL) (exit code 137)" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":137,"
          "\"story\":{\"task\":\"worker:3\",\"class\":\"memory\",\"code\":137,"
          "\"text\":\"used 2.1 GB of 2 GB\"}}",
          "job 'm' (local-1) failed: worker:3: out of memory: used 2.1 GB of 2 GB (exit code "
          "137)" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":3,"
          "\"story\":{\"task\":\"w:1\",\"class\":\"exit\",\"code\":3,"
          "\"text\":\"w:1 ended with exit code 3\"}}",
          "job 'm' (local-1) failed: w:1: ended with exit code 3" },
        { "{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":75,"
          "\"story\":{\"task\":\"w:1\",\"class\":\"node\",\"code\":75,"
          "\"text\":\"w:1: node lost\"}}",
          "job 'm' (local-1) failed: w:1: node lost (exit code 75)" },
        { "{\"job\":\"local-1\",\"name\":\"a\\u001b[2Jb\",\"state\":\"FAILED\",\"exit\":1,"
          "\"story\":{\"task\":\"w:0\",\"class\":\"new\",\"code\":1,\"text\":\"x\\ny\"}}",
          "job 'a\\x1b[2Jb' (local-1) failed: w:0: x\\ny (exit code 1)" },
        { "{}", "job  is " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_line(rows[i].status, rows[i].line);
}

static void a_failure_is_told_with_its_lines_hint_and_next_steps(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO_JSON *v = status_of("{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"FAILED\",\"exit\":1,"
                             "\"story\":{\"task\":\"w:0\",\"class\":\"exit\",\"code\":1,\"lines\":"
                             "\"one\\n 5%\\r 9%\\ntwo\\u001b[2J\\n\",\"hint\":\"look there\"}}");

    (void)state;
    assert_int_equal(story_text(v, "/logs", &out), 0);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), "ydl: job 'm' (local-1) failed: w:0: exit code 1\n"
                                        "    one\n"
                                        "     9%\n"
                                        "    two\n"
                                        "  hint: look there\n"
                                        "  logs: ydl logs local-1 w:0 (files in /logs)\n"
                                        "  next: ydl status local-1 --tasks; ydl events local-1\n");
}

static void only_the_last_lines_are_told(void **state)
{
    AUTO_BUF lines = { .max = 64 * KIB };
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO_JSON *v = NULL;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_printf(&lines, "line %d\n", i), 0);
    assert_non_null(buf_text(&lines));
    assert_int_equal(json_make(&v, NULL, "{s:s, s:s, s:{s:s, s:s, s:i}}", "job", "j", "state",
                               "FAILED", "story", "task", "w:0", "lines", buf_text(&lines), "code",
                               1),
                     0);
    assert_int_equal(story_text(v, NULL, &out), 0);
    assert_non_null(buf_text(&out));
    assert_null(strstr(buf_text(&out), "    line 79\n"));
    assert_non_null(strstr(buf_text(&out), "exit code 1\n    line 80\n"));
    assert_non_null(strstr(buf_text(&out), "    line 99\n"));
}

static void what_was_published_is_told(void **state)
{
    (void)state;
    check_line("{\"job\":\"local-1\",\"state\":\"SUCCEEDED\",\"published\":{\"model\":\"m:3\"}}",
               "job local-1 succeeded and published m:3");
}

static void a_success_is_one_line(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO_JSON *v = status_of("{\"job\":\"local-1\",\"name\":\"m\",\"state\":\"SUCCEEDED\"}");

    (void)state;
    assert_int_equal(story_text(v, "/logs", &out), 0);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), "ydl: job 'm' (local-1) succeeded\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_says_who_and_why),
        cmocka_unit_test(a_failure_is_told_with_its_lines_hint_and_next_steps),
        cmocka_unit_test(only_the_last_lines_are_told),
        cmocka_unit_test(a_success_is_one_line),
        cmocka_unit_test(what_was_published_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
