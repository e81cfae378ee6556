/* plan_agent.c - the variables that only the agent can give a task, as a plan shows them; see
 * struct plan_agent in plan.h. agent/tasks/task_start.c is who sets them; a test compares the two.
 */
#include "framework/plan/plan_private.h"

/* ---- when ---- */

static bool always(const struct plan *p, const struct framework_task *t)
{
    (void)p, (void)t;
    return true;
}

static bool plan_agent_own_directory(const struct plan *p, const struct framework_task *t)
{
    bool own = p->agent->yarn || !p->agent->cwd || t->spec->files.n || t->spec->archives.n;

    for (size_t i = 0; i < t->spec->n_roles; i++)
        own |= t->spec->roles[i].files.n || t->spec->roles[i].archives.n;
    return own;
}

static bool in_container(const struct plan *p, const struct framework_task *t)
{
    return p->agent->yarn && t->role->place != SPEC_PLACE_CLIENT;
}

/* An image does not have the node's directories. */
static bool on_its_node(const struct plan *p, const struct framework_task *t)
{
    return in_container(p, t) && !t->role->image && !t->spec->image;
}

static bool on_yarn(const struct plan *p, const struct framework_task *t)
{
    (void)t;
    return p->agent->yarn;
}

static bool in_image_here(const struct plan *p, const struct framework_task *t)
{
    return (t->role->image || t->spec->image) && !in_container(p, t);
}

static bool without_gpus(const struct plan *p, const struct framework_task *t)
{
    (void)p;
    return t->role->gpus == 0;
}

static bool tells_errors(const struct plan *p, const struct framework_task *t)
{
    return p->framework->error && !t->error_file;
}

static bool has_pmi(const struct plan *p, const struct framework_task *t)
{
    (void)t;
    return (p->framework->servers & FRAMEWORK_PMI) != 0;
}

/* ---- what ---- */

/* clang-format off */
static const struct {
    const char *name, *value;
    bool (*when)(const struct plan *p, const struct framework_task *t);
} rows[] = {
    { "CUDA_VISIBLE_DEVICES",       "",                                    without_gpus },
    { "HADOOP_TOKEN_FILE_LOCATION", "<file with the job's tokens>",        on_yarn },
    { "HOME",                       "<directory of the container>",        in_container },
    { "HOME",                       "<temporary directory>",               in_image_here },
    { "PMI_FD",                     "3",                                   has_pmi },
    { "PWD",                        "<directory of the task>",             plan_agent_own_directory },
    { "TMPDIR",                     "<temporary directory>",               always },
    { "TORCHELASTIC_ERROR_FILE",    "<file for the task's error>",         tells_errors },
    { "YDL_CONTAINER",              "<id of the container>",               on_yarn },
    { "YDL_HADOOP_CONF",            "<directory with the cluster's configuration>", in_container },
    { "YDL_HADOOP_USER",            "<the job's user>",                    in_container },
    { "YDL_NODE_DIRS",              "<the user's directories on the node>", on_its_node },
    { "YDL_OUT",                    "<directory of the task's results>",   on_yarn },
    { "YDL_SOCKET",                 "<socket of the task>",                always },
    { "YDL_SPEC",                   "<file with all addresses>",           always },
    { "YDL_STOP",                   "<file that says when to stop>",       always },
};
/* clang-format on */

/* Values between < and > are not known before the task starts. */
int plan_add_agents(const struct plan *p, const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].when(p, t))
            env_text(&e, rows[i].name, rows[i].value);
    if (!without_gpus(p, t))
        env_printf(&e, "CUDA_VISIBLE_DEVICES", "<%u GPU%s of its machine>", t->role->gpus,
                   t->role->gpus > 1 ? "s" : "");
    if (!plan_agent_own_directory(p, t))
        env_text(&e, "PWD", p->agent->cwd);
    return env_end(&e, err);
}
