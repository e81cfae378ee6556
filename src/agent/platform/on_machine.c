/* on_machine.c - an agent of a job on this machine, or on machines that someone else manages.
 *
 * It joins by a file, whose directory it shares with the job's other agents and with the master.
 * Output stays where it is; HDFS is only needed when a result goes there. */
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/link/join.h"
#include "agent/platform/agent_platform.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tree_remove.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "hadoop/session/session.h"
#include "platform/local/local_access.h"
#include "platform/local/local_jobs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int on_machine_join(struct agent *a, struct err *err)
{
    int r = join_read(a->opt->join_file, &a->link.join, err);

    if (r < 0)
        return r;
    a->home.own = path_dir(a->opt->join_file);
    return a->home.own ? 0 : err_oom(err);
}

static void on_machine_done(struct agent *a)
{
    free((char *)a->home.own);
    a->home.own = NULL;
}

/* All agents of a job share this lock: if the master was killed, whoever waits for the job's end
 * sees by it whether tasks still write. The kernel drops it when we end. */
static int on_machine_lock_logs(struct agent *a, struct err *err)
{
    (void)err;
    a->dirs.log_lock = open(a->dirs.log, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a->dirs.log_lock < 0 || flock(a->dirs.log_lock, LOCK_SH | LOCK_NB) < 0)
        log_info(LOG_AGENT, "cannot lock '%s', ignoring", a->dirs.log);
    return 0;
}

/* ---- what tasks get ---- */

static int on_machine_env(const struct agent_task *t, struct env *weak, struct env *e)
{
    (void)weak; /* the job's variables begin with the user's */
    /* The user's own home means nothing in an image. */
    return t->image.name ? env_set(e, "HOME", t->agent->dirs.tmp) : 0;
}

static int on_machine_mounts(const struct agent *a, struct strs *to)
{
    return *a->facts->venv ? strs_add(to, a->facts->venv) : 0;
}

/* ---- the cluster ---- */

static bool on_cluster(const char *uri)
{
    static const char *const schemes[] = { "hdfs:", "viewfs:" };

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (str_starts(uri, schemes[i]))
            return true;
    return false;
}

/* No session for results that stay on this machine: *ret stays NULL and the file system is local.
 */
static int on_machine_session(const struct agent *a, const char *uri, struct session_options *o,
                              struct session **ret, struct err *err)
{
    return on_cluster(uri) ? local_access_session(a->loop, a->home.own, o, ret, err) : 0;
}

/* When the job began here. The target's clock may differ, but files that we saved are recognised by
 * name anyway: placed() in export_tree.c. */
static int64_t on_machine_job_began(const struct agent *a, const struct remote *remote)
{
    struct stat st;

    (void)remote;
    if (stat(a->opt->join_file, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

/* ---- the end ---- */

/* Removes the run directory if the master could not and no other agent uses it any more. The last
 * agent is the one that can remove the directory of tasks, which must be empty. */
static void on_machine_remove_own(struct agent *a, bool master_gone)
{
    const char *run = a->home.own;
    struct stat st;

    if (!master_gone || !a->facts)
        return;
    if (!a->dirs.tasks || !str_starts(a->dirs.work, run) || lstat(run, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    if (rmdir(a->dirs.tasks) < 0 && errno != ENOENT)
        return;
    if (remove_tree(a, run, NULL) < 0)
        log_warn(LOG_AGENT, "cannot remove '%s', ignoring", run);
}

const struct agent_platform agent_on_machine = {
    .join = on_machine_join,
    .done = on_machine_done,
    .set_up = on_machine_lock_logs,
    .env = on_machine_env,
    .mounts = on_machine_mounts,
    .session = on_machine_session,
    .job_began = on_machine_job_began,
    .remove_own = on_machine_remove_own,
};
