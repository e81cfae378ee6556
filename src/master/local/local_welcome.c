/* local_welcome.c - what an agent on this machine is told: the environment that all tasks share is
 * the master's own, the one that the user had, and results are put where they belong. */
#include "base/path.h"
#include "master/local/master_local_private.h"
#include "master/welcome.h"

#include <string.h>

/* Ours, and none of a task's business. */
static bool is_private(const char *entry)
{
    static const char *const names[] = { "YDL_TRACE=", "YDL_LOG=", "YDL_PLAN=", "YDL_ON=" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_starts(entry, names[i]))
            return true;
    return false;
}

static int collect_env(struct strs *env)
{
    int r = 0;

    for (char **e = environ; *e && r == 0; e++)
        r = is_private(*e) ? 0 : strs_add(env, *e);
    return r;
}

/* With files of its own a task has a directory of its own, as on a cluster. */
static bool own_directories(const struct spec *s)
{
    bool own = s->files.n || s->archives.n;

    for (size_t i = 0; i < s->n_roles; i++)
        own |= s->roles[i].files.n || s->roles[i].archives.n;
    return own;
}

int local_welcome(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                  Agent__JobFacts *facts)
{
    (void)welcome;
    facts->log_dir = m->paths.logs;
    facts->work_dir = m->paths.work;
    facts->cwd = own_directories(&m->spec) || !m->facts.cwd ? (char *)"" : m->facts.cwd;
    return collect_env(env);
}

/* ---- results ---- */

/* On this machine all of $YDL_OUT that goes to a directory here is made there. */
static bool welcome_stays(const struct spec_file *f)
{
    return !*f->from && !spec_is_remote(f->to);
}

bool local_results_wanted(const struct master *m)
{
    bool wanted = false;

    for (size_t i = 0; i < m->spec.output.n; i++)
        wanted = wanted || !welcome_stays(&m->spec.output.v[i]) || i > 0;
    return wanted;
}

const char *local_results_waiting(const struct master *m, const char *to)
{
    const struct spec_files *f = &m->spec.output;
    bool waits = false;

    for (size_t i = 0; i < f->n; i++) {
        if (welcome_stays(&f->v[i]))
            return NULL;
        waits = waits || (!*f->v[i].from && (!to || str_eq(f->v[i].to, to)));
    }
    return waits ? m->facts.out_dir : NULL;
}

/* A path below `dir` that lives as long as `r`; NULL when out of memory. */
static const char *below(struct results *r, const char *dir, const char *name)
{
    return strs_take(&r->made, path_join(dir, name)) < 0 ? NULL : r->made.v[r->made.n - 1];
}

/* Tasks share $YDL_OUT, and a directory to run in, unless the job brings files of its own.
 * What a task writes to its final place by itself needs no copy: `from` and `to` are the same then.
 */
int local_results(const struct master *m, struct results *r)
{
    const char *cwd = m->facts.cwd ? m->facts.cwd : "/";

    for (size_t i = 0; i < m->spec.output.n; i++) {
        const struct spec_file *f = &m->spec.output.v[i];
        const char *from = f->from, *to = f->to;

        if (!*from)
            from = m->facts.out_dir;
        else if (!own_directories(&m->spec))
            from = below(r, cwd, from);
        if (!spec_is_remote(to))
            to = below(r, cwd, to);
        if (!from || !to)
            return -ENOMEM;
        if (!str_eq(from, to))
            results_add(r, from, to);
    }
    return 0;
}
