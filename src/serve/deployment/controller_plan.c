/* controller_plan.c - all that changes the plan of a deployment: each change is made in a copy,
 * written to the registry and to the store, and counts from then on. */
#include "loop/fiber.h"
#include "serve/deployment/controller_private.h"
#include "serve/deployment/deployment_request.h"
#include "serve/deployment/deployment_story.h"

#include <stdio.h>
#include <string.h>

/* ---- keeping it ---- */

/* The revision is what the other gateways, and who waits for an answer, compare: it grows with each
 * change. */
static int put_plan(struct controller *x, json_t *plan, struct err *err)
{
    AUTO_FREE char *text = NULL;

    if (json_object_set_new(plan, "revision", json_integer(json_int_or(plan, "revision", 0) + 1)) <
            0 ||
        !(text = json_dumps(plan, JSON_COMPACT)))
        return err_oom(err);
    return task_store_put(&x->store, DEPLOYMENT_PLAN, text, err);
}

/* Into the job's events, where people look later. Nothing depends on it. */
static int note_event(void *arg, const char *text)
{
    struct controller *x = arg;
    struct err err = ERR_INIT;
    int r = task_store_note(&x->store, text, &err);

    if (r < 0 && r != -ECANCELED)
        controller_note(x, "not in the job's events: %s (%s)", text, err.text);
    return 0;
}

/* What an update has left is taken out of the registry only afterwards.
 *
 * The store first: a controller that dies in between is followed by one that reads the new plan
 * there, and nothing was done yet that the store does not know. */
int controller_take_plan(struct controller *x, json_t *plan, struct err *err)
{
    int r = put_plan(x, plan, err);

    if (r < 0) {
        json_decref(plan);
        return r;
    }
    if (x->plan)
        (void)deployment_story(x->plan, plan, note_event, x);
    json_decref(x->plan);
    x->plan = plan;
    return 0;
}

int controller_begin(struct controller *x, struct err *err)
{
    AUTO_FREE char *text = NULL;
    const char *what = DEPLOYMENT_PLAN;
    json_t *plan = NULL;
    int r = task_store_get(&x->store, DEPLOYMENT_PLAN, &text, err), kept = r;

    if (r == 0)
        what = DEPLOYMENT_PLAN_ENV;
    if (r >= 0)
        r = deployment_plan_parse(what, kept ? text : x->o->plan, &plan, err);
    if (r < 0)
        return r;
    if (kept)
        x->plan = plan;
    else
        r = controller_take_plan(x, plan, err);
    if (r == 0)
        r = registry_link_new(x->o->loop, NULL,
                              json_string_value(json_object_get(x->plan, "registry")), &x->registry,
                              err);
    return r;
}

/* ---- requests ---- */

/* A version that is about to be used is written down as used; one that is not there any more is
 * refused. */
static int try_request(struct controller *x, const char *id, const char *text, json_t **ret,
                       struct err *err)
{
    struct err why = ERR_INIT;
    json_t *tried = json_deep_copy(x->plan);
    int r = tried ? deployment_request(tried, id, text, loop_wall(), err) : err_oom(err);

    registry_link_hurry(x->registry);
    if (r > 0 && registry_link_say(x->registry, tried, &why) < 0) {
        json_decref(tried);
        tried = json_deep_copy(x->plan);
        r = tried ? deployment_refuse(tried, id, &why, err) : err_oom(err);
    }
    if (r <= 0) {
        json_decref(tried);
        return r;
    }
    *ret = tried;
    return 1;
}

/* What is no request of ours is deleted: it would be in the way of others for ever.
 *
 * The answer is in the plan, by the request's id, before the request is deleted. One that is killed
 * in between finds the request again, and its answer: it is carried out once. */
static int take_request(struct controller *x, const char *key, struct err *err)
{
    const char *id = str_starts(key, DEPLOYMENT_ASK) ? key + strlen(DEPLOYMENT_ASK) : "";
    AUTO_FREE char *text = NULL;
    json_t *plan = NULL;
    int r = *id && strlen(id) <= DEPLOYMENT_ID_MAX ? task_store_get(&x->store, key, &text, err) : 0;

    if (r == -EPROTO) {
        err_clear(err);
        r = 0;
    }
    if (r > 0)
        r = try_request(x, id, text, &plan, err);
    if (r > 0)
        r = controller_take_plan(x, plan, err);
    return r < 0 ? r : task_store_delete(&x->store, key, err);
}

