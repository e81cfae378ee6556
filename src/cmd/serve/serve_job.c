/* serve_job.c - JSON for start_job(): a gateway, and for each model two groups of replicas, of
 * which the second one is for the next version. What a group serves is in the plan, not in its
 * command. See serve_job.h. */
#include "cmd/serve/serve_job.h"
#include "base/str.h"
#include "cmd/serve/serve_call.h"
#include "serve/deployment/deployment_plan.h"

#include <openssl/rand.h>

#define RESTARTS_MAX 1000000  /* as many as a job may have */
#define GATEWAY_MEMORY "512m" /* of its container, with HAProxy's buffers for 2000 connections */

static int set_text(json_t *v, const char *key, const char *text)
{
    return !text ? 0 : json_object_set_new(v, key, json_string(text));
}

/* ---- the plan ---- */

/* "a", "b" for the first model, "c", "d" for the second. */
static json_t *group_name(size_t model, size_t k)
{
    return json_sprintf("%c", (int)('a' + 2 * model + k));
}

/* A replica is ready when this version of the model is: another server may have its port by then.
 */
static json_t *plan_model(const struct serve_job *j, size_t i)
{
    const struct serve_model *m = &j->models[i];
    AUTO_JSON *version = serve_version_json(&m->v);
    AUTO_JSON *model = NULL;

    if (!version || (m->library && set_text(version, "library", m->library) < 0) ||
        json_object_set_new(version, "group", group_name(i, 0)) < 0 ||
        json_object_set_new(version, "serial", json_integer((json_int_t)i + 1)) < 0)
        return NULL;
    model = json_pack(
        "{s:s, s:i, s:[o, o], s:I, s:o, s:[O]}", "name", m->v.m.name, "replicas", (int)m->replicas,
        "groups", group_name(i, 0), group_name(i, 1), "serve", (json_int_t)m->v.m.version, "health",
        json_sprintf("/v2/models/%s/versions/{version}/ready", m->v.m.name), "versions", version);
    if (!model || (m->alias && (set_text(model, "follow", m->alias) < 0 ||
                                json_object_set_new(model, "followed",
                                                    json_integer((json_int_t)m->v.m.version)) < 0)))
        return NULL;
    if (m->autoscale.max &&
        json_object_set_new(model, "autoscale", autoscale_json(&m->autoscale)) < 0)
        return NULL;
    return take(model);
}

/* A name of its own for what it writes to the registry. */
static json_t *use_id(const char *name)
{
    uint8_t noise[6] = { 0 };
    AUTO_FREE char *hex = NULL;

    if (RAND_bytes(noise, sizeof(noise)) != 1 || str_hex(noise, sizeof(noise), &hex) < 0)
        return NULL;
    return model_name_ok(name) ? json_sprintf("%.80s-%s", name, hex)
                               : json_sprintf("deployment-%s", hex);
}

static int set_limit(json_t *plan, uint64_t limit)
{
    return !limit ? 0 : json_object_set_new(plan, "cache_limit", json_integer((json_int_t)limit));
}

int serve_job_plan(const struct serve_job *j, json_t **ret, struct err *err)
{
    AUTO_JSON *models = json_array();
    AUTO_JSON *plan = NULL;
    int r;

    for (size_t i = 0; models && i < j->n; i++)
        if (json_array_append_new(models, plan_model(j, i)) < 0)
            return err_oom(err);
    r = json_make(&plan, err, "{s:s, s:i, s:I, s:s, s:o, s:O}", "name", j->name, "revision", 0,
                  "serial", (json_int_t)j->n, "registry", j->models[0].v.registry, "use",
                  use_id(j->name), "models", models);
    if (r < 0)
        return r;
    if (j->direct && json_object_set_new(plan, "direct", json_true()) < 0)
        return err_oom(err);
    if (j->gateways > 1 &&
        json_object_set_new(plan, "gateways", json_integer((json_int_t)j->gateways)) < 0)
        return err_oom(err);
    if (set_text(plan, "platform", j->platform) < 0 ||
        (j->origin && json_object_set(plan, "origin", j->origin) < 0) ||
        set_text(plan, "key_file", j->key_file) < 0 || set_limit(plan, j->cache_limit) < 0)
        return err_oom(err);
    if (j->certificate &&
        (json_object_set_new(plan, "tls", json_pack("{s:s}", "certificate", j->certificate)) < 0 ||
         set_text(json_object_get(plan, "tls"), "key", j->private_key) < 0))
        return err_oom(err);
    *ret = take(plan);
    return 0;
}

