/* limits.h - limits of memory and of output that nobody else enforces. Loop thread; a look blocks
 * for microseconds per process. */
#pragma once
#include "agent/tasks/cgroup.h"
#include <uv.h>

struct agent;

struct task_memory {      /* bytes */
    uint64_t limit;       /* 0: none */
    bool shared;          /* with the other tasks of its slot */
    uint64_t used, peak;  /* at the last look; the most so far, which reap.c also knows */
    struct cgroup cgroup; /* task_start.c makes it, finish.c removes it */
};

struct agent_limits {
    uv_timer_t timer;
    bool watching;
    struct cgroups cgroups; /* where one can be made */
    uint64_t oom_kills;     /* of the kernel, at the last ping: finish.h */
};

void limits_init(struct agent *a);
void limits_watch(struct agent *a); /* at every start: runs while there is something to watch */
