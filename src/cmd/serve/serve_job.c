/* serve_job.c - JSON for start_job(): a gateway with its plan in the environment, and a group of
 * replicas whose command is the server's. See serve_job.h. */
#include "cmd/serve/serve_job.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/serve/serve_call.h"
#include "serve/deployment/deployment_plan.h"

#define GROUP "a"            /* of the first version */
#define RESTARTS_MAX 1000000 /* as many as a job may have */

static int set_text(json_t *v, const char *key, const char *text)
{
    return !text ? 0 : json_object_set_new(v, key, json_string(text));
}

/* A replica is ready when this model is: another server may have its port by then. */
static int make_plan(const struct serve_job *j, char **ret, struct err *err)
{
    AUTO_JSON *plan = NULL;
    int r = json_make(&plan, err, "{s:[{s:s, s:I, s:o, s:[{s:I, s:s}]}]}", "models", "name",
                      j->model, "serve", (json_int_t)j->version, "health",
                      json_sprintf("/v2/models/%s/ready", j->model), "versions", "version",
                      (json_int_t)j->version, "group", GROUP);

    if (r < 0)
        return r;
    if (set_text(plan, "key_file", j->key_file) < 0)
        return err_oom(err);
    if (j->certificate &&
        (json_object_set_new(plan, "tls", json_pack("{s:s}", "certificate", j->certificate)) < 0 ||
         set_text(json_object_get(plan, "tls"), "key", j->private_key) < 0))
        return err_oom(err);
    *ret = json_dumps(plan, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}

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

static json_t *gateway_role(const struct serve_job *j, const char *plan)
{
    const char *const options[] = { "--host", j->host, "--haproxy", j->haproxy, NULL };

    return json_pack("{s:i, s:o, s:{s:s}}", "count", 1, "command",
                     command_of("deployment", options), "env", DEPLOYMENT_PLAN_ENV, plan);
}

static json_t *replica_role(const struct serve_job *j)
{
    AUTO_FREE char *version = str_printf("%lld", (long long)j->version);
    const char *const options[] = { "--name",   j->model,        "--model-version",
                                    version,    "--lib",         j->library,
                                    "--cpus",   j->cpus,         "--batch",
                                    j->batch,   "--batch-delay", j->batch_delay,
                                    "--device", j->device,       NULL };
    AUTO_JSON *command = command_of("replica", options);
    AUTO_JSON *role = NULL;

    /* What follows is not the wrapper's. */
    if (!version || !command || json_array_insert_new(command, 2, json_string("--")) < 0 ||
        json_array_insert_new(command, 3, json_string("--late")) < 0 ||
        json_array_append_new(command, json_string(j->path)) < 0)
        return NULL;
    role = json_pack("{s:i, s:i, s:O}", "count", (int)j->replicas, "ports", 1, "command", command);
    if (!role || set_text(role, "cpus", j->cpus) < 0 || set_text(role, "memory", j->memory) < 0)
        return NULL;
    return take(role);
}

int serve_job_text(const struct serve_job *j, char **ret, struct err *err)
{
    AUTO_FREE char *plan = NULL;
    AUTO_JSON *job = NULL;
    int r = make_plan(j, &plan, err);

    if (r == 0)
        r = json_make(&job, err, "{s:s, s:s, s:{s:s, s:i}, s:{s:o, s:o}}", "name", j->name,
                      "framework", SERVE_FRAMEWORK, "restart", "policy", "task", "max",
                      RESTARTS_MAX, "roles", SERVE_GATEWAY, gateway_role(j, plan), GROUP,
                      replica_role(j));
    if (r < 0)
        return r;
    *ret = json_dumps(job, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}
