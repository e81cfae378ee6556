/* token_service_test.c - see token_service.h */
#include "base/str.h"
#include "hadoop/token/ident.h"
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
    static const char *const two[] = { "10.0.0.1:8032", "10.0.0.2:8032" };
    AUTO_FREE char *name = NULL, *ha = NULL, *list = NULL;

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
    assert_int_equal(token_service_list(two, COUNT_OF(two), &list), 0);
    assert_string_equal(list, "10.0.0.1:8032,10.0.0.2:8032");
}

static void a_list_has_whole_entries_only(void **state)
{
    static const struct {
        const char *list, *service;
        bool has;
    } rows[] = {
        { "10.0.0.1:8032", "10.0.0.1:8032", true },
        { "10.0.0.1:8032,10.0.0.2:8032", "10.0.0.2:8032", true },
        { "10.0.0.11:8032", "10.0.0.1:8032", false },
        { "110.0.0.1:8032", "10.0.0.1:8032", false },
        { "10.0.0.1:80321", "10.0.0.1:8032", false },
        { "", "10.0.0.1:8032", false },
        { "a,,b", "b", true },
        { "a,,b", "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(token_service_has(rows[i].list, rows[i].service), rows[i].has);
}

static void the_first_service_that_has_a_token_decides(void **state)
{
    static const char *const wanted[] = { "ha-hdfs:ns", "10.0.0.1:8020" };
    static const char *const missing[] = { "ha-hdfs:other" };
    static const struct {
        const char *kind, *service;
    } held[] = {
        { KIND_RM, "10.0.0.1:8032,10.0.0.2:8032" },
        { KIND_HDFS, "10.0.0.1:8020" },
        { KIND_HDFS, "ha-hdfs:ns" },
        { "WEBHDFS delegation", "ha-hdfs:other" },
    };
    AUTO_CREDENTIALS *c = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(credentials_new(&c, &err), 0);
    assert_null(token_select(c, KIND_HDFS, wanted, COUNT_OF(wanted)));
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        const struct token t = { .kind = (char *)held[i].kind, .service = (char *)held[i].service };

        assert_int_equal(credentials_add(c, NULL, &t, &err), 0);
    }
    assert_string_equal(token_select(c, KIND_HDFS, wanted, COUNT_OF(wanted))->service,
                        "ha-hdfs:ns");
    assert_null(token_select(c, KIND_HDFS, missing, COUNT_OF(missing)));
    assert_non_null(token_select(c, KIND_RM, (const char *const[]){ "10.0.0.2:8032" }, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_written_as_java_writes_them),
        cmocka_unit_test(a_list_has_whole_entries_only),
        cmocka_unit_test(the_first_service_that_has_a_token_decides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
