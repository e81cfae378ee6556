/* engine_commands.c - what a person wants of a job: stop, kill, restart, scale; a move is in
 * engine_leaving.c. Each is checked,
 * written down, and done, in this order: a master that takes over repeats what was asked for
 * (engine_restore.c). */
#include "job/engine/engine_private.h"

static int not_ended(const struct engine *e, struct err *err)
{
    int r = engine_enter(e, err);

    if (r == 0 && job_has_ended(e->state))
        r = err_set(err, -EALREADY, "the job has ended: %s", job_state_name(e->state));
    return r;
}

int engine_is_running(const struct engine *e, struct err *err)
{
    int r = not_ended(e, err);

    if (r == 0 && e->state == JOB_FINISHING)
        return err_set(err, -EALREADY, "the job is ending");
    if (r == 0 && e->state != JOB_RUNNING) {
        r = err_set(err, -EBUSY, "the job is %s", job_state_name(e->state));
        err_hint(err, "try again when it is RUNNING");
    }
    return r;
}

/* ---- the end ---- */

static void end_by(struct engine *e, const char *what, const char *who, int64_t now)
{
    AUTO_FREE char *text = str_printf("%s by %s", what, who ? who : "a person");
    struct ending how = { .final = JOB_KILLED, .exit = PERSON_EXIT, .text = text };

    if (!text)
        engine_oom(e);
    else
        end_begin(e, &how, now);
}

void engine_set_grace(struct engine *e, int64_t ms)
{
    e->grace = ms < 0 ? 0 : ms;
}

/* The first one asks the tasks to end, and gives them the grace; the second does not wait for
 * it. */
int engine_stop(struct engine *e, const char *who, int64_t now, struct err *err)
{
    int r = not_ended(e, err);

    if (r < 0)
        return r;
    say_request(e, "stop", NULL, who, now);
    e->stops++;
    if (e->state != JOB_FINISHING)
        end_by(e, "stopped", who, now);
    else if (e->stops > 1)
        end_kill_rest(e, now);
    return engine_leave(e, err);
}

int engine_kill(struct engine *e, const char *who, int64_t now, struct err *err)
{
    int r = not_ended(e, err);

    if (r < 0)
        return r;
    say_request(e, "kill", NULL, who, now);
    e->grace = 0;
    if (e->state != JOB_FINISHING)
        end_by(e, "killed", who, now);
    else
        end_kill_rest(e, now);
    return engine_leave(e, err);
}

int engine_abort(struct engine *e, int exit, const char *text, int64_t now, struct err *err)
{
    struct ending how = { .final = JOB_FAILED, .exit = exit, .text = text };
    int r = not_ended(e, err);

    if (r < 0)
        return r;
    if (e->state == JOB_FINISHING)
        say_note(e, "warning", text, now); /* how it ends was decided before */
    else
        end_begin(e, &how, now);
    return engine_leave(e, err);
}

/* ---- restart ---- */

static int restart_task(struct engine *e, struct unit *u, const char *who, int64_t now,
                        struct err *err)
{
    char name[ENGINE_NAME_MAX];

    (void)engine_task_name(e, u->t.id, name);
    if (u->retired)
        return err_set(err, -ENOENT, "there is no task '%s' any more", name);
    if (!unit_live(u) && !task_has_ended(u->t.state))
        return err_set(err, -EBUSY, "task '%s' is %s: it has not started yet", name,
                       task_state_name(u->t.state));
    say_request(e, "restart", name, who, now);
    if (u->again)
        return 0;
    say_restart(e, u, 0, "asked for", now);
    if (!unit_live(u) && !run_alone(e, u) && !run_named(e, u) &&
        e->slots[u->t.slot].state != SLOT_UP) {
        again_gang(e, "a task must move to another container", 0, now);
        return 0;
    }
    if (!unit_live(u)) {
        again_unit(e, u, now);
        return 0;
    }
    u->again = true;
    again_stop(e, u, e->grace, now);
    return 0;
}

