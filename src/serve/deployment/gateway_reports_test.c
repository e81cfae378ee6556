/* What several gateways of a deployment say becomes one report, and who is waited for. */
#include "base/str.h"
#include "serve/deployment/gateway_reports.h"
#include "test.h"

#include <string.h>

#define STATUS                                                                                     \
    "{\"ok\": true, \"port\": 80, \"age_ms\": %d, \"haproxy\": {\"leaving\": %d, \"restarts\": "   \
    "0},"                                                                                          \
    " \"models\": [{\"name\": \"m\", \"serves\": %d%s, \"versions\": [{\"version\": 1,"            \
    " \"ready\": %d, \"waiting\": %d, \"requests\": 9, \"p99_ms\": 1.5,"                           \
    " \"replicas\": [{\"name\": \"a-0\", \"address\": \"10.0.0.1:9\", \"state\": \"%s\","          \
    " \"in_flight\": %d, \"p50_ms\": 1}%s]}]}]}"
#define CANARY ", \"canary\": {\"version\": 2, \"percent\": 10.5, \"state\": \"%s\"}"

static json_t *parse(char *text)
{
    json_t *v = NULL;

    assert_int_equal(json_parse("it", text, strlen(text), &v, NULL), 0);
    free(text);
    return v;
}

static void says(struct gateway_seen *s, int beat, int revision, const char *status,
                 int64_t present)
{
    char text[2000];

    (void)snprintf(text, sizeof(text), "{\"beat\": %d, \"revision\": %d, \"status\": %s}", beat,
                   revision, status);
    assert_int_equal(gateway_seen_look(s, text, present, NULL), 0);
}

static void a_gateway_that_lacks_the_plan_is_waited_for(void **state)
{
    struct gateway_seen s = { 0 };

    (void)state;
    assert_int_equal(gateway_seen_look(&s, NULL, 7, NULL), 0);
    assert_false(gateway_seen_is_waited_for(&s, 7)); /* there is none */
    says(&s, 1, -1, "null", 7);
    assert_true(gateway_seen_is_waited_for(&s, 7)); /* it begins, perhaps with the plan of before */
    assert_false(gateway_seen_counts(&s));
    says(&s, 2, 6, "{}", 7);
    assert_true(gateway_seen_is_waited_for(&s, 7));
    assert_true(gateway_seen_counts(&s));
    says(&s, 3, 7, "{}", 7);
    assert_false(gateway_seen_is_waited_for(&s, 7));
    assert_true(gateway_seen_is_waited_for(&s, 8));
    gateway_seen_done(&s);
}

static void a_gateway_that_is_gone_is_not_waited_for_for_ever(void **state)
{
    struct gateway_seen s = { 0 };
    int looks = 0;

    (void)state;
    says(&s, 1, 6, "{}", 7);
    for (; gateway_seen_is_waited_for(&s, 7) && looks < 1000; looks++)
        says(&s, 1, 6, "{}", 7);
    assert_in_range(looks, 60, 200); /* four a second */
    assert_false(gateway_seen_counts(&s));
    says(&s, 2, 7, "{}", 7);
    assert_true(gateway_seen_counts(&s));
    assert_false(gateway_seen_is_waited_for(&s, 7));
    assert_true(gateway_seen_is_waited_for(&s, 8)); /* it is back */
    gateway_seen_done(&s);
}

static void what_is_no_report_is_none(void **state)
{
    static const char *const bad[] = { "", "[]", "7", "{", "{\"beat\": \"x\"}", "nonsense" };
    struct gateway_seen s = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(gateway_seen_look(&s, bad[i], 7, NULL), 0);
        assert_false(gateway_seen_counts(&s));
        assert_false(gateway_seen_strays(&s, "m", 1));
    }
    gateway_seen_done(&s);
}

