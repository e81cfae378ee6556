/* engine_fail.c - how tasks end, what a failure leads to, and whose story is told.
 *
 * A failure is first remembered (the earliest by its own clock is the story), then judged by the
 * table in policy.c, then paid for from a budget, then acted upon. What arrives while everybody is
 * being stopped is judged too, if it happened before we asked the task to stop; but only once for
 * all does the budget pay. */
#include "job/engine_private.h"

#define LOSSES_ARE_ONE_MS 5000 /* a node takes its containers along one by one */

/* ---- the story ---- */

static void remember(struct engine *e, struct unit *u, const struct failure *f, bool counted,
                     int64_t now)
{
    char name[ENGINE_NAME_MAX];
    struct failure own = { 0 };
    bool earlier = !e->story.set || f->when < e->story.when;

    if (failure_set(&own, f, engine_task_name(e, u->t.id, name)) < 0) {
        engine_oom(e);
        return;
    }
    say_failure(e, EVENT_FAILURE, &own, counted, now);
    if (earlier && (e->state != JOB_FINISHING || e->by_task)) {
        failure_done(&e->story);
        e->story = own;
    } else {
        failure_done(&own);
    }
    if (e->state == JOB_FINISHING && e->by_task)
        e->exit = failure_exit(e->story.cls, e->story.code, e->story.signal);
}

static void end_failed(struct engine *e, const char *reason, int64_t now)
{
    struct ending how = { .final = JOB_FAILED, .by_task = true, .text = reason };

    end_begin(e, &how, now);
}

/* ---- may it start again? ---- */

struct trouble {
    const struct failure *f;
    bool gone; /* with its container */
    bool ran;  /* something of the task's was running */
    int64_t lived;
};

static struct policy_verdict verdict(const struct engine *e, const struct unit *u,
                                     const struct trouble *t)
{
    static const struct policy_verdict replace = { POLICY_MOVE, false };
    enum fail_class cls = t->f->cls;
    struct policy_verdict v;

    /* An agent that cannot be started says something about the node, nothing about the task. */
    if (t->gone && cls != FAIL_MEMORY && cls != FAIL_PERSON && cls != FAIL_PREEMPTED)
        cls = FAIL_NODE;
    v = policy_verdict(role_of(e, u)->restart.policy, cls, t->f->code);
    if (t->gone && v.action != POLICY_FAIL)
        v.action = POLICY_MOVE;
    /* What has not run yet cannot have failed: only its container has to be replaced. */
    if (t->gone && v.action == POLICY_FAIL &&
        (!e->ever_started || (role_of(e, u)->side && !t->ran)))
        return replace;
    return v;
}

static bool afford(struct engine *e, struct unit *u, struct policy_verdict v, enum fail_class cls,
                   int64_t now)
{
    const struct policy_restart *p = &role_of(e, u)->restart;
    int r;

    if (v.counted) {
        r = budget_use(p->policy == SPEC_RESTART_GANG ? &e->gang : &u->budget, p->max, p->window,
                       now);
    } else {
        if (cls == FAIL_PREEMPTED && !e->ever_started)
            return true; /* that is only waiting */
        if (now - e->last_loss < LOSSES_ARE_ONE_MS)
            return true;
        e->last_loss = now;
        r = budget_use(&e->losses, e->opt.losses_max, p->window, now);
    }
    if (r < 0)
        engine_oom(e);
    return r > 0;
}

/* ---- what to do ---- */

static bool slot_has_live(const struct engine *e, const struct slot *s)
{
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++)
        if (unit_live(&e->units[s->first + i]))
            return true;
    return false;
}

static void move(struct engine *e, struct unit *u, const struct trouble *t, int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];
    bool alone = e->state != JOB_RUNNING || run_alone(e, u);

    if (!t->gone && alone && slot_has_live(e, s)) {
        /* Others in that container are well: they shall not suffer. */
        again_later(e, u, budget_delay(&u->young, t->lived), t->f->text, now);
        return;
    }
    if (!t->gone && !alone) {
        s->leave = true;
        again_gang(e, "a task has to move", budget_delay(&e->young, now - e->formed), now);
        return;
    }
    if (!t->gone)
        slot_release(e, s, now);
    again_slot(e, s, now);
    if (!alone)
        again_gang(e, "a container was lost", 0, now);
    gang_look(e, now);
}

