/* plan_json.c - the whole plan as one document; see plan.h.
 *
 * Makers return NULL when memory ran out: json_make() and json_object_set_new() take that for an
 * answer, so a document can be written down as it will look. */
#include "framework/plan/plan.h"
#include "framework/plan/plan_names.h"
#include "job/engine/policy.h"

#include <string.h>

/* ---- pieces ---- */

static json_t *env_object(const struct strs *env)
{
    AUTO_JSON *all = json_object();

    for (size_t i = 0; all && i < env->n; i++) {
        const char *equals = strchr(env->v[i], '=');
        AUTO_FREE char *name = strndup(env->v[i], (size_t)(equals - env->v[i]));

        if (!name || json_object_set_new_nocheck(all, name, json_text(equals + 1)) < 0)
            return NULL;
    }
    return take(all);
}

/* The job's and then the role's own. */
static json_t *file_list(const struct spec_files *job, const struct spec_files *own)
{
    const struct spec_files *both[] = { job, own };
    AUTO_JSON *list = json_array();

    for (size_t k = 0; list && k < COUNT_OF(both); k++)
        for (size_t i = 0; both[k] && i < both[k]->n; i++) {
            const struct spec_file *f = &both[k]->v[i];
            json_t *v = NULL;

            if (json_make(&v, NULL, "{s:o}", "from", json_text(f->from)) < 0 ||
                json_array_append_new(list, v) < 0)
                return NULL;
            if (f->to && json_object_set_new(v, "to", json_text(f->to)) < 0)
                return NULL;
        }
    return take(list);
}

static json_t *after_list(const struct spec_afters *l)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < l->n; i++) {
        json_t *v = NULL;

        if (json_make(&v, NULL, "{s:o, s:s}", "role", json_text(l->v[i].role), "when",
                      plan_when_name(l->v[i].when)) < 0 ||
            json_array_append_new(list, v) < 0)
            return NULL;
    }
    return take(list);
}

/* What the job's and the role's words come to. */
static json_t *restart_object(const struct plan *p, const struct spec_role *role)
{
    struct policy_restart r = policy_of_role(p->spec, role, p->framework->restart);
    json_t *v = NULL;

    if (r.policy == SPEC_RESTART_NEVER)
        r.max = 0;
    if (json_make(&v, NULL, "{s:s, s:I, s:I}", "policy", plan_policy_name(r.policy), "max",
                  (json_int_t)r.max, "window_ms", (json_int_t)r.window) < 0)
        return NULL;
    return v;
}

/* Sets a key whose value was made now; what was not said is left out. */
static int set_if(json_t *v, bool said, const char *key, json_t *value)
{
    if (!said) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(v, key, value);
}

static json_t *ready_object(const struct spec_ready *r)
{
    AUTO_JSON *v = NULL;

    if (json_make(&v, NULL, "{s:s}", "kind", plan_ready_name(r->kind)) < 0 ||
        set_if(v, r->what != NULL, "what", json_text(r->what)) < 0 ||
        json_object_set_new(v, "timeout_ms", json_integer(r->timeout)) < 0)
        return NULL;
    return take(v);
}

/* ---- a task, a role, the job ---- */

static int task_object(const struct plan *p, const struct spec_role *role,
                       const struct cluster_role *c, unsigned rank, json_t **ret, struct err *err)
{
    const struct cluster_task *at = &c->tasks[rank];
    AUTO_PLAN_TASK t = { 0 };
    char name[64];
    int r = plan_task(p, role, rank, &t, err);

    if (r < 0)
        return r;
    (void)snprintf(name, sizeof(name), "%s:%u", role->name, rank);
    return json_make(ret, err, "{s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "task",
                     json_text(name), "rank", (int)rank, "slot", (int)at->slot, "local_rank",
                     (int)at->local_rank, "host", json_text(at->host), "node", json_text(at->node),
                     "ports", cluster_ports_json(at), "argv", json_texts(t.argv.v, t.argv.n), "env",
                     env_object(&t.env));
}

static int add_tasks(const struct plan *p, const struct spec_role *role, json_t *to,
                     struct err *err)
{
    const struct cluster_role *c = cluster_role(p->cluster, role->name);
    AUTO_JSON *list = json_array();

    for (unsigned rank = 0; c && rank < c->n; rank++) {
        json_t *task = NULL;
        int r = task_object(p, role, c, rank, &task, err);

        if (r < 0)
            return r;
        if (json_array_append_new(list, task) < 0)
            return err_oom(err);
    }
    return json_object_set_new(to, "tasks", take(list)) < 0 ? err_oom(err) : 0;
}

