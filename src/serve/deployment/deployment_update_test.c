/* deployment_update_test.c - see deployment_update.h. Beside the table: a deployment that is made
 * of nothing but its rules, in which every answer may be late, come twice, or be of something that
 * is gone, and whose controller is killed at any moment. */
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_request.h"
#include "serve/deployment/deployment_update.h"
#include "test.h"

#include <string.h>

static json_t *plan_new(void)
{
    static const char text[] = "{\"name\":\"m\",\"serial\":1,\"models\":[{\"name\":\"m\",\"serve\":"
                               "1,\"groups\":[\"a\",\"b\"],"
                               "\"replicas\":2,\"versions\":[{\"version\":1,\"group\":\"a\","
                               "\"serial\":1,\"path\":\"/1\"}]}]}";
    json_t *plan = NULL;

    assert_int_equal(deployment_plan_parse("plan", text, &plan, NULL), 0);
    return plan;
}

static json_t *model_of(const json_t *plan)
{
    return deployment_model(plan, NULL);
}

#define UPDATE_TO(version, more)                                                                   \
    "{\"do\":\"update\",\"version\":{\"version\":" version ",\"path\":\"/v\"},\"percent\":10,"     \
    "\"errors\":1,\"slower\":2,\"requests\":200,\"watch\":5000,\"warm\":60000" more "}"

static void ask(json_t *plan, const char *id, const char *text, const char *error)
{
    const char *said;

    assert_int_equal(deployment_request(plan, id, text, 1000, NULL), 1);
    said = json_string_value(json_object_get(deployment_answer(plan, id), "error"));
    if (!error != !said || (error && !strstr(said, error)))
        fail_msg("%s: %s", text, said ? said : "was accepted");
}

/* ---- the table ---- */

