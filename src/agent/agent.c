/* agent.c - the agent's life: connects to the master, obeys it, ends everything and leaves. */
#include "agent/agent.h"
#include "agent/agent_leave.h"
#include "agent/agent_private.h"
#include "agent/container_gpus.h"
#include "agent/dirs.h"
#include "agent/link/agent_report.h"
#include "agent/link/fence.h"
#include "agent/link/handshake.h"
#include "agent/link/join.h"
#include "agent/link/kv_relay.h"
#include "agent/link/master_lookup.h"
#include "agent/link/peer_owner.h"
#include "agent/link/reconnect.h"
#include "agent/output/export.h"
#include "agent/output/output_follow.h"
#include "agent/platform/agent_platform.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/finish.h"
#include "agent/tasks/freeze.h"
#include "agent/tasks/limits.h"
#include "agent/tasks/measure.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/process_tree.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/signal_forward.h"
#include "agent/tasks/spawn.h"
#include "agent/tasks/task_start.h"
#include "agent/tasks/task_stop.h"
#include "base/log.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#define RESIDENT_MAX (3 * MIB) /* above this, pages of code that ran once are released */
#define LOST_GRACE 2000        /* for tasks whose master is gone */
#define SILENT_BEATS 4         /* heartbeats that may fail to come */
#define SILENT_MIN 3000
#define READ_MS 50

/* For faults deep in a callback that has nobody to return an error to: the first one is kept, the
 * main fiber is woken with -ECANCELED, and from there the agent ends its tasks and leaves. Running
 * on without memory would lose reports that the master counts on. */
void agent_break(struct agent *a, int code, const char *what)
{
    if (a->life.broken)
        return;
    a->life.broken = code;
    snprintf(a->life.why, sizeof(a->life.why), "%s", what);
    fiber_cancel(a->life.main);
}

/* ---- signals ---- */

static void agent_on_signal(uv_signal_t *h, int signum)
{
    struct agent *a = h->data;

    if (!a->life.signal)
        a->life.signal = signum;
    fiber_cancel(a->life.main); /* again and again is fine: cleaning up is shielded */
}

static int agent_watch_signals(struct agent *a, struct err *err)
{
    static const int wanted[] = { SIGTERM, SIGINT, SIGHUP };

    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        int r;

        uv_signal_init(loop_uv(a->loop), &a->life.signals[i]);
        a->life.signals[i].data = a;
        r = uv_signal_start(&a->life.signals[i], agent_on_signal, wanted[i]);
        if (r < 0)
            return err_code(err, r, "watch for signals");
    }
    return 0;
}

/* ---- obeying ---- */

static uint64_t own_memory(void)
{
    struct tree_proc p;

    return tree_look(getpid(), &p) ? p.rss : 0;
}

/* The kernel's count of out-of-memory kills is taken at each ping: a task that dies by SIGKILL
 * later is blamed on memory only if the count has gone up since (finish.c). */
void agent_pong(struct agent *a, const Agent__Ping *ping)
{
    Agent__Pong pong = AGENT__PONG__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    a->link.last_ping = loop_now(a->loop);
    a->limits.oom_kills = finish_oom_kills();
    pong.seq = ping->seq;
    pong.rss = own_memory();
    pong.tasks = (uint32_t)a->tasks.living;
    m.pong = &pong;
    m.body_case = AGENT__TO_MASTER__BODY_PONG;
    (void)report_send(a, &m);
    fence_on_ping(a, ping);
    lookup_newer(a, ping->alone_ms);
    if (pong.rss > RESIDENT_MAX && !a->link.join.path)
        handshake_forget_code();
}

static int stop_named(struct agent *a, const Agent__Stop *m, struct err *err)
{
    AUTO_FREE struct agent_task **v = calloc(m->n_tasks + 1, sizeof(struct agent_task *));
    size_t n = 0;

    if (!v)
        return err_oom(err);
    for (size_t i = 0; i < m->n_tasks; i++) {
        v[n] = agent_task_find(a, m->tasks[i]);
        n += v[n] != NULL;
    }
    stop_tasks(a, v, n, m->grace_ms, m->deadline);
    return 0;
}

static void drop_named(struct agent *a, const Agent__Drop *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        struct agent_task *t = agent_task_find(a, m->tasks[i]);

        if (t)
            prepare_drop(t);
    }
}