/* ---- the job ---- */

/* Words and their values, where there is one. */
static json_t *command_of(const char *verb, const char *const *options)
{
    AUTO_JSON *words = json_pack("[s, s]", "ydl-native", verb);
    int r = words ? 0 : -1;

    for (; r == 0 && *options; options += 2)
        if (options[1])
            r = json_array_append_new(words, json_string(options[0])) < 0 ||
                        json_array_append_new(words, json_string(options[1])) < 0
                    ? -1
                    : 0;
    return r == 0 ? take(words) : NULL;
}

/* Several with one port cannot be on one node; others are kept apart where there is room. */
static json_t *gateway_role(const struct serve_job *j)
{
    const char *const options[] = { "--host", j->host, "--haproxy", j->haproxy, NULL };
    bool on_yarn = str_eq(j->platform, "yarn");

    if (j->direct) /* it looks after the replicas, and listens nowhere */
        return json_pack("{s:i, s:i, s:[s, s, s]}", "count", 1, "ports", 0, "command", "ydl-native",
                         "deployment", "--direct");
    return json_pack("{s:i, s:o, s:O*, s:s*, s:s*, s:s*}", "count",
                     j->gateways > 1 ? (int)j->gateways : 1, "command",
                     command_of("deployment", options), "files", j->files, "port", j->port,
                     "memory", on_yarn ? GATEWAY_MEMORY : NULL, "spread",
                     on_yarn && j->gateways > 1 && j->port ? "node" : NULL);
}

static json_t *replica_role(const struct serve_model *m, unsigned count)
{
    const char *const options[] = { "--cpus",   m->cpus,         "--batch",
                                    m->batch,   "--batch-delay", m->batch_delay,
                                    "--device", m->device,       NULL };
    AUTO_JSON *command = command_of("replica", options);
    AUTO_JSON *role = NULL;

    /* What follows is not the wrapper's. */
    if (!command || json_array_insert_new(command, 2, json_string("--")) < 0 ||
        json_array_insert_new(command, 3, json_string("--late")) < 0)
        return NULL;
    /* Who decides over the job's success cannot be none. */
    role = json_pack("{s:i, s:b, s:i, s:O, s:O*}", "count", (int)count, "decides", 0, "ports", 1,
                     "command", command, "files", m->files);
    if (!role || set_text(role, "cpus", m->cpus) < 0 || set_text(role, "memory", m->memory) < 0 ||
        set_text(role, "gpus", m->gpus) < 0)
        return NULL;
    return take(role);
}

static json_t *roles_of(const struct serve_job *j, const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m, *g;
    AUTO_JSON *roles =
        json_pack("{s:o}", j->direct ? SERVE_CONTROLLER : SERVE_GATEWAY, gateway_role(j));
    size_t i, k;

    json_array_foreach(models, i, m)
    {
        json_array_foreach(json_object_get(m, "groups"), k, g)
        {
            const char *name = json_string_value(g);

            if (json_object_set_new(
                    roles, name, replica_role(&j->models[i], deployment_group_size(m, name))) < 0)
                return NULL;
        }
    }
    return take(roles);
}

int serve_job_text(const struct serve_job *j, const json_t *plan, const json_t *env, char **ret,
                   struct err *err)
{
    AUTO_FREE char *text = json_dumps(plan, JSON_COMPACT);
    AUTO_JSON *all = json_copy((json_t *)env);
    AUTO_JSON *job = NULL;
    int r = text && all && set_text(all, DEPLOYMENT_PLAN_ENV, text) == 0
                ? json_make(&job, err, "{s:s, s:s, s:{s:s, s:i}, s:O, s:o}", "name", j->name,
                            "framework", SERVE_FRAMEWORK, "restart", "policy", "task", "max",
                            RESTARTS_MAX, "env", all, "roles", roles_of(j, plan))
                : err_oom(err);

    if (r == 0 && set_text(job, "venv", j->venv) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
    *ret = json_dumps(job, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}
