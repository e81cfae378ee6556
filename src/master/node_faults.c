/* node_faults.c - nodes on which things fail: which of them get no more containers, and until when.
 *
 * The list is told to the platform, so that the cluster's own answers keep to it, and written to
 * the events log, so that the next master does too. */
#include "base/log.h"
#include "master/master_private.h"

/* The note is for people and for the next master alike: node_faults_restore() reads its "avoid" and
 * "lift" keys back. */
static void node_faults_tell(struct master *m, const char *node, bool on)
{
    AUTO_FREE char *text =
        str_printf(on ? "'%s' is avoided from now on: too much has failed there"
                      : "'%s' is tried again: what is asked for was not served elsewhere",
                   node);
    struct event e;

    m->platform->ops->avoid(m->platform, node, on);
    engine_event(m->engine, EVENT_NOTE, master_now(m), &e);
    event_str(&e, "level", "warning");
    event_str(&e, "text", text);
    event_str(&e, on ? "avoid" : "lift", node);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    master_wake(m);
}

void node_faults_node(struct master *m, const char *node, enum fail_class cls)
{
    if (!platform_can_avoid(m->platform) || !*node || m->ended)
        return;
    if (blacklist_fault(m->avoid, node, blacklist_cause_of(cls),
                        m->platform->ops->nodes(m->platform)) > 0)
        node_faults_tell(m, node, true);
}

/* The oldest ask that is not served; INT64_MAX: all are. */
static int64_t waiting_since(const struct master *m)
{
    int64_t since = INT64_MAX;

    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.v[i].asked && m->slots.v[i].asked < since)
            since = m->slots.v[i].asked;
    return since;
}

/* A node that is avoided costs nothing while all asks are served elsewhere. So nodes are let off
 * one by one, and only because an ask has waited for long. */
int64_t node_faults_deadline(const struct master *m)
{
    const struct platform_ops *ops = m->platform->ops;
    int64_t since =
        platform_can_avoid(m->platform) && blacklist_any(m->avoid) ? waiting_since(m) : INT64_MAX;

    return since == INT64_MAX ? since : blacklist_lift_at(m->avoid, since, ops->nodes(m->platform));
}

void node_faults_on_time(struct master *m)
{
    int64_t now = master_now(m);

    while (node_faults_deadline(m) <= now)
        node_faults_tell(m, blacklist_lift(m->avoid, now), false);
}

int node_faults_restore(struct master *m, const json_t *note)
{
    const char *node = json_string_value(json_object_get(note, "avoid"));
    bool on = node != NULL;

    if (!on)
        node = json_string_value(json_object_get(note, "lift"));
    return node && *node ? blacklist_restore(m->avoid, node, on) : 0;
}

static void avoid_again(void *arg, const char *node)
{
    struct master *m = arg;

    m->platform->ops->avoid(m->platform, node, true);
}

void node_faults_resume(struct master *m)
{
    if (platform_can_avoid(m->platform))
        blacklist_each(m->avoid, avoid_again, m);
}
