/* resync.c - what a master that takes us back is told: the tasks as they are, and the last end of
 * each. An end is kept as the bytes of its message, from its report until the task is started anew
 * or dropped: a master that died just then may never have heard of it. */
#include "agent/agent_private.h"

#include <string.h>

void resync_keep(struct agent_task *t, const Agent__ExitedTask *end)
{
    size_t n = agent__exited_task__get_packed_size(end);

    resync_forget(t);
    if (t->agent->lease == 0)
        return; /* this master is the only one */
    t->end = malloc(n ? n : 1);
    if (!t->end) {
        agent_break(t->agent, -ENOMEM, "keep a task's end");
        return;
    }
    t->end_len = agent__exited_task__pack(end, t->end);
}

void resync_forget(struct agent_task *t)
{
    free(t->end);
    t->end = NULL;
    t->end_len = 0;
}

void resync_tell(struct agent *a)
{
    for (size_t i = 0; i < a->n_tasks; i++) {
        struct agent_task *t = a->tasks[i];

        if (t->end)
            report_exited_again(a, agent__exited_task__unpack(NULL, t->end_len, t->end));
    }
}

/* ---- in a Hello ---- */

static bool is_held(const struct agent_task *t)
{
    return t->prepared || t->end || t->phase != PHASE_IDLE;
}

static void resync_fill(struct agent_task *t, Agent__HeldTask *m, uint32_t *ports)
{
    agent__held_task__init(m);
    m->task = t->id;
    m->slot = t->slot;
    m->generation = t->generation;
    m->attempt = t->attempt;
    m->pid = t->phase == PHASE_RUNNING ? t->pid : 0;
    m->ready = t->phase == PHASE_RUNNING && t->ready;
    m->ended = t->phase == PHASE_SWEEPING || (t->phase == PHASE_IDLE && t->end);
    m->out_base = t->log_base[0];
    m->err_base = t->log_base[1];
    m->log_began = t->log_began;
    m->out_saved = output_saved(t->agent, t->label, "out");
    m->err_saved = output_saved(t->agent, t->label, "err");
    m->out_size = rotate_size(&t->streams[0].cut);
    m->err_size = rotate_size(&t->streams[1].cut);
    m->ports = ports;
    m->n_ports = t->n_ports;
    for (size_t i = 0; i < t->n_ports; i++)
        ports[i] = t->ports[i].number;
}

struct held {
    Agent__HeldTask task;
    uint32_t ports[AGENT_PORTS_MAX];
};

int resync_hello(const struct agent *a, Agent__Hello *hello)
{
    struct held *all = calloc(a->n_tasks + 1, sizeof(*all));
    Agent__HeldTask **list = calloc(a->n_tasks + 1, sizeof(*list));
    size_t n = 0;

    if (!all || !list) {
        free(all);
        free(list);
        return -ENOMEM;
    }
    list[0] = &all[0].task; /* for resync_hello_done() */
    for (size_t i = 0; i < a->n_tasks; i++) {
        if (!is_held(a->tasks[i]))
            continue;
        resync_fill(a->tasks[i], &all[n].task, all[n].ports);
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
