/* yarn_diagnostics_test.c - claims about yarn_diagnostics.h. */
#include "base/auto.h"
#include "client/yarn_diagnostics.h"
#include "test.h"

#include <string.h>

#define FAILED                                                                                     \
    "Application application_1_0001 failed 2 times due to AM Container for "                       \
    "appattempt_1_0001_000002 "                                                                    \
    "exited with  exitCode: -1000\nFailing this attempt.Diagnostics: [2026-11-16 11:27:48.628]"
#define EXECUTOR                                                                                   \
    "Application application_1_0001 initialization failed (exitCode=255) with output: "            \
    "main : command provided 0\nmain : run as user is carol\n"                                     \
    "main : requested yarn user is carol\n"
#define ADVICE                                                                                     \
    "\n\nFor more detailed output, check the application tracking page: http://rm:8088/x Then "    \
    "click on links to logs of each attempt.\n. Failing the application."

static const struct row {
    const char *text, *reason, *in_lines, *in_hint;
} rows[] = {
    { NULL, "", "", "" },
    { "", "", "", "" },
    { "killed by root", "killed by root", "", "" },
    { FAILED EXECUTOR "User carol not found " ADVICE, "User carol not found", "exitCode: -1000\n",
      "account" },
    { FAILED EXECUTOR "Requested user yarn is banned\n" ADVICE, "Requested user yarn is banned",
      "Requested user yarn is banned\n", "banned.users" },
    { FAILED EXECUTOR "Requested user tom is not whitelisted and has id 400,which is below the "
                      "minimum allowed 1000\n" ADVICE,
      "Requested user tom is not whitelisted and has id 400,which is below the minimum allowed "
      "1000",
      "tom", "min.user.id" },
    { FAILED "java.io.IOException: cannot\n\tat org.a.B.c(B.java:1)\nCaused by: "
             "java.lang.RuntimeException: the outer one\n\t... 3 more\n"
             "Caused by: x.Inner: the inner one\n\tat x.Y.z(Y.java:2)\n",
      "the inner one", "the outer one\nthe inner one\n", "" },
    { FAILED "File does not exist: hdfs://n/user/a/.ydl/jobs/x" ADVICE,
      "File does not exist: hdfs://n/user/a/.ydl/jobs/x", "", "submit it again" },
};

static void the_line_that_matters_comes_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct diagnostics d = { 0 };

        assert_int_equal(diagnostics_read(rows[i].text, &d), 0);
        assert_string_equal(d.reason, rows[i].reason);
        assert_non_null(strstr(d.lines, rows[i].in_lines));
        assert_non_null(strstr(d.hint, rows[i].in_hint));
        diagnostics_done(&d);
    }
}

static void what_is_of_no_use_is_left_out(void **state)
{
    static const char *const noise[] = { "main : ",    "\tat ", "click on links",
                                         "... 3 more", "[2026", "java.io" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct diagnostics d = { 0 };

        assert_int_equal(diagnostics_read(rows[i].text, &d), 0);
        for (size_t k = 0; k < COUNT_OF(noise); k++)
            if (!strstr(d.lines, "with output: "))
                assert_null(strstr(d.lines, noise[k]));
        diagnostics_done(&d);
    }
}

static void a_submission_that_failed_has_its_own_code_and_words(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *reason;
    } said[] = {
        { "Application application_1_0001 was killed by user a at 10.0.0.1 with diagnostic "
          "message: "
          "the submission failed (exit code 73): make 'x': no space\nmore",
          73, "the submission failed: make 'x': no space" },
        { "the submission failed (exit code 69): ", 69, "the submission failed: " },
        { "the submission failed (exit code 0): x", 0, "as it was" },
        { "the submission failed (exit code 256): x", 0, "as it was" },
        { "the submission failed (exit code 73)", 0, "as it was" },
        { "the submission failed (exit code x): x", 0, "as it was" },
        { "Application application_1_0001 was killed by user a", 0, "as it was" },
        { NULL, 0, "as it was" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct diagnostics d = { .reason = "as it was" };

        assert_int_equal(diagnostics_not_submitted(said[i].text, &d), said[i].code);
        assert_string_equal(d.reason, said[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_that_matters_comes_first),
        cmocka_unit_test(what_is_of_no_use_is_left_out),
        cmocka_unit_test(a_submission_that_failed_has_its_own_code_and_words),
    };

    return cmocka_run_group_tests_name("diagnostics", tests, NULL, NULL);
}
