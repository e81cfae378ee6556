/* tree_remove.c - removes directory trees in another thread: on a slow file system a large one
 * takes longer than the master waits for an answer. */
#include "agent/tree_remove.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/prepare.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/work.h"

struct removing {
    const char *path;
    struct err *err;
};

static int remove_now(void *arg)
{
    const struct removing *x = arg;

    return path_remove(x->path, x->err);
}

int remove_tree(struct agent *a, const char *path, struct err *err)
{
    struct removing x = { path, err };

    return work_run(a->loop, remove_now, &x);
}

/* ---- directories of dropped tasks ---- */

static void remove_work(struct agent_task *t)
{
    AUTO_FREE char *work = prepare_path(t, "work");
    struct err err = ERR_INIT;

    if (work && remove_tree(t->agent, work, &err) < 0)
        log_warn(LOG_AGENT, "%s: %s, ignoring", t->name, err.text);
    t->prep.removing = false;
    cond_wake_all(&t->agent->remover.changed);
}

/* One after the other; others may be dropped meanwhile.
 * Starts over after each pass that found something: a task dropped while a directory was being
 * removed by the thread would otherwise wait for the next drop. */
static void remove_dropped(void *arg)
{
    struct agent *a = arg;
    bool found = true;

    while (found) {
        found = false;
        for (size_t i = 0; i < a->tasks.n; i++) {
            if (!a->tasks.v[i]->prep.removing)
                continue;
            remove_work(a->tasks.v[i]);
            found = true;
        }
    }
    a->remover.fiber = NULL;
    cond_wake_all(&a->remover.changed);
}

void remove_begin(struct agent_task *t)
{
    struct agent *a = t->agent;
    struct err err = ERR_INIT;

    t->prep.removing = true;
    if (a->remover.fiber || fiber_start(a->loop, remove_dropped, a, &a->remover.fiber, &err) == 0)
        return;
    t->prep.removing = false;
    log_warn(LOG_AGENT, "%s: its directory stays: %s", t->name, err.text);
}

int remove_wait(const struct agent_task *t)
{
    int r = 0;

    while (r == 0 && t->prep.removing)
        r = cond_wait(t->agent->loop, &t->agent->remover.changed, LOOP_NEVER); /* a thread's end */
    return r;
}

void remove_end(struct agent *a)
{
    while (a->remover.fiber)
        (void)cond_wait(a->loop, &a->remover.changed, LOOP_NEVER);
}
