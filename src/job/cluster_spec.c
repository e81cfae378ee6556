/* cluster_spec.c - finds who shares a machine with whom by sorting the tasks by node once, so
 * that ten thousand tasks do not compare themselves with each other. See cluster_spec.h. */
#include "job/cluster_spec.h"
#include "base/auto.h"
#include "job/spec/spec.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(SPEC_ROLES_MAX <= 64, "a role has a bit of cluster_task.neighbours");

const struct cluster_role *cluster_role(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->roles[i].name, name) == 0)
            return &c->roles[i];
    return NULL;
}

/* ---- who shares a machine ---- */

struct resident {
    struct cluster_task *task;
    const char *node;
    uint64_t role; /* its bit */
};

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct resident *)a)->node, ((const struct resident *)b)->node);
}

/* These are all on one machine. */
static void introduce(const struct resident *v, size_t n)
{
    uint64_t once = 0, twice = 0;

    for (size_t i = 0; i < n; i++) {
        twice |= once & v[i].role;
        once |= v[i].role;
    }
    for (size_t i = 0; i < n; i++)
        v[i].task->neighbours = (once & ~v[i].role) | (twice & v[i].role);
}

int cluster_find_neighbours(struct cluster *c)
{
    AUTO_FREE struct resident *all = NULL;
    size_t n = 0, end;

    for (size_t r = 0; r < c->n; r++)
        n += c->roles[r].n;
    all = calloc(n + 1, sizeof(*all));
    if (!all)
        return -ENOMEM;
    n = 0;
    for (size_t r = 0; r < c->n; r++)
        for (size_t i = 0; i < c->roles[r].n; i++) {
            struct cluster_task *t = &c->roles[r].tasks[i];

            all[n++] = (struct resident){ t, t->node ? t->node : "", UINT64_C(1) << r };
        }
    qsort(all, n, sizeof(*all), by_node);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && by_node(&all[i], &all[end]) == 0;)
            end++;
        introduce(&all[i], end - i);
    }
    return 0;
}

/* ---- as JSON ---- */

/* NULL when out of memory, as are the others: json_make() takes that for an answer. */
json_t *cluster_ports_json(const struct cluster_task *t)
{
    AUTO_JSON *list = json_array();

    for (unsigned i = 0; list && i < t->n_ports; i++)
        if (json_array_append_new(list, json_integer(t->port[i])) < 0)
            return NULL;
    return take(list);
}

static json_t *cluster_tasks_json(const struct cluster_role *role)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < role->n; i++) {
        const struct cluster_task *t = &role->tasks[i];
        json_t *task = NULL;

        if (json_make(&task, NULL, "{s:I, s:o, s:o, s:o}", "rank", (json_int_t)i, "host",
                      json_text(t->host), "node", json_text(t->node), "ports",
                      cluster_ports_json(t)) < 0 ||
            json_array_append_new(list, task) < 0)
            return NULL;
    }
    return take(list);
}

int cluster_json(const struct cluster *c, json_t **ret, struct err *err)
{
    AUTO_JSON *roles = json_object();

    if (!roles)
        return err_oom(err);
    for (size_t i = 0; i < c->n; i++)
        if (json_object_set_new(roles, c->roles[i].name, cluster_tasks_json(&c->roles[i])) < 0)
            return err_oom(err);
    return json_make(ret, err, "{s:I, s:O}", "generation", (json_int_t)c->generation, "roles",
                     roles);
}
