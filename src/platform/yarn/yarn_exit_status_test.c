/* yarn_exit_status_test.c - what YARN's exit statuses mean */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

#include <string.h>

static void exit_statuses_have_their_classes(void **state)
{
    static const struct {
        int32_t status;
        enum fail_class cls;
    } rows[] = {
        { 137, FAIL_NODE },       { 1, FAIL_NODE },      { -100, FAIL_NODE },
        { -101, FAIL_DISK },      { -104, FAIL_MEMORY }, { -103, FAIL_MEMORY },
        { -102, FAIL_PREEMPTED }, { -1000, FAIL_FILES }, { -107, FAIL_PERSON },
        { -4711, FAIL_NODE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(yarn_end_class(rows[i].status, ""), rows[i].cls);
}

static void diagnostics_lose_their_stack_traces(void **state)
{
    char text[200];

    (void)state;
    yarn_end_text(-1000, "\nFile does not exist: x\n\tat a.b.c(D.java:1)\n\t... 3 more\nFailing\n",
                  text, sizeof(text));
    assert_non_null(strstr(text, ": File does not exist: x Failing"));
    assert_null(strstr(text, "java"));
}

static void neither_a_full_disk_nor_the_network_is_the_files_fault(void **state)
{
    (void)state;
    assert_int_equal(yarn_end_class(-1000, "x: No space left on device"), FAIL_DISK);
    assert_int_equal(yarn_end_class(-1000, NULL), FAIL_FILES);
    assert_int_equal(yarn_end_class(-1, "x: No space available in any of the local directories."),
                     FAIL_DISK);
    assert_int_equal(yarn_end_class(-1, "x: Could not find any valid local directory for y"),
                     FAIL_DISK);
    assert_int_equal(yarn_end_class(-1, "the launch was cancelled"), FAIL_NODE);
    assert_int_equal(yarn_end_class(-104, "No space left on device"), FAIL_MEMORY);
    assert_int_equal(yarn_end_class(-1000, "nn:8020: java.net.ConnectException: x"), FAIL_NODE);
}

static void what_matters_is_found_in_long_diagnostics(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "[2026-11-16 11:27:48.628]java.lang.reflect.UndeclaredThrowableException\n"
          "\tat a.B.c(B.java:1)\nCaused by: org.x.YarnException: Download and unpack failed\n"
          "\t... 10 more\nCaused by: java.io.IOException: tar of bad.tar.gz: exit code 2.\n"
          "Caused by: java.lang.Oops\norg.x.YarnException: Download and unpack failed\n",
          ": tar of bad.tar.gz: exit code 2." },
        { "[2026-11-16 11:27:48.628]Container [pid=1] is 9B beyond its limit: 150 MB of 128 MB\n"
          "Dump of the process-tree for container_1 :\n\t|- PID PPID\n\t|- 1 2 sh\n",
          ": Container [pid=1] is 9B beyond its limit: 150 MB of 128 MB" },
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        yarn_end_text(7, rows[i].text, text, sizeof(text));
        assert_string_equal(strchr(text, ':'), rows[i].want);
    }
}

static void a_sentence_is_cut_to_its_room(void **state)
{
    char text[24], all[2000] = "";

    (void)state;
    memset(all, 'x', sizeof(all) - 1);
    yarn_end_text(7, all, text, sizeof(text));
    assert_true(strlen(text) < sizeof(text));
    yarn_end_text(7, NULL, text, sizeof(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses_have_their_classes),
        cmocka_unit_test(diagnostics_lose_their_stack_traces),
        cmocka_unit_test(neither_a_full_disk_nor_the_network_is_the_files_fault),
        cmocka_unit_test(what_matters_is_found_in_long_diagnostics),
        cmocka_unit_test(a_sentence_is_cut_to_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