static void act(struct engine *e, struct unit *u, enum policy_action action,
                const struct trouble *t, int64_t now)
{
    bool whole = e->state == JOB_RUNNING && !run_alone(e, u);

    if (e->state != JOB_RUNNING)
        gang_spoil(e);
    if (action == POLICY_MOVE) {
        move(e, u, t, now);
        return;
    }
    if (action == POLICY_PORTS)
        u->t.n_ports = 0; /* and the others have to be told of the new ones */
    if (action == POLICY_GANG || (action == POLICY_PORTS && whole)) {
        if (e->state == JOB_RUNNING) {
            again_gang(e, "a task failed", budget_delay(&e->young, now - e->formed), now);
            return;
        }
    }
    again_later(e, u, budget_delay(&u->young, t->lived), "it failed", now);
}

/* A side task's end never matters to the others; with a container all that are in it end. */
static void give_up_side(struct engine *e, struct unit *u, bool gone, int64_t now)
{
    const struct slot *s = &e->slots[u->t.slot];

    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *one = &e->units[s->first + i];

        if ((one != u && !gone) || one->over)
            continue;
        unit_over(e, one, true);
        if (e->state != JOB_RUNNING && !e->reforming)
            unit_kept(e, one, true); /* the gang forms without it */
    }
    gang_look(e, now);
    run_step(e, role_of(e, u), SPEC_AFTER_FINISHED);
}

static void judge_side(struct engine *e, struct unit *u, const struct trouble *t, int64_t now)
{
    struct policy_verdict v = verdict(e, u, t);
    char name[ENGINE_NAME_MAX];
    struct failure own = { 0 };

    if (failure_set(&own, t->f, engine_task_name(e, u->t.id, name)) < 0) {
        engine_oom(e);
        return;
    }
    say_failure(e, EVENT_FAILURE, &own, v.counted, now);
    failure_done(&own);
    if (e->state == JOB_FINISHING)
        return;
    if (v.action == POLICY_FAIL || !afford(e, u, v, t->f->cls, now))
        give_up_side(e, u, t->gone, now);
    else
        act(e, u, v.action, t, now);
}

static void judge(struct engine *e, struct unit *u, const struct trouble *t, int64_t now)
{
    struct policy_verdict v = verdict(e, u, t);
    bool late = e->state == JOB_FINISHING || e->reforming;

    if (role_of(e, u)->side) {
        judge_side(e, u, t, now);
        return;
    }
    remember(e, u, t->f, v.counted && v.action != POLICY_FAIL && !late, now);
    if (e->state == JOB_FINISHING)
        return;
    unit_down(e, u, true);
    if (v.action == POLICY_FAIL)
        end_failed(e, NULL, now);
    else if (e->reforming)
        return; /* it will be started again with all others */
    else if (!afford(e, u, v, t->f->cls, now))
        end_failed(e, v.counted ? "its restarts are used up" : "too many containers were lost",
                   now);
    else
        act(e, u, v.action, t, now);
}

/* ---- ends ---- */

void fail_or_not(struct engine *e, int64_t now)
{
    static const struct ending how = { .final = JOB_SUCCEEDED };

    if (e->state == JOB_RUNNING && e->n_undecided == 0)
        end_begin(e, &how, now);
}

static void ended_well(struct engine *e, struct unit *u, int64_t now)
{
    if (e->state == JOB_FINISHING || e->reforming)
        return; /* everybody is being stopped: whoever does it looks after all of them */
    if (u->again) {
        again_unit(e, u, now);
        return;
    }
    unit_over(e, u, true);
    unit_down(e, u, false);
    fail_or_not(e, now);
    run_step(e, role_of(e, u), SPEC_AFTER_FINISHED);
}

static struct failure failure_of(const struct unit *u, const struct engine_end *end)
{
    struct failure f = { .task = u->t.id,
                         .cls = end->cls,
                         .code = end->signal > 0 ? 128 + end->signal : end->code,
                         .signal = end->signal,
                         .generation = u->t.generation,
                         .attempt = u->t.attempt,
                         .when = end->when,
                         .text = (char *)end->text, /* copied by whoever keeps it */
                         .lines = (char *)end->lines };

