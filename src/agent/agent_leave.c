/* agent_leave.c - the end of an agent: of its tasks, of what they left, and of its own things.
 *
 * Ending what tasks left behind takes seconds and saving takes minutes. A master that hears nothing
 * meanwhile takes the agent for lost and does not wait for what it saves. So a fiber goes on
 * reading: the master's pings are answered, and what tasks wrote can be read. Whatever else it says
 * is too late. */
#include "agent/agent_leave.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/link/fence.h"
#include "agent/link/handshake.h"
#include "agent/link/kv_relay.h"
#include "agent/output/logrotate.h"
#include "agent/output/output_files.h"
#include "agent/output/output_follow.h"
#include "agent/output/tensorboard_mirror.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/measure.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/task_files.h"
#include "agent/tasks/task_start.h"
#include "agent/tasks/task_stop.h"
#include "agent/tree_remove.h"
#include "base/log.h"
#include "base/path.h"

#include <signal.h>
#include <sys/stat.h>

#define END_MS 5000  /* for the kernel to end what was killed */
#define ACK_MS 20000 /* for the master to write down what we saved: HDFS may be away */

/* ---- the master is answered meanwhile ---- */

static void leave_on_acked(struct agent *a)
{
    a->leave.acked = true;
    cond_wake_all(&a->leave.news);
}

/* False when the connection is gone. */
static bool leave_pings_once(struct agent *a)
{
    Agent__ToAgent *m = NULL;
    int r = handshake_next(a, LOOP_NEVER, &m, NULL);

    if (r == -ECANCELED)
        return false;
    if (r <= 0) {
        a->link.channel = channel_close(a->link.channel); /* it is gone: we save all the same */
        return false;
    }
    if (m->body_case == AGENT__TO_AGENT__BODY_PING)
        agent_pong(a, m->ping);
    else if (m->body_case == AGENT__TO_AGENT__BODY_FOLLOW)
        (void)follow_begin(a, m->follow);
    else if (m->body_case == AGENT__TO_AGENT__BODY_SAVED_ACK)
        leave_on_acked(a);
    agent__to_agent__free_unpacked(m, NULL);
    return true;
}

static void leave_pings_run(void *arg)
{
    struct agent *a = arg;

    while (a->link.channel && leave_pings_once(a))
        ;
    a->leave.pings = NULL;
    cond_wake_all(&a->leave.news);
}

void leave_pings_start(struct agent *a)
{
    struct err err = ERR_INIT;

    if (a->link.channel && fiber_start(a->loop, leave_pings_run, a, &a->leave.pings, &err) < 0)
        log_warn(LOG_AGENT, "the master may consider this agent lost: %s", err.text);
}

static void leave_pings_stop(struct agent *a)
{
    if (a->leave.pings)
        fiber_cancel(a->leave.pings);
    while (a->leave.pings)
        (void)cond_wait(a->loop, &a->leave.news, LOOP_NEVER);
}

/* ---- tasks end ---- */

/* New work is refused first (`begun`), then whatever runs beside the tasks is ended, and only then
 * are they waited for. Helpers (unpacking, removing an image's container) are killed with their
 * groups: they are of no use any more, and a fiber that waits for one counts as busy. reap_all()
 * gets what tasks left behind, so the next agent of this container finds none of it. */
void leave_tasks(struct agent *a, int64_t grace)
{
    int64_t deadline = loop_in(a->loop, (grace > 0 ? grace : 0) + END_MS);

    a->leave.begun = true;
    fence_end(a);
    stop_all(a, grace);
    measure_end(a);
    logrotate_end(a);
    tensorboard_mirror_end(a);
    for (struct helper *h = a->reap.helpers; h; h = h->next)
        (void)kill(-h->pid, SIGKILL);
    while ((a->tasks.living || a->tasks.busy) && cond_wait(a->loop, &a->tasks.quiet, deadline) == 0)
        ;
    relay_stop(a);
    if (!reap_all(a, loop_in(a->loop, END_MS)))
        log_error(LOG_AGENT, "some processes cannot be killed");
}

/* ---- what is ours goes ---- */

/* What other agents need is not removed. */
static void remove_own(struct agent *a, bool master_gone)
{
    if (a->dirs.tmp)
        (void)remove_tree(a, a->dirs.tmp, NULL);
    for (size_t i = 0; i < a->tasks.n; i++)
        if (a->tasks.v[i]->prep.out)
            (void)remove_tree(a, a->tasks.v[i]->prep.out, NULL);
    if (a->dirs.out)
        (void)rmdir(a->dirs.out);
    if (a->leave.told)
        output_marks_remove(a);
    a->platform->remove_own(a, master_gone);
}

/* A master that dies before it has written down what we said leaves nobody who knows it, unless our
 * container is still there: then its end, which the next master hears, says it. So we stay until it
 * is written down, or that master is gone. An older one does not tell. */
static void await_ack(struct agent *a)
{
    int64_t deadline = loop_in(a->loop, a->life.signal ? END_MS : ACK_MS);

    if (!a->leave.said || !a->link.welcome->welcome->acks_saved)
        return;
    while (a->leave.pings && !a->leave.acked && cond_wait(a->loop, &a->leave.news, deadline) == 0)
        ;
    a->leave.untold = !a->leave.acked && a->leave.unsaved;
}

/* The master must have heard everything before we go, as nobody else will tell it: reports are
 * flushed and the channel is written out. If that cannot be known, what was not saved counts as
 * untold, and our exit code says so to the NodeManager instead. Pings are answered until the last
 * moment; removing a large directory takes longer than a master waits. */
void leave_clean(struct agent *a, bool master_gone)
{
    a->leave.cleaning = true;
    report_flush(a);
    if (a->link.channel && channel_flush(a->link.channel, loop_in(a->loop, END_MS), NULL) < 0)
        a->leave.untold = a->leave.unsaved;
    if (a->leave.unsaved) /* a master that died while we were blocked is noticed here */
        (void)fiber_sleep(a->loop, 1);
    if (!a->link.channel)
        a->leave.untold = a->leave.unsaved; /* it may not have passed it on */
    for (size_t i = 0; i < a->tasks.n; i++) {
        a->tasks.v[i]->phase = PHASE_IDLE;
        prepare_drop(a->tasks.v[i]);
    }
    remove_end(a);
    files_done(a);
    start_done(a);
    remove_own(a, master_gone);
    await_ack(a);
    leave_pings_stop(a);
    follow_stop(a);
    a->link.channel = channel_close(a->link.channel);
}
