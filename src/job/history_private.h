/* history_private.h - what history.c fills and history_json.c shows. */
#pragma once
#include "job/agent_log.h"
#include "job/engine/engine.h"
#include "job/history.h"

struct history_task {
    enum task_state state;
    bool ready, reported;
    int64_t generation, attempt, agent, pid, code; /* agent: -1 when it has none */
    int64_t since, step, total;
    int64_t first_step, first_at, last_at; /* progress of this attempt, for the time left */
    enum fail_class cls;
    json_t *ports, *metrics;
};

struct history_role {
    json_t *name;
    uint32_t count, procs;
    bool decides, side;
    struct history_task *tasks; /* by rank; count × procs of them count */
    uint32_t n_tasks;
};

/* Texts are JSON strings, shared with the line that they came in; NULL: not said. */
struct history {
    json_t *job, *name, *user, *platform, *framework, *reason, *whose, *story, *unsaved, *published;
    json_t *missing; /* sentences about output that is not known to be saved */
    int64_t n_missing;
    enum job_state state;
    bool summing; /* a summary is being read */
    int64_t generation, restarts;
    int64_t created, started, ended; /* -1: not yet */
    int64_t exit;                    /* -1: not yet */
    struct history_role *roles;
    uint32_t n_roles;
    struct agent_log agents;
};

static inline uint32_t history_n_tasks(const struct history_role *r)
{
    uint32_t n = r->count * r->procs;

    return n < r->n_tasks ? n : r->n_tasks;
}
