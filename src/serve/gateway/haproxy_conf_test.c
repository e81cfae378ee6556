/* The configuration that HAProxy gets. */
#include "serve/gateway/haproxy_conf.h"
#include "test.h"

#include <string.h>

static const char text[] =
    "{\"listen\": \"127.0.0.1:0\", \"body_max\": \"1m\", \"models\": [{\"name\": \"resnet\", "
    "\"serve\": 1, \"health\": \"/m/{version}/ready?v={version}\", \"in_flight\": 4, \"versions\": "
    "[{\"version\": 1, \"replicas\": [{\"address\": "
    "\"10.0.0.1:1\"}, {\"address\": \"10.0.0.2:1\"}]}, {\"version\": 2, \"replicas\": []}]}]}";

static bool first_is_up(void *user, const char *backend, const char *address)
{
    (void)user;
    return strcmp(backend, "resnet:1") == 0 && strcmp(address, "10.0.0.1:1") == 0;
}

static const char *written(struct haproxy_conf *c, struct buf *out)
{
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    const char *conf;

    assert_int_equal(gateway_spec_parse("spec", text, strlen(text), &s, NULL), 0);
    c->spec = s;
    c->up = first_is_up;
    assert_int_equal(haproxy_conf_write(c, out, NULL), 0);
    conf = buf_text(out);
    assert_non_null(conf);
    return conf;
}

static void only_what_is_in_service_is_in_it(void **state)
{
    AUTO_BUF out = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/run/g", .socket = "/run/g/1.sock" };
    const char *conf = written(&c, &out);

    (void)state;
    assert_non_null(strstr(conf, "\nbackend resnet:1\n"));
    assert_non_null(strstr(conf, "\nbackend resnet:2\n"));
    assert_non_null(strstr(conf, "    server 10.0.0.1:1 10.0.0.1:1 check "));
    assert_non_null(strstr(conf, "weight 1 maxconn 4\n"));
    assert_null(strstr(conf, "10.0.0.2"));
    assert_non_null(strstr(conf, "req.body_size gt 1048576"));
    assert_non_null(strstr(conf, "bind fd@0\n"));
    assert_non_null(strstr(conf, "stats socket /run/g/1.sock mode 600 level admin\n"));
}

static void a_key_is_looked_up_as_a_hash_in_a_file(void **state)
{
    AUTO_BUF open = { .max = HAPROXY_CONF_MAX };
    AUTO_BUF closed = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/run/g", .socket = "/run/g/1.sock" };

    (void)state;
    assert_null(strstr(written(&c, &open), "401"));
    c.keys = true;
    assert_non_null(strstr(written(&c, &closed), "http_auth_bearer,sha2(256),hex -m str -f "
                                                 "/run/g/keys\n"));
}

static void replicas_are_shown_their_key_by_requests_and_by_checks(void **state)
{
    AUTO_BUF open = { .max = HAPROXY_CONF_MAX };
    AUTO_BUF closed = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/run/g", .socket = "/run/g/1.sock" };
    const char *conf;

    (void)state;
    assert_null(strstr(written(&c, &open), "Bearer "));
    c.replica_key = "abc";
    conf = written(&c, &closed);
    assert_non_null(strstr(conf, "set-header Authorization \"Bearer abc\"\n"));
    assert_non_null(strstr(conf, "hdr Host gateway hdr Authorization \"Bearer abc\"\n"));
}

static void a_check_can_name_the_version(void **state)
{
    AUTO_BUF out = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/run/g", .socket = "/run/g/1.sock" };
    const char *conf = written(&c, &out);

    (void)state;
    assert_non_null(strstr(conf, "GET uri /m/1/ready?v=1 ver HTTP/1.1 hdr Host gateway\n"));
    assert_non_null(strstr(conf, "GET uri /m/2/ready?v=2 ver HTTP/1.1 hdr Host gateway\n"));
}

/* pool-max-conn has a default that servers which are added at run time do not get. */
static void connections_to_replicas_are_kept_where_a_request_may_be_sent_again(void **state)
{
    AUTO_BUF out = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/run/g", .socket = "/run/g/1.sock", .processors = 1 };
    struct gateway_model m = { .retry = true };
    AUTO_BUF words = { .max = KIB };
    const char *conf = written(&c, &out);

    (void)state;
    assert_non_null(strstr(conf, "    http-reuse always\n"));
    assert_non_null(strstr(conf, "    http-request wait-for-body time 60000ms\n"));
    assert_non_null(strstr(conf, "    nbthread 1\n"));
    assert_int_equal(haproxy_server_words(&words, &m, "m:1", 1), 0);
    assert_non_null(strstr(buf_text(&words), "pool-max-conn -1"));
}

static void a_directory_with_a_blank_is_refused(void **state)
{
    AUTO_BUF out = { .max = HAPROXY_CONF_MAX };
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    struct haproxy_conf c = { .dir = "/run/a b", .socket = "/run/s" };

    (void)state;
    assert_int_equal(gateway_spec_parse("spec", text, strlen(text), &s, NULL), 0);
    c.spec = s;
    assert_int_equal(haproxy_conf_write(&c, &out, NULL), -EINVAL);
}

static void every_answer_of_its_own_has_its_length(void **state)
{
    struct haproxy_error e;
    unsigned n = 0;

    (void)state;
    for (; haproxy_error_file(n, &e); n++) {
        const char *body = strstr(e.text, "\r\n\r\n");
        const char *length = strstr(e.text, "Content-Length: ");

        assert_true(body && length && body[4] == '{');
        assert_int_equal(strtoul(length + 16, NULL, 10), strlen(body + 4));
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_in_service_is_in_it),
        cmocka_unit_test(a_key_is_looked_up_as_a_hash_in_a_file),
        cmocka_unit_test(a_check_can_name_the_version),
        cmocka_unit_test(replicas_are_shown_their_key_by_requests_and_by_checks),
        cmocka_unit_test(connections_to_replicas_are_kept_where_a_request_may_be_sent_again),
        cmocka_unit_test(a_directory_with_a_blank_is_refused),
        cmocka_unit_test(every_answer_of_its_own_has_its_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
