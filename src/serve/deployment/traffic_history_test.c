/* Minutes and quarters of an hour from counts that grow, through restarts, for months. */
#include "base/auto.h"
#include "serve/deployment/traffic_history.h"
#include "serve/gateway/histogram.h"
#include "serve/gateway/histogram_json.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#define MINUTE 60000LL
#define START (29384700 * MINUTE) /* a quarter begins */

/* What a gateway has counted of one version. */
struct counted {
    const char *model;
    int64_t version, requests, errors;
    struct histogram times;
};

static void more(struct counted *c, int n, int64_t us)
{
    c->requests += n;
    for (int i = 0; i < n; i++)
        histogram_add(&c->times, us);
}

static json_t *totals(const struct counted *c, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:o}", "model", c[i].model,
                                              "version", (json_int_t)c[i].version, "requests",
                                              (json_int_t)c[i].requests, "errors",
                                              (json_int_t)c[i].errors, "times",
                                              histogram_json(&c[i].times)));
    return list;
}

static void look(struct traffic_history *h, const struct counted *c, size_t n, int64_t now)
{
    AUTO_JSON *v = totals(c, n);

    assert_int_equal(traffic_history_count(h, v, now, NULL), 0);
}

/* The one that follows a controller that was killed. */
static struct traffic_history *after(const struct traffic_history *h)
{
    struct traffic_history *next = traffic_history_new();
    AUTO_JSON *open = traffic_history_open(h);

    assert_non_null(next);
    assert_non_null(open);
    assert_int_equal(traffic_history_load_open(next, open), 0);
    assert_int_equal(
        traffic_history_load_rows(next, traffic_history_minutes(h), traffic_history_quarters(h)),
        0);
    return next;
}

/* "resnet:1 @3 20 1 100 500", the minute from START on. */
static void assert_rows(const json_t *rows, const char *wanted)
{
    char text[1000] = "";
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        size_t n = strlen(text);

        (void)snprintf(
            text + n, sizeof(text) - n, "%s%s:%lld @%lld %lld %lld %lld %lld", n ? ", " : "",
            json_string_value(json_array_get(row, 0)), json_integer_value(json_array_get(row, 1)),
            json_integer_value(json_array_get(row, 2)) - START / MINUTE,
            json_integer_value(json_array_get(row, 3)), json_integer_value(json_array_get(row, 4)),
            json_integer_value(json_array_get(row, 5)), json_integer_value(json_array_get(row, 6)));
    }
    assert_string_equal(text, wanted);
}

static void a_minute_has_a_row_and_a_quarter_the_times_of_all_its_minutes(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c = { .model = "m", .version = 1 };

    (void)state;
    assert_non_null(h);
    look(h, &c, 1, START);
    more(&c, 97, 10);
    look(h, &c, 1, START + 2000);
    assert_rows(traffic_history_minutes(h), "");
    look(h, &c, 1, START + MINUTE);
    more(&c, 3, 15);
    c.errors = 1;
    look(h, &c, 1, START + MINUTE + 2000);
    look(h, &c, 1, START + 14 * MINUTE);
    assert_rows(traffic_history_minutes(h), "m:1 @0 97 0 10 10, m:1 @1 3 1 15 15");
    assert_rows(traffic_history_quarters(h), "");
    look(h, &c, 1, START + 15 * MINUTE);
    assert_rows(traffic_history_quarters(h), "m:1 @0 100 1 10 15");
    assert_int_equal(traffic_history_day(h), START / MINUTE / HISTORY_DAY_MINUTES);
}

static void a_version_that_leaves_and_comes_again_counts_from_zero(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c[] = { { .model = "m", .version = 1 }, { .model = "m", .version = 2 } };
    struct counted again = { .model = "m", .version = 1 };

    (void)state;
    assert_non_null(h);
    more(&c[0], 5, 10);
    more(&c[1], 2, 10);
    look(h, c, 2, START);
    look(h, &c[1], 1, START + 2000);
    more(&again, 6, 10); /* more than before: it is known all the same */
    look(h, &again, 1, START + 4000);
    again = (struct counted){ .model = "m", .version = 1 };
    more(&again, 1, 10);
    look(h, &again, 1, START + 6000);
    look(h, &again, 1, START + MINUTE);
    assert_rows(traffic_history_minutes(h), "m:1 @0 12 0 10 10, m:2 @0 2 0 10 10");
}

static void buckets_that_are_full_begin_again(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c = { .model = "m", .version = 1 };

    (void)state;
    assert_non_null(h);
    more(&c, 1, 10);
    c.times.counts[10] = UINT32_MAX;
    look(h, &c, 1, START);
    look(h, &c, 1, START + MINUTE); /* the first look is a row of its own */
    c.times.counts[10] = 0;
    c.requests++;
    more(&c, 2, 10);
    look(h, &c, 1, START + MINUTE + 1);
    assert_int_equal(traffic_history_changed(h) & HISTORY_NEW_OPEN, HISTORY_NEW_OPEN);
    look(h, &c, 1, START + 2 * MINUTE);
    assert_rows(traffic_history_minutes(h), "m:1 @0 1 0 10 10, m:1 @1 3 0 10 10");
}

