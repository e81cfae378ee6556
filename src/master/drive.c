/* drive.c - carries out what the engine wants, turn by turn.
 *
 * Everything that happens in one turn of the loop is told to the engine first; then one pass here
 * takes all of its actions, so that they go out in batches. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define RETRY_MS 2000    /* a journal that could not be written */
#define WRITTEN_MS 10000 /* for how the job ended to be in HDFS */

int64_t master_now(const struct master *m)
{
    return m->wall + (loop_now(m->loop) - m->mono);
}

void master_wake(struct master *m)
{
    cond_wake_all(&m->work);
}

/* ---- the platform's side ---- */

static int grow_slots(struct master *m, uint32_t slot, struct err *err)
{
    uint32_t n = m->slots.n ? m->slots.n : 16;
    struct slot_info *v;

    while (n <= slot)
        n *= 2;
    if (n == m->slots.n)
        return 0;
    v = realloc(m->slots.v, n * sizeof(*v));
    if (!v)
        return err_oom(err);
    memset(v + m->slots.n, 0, (n - m->slots.n) * sizeof(*v));
    m->slots.v = v;
    m->slots.n = n;
    return 0;
}

static int set_slot(struct master *m, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n,
                    struct err *err)
{
    struct slot_info *s = &m->slots.v[slot];

    lost_forget(m, slot);
    leaving_forget(m, slot);
    free(take(s->gpus));
    s->n_gpus = 0;
    s->asked = 0;
    s->agent = agent;
    if (n == 0)
        return 0;
    s->gpus = malloc(n * sizeof(*gpus));
    if (!s->gpus)
        return err_oom(err);
    memcpy(s->gpus, gpus, n * sizeof(*gpus));
    s->n_gpus = n;
    return 0;
}

void slots_done(struct slots *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        free(s->v[i].gpus);
        free(s->v[i].lost_why);
    }
    free(s->v);
    *s = (struct slots){ 0 };
}

int drive_set_slot(struct master *m, uint32_t slot, uint32_t agent, struct err *err)
{
    int r = grow_slots(m, slot, err);

    return r < 0 ? r : set_slot(m, slot, agent, NULL, 0, err);
}

/* An agent can serve several slots, as the one beside the client does: then a grant names one that
 * is connected already and says no second Hello, and the engine hears here that the slot's agent
 * is up. For all others agents_tell_slots() says so when they arrive. */
static void on_granted(void *user, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n)
{
    struct master *m = user;
    struct err err = ERR_INIT;
    struct agent_conn *a;
    int r = agents_expect(m, agent, &err);

    if (r == 0)
        r = set_slot(m, slot, agent, gpus, n, &err);
    if (r == 0)
        r = engine_on_granted(m->engine, slot, agent, master_now(m), &err);
    a = agents_get(m, agent);
    if (r == 0)
        (void)agents_container(a); /* it may be gone before its agent says a word */
    if (r == 0 && a->channel)      /* it serves other slots already */
        r = engine_on_agent_up(m->engine, slot, master_now(m), &err);
    if (r < 0)
        master_fault(m, &err);
    master_wake(m);
}

/* The agent ended its container in order: a master has told it to leave, and all is saved. That is
 * as good as a last Saved: an agent whose connection broke while it saved does not dial again, so
 * its exit is all that we hear. It may have been a master before us, which died before it could
 * write down that the slot was given back. */
static void on_left(void *user, uint32_t slot)
{
    struct master *m = user;
    struct agent_conn *a = agents_get(m, m->slots.v[slot].agent);

    if (!a)
        return;
    m->ops->owed->left(m, a->number);
    agents_tell_saved(a, true);
}

/* The store and the hub are told before the engine: engine_on_lost() may ask for a replacement at
 * once, and nothing of the old attempt (a barrier it waits at, a stream that readers follow) may be
 * taken for the new one's. */
