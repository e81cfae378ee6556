/* cgroup.h - a cgroup (version 2) for a task with a memory limit, where we may create one.
 *
 * Searches the hierarchy from our own cgroup upwards for one that delegates the memory controller
 * and that we may write to. On most machines a plain user has none; then limits.c alone enforces
 * the limit. Blocks for microseconds. Loop thread only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Where cgroups can be made. */
struct cgroups {
    char *base; /* NULL: nowhere */
    bool looked;
};

/* One task's. */
struct cgroup {
    char *path; /* NULL: none */
};

void cgroups_done(struct cgroups *g);

/* Creates one with a limit in bytes; false when that is not possible. The first call looks for a
 * place below `mount` ("/sys/fs/cgroup"), `self` being our own cgroup as a path ("/user.slice/…").
 */
bool cgroup_make(struct cgroups *g, const char *mount, const char *self, const char *name,
                 uint64_t limit, struct cgroup *ret);
int cgroup_procs(const struct cgroup *c); /* a descriptor for spawn.h, the caller's; or -1 */
uint64_t cgroup_oom_kills(const struct cgroup *c);
uint64_t cgroup_peak(const struct cgroup *c); /* bytes; 0: unknown */
/* Kills what is in it, and removes it when it is empty. */
void cgroup_kill(const struct cgroup *c);
void cgroup_remove(struct cgroup *c);

/* Our own cgroup's path in the version 2 hierarchy, or NULL; the caller's. */
char *cgroup_self(void);