    if (f.cls == FAIL_NONE && f.signal > 0)
        f.cls = FAIL_SIGNAL;
    else if (f.cls == FAIL_NONE && f.code != 0)
        f.cls = FAIL_EXIT;
    else if (f.cls == FAIL_EXIT && f.code == 0)
        f.cls = FAIL_NONE;
    return f;
}

static int may_end(const struct engine *e, const struct unit *u, enum task_event ev,
                   enum task_state *ret, struct err *err)
{
    char name[ENGINE_NAME_MAX];
    int r = job_has_ended(e->state) ? -EALREADY : unit_next(e, u, ev, ret, err);

    if (r == 0 && u->t.state == TASK_READY && !u->starting && ev == TASK_EV_DONE)
        return err_set(err, -EPROTO, "task '%s': ended without having been started",
                       engine_task_name(e, u->t.id, name));
    return r;
}

int engine_on_ended(struct engine *e, uint32_t task, const struct engine_end *end, int64_t now,
                    struct err *err)
{
    enum task_state next;
    struct unit *u;
    struct failure f;
    struct trouble t = { .f = &f };
    bool well;
    int r = engine_unit_of(e, task, &u, err);

    if (r < 0)
        return r;
    f = failure_of(u, end);
    /* What happened before we asked it to end was its own doing, though we hear it afterwards. */
    well = f.cls == FAIL_NONE || (u->t.stopping && end->when >= u->stopped);
    r = may_end(e, u, well ? TASK_EV_DONE : TASK_EV_FAIL, &next, err);
    if (r < 0)
        return r == -EALREADY ? 0 : r;
    if (u->untold)
        say_progress(e, u, now);
    timer_set(e, TIMER_STOP, u, NEVER);
    t.ran = unit_live(u);
    t.lived = u->t.state == TASK_RUNNING ? end->when - u->started : 0;
    u->t.code = f.code;
    u->t.fail = well ? FAIL_NONE : f.cls;
    unit_set(e, u, next, now);
    if (u->t.retired && !slot_has_live(e, &e->slots[u->t.slot]))
        slot_release(e, &e->slots[u->t.slot], now);
    else if (!u->t.retired && (well || u->again))
        ended_well(e, u, now);
    else if (!u->t.retired)
        judge(e, u, &t, now);
    again_look(e, now);
    end_look(e, now);
    return engine_leave(e, err);
}

/* ---- losses ---- */

/* Somebody whom the loss of the container concerns: best one that ran; NULL: nobody. */
static struct unit *concerned(const struct engine *e, const struct slot *s, bool *ret_ran)
{
    struct unit *found = NULL;

    *ret_ran = false;
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];
        bool pending = u->at[TIMER_RESTART - TIMER_JOB_] != NEVER;

        if (unit_live(u) && !u->t.stopping) {
            *ret_ran = true;
            return u;
        }
        if (!found && (!task_has_ended(u->t.state) || pending))
            found = u;
    }
    return found;
}

void fail_slot(struct engine *e, struct slot *s, enum fail_class cls, const char *text, int64_t now)
{
    struct trouble t = { .gone = true };
    struct unit *u = concerned(e, s, &t.ran);
    struct failure f = { .cls = cls, .when = now, .text = (char *)text };

    slot_vacate(e, s, cls, now);
    if (!s->retired && e->state != JOB_FINISHING && u) {
        f.task = u->t.id;
        f.code = failure_exit(cls, TRY_AGAIN_EXIT, 0);
        f.generation = u->t.generation;
        f.attempt = u->t.attempt;
        t.f = &f;
        if (e->reforming)
            again_slot(e, s, now);
        else
            judge(e, u, &t, now);
        gang_look(e, now);
    }
    again_look(e, now);
    end_look(e, now);
}

int engine_on_lost(struct engine *e, uint32_t slot, enum fail_class cls, const char *text,
                   int64_t now, struct err *err)
{
    struct slot *s;
    int r = engine_slot_of(e, slot, &s, err);

    if (r < 0)
        return r;
    if (cls <= FAIL_NONE || cls >= FAIL_CLASSES_)
        return err_set(err, -EINVAL, "container %u lost: %d is no reason", slot, (int)cls);
    if (job_has_ended(e->state) || s->state == SLOT_IDLE || s->state == SLOT_ASKED)
        return 0;
    fail_slot(e, s, cls, text, now);
    return engine_leave(e, err);
}
