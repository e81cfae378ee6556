/* slider_documents.c - what Slider's master said of an application at its REST addresses, said of a
 * job.
 *
 *     publisher                       where exports are
 *     publisher/exports[/GROUP]       what tasks publish (exports.c)
 *     application/live/resources      how many instances are wanted, and of what size
 *     application/live/components[/NAME], …/containers[/ID], …/liveness, …/statistics
 *     application/action/ping
 *
 * A component is a role, a container a task. Names and states are Slider's. */
#include "base/json.h"
#include "job/engine/state.h"
#include "master/master_private.h"

#include <string.h>

#define SCHEMA "http://example.org/specification/v2.0.0"

/* What there is of a role, or (role UINT32_MAX) of all. */
struct counts {
    int desired, actual, started, completed, failed;
};

static struct counts slider_documents_count(const struct master *m, uint32_t role)
{
    const struct task *t = NULL;
    struct counts c = { 0 };

    while ((t = engine_next_in_gang(m->engine, t))) {
        if (role != UINT32_MAX && t->role != role)
            continue;
        c.desired++;
        c.actual += t->state != TASK_WAITING && !task_has_ended(t->state);
        c.started += t->state == TASK_RUNNING;
        c.completed += t->state == TASK_DONE;
        c.failed += t->state == TASK_FAILED || t->state == TASK_LOST;
    }
    return c;
}

static int wanting(const struct counts *c)
{
    int n = c->desired - c->actual - c->completed - c->failed;

    return n > 0 ? n : 0;
}

/* ---- publisher ---- */

static int publisher(struct master *m, const char *name, json_t **ret, struct err *err)
{
    int port;
    const char *host = form_server(m, &port);

    (void)name;
    return json_make(ret, err, "{s:{s:o}}", "uris", "exports",
                     json_sprintf("http://%s:%d/ws/v1/slider/publisher/exports", host, port));
}

/* ---- resources ---- */

static int slider_documents_resources(struct master *m, const char *name, json_t **ret,
                                      struct err *err)
{
    AUTO_JSON *components =
        json_pack("{s:{s:s}}", "slider-appmaster", "yarn.component.instances", "1");

    (void)name;
    if (!components)
        return err_oom(err);
    for (uint32_t i = 0; i < m->spec.n_roles; i++) {
        const struct spec_role *role = &m->spec.roles[i];
        json_t *v = NULL;

        if (json_make(&v, err, "{s:o, s:o, s:o, s:o}", "yarn.role.priority",
                      json_sprintf("%u", i + 1), "yarn.component.instances",
                      json_sprintf("%u", engine_role_count(m->engine, i)), "yarn.memory",
                      json_sprintf("%llu", (unsigned long long)(role->memory / MIB)), "yarn.vcores",
                      json_sprintf("%u", role->cpus ? role->cpus : 1)) < 0 ||
            json_object_set_new(components, role->name, v) < 0)
            return err_oom(err);
    }
    return json_make(ret, err, "{s:s, s:{}, s:{}, s:{}, s:O}", "schema", SCHEMA, "metadata",
                     "global", "credentials", "components", components);
}

/* ---- components ---- */

