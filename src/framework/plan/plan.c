/* plan.c - one task's arguments and environment, from the job, the framework and the cluster
 * specification. Later variables win:
 *
 *     framework ──► the job's env ──► the role's env ──► ours (YDL_…)
 *
 * So a user can change what a framework sets, and nobody can change what the agent relies on. See
 * plan.h. */
#include "framework/plan/plan_private.h"
#include "job/spec/vars.h"

#include <string.h>

struct plan_cache {
    char *common; /* what the framework's `common` made; NULL: not yet */
};

int plan_cache_new(struct plan_cache **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct plan_cache *plan_cache_free(struct plan_cache *c)
{
    if (c)
        free(c->common);
    free(c);
    return NULL;
}

void plan_task_done(struct plan_task *t)
{
    strs_done(&t->argv);
    strs_done(&t->env);
}

/* ---- the command and the user's variables ---- */

/* Appends PREFIX and the text with its variables replaced, as one string. */
static int add_expanded(struct strs *l, const char *prefix, const char *text, const struct vars *v,
                        struct err *err)
{
    AUTO_BUF b = { .max = 4 * MIB };
    int r = buf_add_str(&b, prefix);

    if (r == 0)
        r = vars_expand(v, text, &b, err);
    if (r == -EINVAL)
        return r;
    if (r < 0)
        return err_code(err, r, "'%s%.60s'", prefix, text);
    return strs_addn(l, b.len ? (const char *)b.data : "", b.len) < 0 ? err_oom(err) : 0;
}

static int plan_add_command(const struct strs *command, const struct vars *v, struct strs *argv,
                            struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < command->n && r == 0; i++)
        if (strchr(command->v[i], '{'))
            r = add_expanded(argv, "", command->v[i], v, err);
        else
            r = strs_add(argv, command->v[i]) < 0 ? err_oom(err) : 0;
    return r;
}

static int add_vars(const struct spec_vars *from, const struct vars *v, struct strs *env,
                    struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < from->n && r == 0; i++) {
        AUTO_FREE char *prefix = str_printf("%s=", from->v[i].name);

        if (!prefix)
            return err_oom(err);
        r = add_expanded(env, prefix, from->v[i].value, v, err);
    }
    return r;
}

/* ---- ours ---- */

static void add_ports(struct env *e, const struct cluster_task *c)
{
    char list[CLUSTER_PORTS_MAX * 6 + 1] = "";
    size_t n = 0;

    if (c->n_ports > 0)
        env_number(e, "YDL_PORT", c->port[0]);
    for (unsigned i = 0; i < c->n_ports && i < CLUSTER_PORTS_MAX; i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u", i > 0 ? "," : "", c->port[i]);
    if (c->n_ports > 1)
        env_text(e, "YDL_PORTS", list);
}

static int add_ours(const struct framework_task *t, const struct vars *v,
                    const struct cluster_task *c, struct err *err)
{
    struct env e = env_of(t);

    /* Output goes to files, where Python would keep it back until 8 KB are together: nobody could
     * see how far a script is, and a killed one would lose its last lines. An empty value turns it
     * off. */
    if (!task_said(t, "PYTHONUNBUFFERED"))
        env_text(&e, "PYTHONUNBUFFERED", "1");
    env_text(&e, "YDL_JOB", v->job);
    env_text(&e, "YDL_ROLE", v->role);
    env_number(&e, "YDL_INDEX", v->index);
    env_number(&e, "YDL_RANK", v->rank);
    env_number(&e, "YDL_WORLD", v->world);
    env_number(&e, "YDL_LOCAL_RANK", v->local_rank);
    env_number(&e, "YDL_LOCAL_WORLD", t->role->procs);
    env_number(&e, "YDL_GENERATION", v->generation);
    env_number(&e, "YDL_ATTEMPT", v->attempt);
    env_text(&e, "YDL_HOST", v->host);
    if (v->out)
        env_text(&e, "YDL_OUT", v->out);
    add_ports(&e, c);
    return env_end(&e, err);
}

/* ---- one list, sorted, each name once ---- */

struct entry {
    char *text;
    size_t name; /* length of the name */
    size_t order;
};

static int plan_by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    size_t n = x->name < y->name ? x->name : y->name;
    int r = memcmp(x->text, y->text, n);

    if (r == 0)
        r = (x->name > y->name) - (x->name < y->name);
    return r != 0 ? r : (x->order > y->order) - (x->order < y->order);
}

static bool plan_same_name(const struct entry *a, const struct entry *b)
{
    return a->name == b->name && memcmp(a->text, b->text, a->name) == 0;
}

/* The last of several with the same name wins. Sorted by name and then by the order in which they
 * were set, so the last of a run of equal names is the one that counts; the others are freed on the
 * way. */
static int plan_merge(struct strs *env)
{
    AUTO_FREE struct entry *v = reallocarray(NULL, env->n + 1, sizeof(*v));
    size_t n = 0, all = env->n;

    if (!v)
        return -ENOMEM;
    for (size_t i = 0; i < all; i++)
        v[i] = (struct entry){ env->v[i], strcspn(env->v[i], "="), i };
    qsort(v, all, sizeof(*v), plan_by_name);
    for (size_t i = 0; i < all; i++)
        if (i + 1 < all && plan_same_name(&v[i], &v[i + 1]))
            free(v[i].text);
        else
            env->v[n++] = v[i].text;
    env->n = n;
    if (n < all)
        env->v[n] = NULL;
    return 0;
}

