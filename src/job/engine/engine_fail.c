/* engine_fail.c - how tasks end, what a failure leads to, and which failure is the cause.
 *
 *     a task ends ──► well, or asked to ──► over
 *                 └─► failed ──► remembered ──► judged ──► paid for ──► acted upon
 *     a container goes ─────────────────────────┘             └─► no restarts left: the job ends
 *
 * The earliest failure by its own clock is the story; policy.c judges. Failures that arrive while
 * all tasks are being stopped are judged too, if they happened before the task was asked to stop,
 * but the budget pays only once for all. */
#include "job/engine/engine_private.h"

#define LOSSES_ARE_ONE_MS 5000 /* the containers of a lost node are reported one by one */
#define FAULTS_ARE_ONE_MS 500  /* but what cannot be put in place there may not be anywhere */
/* So often it is tried elsewhere: a node where it failed twice is avoided, so the last time it is
 * another one, and the files are to blame. */
#define FILES_MOVES 2

/* ---- the story ---- */

/* When one worker dies the others fail within moments, and agents report in any order: the time at
 * which a failure happened decides, not that of its report. */
void fail_remember(struct engine *e, const struct failure *f)
{
    char name[ENGINE_NAME_MAX];
    bool earlier = !e->story.set || f->when < e->story.when;

    if (!earlier || (e->state == JOB_FINISHING && !e->by_task))
        return;
    if (failure_set(&e->story, f, engine_task_name(e, f->task, name)) < 0)
        engine_oom(e);
    else if (e->state == JOB_FINISHING)
        e->exit = failure_exit(e->story.cls, e->story.code, e->story.signal);
}

static void engine_fail_tell(struct engine *e, const struct failure *f, const struct judgement *j,
                             int64_t now)
{
    char name[ENGINE_NAME_MAX];
    struct failure own = { 0 };

    if (failure_set(&own, f, engine_task_name(e, f->task, name)) < 0) {
        engine_oom(e);
        return;
    }
    say_failure(e, &own, j, now);
    failure_done(&own);
}

static void end_failed(struct engine *e, const char *reason, int64_t now)
{
    struct ending how = { .final = JOB_FAILED, .by_task = true, .text = reason };

    end_begin(e, &how, now);
}

/* ---- may it start again? ---- */

struct trouble {
    struct failure *f;
    bool gone; /* with its container */
    bool here; /* its agent is new, its container is not: the place is as good as before */
    bool ran;  /* something of the task's was running */
    int64_t lived;
};

/* The job wants its tasks away from where they failed, whatever it was. */
static bool shuns(const struct engine *e, const struct unit *u, const struct trouble *t)
{
    return e->spec->avoid == SPEC_AVOID_ALL && role_of(e, u)->spec->place == SPEC_PLACE_CLUSTER &&
           !t->gone && !t->here && t->f->cls != FAIL_PERSON;
}

static struct policy_verdict verdict(const struct engine *e, const struct unit *u,
                                     const struct trouble *t)
{
    static const struct policy_verdict replace = { POLICY_MOVE, false };
    enum fail_class cls = t->f->cls;
    struct policy_verdict v;

    /* An agent that cannot be started says something about the node, nothing about the task. */
    if (t->gone && cls != FAIL_MEMORY && cls != FAIL_PERSON && cls != FAIL_PREEMPTED &&
        cls != FAIL_IMAGE)
        cls = FAIL_NODE;
    v = policy_verdict(role_of(e, u)->restart.policy, cls, t->f->code);
    if (!policy_covers(&role_of(e, u)->restart, cls, t->f->code))
        v = (struct policy_verdict){ POLICY_FAIL, false };
    if (cls == FAIL_PORT && u->brought)
        v.counted = false; /* the others only have to be told of new ones */
    if ((t->gone || shuns(e, u, t)) && v.action != POLICY_FAIL)
        v.action = POLICY_MOVE;
    if (t->here && v.action == POLICY_MOVE)
        v.action = role_of(e, u)->restart.policy == SPEC_RESTART_GANG ? POLICY_GANG : POLICY_AGAIN;
    /* A task that has not run yet cannot have failed: only its container has to be replaced. */
    if (t->gone && v.action == POLICY_FAIL && cls != FAIL_IMAGE &&
        (!e->ever_started || (role_of(e, u)->side && !t->ran)))
        return replace;
    return v;
}

