/* environment_check.c - the checks look at files only and start nothing; each is skipped where
 * the tasks do not run on this machine. See environment_check.h. */
#include "launch/environment_check.h"
#include "base/path.h"
#include "pyenv/libhdfs_home.h"
#include "pyenv/mxnet_home.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tasks on this machine: all of them, or those beside the client. */
static bool runs_here(const struct spec *s, bool on_yarn)
{
    bool here = !on_yarn;

    for (size_t i = 0; i < s->n_roles; i++)
        here = here || (s->roles[i].place == SPEC_PLACE_CLIENT && s->roles[i].count > 0);
    return here;
}

/* ---- Python ---- */

static int check_venv(const struct spec *s, struct spec_faults *f)
{
    AUTO_FREE char *python = path_join(s->venv, "bin/python");
    struct stat st;

    if (!python)
        return -ENOMEM;
    if (stat(s->venv, &st) < 0)
        return spec_fault(f, 0, "venv",
                          "there is no environment '%s'; to create it: python3 -m venv %s", s->venv,
                          s->venv);
    if (!S_ISDIR(st.st_mode))
        return spec_fault(f, 0, "venv",
                          "'%s' is not a directory; unpack it first: archives of environments work "
                          "only on a cluster",
                          s->venv);
    if (access(python, X_OK) < 0)
        return spec_fault(f, 0, "venv",
                          "'%s' is not a Python environment: it has no executable bin/python",
                          s->venv);
    return 0;
}

/* ---- MXNet ---- */

static bool has_servers(const struct spec *s)
{
    const struct spec_role *role = spec_role(s, "server");

    return str_eq(s->framework, "mxnet") && role && role->count > 0;
}

static int check_mxnet(const struct spec *s, struct spec_faults *f)
{
    AUTO_FREE char *bin = path_join(s->venv, "bin"), *library = NULL;
    int r = bin ? mxnet_find(bin, &library) : -ENOMEM;

    if (r < 0 || !library || !mxnet_lacks_dist(library))
        return r;
    return spec_fault(f, 0, "venv", "the MXNet in '%s': " MXNET_NO_DIST, s->venv);
}

/* ---- Hadoop ---- */

/* What tasks will have: the job's variables, then ours. */
static const char *environment_check_get(void *arg, const char *name)
{
    const struct spec *s = arg;

    for (size_t i = 0; i < s->env.n; i++)
        if (str_eq(s->env.v[i].name, name))
            return s->env.v[i].value;
    return getenv(name);
}

static int check_hadoop(const struct spec *s, struct spec_faults *f)
{
    const struct hadoop_env from = { environment_check_get, (void *)s, "" };
    AUTO_HADOOP_HOME h = { 0 };

    if (hadoop_home_find(&from, &h) < 0)
        return -ENOMEM;
    if (!hadoop_home_missing(&h))
        return 0;
    return spec_fault(f, 0, "hadoop", "%s", hadoop_home_missing(&h));
}

int check_env(const struct spec *s, bool on_yarn, struct spec_faults *f)
{
    bool here = runs_here(s, on_yarn), local = s->venv && !spec_is_remote(s->venv), bad = false;
    int r =
        s->venv && s->pip.n
            ? spec_fault(f, 0, "pip",
                         "give either venv or pip: packages are installed into a new environment")
            : 0;

    bad = r < 0;
    if (r != -ENOMEM && s->venv && here)
        r = check_venv(s, f);
    bad = bad || r < 0;
    if (r != -ENOMEM && local && has_servers(s))
        r = check_mxnet(s, f);
    bad = bad || r < 0;
    if (r != -ENOMEM && here && !s->image && s->hadoop == SPEC_HADOOP_YES)
        r = check_hadoop(s, f);
    return r == -ENOMEM ? r : bad || r < 0 ? -EINVAL : 0;
}
