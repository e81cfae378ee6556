/* replica.c - see replica.h. The plan of the store counts, so that a replica that is started again
 * serves what its group has by then; before the gateway's task has put one there, the first plan.
 */
#include "serve/deployment/replica.h"
#include "model/models.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/replica_fetch.h"
#include "serve/deployment/replica_key.h"
#include "serve/deployment/task_store.h"

static int read_plan(struct line_client *c, const struct replica_task *t, json_t **ret,
                     struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r = task_store_get(c, DEPLOYMENT_PLAN, &text, err);

    if (r < 0)
        return r;
    return deployment_plan_parse(r ? DEPLOYMENT_PLAN : DEPLOYMENT_PLAN_ENV, r ? text : t->plan, ret,
                                 err);
}

static int begin(struct line_client *c, const struct replica_task *t, json_t **ret, struct err *err)
{
    AUTO_JSON *plan = NULL;
    AUTO_JSON *version = NULL;
    AUTO_FREE char *key = NULL;
    json_t *model = NULL;
    const char *users;
    int r = read_plan(c, t, &plan, err);

    users = json_string_value(json_object_get(plan, "key_file"));
    if (r == 0)
        r = replica_key_await(c, t->key_file, err);
    if (r == 0 && deployment_is_direct(plan) && users)
        r = replica_key_add(t->key_file, users, err);
    if (r < 0)
        return r;
    version = json_incref(deployment_in_group(plan, t->role, &model));
    if (!version)
        return err_set(err, -ENOENT, "no version runs in the group '%s' any more", t->role);
    key =
        str_printf(DEPLOYMENT_AT "%s/%lld/%s/%s/%s", t->role,
                   (long long)json_int_or(version, "serial", 0), t->index, t->attempt, t->address);
    r = key ? task_store_put(c, key, "here", err) : err_oom(err);
    if (r == 0 && (json_object_set(version, "model", json_object_get(model, "name")) < 0 ||
                   json_object_set_new(version, "open",
                                       json_boolean(deployment_is_direct(plan) && !users)) < 0))
        r = err_oom(err);
    if (r == 0 && models_is_remote(json_string_value(json_object_get(plan, "registry"))))
        r = replica_fetch(t, plan, version, err);
    if (r == 0)
        *ret = take(version);
    return r;
}

int replica_begin(const struct replica_task *t, json_t **ret, struct err *err)
{
    struct line_client c;
    int r;

    line_client_init(&c, t->loop, t->socket);
    r = begin(&c, t, ret, err);
    line_client_done(&c);
    return r;
}
