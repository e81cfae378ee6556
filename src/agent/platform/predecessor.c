/* predecessor.c - an agent that died in this container before us, and what its tasks left.
 *
 * The kernel killed its tasks' processes with it, but not what those had started. They are
 * recognised by the container's id in their environment, which is unique. */
#include "agent/platform/predecessor.h"
#include "agent/agent_private.h"
#include "agent/platform/agent_container.h"
#include "agent/tasks/process_tree.h"
#include "agent/tree_remove.h"
#include "base/log.h"
#include "base/path.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#define END_MS 5000
#define PAUSE_MS 5

static bool predecessor_is_ours(const struct agent *a, pid_t pid, struct tree_proc *ret)
{
    char path[32], mark[128];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return pid > 1 && pid != getpid() && stat(path, &st) == 0 && st.st_uid == geteuid() &&
           tree_look(pid, ret) && ret->state != 'Z' &&
           tree_env(pid, AGENT_CONTAINER_MARK, mark, sizeof(mark)) && str_eq(mark, a->home.id);
}

/* How many were still there. */
static size_t predecessor_kill_all(const struct agent *a)
{
    size_t found = 0;
    struct dirent *e;
    AUTO_DIR DIR *d = opendir("/proc");

    while (d && (e = readdir(d))) {
        struct tree_proc p;

        /* The signal goes to the process that was seen, not to one that got its pid later. */
        if (predecessor_is_ours(a, (pid_t)strtol(e->d_name, NULL, 10), &p)) {
            found++;
            (void)tree_signal(&p, SIGKILL);
        }
    }
    return found;
}

/* Looks again until none is found, since a process may fork while /proc is being read. Only then is
 * the directory of tasks removed, in which the new tasks make sockets of the same names. */
int predecessor_end(struct agent *a, struct err *err)
{
    AUTO_FREE char *tasks = path_join(a->home.own, "tasks");
    int64_t deadline = loop_in(a->loop, END_MS);
    size_t left = 1;

    if (!tasks)
        return err_oom(err);
    if (access(tasks, F_OK) < 0)
        return 0; /* we are the first */
    log_info(LOG_AGENT, "an earlier agent ran in this container: ending what it left");
    while ((left = predecessor_kill_all(a)) > 0 && loop_now(a->loop) < deadline)
        if (fiber_sleep(a->loop, PAUSE_MS) < 0)
            return err_set(err, -ECANCELED, "stopped");
    if (left)
        log_warn(LOG_AGENT, "%zu processes that it left cannot be killed, ignoring", left);
    return remove_tree(a, tasks, err);
}
