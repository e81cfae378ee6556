/* task.c - writes environments straight into arrays, without printf: a job of ten thousand tasks
 * sets hundreds of thousands of variables before it starts. See task.h. */
#include "framework/task.h"

#include <stdio.h>
#include <string.h>

const struct framework_role task_workers[] = {
    { .name = "worker", .decides = true, .ranked = true, .doc = "trains" },
    { 0 },
};
const struct framework_role task_listeners[] = {
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains" },
    { 0 },
};

/* "NAME=value" without a printf: a large job sets hundreds of thousands of them. */
static int task_add(struct strs *l, const char *name, const char *value)
{
    size_t n = strlen(name), m = strlen(value);
    char *s = malloc(n + m + 2), *p;

    if (!s)
        return -ENOMEM;
    p = mempcpy(s, name, n);
    *p++ = '=';
    memcpy(p, value, m + 1);
    return strs_take(l, s);
}

void env_text(struct env *e, const char *name, const char *value)
{
    if (e->r == 0)
        e->r = task_add(e->t->env, name, value);
}

void env_number(struct env *e, const char *name, long long value)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%lld", value);
    env_text(e, name, digits);
}

void env_printf(struct env *e, const char *name, const char *fmt, ...)
{
    AUTO_FREE char *value = NULL;
    va_list ap;

    va_start(ap, fmt);
    value = str_vprintf(fmt, ap);
    va_end(ap);
    if (value)
        env_text(e, name, value);
    else
        e->r = -ENOMEM;
}

int env_end(const struct env *e, struct err *err)
{
    return e->r < 0 ? err_oom(err) : 0;
}

static bool in_vars(const struct spec_vars *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].name, name))
            return true;
    return false;
}

bool task_said(const struct framework_task *t, const char *name)
{
    size_t n = strlen(name);

    if (in_vars(&t->spec->env, name) || in_vars(&t->role->env, name))
        return true;
    for (const char *const *v = t->inherited; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return true;
    return false;
}

static unsigned procs_of(const struct framework_task *t, const char *role)
{
    const struct spec_role *r = spec_role(t->spec, role);

    return r && r->procs > 0 ? r->procs : 1;
}

/* Several roles may share one numbering (a chief is rank 0, workers follow): ranks go through the
 * framework's rows in their order, and each role begins where the one before ended. */
bool world_of(const struct framework_task *t, struct world *ret)
{
    const struct framework_role *own = framework_role(t->framework, t->role->name);
    struct world w = { 0 };

    if (!own || !own->ranked)
        return false;
    for (const struct framework_role *row = t->framework->roles; row->name; row++) {
        const struct cluster_role *c = row->ranked ? cluster_role(t->cluster, row->name) : NULL;

        if (!c || c->n == 0)
            continue;
        if (row == own && t->rank < c->n) {
            w.self = &c->tasks[t->rank];
            w.rank = w.size + t->rank;
            w.slot = w.slots + w.self->slot;
            w.role_size = (unsigned)c->n;
        }
        if (!w.first)
            w.first = &c->tasks[0];
        w.size += (unsigned)c->n;
        w.slots += (unsigned)c->n / procs_of(t, row->name);
    }
    if (!w.self)
        return false;
    w.role_rank = t->rank;
    w.local_rank = w.self->local_rank;
    w.local_size = procs_of(t, t->role->name);
    *ret = w;
    return true;
}

/* `neighbours` is a set of bits, one for each role of the cluster that has another task on the same
 * machine. */
bool world_shares_machine(const struct framework_task *t, const struct world *w)
{
    for (size_t i = 0; i < t->cluster->n && w->self->neighbours >> i; i++) {
        const struct framework_role *row = framework_role(t->framework, t->cluster->roles[i].name);

        if (row && row->ranked && (w->self->neighbours >> i & 1))
            return true;
    }
    return false;
}

const struct cluster_task *task_first(const struct framework_task *t, const char *role)
{
    const struct cluster_role *c = cluster_role(t->cluster, role);

    return c && c->n > 0 ? &c->tasks[0] : NULL;
}

size_t task_count(const struct framework_task *t, const char *role)
{
    const struct cluster_role *c = cluster_role(t->cluster, role);

    return c ? c->n : 0;
}

const char *task_address(const struct cluster_task *c, char out[TASK_ADDRESS_MAX])
{
    bool six = strchr(c->host, ':') != NULL;

    (void)snprintf(out, TASK_ADDRESS_MAX, "%s%s%s:%u", six ? "[" : "", c->host, six ? "]" : "",
                   c->port[0]);
    return out;
}

int task_hosts(const struct framework_task *t, const char *role, const char *between,
               struct buf *out)
{
    const struct cluster_role *c = cluster_role(t->cluster, role);
    char address[TASK_ADDRESS_MAX];
    int r = 0;

    for (size_t i = 0; c && r == 0 && i < c->n; i++) {
        if (i > 0)
            r = buf_add_str(out, between);
        if (r == 0)
            r = buf_add_str(out, task_address(&c->tasks[i], address));
    }
    return r;
}
