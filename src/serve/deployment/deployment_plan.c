/* deployment_plan.c - what a plan says, and which of the replicas' keys count; both are hostile
 * until they are parsed. See deployment_plan.h. */
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/deployment_update.h"
#include "serve/deployment/gateway_reports.h"

#include <string.h>

/* ---- the document ---- */

static bool plan_is_version(const json_t *v)
{
    return json_int_or(v, "version", 0) > 0 && json_int_or(v, "serial", 0) > 0 &&
           json_is_string(json_object_get(v, "group")) &&
           json_is_string(json_object_get(v, "path"));
}

/* What the rest of this file, and the controller, takes for granted of a model: its version to
 * serve is one of its versions. Whatever else is missing has a default where it is read. */
static bool plan_is_model(const json_t *m)
{
    const json_t *versions = json_object_get(m, "versions"), *v;
    int64_t replicas = json_int_or(m, "replicas", -1);
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (!plan_is_version(v))
            return false;
    }
    return json_is_string(json_object_get(m, "name")) && replicas >= 0 &&
           replicas <= DEPLOYMENT_REPLICAS && json_is_array(json_object_get(m, "groups")) &&
           deployment_version(m, json_int_or(m, "serve", 0));
}

int deployment_plan_check(const char *what, const json_t *plan, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    size_t i;

    if (json_array_size(models) == 0 || json_array_size(models) > DEPLOYMENT_MODELS)
        return err_set(err, -EINVAL, "%s names no models, or too many", what);
    json_array_foreach(models, i, m)
    {
        if (!plan_is_model(m))
            return err_set(err, -EINVAL, "%s cannot be understood: model %zu", what, i + 1);
    }
    return 0;
}

int deployment_plan_parse(const char *what, const char *text, json_t **ret, struct err *err)
{
    json_t *plan = NULL;
    int r = json_parse(what, text, strlen(text), &plan, err);

    if (r == 0)
        r = deployment_plan_check(what, plan, err);
    if (r < 0) {
        json_decref(plan);
        return r;
    }
    *ret = plan;
    return 0;
}

json_t *deployment_model(const json_t *plan, const char *name)
{
    const json_t *models = json_object_get(plan, "models");
    json_t *m;
    size_t i;

    if (!name)
        return json_array_size(models) == 1 ? json_array_get(models, 0) : NULL;
    json_array_foreach(models, i, m)
    {
        if (str_eq(json_string_value(json_object_get(m, "name")), name))
            return m;
    }
    return NULL;
}

json_t *deployment_version(const json_t *model, int64_t number)
{
    const json_t *versions = json_object_get(model, "versions");
    json_t *v;
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (json_int_or(v, "version", 0) == number)
            return v;
    }
    return NULL;
}

static json_t *version_in(const json_t *model, const char *group)
{
    const json_t *versions = json_object_get(model, "versions");
    json_t *v;
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (str_eq(json_string_value(json_object_get(v, "group")), group))
            return v;
    }
    return NULL;
}

json_t *deployment_in_group(const json_t *plan, const char *group, json_t **ret_model)
{
    const json_t *models = json_object_get(plan, "models");
    json_t *m, *v;
    size_t i;

    json_array_foreach(models, i, m)
    {
        v = version_in(m, group);
        if (v && ret_model)
            *ret_model = m;
        if (v)
            return v;
    }
    return NULL;
}

bool deployment_is_on_yarn(const json_t *plan)
{
    return str_eq(json_string_value(json_object_get(plan, "platform")), "yarn");
}

bool deployment_is_direct(const json_t *plan)
{
    return json_is_true(json_object_get(plan, "direct"));
}

unsigned deployment_gateways(const json_t *plan)
{
    int64_t n = json_int_or(plan, "gateways", 1);

    return n < 1 ? 1 : n > GATEWAYS_MOST ? GATEWAYS_MOST : (unsigned)n;
}

/* A group with no version in it has no replicas; neither has one whose version an update is
 * stopping. That goes by way of the size, so that the job ends its tasks as it does after a scaling
 * down. Replicas that make room for ones that move come on top. */
unsigned deployment_group_size(const json_t *model, const char *group)
{
    const json_t *v = version_in(model, group);

    if (!v || (deployment_update_phase(model) == UPDATE_STOPPING &&
               json_int_or(v, "version", 0) != json_int_or(model, "serve", 0)))
        return 0;
    return (unsigned)json_int_or(model, "replicas", 0) + deployment_move_extra(model, v);
}

/* ---- keys of replicas ---- */

/* One key taken apart; borrowed from it. */
struct place {
    const char *group, *address;
    size_t group_len;
    int64_t serial, index, attempt;
};

/* A number up to the next slash. */
static bool place_number(const char **at, int64_t *ret)
{
    const char *slash = strchr(*at, '/');
    char text[24];
    size_t n = slash ? (size_t)(slash - *at) : 0;

    if (n == 0 || n >= sizeof(text))
        return false;
    memcpy(text, *at, n);
    text[n] = '\0';
    *at = slash + 1;
    return str_to_i64(text, 0, INT32_MAX, ret) == 0;
}

