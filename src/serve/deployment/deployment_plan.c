/* deployment_plan.c - the keys of replicas, hostile until parsed, and which of them count. What the
 * plan says beside groups is the gateway's own and is passed on. See deployment_plan.h. */
#include "serve/deployment/deployment_plan.h"

#include <string.h>

/* One key taken apart; borrowed from it. */
struct place {
    const char *group, *address;
    size_t group_len;
    int64_t index, attempt;
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
    if (!place_number(&at, &ret->index) || !place_number(&at, &ret->attempt) || !*at)
        return false;
    ret->address = at;
    return true;
}

static bool place_of(const struct place *p, const char *group)
{
    return strlen(group) == p->group_len && memcmp(group, p->group, p->group_len) == 0;
}

/* Did the replica come back elsewhere? */
static bool is_older(const struct place *p, const struct strs *keys)
{
    struct place other;

    for (size_t i = 0; i < keys->n; i++)
        if (place_parse(keys->v[i], &other) && other.index == p->index &&
            other.group_len == p->group_len && memcmp(other.group, p->group, p->group_len) == 0 &&
            other.attempt > p->attempt)
            return true;
    return false;
}

bool deployment_is_past(const char *key, const struct strs *keys)
{
    struct place p;

    return place_parse(key, &p) && is_older(&p, keys);
}

static int64_t size_of(const char *group, const struct deployment_size *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(sizes[i].group, group))
            return sizes[i].n;
    return INT64_MAX;
}

static json_t *replicas_of(const struct deployment_replicas *x, const char *group)
{
    AUTO_JSON *list = json_array();
    int64_t most = size_of(group, x->sizes, x->n_sizes);

    for (size_t i = 0; list && i < x->keys->n; i++) {
        struct place p;

        if (!place_parse(x->keys->v[i], &p) || !place_of(&p, group) || p.index >= most ||
            is_older(&p, x->keys))
            continue;
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:s}", "name",
                                            json_sprintf("%s-%lld", group, (long long)p.index),
                                            "address", p.address)) < 0)
            return NULL;
    }
    return take(list);
}

static int plan_version(const struct deployment_replicas *x, json_t *version, struct err *err)
{
    AUTO_FREE char *group = NULL;
    const char *said = json_string_value(json_object_get(version, "group"));

    if (!said)
        return err_set(err, -EINVAL, "the plan of the deployment: a version has no group");
    group = strdup(said);
    (void)json_object_del(version, "group");
    if (!group || json_object_set_new(version, "replicas", replicas_of(x, group)) < 0)
        return err_oom(err);
    return 0;
}

int deployment_spec(const json_t *plan, const char *listen, const struct deployment_replicas *x,
                    char **ret, struct err *err)
{
    AUTO_JSON *spec = json_deep_copy(plan);
    json_t *model, *version;
    size_t i, k;
    int r = 0;

    if (!json_is_object(plan) || !json_is_array(json_object_get(plan, "models")))
        return err_set(err, -EINVAL, "the plan of the deployment names no models");
    if (!spec || json_object_set_new(spec, "listen", json_string(listen)) < 0)
        return err_oom(err);
    json_array_foreach(json_object_get(spec, "models"), i, model){ json_array_foreach(
        json_object_get(model, "versions"), k, version){ r = plan_version(x, version, err);
    if (r < 0)
        return r;
}
}
*ret = json_dumps(spec, JSON_COMPACT);
return *ret ? 0 : err_oom(err);
}
