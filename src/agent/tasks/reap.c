/* reap.c - processes that have ended, and what they left behind.
 *
 * We are a child subreaper: a process whose parent dies becomes our child. So when a task's process
 * has ended, whatever it left behind (daemons, double forks, sessions of their own) is found among
 * our children and below them. Each of those is some task's: by YDL_SOCKET in the environment it
 * was started with, or by the session it is in. A process that has cleared both can only belong to
 * a task that was started before it: when all of those have ended, it is killed, too.
 *
 *     ended ──► group killed, status taken ──► look ──► nothing ──► finish_task()
 *                                               ▲  └──► something: killed ──┐
 *                                               └───────── a moment ◄───────┘
 *
 * A look that finds nothing has missed nothing: a process that forks and dies while we look stays
 * visible as a zombie until we reap it, and then we look again. */
#include "agent/tasks/reap.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/socket/kvsock.h"
#include "agent/socket/pmi.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/docker.h"
#include "agent/tasks/finish.h"
#include "agent/tasks/process_tree.h"
#include "agent/tasks/readiness.h"
#include "base/log.h"
#include "loop/loop.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SWEEP_MS 5       /* between two looks at what has not ended */
#define SWEEP_LIMIT 5000 /* then we give up, with a note to the master */
#define SWEEP_SHARE 4    /* a look that took 1 ms is not repeated for 4 ms */

/* ---- processes by number ---- */

/* Open addressing with linear probing; the table is at most half full (reap_watch()), so that a
 * free slot always ends the search. */
static size_t reap_slot_of(const struct agent *a, pid_t pid)
{
    size_t i = ((size_t)pid * 2654435761U) & (a->reap.pids_cap - 1);

    while (a->reap.pids[i] && a->reap.pids[i]->process.pid != pid)
        i = (i + 1) & (a->reap.pids_cap - 1);
    return i;
}

static struct agent_task *task_of(const struct agent *a, pid_t pid)
{
    return a->reap.pids_cap ? a->reap.pids[reap_slot_of(a, pid)] : NULL;
}

static int reap_grow(struct agent *a)
{
    size_t cap = a->reap.pids_cap ? 2 * a->reap.pids_cap : 64, old = a->reap.pids_cap;
    struct agent_task **was = a->reap.pids, **v = calloc(cap, sizeof(struct agent_task *));

    if (!v)
        return -ENOMEM;
    a->reap.pids = v;
    a->reap.pids_cap = cap;
    for (size_t i = 0; i < old; i++)
        if (was[i])
            v[reap_slot_of(a, was[i]->process.pid)] = was[i];
    free(was);
    return 0;
}

int reap_watch(struct agent_task *t)
{
    struct agent *a = t->agent;

    if (2 * (a->reap.n_pids + 1) > a->reap.pids_cap && reap_grow(a) < 0)
        return -ENOMEM;
    a->reap.pids[reap_slot_of(a, t->process.pid)] = t;
    a->reap.n_pids++;
    a->tasks.living++;
    return 0;
}

/* Removes it and moves up the entries that it had displaced. */
static void unwatch(struct agent *a, struct agent_task *t)
{
    size_t i = reap_slot_of(a, t->process.pid);

    a->reap.pids[i] = NULL;
    a->reap.n_pids--;
    for (i = (i + 1) & (a->reap.pids_cap - 1); a->reap.pids[i];
         i = (i + 1) & (a->reap.pids_cap - 1)) {
        struct agent_task *moved = a->reap.pids[i];

        a->reap.pids[i] = NULL;
        a->reap.pids[reap_slot_of(a, moved->process.pid)] = moved;
    }
}

static struct helper *helper_of(const struct agent *a, pid_t pid)
{
    struct helper *h = a->reap.helpers;

    while (h && h->pid != pid)
        h = h->next;
    return h;
}

/* ---- whose is it ---- */

/* The name in "…/tasks/worker-3.sock" is the task's. */
static struct agent_task *by_socket(const struct agent *a, pid_t pid)
{
    char socket[128];

    if (!tree_env(pid, "YDL_SOCKET", socket, sizeof(socket)))
        return NULL;
    for (size_t i = 0; i < a->tasks.n; i++)
        if (str_eq(a->tasks.v[i]->socket.path, socket))
            return a->tasks.v[i];
    return NULL;
}

static struct agent_task *by_session(const struct agent *a, pid_t session)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        if (a->tasks.v[i]->process.pid == session)
            return a->tasks.v[i];
    return NULL;
}

