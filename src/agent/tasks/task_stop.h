/* task_stop.h - ending tasks: a file and a signal ask them to, then they are killed. Loop thread;
 * never waits. */
#pragma once
#include "job/event.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct agent;
struct agent_task;

struct task_stop {
    bool stopping, killed; /* it was asked to end; it was killed, or is about to be */
    int64_t kill_at;       /* loop's clock; LOOP_NEVER: not planned */
    enum fail_class why;   /* why we end it; FAIL_NONE: for no reason of ours */
    char *why_text;        /* NULL: the class says enough */
    int abort_code;        /* exit code that it asked for (pmi.c); 0: none */
    bool has_file;         /* YDL_STOP is there */
};

struct agent_stop {
    uv_timer_t timer; /* of the next kill */
};

void stop_init(struct agent *a);
/* Asks the tasks to end and kills them after `grace` ms; 0: at once. `deadline`: when that is, in
 * ms since 1970; 0: computed here. */
void stop_tasks(struct agent *a, struct agent_task **tasks, size_t n, int64_t grace,
                int64_t deadline);
void stop_all(struct agent *a, int64_t grace);
/* Ends it at once, for a reason of ours; `text` is copied. The first reason is kept. */
void stop_for(struct agent_task *t, enum fail_class why, const char *text);
/* Sets the reason for its end, unless there is one already; `text` is copied. */
void stop_blame(struct agent_task *t, enum fail_class why, const char *text);
