/* autoscale_test.c - see autoscale.h: decisions as a table, and loads that go on for hours. */
#include "serve/deployment/autoscale.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define LOOK 500 /* ms between two looks */

static const struct autoscale rule = { .target = 4, .min = 1, .max = 8, .cool_down = 60000 };

/* ---- rules ---- */

static void a_rule_is_checked(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "{\"target\":4,\"min\":1,\"max\":8,\"cool_down\":60000}", NULL },
        { "{\"target\":1,\"min\":8,\"max\":8,\"cool_down\":1000}", NULL },
        { "{\"target\":0,\"min\":1,\"max\":8,\"cool_down\":60000}", "'target'" },
        { "{\"target\":4,\"min\":0,\"max\":8,\"cool_down\":60000}", "'min'" },
        { "{\"target\":4,\"min\":9,\"max\":8,\"cool_down\":60000}", "'min'" },
        { "{\"target\":4,\"min\":1,\"max\":257,\"cool_down\":60000}", "'max'" },
        { "{\"target\":4,\"min\":1,\"max\":8,\"cool_down\":999}", "'cool_down'" },
        { "{\"target\":\"4\",\"min\":1,\"max\":8,\"cool_down\":60000}", "'target'" },
        { "[]", "'target'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *v = NULL;
        struct autoscale got;
        struct err err = ERR_INIT;

        assert_int_equal(json_parse("rule", rows[i].text, strlen(rows[i].text), &v, NULL), 0);
        assert_int_equal(autoscale_parse(v, &got, &err), rows[i].says ? -EINVAL : 0);
        if (rows[i].says)
            assert_non_null(strstr(err.text, rows[i].says));
    }
}

/* ---- the load ---- */

#define VERSION(number, replicas)                                                                  \
    "{\"serves\":1,\"versions\":[{\"version\":" number ",\"waiting\":3,\"replicas\":[" replicas    \
    "]}]}"

static void what_is_not_known_is_no_load(void **state)
{
    static const struct {
        const char *report;
        int64_t load;
        unsigned ready;
    } rows[] = {
        { VERSION("1", "{\"in_flight\":2,\"state\":\"ready\"},"
                       "{\"in_flight\":1,\"state\":\"leaving\"}"),
          6, 1 },
        { VERSION("1", "{\"in_flight\":0,\"state\":\"ready\"},"
                       "{\"in_flight\":0,\"state\":\"ready\"}"),
          3, 2 },
        { VERSION("1", "{\"in_flight\":2,\"state\":\"not ready\"}"), -1, 0 },
        { VERSION("1", "{\"state\":\"ready\"}"), -1, 0 },
        { VERSION("1", "{\"in_flight\":-1,\"state\":\"ready\"}"), -1, 0 },
        { VERSION("1", ""), -1, 0 },
        { VERSION("2", "{\"in_flight\":2,\"state\":\"ready\"}"), -1, 0 },
        { "{}", -1, 0 },
        { NULL, -1, 0 },
    };
    AUTO_JSON *model = json_pack("{s:i}", "serve", 1);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *report = NULL;
        struct autoscale_ready ready = { .n = 99 };

        if (rows[i].report)
            assert_int_equal(
                json_parse("report", rows[i].report, strlen(rows[i].report), &report, NULL), 0);
        assert_int_equal(autoscale_load(model, report, &ready), rows[i].load);
        assert_int_equal(ready.n, rows[i].ready);
    }
}

/* ---- decisions ---- */

struct world {
    struct autoscale rule;
    struct autoscale_memory m;
    int64_t now;
    unsigned replicas, ready, lost; /* of those that are ready the first `lost` are not */
    bool partial;
    int64_t start_ms, starting; /* how long a replica needs; when the last were begun */
    unsigned changes;
    char why[AUTOSCALE_WHY];
};

static struct world world_new(unsigned replicas)
{
    return (struct world){ .rule = rule, .now = 1000000, .replicas = replicas, .ready = replicas };
}

/* One look; replicas are ready when their time has come. */
static void look(struct world *w, int64_t load)
{
    struct autoscale_seen seen;
    char why[AUTOSCALE_WHY];
    unsigned n;

    w->now += LOOK;
    if (w->ready > w->replicas || w->now - w->starting >= w->start_ms)
        w->ready = w->replicas;
    seen = (struct autoscale_seen){
        .now = w->now, .load = load, .partial = w->partial, .replicas = w->replicas
    };
    for (unsigned i = w->lost; i < w->ready; i++, seen.ready.n++)
        seen.ready.is[i] = true;
    n = autoscale_look(&w->rule, &w->m, &seen, why);
    if (n == w->replicas)
        return;
    assert_true(n >= w->rule.min && n <= w->rule.max);
    assert_true(*why);
    memcpy(w->why, why, sizeof(why));
    if (n > w->replicas)
        w->starting = w->now;
    w->replicas = n;
    w->changes++;
}

