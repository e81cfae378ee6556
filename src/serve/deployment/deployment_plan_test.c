/* deployment_plan_test.c - see deployment_plan.h */
#include "serve/deployment/deployment_plan.h"
#include "serve/gateway/gateway_spec.h"
#include "test.h"

#include <string.h>

#define PLAN                                                                                       \
    "{\"models\":[{\"name\":\"m\",\"serve\":3,\"versions\":[{\"version\":3,\"group\":\"a\"},"      \
    "{\"version\":4,\"group\":\"b\"}]}]}"

static char *spec_of(const char *keys, unsigned size)
{
    const struct deployment_size sizes[] = { { "a", size } };
    AUTO_STRS list = { 0 };
    const struct deployment_replicas replicas = { &list, sizes, size ? 1 : 0 };
    AUTO_JSON *plan = NULL;
    char *text = NULL;

    assert_int_equal(json_parse("plan", PLAN, strlen(PLAN), &plan, NULL), 0);
    assert_int_equal(strs_split(&list, keys, " "), 0);
    assert_int_equal(deployment_spec(plan, "127.0.0.1:8000", &replicas, &text, NULL), 0);
    return text;
}

/* What the gateway makes of it: addresses of version 3, in their order. */
static void assert_replicas(const char *keys, unsigned size, const char *wanted)
{
    AUTO_FREE char *text = spec_of(keys, size);
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    char got[256] = "";
    struct err err = ERR_INIT;

    if (gateway_spec_parse("spec", text, strlen(text), &s, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < gateway_spec_version(&s->models[0], 3)->n; i++) {
        const struct gateway_replica *r = &gateway_spec_version(&s->models[0], 3)->replicas[i];

        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s=%s ", r->name, r->address);
    }
    assert_string_equal(got, wanted);
}

static void replicas_are_where_they_say(void **state)
{
    (void)state;
    assert_replicas("", 0, "");
    assert_replicas("serve/at/a/0/0/127.0.0.1:1000 serve/at/b/0/0/127.0.0.1:2000 "
                    "serve/at/a/1/2/127.0.0.1:1001",
                    0, "a-0=127.0.0.1:1000 a-1=127.0.0.1:1001 ");
    /* One that moved is where it was started last. */
    assert_replicas("serve/at/a/0/0/127.0.0.1:1000 serve/at/a/0/10/127.0.0.1:1010 "
                    "serve/at/a/0/9/127.0.0.1:1009",
                    0, "a-0=127.0.0.1:1010 ");
    /* Others were scaled away. */
    assert_replicas("serve/at/a/0/0/127.0.0.1:1000 serve/at/a/1/0/127.0.0.1:1001", 1,
                    "a-0=127.0.0.1:1000 ");
    assert_replicas("serve/at/a serve/at/a/x/0/h:1 serve/at/a/0/0/ serve/at//0/0/h:1 other", 0, "");
}

static void keys_of_earlier_starts_can_go(void **state)
{
    static const struct {
        const char *key;
        bool past;
    } rows[] = {
        { "serve/at/a/0/0/127.0.0.1:1000", true },  { "serve/at/a/0/2/127.0.0.1:1000", false },
        { "serve/at/a/0/1/127.0.0.1:1001", true },  { "serve/at/a/1/0/127.0.0.1:1002", false },
        { "serve/at/b/0/1/127.0.0.1:1003", false }, { "serve/status", false },
    };
    AUTO_STRS keys = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(strs_add(&keys, rows[i].key), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(deployment_is_past(rows[i].key, &keys), rows[i].past);
}

static void what_is_no_plan_is_refused(void **state)
{
    static const char *const texts[] = { "[]", "{}", "{\"models\":[{\"versions\":[{}]}]}" };
    const struct strs none = { 0 };
    const struct deployment_replicas nobody = { .keys = &none };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_JSON *plan = NULL;
        char *text = NULL;

        assert_int_equal(json_parse("plan", texts[i], strlen(texts[i]), &plan, NULL), 0);
        assert_int_equal(deployment_spec(plan, "127.0.0.1:1", &nobody, &text, NULL), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_where_they_say),
        cmocka_unit_test(keys_of_earlier_starts_can_go),
        cmocka_unit_test(what_is_no_plan_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
