/* Counts per version and replica, over a minute and since a mark. */
#include "base/auto.h"
#include "serve/gateway/haproxy_log.h"
#include "serve/gateway/traffic.h"
#include "test.h"

#include <string.h>

static void count(struct traffic *t, const char *server, bool failed, int64_t us, int64_t now)
{
    struct haproxy_request q = { .backend = "m:1", .status = 200, .failed = failed, .us = us };

    (void)snprintf(q.server, sizeof(q.server), "%s", server);
    traffic_count(t, &q, now);
}

static void a_request_counts_for_its_version_and_its_replica(void **state)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;

    (void)state;
    assert_non_null(t);
    assert_int_equal(traffic_declare(t, "m:1", "", 1000), 0);
    assert_int_equal(traffic_declare(t, "m:1", "a", 1000), 0);
    assert_int_equal(traffic_declare(t, "m:1", "a", 1000), 0);
    count(t, "a", false, 100, 1500);
    count(t, "b", true, 100, 1500); /* nobody declared it */
    assert_int_equal(traffic_recent(t, "m:1", "", 2000, &s), 0);
    assert_int_equal(s.requests, 2);
    assert_int_equal(s.errors, 1);
    assert_int_equal(s.span_ms, 1000);
    assert_int_equal(traffic_recent(t, "m:1", "a", 2000, &s), 0);
    assert_int_equal(s.requests, 1);
    assert_int_equal(traffic_recent(t, "m:1", "b", 2000, &s), -ENOENT);
}

static void after_a_minute_nothing_is_left(void **state)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;
    int64_t now = 1000;

    (void)state;
    assert_non_null(t);
    assert_int_equal(traffic_declare(t, "m:1", "", now), 0);
    for (; now < 200000; now += 1000)
        count(t, "", false, 100, now);
    assert_int_equal(traffic_recent(t, "m:1", "", now, &s), 0);
    assert_in_range(s.requests, 40, 61);
    assert_in_range(s.span_ms, 40000, 61000);
    assert_int_equal(traffic_recent(t, "m:1", "", now + 70000, &s), 0);
    assert_int_equal(s.requests, 0);
}

static void a_mark_counts_from_then_on(void **state)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;

    (void)state;
    assert_non_null(t);
    assert_int_equal(traffic_declare(t, "m:1", "", 1), 0);
    count(t, "", true, 100, 1);
    assert_int_equal(traffic_marked(t, "m:1", 5, &s), -ENOENT);
    traffic_mark(t, "m:1", 5);
    count(t, "", false, 100, 100000);
    assert_int_equal(traffic_marked(t, "m:1", 200005, &s), 0);
    assert_int_equal(s.requests, 1);
    assert_int_equal(s.errors, 0);
    assert_int_equal(s.span_ms, 200000);
}

static void a_version_has_all_of_its_requests(void **state)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;

    (void)state;
    assert_non_null(t);
    assert_int_equal(traffic_all(t, "m:1", "", &s), -ENOENT);
    assert_int_equal(traffic_declare(t, "m:1", "", 1), 0);
    for (int64_t now = 1; now < 1000000; now += 1000)
        count(t, "", now == 1, 100, now);
    assert_int_equal(traffic_all(t, "m:1", "", &s), 0);
    assert_int_equal(s.requests, 1000);
    assert_int_equal(s.errors, 1);
    assert_int_equal(s.times.total, 1000);
}

static int keep_a(void *user, const char *backend, const char *server)
{
    (void)user;
    (void)backend;
    return strcmp(server, "a") == 0;
}

static void what_is_not_kept_is_forgotten(void **state)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;

    (void)state;
    assert_non_null(t);
    assert_int_equal(traffic_declare(t, "m:1", "a", 1), 0);
    assert_int_equal(traffic_declare(t, "m:1", "b", 1), 0);
    assert_int_equal(traffic_declare(t, "m:1", "", 1), 0);
    traffic_keep(t, keep_a, NULL);
    assert_int_equal(traffic_recent(t, "m:1", "a", 1, &s), 0);
    assert_int_equal(traffic_recent(t, "m:1", "b", 1, &s), -ENOENT);
    assert_int_equal(traffic_recent(t, "m:1", "", 1, &s), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_counts_for_its_version_and_its_replica),
        cmocka_unit_test(after_a_minute_nothing_is_left),
        cmocka_unit_test(a_mark_counts_from_then_on),
        cmocka_unit_test(a_version_has_all_of_its_requests),
        cmocka_unit_test(what_is_not_kept_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