int controller_requests(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    int r = task_store_list(&x->store, DEPLOYMENT_ASK, &keys, err);

    for (size_t i = 0; i < keys.n && r == 0; i++)
        r = take_request(x, keys.v[i], err);
    return r < 0 ? r : 0;
}

/* ---- updates ---- */

/* How often one of the new version's replicas was started again since it was first seen.
 *
 * Attempts are counted for the life of the job; those of before the update say nothing of the
 * version. So they are counted from what they were at the first look at this serial. */
static int64_t starts_of(struct controller *x, size_t at, const json_t *model,
                         const struct strs *keys)
{
    const json_t *update = json_object_get(model, "update");
    const json_t *v = deployment_version(model, json_int_or(update, "to", 0));
    struct controller_starts *s = &x->starts[at];
    int64_t now[DEPLOYMENT_REPLICAS], most = 0;

    if (s->serial != json_int_or(v, "serial", 0))
        for (size_t i = 0; i < DEPLOYMENT_REPLICAS; i++)
            s->first[i] = -1;
    s->serial = json_int_or(v, "serial", 0);
    deployment_attempts(v, keys, now);
    for (size_t i = 0; i < DEPLOYMENT_REPLICAS; i++) {
        if (s->first[i] < 0)
            s->first[i] = now[i];
        if (now[i] - s->first[i] > most)
            most = now[i] - s->first[i];
    }
    return most;
}

/* Is the group empty that is not needed any more? */
static bool is_stopped(const struct controller *x, const json_t *model)
{
    const json_t *versions = json_object_get(model, "versions"), *v;
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (json_int_or(v, "version", 0) != json_int_or(model, "serve", 0) &&
            !controller_told(x, json_string_value(json_object_get(v, "group")), 0))
            return false;
    }
    return true;
}

static const json_t *report_of(const json_t *report, const char *model)
{
    return model ? deployment_model(report, model) : NULL;
}

static void say_update(const struct controller *x, const json_t *model)
{
    const json_t *update = json_object_get(model, "update");
    const json_t *u = update ? update : json_object_get(model, "last");
    const char *result = json_string_value(json_object_get(u, "result"));
    const char *why = json_string_value(json_object_get(u, "why"));

    controller_note(x, "%s: update from version %lld to %lld: %s%s%s",
                    json_string_value(json_object_get(model, "name")),
                    (long long)json_int_or(u, "from", 0), (long long)json_int_or(u, "to", 0),
                    update   ? update_phase_name(deployment_update_phase(model))
                    : result ? result
                             : "",
                    why ? ": " : "", why ? why : "");
}

static int update_model(struct controller *x, size_t at, const json_t *report,
                        const struct strs *keys, struct err *err)
{
    const json_t *old = json_array_get(json_object_get(x->plan, "models"), at);
    const char *name = json_string_value(json_object_get(old, "name"));
    struct update_seen seen = {
        .now = loop_wall(),
        .report = report_of(report, name),
        .leaving = controller_direct_lingers(x, old) +
                   json_int_or(json_object_get(report, "haproxy"), "leaving", 0),
        .told = x->applied && controller_gateways_know(x),
        .stray = controller_gateways_stray(x, name, json_int_or(old, "serve", 0)),
        .moved = x->starts[at].moved,
        .stopped = is_stopped(x, old),
    };
    json_t *plan, *model;
    int r;

    if (deployment_update_phase(old) == UPDATE_NONE)
        return 0;
    seen.starts = starts_of(x, at, old, keys);
    plan = json_deep_copy(x->plan);
    model = json_array_get(json_object_get(plan, "models"), at);
    r = plan ? deployment_update_step(plan, model, &seen, err) : err_oom(err);
    if (r <= 0) {
        json_decref(plan);
        return r;
    }
    r = controller_take_plan(x, plan, err);
    if (r == 0)
        say_update(x, model);
    return r;
}

int controller_updates(struct controller *x, const json_t *report, const struct strs *keys,
                       struct err *err)
{
    size_t n = json_array_size(json_object_get(x->plan, "models"));
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = update_model(x, i, report, keys, err);
    /* A registry that cannot be written keeps nobody from serving. */
    if (r == 0 && registry_link_say(x->registry, x->plan, err) < 0)
        err_clear(err);
    return r;
}

/* ---- aliases ---- */

