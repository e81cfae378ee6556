/* usage_test.c - see usage.h */
#include "cmd/job/usage.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

static void a_line_of_proc_is_read_whatever_the_name_is(void **state)
{
    static const char *const names[] = { "sh", "a b", ") R 1 2 3", "((", "" };
    static const struct usage_stat wanted = { .session = 77, .ticks = 30, .pages = 1234 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct usage_stat s;
        char text[256];

        snprintf(text, sizeof(text),
                 "12 (%s) S 1 66 77 0 -1 4194304 100 0 0 0 10 20 0 0 20 0 1 0 5 1000 1234 18 0",
                 names[i]);
        assert_true(usage_parse(text, &s));
        assert_int_equal(s.session, wanted.session);
        assert_int_equal(s.ticks, wanted.ticks);
        assert_int_equal(s.pages, wanted.pages);
    }
}

static void what_is_no_such_line_is_refused(void **state)
{
    static const char *const rows[] = { "",
                                        "12",
                                        "12 (sh)",
                                        "12 (sh) ",
                                        "12 (sh) S",
                                        "12 (sh) S 1 2",
                                        "12 (sh) S 1 66 x 0 -1 4194304 100 0 0 0 10 20 0 0 20 0" };
    struct usage_stat s;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_false(usage_parse(rows[i], &s));
}

static void our_own_session_uses_something(void **state)
{
    AUTO_USAGE first = { 0 };
    AUTO_USAGE second = { 0 };
    struct err err = ERR_INIT;
    const struct usage_of *u;

    (void)state;
    assert_int_equal(usage_read(NULL, 1000, &first, &err), 0);
    u = usage_find(&first, getsid(0));
    assert_non_null(u);
    assert_true(u->memory > 0);
    assert_true(u->share < 0);
    assert_int_equal(usage_read(&first, 2000, &second, &err), 0);
    u = usage_find(&second, getsid(0));
    assert_non_null(u);
    assert_true(u->share >= 0);
    assert_null(usage_find(&second, 0x7ffffff0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_proc_is_read_whatever_the_name_is),
        cmocka_unit_test(what_is_no_such_line_is_refused),
        cmocka_unit_test(our_own_session_uses_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
