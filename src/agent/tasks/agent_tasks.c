/* agent_tasks.c - the table of an agent's tasks: made when the master first names one, found by
 * number, and freed all at once when the agent leaves. */
#include "agent/tasks/agent_tasks.h"
#include "agent/agent_private.h"
#include "agent/link/resync.h"
#include "agent/output/output_files.h"
#include "agent/tasks/docker.h"
#include "agent/tasks/prepare.h"

#include <ctype.h>
#include <string.h>

struct agent_task *agent_task_find(const struct agent *a, uint32_t id)
{
    return id < a->tasks.n_ids ? a->tasks.by_id[id] : NULL;
}

/* "worker:3": letters, digits, - and _, one colon. It becomes a part of file names. */
static bool agent_task_good_name(const char *s)
{
    size_t n = strlen(s), colons = 0;

    for (const char *p = s; *p; p++) {
        colons += *p == ':';
        if (!isalnum((unsigned char)*p) && *p != ':' && *p != '-' && *p != '_')
            return false;
    }
    return n > 2 && n < 64 && colons == 1 && s[0] != ':' && s[n - 1] != ':';
}

static int agent_task_init(struct agent_task *t, struct err *err)
{
    int r;

    t->label = strdup(t->name);
    if (!t->label)
        return err_oom(err);
    *strchr(t->label, ':') = '-';
    r = prepare_name(t, err);
    return r == 0 ? output_init(t, err) : r;
}

static void agent_task_free(struct agent_task *t)
{
    prepare_done(t);
    docker_done(t);
    output_done(t);
    resync_forget(t);
    free(t->name);
    free(t->label);
    free(t->socket.path);
    free(t->stop.why_text);
    free(t->memory.cgroup.path);
    free(t);
}

static int agent_tasks_grow(struct agent *a, uint32_t id, struct err *err)
{
    struct agent_task **v;

    if (id >= AGENT_TASKS_TOP)
        return err_set(err, -EPROTO, "task number %u is too large", id);
    if (a->tasks.n == a->tasks.cap) {
        v = reallocarray(a->tasks.v, 2 * a->tasks.cap + 16, sizeof(struct agent_task *));
        if (!v)
            return err_oom(err);
        a->tasks.v = v;
        a->tasks.cap = 2 * a->tasks.cap + 16;
    }
    if (id < a->tasks.n_ids)
        return 0;
    v = reallocarray(a->tasks.by_id, id + 64, sizeof(struct agent_task *));
    if (!v)
        return err_oom(err);
    memset(v + a->tasks.n_ids, 0, (id + 64 - a->tasks.n_ids) * sizeof(struct agent_task *));
    a->tasks.by_id = v;
    a->tasks.n_ids = id + 64;
    return 0;
}

/* A task is known by number and name for the agent's whole life: a number that comes with another
 * name is a master that we do not understand, and the connection ends. */
int agent_task_get(struct agent *a, const Agent__PrepareTask *m, struct agent_task **ret,
                   struct err *err)
{
    struct agent_task *t = agent_task_find(a, m->task);
    int r;

    if (t) {
        *ret = t;
        return str_eq(t->name, m->name) ? 0
                                        : err_set(err, -EPROTO, "task %u is '%s'", t->id, t->name);
    }
    if (!agent_task_good_name(m->name))
        return err_set(err, -EPROTO, "a task has an invalid name");
    r = agent_tasks_grow(a, m->task, err);
    if (r < 0)
        return r;
    t = calloc(1, sizeof(*t));
    if (!t)
        return err_oom(err);
    *t = (struct agent_task){ .agent = a, .id = m->task, .stop.kill_at = LOOP_NEVER };
    t->name = strdup(m->name);
    r = t->name ? agent_task_init(t, err) : err_oom(err);
    if (r < 0) {
        agent_task_free(t);
        return r;
    }
    *ret = a->tasks.by_id[t->id] = a->tasks.v[a->tasks.n++] = t;
    return 0;
}

void agent_tasks_done(struct agent *a)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        agent_task_free(a->tasks.v[i]);
    free(a->tasks.v);
    free(a->tasks.by_id);
}

/* ---- who works for tasks ---- */

void agent_tasks_busy(struct agent *a)
{
    a->tasks.busy++;
}

void agent_tasks_idle(struct agent *a)
{
    a->tasks.busy--;
    cond_wake_all(&a->tasks.quiet);
}
