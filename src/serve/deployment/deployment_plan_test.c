/* deployment_plan_test.c - see deployment_plan.h */
#include "serve/deployment/deployment_plan.h"
#include "serve/gateway/gateway_spec.h"
#include "test.h"

#include <string.h>

#define VERSION(n, g, s) "{\"version\":" n ",\"group\":\"" g "\",\"serial\":" s ",\"path\":\"/p\"}"
#define PLAN(replicas, update)                                                                     \
    "{\"name\":\"shop\",\"serial\":2,\"models\":[{\"name\":\"m\",\"serve\":3,\"groups\":[\"a\","   \
    "\"b\"],\"replicas\":" replicas                                                                \
    ",\"versions\":[" VERSION("3", "a", "1") "," VERSION("4", "b", "2") "]" update "}]}"
#define UPDATE(phase)                                                                              \
    ",\"update\":{\"to\":4,\"from\":3,\"phase\":\"" phase                                          \
    "\",\"percent\":12.5,\"errors\":1,\"slower\":2,\"requests\":50}"

static json_t *plan_of(const char *text)
{
    json_t *plan = NULL;
    struct err err = ERR_INIT;

    if (deployment_plan_parse("plan", text, &plan, &err) < 0)
        fail_msg("%s", err.text);
    return plan;
}