static void only_what_is_in_the_table_can_happen(void **state)
{
    static const struct {
        enum update_phase from;
        enum update_event event;
        enum update_phase to;
    } rows[] = {
        { UPDATE_WARMING, UPDATE_WARM, UPDATE_WATCHING },
        { UPDATE_WARMING, UPDATE_LATE, UPDATE_ROUTING },
        { UPDATE_WARMING, UPDATE_GOOD, UPDATE_NONE },
        { UPDATE_WATCHING, UPDATE_GOOD, UPDATE_ROUTING },
        { UPDATE_WATCHING, UPDATE_BAD, UPDATE_ROUTING },
        { UPDATE_WATCHING, UPDATE_WARM, UPDATE_NONE },
        { UPDATE_ROUTING, UPDATE_BAD, UPDATE_NONE },
        { UPDATE_ROUTING, UPDATE_TAKEN_BACK, UPDATE_NONE },
        { UPDATE_ROUTING, UPDATE_ROUTED, UPDATE_DRAINING },
        { UPDATE_DRAINING, UPDATE_ROUTED, UPDATE_NONE },
        { UPDATE_DRAINING, UPDATE_IDLE, UPDATE_STOPPING },
        { UPDATE_STOPPING, UPDATE_STOPPED, UPDATE_NONE },
        { UPDATE_NONE, UPDATE_WARM, UPDATE_NONE },
        { UPDATE_PHASES_, UPDATE_WARM, UPDATE_NONE },
        { UPDATE_WARMING, UPDATE_EVENTS_, UPDATE_NONE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(update_next(rows[i].from, rows[i].event), rows[i].to);
}

/* ---- what is seen ---- */

struct seen_row {
    const char *report;
    int64_t now, starts, leaving;
    bool told, stopped;
    enum update_phase after;
    int64_t serve;
    int64_t moved;
};

/* Steps one after the other, from the beginning of an update from 1 to 2. */
static void walk(const struct seen_row *rows, size_t n)
{
    AUTO_JSON *plan = plan_new();

    ask(plan, "x", UPDATE_TO("2", ""), NULL);
    for (size_t i = 0; i < n; i++) {
        AUTO_JSON *report = NULL;
        struct update_seen seen = { .now = rows[i].now,
                                    .starts = rows[i].starts,
                                    .leaving = rows[i].leaving,
                                    .told = rows[i].told,
                                    .stopped = rows[i].stopped,
                                    .moved = rows[i].moved };
        struct err err = ERR_INIT;

        if (rows[i].report)
            assert_int_equal(json_parse("r", rows[i].report, strlen(rows[i].report), &report, NULL),
                             0);
        seen.report = report;
        assert_true(deployment_update_step(plan, model_of(plan), &seen, &err) >= 0);
        if (deployment_update_phase(model_of(plan)) != rows[i].after)
            fail_msg("step %zu: %s", i + 1,
                     update_phase_name(deployment_update_phase(model_of(plan))));
        assert_int_equal(json_int_or(model_of(plan), "serve", 0), rows[i].serve);
        assert_int_equal(deployment_plan_check("plan", plan, &err), 0);
    }
}

#define READY(n) "{\"serves\":1,\"versions\":[{\"version\":2,\"ready\":" n ",\"replicas\":[]}]}"
#define CANARY(v, state)                                                                           \
    "{\"serves\":1,\"canary\":{\"version\":" v ",\"state\":\"" state "\",\"why\":\"numbers\"}}"
#define LEFT(serves, v, list)                                                                      \
    "{\"serves\":" serves ",\"versions\":[{\"version\":" v ",\"replicas\":" list "}]}"

static void a_good_version_takes_over_step_by_step(void **state)
{
    static const struct seen_row rows[] = {
        { NULL, 1100, 0, 0, false, false, UPDATE_WARMING, 1 },
        { READY("1"), 1200, 0, 0, true, false, UPDATE_WARMING, 1 },
        { READY("2"), 1200, 0, 0, false, false, UPDATE_WARMING, 1 }, /* said before it was told */
        { READY("2"), 1300, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { READY("2"), 9900, 0, 0, true, false, UPDATE_WATCHING, 1 }, /* late: no canary in it */
        { CANARY("7", "done"), 1400, 0, 0, true, false, UPDATE_WATCHING, 1 }, /* of another one */
        { CANARY("2", "done"), 1400, 0, 0, false, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "shifted"), 1400, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "done"), 1500, 0, 0, true, false, UPDATE_ROUTING, 2 },
        { CANARY("2", "returned"), 1600, 0, 0, true, false, UPDATE_ROUTING, 2 }, /* too late */
        { LEFT("1", "1", "[]"), 1700, 0, 0, true, false, UPDATE_ROUTING, 2 },
        { LEFT("2", "1", "[{}]"), 1800, 0, 0, true, false, UPDATE_DRAINING, 2 },
        { LEFT("2", "1", "[{}]"), 1900, 0, 0, true, false, UPDATE_DRAINING, 2 },
        { LEFT("2", "1", "[]"), 2000, 0, 1, true, false, UPDATE_DRAINING, 2 },
        { LEFT("2", "1", "[]"), 2000, 0, 0, true, false, UPDATE_STOPPING, 2 },
        { LEFT("2", "1", "[]"), 2000, 0, 0, true, false, UPDATE_STOPPING, 2 },
        { NULL, 2100, 0, 0, false, true, UPDATE_NONE, 2 },
        { CANARY("2", "returned"), 2200, 9, 0, true, true, UPDATE_NONE, 2 },
    };

    (void)state;
    walk(rows, COUNT_OF(rows));
}

static void a_bad_version_is_given_up(void **state)
{
    static const struct seen_row bad[] = {
        { READY("2"), 1300, 2, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "returned"), 1500, 0, 0, true, false, UPDATE_ROUTING, 1 },
        { LEFT("1", "2", "[]"), 1600, 0, 0, true, false, UPDATE_DRAINING, 1 },
        { LEFT("1", "2", "[]"), 1700, 0, 0, true, false, UPDATE_STOPPING, 1 },
        { NULL, 1800, 0, 0, true, true, UPDATE_NONE, 1 },
    };
    static const struct seen_row ends[] = { { NULL, 1300, 3, 0, true, false, UPDATE_ROUTING, 1 } };
    static const struct seen_row late[] = { { NULL, 61000, 0, 0, true, false, UPDATE_WARMING, 1 },
                                            { NULL, 61001, 0, 0, true, false, UPDATE_ROUTING, 1 } };
    static const struct seen_row crashes[] = {
        { READY("2"), 1300, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { NULL, 1400, 3, 0, false, false, UPDATE_ROUTING, 1 },
    };

    (void)state;
    walk(bad, COUNT_OF(bad));
    walk(ends, COUNT_OF(ends));
    walk(late, COUNT_OF(late));
    walk(crashes, COUNT_OF(crashes));
}

static void the_time_to_become_ready_begins_when_the_files_are_there(void **state)
{
    static const struct seen_row rows[] = {
        { NULL, 61001, 0, 0, true, false, UPDATE_WARMING, 1, 50000 },
        { NULL, 110000, 0, 0, true, false, UPDATE_WARMING, 1, 50000 },
        { NULL, 110001, 0, 0, true, false, UPDATE_ROUTING, 1, 50000 },
    };
    static const struct seen_row before[] = {
        /* of another update */
        { NULL, 61000, 0, 0, true, false, UPDATE_WARMING, 1, 7 },
        { NULL, 61001, 0, 0, true, false, UPDATE_ROUTING, 1, 7 }
    };

    (void)state;
    walk(rows, COUNT_OF(rows));
    walk(before, COUNT_OF(before));
}

static void a_watch_ends_when_its_time_is_over(void **state)
{
    static const struct seen_row rows[] = {
        { READY("2"), 1300, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "watching"), 6299, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "warming"), 7000, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "watching"), 7000, 0, 0, true, false, UPDATE_ROUTING, 2 },
    };

    (void)state;
    walk(rows, COUNT_OF(rows));
}