static void look_for(struct world *w, int64_t ms, int64_t load)
{
    for (int64_t end = w->now + ms; w->now < end;)
        look(w, load);
}

static void steady_loads_lead_to_the_target(void **state)
{
    static const struct {
        unsigned before;
        int64_t load;
        unsigned after;
    } rows[] = {
        { 1, 0, 1 },  { 1, 4, 1 },   { 2, 8, 2 },  { 1, 5, 2 },  { 1, 12, 3 }, { 1, 20, 5 },
        { 1, 32, 8 }, { 1, 500, 8 }, { 8, 32, 8 }, { 8, 5, 2 },  { 8, 4, 1 },  { 8, 0, 1 },
        { 4, 13, 4 }, { 4, 12, 3 },  { 3, 13, 3 }, { 3, 14, 4 }, { 0, 50, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w = world_new(rows[i].before);

        look_for(&w, 300000, rows[i].load);
        if (w.replicas != rows[i].after)
            fail_msg("row %zu: %u replicas, not %u (%s)", i, w.replicas, rows[i].after, w.why);
    }
}

static void a_burst_is_answered_within_seconds(void **state)
{
    struct world w = world_new(1);

    (void)state;
    look_for(&w, 600000, 1);
    assert_int_equal(w.changes, 0);
    look_for(&w, 3000, 20);
    assert_int_equal(w.replicas, 5);
    assert_string_equal(w.why, "20 requests in flight, and 4 for each replica wanted");
}

static void one_look_alone_is_no_burst(void **state)
{
    struct world w = world_new(1);

    (void)state;
    for (int i = 0; i < 100; i++) {
        look(&w, 200);
        look_for(&w, 3000, 0);
    }
    assert_int_equal(w.changes, 0);
}

static void steps_are_bounded_and_wait_for_replicas(void **state)
{
    struct world w = world_new(1);

    (void)state;
    w.rule.max = 100;
    w.start_ms = 10000;
    look_for(&w, 3000, 1000);
    assert_int_equal(w.replicas, 5);
    look_for(&w, 6000, 1000);
    assert_int_equal(w.replicas, 5); /* they start */
    look_for(&w, 3000, 1000);
    assert_int_equal(w.replicas, 10);
    w.start_ms = 1000000; /* they never get ready */
    look_for(&w, 35000, 1000);
    assert_int_equal(w.replicas, 20);
}

static void fewer_only_after_the_cool_down(void **state)
{
    struct world w = world_new(1);

    (void)state;
    look_for(&w, 5000, 20);
    assert_int_equal(w.replicas, 5);
    look_for(&w, 58000, 2);
    assert_int_equal(w.replicas, 5);
    look(&w, 11); /* once more, for a moment */
    look_for(&w, 55000, 2);
    assert_int_equal(w.replicas, 3);
    look_for(&w, 70000, 2);
    assert_int_equal(w.replicas, 1);
    assert_string_equal(w.why, "at most 2 requests in flight for 60 seconds");
}

static void what_was_not_seen_is_not_little(void **state)
{
    struct world w = world_new(5);

    (void)state;
    look_for(&w, 40000, 2);
    look_for(&w, 200000, -1);
    assert_int_equal(w.replicas, 5);
    look_for(&w, 50000, 2); /* begins anew */
    assert_int_equal(w.replicas, 5);
    look_for(&w, 15000, 2);
    assert_int_equal(w.replicas, 1);
}

static void a_part_of_the_load_can_only_be_too_much(void **state)
{
    struct world w = world_new(2);

    (void)state;
    w.partial = true;
    look_for(&w, 200000, 1);
    assert_int_equal(w.replicas, 2);
    look_for(&w, 5000, 20);
    assert_int_equal(w.replicas, 5);
    w.partial = false;
    look_for(&w, 55000, 1);
    assert_int_equal(w.replicas, 5);
}

static void a_number_that_somebody_chose_stays_for_the_cool_down(void **state)
{
    struct world w = world_new(2);

    (void)state;
    look_for(&w, 300000, 5);
    w.replicas = w.ready = 6;
    look_for(&w, 55000, 5);
    assert_int_equal(w.replicas, 6);
    look_for(&w, 10000, 5);
    assert_int_equal(w.replicas, 2);
    w.replicas = 0;
    look_for(&w, 300000, 100);
    assert_int_equal(w.replicas, 0);
    w.replicas = 20; /* the rule was made narrower */
    look(&w, -1);
    assert_int_equal(w.replicas, 8);
    assert_string_equal(w.why, "from 1 to 8 are allowed");
}

static void as_many_of_those_that_stay_are_ready(void **state)
{
    struct world w = world_new(2);

    (void)state;
    w.lost = 1; /* the last one alone answers */
    look_for(&w, 300000, 1);
    assert_int_equal(w.replicas, 2);
    w.lost = 0;
    look_for(&w, 70000, 1);
    assert_int_equal(w.replicas, 1);
    w = world_new(8);
    w.lost = 2;
    look_for(&w, 300000, 12);
    assert_int_equal(w.replicas, 5); /* of which three are ready */
    w = world_new(8);
    w.start_ms = 1000000000; /* there is no room for three of them */
    w.starting = w.now;
    w.ready = 5;
    look_for(&w, 300000, 1);
    assert_int_equal(w.replicas, 1);
}

static void a_ready_replica_is_known_by_its_name(void **state)
{
    static const char text[] =
        VERSION("1", "{\"name\":\"a-1\",\"in_flight\":0,\"state\":\"ready\"},"
                     "{\"name\":\"a-0\",\"in_flight\":0,\"state\":\"not ready\"},"
                     "{\"name\":\"h:9-1\",\"in_flight\":0,\"state\":\"leaving\"},"
                     "{\"name\":\"a-256\",\"in_flight\":0,\"state\":\"ready\"},"
                     "{\"name\":\"a-255\",\"in_flight\":0,\"state\":\"ready\"}");
    AUTO_JSON *model = json_pack("{s:i}", "serve", 1);
    AUTO_JSON *report = NULL;
    struct autoscale_ready ready;

    (void)state;
    assert_int_equal(json_parse("report", text, strlen(text), &report, NULL), 0);
    assert_int_equal(autoscale_load(model, report, &ready), 3);
    assert_int_equal(ready.n, 3);
    for (unsigned i = 0; i < DEPLOYMENT_REPLICAS; i++)
        assert_int_equal(ready.is[i], i == 1 || i == 255);
}

/* ---- hours ---- */

static uint32_t noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Whatever the load: a change to fewer comes at most once in a cool-down, and is not taken back
 * while the load is what it was. */
static void no_load_makes_it_flap(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t seed = round;
        struct world w = world_new(1 + round % 8);
        int64_t mean = 1 + noise(&seed) % 30, spread = 1 + noise(&seed) % 10;
        unsigned settled;

        w.start_ms = noise(&seed) % 20000;
        look_for(&w, 3000, mean);
        for (int i = 0; i < 1200; i++) /* ten minutes to settle */
            look(&w, mean - spread / 2 + noise(&seed) % spread > 0
                         ? mean - spread / 2 + noise(&seed) % spread
                         : 0);
        settled = w.changes;
        for (int i = 0; i < 7200; i++) /* an hour */
            look(&w, mean - spread / 2 + noise(&seed) % spread > 0
                         ? mean - spread / 2 + noise(&seed) % spread
                         : 0);
        if (w.changes - settled > 4)
            fail_msg("round %u: %u changes in an hour of the same load", round,
                     w.changes - settled);
    }
}

