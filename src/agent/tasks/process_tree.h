/* process_tree.h - the processes below one process, read from /proc.
 *
 * A snapshot, out of date at once: signals go by pidfd to the very process that was seen, never to
 * one that got its pid later. Where the kernel lists a process's children, only those are read,
 * elsewhere all of /proc. Blocks for microseconds per process. Any thread, one at a time per value.
 */
#pragma once
#include "base/auto.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_proc {
    pid_t pid, parent, group, session;
    size_t top;     /* place of its ancestor (or itself) that is a child of the root */
    uint64_t start; /* when it was started, in ticks since boot */
    uint64_t rss;   /* bytes, shared ones too */
    uint64_t ticks; /* processor time so far, in clock ticks */
    char state;     /* as ps shows it; Z: ended and not reaped */
};

struct tree {
    struct tree_proc *v;
    size_t n, cap;
    bool scan;        /* no lists of children here: look at all processes */
    const char *proc; /* "/proc", but for tests */
};

/* Children of the root to skip, with everything below them. */
typedef bool tree_skip(void *user, pid_t pid);

void tree_init(struct tree *t); /* finds out what this kernel has */
void tree_done(struct tree *t);

/* Reads all processes below `root`, not itself. What was in `t` before is replaced. `skip` may be
 * NULL. -ENOMEM. */
int tree_read(struct tree *t, pid_t root, tree_skip *skip, void *user);

/* Reads one process, all but `top`; false when there is none. */
bool tree_look(pid_t pid, struct tree_proc *ret);

/* Sends a signal to exactly this process; -ESRCH when it has gone. */
int tree_signal(const struct tree_proc *p, int signum);

/* A variable of the environment that the process was started with; false when it is unset or not
 * readable. */
bool tree_env(pid_t pid, const char *name, char *out, size_t cap);

/* Its proportional memory (shared pages divided among their users); 0 when it is not readable.
 * Takes longer for large processes. */
uint64_t tree_pss(pid_t pid);

uint64_t tree_now(void); /* the present time in ticks since boot */

#define AUTO_TREE AUTO_DONE(tree_done) struct tree
