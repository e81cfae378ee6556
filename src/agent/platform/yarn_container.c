/* yarn_container.c - an agent in a container of YARN.
 *
 * The NodeManager has made the directory and the log directory, unpacked what the job brought
 * along, and given us credentials. It kills us a moment after a SIGTERM, may start another agent in
 * the same directory, and removes everything when the job is over: results must be saved elsewhere.
 */
#include "agent/platform/yarn_container.h"
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/link/job_files.h"
#include "agent/link/join.h"
#include "agent/platform/agent_container.h"
#include "agent/platform/agent_platform.h"
#include "agent/platform/hadoop_access.h"
#include "agent/platform/predecessor.h"
#include "agent/platform/task_tokens.h"
#include "agent/tree_remove.h"
#include "base/path.h"

#include <string.h>

#define SIGNAL_GRACE 100 /* of the 250 ms that a NodeManager leaves us */

/* ---- with the client's ---- */

/* Everything the agent knows before its first message comes from the environment and the
 * credentials; nothing is in the command line, which other users can read. */
int yarn_container_join(struct agent *a, struct err *err)
{
    struct agent_container *c = a->container = calloc(1, sizeof(*c));
    int r = c ? 0 : err_oom(err);

    if (r == 0)
        r = a->opt->client ? agent_container_read_client(a->opt->client, c, err)
                           : agent_container_read(c, err);
    if (r == 0)
        r = join_set_address(&a->link.join, c->boot.address, err);
    if (r < 0)
        return r;
    a->link.join.key = c->boot.key;
    a->home = (struct agent_home){ .own = c->own,
                                   .dir = c->dir,
                                   .log = c->log_dir,
                                   .id = c->id,
                                   .node = c->node,
                                   .staging = c->staging };
    return 0;
}

void yarn_container_done(struct agent *a)
{
    if (a->container)
        agent_container_done(a->container);
    free(a->container);
    a->container = NULL;
}

int yarn_container_set_up(struct agent *a, struct err *err)
{
    return tokens_begin(a, err);
}

int yarn_container_env(const struct agent_task *t, struct env *weak, struct env *e)
{
    const struct agent *a = t->agent;
    int r = agent_container_env(a->container, environ, weak);

    return r == 0 ? env_set(e, AGENT_CONTAINER_MARK, a->home.id) : r;
}

/* The existing directories of a variable of YARN's, with `below` appended to each. */
static int add_yarns(struct strs *to, const char *variable, const char *below, const char *how)
{
    const char *list = getenv(variable);
    AUTO_STRS dirs = { 0 };
    int r = list ? strs_split(&dirs, list, ",") : 0;

    for (size_t i = 0; i < dirs.n && r == 0; i++) {
        AUTO_FREE char *path = path_join(dirs.v[i], below);

        if (!path)
            return -ENOMEM;
        if (*path == '/' && access(path, F_OK) == 0)
            r = *how ? strs_take(to, str_printf("%s:%s:%s", path, path, how)) : strs_add(to, path);
    }
    return r;
}

/* Links in the work directory lead to the NodeManager's caches. */
int yarn_container_mounts(const struct agent *a, struct strs *to)
{
    int r = add_yarns(to, "LOCAL_DIRS", "", "");

    (void)a;
    return r == 0 ? add_yarns(to, "LOCAL_USER_DIRS", "filecache", "ro") : r;
}

int yarn_container_session(const struct agent *a, const char *uri, struct session_options *o,
                           struct session **ret, struct err *err)
{
    const struct agent_container *c = a->container;

    (void)uri; /* everything is on the cluster */
    o->conf_text = c->boot.conf;
    o->user = c->boot.user;
    if (!o->user && a->facts && *a->facts->owner)
        o->user = a->facts->owner;
    o->credentials = c->credentials;
    return session_new(a->loop, o, ret, err);
}

/* When the job was submitted, by the clock that files there have. */
int64_t yarn_container_job_began(const struct agent *a, const struct remote *remote)
{
    AUTO_FREE char *key = path_join(a->facts->staging, "key"), *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    struct fs *fs = NULL;

    if (!key || !*a->facts->staging || remote_find(remote, key, &fs, &path, NULL) < 0 ||
        fs_exists(fs, path, &e, NULL) <= 0)
        return 0;
    return e.mtime;
}

/* ---- YARN's own ---- */

static bool yarn_container_gone(const struct agent *a)
{
    return agent_container_is_gone(a->container);
}

static int yarn_container_begin_tasks(struct agent *a, struct err *err)
{
    int r = yarn_container_set_up(a, err);

    return r == 0 ? hadoop_access_begin(a, err) : r;
}

static int yarn_container_task_env(const struct agent_task *t, struct env *weak, struct env *e)
{
    int r = yarn_container_env(t, weak, e);

    if (r == 0)
        r = env_set(e, "HOME", t->agent->home.dir);
    if (r == 0)
        r = hadoop_access_env(t, e);
    return r == 0 ? env_set(e, TOKEN_FILE, t->agent->dirs.token_file) : r;
}

/* Our files are in one directory, which stays for a possible successor unless the job is over. */
static void yarn_container_remove_own(struct agent *a, bool master_gone)
{
    (void)master_gone;
    if (a->dirs.work && a->leave.told)
        (void)remove_tree(a, a->home.own, NULL);
}

const struct agent_platform agent_on_yarn = {
    .unpacks = true,
    .successors = true,
    .saves = true,
    .saves_lost = true,
    .told_by_rm = true,
    .cut_off = true,
    .cluster_name = true,
    .cluster_fs = true,
    .signal_grace = SIGNAL_GRACE,
    .join = yarn_container_join,
    .done = yarn_container_done,
    .begin = predecessor_end,
    .set_up = yarn_container_begin_tasks,
    .tokens = tokens_replace,
    .gone = yarn_container_gone,
    .env = yarn_container_task_env,
    .mounts = yarn_container_mounts,
    .session = yarn_container_session,
    .job_began = yarn_container_job_began,
    .remove_own = yarn_container_remove_own,
};