/* Takes ownership of `m`. Returns 1 for the last message. */
static int obey(struct agent *a, Agent__ToAgent *m, struct err *err)
{
    int r = 0;

    switch (m->body_case) {
    case AGENT__TO_AGENT__BODY_PREPARE:
        return prepare_begin(a, m, err);
    case AGENT__TO_AGENT__BODY_START:
        return start_begin(a, m, err);
    case AGENT__TO_AGENT__BODY_STOP:
        r = stop_named(a, m->stop, err);
        break;
    case AGENT__TO_AGENT__BODY_DROP:
        drop_named(a, m->drop);
        break;
    case AGENT__TO_AGENT__BODY_FOLLOW:
        r = follow_begin(a, m->follow) < 0 ? err_oom(err) : 0;
        break;
    case AGENT__TO_AGENT__BODY_KV:
        relay_answer(a, m->kv);
        break;
    case AGENT__TO_AGENT__BODY_PING:
        agent_pong(a, m->ping);
        break;
    case AGENT__TO_AGENT__BODY_MEASURE:
        measure_begin(a, m->measure);
        break;
    case AGENT__TO_AGENT__BODY_SIGNAL:
        signal_forward(a, m->signal);
        break;
    case AGENT__TO_AGENT__BODY_WHOSE:
        peer_owner_answer(a, m->whose);
        break;
    case AGENT__TO_AGENT__BODY_TOKENS:
        if (a->platform->tokens)
            a->platform->tokens(a, m->tokens);
        break;
    case AGENT__TO_AGENT__BODY_SHUTDOWN:
        a->leave.told = true;
        a->leave.grace = m->shutdown->grace_ms;
        a->leave.job_failed = m->shutdown->failed;
        a->leave.spared = m->shutdown->spared;
        a->leave.save_ms = m->shutdown->save_ms;
        r = 1;
        break;
    default: /* of a newer master */
        trace(LOG_AGENT, "unknown message of kind %d, ignoring", (int)m->body_case);
    }
    agent__to_agent__free_unpacked(m, NULL);
    return r;
}

/* How long a master may be silent before it counts as lost. With a lease there is still time to
 * look for another one; it may also just be slow. */
static int64_t agent_silence(const struct agent *a)
{
    int64_t beats = (int64_t)SILENT_BEATS * a->link.heartbeat;

    if (beats < SILENT_MIN)
        beats = SILENT_MIN;
    return beats < a->link.lease / 2 ? beats : a->link.lease / 2;
}

/* Returns 1 when the master says to leave, or an error when it is gone or a signal came. */
static int obey_all(struct agent *a, struct err *err)
{
    int r = 0;

    while (r == 0) {
        int64_t deadline = LOOP_NEVER, soon = loop_in(a->loop, READ_MS);
        Agent__ToAgent *m = NULL;

        if (a->link.lease > 0)
            deadline = a->link.last_ping + agent_silence(a);
        /* After the whole machine was suspended, there may be pings that were not read yet. */
        r = handshake_next(a, deadline < soon ? soon : deadline, &m, err);
        if (r == 0)
            return err_set(err, -ECONNRESET,
                           a->lookup.superseded                   ? "another master has replaced it"
                           : a->lookup.cut_off || a->fence.frozen ? "this node is cut off"
                                                                  : "the master is gone");
        r = r > 0 ? obey(a, m, err) : r;
    }
    if (r == -ETIMEDOUT)
        return err_set(err, r, "the master has said nothing for %lld s",
                       (long long)(loop_now(a->loop) - a->link.last_ping) / 1000);
    return r;
}

/* ---- a life ---- */

/* Does the lease still allow a lost master to come back? */
static bool agent_may_wait(const struct agent *a, int r)
{
    return r < 0 && a->link.lease > 0 && loop_now(a->loop) < a->link.last_ping + a->link.lease &&
           !a->life.signal && !a->life.broken && !a->lookup.cut_off && r != -EPROTO && r != -ENOMEM;
}

/* A lost connection is no reason to end tasks while the lease lasts:
 *
 *     reconnect_first() ──► obey_all() ──► 1: told to leave
 *                             ▲   └──► error, lease left ──► reconnect_again() ──┐
 *                             └──────────────────────────────────────────────────┘ */