static json_t *containers_of(struct master *m, uint32_t role)
{
    json_t *list = json_array();
    const struct task *t = NULL;

    while (list && (t = engine_next_in_gang(m->engine, t))) {
        AUTO_FREE char *id = NULL;

        if (t->role != role || t->state == TASK_WAITING || task_has_ended(t->state))
            continue;
        id = exports_container(m, t);
        if (!id || json_array_append_new(list, json_text(id)) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static int component(struct master *m, uint32_t i, json_t **ret, struct err *err)
{
    struct counts c = slider_documents_count(m, i);

    return json_make(ret, err, "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}",
                     "name", m->spec.roles[i].name, "priority", (int)i + 1, "desired", c.desired,
                     "maximum", c.desired, "actual", c.actual, "requested", wanting(&c),
                     "releasing", 0, "started", c.started, "startFailed", 0, "completed",
                     c.completed, "failed", c.failed, "containers", containers_of(m, i));
}

static int components(struct master *m, const char *name, json_t **ret, struct err *err)
{
    AUTO_JSON *all = name ? NULL : json_object();
    json_t *v = NULL;

    for (uint32_t i = 0; i < m->spec.n_roles; i++) {
        if (name && str_eq(name, m->spec.roles[i].name))
            return component(m, i, ret, err);
        if (name)
            continue;
        if (component(m, i, &v, err) < 0 || json_object_set_new(all, m->spec.roles[i].name, v) < 0)
            return err_oom(err);
    }
    if (name)
        return err_set(err, -ENOENT, "there is no component '%s'", name);
    *ret = take(all);
    return *ret ? 0 : err_oom(err);
}

/* ---- containers ---- */

/* Slider's numbers: submitted, created, live, stopped. */
static int slider_state(enum task_state s)
{
    static const int states[TASK_STATES_] = {
        [TASK_WAITING] = 1, [TASK_GRANTED] = 1, [TASK_PREPARING] = 2, [TASK_READY] = 2,
        [TASK_RUNNING] = 3, [TASK_DONE] = 4,    [TASK_FAILED] = 4,    [TASK_LOST] = 4,
    };

    return states[s];
}

static int container(struct master *m, const struct task *t, const char *id, json_t **ret,
                     struct err *err)
{
    const struct agent_conn *a = agents_get(m, t->agent);
    bool ended = task_has_ended(t->state);

    return json_make(ret, err, "{s:o, s:s, s:b, s:i, s:I, s:I, s:i, s:o, s:o}", "containerId",
                     json_text(id), "component", m->spec.roles[t->role].name, "released", 0,
                     "state", slider_state(t->state), "createTime", (json_int_t)t->since,
                     "startTime", (json_int_t)(t->state == TASK_RUNNING ? t->since : 0), "exitCode",
                     ended ? t->code : 0, "host", json_text(a ? a->node : ""), "placement",
                     json_text(a ? a->host : ""));
}

static int containers(struct master *m, const char *name, json_t **ret, struct err *err)
{
    AUTO_JSON *all = json_object();
    const struct task *t = NULL;

    if (!all)
        return err_oom(err);
    while ((t = engine_next_in_gang(m->engine, t))) {
        AUTO_FREE char *id = NULL;
        json_t *v = NULL;

        if (t->state == TASK_WAITING)
            continue;
        id = exports_container(m, t);
        if (id && name && str_eq(name, id))
            return container(m, t, id, ret, err);
        if (!id || container(m, t, id, &v, err) < 0 || json_object_set_new(all, id, v) < 0)
            return err_oom(err);
    }
    if (name)
        return err_set(err, -ENOENT, "there is no container '%s'", name);
    *ret = take(all);
    return 0;
}

/* ---- in numbers ---- */

static int liveness(struct master *m, const char *name, json_t **ret, struct err *err)
{
    struct counts c = slider_documents_count(m, UINT32_MAX);

    (void)name;
    return json_make(ret, err, "{s:b, s:i}", "allRequestsSatisfied", wanting(&c) == 0,
                     "requestsOutstanding", wanting(&c));
}

static int statistics(struct master *m, const char *name, json_t **ret, struct err *err)
{
    struct counts c = slider_documents_count(m, UINT32_MAX);

    (void)name;
    return json_make(ret, err, "{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "containers.active.requests",
                     wanting(&c), "containers.completed", c.completed, "containers.desired",
                     c.desired, "containers.failed", c.failed, "containers.live", c.actual,
                     "containers.requested", c.desired, "containers.start.started", c.started);
}

static int slider_documents_ping(struct master *m, const char *name, json_t **ret, struct err *err)
{
    char when[EXPORTS_TIME];

    (void)name;
    return json_make(ret, err, "{s:I, s:s, s:s, s:s}", "time", (json_int_t)master_now(m), "verb",
                     "GET", "text", exports_time(master_now(m), when), "body", "");
}

/* ---- the table ---- */

/* clang-format off */
static const struct {
    const char *path; /* one that ends in a slash has a name behind it */
    int (*make)(struct master *m, const char *name, json_t **ret, struct err *err);
} rows[] = {
    { "publisher",                    publisher },
    { "publisher/exports",            exports_json },
    { "publisher/exports/",           exports_json },
    { "application/live/resources",   slider_documents_resources },
    { "application/live/components",  components },
    { "application/live/components/", components },
    { "application/live/containers",  containers },
    { "application/live/containers/", containers },
    { "application/live/liveness",    liveness },
    { "application/live/statistics",  statistics },
    { "application/action/ping",      slider_documents_ping },
};
/* clang-format on */

int documents_get(void *user, const char *path, json_t **ret, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t n = strlen(rows[i].path);
        bool below = rows[i].path[n - 1] == '/';

        if (below ? strncmp(path, rows[i].path, n) == 0 : str_eq(path, rows[i].path))
            return rows[i].make(user, below ? path + n : NULL, ret, err);
    }
    return err_set(err, -ENOENT, "there is nothing at '%s'", path);
}
