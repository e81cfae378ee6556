/* deployment_update.c - the phases as a table, what is seen as events, and what a step changes in
 * the plan. See deployment_update.h. */
#include "serve/deployment/deployment_update.h"
#include "serve/deployment/deployment_plan.h"

#include <stdio.h>
#include <string.h>

#define STARTS_MAX 3   /* of one replica of a new version: it will not get better */
#define DRAIN_MS 90000 /* the gateway cuts requests off before */
#define WHY 240

/* ---- the table ---- */

/* clang-format off */
static const enum update_phase next_phase[UPDATE_PHASES_][UPDATE_EVENTS_] = {
    [UPDATE_WARMING]  = { [UPDATE_WARM] = UPDATE_WATCHING, [UPDATE_LATE] = UPDATE_ROUTING,
                          [UPDATE_BROKEN] = UPDATE_ROUTING, [UPDATE_TAKEN_BACK] = UPDATE_ROUTING },
    [UPDATE_WATCHING] = { [UPDATE_GOOD] = UPDATE_ROUTING, [UPDATE_BAD] = UPDATE_ROUTING,
                          [UPDATE_BROKEN] = UPDATE_ROUTING, [UPDATE_TAKEN_BACK] = UPDATE_ROUTING },
    [UPDATE_ROUTING]  = { [UPDATE_ROUTED] = UPDATE_DRAINING },
    [UPDATE_DRAINING] = { [UPDATE_IDLE] = UPDATE_STOPPING },
    [UPDATE_STOPPING] = { [UPDATE_STOPPED] = UPDATE_NONE },
};

static const char *const phase_names[UPDATE_PHASES_] = {
    "none", "warming", "watching", "routing", "draining", "stopping",
};
/* clang-format on */

enum update_phase update_next(enum update_phase phase, enum update_event event)
{
    return phase < UPDATE_PHASES_ && event < UPDATE_EVENTS_ ? next_phase[phase][event]
                                                            : UPDATE_NONE;
}

const char *update_phase_name(enum update_phase p)
{
    return p < UPDATE_PHASES_ ? phase_names[p] : "unknown";
}

enum update_phase deployment_update_phase(const json_t *model)
{
    const char *said =
        json_string_value(json_object_get(json_object_get(model, "update"), "phase"));

    for (int i = UPDATE_WARMING; said && i < UPDATE_PHASES_; i++)
        if (str_eq(said, phase_names[i]))
            return (enum update_phase)i;
    return UPDATE_NONE;
}

bool deployment_is_updating(const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (deployment_update_phase(m) != UPDATE_NONE)
            return true;
    }
    return false;
}

/* ---- what is seen ---- */

static const json_t *seen_version(const struct update_seen *seen, int64_t number)
{
    return deployment_version(seen->report, number);
}

/* `told` first: a report of a gateway that does not have the plan yet says nothing of the new
 * version. */
static enum update_event see_warming(const json_t *model, const struct update_seen *seen,
                                     char why[WHY])
{
    const json_t *update = json_object_get(model, "update");
    const json_t *v = seen_version(seen, json_int_or(update, "to", 0));
    int64_t wanted = json_int_or(model, "replicas", 0), ready = json_int_or(v, "ready", 0);
    int64_t warm = json_int_or(update, "warm", 0), since = json_int_or(update, "since", 0);

    if (wanted == 0 || (seen->told && ready >= wanted)) {
        (void)snprintf(why, WHY, "%lld replica%s ready", (long long)wanted,
                       wanted == 1 ? " is" : "s are");
        return UPDATE_WARM;
    }
    if (seen->starts >= STARTS_MAX) {
        (void)snprintf(why, WHY,
                       "its replicas end right after they start: one was started again %lld times",
                       (long long)seen->starts);
        return UPDATE_BROKEN;
    }
    if (since < seen->moved) /* the time for loading begins when the files are there */
        since = seen->moved;
    if (warm > 0 && seen->now - since > warm) {
        (void)snprintf(why, WHY, "%lld of %lld replicas were ready after %.3g seconds",
                       (long long)ready, (long long)wanted, (double)warm / 1000);
        return UPDATE_LATE;
    }
    return UPDATE_NOTHING;
}

static bool canary_is(const json_t *canary, const char *state)
{
    return str_eq(json_string_value(json_object_get(canary, "state")), state);
}

