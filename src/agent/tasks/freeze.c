/* freeze.c - see freeze.h. No cgroup is needed, which an agent may not make everywhere: SIGSTOP
 * cannot be caught, and a process that has got it makes no further child. So once a look finds
 * nothing that runs, nothing does. */
#include "agent/tasks/freeze.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/process_tree.h"
#include "base/log.h"
#include "loop/fiber.h"

#include <signal.h>
#include <string.h>

#define LOOKS_MAX 200 /* one that waits for a disk stops when that has answered */
#define LOOK_PAUSE_MS 2

/* A helper of ours, or the client of an image's container. */
static bool is_exempt(void *user, pid_t pid)
{
    const struct agent *a = user;

    for (const struct helper *h = a->reap.helpers; h; h = h->next)
        if (h->pid == pid)
            return true;
    for (size_t i = 0; i < a->tasks.n; i++)
        if (a->tasks.v[i]->process.pid == pid && a->tasks.v[i]->image.name &&
            a->tasks.v[i]->phase == PHASE_RUNNING)
            return true;
    return false;
}

static bool is_stopped(const struct tree_proc *p)
{
    return p->state == 'T' || p->state == 't';
}

/* Its first thread at least: others may run on, and are stopped with it. */
static bool is_ended(const struct tree_proc *p)
{
    return p->state == 'Z' || p->state == 'X';
}

static bool was_stopped_before(const struct agent_freeze *f, const struct tree_proc *p)
{
    for (size_t i = 0; i < f->n_others; i++)
        if (f->others[i].pid == p->pid && f->others[i].start == p->start)
            return true;
    return false;
}

/* Without memory for it they go on with the tasks. */
static void note_others(struct agent_freeze *f, const struct tree *t)
{
    free(f->others);
    f->n_others = 0;
    f->others = calloc(t->n + 1, sizeof(*f->others));
    for (size_t i = 0; f->others && i < t->n; i++)
        if (is_stopped(&t->v[i]))
            f->others[f->n_others++] = t->v[i];
}

/* How many were not stopped yet. */
static size_t stop_once(struct agent *a, struct tree *t, bool first)
{
    size_t n = 0;

    if (tree_read(t, getpid(), is_exempt, a) < 0) {
        agent_break(a, -ENOMEM, "look for processes");
        return 0;
    }
    if (first)
        note_others(&a->freeze, t);
    for (size_t i = 0; i < t->n; i++) {
        if (is_stopped(&t->v[i]))
            continue;
        (void)tree_signal(&t->v[i], SIGSTOP);
        n += !is_ended(&t->v[i]);
    }
    return n;
}

void freeze_tasks(struct agent *a)
{
    AUTO_TREE t = { 0 };
    size_t left;

    tree_init(&t);
    a->freeze.wanted = true;
    left = stop_once(a, &t, true);
    for (int i = 0; left > 0 && i < LOOKS_MAX; i++) {
        if (fiber_sleep(a->loop, LOOK_PAUSE_MS) < 0 || !a->freeze.wanted)
            break;
        left = stop_once(a, &t, false);
    }
    if (left > 0 && a->freeze.wanted)
        log_warn(LOG_AGENT, "%zu processes have not stopped yet, ignoring", left);
}

/* To all, also one that has not stopped yet: the signal takes back the one before. */
void thaw_tasks(struct agent *a)
{
    AUTO_TREE t = { 0 };

    a->freeze.wanted = false;
    tree_init(&t);
    if (tree_read(&t, getpid(), is_exempt, a) < 0) {
        agent_break(a, -ENOMEM, "look for processes");
        return;
    }
    for (size_t i = 0; i < t.n; i++)
        if (!was_stopped_before(&a->freeze, &t.v[i]))
            (void)tree_signal(&t.v[i], SIGCONT);
}

void freeze_done(struct agent *a)
{
    free(a->freeze.others);
    a->freeze = (struct agent_freeze){ 0 };
}
