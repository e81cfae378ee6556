/* engine_run.c - from prepared to running: the order of starts, and when a role may start. */
#include "job/engine/engine_private.h"

#include <string.h>

void run_prepare(struct engine *e, struct unit *u, enum task_event ev, int64_t now)
{
    unit_over(e, u, false);
    unit_kept(e, u, false);
    u->t.stopping = u->t.results = u->again = false;
    u->t.attempt = u->starts;
    u->t.generation = e->generation;
    u->t.pid = u->t.code = 0;
    u->t.fail = FAIL_NONE;
    unit_do(e, u, ev, now);
    action_add(e, ACTION_PREPARE, u->t.id, 0);
}

bool run_alone(const struct engine *e, const struct unit *u)
{
    return e->opt.elastic || e->opt.rejoins || role_of(e, u)->side;
}

static bool run_moves_alone(const struct engine *e, const struct unit *u)
{
    return e->state == JOB_RUNNING && !e->reforming &&
           role_of(e, u)->restart.policy == SPEC_RESTART_TASK;
}

bool run_named(const struct engine *e, const struct unit *u)
{
    return e->names && run_moves_alone(e, u);
}

bool run_brings_ports(const struct engine *e, const struct unit *u)
{
    return (e->names || e->opt.keeps_ports) && run_moves_alone(e, u);
}

/* The attempt is counted when the order is given, not when the task has started: an agent that does
 * not answer may have started it. What stands in a container that goes as soon as the others in it
 * have ended is started in the next one. */
void run_start(struct engine *e, struct unit *u)
{
    if (e->state != JOB_RUNNING || u->t.state != TASK_READY || u->starting ||
        !role_of(e, u)->open || u->retired || e->slots[u->t.slot].leaving)
        return;
    unit_starting(e, u, true);
    u->t.attempt = u->starts++;
    u->t.generation = e->generation;
    e->ever_started = true;
    action_add(e, ACTION_START, u->t.id, 0);
}

/* ---- which roles may start ---- */

/* Tasks that are over count as everything that they could have become. */
static bool reached(const struct role *r, enum spec_when when)
{
    switch (when) {
    case SPEC_AFTER_STARTED:
        return r->n[TASK_RUNNING] + r->n_over == r->n_tasks;
    case SPEC_AFTER_READY:
        return r->n_ready + r->n_over == r->n_tasks;
    case SPEC_AFTER_FINISHED:
        break;
    }
    return r->n_over == r->n_tasks;
}

static bool may_open(const struct engine *e, const struct role *r)
{
    for (size_t i = 0; i < r->spec->after.n; i++) {
        const struct spec_after *a = &r->spec->after.v[i];

        for (uint32_t k = 0; k < e->n_roles; k++)
            if (str_eq(e->roles[k].spec->name, a->role) && !reached(&e->roles[k], a->when))
                return false;
    }
    return true;
}

void run_open(struct engine *e)
{
    if (e->state != JOB_RUNNING)
        return;
    for (uint32_t i = 0; i < e->n_roles; i++) {
        struct role *r = &e->roles[i];

        if (r->open || !may_open(e, r))
            continue;
        r->open = true;
        for (uint32_t k = 0; k < r->count; k++)
            for (uint32_t p = 0; p < r->procs; p++)
                run_start(e, &e->units[e->slots[r->slots[k]].first + p]);
    }
}

void run_step(struct engine *e, const struct role *r, enum spec_when step)
{
    if (reached(r, step))
        run_open(e);
}

/* ---- what the agents say ---- */

void run_set_ports(struct unit *u, const uint16_t *ports, unsigned n)
{
    if (n > CLUSTER_PORTS_MAX)
        n = CLUSTER_PORTS_MAX;
    if (n > 0)
        memcpy(u->t.port, ports, n * sizeof(*ports));
    u->t.n_ports = (uint16_t)n;
    u->brought = false;
}

bool run_same_ports(const struct task *t, const uint16_t *ports, unsigned n)
{
    return t->n_ports == n && memcmp(t->port, ports, n * sizeof(*ports)) == 0;
}

/* Ports are promised to all tasks in the cluster specification. If one has others than before, only
 * a new generation brings them to the others. */
int engine_on_prepared(struct engine *e, uint32_t task, const uint16_t *ports, unsigned n,
                       int64_t now, struct err *err)
{
    enum task_state next;
    struct unit *u;
    bool moved;
    int r = engine_unit_of(e, task, &u, err);

    if (r < 0)
        return r;
    if (n > CLUSTER_PORTS_MAX)
        return err_set(err, -EINVAL, "task %u holds %u ports, more than %d", task, n,
                       CLUSTER_PORTS_MAX);
    r = job_has_ended(e->state) ? -EALREADY : unit_next(e, u, TASK_EV_PREPARED, &next, err);
    if (r < 0)
        return r == -EALREADY ? 0 : r;
    moved = u->t.n_ports > 0 && !run_same_ports(&u->t, ports, n);
    run_set_ports(u, ports, n);
    unit_set(e, u, next, now);
    if (moved && e->state == JOB_RUNNING && !run_alone(e, u))
        again_gang(e, "a task's ports have changed", 0, now);
    run_start(e, u);
    gang_look(e, now);
    return engine_leave(e, err);
}

int engine_on_started(struct engine *e, uint32_t task, int pid, int64_t now, struct err *err)
{
    char name[ENGINE_NAME_MAX];
    enum task_state next;
    struct unit *u;
    int r = engine_unit_of(e, task, &u, err);

    if (r < 0)
        return r;
    r = job_has_ended(e->state) ? -EALREADY : unit_next(e, u, TASK_EV_STARTED, &next, err);
    if (r < 0)
        return r == -EALREADY ? 0 : r;
    if (!u->starting)
        return err_set(err, -EPROTO, "task '%s': started without being told to",
                       engine_task_name(e, task, name));
    u->t.pid = pid;
    u->started = now;
    if (role_of(e, u)->spec->ready.kind == SPEC_READY_NONE)
        unit_ready(e, u, true);
    unit_set(e, u, next, now);
    if (!u->t.stopping)
        unit_down(e, u, false);
    run_step(e, role_of(e, u), SPEC_AFTER_STARTED);
    return engine_leave(e, err);
}

int engine_on_ready(struct engine *e, uint32_t task, int64_t now, struct err *err)
{
    enum task_state next;
    struct unit *u;
    int r = engine_unit_of(e, task, &u, err);

    if (r < 0)
        return r;
    r = job_has_ended(e->state) ? -EALREADY : unit_next(e, u, TASK_EV_READY, &next, err);
    if (r < 0)
        return r == -EALREADY ? 0 : r;
    if (u->t.ready)
        return 0;
    unit_ready(e, u, true);
    say_ready(e, u, now);
    run_step(e, role_of(e, u), SPEC_AFTER_READY);
    return engine_leave(e, err);
}