/* ---- limits ---- */

/* The kernel takes no single argument or variable above 128 KiB, and would say "argument list too
 * long" on the node, without a name. */
static int plan_check(const struct plan_task *t, struct err *err)
{
    for (size_t i = 0; i < t->argv.n; i++)
        if (strlen(t->argv.v[i]) >= PLAN_TEXT_MAX)
            return err_set(err, -E2BIG, "argument %zu ('%.40s…') has %zu bytes, of at most %zu", i,
                           t->argv.v[i], strlen(t->argv.v[i]), PLAN_TEXT_MAX - 1);
    for (size_t i = 0; i < t->env.n; i++)
        if (strlen(t->env.v[i]) >= PLAN_TEXT_MAX) {
            int r = err_set(err, -E2BIG, "the variable %.*s has %zu bytes, of at most %zu",
                            (int)strcspn(t->env.v[i], "="), t->env.v[i], strlen(t->env.v[i]),
                            PLAN_TEXT_MAX - 1);

            err_hint(err,
                     "read the addresses from the file that YDL_SPEC names: it has no such limit");
            return r;
        }
    return 0;
}

/* ---- a task ---- */

/* What is common to all: from the cache, or made now and handed to *mine. In a job of ten thousand
 * tasks the list of all addresses is the same text for each of them. */
static int get_common(const struct plan *p, struct framework_task *t, char **mine, struct err *err)
{
    char **where = p->cache ? &p->cache->common : mine;
    int r = 0;

    if (!p->framework->common)
        return 0;
    if (!*where)
        r = p->framework->common(t, where, err);
    t->common = *where;
    return r;
}

static int plan_fill(const struct plan *p, struct framework_task *t, const struct vars *v,
                     const struct cluster_task *c, struct err *err)
{
    const struct spec_role *role = t->role;
    AUTO_FREE char *common = NULL;
    int r =
        plan_add_command(role->command.n > 0 ? &role->command : &p->spec->command, v, t->argv, err);

    if (r == 0 && t->argv->n == 0)
        r = err_set(err, -EINVAL, "nothing to run");
    if (r == 0)
        r = get_common(p, t, &common, err);
    if (r == 0 && p->framework->task)
        r = p->framework->task(t, err);
    if (r == 0)
        r = add_vars(&p->spec->env, v, t->env, err);
    if (r == 0)
        r = add_vars(&role->env, v, t->env, err);
    if (r == 0)
        r = add_ours(t, v, c, err);
    if (r == 0 && p->agent)
        r = plan_add_agents(p, t, err);
    if (r == 0 && plan_merge(t->env) < 0)
        r = err_oom(err);
    return r;
}

/* What variables mean to a task; its place in the cluster, or NULL when that has no such task. */
static const struct cluster_task *vars_of(const struct plan *p, const struct spec_role *role,
                                          unsigned rank, struct vars *ret)
{
    const struct cluster_role *own = cluster_role(p->cluster, role->name);
    const struct cluster_task *c = own && rank < own->n ? &own->tasks[rank] : NULL;

    if (!c)
        return NULL;
    *ret = (struct vars){
        .job = p->job,
        .role = role->name,
        .out = p->out,
        .index = rank,
        .rank = rank,
        .generation = p->cluster->generation,
        .attempt = p->attempt,
        .cluster = p->cluster,
        .world = (unsigned)own->n,
        .host = c->host,
        .local_rank = c->local_rank,
        .port = c->port,
        .n_ports = c->n_ports < CLUSTER_PORTS_MAX ? c->n_ports : CLUSTER_PORTS_MAX,
    };
    return c;
}

int plan_expand(const struct plan *p, const struct spec_role *role, unsigned rank, const char *text,
                struct buf *out, struct err *err)
{
    struct vars v;

    if (!vars_of(p, role, rank, &v))
        return err_set(err, -EINVAL, "%s:%u: the cluster specification has no such task",
                       role->name, rank);
    return vars_expand(&v, text, out, err);
}

int plan_task(const struct plan *p, const struct spec_role *role, unsigned rank,
              struct plan_task *ret, struct err *err)
{
    AUTO_PLAN_TASK mine = { 0 };
    struct framework_task t = {
        .framework = p->framework,
        .spec = p->spec,
        .cluster = p->cluster,
        .role = role,
        .rank = rank,
        .attempt = p->attempt,
        .job = p->job,
        .server_host = p->server_host,
        .server_port = p->server_port,
        .error_file = p->error_file,
        .inherited = p->inherited,
        .argv = &mine.argv,
        .env = &mine.env,
    };
    struct vars v;
    const struct cluster_task *c = vars_of(p, role, rank, &v);
    char task[64];
    int r;

    (void)snprintf(task, sizeof(task), "%s:%u", role->name, rank);
    if (!c)
        return err_set(err, -EINVAL, "%s: the cluster specification has no such task", task);
    r = plan_fill(p, &t, &v, c, err);
    if (r == 0)
        r = plan_check(&mine, err);
    if (r < 0)
        return err_wrap(err, r, "%s", task);
    *ret = mine;
    mine = (struct plan_task){ 0 };
    return 0;
}