/* Failures that do not count against the job's restarts. One cause, one payment: a node that goes
 * takes many containers, and each is reported by itself. */
static int afford_loss(struct engine *e, enum fail_class cls, int64_t window, int64_t now)
{
    bool files = cls == FAIL_FILES;

    if (cls == FAIL_PREEMPTED && !e->ever_started)
        return 1; /* that is only waiting */
    if (now - e->last_loss < (files ? FAULTS_ARE_ONE_MS : LOSSES_ARE_ONE_MS))
        return 1;
    e->last_loss = now;
    return files ? budget_use(&e->files, FILES_MOVES, window, now)
                 : budget_use(&e->losses, e->opt.losses_max, window, now);
}

bool fail_afford(struct engine *e, struct unit *u, bool counted, enum fail_class cls, int64_t now)
{
    const struct policy_restart *p = &role_of(e, u)->restart;
    int r;

    if (counted)
        r = budget_use(p->policy == SPEC_RESTART_GANG ? &e->gang : &u->budget, p->max, p->window,
                       now);
    else
        r = afford_loss(e, cls, p->window, now);
    if (r < 0)
        engine_oom(e);
    return r > 0;
}

/* ---- what to do ---- */

/* When a task, or everybody because of it, starts again. */
static int64_t engine_fail_pause_of(const struct engine *e, const struct unit *u, uint8_t *young,
                                    int64_t lived)
{
    int64_t delay = budget_delay(young, lived), least = role_of(e, u)->restart.delay;

    return delay > least ? delay : least;
}

/* Others in that container may be well: they shall not suffer. A task that fails wherever it is
 * tried (every disk is full for a while) is retried less and less often. */
static void move_alone(struct engine *e, struct unit *u, int64_t delay, const char *why,
                       int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];

    if (!slot_has_live(e, s)) {
        slot_release(e, s, now);
        for (uint32_t i = 0; i < role_of(e, u)->procs; i++)
            if (e->units[s->first + i].t.state == TASK_WAITING)
                slot_ask(e, s);
    }
    again_later(e, u, delay, why, now);
    gang_look(e, now);
}

static void engine_fail_move(struct engine *e, struct unit *u, const struct trouble *t, int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];
    bool alone = e->state != JOB_RUNNING || run_alone(e, u) || run_named(e, u);

    if (!t->gone && alone) {
        move_alone(e, u, engine_fail_pause_of(e, u, &u->young, t->lived), t->f->text, now);
        return;
    }
    if (!t->gone && !alone) {
        s->leave = true;
        again_gang(e, "a task must move to another container",
                   engine_fail_pause_of(e, u, &e->young, now - e->formed), now);
        return;
    }
    again_slot(e, s, now);
    if (!alone)
        again_gang(e, "a container was lost", 0, now);
    gang_look(e, now);
}

static void engine_fail_act(struct engine *e, struct unit *u, enum policy_action action,
                            const struct trouble *t, int64_t now)
{
    bool whole = e->state == JOB_RUNNING && !run_alone(e, u);

    if (e->state != JOB_RUNNING)
        gang_spoil(e);
    if (action == POLICY_MOVE) {
        engine_fail_move(e, u, t, now);
        return;
    }
    if (action == POLICY_PORTS)
        run_set_ports(u, NULL, 0); /* and the others have to be told of the new ones */
    if (action == POLICY_GANG || (action == POLICY_PORTS && whole)) {
        if (e->state == JOB_RUNNING) {
            again_gang(e, t->here ? "an agent ended" : "a task failed",
                       engine_fail_pause_of(e, u, &e->young, now - e->formed), now);
            return;
        }
    }
    again_later(e, u, engine_fail_pause_of(e, u, &u->young, t->lived),
                t->here ? t->f->text : "it failed", now);
}

/* A side task's end never matters to the others; with a container all that are in it end. */
void fail_give_up_side(struct engine *e, struct unit *u, bool gone)
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
    run_step(e, role_of(e, u), SPEC_AFTER_FINISHED);
}