/* `shares` NULL: of the first gateway. */
static struct gateway_spec *spec_at(const char *text, const char *keys, const json_t *shares)
{
    const struct deployment_here here = { "127.0.0.1:8000", "/run/g/key", shares, "/task" };
    AUTO_STRS list = { 0 };
    AUTO_JSON *plan = plan_of(text);
    AUTO_FREE char *spec = NULL;
    struct gateway_spec *s = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(strs_split(&list, keys, " "), 0);
    assert_int_equal(deployment_spec(plan, &here, &list, &spec, NULL), 0);
    if (gateway_spec_parse("spec", spec, strlen(spec), &s, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(s->replica_key_file, "/run/g/key");
    return s;
}

static struct gateway_spec *spec_of(const char *text, const char *keys)
{
    return spec_at(text, keys, NULL);
}

/* What the gateway makes of it: addresses of a version, in their order. */
static void assert_replicas(const char *plan, const char *keys, int64_t version, const char *wanted)
{
    AUTO(gateway_spec) struct gateway_spec *s = spec_of(plan, keys);
    const struct gateway_version *v = gateway_spec_version(&s->models[0], version);
    char got[256] = "";

    for (size_t i = 0; i < v->n; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s=%s ", v->replicas[i].name,
                       v->replicas[i].address);
    assert_string_equal(got, wanted);
}

static void replicas_are_where_they_say(void **state)
{
    (void)state;
    assert_replicas(PLAN("2", ""), "", 3, "");
    assert_replicas(PLAN("2", ""),
                    "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/b/2/0/0/127.0.0.1:2000 "
                    "serve/at/a/1/1/2/127.0.0.1:1001",
                    3, "a-0=127.0.0.1:1000 a-1=127.0.0.1:1001 ");
    /* One that moved is where it was started last. */
    assert_replicas(PLAN("2", ""),
                    "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/a/1/0/10/127.0.0.1:1010 "
                    "serve/at/a/1/0/9/127.0.0.1:1009",
                    3, "a-0=127.0.0.1:1010 ");
    /* Others were scaled away, or belong to a version that was in this group before. */
    assert_replicas(PLAN("1", ""),
                    "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/a/1/1/0/127.0.0.1:1001", 3,
                    "a-0=127.0.0.1:1000 ");
    assert_replicas(PLAN("2", ""),
                    "serve/at/b/1/0/5/127.0.0.1:1000 serve/at/b/2/1/0/127.0.0.1:1001", 4,
                    "b-1=127.0.0.1:1001 ");
    assert_replicas(PLAN("2", ""),
                    "serve/at/a serve/at/a/1/x/0/h:1 serve/at/a/1/0/0/ serve/at//1/0/0/h:1 other "
                    "serve/at/a/1/0/h:1",
                    3, "");
    /* Two cannot be at one place: that of one which was lost is another's by now. */
    assert_replicas(PLAN("3", ""),
                    "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/a/1/1/4/127.0.0.1:1000 "
                    "serve/at/a/1/2/0/127.0.0.1:1002",
                    3, "a-0=127.0.0.1:1000 a-2=127.0.0.1:1002 ");
    assert_replicas(PLAN("3", ""),
                    "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/a/1/0/1/127.0.0.1:1001 "
                    "serve/at/a/1/1/4/127.0.0.1:1000",
                    3, "a-0=127.0.0.1:1001 a-1=127.0.0.1:1000 ");
}

static void replicas_beyond_a_number_are_known_while_a_gateway_has_them(void **state)
{
    static const struct {
        const char *rows; /* NULL: whatever the gateway has */
        unsigned n;
        bool has;
    } rows[] = {
        { NULL, 1, true },
        { NULL, 2, false },
        { "[{\"address\":\"h:1001\",\"state\":\"leaving\"}]", 1, true },
        { "[{\"address\":\"h:1001\",\"state\":\"leaving\"}]", 2, false },
        { "[{\"address\":\"h:1001\",\"state\":\"ready\"}]", 1, false },
        { "[{\"address\":\"h:1000\",\"state\":\"leaving\"}]", 1, false },
        { "[7, {}]", 1, false },
    };
    AUTO_JSON *plan = plan_of(PLAN("2", ""));
    const json_t *v = deployment_in_group(plan, "a", NULL);
    char group[DEPLOYMENT_GROUP] = "";
    AUTO_STRS keys = { 0 };

    (void)state;
    assert_int_equal(strs_split(&keys,
                                "serve/at/a/1/0/0/h:1000 serve/at/a/1/1/0/h:1001 "
                                "serve/at/b/1/2/0/h:1002 serve/at/a/2/3/0/h:1003 other",
                                " "),
                     0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *list = NULL;

        if (rows[i].rows)
            assert_int_equal(json_parse("rows", rows[i].rows, strlen(rows[i].rows), &list, NULL),
                             0);
        if (deployment_has_beyond(v, rows[i].n, &keys, list) != rows[i].has)
            fail_msg("row %zu", i);
    }
    assert_true(deployment_key_group("serve/at/a/1/0/0/h:1000", group));
    assert_string_equal(group, "a");
    assert_false(deployment_key_group("serve/at/a/1/0/h:1000", group));
    assert_false(deployment_key_group(
        "serve/at/a-name-of-a-group-that-is-much-too-long/1/0/0/h:1000", group));
}

static void a_version_that_leaves_has_no_replicas_any_more(void **state)
{
    static const char keys[] = "serve/at/a/1/0/0/127.0.0.1:1000 serve/at/b/2/0/0/127.0.0.1:2000";

    (void)state;
    assert_replicas(PLAN("1", UPDATE("watching")), keys, 4, "b-0=127.0.0.1:2000 ");
    assert_replicas(PLAN("1", UPDATE("routing")), keys, 4, "b-0=127.0.0.1:2000 ");
    assert_replicas(PLAN("1", UPDATE("draining")), keys, 4, "");
    assert_replicas(PLAN("1", UPDATE("draining")), keys, 3, "a-0=127.0.0.1:1000 ");
    assert_replicas(PLAN("1", UPDATE("stopping")), keys, 4, "");
}

/* One judges it, and the others do what it says. */
static void other_gateways_give_a_canary_the_share_that_they_are_told(void **state)
{
    static const struct {
        const char *shares;
        unsigned percent;
    } rows[] = {
        { "{}", 0 },
        { "{\"m\": {\"version\": 4, \"percent\": 25.5}}", 2550 },
        { "{\"m\": {\"version\": 3, \"percent\": 25}}", 0 },
        { "{\"m\": {\"version\": 4, \"percent\": 500}}", 0 },
        { "{\"m\": 7}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        AUTO(gateway_spec) struct gateway_spec *s = NULL;
        AUTO_JSON *shares = NULL;

        assert_int_equal(json_parse("it", rows[i].shares, strlen(rows[i].shares), &shares, NULL),
                         0);
        s = spec_at(PLAN("1", UPDATE("watching")), "", shares);
        assert_int_equal(s->models[0].canary, 4);
        assert_int_equal(s->models[0].percent, rows[i].percent);
        assert_false(s->models[0].watch.automatic);
    }
}

static void only_a_version_that_is_watched_is_a_canary(void **state)
{
    static const char *const phases[] = { PLAN("1", UPDATE("warming")),
                                          PLAN("1", UPDATE("watching")),
                                          PLAN("1", UPDATE("routing")), PLAN("1", "") };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        AUTO(gateway_spec) struct gateway_spec *s = spec_of(phases[i], "");

        assert_int_equal(s->models[0].serve, 3);
        assert_int_equal(s->models[0].canary, i == 1 ? 4 : 0);
        assert_int_equal(s->models[0].percent, i == 1 ? 1250 : 0);
        assert_int_equal(s->models[0].watch.requests, i == 1 ? 50 : 200);
    }
}

static void groups_have_the_size_that_the_plan_gives_them(void **state)
{
    AUTO_JSON *plan = plan_of(PLAN("3", UPDATE("draining")));
    AUTO_JSON *over = plan_of(PLAN("3", UPDATE("stopping")));

    (void)state;
    assert_int_equal(deployment_group_size(deployment_model(plan, "m"), "a"), 3);
    assert_int_equal(deployment_group_size(deployment_model(plan, NULL), "b"), 3);
    assert_int_equal(deployment_group_size(deployment_model(plan, NULL), "c"), 0);
    assert_int_equal(deployment_group_size(deployment_model(over, NULL), "a"), 3);
    assert_int_equal(deployment_group_size(deployment_model(over, NULL), "b"), 0);
}

static void keys_that_do_not_count_can_go(void **state)
{
    static const struct {
        const char *key;
        bool past;
    } rows[] = {
        { "serve/at/a/1/0/0/127.0.0.1:1000", true },
        { "serve/at/a/1/0/2/127.0.0.1:1000", false },
        { "serve/at/a/1/0/1/127.0.0.1:1001", true },
        { "serve/at/a/1/1/0/127.0.0.1:1002", false },
        { "serve/at/a/1/2/0/127.0.0.1:1002", true },
        { "serve/at/b/2/0/1/127.0.0.1:1003", false },
        { "serve/at/b/1/0/1/127.0.0.1:1003", true },
        { "serve/at/c/2/0/1/127.0.0.1:1003", true },
        { "serve/status", false },
    };
    AUTO_JSON *plan = plan_of(PLAN("2", ""));
    AUTO_STRS keys = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(strs_add(&keys, rows[i].key), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (deployment_is_past(plan, rows[i].key, &keys) != rows[i].past)
            fail_msg("%s", rows[i].key);
}

static void starts_are_counted_for_each_replica(void **state)
{
    int64_t got[DEPLOYMENT_REPLICAS];
    AUTO_JSON *plan = plan_of(PLAN("2", ""));
    AUTO_STRS keys = { 0 };

    (void)state;
    assert_int_equal(strs_split(&keys,
                                "serve/at/b/2/0/4/h:1 serve/at/b/2/0/5/h:1 serve/at/b/1/1/9/h:1 "
                                "serve/at/b/2/300/9/h:1 serve/at/a/1/1/9/h:1",
                                " "),
                     0);
    deployment_attempts(deployment_version(deployment_model(plan, NULL), 4), &keys, got);
    assert_int_equal(got[0], 5);
    assert_int_equal(got[1], -1);
}

static void what_is_no_plan_is_refused(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"models\":[]}",
        "{\"models\":[{\"versions\":[{}]}]}",
        "{\"models\":[{\"name\":\"m\",\"serve\":1,\"replicas\":1,\"groups\":[],\"versions\":[]}]}",
        "{\"models\":[{\"name\":\"m\",\"serve\":1,\"replicas\":257,\"groups\":[],\"versions\":"
        "[" VERSION("1", "a", "1") "]}]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_t *plan = NULL;

        assert_int_equal(deployment_plan_parse("plan", texts[i], &plan, NULL), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_where_they_say),
        cmocka_unit_test(replicas_beyond_a_number_are_known_while_a_gateway_has_them),
        cmocka_unit_test(a_version_that_leaves_has_no_replicas_any_more),
        cmocka_unit_test(only_a_version_that_is_watched_is_a_canary),
        cmocka_unit_test(other_gateways_give_a_canary_the_share_that_they_are_told),
        cmocka_unit_test(groups_have_the_size_that_the_plan_gives_them),
        cmocka_unit_test(keys_that_do_not_count_can_go),
        cmocka_unit_test(starts_are_counted_for_each_replica),
        cmocka_unit_test(what_is_no_plan_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
