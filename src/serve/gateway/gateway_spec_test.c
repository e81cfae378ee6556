/* What a gateway's document may say, and what it may not. */
#include "base/str.h"
#include "serve/gateway/gateway_spec.h"
#include "test.h"

#include <string.h>

#define MODEL                                                                                      \
    "{\"name\": \"resnet\", \"serve\": 1, \"versions\": [{\"version\": 1, \"replicas\": [%s]}]%s}"
#define TOP "{\"listen\": \"127.0.0.1:0\", \"models\": [" MODEL "]%s}"

static int parse(const char *text, struct gateway_spec **ret, struct err *err)
{
    return gateway_spec_parse("spec", text, strlen(text), ret, err);
}

static void a_document_is_read_whole(void **state)
{
    static const char text[] =
        "{\"listen\": \"[::1]:8080\", \"key_file\": \"/k\", \"body_max\": \"2m\", "
        "\"timeout\": \"5s\", \"tls\": {\"certificate\": \"/c.pem\", \"key\": \"/k.pem\"}, "
        "\"models\": [{\"name\": \"a.b-c\", \"serve\": 7, \"in_flight\": 3, \"retry\": false, "
        "\"health\": \"/health\", \"canary\": {\"version\": 8, \"percent\": 12.5}, "
        "\"watch\": {\"requests\": 50, \"errors\": 0.5, \"slower\": 1.5, \"automatic\": false}, "
        "\"versions\": [{\"version\": 7, \"replicas\": [{\"name\": \"r0\", \"address\": "
        "\"10.0.0.7:9000\", \"weight\": 4}, {\"address\": \"[::1]:9000\"}]}, "
        "{\"version\": 8, \"replicas\": []}]}]}";
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    struct err err = ERR_INIT;
    const struct gateway_model *m;

    (void)state;
    assert_int_equal(parse(text, &s, &err), 0);
    assert_string_equal(s->host, "::1");
    assert_int_equal(s->port, 8080);
    assert_int_equal(s->body_max, 2 * MIB);
    assert_int_equal(s->timeout_ms, 5000);
    assert_string_equal(s->private_key, "/k.pem");
    m = gateway_spec_model(s, "a.b-c");
    assert_non_null(m);
    assert_false(m->retry);
    assert_int_equal(m->canary, 8);
    assert_int_equal(m->percent, 1250);
    assert_int_equal(m->watch.errors, 50);
    assert_int_equal(m->watch.slower, 150);
    assert_int_equal(gateway_spec_version(m, 7)->n, 2);
    assert_string_equal(gateway_spec_version(m, 7)->replicas[1].address, "::1:9000");
    assert_string_equal(gateway_spec_version(m, 7)->replicas[1].name, "::1:9000");
    assert_int_equal(gateway_spec_version(m, 7)->replicas[0].weight, 4);
    assert_null(gateway_spec_version(m, 9));
}

static void what_is_not_said_has_a_default(void **state)
{
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    AUTO_FREE char *text = str_printf(TOP, "", "", "");

    (void)state;
    assert_int_equal(parse(text, &s, NULL), 0);
    assert_int_equal(s->models[0].watch.requests, 200);
    assert_int_equal(s->models[0].watch.errors, 100);
    assert_int_equal(s->models[0].watch.slower, 200);
    assert_true(s->models[0].retry && s->models[0].watch.automatic);
    assert_string_equal(s->models[0].health, "/v2/health/ready");
    assert_int_equal(s->body_max, 64 * MIB);
}

/* clang-format off */
static const struct {
    const char *replicas, *model, *top, *says;
} bad[] = {
    { "", "", ", \"lisen\": 1", "'lisen' is not a key of a gateway" },
    { "", ", \"names\": 1", "", "'names' is not a key" },
    { "", "", ", \"listen\": 1", "duplicate" },
    { "{}", "", "", "'address' is missing" },
    { "{\"address\": \"host:1\"}", "", "", "must be a numeric host and a port" },
    { "{\"address\": \"10.0.0.1:0\"}", "", "", "must be a numeric host and a port" },
    { "{\"address\": \"10.0.0.1:99999\"}", "", "", "must be a numeric host and a port" },
    { "{\"address\": \"10.0.0.1:1;del server a/b\"}", "", "", "must be a numeric host" },
    { "{\"address\": \"10.0.0.1:1\", \"name\": \"a b\"}", "", "", "must be a name" },
    { "{\"address\": \"10.0.0.1:1\", \"name\": \"a;b\"}", "", "", "must be a name" },
    { "{\"address\": \"10.0.0.1:1\", \"name\": \"../x\"}", "", "", "must be a name" },
    { "{\"address\": \"10.0.0.1:1\", \"weight\": 0}", "", "", "must be between 1 and 256" },
    { "{\"address\": \"10.0.0.1:1\", \"weight\": 1.5}", "", "", "must be a whole number" },
    { "{\"address\": \"10.0.0.1:1\"},{\"address\": \"10.0.0.1:1\"}", "", "", "is there twice" },
    { "", ", \"health\": \"/a b\"", "", "must begin with '/'" },
    { "", ", \"health\": \"/a\\nb\"", "", "must begin with '/'" },
    { "", ", \"health\": \"/{version\"", "", "must begin with '/'" },
    { "", ", \"health\": \"/{ver{version}sion}\"", "", "must begin with '/'" },
    { "", ", \"canary\": {\"version\": 2, \"percent\": 1}", "", "which is not in 'versions'" },
    { "", ", \"canary\": {\"version\": 1, \"percent\": 1}", "", "are the same version" },
    { "", ", \"retry\": 1", "", "must be true or false" },
    { "", "", ", \"timeout\": 30", "must be a time" },
    { "", "", ", \"body_max\": \"many\"", "must be a size" },
    { "", "", ", \"key_file\": \"keys\"", "must begin with '/'" },
    { "", "", ", \"threads\": 1e30", "must be between" },
    { "", "", ", \"tls\": {}", "'certificate' is missing" },
};
/* clang-format on */

static void what_could_mean_something_else_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO(gateway_spec) struct gateway_spec *s = NULL;
        AUTO_FREE char *text = str_printf(TOP, bad[i].replicas, bad[i].model, bad[i].top);
        struct err err = ERR_INIT;

        assert_true(parse(text, &s, &err) < 0);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%zu: '%s' and not '%s'", i, err.text, bad[i].says);
    }
}

static void too_much_is_refused(void **state)
{
    AUTO_FREE char *many = NULL, *text = NULL;
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    struct err err = ERR_INIT;
    size_t at = 0, room = 64 * 300;

    (void)state;
    many = calloc(1, room);
    assert_non_null(many);
    for (int i = 1; i <= GATEWAY_REPLICAS + 1; i++)
        at += (size_t)snprintf(many + at, room - at, "%s{\"address\": \"10.0.0.1:%d\"}",
                               i > 1 ? "," : "", i);
    text = str_printf(TOP, many, "", "");
    assert_int_equal(parse(text, &s, &err), -E2BIG);
    assert_non_null(strstr(err.text, "at most 256"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_read_whole),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(what_could_mean_something_else_is_refused),
        cmocka_unit_test(too_much_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