static void who_follows_goes_on_where_it_was(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    AUTO(traffic_history) struct traffic_history *next = NULL;
    AUTO(traffic_history) struct traffic_history *last = NULL;
    struct counted c = { .model = "m", .version = 1 }, fresh = c;

    (void)state;
    assert_non_null(h);
    more(&c, 4, 10);
    look(h, &c, 1, START);
    more(&c, 4, 15);
    look(h, &c, 1, START + MINUTE);
    next = after(h);
    more(&fresh, 1, 12);
    look(next, &fresh, 1, START + MINUTE + 2000);
    look(next, &fresh, 1, START + 2 * MINUTE);
    assert_rows(traffic_history_minutes(next), "m:1 @0 4 0 10 10, m:1 @1 5 0 15 15");
    last = after(next);
    look(last, NULL, 0, START + 40 * MINUTE); /* it was away for long */
    assert_rows(traffic_history_quarters(last), "m:1 @0 9 0 12 15");
    assert_rows(traffic_history_minutes(last), "m:1 @0 4 0 10 10, m:1 @1 5 0 15 15");
}

/* Killed after the rows were written, and before the document that says what is open. */
static void rows_that_are_made_twice_are_there_once(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    AUTO(traffic_history) struct traffic_history *next = traffic_history_new();
    struct counted c = { .model = "m", .version = 1 };
    AUTO_JSON *before = NULL;

    (void)state;
    assert_non_null(h);
    assert_non_null(next);
    more(&c, 4, 10);
    look(h, &c, 1, START);
    before = traffic_history_open(h);
    look(h, &c, 1, START + 15 * MINUTE);
    assert_int_equal(traffic_history_load_open(next, before), 0);
    assert_int_equal(
        traffic_history_load_rows(next, traffic_history_minutes(h), traffic_history_quarters(h)),
        0);
    look(next, NULL, 0, START + 15 * MINUTE);
    assert_rows(traffic_history_minutes(next), "m:1 @0 4 0 10 10");
    assert_rows(traffic_history_quarters(next), "m:1 @0 4 0 10 10");
}

static void months_of_traffic_have_a_ceiling_and_what_is_gone_leaves(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c[12] = { 0 };
    unsigned days = 0;

    (void)state;
    assert_non_null(h);
    for (int i = 0; i < 12; i++)
        c[i].model = "a-model-with-quite-a-long-name", c[i].version = i;
    for (int64_t m = 0; m < 3 * HISTORY_DAY_MINUTES; m++) {
        AUTO_FREE char *text = NULL;

        for (int i = 0; i < 12; i++) /* another version every 10 minutes */
            c[i].version = i + m / 10 * 12, more(&c[i], 1, 1000 + m);
        look(h, c, 12, START + m * MINUTE);
        days += (traffic_history_changed(h) & HISTORY_NEW_DAY) != 0;
        traffic_history_written(h, HISTORY_NEW_DAY);
        assert_in_range(json_array_size(traffic_history_minutes(h)), 0, 12 * HISTORY_RECENT);
        assert_in_range(json_array_size(traffic_history_quarters(h)), 0, 3 * 12 * 96);
        if (m % 500 == 0) {
            text = json_dumps(traffic_history_quarters(h), JSON_COMPACT);
            assert_in_range(strlen(text), 1, 1000000);
        }
    }
    assert_int_equal(days, 3 * 96 - 1);
    look(h, NULL, 0, START + (3 * HISTORY_DAY_MINUTES + HISTORY_RECENT) * MINUTE);
    assert_int_equal(json_array_size(traffic_history_minutes(h)), 0);
}

static void a_clock_that_is_set_back_loses_no_request(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c = { .model = "m", .version = 1 };

    (void)state;
    assert_non_null(h);
    look(h, &c, 1, START + 150 * MINUTE);
    more(&c, 1, 10);
    look(h, &c, 1, START + 150 * MINUTE);
    more(&c, 1, 10);
    look(h, &c, 1, START + 149 * MINUTE); /* a little: the minute stays open */
    look(h, &c, 1, START + 151 * MINUTE);
    assert_rows(traffic_history_minutes(h), "m:1 @150 2 0 10 10");
    more(&c, 3, 10);
    look(h, &c, 1, START + 5 * MINUTE); /* hours: it begins there */
    assert_rows(traffic_history_minutes(h), "");
    look(h, &c, 1, START + 6 * MINUTE);
    assert_rows(traffic_history_minutes(h), "m:1 @5 3 0 10 10");
}