static void a_gateway_that_never_drains_is_not_waited_for(void **state)
{
    static const struct seen_row rows[] = {
        { READY("2"), 1300, 0, 0, true, false, UPDATE_WATCHING, 1 },
        { CANARY("2", "done"), 1500, 0, 0, true, false, UPDATE_ROUTING, 2 },
        { LEFT("2", "1", "[{}]"), 1800, 0, 3, true, false, UPDATE_DRAINING, 2 },
        { LEFT("2", "1", "[{}]"), 91800, 0, 3, true, false, UPDATE_DRAINING, 2 },
        { LEFT("2", "1", "[{}]"), 91801, 0, 3, true, false, UPDATE_STOPPING, 2 },
    };

    (void)state;
    walk(rows, COUNT_OF(rows));
}

/* ---- requests ---- */

static void a_request_is_carried_out_once(void **state)
{
    AUTO_JSON *plan = plan_new();

    (void)state;
    ask(plan, "x", UPDATE_TO("2", ""), NULL);
    assert_int_equal(deployment_request(plan, "x", UPDATE_TO("2", ""), 2000, NULL), 0);
    ask(plan, "y", UPDATE_TO("3", ""), "is being updated from version 1 to 2");
    ask(plan, "z", "{\"do\":\"return\",\"by\":\"me\"}", NULL);
    assert_int_equal(deployment_update_phase(model_of(plan)), UPDATE_ROUTING);
    ask(plan, "q", "{\"do\":\"return\",\"by\":\"me\"}", "just ending");
}

static void what_cannot_be_done_leaves_its_reason_and_nothing_else(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "", "the request" },
        { "[]", "no object" },
        { "{\"do\":\"dance\"}", "'dance' is not a request" },
        { "{\"do\":\"scale\",\"model\":\"x\",\"replicas\":1}", "no model 'x'" },
        { "{\"do\":\"scale\"}", "replicas" },
        { "{\"do\":\"scale\",\"replicas\":257}", "replicas" },
        { "{\"do\":\"return\"}", "is not being updated" },
        { "{\"do\":\"update\"}", "version" },
        { UPDATE_TO("1", ""), "serves version 1 already" },
        { UPDATE_TO("-2", ""), "version" },
        { "{\"do\":\"update\",\"version\":{\"version\":2,\"path\":\"x\"}}",
          "where the version is" },
        { "{\"do\":\"update\",\"version\":{\"version\":2,\"path\":\"/x\"},\"percent\":101}",
          "percent" },
        { "{\"do\":\"update\",\"version\":{\"version\":2,\"path\":\"/x\"},\"percent\":0}",
          "percent" },
    };
    AUTO_JSON *plan = plan_new();
    AUTO_JSON *before = json_deep_copy(plan);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char id[8];

        (void)snprintf(id, sizeof(id), "%zu", i);
        ask(plan, id, rows[i].text, rows[i].error);
    }
    (void)json_object_del(plan, "answers");
    assert_true(json_equal(plan, before));
}

