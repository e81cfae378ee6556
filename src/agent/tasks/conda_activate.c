/* conda_activate.c - a conda environment of tasks: its variables, its scripts, and the files that
 * contain its path.
 *
 * YARN unpacks an archive once on a node, and all containers of a user share it by links. Its path
 * is known only then, and is the same for all of them. So the first agent writes the path into the
 * environment's files; later ones see that it is done. Two at the same time write the same, and
 * each file is replaced as a whole. */
#include "agent/tasks/conda_activate.h"
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/tasks/activate.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/spawn.h"
#include "agent/tasks/spawn_reason.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/work.h"
#include "pyenv/conda_prefix.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLES_MAX MIB
#define UNSET "***unset***" /* what conda writes for a variable that was unset */
#define SCRIPTS "etc/conda/activate.d/*.sh"

/* A function, because a script may set words of its own. */
#define ACTIVATE                                                                                   \
    "ydl_activate() { for ydl_file in \"$CONDA_PREFIX\"/" SCRIPTS                                  \
    "; do . \"$ydl_file\"; done; }\n"                                                              \
    "ydl_activate\n"                                                                               \
    "unset ydl_file\n"                                                                             \
    "unset -f ydl_activate\n"                                                                      \
    "exec \"$@\"\n"

/* ---- its variables ---- */

/* Variables of `conda env config vars set` that the job does not set. */
static int set_kept(struct env *e, const char *dir)
{
    AUTO_FREE char *path = path_join(dir, "conda-meta/state");
    AUTO_JSON *state = NULL;
    const char *name;
    json_t *value;
    int r = path ? json_parse_file(path, VARIABLES_MAX, &state, NULL) : -ENOMEM;

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    json_object_foreach(json_object_get(state, "env_vars"), name, value)
    {
        const char *text = json_string_value(value);

        if (text && *name && !strchr(name, '=') && !str_eq(text, UNSET) && !env_get(e, name) &&
            env_set(e, name, text) < 0)
            return -ENOMEM;
    }
    return 0;
}

int conda_variables(struct env *e, const char *dir)
{
    AUTO_FREE char *certificates = path_join(dir, "ssl/cacert.pem");
    int r = certificates ? env_set(e, "CONDA_PREFIX", dir) : -ENOMEM;

    env_unset(e, "VIRTUAL_ENV");
    /* Its library would look for them where the environment was made. */
    if (r == 0 && !env_get(e, "SSL_CERT_FILE") && access(certificates, R_OK) == 0)
        r = env_set(e, "SSL_CERT_FILE", certificates);
    return r < 0 ? r : set_kept(e, dir);
}

/* ---- its scripts ---- */

/* 1 when it has some, 0, -ENOMEM. */
static int has_scripts(const char *dir)
{
    AUTO_FREE char *first = path_join(dir, "etc/conda/activate.d");
    AUTO_FREE char *pattern = first ? path_join(first, "*.sh") : NULL;
    glob_t found = { 0 };
    int r;

    if (!pattern)
        return -ENOMEM;
    if (access(first, F_OK) < 0)
        return 0;
    r = glob(pattern, GLOB_NOSORT, NULL, &found);
    globfree(&found);
    return r == GLOB_NOSPACE ? -ENOMEM : r == 0;
}

static int conda_wrap(struct strs *argv)
{
    AUTO_STRS words = { 0 };
    /* Written for the shell of whoever activates one, which is seldom plain sh. */
    const char *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    int r = strs_add(&words, shell);

    if (r == 0)
        r = strs_add(&words, "-c");
    if (r == 0)
        r = strs_add(&words, ACTIVATE);
    if (r == 0)
        r = strs_add(&words, "activate");
    for (size_t i = 0; i < argv->n && r == 0; i++)
        r = strs_add(&words, argv->v[i]);
    if (r < 0)
        return r;
    strs_done(argv);
    *argv = words;
    words = (struct strs){ 0 };
    return 0;
}

int conda_command(struct strs *argv, const struct env *e, const struct agent_task *t,
                  struct err *err)
{
    const char *dir = env_get(e, "CONDA_PREFIX");
    const struct spawn_spec spec = { .argv = argv->v, .envp = e->v, .cwd = t->prep.work };
    AUTO_FREE char *program = NULL, *full = NULL;
    int r;

    /* A CONDA_PREFIX may also be the user's own, of another environment. */
    if (!*t->agent->facts->venv || t->image.name || !dir || env_get(e, "VIRTUAL_ENV"))
        return 0;
    r = has_scripts(dir);
    if (r <= 0)
        return r < 0 ? err_oom(err) : 0;
    full = spawn_find(&spec, &program, NULL) == 0 ? path_join(t->prep.work, program) : NULL;
    if (!full || access(full, X_OK) < 0)
        return 0; /* the start says why, better than a shell */
    return conda_wrap(argv) < 0 ? err_oom(err) : 0;
}

/* ---- its place ---- */

struct placing {
    char *dir;
    size_t changed;
    struct strs stuck;
    struct err err;
};

static int conda_tell(void *arg)
{
    struct placing *p = arg;

    return conda_prefix_env(p->dir, &p->changed, &p->stuck, &p->err);
}

static void tell_files(struct agent *a, const char *link)
{
    struct placing p = { .dir = realpath(link, NULL), .err = ERR_INIT };
    int r = p.dir ? work_run(a->loop, conda_tell, &p) : 0; /* that it lacks, tasks are told */

    if (r < 0)
        log_warn(LOG_AGENT, "cannot update the paths in the Python environment: %s, ignoring",
                 p.err.text);
    if (p.stuck.n)
        log_warn(
            LOG_AGENT,
            "the path '%s' is too long for %zu files of the Python environment, which keep the "
            "path that they were made with: '%s'%s",
            p.dir, p.stuck.n, p.stuck.v[0], p.stuck.n > 1 ? " …" : "");
    trace(LOG_AGENT, "updated the path in %zu files of the Python environment", p.changed);
    free(p.dir);
    strs_done(&p.stuck);
}

void conda_place(struct agent *a)
{
    AUTO_FREE char *link = NULL;

    if (!*a->facts->venv || !a->platform->unpacks)
        return; /* it is used where it is */
    while (a->conda.placing)
        (void)cond_wait(a->loop, &a->conda.changed, LOOP_NEVER);
    if (a->conda.placed)
        return;
    a->conda.placing = true;
    link = path_join(a->home.dir, AGENT_ENV);
    if (link)
        tell_files(a, link);
    a->conda.placing = false;
    a->conda.placed = true;
    cond_wake_all(&a->conda.changed);
}
