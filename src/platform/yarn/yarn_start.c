/* yarn_start.c - see yarn_platform_private.h. All containers of a node that one answer brought are
 * started by one call, and nodes do not wait for each other. */
#include "base/log.h"
#include "base/str.h"
#include "platform/yarn/yarn_platform_private.h"

#include <stdio.h>
#include <string.h>

#define START_MS 60000
#define STOP_MS 5000

struct start_call { /* to one node */
    struct yarn_platform *p;
    char *host;
    int32_t port;
    uint32_t *slots;
    struct yarn_container_id *ids; /* a slot may have another one by the time of the answer */
    Hadoop__Token **tokens;
    size_t n;
};

static void start_free(struct start_call *c)
{
    for (size_t i = 0; i < c->n; i++)
        message_free(c->tokens[i]);
    free(c->tokens);
    free(c->slots);
    free(c->ids);
    free(c->host);
    free(c);
}

/* It never ran, so nobody but us knows of it: the ResourceManager takes it back. */
static void start_failed(struct yarn_platform *p, uint32_t slot, const struct err *why)
{
    struct yarn_seat *s = p->seats[slot];
    enum fail_class cls = why->code == -ECONNREFUSED || why->code == -ETIMEDOUT ||
                                  why->code == -EHOSTUNREACH || why->code == -ENETUNREACH
                              ? FAIL_NODE
                              : FAIL_START;

    log_warn(LOG_PLATFORM, "slot %u could not be started on %s: %s", slot, s->host, why->text);
    (void)amrm_release(am_rm(p->am), s->container, NULL);
    yarn_seat_empty(p, s);
    p->base.on.on_lost(p->base.on.user, slot, cls, why->text);
}

void yarn_start_answered(struct yarn_platform *p, uint32_t slot, struct yarn_container_id id,
                         const struct err *why)
{
    struct yarn_seat *s = p->seats[slot];

    if (s->state != SEAT_STARTING || yarn_container_id_cmp(s->container, id) != 0)
        return; /* it was given back meanwhile, and the slot may have another one by now */
    if (why->code)
        start_failed(p, slot, why);
    else
        s->state = SEAT_RUNNING;
}

/* The launch context is made once for each role and shared by all of its containers; a call has a
 * deadline, because a node that died with the grant does not answer. */
static int start_all(struct start_call *c, struct nm_item *items, struct err *err)
{
    struct yarn_platform *p = c->p;
    const struct nm_at at = { .host = c->host,
                              .port = c->port,
                              .deadline = loop_in(p->loop, START_MS) };
    int r = 0;

    for (size_t i = 0; i < c->n && r == 0; i++) {
        items[i].id = c->ids[i];
        items[i].token = c->tokens[i];
        r = yarn_launch_context(p, p->seats[c->slots[i]]->role, &items[i].launch, err);
    }
    return r < 0 ? r : nm_start(p->nodes, &at, items, c->n, err);
}

static void yarn_run_start(void *arg)
{
    struct start_call *c = arg;
    struct yarn_platform *p = c->p;
    AUTO_FREE struct nm_item *items = calloc(c->n, sizeof(*items));
    struct err err = ERR_INIT;
    int r = items ? start_all(c, items, &err) : err_oom(&err);

    for (size_t i = 0; i < c->n; i++)
        yarn_start_answered(p, c->slots[i], c->ids[i], r < 0 ? &err : &items[i].err);
    p->starting--;
    cond_wake_all(&p->changed);
    start_free(c);
}

static bool same_node(const struct yarn_seat *a, const struct start_call *c)
{
    return str_eq(a->host, c->host) && a->port == c->port;
}

static struct start_call *call_new(struct yarn_platform *p, const struct yarn_seat *s, size_t room)
{
    struct start_call *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->p = p;
    c->host = strdup(s->host);
    c->port = s->port;
    c->slots = calloc(room, sizeof(*c->slots));
    c->ids = calloc(room, sizeof(*c->ids));
    c->tokens = calloc(room, sizeof(*c->tokens));
    if (c->host && c->slots && c->ids && c->tokens)
        return c;
    start_free(c);
    return NULL;
}

/* Grants are grouped by node: the first that is left takes along all others of its node. A token
 * that was taken is NULL in the list from then on. */
void yarn_start_grants(struct yarn_platform *p, struct yarn_grants *g)
{
    struct err err = ERR_INIT;

    for (size_t i = 0; i < g->n; i++)
        if (p->seats[g->slots[i]]->state != SEAT_STARTING) /* lost with the answer that gave it */
            g->tokens[i] = message_free(g->tokens[i]);
    for (size_t i = 0; i < g->n; i++) {
        struct start_call *c;

        if (!g->tokens[i])
            continue; /* went with an earlier one of its node */
        c = call_new(p, p->seats[g->slots[i]], g->n - i);
        for (size_t k = i; c && k < g->n; k++)
            if (g->tokens[k] && same_node(p->seats[g->slots[k]], c)) {
                c->slots[c->n] = g->slots[k];
                c->ids[c->n] = p->seats[g->slots[k]]->container;
                c->tokens[c->n++] = take(g->tokens[k]);
            }
        if (!c || fiber_start(p->loop, yarn_run_start, c, NULL, &err) < 0) {
            err_oom(&err);
            start_failed(p, g->slots[i], &err);
            if (c)
                start_free(c);
            continue;
        }
        p->starting++;
    }
    for (size_t i = 0; i < g->n; i++)
        message_free(g->tokens[i]);
    g->n = 0;
}

/* ---- stopping ---- */

struct stop_call {
    struct yarn_platform *p;
    char *host;
    int32_t port;
    struct yarn_container_id id;
};

static void run_stop(void *arg)
{
    struct stop_call *c = arg;
    struct nm_item item = { .id = c->id };
    const struct nm_at at = { .host = c->host,
                              .port = c->port,
                              .deadline = loop_in(c->p->loop, STOP_MS) };
    struct err err = ERR_INIT;

    if (nm_stop(c->p->nodes, &at, &item, 1, &err) < 0)
        trace(LOG_PLATFORM, "stop a container on %s: %s", c->host, err.text);
    c->p->starting--;
    cond_wake_all(&c->p->changed);
    free(c->host);
    free(c);
}

/* `starting` counts these calls too, so that the platform is not freed under them. */
void yarn_stop_container(struct yarn_platform *p, const char *host, int32_t port,
                         struct yarn_container_id id)
{
    struct stop_call *c = host ? calloc(1, sizeof(*c)) : NULL;

    /* The NodeManager is faster; the ResourceManager knows also when the node cannot be reached. */
    (void)amrm_release(am_rm(p->am), id, NULL);
    if (!c)
        return;
    *c = (struct stop_call){ .p = p, .host = strdup(host), .port = port, .id = id };
    if (!c->host || fiber_start(p->loop, run_stop, c, NULL, NULL) < 0) {
        free(c->host);
        free(c);
        return;
    }
    p->starting++;
}