struct agent_task *reap_owner(const struct agent *a, const struct tree_proc *p)
{
    const struct tree_proc *top = &a->reap.tree.v[p->top];
    struct agent_task *t = task_of(a, top->pid);

    if (!t)
        t = by_socket(a, top->pid);
    return t ? t : by_session(a, top->session);
}

/* Is its owner unknown, and has every task that could have started it ended? */
static bool abandoned(const struct agent *a, const struct tree_proc *p)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        if (a->tasks.v[i]->phase == PHASE_RUNNING && a->tasks.v[i]->process.began <= p->start + 1)
            return false;
    return true;
}

/* ---- signals ---- */

/* Skips running tasks that are not marked, and our helpers. */
static bool not_meant(void *user, pid_t pid)
{
    const struct agent *a = user;
    const struct agent_task *t = task_of(a, pid);

    return t ? !t->process.marked : helper_of(a, pid) != NULL;
}

/* One look at everything below us, and each caller decides what is whose: see reap_owner(). */
int reap_look(struct agent *a)
{
    return tree_read(&a->reap.tree, getpid(), not_meant, a);
}

/* Does it get the signal? A task that has ended has no processes of its own; a process of an
 * unknown owner is only ever killed.
 */
static bool meant(const struct agent *a, const struct tree_proc *p, const struct agent_task *t,
                  int signum)
{
    if (!t)
        return signum == SIGKILL && abandoned(a, p);
    return t->process.marked || (signum == SIGKILL && t->phase == PHASE_IDLE);
}

static void signal_one(struct agent *a, const struct tree_proc *p, int signum)
{
    struct agent_task *t = reap_owner(a, p);

    if (!meant(a, p, t, signum))
        return;
    if (t && t->phase == PHASE_RUNNING && p->group == t->process.pid)
        return; /* reached with its group */
    /* A process of an unknown owner may belong to any task that has just ended. */
    for (size_t i = 0; !t && i < a->tasks.n; i++)
        a->tasks.v[i]->process.dirty = true;
    if (t)
        t->process.dirty = true;
    (void)tree_signal(p, signum);
}

/* Twice, because neither alone reaches everything: the task's group by one call, which no fork can
 * escape, and then each process of the tree that has left the group. An image's client is not
 * killed but hung up on, so that its container ends with it (docker.c). */
void reap_signal(struct agent *a, int signum)
{
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (!t->process.marked || t->phase != PHASE_RUNNING)
            continue;
        if (signum == SIGKILL && docker_hang_up(t))
            continue;
        /* Its pid is its group's until we reap it. */
        (void)kill(-t->process.pid, signum);
        if (signum == SIGKILL)
            cgroup_kill(&t->memory.cgroup);
    }
    if (reap_look(a) < 0) {
        agent_break(a, -ENOMEM, "look for processes");
        return;
    }
    for (size_t i = 0; i < a->reap.tree.n; i++)
        signal_one(a, &a->reap.tree.v[i], signum);
}

/* ---- after the end ---- */

static bool have_children(void)
{
    siginfo_t info = { 0 };

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Cheap when we have no child at all: then there is nothing to find.
 * On a machine with ten thousand processes a look at /proc takes long; SWEEP_SHARE keeps looking
 * at most a fifth of the agent's time. */
static void look_for_rest(struct agent *a)
{
    int64_t before = loop_now(a->loop), cost;

    if (!have_children())
        return;
    reap_signal(a, SIGKILL);
    cost = loop_now(a->loop) - before;
    a->reap.sweep_after = loop_now(a->loop) + SWEEP_SHARE * cost;
}

static void plan_sweep(struct agent *a, int64_t in);

/* One look serves all tasks that have ended. A task is finished, and its end reported, when a look
 * found nothing of it; until then its ports and its directory may still be in use. Whose image's
 * container is being removed waits for that (`removing`). */
static void sweep(struct agent *a)
{
    bool left = false;

    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        t->process.marked = t->phase == PHASE_SWEEPING && !t->image.removing;
        t->process.dirty = false;
        if (t->process.marked)
            cgroup_kill(&t->memory.cgroup);
    }
    look_for_rest(a);
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (!t->process.marked)
            continue;
        t->process.marked = false;
        if (t->process.dirty && loop_now(a->loop) < t->process.sweep_until) {
            left = true;
            continue;
        }
        if (t->process.dirty)
            report_note(a, "a process that a task left behind cannot be killed, ignoring");
        finish_task(t);
    }
    if (left)
        plan_sweep(a, SWEEP_MS);
}

static void on_sweep(uv_timer_t *h)
{
    reap_children(h->data); /* what we killed may have gone */
    sweep(h->data);
}

