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
#include "agent/dirs.h"
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

/* What the paths of tasks' sockets begin with. A container's directory is too long for the path of
 * a socket; /proc/PID/cwd of ours leads there too, for every process of our user. */
static char *socket_dir(const struct agent *a)
{
    const char *dir = a->home.dir;
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    size_t n = dir ? strlen(dir) : 0;

    if (!dir || strlen(a->dirs.tasks) + SOCKET_NAME_MAX <= most ||
        !str_starts(a->dirs.tasks, dir) || a->dirs.tasks[n] != '/')
        return strdup(a->dirs.tasks);
    return str_printf("/proc/%d/cwd%s", (int)getpid(), a->dirs.tasks + n);
}

/* The master's Welcome decides where it says something; else the platform's home does. On one
 * machine several agents share `tasks`, so that TMPDIR carries the agent's number. */
static int dirs_name_places(struct agent *a, struct err *err)
{
    const Agent__JobFacts *f = a->facts;

    a->dirs.work = strdup(*f->work_dir ? f->work_dir : a->home.own);
    a->dirs.tasks = a->dirs.work ? path_join(a->dirs.work, "tasks") : NULL;
    if (*f->log_dir)
        a->dirs.log = strdup(f->log_dir);
    else if (a->dirs.work)
        a->dirs.log = a->home.log ? strdup(a->home.log) : path_join(a->dirs.work, "logs");
    if (!a->dirs.tasks || !a->dirs.log)
        return err_oom(err);
    a->dirs.tmp = str_printf("%s/tmp-%u", a->dirs.tasks, a->opt->number);
    a->dirs.out = str_printf("%s/out", a->dirs.work);
    a->dirs.sockets = socket_dir(a);
    return a->dirs.tmp && a->dirs.out && a->dirs.sockets ? 0 : err_oom(err);
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
 * files, and the master's pings must be answered meanwhile. */
int dirs_place_files(struct agent *a, struct err *err)
{
    struct shipped s = { a->home.dir, err };
    int r;

    if (!a->platform->unpacks)
        return 0; /* everything is where it was */
    while (a->dirs.spreading)
        (void)cond_wait(a->loop, &a->dirs.spread_changed, LOOP_NEVER);
    if (a->dirs.spread)
        return 0;
    a->dirs.spreading = true;
    r = work_run(a->loop, spread_ship, &s);
    a->dirs.spreading = false;
    a->dirs.spread = r == 0;
    cond_wake_all(&a->dirs.spread_changed);
    return r;
}

int dirs_set_up(struct agent *a, struct err *err)
{
    int r;

    if (a->dirs.work)
        return 0; /* by an earlier welcome */
    r = dirs_name_places(a, err);
    log_set_job(a->facts->job);
    if (r == 0)
        r = path_mkdirs(a->dirs.log, 0750, err);
    if (r == 0)
        r = path_mkdirs(a->dirs.tmp, 0700, err);
    if (r == 0)
        r = a->platform->set_up(a, err);
    return r;
}

void dirs_done(struct agent *a)
{
    if (a->dirs.log_lock > 0)
        close(a->dirs.log_lock);
    free(a->dirs.work);
    free(a->dirs.tasks);
    free(a->dirs.sockets);
    free(a->dirs.tmp);
    free(a->dirs.out);
    free(a->dirs.log);
    free(a->dirs.token_file);
    free(a->dirs.conf);
}
