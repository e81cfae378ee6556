/* cluster.c - see cluster.h */
#include "job/cluster.h"

#include <string.h>

const struct cluster_role *cluster_role(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->roles[i].name, name) == 0)
            return &c->roles[i];
    return NULL;
}

/* NULL when out of memory, as are the others: json_make() takes that for an answer. */
static json_t *ports_json(const struct cluster_task *t)
{
    AUTO_JSON *list = json_array();

    for (unsigned i = 0; list && i < t->n_ports; i++)
        if (json_array_append_new(list, json_integer(t->port[i])) < 0)
            return NULL;
    return take(list);
}

static json_t *tasks_json(const struct cluster_role *role)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < role->n; i++) {
        const struct cluster_task *t = &role->tasks[i];
        json_t *task = NULL;

        if (json_make(&task, NULL, "{s:I, s:o, s:o, s:o}", "rank", (json_int_t)i, "host",
                      json_text(t->host), "node", json_text(t->node), "ports", ports_json(t)) < 0 ||
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
        if (json_object_set_new(roles, c->roles[i].name, tasks_json(&c->roles[i])) < 0)
            return err_oom(err);
    return json_make(ret, err, "{s:I, s:O}", "generation", (json_int_t)c->generation, "roles",
                     roles);
}