static enum policy_action engine_fail_decide(struct engine *e, struct unit *u,
                                             const struct trouble *t, struct policy_verdict v,
                                             int64_t now)
{
    bool side = role_of(e, u)->side;

    if (e->state == JOB_FINISHING)
        return POLICY_NOTHING;
    if (v.action == POLICY_FAIL)
        return POLICY_FAIL;
    if (e->reforming && !side)
        return POLICY_NOTHING; /* it will be started again with all others */
    return fail_afford(e, u, v.counted, t->f->cls, now) ? v.action : POLICY_USED_UP;
}

static void judge_side(struct engine *e, struct unit *u, const struct trouble *t, int64_t now)
{
    struct policy_verdict v = verdict(e, u, t);
    struct judgement j = { engine_fail_decide(e, u, t, v, now), v.counted, t->gone };

    engine_fail_tell(e, t->f, &j, now);
    if (j.then == POLICY_FAIL || j.then == POLICY_USED_UP) {
        fail_give_up_side(e, u, t->gone);
        gang_look(e, now);
    } else if (j.then != POLICY_NOTHING) {
        engine_fail_act(e, u, j.then, t, now);
    }
}

static const char *used_up(bool counted, enum fail_class cls)
{
    if (counted)
        return "it has no restarts left";
    return cls == FAIL_FILES ? "it failed on other nodes too" : "too many containers were lost";
}

static void engine_fail_judge(struct engine *e, struct unit *u, const struct trouble *t,
                              int64_t now)
{
    struct policy_verdict v = verdict(e, u, t);
    struct judgement j = { .gone = t->gone };

    if (role_of(e, u)->side) {
        judge_side(e, u, t, now);
        return;
    }
    j.then = engine_fail_decide(e, u, t, v, now);
    j.counted = v.counted && j.then != POLICY_FAIL && j.then != POLICY_NOTHING;
    engine_fail_tell(e, t->f, &j, now);
    fail_remember(e, t->f);
    if (e->state == JOB_FINISHING)
        return;
    unit_down(e, u, true);
    if (j.then == POLICY_FAIL)
        end_failed(e, NULL, now);
    else if (j.then == POLICY_USED_UP)
        end_failed(e, used_up(v.counted, t->f->cls), now);
    else if (j.then != POLICY_NOTHING)
        engine_fail_act(e, u, j.then, t, now);
}

/* ---- ends ---- */

static void ended_well(struct engine *e, struct unit *u, int64_t now)
{
    if (e->state == JOB_FINISHING || e->reforming)
        return; /* all are being stopped: that code handles every task */
    if (e->slots[u->t.slot].moving)
        return; /* with its container: leaving_look() */
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
                         .lived = end->lived,
                         .text = (char *)end->text, /* copied by its keeper */
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

/* A container that the platform takes back is to blame for what ends in it after it was told to.
 * Others' stops are no failures. */
static bool is_preempted(const struct engine *e, const struct unit *u, const struct failure *f)
{
    return e->slots[u->t.slot].leaving && !e->slots[u->t.slot].moving && !u->retired &&
           e->state != JOB_FINISHING && f->cls != FAIL_NONE && u->t.stopping &&
           f->when >= u->stopped;
}

static void engine_fail_follow(struct engine *e, struct unit *u, const struct trouble *t,
                               int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];

    if (u->retired && !slot_has_live(e, s))
        slot_release(e, s, now);
    if (u->retired || is_preempted(e, u, t->f))
        return; /* what it was part of goes as a whole: leaving_look() */
    if (u->t.state == TASK_DONE || u->again)
        ended_well(e, u, now);
    else
        engine_fail_judge(e, u, t, now);
}

/* Clocks of the day may differ: it cannot have lived for longer than we know of its start. */
static int64_t lived(const struct unit *u, const struct failure *f, int64_t now)
{
    int64_t ms = f->lived > 0 ? f->lived : f->when - u->started;

    if (ms > now - u->started && f->lived <= 0)
        ms = now - u->started;
    return ms > 0 ? ms : 0;
}

static int end_unit(struct engine *e, struct unit *u, struct trouble *t, int64_t now,
                    struct err *err)
{
    struct failure *f = t->f;
    enum task_state next;
    bool well;
    int r;

