/* auth_test.c - is the server the one that the configuration names? */
#include "hadoop/rpc/auth.h"
#include "test.h"

static void a_server_is_the_one_that_the_configuration_names(void **state)
{
    static const struct {
        const char *principal, *service, *host;
        bool fits;
    } rows[] = {
        { "nn/a.example@R", "nn", "a.example", true },
        { "nn/a.example@R", "nn", "A.Example", true },
        { "nn/a.example@R", "nn", "b.example", false },
        { "nn/a.example@R", "dn", "a.example", false },
        { "nn/a.example", "nn", "a.example.evil", false },
        { "nn@R", "nn", "anything", true },
        /* behind a number the name is not known */
        { "nn/10.0.0.1@R", "nn", "a.example", true },
        { "nn/fe80::1@R", "nn", "a.example", true },
        /* a name that begins as a number does */
        { "nn/1and1.example@R", "nn", "1and1.example", true },
        { "nn/1and1.example@R", "nn", "b.example", false },
        { "nn/10.0.0.1.example@R", "nn", "b.example", false },
        { "nn/3@R", "nn", "b.example", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(auth_principal_fits(rows[i].principal, rows[i].service, rows[i].host),
                         rows[i].fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_the_one_that_the_configuration_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