static void days_that_are_too_old_are_known(void **state)
{
    static const struct {
        const char *key;
        bool past;
    } rows[] = {
        { "serve/history/day/100", false }, { "serve/history/day/70", false },
        { "serve/history/day/69", true },   { "serve/history/day/102", true },
        { "serve/history/day/x", true },    { "serve/history/day/", true },
        { "serve/history/minutes", false }, { "serve/plan", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(
            traffic_history_is_past(rows[i].key, 100 * HISTORY_DAY_MINUTES * MINUTE + 5),
            rows[i].past);
}

static void what_is_damaged_counts_as_not_there(void **state)
{
    static const char *const opens[] = {
        "7",
        "[]",
        "{}",
        "{\"minute\": -3, \"quarter\": 0}",
        "{\"minute\": 31, \"quarter\": 15}",
        "{\"minute\": 30, \"quarter\": 30, \"versions\": 3}",
        "{\"minute\": 30, \"quarter\": 30, \"versions\": [{}, 3, {\"model\": 3}]}",
        "{\"minute\": 30, \"quarter\": 30, \"versions\": [{\"model\": \"m\", \"version\": 1, "
        "\"minute\": {\"requests\": 1, \"errors\": 2, \"times\": []}}]}",
        "{\"minute\": 30, \"quarter\": 30, \"versions\": [{\"model\": \"m\", \"version\": 1, "
        "\"minute\": {\"requests\": 1, \"errors\": 0, \"times\": [528, 1]}, "
        "\"quarter\": {\"requests\": 1, \"errors\": 0, \"times\": [1]}}]}",
    };
    AUTO_JSON *rows = json_loads("[3, [], [\"m\", 1, 20, 1, 0, 1], [\"m\", 1, 20, -1, 0, 1, 1], "
                                 "[3, 1, 20, 1, 0, 1, 1], [\"m\", 1, 1e9, 1, 0, 1, 1], "
                                 "[\"m\", 1, 99999999999, 1, 0, 1, 1]]",
                                 0, NULL);
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    AUTO_JSON *shown = json_array();

    (void)state;
    for (size_t i = 0; i < sizeof(opens) / sizeof(*opens); i++) {
        AUTO(traffic_history) struct traffic_history *one = traffic_history_new();
        AUTO_JSON *open = json_loads(opens[i], JSON_DECODE_ANY, NULL);

        assert_non_null(open);
        assert_int_equal(traffic_history_load_open(one, open), 0);
        assert_int_equal(traffic_history_load_rows(one, rows, rows), 0);
        look(one, NULL, 0, 45 * MINUTE);
        assert_rows(traffic_history_minutes(one), "");
        assert_rows(traffic_history_quarters(one), "");
        assert_int_equal(traffic_history_show_open(open, true, 0, shown, NULL), 0);
    }
    assert_int_equal(traffic_history_show(rows, 0, shown, NULL), 0);
    assert_int_equal(json_array_size(shown), 0);
    assert_int_equal(traffic_history_count(h, rows, 1, NULL), -EINVAL);
    assert_int_equal(traffic_history_count(h, NULL, 1, NULL), -EINVAL);
}

static void what_is_shown_has_each_minute_once(void **state)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    struct counted c = { .model = "m", .version = 1 };
    AUTO_JSON *list = json_array();
    AUTO_JSON *before = NULL;
    AUTO_JSON *open = NULL;
    const json_t *row;

    (void)state;
    assert_non_null(h);
    more(&c, 4, 1600);
    look(h, &c, 1, START);
    before = traffic_history_open(h);
    look(h, &c, 1, START + 3 * MINUTE);
    more(&c, 2, 1600);
    look(h, &c, 1, START + 3 * MINUTE);
    open = traffic_history_open(h);
    assert_int_equal(traffic_history_show(traffic_history_minutes(h), START / MINUTE, list, NULL),
                     0);
    assert_int_equal(traffic_history_show_open(before, false, 0, list, NULL), 0);
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(traffic_history_show_open(open, false, 0, list, NULL), 0);
    assert_int_equal(json_array_size(list), 2);
    row = json_array_get(list, 1);
    assert_int_equal(json_int_or(row, "time", 0), START + 3 * MINUTE);
    assert_int_equal(json_int_or(row, "requests", 0), 2);
    assert_true(json_real_value(json_object_get(row, "p99_ms")) >= 1.6);
    assert_int_equal(traffic_history_show_open(open, true, START / MINUTE + 1, list, NULL), 0);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(traffic_history_show_open(open, true, START / MINUTE - 1, list, NULL), 0);
    assert_int_equal(json_array_size(list), 2); /* the quarter begins like the first minute */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minute_has_a_row_and_a_quarter_the_times_of_all_its_minutes),
        cmocka_unit_test(a_version_that_leaves_and_comes_again_counts_from_zero),
        cmocka_unit_test(buckets_that_are_full_begin_again),
        cmocka_unit_test(who_follows_goes_on_where_it_was),
        cmocka_unit_test(rows_that_are_made_twice_are_there_once),
        cmocka_unit_test(months_of_traffic_have_a_ceiling_and_what_is_gone_leaves),
        cmocka_unit_test(a_clock_that_is_set_back_loses_no_request),
        cmocka_unit_test(days_that_are_too_old_are_known),
        cmocka_unit_test(what_is_damaged_counts_as_not_there),
        cmocka_unit_test(what_is_shown_has_each_minute_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