    /* A failure before the task was asked to end is its own, even if it is reported afterwards. */
    well =
        f->cls == FAIL_NONE || (u->t.stopping && f->when >= u->stopped && !is_preempted(e, u, f));
    r = may_end(e, u, well ? TASK_EV_DONE : TASK_EV_FAIL, &next, err);
    if (r < 0)
        return r == -EALREADY ? 0 : r;
    if (u->untold)
        say_progress(e, u, now);
    timer_set(e, TIMER_STOP, u, NEVER);
    t->ran = unit_live(u);
    t->lived = u->t.state == TASK_RUNNING ? lived(u, f, now) : 0;
    u->t.code = f->code;
    u->t.fail = well ? FAIL_NONE : is_preempted(e, u, f) ? FAIL_PREEMPTED : f->cls;
    unit_set(e, u, next, now);
    engine_fail_follow(e, u, t, now);
    leaving_look(e, &e->slots[u->t.slot], now);
    again_look(e, now);
    end_look(e, now);
    return engine_leave(e, err);
}

int engine_on_ended(struct engine *e, uint32_t task, const struct engine_end *end, int64_t now,
                    struct err *err)
{
    struct failure f;
    struct trouble t = { .f = &f };
    struct unit *u;
    int r = engine_unit_of(e, task, &u, err);

    if (r < 0)
        return r;
    f = failure_of(u, end);
    if (end->asked && u->t.stopping && f.when < u->stopped)
        f.when = u->stopped; /* two clocks, or the same one read twice within a millisecond */
    u->t.results = end->results;
    return end_unit(e, u, &t, now, err);
}

void fail_here(struct engine *e, struct unit *u, const char *text, int64_t now)
{
    struct engine_end end = { .cls = FAIL_NODE, .code = TRY_AGAIN_EXIT, .when = now, .text = text };
    struct failure f = failure_of(u, &end);
    struct trouble t = { .f = &f, .here = true };

    (void)end_unit(e, u, &t, now, NULL); /* what goes wrong is remembered */
}

/* ---- losses ---- */

/* Ended already, when it was told that its container would go. */
static bool went_before(const struct slot *s, const struct unit *u)
{
    return s->leaving && !u->over && u->t.state == TASK_FAILED && u->t.fail == FAIL_PREEMPTED;
}

/* Somebody whom the loss of the container concerns: best one that ran; NULL: nobody. */
static struct unit *concerned(const struct engine *e, const struct slot *s, bool *ret_ran)
{
    struct unit *found = NULL;

    *ret_ran = false;
    for (uint32_t i = 0; i < e->roles[s->role].procs; i++) {
        struct unit *u = &e->units[s->first + i];
        bool pending = u->at[TIMER_RESTART - TIMER_JOB_] != NEVER;

        if ((unit_live(u) && (!u->t.stopping || s->leaving)) || went_before(s, u)) {
            *ret_ran = true;
            return u;
        }
        if (!found && (!task_has_ended(u->t.state) || pending))
            found = u;
    }
    return found;
}

/* One task speaks for the container: its loss is one failure. */
void fail_slot(struct engine *e, struct slot *s, enum fail_class cls, const char *text, int64_t now)
{
    struct trouble t = { .gone = true };
    struct unit *u = concerned(e, s, &t.ran);
    struct failure f = { .when = now, .text = (char *)text };

    if (s->moving) { /* it was about to go anyway */
        leaving_move(e, s, cls, now);
        return;
    }
    if (s->leaving) { /* it was announced */
        cls = FAIL_PREEMPTED;
        f.text = (char *)LEAVING_TEXT;
    }
    f.cls = cls;
    slot_vacate(e, s, cls, now);
    if (!s->retired && e->state != JOB_FINISHING && u) {
        f.task = u->t.id;
        f.code = failure_exit(cls, cls == FAIL_FILES ? 0 : TRY_AGAIN_EXIT, 0);
        f.generation = u->t.generation;
        f.attempt = u->t.attempt;
        t.f = &f;
        if (e->reforming)
            again_slot(e, s, now);
        else
            engine_fail_judge(e, u, &t, now);
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
    resume_settle(e, now);
    gang_look(e, now); /* it may have been the last one that the gang waited for */
    return engine_leave(e, err);
}