int engine_restart(struct engine *e, uint32_t task, const char *who, int64_t now, struct err *err)
{
    struct unit *u;
    int r = engine_is_running(e, err);

    if (r < 0)
        return r;
    if (task == UINT32_MAX) {
        say_request(e, "restart", NULL, who, now);
        again_gang(e, "asked for", 0, now);
        return engine_leave(e, err);
    }
    r = engine_unit_of(e, task, &u, err);
    if (r == 0)
        r = restart_task(e, u, who, now, err);
    return r < 0 ? r : engine_leave(e, err);
}

/* ---- scale ---- */

static int engine_commands_find_role(const struct engine *e, const char *name, struct role **ret,
                                     struct err *err)
{
    const char *names[SPEC_ROLES_MAX];
    const char *near;
    uint32_t n = 0;

    for (; n < e->n_roles && n < SPEC_ROLES_MAX; n++) {
        names[n] = e->roles[n].spec->name;
        if (str_eq(names[n], name)) {
            *ret = &e->roles[n];
            return 0;
        }
    }
    near = str_nearest(name, names, n);
    (void)err_set(err, -ENOENT, "there is no role '%s'", name);
    if (near)
        err_hint(err, "did you mean '%s'?", near);
    return -ENOENT;
}

/* Tasks that know each other's addresses can only be told of a new size by starting again. */
static int may_scale(const struct engine *e, const struct role *r, unsigned count, struct err *err)
{
    if (count == 0 && r->decides)
        return err_set(err, -EINVAL, "'%s' decides the job's success and cannot be scaled to 0",
                       r->spec->name);
    if (!e->opt.elastic && !r->side && r->restart.policy != SPEC_RESTART_GANG) {
        (void)err_set(err, -EOPNOTSUPP,
                      "the tasks of this job know each other's addresses: its size cannot change");
        err_hint(err, "a job run with --restart gang can be scaled: all its tasks start again");
        return -EOPNOTSUPP;
    }
    for (uint32_t i = r->count; i < r->n_slots && i < count; i++)
        for (uint32_t k = 0; k < r->procs; k++)
            if (unit_live(&e->units[e->slots[r->slots[i]].first + k]))
                return err_set(err, -EBUSY, "task '%s:%u' is still being stopped", r->spec->name,
                               i * r->procs + k);
    return 0;
}

static void retire_slot(struct engine *e, struct slot *s, int64_t now)
{
    bool live = false;

    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];

        timer_set(e, TIMER_RESTART, u, NEVER);
        unit_retire(e, u);
        again_stop(e, u, e->grace, now);
        live = live || unit_live(u);
    }
    slot_retire(e, s);
    if (!live)
        slot_release(e, s, now);
}

static void scale_up(struct engine *e, struct role *r, uint32_t count, int64_t now)
{
    uint32_t before = r->count;

    engine_join(e, r, count);
    for (uint32_t i = before; i < count; i++) {
        struct slot *s = &e->slots[r->slots[i]];

        again_slot(e, s, now);
    }
}

static void scale_down(struct engine *e, struct role *r, uint32_t count, int64_t now)
{
    while (r->count > count) {
        r->count--;
        retire_slot(e, &e->slots[r->slots[r->count]], now);
    }
}

void person_scale(struct engine *e, struct role *r, uint32_t count, int64_t now)
{
    if (count > r->count)
        scale_up(e, r, count, now);
    else
        scale_down(e, r, count, now);
}

int engine_scale(struct engine *e, const char *role, unsigned count, const char *who, int64_t now,
                 struct err *err)
{
    struct role *r = NULL;
    int k = engine_is_running(e, err);

    if (k == 0)
        k = engine_commands_find_role(e, role, &r, err);
    if (k != 0)
        return k;
    if (count == r->count)
        return 0;
    k = may_scale(e, r, count, err);
    if (k < 0)
        return k;
    k = engine_add_slots(e, r, count);
    if (k < 0)
        return k == -E2BIG ? err_set(err, k, "more than %d tasks", SPEC_TASKS_MAX) : err_oom(err);
    say_scale(e, r, count, who, now);
    person_scale(e, r, count, now);
    if (!e->opt.elastic && !r->side)
        again_gang(e, "scaled", 0, now);
    fail_or_not(e, now);
    run_open(e);
    return engine_leave(e, err);
}