/* GROUP/SERIAL/INDEX/ATTEMPT/HOST:PORT. What does not have all of it is nobody's, and passed
 * over. */
static bool place_parse(const char *key, struct place *ret)
{
    const char *at, *slash;

    if (!str_starts(key, DEPLOYMENT_AT))
        return false;
    at = key + strlen(DEPLOYMENT_AT);
    slash = strchr(at, '/');
    if (!slash)
        return false;
    *ret = (struct place){ .group = at, .group_len = (size_t)(slash - at) };
    at = slash + 1;
    if (!place_number(&at, &ret->serial) || !place_number(&at, &ret->index) ||
        !place_number(&at, &ret->attempt) || !*at)
        return false;
    ret->address = at;
    return true;
}

static bool place_of(const struct place *p, const char *group, int64_t serial)
{
    return p->serial == serial && strlen(group) == p->group_len &&
           memcmp(group, p->group, p->group_len) == 0;
}

/* Did the replica come back elsewhere?
 *
 * A key is never changed: a replica that is started again, here or on another node, writes a new
 * one under its next attempt. Until the controller has deleted the old one both are there, and the
 * old address would get requests that nobody answers. */
static bool is_older(const struct place *p, const struct strs *keys)
{
    struct place other;

    for (size_t i = 0; i < keys->n; i++)
        if (place_parse(keys->v[i], &other) && other.index == p->index &&
            other.serial == p->serial && other.group_len == p->group_len &&
            memcmp(other.group, p->group, p->group_len) == 0 && other.attempt > p->attempt)
            return true;
    return false;
}

/* What is no key of a replica at all is not past: it is not ours to delete. */
bool deployment_is_past(const json_t *plan, const char *key, const struct strs *keys)
{
    struct place p;
    AUTO_FREE char *group = NULL;
    json_t *model = NULL;
    const json_t *v;

    if (!place_parse(key, &p) || !(group = strndup(p.group, p.group_len)))
        return false;
    v = deployment_in_group(plan, group, &model);
    return !v || json_int_or(v, "serial", 0) != p.serial ||
           p.index >= deployment_group_size(model, group) || is_older(&p, keys);
}

bool deployment_key_group(const char *key, char out[DEPLOYMENT_GROUP])
{
    struct place p;

    if (!place_parse(key, &p) || p.group_len >= DEPLOYMENT_GROUP)
        return false;
    memcpy(out, p.group, p.group_len);
    out[p.group_len] = '\0';
    return true;
}

static bool rows_leave(const json_t *rows, const char *address)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (str_eq(json_string_value(json_object_get(row, "address")), address) &&
            str_eq(json_string_value(json_object_get(row, "state")), "leaving"))
            return true;
    }
    return false;
}

bool deployment_has_beyond(const json_t *version, unsigned n, const struct strs *keys,
                           const json_t *rows)
{
    const char *group = json_string_value(json_object_get(version, "group"));
    struct place p;

    for (size_t i = 0; group && i < keys->n; i++)
        if (place_parse(keys->v[i], &p) && p.index >= n &&
            place_of(&p, group, json_int_or(version, "serial", 0)) &&
            (!rows || rows_leave(rows, p.address)))
            return true;
    return false;
}

void deployment_attempts(const json_t *version, const struct strs *keys,
                         int64_t ret[DEPLOYMENT_REPLICAS])
{
    const char *group = json_string_value(json_object_get(version, "group"));
    struct place p;

    for (size_t i = 0; i < DEPLOYMENT_REPLICAS; i++)
        ret[i] = -1;
    for (size_t i = 0; i < keys->n; i++)
        if (place_parse(keys->v[i], &p) && p.index < DEPLOYMENT_REPLICAS &&
            place_of(&p, group, json_int_or(version, "serial", 0)) && p.attempt > ret[p.index])
            ret[p.index] = p.attempt;
}

/* ---- the gateway's spec ---- */

/* A port that one replica has lost may be another's before it says where it is now. */
static bool is_listed_at(const json_t *list, const char *address)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (str_eq(json_string_value(json_object_get(one, "address")), address))
            return true;
    }
    return false;
}

/* The replicas that the gateway is told of. In the order of the tests, left out are: keys that
 * cannot be read, other groups and earlier versions in this one, replicas beyond the size, those
 * that were started again since, those whose move has come to draining, and a second one at an
 * address. */
static json_t *replicas_of(const json_t *model, const json_t *version, const struct strs *keys)
{
    const char *group = json_string_value(json_object_get(version, "group"));
    int64_t most = deployment_group_size(model, group);
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < keys->n; i++) {
        struct place p;

        if (!place_parse(keys->v[i], &p) ||
            !place_of(&p, group, json_int_or(version, "serial", 0)) || p.index >= most ||
            is_older(&p, keys) || deployment_move_leaves(model, version, p.index, p.attempt) ||
            is_listed_at(list, p.address))
            continue;
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:s}", "name",
                                            json_sprintf("%s-%lld", group, (long long)p.index),
                                            "address", p.address)) < 0)
            return NULL;
    }
    return take(list);
}