static enum update_event see_watching(const json_t *model, const struct update_seen *seen,
                                      char why[WHY])
{
    const json_t *update = json_object_get(model, "update");
    const json_t *canary = json_object_get(seen->report, "canary");
    const char *said = json_string_value(json_object_get(canary, "why"));
    int64_t watch = json_int_or(update, "watch", 0), to = json_int_or(update, "to", 0);
    bool known = seen->told && json_int_or(canary, "version", 0) == to;

    (void)snprintf(why, WHY, "%s", said ? said : "");
    if (known && canary_is(canary, "returned"))
        return UPDATE_BAD;
    if (known && canary_is(canary, "done"))
        return UPDATE_GOOD;
    if (seen->starts >= STARTS_MAX) {
        (void)snprintf(why, WHY, "its replicas end: one was started again %lld times",
                       (long long)seen->starts);
        return UPDATE_BROKEN;
    }
    if (json_int_or(model, "replicas", 0) == 0) {
        (void)snprintf(why, WHY, "there are no replicas to watch");
        return UPDATE_GOOD;
    }
    if (!known || watch <= 0 || seen->now - json_int_or(update, "since", 0) < watch ||
        (!canary_is(canary, "watching") && !canary_is(canary, "shifted")))
        return UPDATE_NOTHING;
    if (watch < 1000)
        (void)snprintf(why, WHY, "all its replicas are ready");
    else
        (void)snprintf(why, WHY, "nothing was wrong with it for %lld second%s",
                       (long long)(watch / 1000), watch / 1000 == 1 ? "" : "s");
    return UPDATE_GOOD;
}

/* What each phase waits for, all of it seen and nothing remembered, so that a controller that was
 * started in the middle of it sees the same:
 *
 *     WARMING    as many replicas of the new version are ready as the model has
 *     WATCHING   the gateway's judgement (rollout.h), or the time to watch
 *     ROUTING    every gateway serves the version that is kept, and has no canary
 *     DRAINING   no gateway has a replica of the other one left: the spec leaves them out, and a
 *                gateway reports them for as long as they have requests
 *     STOPPING   the job has taken the size 0 of the other group */
static enum update_event see(const json_t *model, const struct update_seen *seen, char why[WHY])
{
    const json_t *update = json_object_get(model, "update");
    int64_t serve = json_int_or(model, "serve", 0);
    int64_t other = json_int_or(update, json_int_or(update, "to", 0) == serve ? "from" : "to", 0);
    const json_t *rest;

    switch (deployment_update_phase(model)) {
    case UPDATE_WARMING:
        return see_warming(model, seen, why);
    case UPDATE_WATCHING:
        return see_watching(model, seen, why);
    case UPDATE_ROUTING:
        return seen->told && !seen->stray && json_int_or(seen->report, "serves", 0) == serve &&
                       !json_object_get(seen->report, "canary")
                   ? UPDATE_ROUTED
                   : UPDATE_NOTHING;
    case UPDATE_DRAINING:
        rest = json_object_get(seen_version(seen, other), "replicas");
        return (seen->told && json_is_array(rest) && json_array_size(rest) == 0 &&
                seen->leaving == 0) ||
                       seen->now - json_int_or(update, "since", 0) > DRAIN_MS
                   ? UPDATE_IDLE
                   : UPDATE_NOTHING;
    case UPDATE_STOPPING:
        return seen->stopped ? UPDATE_STOPPED : UPDATE_NOTHING;
    default:
        return UPDATE_NOTHING;
    }
}

/* ---- what changes ---- */

static int set(json_t *v, const char *key, json_t *value)
{
    return json_object_set_new(v, key, value);
}

/* A group that no version is in. */
static const char *free_group(const json_t *model)
{
    const json_t *groups = json_object_get(model, "groups"), *g;
    size_t i;

    json_array_foreach(groups, i, g)
    {
        const json_t *versions = json_object_get(model, "versions"), *v;
        bool used = false;
        size_t k;

        json_array_foreach(versions, k, v) used =
            used || json_equal(json_object_get(v, "group"), g);
        if (!used)
            return json_string_value(g);
    }
    return NULL;
}

/* The serial number is new for each update, also to a version that was there before: keys that
 * replicas of an earlier update left for this group do not count then. */
static int add_version(json_t *plan, json_t *model, const json_t *entry, const char *group,
                       struct err *err)
{
    json_int_t serial = (json_int_t)json_int_or(plan, "serial", 0) + 1;
    AUTO_JSON *v = json_copy((json_t *)entry);

