/* reap.h - processes: which task they belong to, signals to them, and their end. Loop thread; a
 * look at processes blocks for microseconds each. */
#pragma once
#include "agent/tasks/process_tree.h"
#include "base/err.h"
#include "loop/fiber.h"
#include <uv.h>

struct agent;
struct agent_task;

struct task_process {
    pid_t pid;              /* also its session and group; 0 before the first start */
    uint64_t began;         /* in ticks since boot */
    int64_t started, ended; /* loop's clock, which nobody sets */
    int64_t when_ended;     /* ms since 1970; 0: not yet */
    int status;             /* as waitpid gives it; docker.c knows better */
    bool asked;             /* it was to end before it did */
    int64_t sweep_until;    /* how long we wait for what it left; loop's clock */
    bool marked; /* meant by reap_signal() or reap_look(): the caller sets and clears it */
    bool dirty;  /* … and seen by it */
};

/* A process of ours that is not a task (tar, docker). */
struct helper {
    pid_t pid;
    int status;
    bool ended;
    struct cond changed;
    struct helper *next;
};

struct agent_reap {
    struct agent_task **pids; /* tasks with a process, by its number: open addressing */
    size_t pids_cap, n_pids;
    struct helper *helpers;
    struct tree tree; /* the last look at processes */
    uv_signal_t child;
    uv_timer_t timer;
    int64_t sweep_after; /* not before: looking at all processes is expensive; loop's clock */
};

int reap_init(struct agent *a, struct err *err);
void reap_done(struct agent *a);       /* after the loop */
int reap_watch(struct agent_task *t);  /* its process was started; -ENOMEM */
void reap_children(struct agent *a);   /* takes the statuses that are there */
void reap_sweep_soon(struct agent *a); /* a task that had to wait may be finished now */
/* Sends a signal to every process of the tasks that are `marked`; with SIGKILL also to processes
 * that cannot be any other task's. Sets `dirty` on tasks of which a process besides the leader was
 * seen. */
void reap_signal(struct agent *a, int signum);
/* Reads the processes of the marked tasks, and those of unknown owners, into reap.tree; -ENOMEM. */
int reap_look(struct agent *a);
/* The task that `p` of reap.tree belongs to; NULL: unknown. */
struct agent_task *reap_owner(const struct agent *a, const struct tree_proc *p);
/* Kills everything below us, whoever owns it; false when something is left at `deadline`.
 * Fibers only. */
bool reap_all(struct agent *a, int64_t deadline);
/* Waits for the process, which it kills at `deadline`: -ETIMEDOUT then. Fibers only. */
int helper_wait(struct agent *a, struct helper *h, int64_t deadline);