/* A load that comes and goes: at most one up (in its steps) and one down for each. */
static void waves_change_it_as_often_as_they_come(void **state)
{
    struct world w = world_new(1);

    (void)state;
    for (int wave = 0; wave < 20; wave++) {
        look_for(&w, 150000, 32);
        assert_int_equal(w.replicas, 8);
        look_for(&w, 150000, 3);
        assert_int_equal(w.replicas, 1);
    }
    assert_true(w.changes <= 20 * 3);
    w.changes = 0;
    for (int wave = 0; wave < 100; wave++) { /* shorter than the cool-down */
        look_for(&w, 20000, 32);
        look_for(&w, 20000, 3);
    }
    assert_true(w.changes <= 3);
    assert_int_equal(w.replicas, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_checked),
        cmocka_unit_test(what_is_not_known_is_no_load),
        cmocka_unit_test(steady_loads_lead_to_the_target),
        cmocka_unit_test(a_burst_is_answered_within_seconds),
        cmocka_unit_test(one_look_alone_is_no_burst),
        cmocka_unit_test(steps_are_bounded_and_wait_for_replicas),
        cmocka_unit_test(fewer_only_after_the_cool_down),
        cmocka_unit_test(what_was_not_seen_is_not_little),
        cmocka_unit_test(a_part_of_the_load_can_only_be_too_much),
        cmocka_unit_test(a_number_that_somebody_chose_stays_for_the_cool_down),
        cmocka_unit_test(as_many_of_those_that_stay_are_ready),
        cmocka_unit_test(a_ready_replica_is_known_by_its_name),
        cmocka_unit_test(no_load_makes_it_flap),
        cmocka_unit_test(waves_change_it_as_often_as_they_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
