/* agent_tasks.h - a task of the agent, and the table of all of them.
 *
 * A task is made of parts. Each is declared in the header of the file that changes it; others read
 * it. A task stays in memory from its first Prepare until the agent leaves, so that fibers and
 * timers may hold on to it. Loop thread; nothing here blocks. */
#pragma once
#include "agent/link/resync.h"
#include "agent/output/output_files.h"
#include "agent/socket/kvsock.h"
#include "agent/tasks/docker.h"
#include "agent/tasks/limits.h"
#include "agent/tasks/measure.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/readiness.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/task_start.h"
#include "agent/tasks/task_stop.h"
#include "loop/fiber.h"

#define AGENT_TASKS_TOP 65536 /* no job has a task of this number */

enum task_phase {
    PHASE_IDLE,     /* not started, or its end was reported */
    PHASE_STARTING, /* a Start was received, its turn has not come */
    PHASE_RUNNING,
    PHASE_SWEEPING, /* its process has ended, processes that it left are being ended */
};

struct agent_task {
    struct agent *agent;
    uint32_t id;
    enum task_phase phase; /* task_start.c, reap.c, finish.c */
    char *name, *label;    /* "worker:3"; the same as a file name: "worker-3" */

    struct task_prep prep;
    struct task_image image;
    struct task_socket socket;
    struct task_output output;
    struct task_start start;
    struct task_process process;
    struct task_readiness readiness;
    struct task_stop stop;
    struct task_memory memory;
    struct task_usage usage;
    struct task_last_end last_end;
};

struct agent_tasks {
    struct agent_task **v; /* all of them */
    size_t n, cap;
    struct agent_task **by_id; /* the same by their numbers; NULL: none of that number */
    size_t n_ids;
    size_t living;     /* that are RUNNING or SWEEPING: reap.c, finish.c */
    size_t busy;       /* fibers that work for tasks: agent_tasks_busy() */
    struct cond quiet; /* both have become 0 */
};

struct agent_task *agent_task_find(const struct agent *a, uint32_t id); /* NULL: not known */
/* The task of this number and name, created when it does not exist. */
int agent_task_get(struct agent *a, const Agent__PrepareTask *m, struct agent_task **ret,
                   struct err *err);
void agent_tasks_done(struct agent *a); /* frees all of them */

/* A fiber that the agent must wait for when it leaves starts, and ends. */
void agent_tasks_busy(struct agent *a);
void agent_tasks_idle(struct agent *a);