static void an_alias_is_followed_until_somebody_says_a_version(void **state)
{
    AUTO_JSON *plan = plan_new();

    (void)state;
    ask(plan, "1", UPDATE_TO("1", ",\"follow\":\"champion\""), NULL);
    assert_int_equal(deployment_update_phase(model_of(plan)), UPDATE_NONE);
    assert_int_equal(json_int_or(model_of(plan), "followed", 0), 1);
    ask(plan, "2", UPDATE_TO("1", ",\"follow\":\"champion\""), "serves version 1 already");
    ask(plan, "3", UPDATE_TO("1", ",\"follow\":null"), NULL);
    assert_null(json_object_get(model_of(plan), "follow"));
    ask(plan, "4", UPDATE_TO("1", ",\"follow\":null"), "serves version 1 already");
    ask(plan, "5", UPDATE_TO("2", ",\"follow\":\"champion\""), NULL);
    assert_int_equal(json_int_or(model_of(plan), "followed", 0), 2);
}

static void the_next_update_begins_when_the_one_before_has_gone(void **state)
{
    AUTO_JSON *plan = plan_new();
    const struct update_seen gone = { .now = 3000, .told = true, .stopped = true };
    AUTO_JSON *report = json_pack("{s:i, s:[]}", "serves", 1, "versions");
    struct update_seen routed = gone;

    (void)state;
    routed.report = report;
    ask(plan, "x", UPDATE_TO("2", ""), NULL);
    ask(plan, "y", UPDATE_TO("3", ",\"replace\":true"), NULL);
    for (int i = 0; i < 3; i++) {
        (void)deployment_update_step(plan, model_of(plan), &routed, NULL);
        routed.now += 100000;
    }
    assert_int_equal(deployment_update_phase(model_of(plan)), UPDATE_WARMING);
    assert_non_null(deployment_version(model_of(plan), 3));
    assert_null(deployment_version(model_of(plan), 2));
    assert_int_equal(json_int_or(deployment_version(model_of(plan), 3), "serial", 0), 3);
}

/* ---- the simulation ---- */

/* Groups of replicas and a gateway that do what they are told, some time later. */
struct world {
    json_t *plan, *spec; /* the store's; what the gateway was last told, as a plan */
    json_t *old;         /* a report of some time ago */
    unsigned running[2], seed;
    int64_t now;
    int told[2];
    bool broken;
};

static unsigned draw(struct world *w, unsigned n)
{
    w->seed = w->seed * 1103515245 + 12345;
    return (w->seed >> 16) % n;
}

static json_t *world_version(const struct world *w, const json_t *v)
{
    const char *group = json_string_value(json_object_get(v, "group"));
    int64_t number = json_int_or(v, "version", 0),
            serve = json_int_or(model_of(w->spec), "serve", 0);
    enum update_phase phase = deployment_update_phase(model_of(w->spec));
    bool leaves = (phase == UPDATE_DRAINING || phase == UPDATE_STOPPING) && number != serve;
    bool bad = w->broken && number != 1;

    return json_pack("{s:I, s:i, s:o}", "version", (json_int_t)number, "ready",
                     bad ? 0 : (int)w->running[*group - 'a'], "replicas",
                     leaves ? json_array() : json_pack("[{}]"));
}

static json_t *world_report(struct world *w)
{
    static const char *const states[] = { "watching", "shifted", "done", "returned" };
    const json_t *m = model_of(w->spec), *v;
    json_t *report = json_pack("{s:O, s:[]}", "serves", json_object_get(m, "serve"), "versions");
    size_t i;

    json_array_foreach(json_object_get(m, "versions"), i, v)
        json_array_append_new(json_object_get(report, "versions"), world_version(w, v));
    if (deployment_update_phase(m) == UPDATE_WATCHING)
        json_object_set_new(report, "canary",
                            json_pack("{s:O, s:s, s:s}", "version",
                                      json_object_get(json_object_get(m, "update"), "to"), "state",
                                      states[draw(w, 4)], "why", ""));
    return report;
}

/* Requests go to a version that has replicas, whatever happens. */
static void world_check(const struct world *w)
{
    const json_t *m = model_of(w->plan);
    const json_t *v = deployment_version(m, json_int_or(m, "serve", 0));
    const char *group = json_string_value(json_object_get(v, "group"));

    assert_non_null(v);
    assert_int_equal(deployment_plan_check("plan", w->plan, NULL), 0);
    assert_int_equal(w->running[*group - 'a'], 2);
}