static int set_said(const struct plan *p, const struct spec_role *role, json_t *v)
{
    const struct spec *s = p->spec;
    const char *image = role->image ? role->image : s->image;
    const char *label = role->label ? role->label : s->label;

    if (set_if(v, image != NULL, "image", json_text(image)) < 0 ||
        set_if(v, label != NULL, "label", json_text(label)) < 0 ||
        set_if(v, role->after.n > 0, "after", after_list(&role->after)) < 0 ||
        set_if(v, role->ready.kind != SPEC_READY_NONE, "ready", ready_object(&role->ready)) < 0 ||
        set_if(v, s->files.n + role->files.n > 0, "files", file_list(&s->files, &role->files)) < 0)
        return -ENOMEM;
    return set_if(v, s->archives.n + role->archives.n > 0, "archives",
                  file_list(&s->archives, &role->archives));
}

static int role_object(const struct plan *p, const struct spec_role *role, json_t **ret,
                       struct err *err)
{
    AUTO_JSON *v = NULL;
    int r = json_make(&v, err, "{s:o, s:i, s:i, s:I, s:i, s:i, s:i, s:b, s:b, s:s, s:o}", "role",
                      json_text(role->name), "count", (int)role->count, "procs", (int)role->procs,
                      "memory", (json_int_t)role->memory, "cpus", (int)role->cpus, "gpus",
                      (int)role->gpus, "ports", role->ports, "decides", role->decides == 1, "side",
                      role->side == 1, "place", plan_place_name(role->place), "restart",
                      restart_object(p, role));

    if (r < 0)
        return r;
    if (set_said(p, role, v) < 0)
        return err_oom(err);
    r = add_tasks(p, role, v, err);
    if (r == 0)
        *ret = take(v);
    return r;
}

static json_t *server_list(const struct framework *fw)
{
    AUTO_JSON *list = json_array();

    for (unsigned bit = 1; list && bit <= FRAMEWORK_PMI; bit <<= 1)
        if ((fw->servers & bit) &&
            json_array_append_new(list, json_text(plan_server_name(bit))) < 0)
            return NULL;
    return take(list);
}

static json_t *plan_json_publish(const struct spec_publish *s)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:o, s:o, s:o, s:o, s:o}", "name", json_text(s->name), "path",
                    json_text(s->path), "alias", json_text(s->alias), "registry",
                    json_text(s->registry), "commit", json_text(s->commit));
    return v;
}

static int job_object(const struct plan *p, json_t **ret, struct err *err)
{
    const struct spec *s = p->spec;
    AUTO_JSON *v = NULL;
    json_t *retry =
        s->gang_retry == SPEC_FOREVER ? json_string("forever") : json_integer(s->gang_retry);
    int r =
        json_make(&v, err, "{s:o, s:o, s:s, s:b, s:o, s:{s:I, s:o}, s:I, s:I}", "job",
                  json_text(p->job), "name", json_text(s->name), "framework", p->framework->name,
                  "experimental", !p->framework->proven, "servers", server_list(p->framework),
                  "gang", "hold_ms", (json_int_t)s->gang_hold, "retry", retry, "grace_ms",
                  (json_int_t)s->grace, "timeout_ms", (json_int_t)s->timeout);

    if (r < 0)
        return r;
    if (set_if(v, s->queue != NULL, "queue", json_text(s->queue)) < 0 ||
        set_if(v, s->output.n > 0, "output", file_list(&s->output, NULL)) < 0 ||
        set_if(v, s->publish.name != NULL, "publish", plan_json_publish(&s->publish)) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}

/* A plan of many tasks asks for the same common part again and again: lend it a cache. */
int plan_json(const struct plan *p, json_t **ret, struct err *err)
{
    AUTO(plan_cache) struct plan_cache *cache = NULL;
    AUTO_JSON *v = NULL, *roles = json_array();
    struct plan mine = *p;
    int r;

    if (!mine.cache && plan_cache_new(&cache) < 0)
        return err_oom(err);
    mine.cache = mine.cache ? mine.cache : cache;
    r = job_object(&mine, &v, err);
    for (size_t i = 0; i < p->spec->n_roles && r == 0; i++) {
        json_t *role = NULL;

        r = role_object(&mine, &p->spec->roles[i], &role, err);
        if (r == 0 && json_array_append_new(roles, role) < 0)
            r = err_oom(err);
    }
    if (r < 0)
        return r;
    if (json_object_set_new(v, "roles", take(roles)) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}
