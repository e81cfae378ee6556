/* http_cookie_test.c - claims about cookies. */
#include "base/auto.h"
#include "test.h"
#include "wire/http_cookie.h"

#include <errno.h>

#define LOOK "proxy-user"

static void the_first_of_its_name_comes_out_decoded(void **state)
{
    static const struct {
        const char *header, *value; /* NULL: there is none */
    } rows[] = {
        { NULL, NULL },
        { "", NULL },
        { ";; ;", NULL },
        { LOOK, NULL },
        { LOOK "=", "" },
        { LOOK "=alice", "alice" },
        { LOOK "=alice ", "alice" },
        { LOOK "=alice;", "alice" },
        { LOOK "=alice; other=1", "alice" },
        { "other=1; " LOOK "=alice", "alice" },
        { "other=1;" LOOK "=alice", "alice" },
        { LOOK "=alice; " LOOK "=bob", "alice" },
        { LOOK "=alice%40EXAMPLE", "alice@EXAMPLE" },
        { LOOK "=a+b", "a b" },
        { LOOK "=a=b", "a=b" },
        { "x" LOOK "=alice", NULL },
        { LOOK "x=alice", NULL },
        { "x=" LOOK "=alice", NULL },
        { "Proxy-User=alice", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *value = NULL;

        assert_int_equal(http_cookie(rows[i].header, LOOK, &value), 0);
        if (rows[i].value)
            assert_string_equal(value, rows[i].value);
        else
            assert_null(value);
    }
}

static void a_value_that_cannot_be_decoded_is_an_error(void **state)
{
    static const char *const rows[] = { LOOK "=%", LOOK "=a%4", LOOK "=a%zz", LOOK "=a%00b" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *value = NULL;

        assert_int_equal(http_cookie(rows[i], LOOK, &value), -EINVAL);
        assert_null(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_its_name_comes_out_decoded),
        cmocka_unit_test(a_value_that_cannot_be_decoded_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