/* Everything but a program of its own is run by our model server. */
static bool version_answers_grpc(const json_t *v)
{
    const char *format = json_string_value(json_object_get(v, "format"));

    return format && !str_eq(format, "command");
}

/* Of two versions the one that does not serve any more gets no replicas once requests have left it:
 * the gateway waits for what they still answer. */
static json_t *versions_of(const json_t *model, const struct strs *keys)
{
    const json_t *versions = json_object_get(model, "versions"), *v;
    enum update_phase phase = deployment_update_phase(model);
    AUTO_JSON *list = json_array();
    size_t i;

    json_array_foreach(versions, i, v)
    {
        int64_t number = json_int_or(v, "version", 0);
        bool leaves = (phase == UPDATE_DRAINING || phase == UPDATE_STOPPING) &&
                      number != json_int_or(model, "serve", 0);

        if (json_array_append_new(
                list, json_pack("{s:I, s:b, s:o}", "version", (json_int_t)number, "grpc",
                                (int)version_answers_grpc(v), "replicas",
                                leaves ? json_array() : replicas_of(model, v, keys))) < 0)
            return NULL;
    }
    return take(list);
}

/* A new version is watched by the gateway, which knows what became of each request.
 *
 * `shares`: this gateway sees a part of the requests only, and gets its share from the first one,
 * which judges by all of them. */
static int add_canary(const json_t *model, const json_t *shares, json_t *into)
{
    const json_t *update = json_object_get(model, "update");

    if (deployment_update_phase(model) != UPDATE_WATCHING)
        return 0;
    if (shares)
        return json_object_set_new(
                   into, "canary",
                   json_pack("{s:O, s:f}", "version", json_object_get(update, "to"), "percent",
                             gateway_share(shares,
                                           json_string_value(json_object_get(model, "name")),
                                           json_int_or(update, "to", 0)))) < 0 ||
                       json_object_set_new(into, "watch", json_pack("{s:b}", "automatic", 0)) < 0
                   ? -ENOMEM
                   : 0;
    if (json_object_set_new(into, "canary",
                            json_pack("{s:O, s:O}", "version", json_object_get(update, "to"),
                                      "percent", json_object_get(update, "percent"))) < 0 ||
        json_object_set_new(into, "watch",
                            json_pack("{s:O, s:O, s:O}", "requests",
                                      json_object_get(update, "requests"), "errors",
                                      json_object_get(update, "errors"), "slower",
                                      json_object_get(update, "slower"))) < 0)
        return -ENOMEM;
    return 0;
}

/* The gateway refuses keys that it does not know: what is the plan's own is taken out. */
static json_t *model_of(const json_t *model, const json_t *shares, const struct strs *keys)
{
    static const char *const ours[] = { "replicas", "groups",    "previous", "follow",
                                        "followed", "update",    "next",     "last",
                                        "settings", "autoscale", "scaled",   "moving" };
    AUTO_JSON *v = json_copy((json_t *)model);

    for (size_t i = 0; v && i < COUNT_OF(ours); i++)
        (void)json_object_del(v, ours[i]);
    if (!v || json_object_set_new(v, "versions", versions_of(model, keys)) < 0 ||
        add_canary(model, shares, v) < 0)
        return NULL;
    return take(v);
}

/* Makes the path of a file absolute. */
static int spec_place(json_t *v, const char *key, const char *dir)
{
    const char *path = json_string_value(json_object_get(v, key));

    if (!path || *path == '/')
        return 0;
    return json_object_set_new(v, key, json_sprintf("%s/%s", dir, path));
}

/* The plan's own members are shared with it. */
static int spec_place_all(json_t *spec, const char *dir)
{
    json_t *tls = json_copy(json_object_get(spec, "tls"));

    if (tls && (spec_place(tls, "certificate", dir) < 0 || spec_place(tls, "key", dir) < 0)) {
        json_decref(tls);
        return -ENOMEM;
    }
    if (tls && json_object_set_new(spec, "tls", tls) < 0)
        return -ENOMEM;
    return spec_place(spec, "key_file", dir);
}

int deployment_spec(const json_t *plan, const struct deployment_here *here, const struct strs *keys,
                    char **ret, struct err *err)
{
    static const char *const ours[] = { "name",   "revision", "serial",  "registry",
                                        "use",    "answers",  "gateway", "cache_limit",
                                        "direct", "platform", "origin",  "gateways" };
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_JSON *spec = json_copy((json_t *)plan);
    AUTO_JSON *list = json_array();
    size_t i;

    for (i = 0; spec && i < COUNT_OF(ours); i++)
        (void)json_object_del(spec, ours[i]);
    json_array_foreach(models, i, m)
    {
        if (json_array_append_new(list, model_of(m, here->shares, keys)) < 0)
            return err_oom(err);
    }
    if (!spec || !list || json_object_set(spec, "models", list) < 0 ||
        json_object_set_new(spec, "listen", json_string(here->listen)) < 0 ||
        json_object_set_new(spec, "replica_key_file", json_string(here->key_file)) < 0 ||
        spec_place_all(spec, here->dir) < 0)
        return err_oom(err);
    *ret = json_dumps(spec, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}
