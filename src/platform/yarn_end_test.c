/* yarn_end_test.c - what YARN's exit statuses mean */
#include "platform/yarn_private.h"
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
        cmocka_unit_test(a_sentence_is_cut_to_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