static void reports_are_summed(void **state)
{
    AUTO_JSON *status = parse(str_printf(STATUS, 100, 0, 1, "", 2, 3, "drained", 4, ""));
    AUTO_FREE char *other = str_printf(STATUS, 900, 2, 1, "", 1, 5, "draining", 6,
                                       ", {\"address\": \"10.0.0.2:9\", \"in_flight\": 1}");
    const json_t *v, *replicas;
    struct gateway_seen s = { 0 }, silent = { 0 };

    (void)state;
    says(&s, 1, 7, other, 7);
    assert_int_equal(gateway_reports_begin(status, NULL), 0);
    assert_int_equal(gateway_reports_join(status, &s, 1, NULL), 0);
    assert_int_equal(gateway_reports_join(status, &silent, 2, NULL), 0);
    v = json_array_get(
        json_object_get(json_array_get(json_object_get(status, "models"), 0), "versions"), 0);
    replicas = json_object_get(v, "replicas");
    assert_int_equal(json_int_or(v, "ready", -1), 1);
    assert_int_equal(json_int_or(v, "waiting", -1), 8);
    assert_int_equal(json_array_size(replicas), 2); /* one that only the other has left */
    assert_int_equal(json_int_or(json_array_get(replicas, 0), "in_flight", -1), 10);
    assert_string_equal(json_string_value(json_object_get(json_array_get(replicas, 0), "state")),
                        "draining");
    assert_int_equal(json_int_or(json_object_get(status, "haproxy"), "leaving", -1), 2);
    assert_int_equal(json_int_or(status, "age_ms", -1), 900);
    assert_int_equal(json_array_size(json_object_get(status, "gateways")), 3);
    gateway_seen_done(&s);
}

static void a_report_is_brief(void **state)
{
    AUTO_JSON *status = parse(str_printf(STATUS, 100, 0, 1, "", 2, 3, "ready", 4, ""));
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(gateway_reports_brief(status, NULL), 0);
    text = json_dumps(status, JSON_COMPACT);
    assert_non_null(text);
    assert_null(strstr(text, "p99_ms"));
    assert_null(strstr(text, "p50_ms"));
    assert_non_null(strstr(text, "in_flight"));
}

static void who_sends_requests_elsewhere_strays(void **state)
{
    AUTO_FREE char *old = str_printf(STATUS, 1, 0, 1, "", 1, 0, "ready", 0, "");
    AUTO_FREE char *canary = str_printf(STATUS, 1, 0, 2, ", \"canary\": {}", 1, 0, "ready", 0, "");
    AUTO_FREE char *there = str_printf(STATUS, 1, 0, 2, "", 1, 0, "ready", 0, "");
    struct gateway_seen s = { 0 };

    (void)state;
    says(&s, 1, 7, old, 7);
    assert_true(gateway_seen_strays(&s, "m", 2));
    says(&s, 2, 7, canary, 7);
    assert_true(gateway_seen_strays(&s, "m", 2));
    says(&s, 3, 7, there, 7);
    assert_false(gateway_seen_strays(&s, "m", 2));
    gateway_seen_done(&s);
}

static double share_at(const char *canary_state)
{
    AUTO_FREE char *canary = str_printf(CANARY, canary_state);
    AUTO_JSON *status = parse(str_printf(STATUS, 1, 0, 1, canary, 1, 0, "ready", 0, ""));
    AUTO_JSON *shares = NULL;

    assert_int_equal(gateway_shares_make(status, &shares, NULL), 0);
    assert_true(gateway_share(shares, "m", 3) == 0); /* another version */
    assert_true(gateway_share(shares, "n", 2) == 0);
    return gateway_share(shares, "m", 2);
}

static void canaries_get_the_share_that_the_first_gateway_gives_them(void **state)
{
    (void)state;
    assert_true(share_at("watching") == 10.5);
    assert_true(share_at("shifted") == 100);
    assert_true(share_at("done") == 100);
    assert_true(gateway_share(NULL, "m", 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gateway_that_lacks_the_plan_is_waited_for),
        cmocka_unit_test(a_gateway_that_is_gone_is_not_waited_for_for_ever),
        cmocka_unit_test(what_is_no_report_is_none),
        cmocka_unit_test(reports_are_summed),
        cmocka_unit_test(a_report_is_brief),
        cmocka_unit_test(who_sends_requests_elsewhere_strays),
        cmocka_unit_test(canaries_get_the_share_that_the_first_gateway_gives_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
