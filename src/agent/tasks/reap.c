/* reap.c - who has ended, and what it left behind.
 *
 * We are a child subreaper: a process whose parent dies becomes our child. So when a task's process
 * has ended, whatever it left behind (daemons, double forks, sessions of their own) is found among
 * our children and below them. Each of those is some task's: by YDL_SOCKET in the environment it
 * was started with, or by the session it is in. What cleared both can only belong to a task that
 * was there before it: when none of those is left, it goes too.
 *
 *     ended ──► group killed, status taken ──► look ──► nothing ──► finish_task()
 *                                               ▲  └──► something: killed ──┐
 *                                               └───────── a moment ◄───────┘
 *
 * Nothing was missed when a look finds nothing: a process that forks and dies while we look stays
 * visible as a zombie until we take its status, and then we look again. */
#include "agent/agent_private.h"
#include "base/log.h"
#include "loop/loop.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SWEEP_MS 5       /* between two looks at what does not go away */
#define SWEEP_LIMIT 5000 /* then it is left alone, with a note */
#define SWEEP_SHARE 4    /* a look that took 1 ms is not repeated for 4 ms */

/* ---- processes by number ---- */

static size_t reap_slot_of(const struct agent *a, pid_t pid)
{
    size_t i = ((size_t)pid * 2654435761U) & (a->pids_cap - 1);

    while (a->pids[i] && a->pids[i]->pid != pid)
        i = (i + 1) & (a->pids_cap - 1);
    return i;
}

static struct agent_task *task_of(const struct agent *a, pid_t pid)
{
    return a->pids_cap ? a->pids[reap_slot_of(a, pid)] : NULL;
}

static int reap_grow(struct agent *a)
{
    size_t cap = a->pids_cap ? 2 * a->pids_cap : 64, old = a->pids_cap;
    struct agent_task **was = a->pids, **v = calloc(cap, sizeof(struct agent_task *));

    if (!v)
        return -ENOMEM;
    a->pids = v;
    a->pids_cap = cap;
    for (size_t i = 0; i < old; i++)
        if (was[i])
            v[reap_slot_of(a, was[i]->pid)] = was[i];
    free(was);
    return 0;
}

int reap_watch(struct agent_task *t)
{
    struct agent *a = t->agent;

    if (2 * (a->pids_n + 1) > a->pids_cap && reap_grow(a) < 0)
        return -ENOMEM;
    a->pids[reap_slot_of(a, t->pid)] = t;
    a->pids_n++;
    a->living++;
    return 0;
}

/* Takes it out and moves up what it had pushed on. */
static void unwatch(struct agent *a, struct agent_task *t)
{
    size_t i = reap_slot_of(a, t->pid);

    a->pids[i] = NULL;
    a->pids_n--;
    for (i = (i + 1) & (a->pids_cap - 1); a->pids[i]; i = (i + 1) & (a->pids_cap - 1)) {
        struct agent_task *moved = a->pids[i];

        a->pids[i] = NULL;
        a->pids[reap_slot_of(a, moved->pid)] = moved;
    }
}

static struct helper *helper_of(const struct agent *a, pid_t pid)
{
    struct helper *h = a->helpers;

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
    for (size_t i = 0; i < a->n_tasks; i++)
        if (str_eq(a->tasks[i]->socket, socket))
            return a->tasks[i];
    return NULL;
}

static struct agent_task *by_session(const struct agent *a, pid_t session)
{
    for (size_t i = 0; i < a->n_tasks; i++)
        if (a->tasks[i]->pid == session)
            return a->tasks[i];
    return NULL;
}

struct agent_task *reap_owner(const struct agent *a, const struct tree_proc *p)
{
    const struct tree_proc *top = &a->tree.v[p->top];
    struct agent_task *t = task_of(a, top->pid);

    if (!t)
        t = by_socket(a, top->pid);
    return t ? t : by_session(a, top->session);
}

/* Nobody's, and no task that could have started it runs any more? */
static bool abandoned(const struct agent *a, const struct tree_proc *p)
{
    for (size_t i = 0; i < a->n_tasks; i++)
        if (a->tasks[i]->phase == PHASE_RUNNING && a->tasks[i]->began <= p->start + 1)
            return false;
    return true;
}

/* ---- signals ---- */

/* Running tasks that are not meant need not be looked at, nor our helpers. */
static bool not_meant(void *user, pid_t pid)
{
    const struct agent *a = user;
    const struct agent_task *t = task_of(a, pid);

    return t ? !t->marked : helper_of(a, pid) != NULL;
}

int reap_look(struct agent *a)
{
    return tree_read(&a->tree, getpid(), not_meant, a);
}

/* Is it to get the signal? A task that is over has no processes; what is nobody's is only killed.
 */
static bool meant(const struct agent *a, const struct tree_proc *p, const struct agent_task *t,
                  int signum)
{
    if (!t)
        return signum == SIGKILL && abandoned(a, p);
    return t->marked || (signum == SIGKILL && t->phase == PHASE_IDLE);
}

