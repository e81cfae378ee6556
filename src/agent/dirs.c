/* dirs.c - where an agent's things are. In a container of YARN:
 *
 *     WORK/                     the container's own: tasks run here
 *         .ydl/                 0700, ours
 *             tokens            for tasks
 *             tasks/            as in prepare.c
 *             out/worker-3/     YDL_OUT
 *
 * and beside the client the same in the directory that it made, with logs/; elsewhere where the job
 * says, or beside the join file. Logs are YARN's to show and to keep:
 * worker-3.stdout and worker-3.stderr in its log directory. */
#include "agent/agent_private.h"
#include "agent/tasks/link_tree.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/work.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>

#define SHIP "ydl-ship"    /* the archive with what the job brought along */
#define SOCKET_NAME_MAX 70 /* of a task: "/", its label and ".sock" */

/* What sockets of tasks begin with. A container's directory is too long a name for one; through us,
 * whose working directory it is, there is a short one for everybody with our user id. */
static char *socket_dir(const struct agent *a)
{
    const struct agent_container *c = a->container;
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    size_t n = c ? strlen(c->dir) : 0;

    if (!c || strlen(a->tasks_dir) + SOCKET_NAME_MAX <= most || !str_starts(a->tasks_dir, c->dir) ||
        a->tasks_dir[n] != '/')
        return strdup(a->tasks_dir);
    return str_printf("/proc/%d/cwd%s", (int)getpid(), a->tasks_dir + n);
}

static int dirs_name_places(struct agent *a, struct err *err)
{
    const Agent__JobFacts *f = a->facts;
    const struct agent_container *c = a->container;

    if (*f->work_dir)
        a->work_dir = strdup(f->work_dir);
    else
        a->work_dir = c ? strdup(c->own) : path_dir(a->opt->join_file);
    a->tasks_dir = a->work_dir ? path_join(a->work_dir, "tasks") : NULL;
    if (*f->log_dir)
        a->log_dir = strdup(f->log_dir);
    else if (a->work_dir)
        a->log_dir = c ? strdup(c->log_dir) : path_join(a->work_dir, "logs");
    if (!a->tasks_dir || !a->log_dir)
        return err_oom(err);
    a->tmp_dir = str_printf("%s/tmp-%u", a->tasks_dir, a->opt->number);
    a->out_dir = str_printf("%s/out", a->work_dir);
    a->socket_dir = socket_dir(a);
    return a->tmp_dir && a->out_dir && a->socket_dir ? 0 : err_oom(err);
}

struct shipped {
    const char *dir; /* the container's */
    struct err *err;
};

static int spread_ship(void *arg)
{
    const struct shipped *s = arg;
    AUTO_FREE char *ship = path_join(s->dir, SHIP);
    int r;

    if (!ship)
        return err_oom(s->err);
    if (access(ship, F_OK) < 0)
        return 0; /* the job brought nothing along */
    r = spread_tree(ship, s->dir, s->err);
    return r < 0 ? err_wrap(s->err, r, "put the job's files in place") : 0;
}

/* Not before the first Prepare, in a fiber of its own and by another thread: there may be very many
 * files, and the master that has welcomed us wants to be answered. */
int dirs_place_files(struct agent *a, struct err *err)
{
    struct shipped s = { a->container ? a->container->dir : NULL, err };
    int r;

    if (!s.dir || a->container->client)
        return 0; /* everything is where it was */
    while (a->spreading)
        (void)cond_wait(a->loop, &a->spread_now, LOOP_NEVER);
    if (a->spread)
        return 0;
    a->spreading = true;
    r = work_run(a->loop, spread_ship, &s);
    a->spreading = false;
    a->spread = r == 0;
    cond_wake_all(&a->spread_now);
    return r;
}

/* Whoever waits for the end of a job on this machine whose master was killed sees by this lock, in
 * which all its agents share, whether tasks still write. It goes with us, however we end. */
static void share_lock(struct agent *a)
{
    a->log_lock = open(a->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a->log_lock < 0 || flock(a->log_lock, LOCK_SH | LOCK_NB) < 0)
        log_info(LOG_AGENT, "cannot lock '%s', ignoring", a->log_dir);
}

int dirs_set_up(struct agent *a, struct err *err)
{
    int r;

    if (a->work_dir)
        return 0; /* by an earlier welcome */
    r = dirs_name_places(a, err);
    log_set_job(a->facts->job);
    if (r == 0)
        r = path_mkdirs(a->log_dir, 0750, err);
    if (r == 0 && !a->container)
        share_lock(a);
    if (r == 0)
        r = path_mkdirs(a->tmp_dir, 0700, err);
    if (r == 0)
        r = tokens_begin(a, err);
    return r;
}

void dirs_done(struct agent *a)
{
    if (a->log_lock > 0)
        close(a->log_lock);
    free(a->work_dir);
    free(a->tasks_dir);
    free(a->socket_dir);
    free(a->tmp_dir);
    free(a->out_dir);
    free(a->log_dir);
    free(a->token_file);
}
