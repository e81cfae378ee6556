/* queues.c - `ydl cluster queues`: the tree of queues. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/verbs.h"

#include <string.h>

/* clang-format off */
static const struct table_column columns[] = {
    { "QUEUE",    false, "{name}" },
    { "STATE",    false, "{state}" },
    { "CAPACITY", true,  "{capacity|percent}" },
    { "MOST",     true,  "{max_capacity|percent}" },
    { "USED",     true,  "{used|percent}" },
    { "RUNNING",  true,  "{running}" },
    { "WAITING",  true,  "{waiting}" },
    { "LABELS",   false, "{labels}" },
};
/* clang-format on */

static const char *state_of(const Yarn__QueueInfo *q)
{
    switch (q->has_state ? q->state : 0) {
    case YARN__QUEUE_STATE__QUEUE_RUNNING:
        return "RUNNING";
    case YARN__QUEUE_STATE__QUEUE_STOPPED:
        return "STOPPED";
    case YARN__QUEUE_STATE__QUEUE_DRAINING:
        return "DRAINING";
    default:
        return "UNKNOWN";
    }
}

/* As the RM sends it: -1, or nothing, where the scheduler has none. */
static json_t *share(bool has, float v)
{
    return has && v >= 0 && v < 1e6F ? json_real((double)v * 100) : json_null();
}

static int add_rows(struct table *t, const json_t *v, int level, struct err *err)
{
    const json_t *children = json_object_get(v, "children");
    int r;

    table_cell(t, "%*s%s", 2 * level, "", json_string_value(json_object_get(v, "name")));
    r = doc_row(t, v, err);
    for (size_t i = 0; r == 0 && i < json_array_size(children); i++)
        r = add_rows(t, json_array_get(children, i), level + 1, err);
    return r;
}

/* `above` is the path of the queue it is in, or NULL: before 3.4 the RM does not send it. */
static json_t *make_json(const struct yarn_queue *q, const char *above)
{
    const Yarn__QueueInfo *i = q->info;
    const Yarn__QueueStatistics *s = i->statistics;
    bool whole = !above || strchr(i->queue_name, '.'); /* the fair scheduler's names are paths */
    AUTO_FREE char *path = i->queue_path[0] ? strdup(i->queue_path)
                           : whole          ? strdup(i->queue_name)
                                            : str_printf("%s.%s", above, i->queue_name);
    AUTO_JSON *children = json_array();
    json_t *v = NULL;

    for (size_t n = 0; path && children && n < q->n; n++)
        if (json_array_append_new(children, make_json(&q->children[n], path)) < 0)
            return NULL;
    if (!path)
        return NULL;
    (void)json_make(
        &v, NULL, "{s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "name",
        json_text(i->queue_name), "path", json_text(path), "state", state_of(i), "capacity",
        share(i->has_capacity, i->capacity), "max_capacity",
        share(i->has_maximum_capacity, i->maximum_capacity), "used",
        share(i->has_current_capacity, i->current_capacity), "running",
        (json_int_t)(s ? s->num_apps_running : 0), "waiting",
        (json_int_t)(s ? s->num_apps_pending : 0), "labels",
        json_texts((char *const *)i->accessible_node_labels, i->n_accessible_node_labels),
        "default_label",
        i->default_node_label_expression[0] ? json_text(i->default_node_label_expression)
                                            : json_null(),
        "children", take(children));
    return v;
}

static int queues_work(struct cluster *k, struct err *err)
{
    const char *name = k->x->cli->n_operands ? k->x->cli->operands[0] : NULL;
    AUTO_YARN_QUEUE *q = NULL;
    AUTO_JSON *v = NULL;
    AUTO_TABLE t = { 0 };
    int r = yarn_queue(k->yarn, name, true, &q, err);

    if (r == -ENOENT && name)
        return cluster_check_queue(k, name, false, err);
    if (r < 0)
        return r;
    v = make_json(q, NULL);
    if (!v)
        return err_oom(err);
    if (k->json)
        return doc_print(err, "{s:O}", "queue", v);
    table_begin(&t, stdout, columns, COUNT_OF(columns));
    r = add_rows(&t, v, 0, err);
    return r < 0 ? r : table_end(&t, err);
}

/* clang-format off */
const struct cli_verb verb_cluster_queues = {
    .name = "queues", .summary = "show the tree of queues", .operands = "[QUEUE]", .most = 1,
    CLUSTER_VERB(queues_work),
    .text = "Shows the queues: their share of the queue above, the maximum they may take, how "
            "much of their share is in use, their applications, and the node labels they may use.",
    CLI_EXAMPLES({ "ydl cluster queues root.prod", "show one queue and those below it" }),
};
/* clang-format on */