void drive_lost(struct master *m, uint32_t slot, enum fail_class cls, const char *text)
{
    struct err err = ERR_INIT;
    uint32_t role, first, n;

    engine_slot(m->engine, slot, &role, &first, &n);
    for (uint32_t i = 0; i < n; i++) {
        kv_forget(m->kv, first + i);
        hub_task_lost(m, first + i);
    }
    (void)set_slot(m, slot, 0, NULL, 0, &err);
    if (engine_on_lost(m->engine, slot, cls, text, master_now(m), &err) < 0)
        master_fault(m, &err);
    master_wake(m);
}

/* The order matters. What the agent did not save is looked up while it still counts as there
 * (agents_unsaved() ignores one that is lost), and the agent is told to leave before it is marked,
 * as nothing is sent to a lost one. An agent with several slots comes here once per slot: only the
 * first time is it told and logged. */
static void on_lost(void *user, uint32_t slot, enum fail_class cls, const char *text)
{
    struct master *m = user;
    struct agent_conn *a = agents_get(m, m->slots.v[slot].agent);

    agents_unsaved(m, m->slots.v[slot].agent, text);
    m->ops->owed->lost(m, m->slots.v[slot].agent, text);
    if (a && !a->lost) {
        agents_leave(m, a->number); /* where only its NodeManager is gone: two would do the same */
        a->lost = true;
        agents_tell(a, "lost");
    }
    if (a) /* one that could not even be started has not said where it is */
        node_faults_node(m, platform_node(m->platform, slot, a->node), cls);
    if (!lost_waits(m, slot, cls, text))
        drive_lost(m, slot, cls, text);
    master_wake(m);
}

static void drive_on_refused(void *user, uint32_t slot, bool here, const char *text)
{
    struct master *m = user;
    struct err err = ERR_INIT;

    m->slots.v[slot].asked = 0;
    if (engine_on_refused(m->engine, slot, here, text, master_now(m), &err) < 0)
        master_fault(m, &err);
    master_wake(m);
}

static void on_leaver(void *user, uint32_t agent, enum platform_left how, const char *text)
{
    agents_leaver_gone(user, agent, how, text);
}

static void on_leaving(void *user, uint32_t slot, int64_t ms, const char *text)
{
    leaving_slot(user, slot, ms, text);
}

static void on_node(void *user, const char *node, bool leaves, int64_t ms)
{
    leaving_node_news(user, node, leaves, ms);
}

static void on_platform_note(void *user, const char *text)
{
    master_note(user, text);
}

static void drive_on_phase(void *user, const char *name, const char *who)
{
    master_phase(user, name, who);
    master_wake(user);
}

/* Everything is taken away: what is left is to say so. */
static void on_over(void *user, const char *text)
{
    struct master *m = user;

    log_warn(LOG_MASTER, "%s", text);
    m->over = true;
    master_wake(m);
}

const struct platform_events drive_platform_events = {
    .on_granted = on_granted,
    .on_refused = drive_on_refused,
    .on_left = on_left,
    .on_lost = on_lost,
    .on_leaver = on_leaver,
    .on_leaving = on_leaving,
    .on_node = on_node,
    .on_note = on_platform_note,
    .on_phase = drive_on_phase,
    .on_over = on_over,
};

/* ---- actions ---- */

/* An ask that the platform turns down at once is told to the engine like one that is refused later,
 * so that there is one path for both. -EALREADY: the platform has this ask and goes on with it. */
static int do_ask(struct master *m, const struct action *a, struct err *err)
{
    uint32_t role, first, n;
    struct err why = ERR_INIT;
    int r = grow_slots(m, a->id, err);

    if (r < 0)
        return r;
    m->slots.v[a->id].asked = master_now(m);
    engine_slot(m->engine, a->id, &role, &first, &n);
    r = m->platform->ops->ask(m->platform, a->id, &m->spec.roles[role], &why);
    if (r < 0 && r != -EALREADY)
        drive_on_refused(m, a->id, !m->platform->ops->apart, why.text);
    return 0;
}

/* Gives a slot back. The Drop goes out before the Shutdown, in the same order as the agent is to
 * obey them. A container whose agent has not said a word yet has nothing to save and nobody to
 * tell, so it is taken back from the platform directly instead of being asked to leave. */