static int agent_serve(struct agent *a, struct err *err)
{
    int r = a->platform->begin ? a->platform->begin(a, err) : 0;

    if (r == 0)
        r = reconnect_first(a, err);
    while (r == 0) {
        r = obey_all(a, err);
        if (agent_may_wait(a, r))
            r = reconnect_again(a, err);
    }
    return r;
}

/* Whoever sends SIGTERM may kill us a moment later, and only we can end what tasks have started. */
static int64_t grace_of(const struct agent *a)
{
    if (a->life.signal && a->platform->signal_grace)
        return a->platform->signal_grace;
    if (a->link.refused) /* their replacements may run */
        return 0;
    return a->leave.told ? a->leave.grace : LOST_GRACE;
}

/* The end, in this order whatever the reason: shielded first, so that a second signal does not cut
 * it short; then pings are answered by a fiber of their own; tasks end before anything is saved, as
 * they could still write; and what is ours goes last. With a fault of our own (`broken`) nothing is
 * saved: what we know may be wrong. */
static int live(void *arg)
{
    struct agent *a = arg;
    int r;

    a->life.main = fiber_self(a->loop);
    r = agent_serve(a, a->life.err);
    fiber_shield(a->loop, true);
    leave_pings_start(a);
    leave_tasks(a, grace_of(a));
    if (a->leave.told && !a->life.signal && !a->life.broken)
        export_all(a, false);
    else if (a->platform->saves_lost && a->dirs.work && !a->life.broken)
        export_all(a, true); /* the tasks' output exists only here */
    leave_clean(a, r < 0);
    fiber_shield(a->loop, false);
    return r;
}

/* ---- all of it ---- */

static void close_handles(struct agent *a)
{
    uv_handle_t *const all[] = {
        (uv_handle_t *)&a->life.signals[0], (uv_handle_t *)&a->life.signals[1],
        (uv_handle_t *)&a->life.signals[2], (uv_handle_t *)&a->reap.child,
        (uv_handle_t *)&a->reap.timer,      (uv_handle_t *)&a->stop.timer,
        (uv_handle_t *)&a->limits.timer,
    };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]->data && !uv_is_closing(all[i]))
            uv_close(all[i], NULL);
}

static void agent_done(struct agent *a)
{
    close_handles(a);
    a->loop = loop_free(a->loop); /* whatever fibers there are end here */
    gpus_done(a);
    agent_tasks_done(a);
    reap_done(a);
    freeze_done(a);
    report_free(a);
    free(a->link.relay);
    spawner_free(a->spawner);
    cgroups_done(&a->limits.cgroups);
    join_done(&a->link.join);
    if (a->link.welcome)
        agent__to_agent__free_unpacked(a->link.welcome, NULL);
    dirs_done(a);
    a->platform->done(a);
}

/* The spawner comes before the loop: it notes how signals and limits were when we were started, and
 * the loop changes them. umask() cannot be read without setting it. */
static int agent_set_up(struct agent *a, struct err *err)
{
    int r;

    r = spawner_new(&a->spawner, err);
    if (r == 0)
        r = loop_new(&a->loop, err);
    if (r < 0)
        return r;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_sys(err, "become a subreaper");
    stop_init(a);
    limits_init(a);
    a->dirs.umask = umask(0);
    (void)umask(a->dirs.umask);
    r = reap_init(a, err);
    if (r == 0)
        r = agent_watch_signals(a, err);
    return r == 0 ? report_init(a, err) : r;
}

const struct agent_platform *agent_platform_of(const struct agent_options *o)
{
    return o->client ? &agent_at_client : o->container ? &agent_on_yarn : &agent_on_machine;
}

/* The exit code is for the supervisor and the NodeManager: 128 + signal, a negative errno,
 * AGENT_UNSAVED when the master could not be told that something was not saved, or 0 when it told
 * us to leave. */
int agent_run(const struct agent_options *o, struct err *err)
{
    struct agent a = { .opt = o, .platform = agent_platform_of(o), .life.err = err };
    int r = a.platform->join(&a, err);

    if (r == 0)
        r = agent_set_up(&a, err);
    if (r == 0)
        r = loop_run(a.loop, live, &a, false);
    if (a.life.signal)
        r = 128 + a.life.signal;
    else if (a.life.broken)
        r = err_set(err, a.life.broken, "the agent cannot go on: %s", a.life.why);
    else if (r > 0)
        r = a.leave.untold ? AGENT_UNSAVED : 0; /* told to leave */
    agent_done(&a);
    return r;
}
