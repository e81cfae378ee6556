/* hint_test.c - a server's words lead to a remedy. */
#include "base/auto.h"
#include "hadoop/sasl/hint.h"
#include "test.h"
#include <string.h>

static void javas_words_get_a_remedy(void **state)
{
    static const struct {
        const char *message, *hint;
    } rows[] = {
        { "GSS initiate failed [Caused by GSSException: Failure unspecified at GSS-API level "
          "(Mechanism level: Clock skew too great (37))]",
          "set this machine's time" },
        { "(Mechanism level: Ticket expired (32) - TKT_EXPIRED)", "kinit" },
        { "(Mechanism level: Checksum failed)", "its keytab is old" },
        { "DIGEST-MD5: digest response format violation. Mismatched response.", "another cluster" },
        { "Client selected unsupported protection: 1", "hadoop.rpc.protection" },
        { "something else", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        sasl_remote_hint(&err, rows[i].message);
        if (!strstr(err.hint, rows[i].hint) || !*rows[i].hint != !*err.hint)
            fail_msg("row %zu: '%s'", i, err.hint);
    }
}

static void a_hint_that_is_there_stays(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    err_hint(&err, "nearer");
    sasl_remote_hint(&err, "Clock skew too great");
    assert_string_equal(err.hint, "nearer");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(javas_words_get_a_remedy),
        cmocka_unit_test(a_hint_that_is_there_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