static void signal_one(struct agent *a, const struct tree_proc *p, int signum)
{
    struct agent_task *t = reap_owner(a, p);

    if (!meant(a, p, t, signum))
        return;
    if (t && t->phase == PHASE_RUNNING && p->group == t->pid)
        return; /* reached with its group */
    /* What is nobody's may be any one's that has just ended. */
    for (size_t i = 0; !t && i < a->n_tasks; i++)
        a->tasks[i]->dirty = true;
    if (t)
        t->dirty = true;
    (void)tree_signal(p, signum);
}

void reap_signal(struct agent *a, int signum)
{
    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        if (!t->marked || t->phase != PHASE_RUNNING)
            continue;
        if (signum == SIGKILL && docker_hang_up(t))
            continue;
        /* Its number is its group's until we take its status. */
        (void)kill(-t->pid, signum);
        if (signum == SIGKILL)
            cgroup_kill(&t->cgroup);
    }
    if (reap_look(a) < 0) {
        agent_break(a, -ENOMEM, "look for processes");
        return;
    }
    for (size_t i = 0; i < a->tree.n; i++)
        signal_one(a, &a->tree.v[i], signum);
}

/* ---- after the end ---- */

static bool have_children(void)
{
    siginfo_t info = { 0 };

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Nothing is found when we have no child left but the tasks that run; that costs nothing to see
 * when none does. */
static void look_for_rest(struct agent *a)
{
    int64_t before = loop_now(a->loop), cost;

    if (!have_children())
        return;
    reap_signal(a, SIGKILL);
    cost = loop_now(a->loop) - before;
    a->sweep_after = loop_now(a->loop) + SWEEP_SHARE * cost;
}

static void plan_sweep(struct agent *a, int64_t in);

static void sweep(struct agent *a)
{
    bool left = false;

    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        t->marked = t->phase == PHASE_SWEEPING && !t->cleaning;
        t->dirty = false;
        if (t->marked)
            cgroup_kill(&t->cgroup);
    }
    look_for_rest(a);
    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        if (!t->marked)
            continue;
        t->marked = false;
        if (t->dirty && loop_now(a->loop) < t->sweep_until) {
            left = true;
            continue;
        }
        if (t->dirty)
            report_note(a, "a process that a task left behind does not go away, ignoring");
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
    int64_t earliest = a->sweep_after - loop_now(a->loop);

    if (earliest > in)
        in = earliest;
    if (!uv_is_active((uv_handle_t *)&a->sweep_timer))
        uv_timer_start(&a->sweep_timer, on_sweep, (uint64_t)in, 0);
}

void reap_sweep_soon(struct agent *a)
{
    plan_sweep(a, 0);
}

static void task_ended(struct agent_task *t)
{
    struct agent *a = t->agent;
    struct rusage use = { 0 };

    /* While it is a zombie its number cannot be another group's. */
    (void)kill(-t->pid, SIGKILL);
    while (wait4(t->pid, &t->status, 0, &use) < 0 && errno == EINTR)
        ;
    if ((uint64_t)use.ru_maxrss * 1024 > t->peak)
        t->peak = (uint64_t)use.ru_maxrss * 1024;
    unwatch(a, t);
    t->phase = PHASE_SWEEPING;
    t->when_ended = loop_wall();
    t->ended = loop_now(a->loop);
    t->asked = t->stopping;
    t->sweep_until = loop_in(a->loop, SWEEP_LIMIT);
    t->kill_at = LOOP_NEVER;
    probe_end(t);
    kvsock_hang_up(t);
    pmi_end(t);
    if (t->image)
        docker_ended(t);
    trace(LOG_AGENT, "%s: process %d ended with status %#x", t->name, (int)t->pid,
          (unsigned)t->status);
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
    if (a->living > a->pids_n) /* some are to be swept */
        plan_sweep(a, 0);
}

int reap_init(struct agent *a, struct err *err)
{
    int r;

    tree_init(&a->tree);
    uv_timer_init(loop_uv(a->loop), &a->sweep_timer);
    a->sweep_timer.data = a;
    uv_signal_init(loop_uv(a->loop), &a->signals[0]);
    a->signals[0].data = a;
    r = uv_signal_start(&a->signals[0], on_child, SIGCHLD);
    return r < 0 ? err_code(err, r, "watch for the end of processes") : 0;
}

bool reap_all(struct agent *a, int64_t deadline)
{
    while (have_children()) {
        if (tree_read(&a->tree, getpid(), NULL, NULL) == 0)
            for (size_t i = 0; i < a->tree.n; i++)
                (void)tree_signal(&a->tree.v[i], SIGKILL);
        if (loop_now(a->loop) >= deadline)
            return false;
        (void)fiber_sleep(a->loop, 1);
        reap_children(a);
    }
    return true;
}

int helper_wait(struct agent *a, struct helper *h, int64_t deadline)
{
    struct helper **at = &a->helpers;
    int r = 0;

    h->next = a->helpers;
    a->helpers = h;
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