static int do_release(struct master *m, const struct action *a, struct err *err)
{
    const struct platform_ops *ops = m->platform->ops;
    uint32_t role, first, n, agent = a->id < m->slots.n ? m->slots.v[a->id].agent : 0;
    int r = 0;

    engine_slot(m->engine, a->id, &role, &first, &n);
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = outbox_drop(m, first + i, err);
    if (ops->apart && agent && m->spec.roles[role].place == SPEC_PLACE_CLUSTER) {
        outbox_flush(m); /* the client's agent stays */
        agents_leave(m, agent);
        if (agents_get(m, agent) &&
            m->ops->owed->owes(m, agent)) /* a master after us does not know it otherwise */
            agents_tell(agents_get(m, agent), "leaving");
    }
    if (agents_never_here(m, agent))
        platform_take_back(m->platform, a->id);
    else
        ops->release(m->platform, a->id);
    if (a->id < m->slots.n)
        (void)set_slot(m, a->id, 0, NULL, 0, err);
    return r;
}

static int do_prepare(struct master *m, const struct action *a, struct err *err)
{
    struct err why = ERR_INIT;

    m->ops->names->again(m, a->id);
    return outbox_prepare(m, a->id, &why) < 0 ? outbox_fail(m, a->id, &why, err) : 0;
}

/* The names under which tasks are known go first, because the description has them. When no
 * description can be made no generation ever could start, so that the job is aborted and not
 * retried. */
static int do_form(struct master *m, const struct action *a, struct err *err)
{
    int r;

    (void)a;
    m->ops->names->decide(m);
    r = form_generation(m, err);
    if (r < 0) {
        struct err cause = *err;

        log_error(LOG_MASTER, "%s", cause.text);
        return engine_abort(m->engine, MASTER_FAULT_EXIT, cause.text, master_now(m), err);
    }
    return engine_on_formed(m->engine, master_now(m), err);
}

static int do_start(struct master *m, const struct action *a, struct err *err)
{
    struct err why = ERR_INIT;
    int r = form_include(m, a->id, &why);

    if (r == 0)
        r = outbox_start(m, a->id, &why);
    return r < 0 ? outbox_fail(m, a->id, &why, err) : 0;
}

static int do_stop(struct master *m, const struct action *a, struct err *err)
{
    return outbox_stop(m, a->id, a->grace, err);
}

/* The engine has seen the last task end. Two clocks start here: `ask_by` is how long the record of
 * that may take to reach HDFS before agents are asked to save anyway, at most a quarter of
 * `save_time`, so that agents keep the larger part of it; `until` is the end of all saving. */
static int do_end(struct master *m, const struct action *a, struct err *err)
{
    (void)a;
    (void)err;
    if (!m->ops->results_wanted(m) && !publish_wanted(m)) {
        m->ended = true;
        return 0;
    }
    /* Output and results come home first: then whoever waits for the job finds them there. */
    m->save.until = loop_in(m->loop, m->spec.save_time);
    m->save.ask_by =
        loop_in(m->loop, WRITTEN_MS < m->spec.save_time / 4 ? WRITTEN_MS : m->spec.save_time / 4);
    return 0;
}

static void follow_scale(struct master *m)
{
    struct err err = ERR_INIT;

    if (form_follow(m, &err) < 0)
        master_fault(m, &err);
}

static void act_all(struct master *m)
{
    static int (*const act[])(struct master *, const struct action *, struct err *) = {
        [ACTION_ASK] = do_ask,   [ACTION_RELEASE] = do_release, [ACTION_PREPARE] = do_prepare,
        [ACTION_FORM] = do_form, [ACTION_START] = do_start,     [ACTION_STOP] = do_stop,
        [ACTION_END] = do_end,
    };
    struct action a;

    follow_scale(m);
    while (engine_next_action(m->engine, &a)) {
        struct err err = ERR_INIT;

        if (act[a.kind](m, &a, &err) < 0)
            master_fault(m, &err);
    }
    outbox_flush(m);
}

/* Agents leave when they have saved everything. A master after us must know by then that the job
 * has ended, or it takes them for lost: that is in HDFS first, if HDFS is there. */
