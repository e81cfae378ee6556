/* sample.c - tests that the torture runner must judge rightly: one that copes with a failing
 * allocation, and, chosen by the macro, one that crashes, leaks, aborts or hangs after it. */
#undef abort /* this file stands for code under test, too */
#undef strdup
#include "test.h"

#include <string.h>
#include <unistd.h>

#define COPES 0
#define CRASHES 1
#define LEAKS 2
#define ABORTS 3
#define HANGS 4

static char *pair(char **ret_second)
{
    char *first = strdup("first");

    *ret_second = first ? strdup("second") : NULL;
    if (*ret_second)
        return first;
    if (SAMPLE == CRASHES && !first)
        *(volatile char *)NULL = 1;
    if (SAMPLE == ABORTS)
        abort();
    while (SAMPLE == HANGS)
        pause();
    if (SAMPLE != LEAKS)
        free(first);
    return NULL;
}

static void two_strings_are_made_or_none(void **state)
{
    char *second;
    char *first = pair(&second);

    (void)state;
    assert_non_null(first);
    assert_string_equal(second, "second");
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_strings_are_made_or_none) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