static void plan_sweep(struct agent *a, int64_t in)
{
    int64_t earliest = a->reap.sweep_after - loop_now(a->loop);

    if (earliest > in)
        in = earliest;
    if (!uv_is_active((uv_handle_t *)&a->reap.timer))
        uv_timer_start(&a->reap.timer, on_sweep, (uint64_t)in, 0);
}

void reap_sweep_soon(struct agent *a)
{
    plan_sweep(a, 0);
}

/* The process is still a zombie here: its group is killed first and its status taken after, since
 * the pid is free for others from then on. `asked` is noted now, as a Stop that comes during the
 * sweep is not why it ended. */
static void task_ended(struct agent_task *t)
{
    struct agent *a = t->agent;
    struct rusage use = { 0 };

    /* While it is a zombie, its pid cannot become another group's. */
    (void)kill(-t->process.pid, SIGKILL);
    while (wait4(t->process.pid, &t->process.status, 0, &use) < 0 && errno == EINTR)
        ;
    if ((uint64_t)use.ru_maxrss * 1024 > t->memory.peak)
        t->memory.peak = (uint64_t)use.ru_maxrss * 1024;
    unwatch(a, t);
    t->phase = PHASE_SWEEPING;
    t->process.when_ended = loop_wall();
    t->process.ended = loop_now(a->loop);
    t->process.asked = t->stop.stopping;
    t->process.sweep_until = loop_in(a->loop, SWEEP_LIMIT);
    t->stop.kill_at = LOOP_NEVER;
    probe_end(t);
    kvsock_hang_up(t);
    pmi_end(t);
    if (t->image.name)
        docker_ended(t);
    trace(LOG_AGENT, "%s: process %d ended with status %#x", t->name, (int)t->process.pid,
          (unsigned)t->process.status);
}

static void child_ended(struct agent *a, pid_t pid)
{
    struct agent_task *t = task_of(a, pid);
    struct helper *h = helper_of(a, pid);
    int status = 0;

    if (t) {
        task_ended(t);
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!h)
        return; /* an orphan of some task */
    h->status = status;
    h->ended = true;
    cond_wake_all(&h->changed);
}

/* WNOWAIT leaves each one a zombie until child_ended() has decided whose it is. SIGCHLDs are merged
 * by the kernel, so all that have ended are taken. */
void reap_children(struct agent *a)
{
    siginfo_t info = { 0 };

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        child_ended(a, info.si_pid);
        info.si_pid = 0;
    }
}

static void on_child(uv_signal_t *h, int signum)
{
    struct agent *a = h->data;

    (void)signum;
    reap_children(a);
    if (a->tasks.living > a->reap.n_pids) /* some are to be swept */
        plan_sweep(a, 0);
}

int reap_init(struct agent *a, struct err *err)
{
    int r;

    tree_init(&a->reap.tree);
    uv_timer_init(loop_uv(a->loop), &a->reap.timer);
    a->reap.timer.data = a;
    uv_signal_init(loop_uv(a->loop), &a->reap.child);
    a->reap.child.data = a;
    r = uv_signal_start(&a->reap.child, on_child, SIGCHLD);
    return r < 0 ? err_code(err, r, "watch for the end of processes") : 0;
}

void reap_done(struct agent *a)
{
    free(a->reap.pids);
    tree_done(&a->reap.tree);
}

bool reap_all(struct agent *a, int64_t deadline)
{
    while (have_children()) {
        if (tree_read(&a->reap.tree, getpid(), NULL, NULL) == 0)
            for (size_t i = 0; i < a->reap.tree.n; i++)
                (void)tree_signal(&a->reap.tree.v[i], SIGKILL);
        if (loop_now(a->loop) >= deadline)
            return false;
        (void)fiber_sleep(a->loop, 1);
        reap_children(a);
    }
    return true;
}

/* `h` is on the caller's stack, and reap_children() writes to it: so this does not return before
 * the process has been reaped, even when the caller is cancelled or late. */
int helper_wait(struct agent *a, struct helper *h, int64_t deadline)
{
    struct helper **at = &a->reap.helpers;
    int r = 0;

    h->next = a->reap.helpers;
    a->reap.helpers = h;
    while (r == 0 && !h->ended)
        r = cond_wait(a->loop, &h->changed, deadline);
    if (!h->ended) {
        (void)kill(-h->pid, SIGKILL);
        fiber_shield(a->loop, true);
        while (!h->ended)
            (void)cond_wait(a->loop, &h->changed, LOOP_NEVER);
        fiber_shield(a->loop, false);
    }
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    return r;
}