static void look_for_record(struct master *m)
{
    if (!m->save.ask_by)
        return;
    if (m->save.ask_behind == 0)
        m->save.ask_behind = m->journal.size;
    if (!m->ops->copy->has(m, m->save.ask_behind) && loop_now(m->loop) < m->save.ask_by)
        return;
    m->save.ask_by = 0;
    agents_shutdown(m, 0);
}

static void drive_look_for_end(struct master *m)
{
    if (!m->save.until || m->ended)
        return;
    look_for_record(m);
    m->ended = m->over || (agents_saved(m) && publish_look(m));
    if (m->ended || loop_now(m->loop) < m->save.until)
        return;
    if (!publish_late(m))
        master_unsaved(m, "not everything could be saved in time");
    tell_events(m);
    m->ended = true;
}

/* A time of master_now() as the loop counts it. */
static int64_t on_loop_clock(const struct master *m, int64_t at)
{
    return at == INT64_MAX ? LOOP_NEVER : at - m->wall + m->mono;
}

/* The earliest of everybody's deadlines. Once agents save, the engine, the node list and lost
 * containers have nothing to decide any more; their deadlines would only wake the loop. While the
 * journal holds records that could not be written, it is tried again every RETRY_MS. */
static int64_t next_deadline(const struct master *m)
{
    int64_t a = engine_deadline(m->engine), b = kv_deadline(m->kv), c = node_faults_deadline(m);
    int64_t d = lost_deadline(m), e = m->ops->copy->deadline(m), at = b < e ? b : e;
    int64_t f = leaving_deadline(m);

    if (m->save.until) { /* the store can still be asked, over HTTP */
        int64_t end = m->save.ask_by ? m->save.ask_by : m->save.until;

        at = on_loop_clock(m, at);
        return at < end ? at : end;
    }
    at = a < at ? a : at;
    at = c < at ? c : at;
    at = d < at ? d : at;
    at = f < at ? f : at;
    at = on_loop_clock(m, at);
    return m->journal.held.len > 0 && at > loop_in(m->loop, RETRY_MS) ? loop_in(m->loop, RETRY_MS)
                                                                      : at;
}

static void drive_on_time(struct master *m)
{
    int64_t now = master_now(m);
    struct err err = ERR_INIT;

    if (kv_deadline(m->kv) <= now)
        kv_on_time(m->kv, now);
    m->ops->copy->on_time(m);
    node_faults_on_time(m);
    lost_on_time(m);
    leaving_on_time(m);
    if (engine_deadline(m->engine) <= now && engine_on_time(m->engine, now, &err) < 0)
        master_fault(m, &err);
}

/* One turn:
 *
 *     timers ──► engine ──► actions ──► agents, platform
 *                  └──────► events ───► journal, readers        then sleep until woken or due
 *
 * Events are written after the actions were carried out: what an action reports (a refused ask, a
 * plan that failed) is in the same batch. A negative result means that another master goes on or
 * that this one was given up: then no end is recorded, since only the master that has the job may
 * tell one. */
int drive_job(struct master *m, bool begun, struct err *err)
{
    int r = begun ? 0 : engine_start(m->engine, master_now(m), err);

    while (r == 0) {
        if (m->over && !m->interrupted)
            r = m->ops->given_up(m, err);
        if (r < 0)
            break;
        drive_on_time(m);
        act_all(m);
        tell_events(m);
        drive_look_for_end(m);
        if (m->ended || engine_fault(m->engine, NULL) < 0)
            break;
        r = cond_wait(m->loop, &m->work, next_deadline(m));
        if (r == -ETIMEDOUT)
            r = 0;
        if (r == -ECANCELED && !m->interrupted)
            r = m->ops->on_signal(m, err);
    }
    if (r == 0)
        r = m->ops->right_to_end(m, err);
    if (r == 0) {
        m->ended = true;
        if (!m->over && engine_fault(m->engine, NULL) == 0) {
            agents_tell_lost_results(m);
            m->ops->owed->tell(m);
        }
        tell_end(m);
    }
    cond_wake_all(&m->journal.grown); /* the last record may have come before the end */
    return r;
}
