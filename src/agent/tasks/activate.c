/* activate.c - what a task's environment gets besides the job's variables: its own Python
 * environment, and the machine's Hadoop. Applied last, over the job's variables, so that `python`
 * is the environment's whatever PATH the job sets. */
#include "agent/tasks/activate.h"
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/conda_activate.h"
#include "base/path.h"
#include "job/spec/spec.h"
#include "pyenv/libhdfs_home.h"
#include "pyenv/mxnet_home.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LACKS 78 /* the exit code of a task whose machine lacks what it needs */
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

__attribute__((format(printf, 2, 3))) static int activate_lacks(struct err *err, const char *fmt,
                                                                ...)
{
    char text[sizeof(err->text)];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(err, -ENOENT, "%s", text);
    err->detail = LACKS;
    return -ENOENT;
}

/* ---- Python ---- */

/* Its path on this node; NULL when out of memory. */
static char *find_venv(const struct agent *a)
{
    return a->platform->unpacks ? path_join(a->home.dir, AGENT_ENV) : strdup(a->facts->venv);
}

/* Without this a task would run with some other python, and miss its packages. */
static int check_python(const char *dir, struct err *err)
{
    AUTO_FREE char *python = path_join(dir, "bin/python"), *text = NULL;
    ssize_t n;

    if (!python)
        return err_oom(err);
    if (access(python, X_OK) == 0)
        return 0;
    if (errno != ENOENT)
        return err_sys(err, "use '%s'", python);
    text = calloc(1, PATH_MAX);
    n = text ? readlink(python, text, PATH_MAX - 1) : -1;
    if (n < 0)
        return activate_lacks(err, "the Python environment '%s' has no bin/python", dir);
    if (*text != '/') { /* python is python3, which is the link that counts */
        AUTO_FREE char *next = path_join(dir, "bin"), *other = next ? path_join(next, text) : NULL;
        ssize_t m = other ? readlink(other, text, PATH_MAX - 1) : -1;

        if (m > 0)
            text[m] = '\0';
    }
    return activate_lacks(
        err, "the Python environment needs '%s', which this machine does not have", text);
}

int activate_venv(struct env *e, const struct agent_task *t, struct err *err)
{
    const struct agent *a = t->agent;
    AUTO_FREE char *dir = *a->facts->venv ? find_venv(a) : NULL, *meta = NULL, *path = NULL;
    const char *before = env_get(e, "PATH");
    int r;

    if (!*a->facts->venv)
        return 0;
    r = !dir ? err_oom(err) : t->image.name ? 0 : check_python(dir, err);
    if (r < 0)
        return r;
    meta = path_join(dir, "conda-meta");
    path = str_printf("%s/bin:%s", dir, before ? before : PATH_DEFAULT);
    if (!meta || !path)
        return err_oom(err);
    env_unset(e, "PYTHONHOME");
    r = access(meta, F_OK) == 0 ? conda_variables(e, dir) : env_set(e, "VIRTUAL_ENV", dir);
    return r < 0 || env_set(e, "PATH", path) < 0 ? err_oom(err) : 0;
}

/* ---- MXNet ---- */

/* The directory of the Python that a command runs; *ret stays NULL when it is not Python or cannot
 * be found. */
static int python_dir(const struct env *e, const char *program, char **ret)
{
    AUTO_FREE char *name = path_base(program);
    const char *path = env_get(e, "PATH");
    AUTO_STRS dirs = { 0 };

    if (!name || (path && strs_split(&dirs, path, ":") < 0))
        return -ENOMEM;
    if (!str_starts(name, "python"))
        return 0;
    if (strchr(program, '/')) {
        *ret = path_dir(program);
        return *ret ? 0 : -ENOMEM;
    }
    for (size_t i = 0; i < dirs.n && !*ret; i++) {
        AUTO_FREE char *full = path_join(dirs.v[i], name);

        if (!full)
            return -ENOMEM;
        if (access(full, X_OK) == 0)
            *ret = take(dirs.v[i]);
    }
    return 0;
}

int activate_mxnet(const struct env *e, const struct agent_task *t, const char *program,
                   struct err *err)
{
    AUTO_FREE char *bin = NULL, *library = NULL;
    const char *servers = env_get(e, "DMLC_NUM_SERVER");
    int r;

    /* Variables that the launcher sets for parameter servers and their users. */
    if (t->image.name || !env_get(e, "DMLC_PS_ROOT_URI") || !servers || str_eq(servers, "0"))
        return 0;
    r = python_dir(e, program, &bin);
    if (r == 0 && bin)
        r = mxnet_find(bin, &library);
    if (r < 0)
        return err_oom(err);
    if (library && mxnet_lacks_dist(library))
        return activate_lacks(err, "the MXNet '%s': " MXNET_NO_DIST, library);
    return 0;
}

/* ---- Hadoop ---- */

static const char *activate_get(void *arg, const char *name)
{
    return env_get(arg, name);
}

/* Do the task's arguments name HDFS? */
static bool names_hdfs(const Agent__StartTask *m)
{
    static const char *const schemes[] = { "hdfs://", "viewfs://" };

    for (size_t i = 0; i < m->n_argv; i++)
        for (size_t k = 0; k < COUNT_OF(schemes); k++)
            if (memmem(m->argv[i].data, m->argv[i].len, schemes[k], strlen(schemes[k])))
                return true;
    return false;
}

int activate_hadoop(struct env *e, const struct agent_task *t, const Agent__StartTask *m,
                    struct err *err)
{
    const struct hadoop_env from = { activate_get, e, "" };
    uint32_t how = t->agent->facts->hadoop;
    AUTO_HADOOP_HOME h = { 0 };
    AUTO_STRS vars = { 0 };

    /* What is on this machine is not in an image. */
    if (how == SPEC_HADOOP_NO || t->image.name || (how == SPEC_HADOOP_AUTO && !names_hdfs(m)))
        return 0;
    if (hadoop_home_find(&from, &h) < 0)
        return err_oom(err);
    if (how == SPEC_HADOOP_YES && hadoop_home_missing(&h))
        return activate_lacks(err, "hadoop: %s", hadoop_home_missing(&h));
    if (hadoop_home_vars(&h, &from, &vars) < 0)
        return err_oom(err);
    for (size_t i = 0; i < vars.n; i++)
        if (env_copy(e, vars.v[i], strlen(vars.v[i])) < 0)
            return err_oom(err);
    return 0;
}
