/* token_service_test.c - see token_service.h */
#include "base/auto.h"
#include "hadoop/token/token_service.h"
#include "test.h"

static void services_are_written_as_java_writes_them(void **state)
{
    static const struct {
        const char *ip;
        int port;
        const char *service; /* NULL: no address */
    } rows[] = {
        { "10.0.0.1", 8020, "10.0.0.1:8020" },
        { "::1", 8020, "0:0:0:0:0:0:0:1:8020" },
        { "2001:db8::ff00:42:8329", 1, "2001:db8:0:0:0:ff00:42:8329:1" },
        { "nn.example.com", 8020, NULL },
        { "", 1, NULL },
    };
    AUTO_FREE char *name = NULL, *ha = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *s = NULL;

        assert_int_equal(token_service_ip(rows[i].ip, rows[i].port, &s),
                         rows[i].service ? 0 : -EINVAL);
        if (rows[i].service)
            assert_string_equal(s, rows[i].service);
    }
    assert_int_equal(token_service_name("NN1.Example.com", 8020, &name), 0);
    assert_string_equal(name, "nn1.example.com:8020");
    assert_int_equal(token_service_ha("ns", &ha), 0);
    assert_string_equal(ha, "ha-hdfs:ns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_written_as_java_writes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