/* The request that a person would make. */
static int follow_request(const json_t *model, json_t *version, char **ret, struct err *err)
{
    json_t *alias = json_object_get(model, "follow");
    AUTO_JSON *q = NULL;
    int r = json_make(&q, err, "{s:s, s:O, s:O, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:O}", "do",
                      "update", "model", json_object_get(model, "name"), "version", version,
                      "percent", 100, "errors", 1, "slower", UPDATE_ANY_TIME, "requests", 200,
                      "watch", UPDATE_WATCH_MS, "warm", UPDATE_WARM_MS, "by",
                      json_sprintf("alias %s", json_string_value(alias)), "follow", alias);

    if (r < 0)
        return r;
    *ret = json_dumps(q, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}

/* What became of it, in the model of a plan that is not in force yet. */
static int follow_refused(json_t *model, const json_t *version, const char *why, struct err *err)
{
    json_t *last = NULL;
    int r = json_make(&last, err, "{s:O, s:O, s:s, s:o, s:I}", "to",
                      json_object_get(version, "version"), "from", json_object_get(model, "serve"),
                      "result", "refused", "why", json_text(why), "at", (json_int_t)loop_wall());

    return r < 0 ? r : json_object_set_new(model, "last", last) < 0 ? err_oom(err) : 0;
}

/* The plan that follows from an alias that was moved. */
static int follow_plan(struct controller *x, const json_t *model, json_t *version, json_t **ret,
                       struct err *err)
{
    const char *name = json_string_value(json_object_get(model, "name"));
    AUTO_FREE char *id =
        str_printf("alias-%s-%lld", name, (long long)json_int_or(x->plan, "revision", 0));
    const json_t *present = deployment_version(model, json_int_or(model, "serve", 0));
    AUTO_FREE char *text = NULL;
    struct err why = ERR_INIT;
    const char *refused = NULL;
    int r = id ? 0 : err_oom(err);

    if (r == 0 && x->o->find(x->o->user, present, version, &why) < 0)
        refused = why.text;
    if (r == 0 && !refused)
        r = follow_request(model, version, &text, err);
    if (r == 0 && !refused)
        r = try_request(x, id, text, ret, err);
    if (r < 0)
        return r;
    if (!*ret && !(*ret = json_deep_copy(x->plan)))
        return err_oom(err);
    if (!refused)
        refused = json_string_value(json_object_get(deployment_answer(*ret, id), "error"));
    if (!refused)
        return 0;
    controller_note(x, "%s: %s", name, refused);
    return follow_refused(deployment_model(*ret, name), version, refused, err);
}

/* Each place of an alias is tried once: a version that was given up, or cannot be served, stays out
 * until the alias names another one.
 *
 * "followed" is in the same plan as what became of it, also of a refusal: who is killed meanwhile
 * tries again, and nobody tries twice. */
static int follow_model(struct controller *x, const json_t *model, struct err *err)
{
    const char *name = json_string_value(json_object_get(model, "name"));
    AUTO_JSON *version = NULL;
    json_t *plan = NULL;
    int r =
        registry_link_alias(x->registry, model, json_int_or(model, "followed", 0), &version, err);

    if (r <= 0)
        return r;
    controller_note(x, "%s: the alias '%s' names version %lld now", name,
                    json_string_value(json_object_get(model, "follow")),
                    (long long)json_int_or(version, "version", 0));
    r = follow_plan(x, model, version, &plan, err);
    if (r == 0 && json_object_set(deployment_model(plan, name), "followed",
                                  json_object_get(version, "version")) < 0)
        r = err_oom(err);
    if (r == 0)
        return controller_take_plan(x, plan, err);
    json_decref(plan);
    return r;
}

/* A registry that cannot be read keeps nobody from serving. */
void controller_follow(struct controller *x)
{
    const json_t *models = json_object_get(x->plan, "models"), *m;
    AUTO_JSON *kept = json_incref((json_t *)models); /* the plan may become another one */
    struct err err = ERR_INIT;
    size_t i;
    int r = 0;

    json_array_foreach(kept, i, m)
    {
        if (r == 0 && json_is_string(json_object_get(m, "follow")) &&
            deployment_update_phase(m) == UPDATE_NONE)
            r = follow_model(x, m, &err);
    }
    if (r < 0 && r != -ECANCELED && !x->lost_alias)
        controller_note(x, "%s; trying again", err.text);
    x->lost_alias = r < 0;
}