    if (!group)
        return err_set(err, -EBUSY, "both groups of replicas are in use");
    if (!v || set(plan, "serial", json_integer(serial)) < 0 ||
        set(v, "group", json_string(group)) < 0 || set(v, "serial", json_integer(serial)) < 0 ||
        json_array_append(json_object_get(model, "versions"), v) < 0)
        return err_oom(err);
    return 0;
}

int deployment_update_begin(json_t *plan, json_t *model, const json_t *request, int64_t now,
                            struct err *err)
{
    static const char *const kept[] = { "percent", "errors", "slower", "requests",
                                        "watch",   "warm",   "by",     "id" };
    const json_t *entry = json_object_get(request, "version");
    const char *group = free_group(model);
    AUTO_JSON *update = json_pack("{s:s?}", "group", group);
    int r = add_version(plan, model, entry, group, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (json_object_get(request, kept[i]) &&
            json_object_set(update, kept[i], json_object_get(request, kept[i])) < 0)
            return err_oom(err);
    if (!update || json_object_set(update, "to", json_object_get(entry, "version")) < 0 ||
        json_object_set(update, "from", json_object_get(model, "serve")) < 0 ||
        set(update, "phase", json_string(phase_names[UPDATE_WARMING])) < 0 ||
        set(update, "began", json_integer(now)) < 0 ||
        set(update, "since", json_integer(now)) < 0 || json_object_set(model, "update", update) < 0)
        return err_oom(err);
    return 0;
}

/* Decided: from here on "serve" is the version that is kept. */
static int decide(json_t *model, enum update_event e)
{
    json_t *update = json_object_get(model, "update");
    const char *kept = e == UPDATE_GOOD ? "to" : "from";
    const char *result = e == UPDATE_GOOD ? "done" : "returned";

    if (e == UPDATE_GOOD && json_object_set(model, "previous", json_object_get(update, "from")) < 0)
        return -1;
    return json_object_set(model, "serve", json_object_get(update, kept)) < 0 ||
                   set(update, "result", json_string(result)) < 0
               ? -1
               : 0;
}

/* What is over leaves its story, and the version that was not kept. */
static int end(json_t *plan, json_t *model, int64_t now, struct err *err)
{
    int64_t serve = json_int_or(model, "serve", 0);
    json_t *versions = json_object_get(model, "versions");
    AUTO_JSON *last = json_incref(json_object_get(model, "update"));
    AUTO_JSON *next = json_incref(json_object_get(model, "next"));

    for (size_t i = json_array_size(versions); i > 0; i--)
        if (json_int_or(json_array_get(versions, i - 1), "version", 0) != serve)
            (void)json_array_remove(versions, i - 1);
    (void)json_object_del(last, "phase");
    (void)json_object_del(model, "update");
    (void)json_object_del(model, "next");
    if (set(last, "at", json_integer(now)) < 0 || json_object_set(model, "last", last) < 0)
        return err_oom(err);
    if (!next || json_int_or(json_object_get(next, "version"), "version", 0) == serve)
        return 0;
    return deployment_update_begin(plan, model, next, now, err);
}

/* Events that have no row in this phase are passed over: a replica can break, or a person change
 * their mind, when it is too late to matter. */
static int step(json_t *plan, json_t *model, enum update_event e, const char *why, int64_t now,
                struct err *err)
{
    json_t *update = json_object_get(model, "update");
    enum update_phase before = deployment_update_phase(model), after = update_next(before, e);
    int r;

    if (after == UPDATE_NONE && e != UPDATE_STOPPED)
        return 0;
    if (after == UPDATE_NONE)
        return (r = end(plan, model, now, err)) < 0 ? r : 1;
    if ((after == UPDATE_ROUTING && decide(model, e) < 0) ||
        (*why && set(update, "why", json_text(why)) < 0) ||
        set(update, "phase", json_string(phase_names[after])) < 0 ||
        set(update, "since", json_integer(now)) < 0)
        return err_oom(err);
    return 1;
}

int deployment_update_take_back(json_t *model, const char *why, int64_t now, struct err *err)
{
    return step(NULL, model, UPDATE_TAKEN_BACK, why, now, err);
}

int deployment_update_step(json_t *plan, json_t *model, const struct update_seen *seen,
                           struct err *err)
{
    char why[WHY] = "";
    enum update_event e = see(model, seen, why);

    return e == UPDATE_NOTHING ? 0 : step(plan, model, e, why, seen->now, err);
}