/* One look of a controller: it may fail anywhere, and know nothing of what it did before. */
static void world_look(struct world *w)
{
    AUTO_JSON *report = NULL;
    AUTO_JSON *tried = NULL;
    struct update_seen seen = { .now = w->now, .told = true };
    const char *idle;

    if (draw(w, 8) == 0)
        w->told[0] = w->told[1] = -1; /* it was killed */
    if (draw(w, 4) == 0)
        return; /* nobody answers */
    json_decref(w->spec);
    w->spec = json_deep_copy(w->plan);
    for (int i = 0; i < 2; i++) {
        char group[2] = { (char)('a' + i), 0 };
        unsigned n = deployment_group_size(model_of(w->plan), group);

        if (w->told[i] != (int)n && draw(w, 3) > 0)
            w->told[i] = (int)(w->running[i] = n);
    }
    idle = w->told[0] == 0 ? "a" : w->told[1] == 0 ? "b" : "";
    seen.stopped = *idle && deployment_group_size(model_of(w->plan), idle) == 0;
    report = draw(w, 5) == 0 && w->old ? json_incref(w->old) : world_report(w);
    seen.told = report != w->old;
    seen.report = draw(w, 6) == 0 ? NULL : report;
    tried = json_deep_copy(w->plan);
    for (unsigned i = 0; i <= draw(w, 2); i++) /* twice at times */
        (void)deployment_update_step(tried, model_of(tried), &seen, NULL);
    if (draw(w, 5) > 0) { /* it reached the store */
        json_decref(w->plan);
        w->plan = json_incref(tried);
    }
    if (draw(w, 7) == 0) {
        json_decref(w->old);
        w->old = json_incref(report);
    }
}

static void world_run(unsigned seed)
{
    struct world w = { .plan = plan_new(),
                       .seed = seed,
                       .running = { 2, 0 },
                       .now = 1000,
                       .told = { -1, -1 },
                       .broken = seed % 3 == 0 };
    int version = 1;

    for (int i = 0; i < 400; i++) {
        char id[16], text[400];

        (void)snprintf(id, sizeof(id), "%d", i);
        if (draw(&w, 25) == 0) {
            (void)snprintf(text, sizeof(text), UPDATE_TO("%d", ",\"replace\":%s"), ++version,
                           draw(&w, 2) ? "true" : "false");
            (void)deployment_request(w.plan, id, text, w.now, NULL);
        } else if (draw(&w, 60) == 0) {
            (void)deployment_request(w.plan, id, "{\"do\":\"return\"}", w.now, NULL);
        }
        world_look(&w);
        world_check(&w);
        w.now += 200 + (int64_t)draw(&w, 3000);
    }
    for (int i = 0; i < 2000 && deployment_update_phase(model_of(w.plan)) != UPDATE_NONE; i++) {
        world_look(&w);
        world_check(&w);
        w.now += 1000;
    }
    assert_int_equal(deployment_update_phase(model_of(w.plan)), UPDATE_NONE);
    assert_int_equal(json_array_size(json_object_get(model_of(w.plan), "versions")), 1);
    if (w.broken)
        assert_int_equal(json_int_or(model_of(w.plan), "serve", 0), 1);
    json_decref(w.plan);
    json_decref(w.spec);
    json_decref(w.old);
}

static void whatever_happens_a_version_with_replicas_serves_and_every_update_ends(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++)
        world_run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_in_the_table_can_happen),
        cmocka_unit_test(a_good_version_takes_over_step_by_step),
        cmocka_unit_test(a_bad_version_is_given_up),
        cmocka_unit_test(the_time_to_become_ready_begins_when_the_files_are_there),
        cmocka_unit_test(a_watch_ends_when_its_time_is_over),
        cmocka_unit_test(a_gateway_that_never_drains_is_not_waited_for),
        cmocka_unit_test(a_request_is_carried_out_once),
        cmocka_unit_test(what_cannot_be_done_leaves_its_reason_and_nothing_else),
        cmocka_unit_test(an_alias_is_followed_until_somebody_says_a_version),
        cmocka_unit_test(the_next_update_begins_when_the_one_before_has_gone),
        cmocka_unit_test(whatever_happens_a_version_with_replicas_serves_and_every_update_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
