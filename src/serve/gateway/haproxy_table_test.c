/* Tables as HAProxy 2.6 prints them. */
#include "serve/gateway/haproxy_table.h"
#include "test.h"

#include <string.h>

#define STATE                                                                                      \
    "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight "        \
    "srv_iweight srv_time_since_last_change\n"                                                     \
    "3 resnet:1 1 10.0.0.1:9001 10.0.0.1 2 0 1 1 15\n"                                             \
    "3 resnet:1 2 10.0.0.2:9001 10.0.0.2 0 1 0 1 2\n"                                              \
    "4 resnet:2 1 10.0.0.1:9001 10.0.0.1 3 8 5 5 0\n\n"
#define STAT                                                                                       \
    "# pxname,svname,qcur,qmax,scur,smax,slim,stot,econ,eresp,\n"                                  \
    "gateway,FRONTEND,,,3,5,1024,77,,,\n"                                                          \
    "resnet:1,10.0.0.1:9001,2,2,1,4,,40,1,2,\n"                                                    \
    "resnet:1,BACKEND,0,0,1,4,102,40,1,2,\n"                                                       \
    "resnet:2,10.0.0.1:9001,0,0,4,4,,7,0,0,\n\n"

static int parse(const char *text, char separator, struct haproxy_table *t)
{
    return haproxy_table_parse(text, strlen(text), separator, t, NULL);
}

static void servers_come_from_both_tables(void **state)
{
    AUTO_HAPROXY_TABLE where = { 0 };
    AUTO_HAPROXY_TABLE stat = { 0 };
    AUTO_FREE struct haproxy_server *v = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(parse(STATE, ' ', &where), 0);
    assert_int_equal(parse(STAT, ',', &stat), 0);
    assert_int_equal(haproxy_servers(&where, &stat, &v, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_string_equal(v[0].backend, "resnet:1");
    assert_true(v[0].up && !v[0].draining && !v[0].maintenance);
    assert_int_equal(v[0].in_use, 3);
    assert_int_equal(v[0].requests, 40);
    assert_int_equal(v[0].errors, 3);
    assert_int_equal(v[0].since_ms, 15000);
    assert_true(v[1].maintenance && !v[1].up);
    assert_int_equal(v[1].in_use, 0);
    assert_true(v[2].draining && v[2].up);
    assert_int_equal(v[2].weight, 5);
    assert_int_equal(v[2].in_use, 4);
}

static void a_column_that_is_not_there_is_empty(void **state)
{
    AUTO_HAPROXY_TABLE t = { 0 };

    (void)state;
    assert_int_equal(parse("# a,b\n1,x\n", ',', &t), 0);
    assert_int_equal(haproxy_number(&t, 0, "a"), 1);
    assert_int_equal(haproxy_number(&t, 0, "b"), 0);
    assert_string_equal(haproxy_cell(&t, 0, "c"), "");
    assert_string_equal(haproxy_cell(&t, 9, "a"), "");
}

static void what_is_no_table_is_refused(void **state)
{
    static const char *const bad[] = { "", "Unknown command\n", "# a,b\n1,2,3\n" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_HAPROXY_TABLE t = { 0 };

        assert_int_equal(parse(bad[i], ',', &t), -EPROTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_come_from_both_tables),
        cmocka_unit_test(a_column_that_is_not_there_is_empty),
        cmocka_unit_test(what_is_no_table_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
