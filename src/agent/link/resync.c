/* resync.c - what a master is told when we reconnect: the state of all tasks, and the last end of
 * each. An end is kept as a packed message until the task is restarted or dropped: a master that
 * died just then may never have seen it. */
#include "agent/link/resync.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/output/export.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/prepare.h"

#include <string.h>

void resync_keep(struct agent_task *t, const Agent__ExitedTask *end)
{
    size_t n = agent__exited_task__get_packed_size(end);

    resync_forget(t);
    if (t->agent->link.lease == 0)
        return; /* this master is the only one */
    t->last_end.packed = malloc(n ? n : 1);
    if (!t->last_end.packed) {
        agent_break(t->agent, -ENOMEM, "keep a task's end");
        return;
    }
    t->last_end.len = agent__exited_task__pack(end, t->last_end.packed);
}

void resync_forget(struct agent_task *t)
{
    free(t->last_end.packed);
    t->last_end.packed = NULL;
    t->last_end.len = 0;
}

void resync_tell(struct agent *a)
{
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct agent_task *t = a->tasks.v[i];

        if (t->last_end.packed)
            report_exited_again(
                a, agent__exited_task__unpack(NULL, t->last_end.len, t->last_end.packed));
    }
}

/* ---- in a Hello ---- */

static bool is_held(const struct agent_task *t)
{
    return t->prep.done || t->last_end.packed || t->phase != PHASE_IDLE;
}

static void resync_fill(struct agent_task *t, Agent__HeldTask *m, uint32_t *ports)
{
    agent__held_task__init(m);
    m->task = t->id;
    m->slot = t->prep.slot;
    m->generation = t->start.generation;
    m->attempt = t->start.attempt;
    m->pid = t->phase == PHASE_RUNNING ? t->process.pid : 0;
    m->ready = t->phase == PHASE_RUNNING && t->readiness.ready;
    m->ended = t->phase == PHASE_SWEEPING || (t->phase == PHASE_IDLE && t->last_end.packed);
    m->out_base = t->output.base[0];
    m->err_base = t->output.base[1];
    m->log_began = t->output.began;
    m->out_saved = output_saved(t->agent, t->label, "out");
    m->err_saved = output_saved(t->agent, t->label, "err");
    m->out_size = rotate_size(&t->output.streams[0].cut);
    m->err_size = rotate_size(&t->output.streams[1].cut);
    m->ports = ports;
    m->n_ports = t->prep.n_ports;
    for (size_t i = 0; i < t->prep.n_ports; i++)
        ports[i] = t->prep.ports[i].number;
}

struct held {
    Agent__HeldTask task;
    uint32_t ports[AGENT_PORTS_MAX];
};

/* Everything a master needs that has never heard of us: which tasks are prepared with which ports,
 * which run, which have ended, and how far their output files go. */
int resync_hello(const struct agent *a, Agent__Hello *hello)
{
    struct held *all = calloc(a->tasks.n + 1, sizeof(*all));
    Agent__HeldTask **list = calloc(a->tasks.n + 1, sizeof(*list));
    size_t n = 0;

    if (!all || !list) {
        free(all);
        free(list);
        return -ENOMEM;
    }
    list[0] = &all[0].task; /* for resync_hello_done() */
    for (size_t i = 0; i < a->tasks.n; i++) {
        if (!is_held(a->tasks.v[i]))
            continue;
        resync_fill(a->tasks.v[i], &all[n].task, all[n].ports);
        list[n] = &all[n].task;
        n++;
    }
    hello->tasks = list;
    hello->n_tasks = n;
    return 0;
}

void resync_hello_done(Agent__Hello *hello)
{
    if (hello->tasks)
        free(hello->tasks[0]); /* the first member of the first of them */
    free(hello->tasks);
    hello->tasks = NULL;
    hello->n_tasks = 0;
}
