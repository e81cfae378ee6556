/* What the configuration has for gRPC, and two servers that are one replica. */
#include "base/str.h"
#include "serve/gateway/haproxy_grpc.h"
#include "serve/gateway/haproxy_table.h"
#include "test.h"

#include <string.h>

static const char text[] =
    "{\"listen\": \"127.0.0.1:0\", \"models\": [{\"name\": \"m\", \"serve\": 1, \"versions\": "
    "[{\"version\": 1, \"grpc\": %s, \"replicas\": [{\"address\": \"10.0.0.1:1\"}]}, "
    "{\"version\": 2, \"replicas\": [{\"address\": \"10.0.0.2:1\"}]}]}]}";

static bool all_are_up(void *user, const char *backend, const char *address)
{
    (void)user;
    (void)address;
    return haproxy_grpc_beside(backend) == 0; /* it is the replica that is up, not its server */
}

static const char *written(const char *grpc, bool keys, struct buf *out)
{
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    struct haproxy_conf c = { .dir = "/g", .socket = "/g/s", .up = all_are_up, .keys = keys };
    AUTO_FREE char *spec = str_printf(text, grpc);

    assert_non_null(spec);
    assert_int_equal(gateway_spec_parse("spec", spec, strlen(spec), &s, NULL), 0);
    c.spec = s;
    assert_int_equal(haproxy_conf_write(&c, out, NULL), 0);
    assert_non_null(buf_text(out));
    return buf_text(out);
}

static void a_version_that_answers_grpc_has_a_second_backend(void **state)
{
    AUTO_BUF with = { .max = HAPROXY_CONF_MAX };
    AUTO_BUF without = { .max = HAPROXY_CONF_MAX };
    const char *conf = written("true", true, &with), *at;

    (void)state;
    at = strstr(conf, "\nbackend m:1:grpc\n");
    assert_non_null(at);
    assert_non_null(strstr(at, "server 10.0.0.1:1 10.0.0.1:1 proto h2 check-proto h1 check "));
    assert_null(strstr(conf, "backend m:2:grpc"));
    assert_non_null(strstr(conf, "map_str(/g/grpc.map,:)"));
    assert_non_null(strstr(conf, "hdr grpc-status 16 "));
    conf = written("false", true, &without);
    assert_null(strstr(conf, "grpc-status"));
    assert_null(strstr(conf, "proto h2"));
}

static void its_backend_knows_the_one_that_it_stands_beside(void **state)
{
    (void)state;
    assert_int_equal(haproxy_grpc_beside("m:1:grpc"), strlen("m:1"));
    assert_int_equal(haproxy_grpc_beside("m:1"), 0);
    assert_int_equal(haproxy_grpc_beside(":grpc"), 0);
    assert_int_equal(haproxy_grpc_beside("grpc:1"), 0);
}

static void a_replica_is_ready_where_both_of_its_servers_are(void **state)
{
    struct haproxy_server v[] = {
        { .backend = "m:1", .name = "a", .up = true, .in_use = 1 },
        { .backend = "m:1", .name = "b", .up = true },
        { .backend = "m:1:grpc", .name = "a", .up = false, .in_use = 2 },
        { .backend = "m:1:grpc", .name = "b", .up = true },
        { .backend = "m:10", .name = "a", .up = true },
    };

    (void)state;
    haproxy_servers_join(v, COUNT_OF(v));
    assert_false(v[0].up);
    assert_int_equal(v[0].in_use, 3);
    assert_true(v[1].up && v[3].up && v[4].up);
    assert_int_equal(v[4].in_use, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_that_answers_grpc_has_a_second_backend),
        cmocka_unit_test(its_backend_knows_the_one_that_it_stands_beside),
        cmocka_unit_test(a_replica_is_ready_where_both_of_its_servers_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
