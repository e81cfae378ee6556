/* What went through another gateway counts once, whatever is lost or said twice. */
#include "base/auto.h"
#include "serve/gateway/counts.h"
#include "serve/gateway/haproxy_log.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct traffic *made(void)
{
    struct traffic *t = traffic_new();

    assert_non_null(t);
    assert_int_equal(traffic_declare(t, "m:1", "", 1), 0);
    assert_int_equal(traffic_declare(t, "m:1", "10.0.0.1:9", 1), 0);
    return t;
}

static void ask(struct traffic *t, unsigned n, bool failed, int64_t us)
{
    struct haproxy_request q = { .backend = "m:1", .status = 200, .failed = failed, .us = us };

    (void)snprintf(q.server, sizeof(q.server), "10.0.0.1:9");
    for (unsigned i = 0; i < n; i++)
        traffic_count(t, &q, 2);
}

static json_t *counts_of(const struct traffic *t)
{
    json_t *v = json_object();

    assert_int_equal(counts_put(v, t, "m:1", "", NULL), 0);
    assert_int_equal(counts_put(v, t, "m:1", "10.0.0.1:9", NULL), 0);
    assert_int_equal(counts_put(v, t, "m:2", "", NULL), 0); /* there is no such version */
    return v;
}

static void has(const struct traffic *t, const char *server, uint64_t requests, uint64_t errors)
{
    struct traffic_sum s;

    assert_int_equal(traffic_all(t, "m:1", server, &s), 0);
    assert_int_equal(s.requests, requests);
    assert_int_equal(s.errors, errors);
    assert_int_equal(s.times.total, requests);
}

static void counts_of_two_gateways_are_summed(void **state)
{
    AUTO(traffic) struct traffic *mine = made(), *other = made();
    AUTO_JSON *first = NULL;
    AUTO_JSON *second = NULL;
    struct traffic_sum s;

    (void)state;
    traffic_mark(mine, "m:1", 2);
    ask(mine, 90, false, 100);
    ask(other, 10, true, 100000);
    first = counts_of(other);
    assert_int_equal(json_object_size(first), 2);
    assert_int_equal(counts_add(mine, NULL, first, 3, NULL), 0);
    has(mine, "", 100, 10);
    has(mine, "10.0.0.1:9", 100, 10);
    assert_int_equal(counts_add(mine, first, first, 4, NULL), 0); /* said twice */
    has(mine, "", 100, 10);
    ask(other, 5, false, 100);
    second = counts_of(other);
    assert_int_equal(counts_add(mine, first, second, 5, NULL), 0);
    has(mine, "", 105, 10);
    assert_int_equal(traffic_marked(mine, "m:1", 6, &s), 0);
    assert_int_equal(s.requests, 105);
    assert_true(histogram_quantile(&s.times, 990) >= 100000);
    assert_int_equal(traffic_recent(mine, "m:1", "", 6, &s), 0);
    assert_int_equal(s.requests, 105);
}

static void a_gateway_that_begins_anew_counts_from_nothing(void **state)
{
    AUTO(traffic) struct traffic *mine = made(), *other = made(), *again = made();
    AUTO_JSON *first = NULL;
    AUTO_JSON *second = NULL;

    (void)state;
    ask(other, 10, false, 100);
    first = counts_of(other);
    assert_int_equal(counts_add(mine, NULL, first, 3, NULL), 0);
    ask(again, 4, true, 100);
    second = counts_of(again);
    assert_int_equal(counts_add(mine, first, second, 4, NULL), 0);
    has(mine, "", 14, 4);
}

static void what_is_no_count_adds_nothing(void **state)
{
    static const char *const bad[] = {
        "[]",
        "7",
        "{\"m:1\": 7}",
        "{\"m:1\": {\"requests\": 5}}",
        "{\"m:1\": {\"requests\": -5, \"errors\": 0, \"refused\": 0, \"retried\": 0, \"times\": "
        "[]}}",
        "{\"m:1\": {\"requests\": 5, \"errors\": 0, \"refused\": 0, \"retried\": 0, \"times\": "
        "[1]}}",
        "{\"m:1\": {\"requests\": 5, \"errors\": 0, \"refused\": 0, \"retried\": 0, \"times\": "
        "[9999, 1]}}",
    };
    AUTO(traffic) struct traffic *mine = made();

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        AUTO_JSON *v = NULL;

        assert_int_equal(json_parse("it", bad[i], strlen(bad[i]), &v, NULL), 0);
        assert_int_equal(counts_add(mine, NULL, v, 3, NULL), -EINVAL);
    }
    has(mine, "", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_two_gateways_are_summed),
        cmocka_unit_test(a_gateway_that_begins_anew_counts_from_nothing),
        cmocka_unit_test(what_is_no_count_adds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
