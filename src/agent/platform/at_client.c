/* at_client.c - an agent beside the client, for tasks of a job on YARN that run where the user is.
 *
 *     ydl run ──── a socket that nobody writes to ────► our standard input
 *
 * The client makes something similar to a container for it: a directory with credentials. The agent
 * lives as long as the client: when the socket closes, the client is gone, however it ended. Then
 * everything ends and our directory is removed, since nobody else could do it. */
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/platform/agent_platform.h"
#include "agent/platform/predecessor.h"
#include "agent/platform/task_tokens.h"
#include "agent/platform/yarn_container.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tree_remove.h"
#include "base/log.h"
#include "loop/sock.h"

#include <fcntl.h>
#include <signal.h>

/* ---- the client's life ---- */

/* Any end counts: a byte never comes, so the read returns only when the client has closed the
 * socket or died. It is treated as a SIGHUP, which ends the agent in the usual way. */
static void at_client_watch(void *arg)
{
    struct agent *a = arg;
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    AUTO_SOCK *s = NULL;
    char byte;
    ssize_t n = 1;

    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && sock_from_fd(a->loop, fd, &s, NULL) == 0)
        while (n > 0)
            n = sock_read(s, &byte, 1, LOOP_NEVER);
    if (n == -ECANCELED)
        return;
    log_warn(LOG_AGENT, "the client is gone");
    if (!a->life.signal)
        a->life.signal = SIGHUP;
    fiber_cancel(a->life.main);
}

static int at_client_begin(struct agent *a, struct err *err)
{
    int r = fiber_start(a->loop, at_client_watch, a, NULL, err);

    return r == 0 ? predecessor_end(a, err) : r;
}

/* ---- what tasks get ---- */

static int at_client_env(const struct agent_task *t, struct env *weak, struct env *e)
{
    int r = yarn_container_env(t, weak, e);

    if (r == 0 && t->image.name) /* the user's own home means nothing in an image */
        r = env_set(e, "HOME", t->agent->dirs.tmp);
    if (r < 0 || getenv(TOKEN_FILE)) /* the user has tokens already, and knows why */
        return r;
    return env_set(e, TOKEN_FILE, t->agent->dirs.token_file);
}

/* The client made the directory and may be gone by now. */
static void at_client_remove_own(struct agent *a, bool master_gone)
{
    (void)master_gone;
    (void)remove_tree(a, a->home.own, NULL);
}

const struct agent_platform agent_at_client = {
    .successors = true,
    .saves = true,
    .told_by_rm = true,
    .cluster_fs = true,
    .join = yarn_container_join,
    .done = yarn_container_done,
    .begin = at_client_begin,
    .set_up = yarn_container_set_up,
    .tokens = tokens_replace,
    .env = at_client_env,
    .mounts = yarn_container_mounts,
    .session = yarn_container_session,
    .job_began = yarn_container_job_began,
    .remove_own = at_client_remove_own,
};
