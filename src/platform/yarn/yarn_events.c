/* yarn_events.c - the fiber that takes the ResourceManager's events: grants are matched to slots
 * by allocation id, all grants of one answer are started together, and completed containers
 * become losses with a cause. See yarn_platform_private.h. */
#include "base/log.h"
#include "hadoop/rpc/exception.h"
#include "platform/yarn/yarn_image.h"
#include "platform/yarn/yarn_platform_private.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX_ 600
/* After a silence that is longer it may be that the ResourceManager takes us for dead, and starts
 * another master. A master that is killed had its answers until a moment before. */
#define SILENT_MS 5000
#define MOST_WAIT_MS 3600000 /* what a cluster may say of its patience */

/* Two of a role may have been given the same node, of several that both had asked for. */
static bool is_welcome(struct yarn_platform *p, struct yarn_seat *s, const char *host)
{
    struct yarn_want want;

    yarn_want_of(p, s->role, &want);
    if (!yarn_spread_allows(p->spread, s->node, host, &want.node))
        return false;
    s->node = yarn_spread_move(p->spread, s->node, host, &want.node);
    return true;
}

/* Nothing is asked for the slot any more; the engine asks again after a while. */
static void yarn_refuse(struct yarn_platform *p, uint32_t slot, const char *text)
{
    yarn_seat_empty(p, p->seats[slot]);
    p->base.on.on_refused(p->base.on.user, slot, false, text);
}

/* A grant that comes late, for a slot that was released or is served by now, goes straight back.
 * One on a node that another of the role has got is given back and asked for again, elsewhere. */
static int take_grant(struct yarn_platform *p, const struct amrm_event *e, struct yarn_grants *g)
{
    const Yarn__Container *c = e->container;
    struct yarn_seat *s = yarn_seat_at(p, e->request);
    struct yarn_container_id id = yarn_container_id_of(c->id);
    const Yarn__NodeId *node = yarn_node_id(c->node_id);

    if (!s || s->state != SEAT_ASKED || !node || p->closing) {
        (void)amrm_release(am_rm(p->am), id, NULL);
        return 0;
    }
    if (!is_welcome(p, s, node->host)) {
        struct err err = ERR_INIT;

        (void)amrm_release(am_rm(p->am), id, NULL);
        if (yarn_ask_slot(p, (uint32_t)e->request, &err) < 0)
            yarn_refuse(p, (uint32_t)e->request, err.text);
        return 0;
    }
    free(s->host);
    s->host = strdup(node->host);
    g->tokens[g->n] = message_copy(c->container_token);
    if (!s->host || !g->tokens[g->n])
        return -ENOMEM;
    s->port = node->port;
    s->container = id;
    s->state = SEAT_STARTING;
    p->granted_at = loop_now(p->loop);
    s->agent = ++p->next_agent;
    g->slots[g->n++] = (uint32_t)e->request;
    /* At once: the same answer may say that it is lost already. */
    p->base.on.on_granted(p->base.on.user, (uint32_t)e->request, s->agent, NULL, 0);
    return 0;
}

/* NULL: its containers are made of none. */
static const char *image_of(const struct yarn_platform *p, const struct spec_role *role)
{
    if (!p->opt.images || !role)
        return NULL;
    return role->image ? role->image : p->opt.spec->image;
}

/* A master before us has told its agent to leave, and cannot hear any more how that ended. */
static void tell_leaver(struct yarn_platform *p, const struct yarn_leaver *l,
                        const Yarn__ContainerStatus *status)
{
    enum platform_left how = status->exit_status == 0                ? PLATFORM_LEFT_SAVED
                             : yarn_end_unsaved(status->exit_status) ? PLATFORM_LEFT_UNSAVED
                                                                     : PLATFORM_LEFT_LOST;
    char text[TEXT_MAX_];

    if (!l || !l->adopted || p->closing)
        return;
    yarn_end_text(status->exit_status, status->diagnostics, text, sizeof(text));
    p->base.on.on_leaver(p->base.on.user, l->agent, how, text);
}

/* Exit status 0 means that the agent left in order, which is told before the loss: during the save
 * phase that is the news. Whatever ended the container, YARN's diagnostics give the class of the
 * failure. */
static void on_completed(struct yarn_platform *p, struct yarn_container_id id,
                         const Yarn__ContainerStatus *status)
{
    int64_t slot = yarn_slot_of(p, id);
    struct yarn_seat *s = yarn_seat_at(p, slot);
    char text[TEXT_MAX_], name[YARN_CONTAINER_ID_TEXT];
    enum fail_class cls = yarn_end_class(status->exit_status, status->diagnostics), of_image;

    tell_leaver(p, yarn_leaver_of(p, id), status);
    yarn_leaver_ended(p, id);
    if (!s || s->state == SEAT_SILENT) /* taken back by ourselves: it may run (yarn_silent.c) */
        return;
    yarn_end_text(status->exit_status, status->diagnostics, text, sizeof(text));
    of_image = yarn_image_failed(image_of(p, s->role), status->exit_status, status->diagnostics,
                                 text, sizeof(text));
    if (of_image != FAIL_NONE)
        cls = of_image;
    trace(LOG_PLATFORM, "%s (slot %u): %s", yarn_container_id_text(id, name), (unsigned)slot, text);
    yarn_seat_empty(p, s);
    cond_wake_all(&p->changed);
    if (!p->closing && status->exit_status == 0)
        p->base.on.on_left(p->base.on.user, (uint32_t)slot);
    if (!p->closing)
        p->base.on.on_lost(p->base.on.user, (uint32_t)slot, cls, text);
}

/* Of a master before us: it would be ours, if it had reported its purpose to anyone. */
static void on_previous(struct yarn_platform *p, const Yarn__Container *c)
{
    struct yarn_container_id id = yarn_container_id_of(c->id);
    struct yarn_seat *s = yarn_seat_at(p, yarn_slot_of(p, id));
    const Yarn__NodeId *node = yarn_node_id(c->node_id);
    struct yarn_leaver *l = yarn_leaver_of(p, id);
    struct yarn_want want;

    if (l && node) { /* its agent saves */
        free(l->host);
        l->host = strdup(node->host);
        l->port = node->port;
        return;
    }
    if (!s || !node) {
        (void)amrm_release(am_rm(p->am), id, NULL);
        return;
    }
    free(s->host);
    s->host = strdup(node->host);
    s->port = node->port;
    yarn_want_of(p, s->role, &want);
    s->node = yarn_spread_move(p->spread, s->node, node->host, &want.node);
}

/* How long YARN waits before it takes a container by force; -1: nobody says. */
static int64_t preempt_wait(const struct yarn_platform *p)
{
    const struct conf *c = p->opt.node ? p->opt.node : session_conf(p->opt.session);
    int64_t ms = 0;

    return conf_int(c, "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill", &ms,
                    NULL) == 0 &&
                   ms >= 0 && ms <= MOST_WAIT_MS
               ? ms
               : -1;
}

static void on_preempt(struct yarn_platform *p, struct yarn_container_id id)
{
    int64_t slot = yarn_slot_of(p, id);

    if (slot >= 0 && p->seats[slot]->state != SEAT_SILENT && !p->closing)
        p->base.on.on_leaving(p->base.on.user, (uint32_t)slot, preempt_wait(p),
                              "YARN wants its container back for another queue");
}

/* A node that is decommissioned gracefully keeps its containers until its time is over. One that is
 * gone is told of by the ends of its containers. */
static void tell_node(struct yarn_platform *p, const char *host, const Yarn__NodeReport *node)
{
    bool leaves = node->state == YARN__NODE_STATE__NODE_DECOMMISSIONING;
    int64_t ms = node->has_decommissioning_timeout && node->decommissioning_timeout > 0
                     ? (int64_t)node->decommissioning_timeout * 1000
                     : -1;

    if (!p->closing && (leaves || node->state == YARN__NODE_STATE__NODE_RUNNING))
        p->base.on.on_node(p->base.on.user, host, leaves, leaves ? ms : -1);
}

static void on_node(struct yarn_platform *p, const Yarn__NodeReport *node)
{
    const Yarn__NodeId *id = yarn_node_id(node->node_id);
    struct yarn_facts_node n = { 0 };
    bool usable = node->state == YARN__NODE_STATE__NODE_RUNNING;

    if (!id)
        return;
    n.host = (char *)id->host;
    n.rack = (char *)node->rack_name;
    n.label = node->n_labels ? (char *)node->labels[0] : NULL;
    n.memory = yarn_memory(node->capability) - yarn_memory(node->used);
    n.vcores = yarn_vcores(node->capability) - yarn_vcores(node->used);
    n.gpus = yarn_amount_of(node->capability, YARN_GPU) - yarn_amount_of(node->used, YARN_GPU);
    (void)yarn_spread_set(p->spread, &n, usable);
    tell_node(p, id->host, node);
}

/* "the ResourceManager fails at the job's heartbeats: NullPointerException: …" */
static const char *failing(const struct err *why, char *out, size_t n)
{
    snprintf(out, n, "the ResourceManager %s: %s",
             why->detail == RPC_EX_NONE ? "cannot be reached" : "fails at the job's heartbeats",
             why->text);
    return out;
}

const char *yarn_trouble(struct platform *base)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    const struct err *why = am_trouble(p->am);

    return why->code ? failing(why, p->trouble, sizeof(p->trouble)) : "";
}

/* The ResourceManager says where the containers are that it kept: before that no node is known. */
bool yarn_is_forgotten(struct platform *base, uint32_t agent)
{
    const struct yarn_platform *p = (struct yarn_platform *)base;

    for (uint32_t i = 0; i < p->n_seats; i++) {
        const struct yarn_seat *s = p->seats[i];

        if (s && s->state == SEAT_RUNNING && s->agent == agent && !s->host && !yarn_at_client(s))
            return true;
    }
    for (const struct yarn_leaver *l = p->leavers; l; l = l->next)
        if (l->agent == agent && !l->host)
            return true;
    return false;
}

static void on_trouble(struct yarn_platform *p, const struct err *why)
{
    char text[YARN_TROUBLE_MAX];

    if (!p->closing)
        p->base.on.on_note(p->base.on.user, failing(why, text, sizeof(text)));
}

static void yarn_on_refused(struct yarn_platform *p, int64_t id, const struct err *why)
{
    struct yarn_seat *s = yarn_seat_at(p, id);
    char text[YARN_TROUBLE_MAX];

    if (!s || s->state != SEAT_ASKED || p->closing)
        return;
    snprintf(text, sizeof(text), "the ResourceManager refuses to give such a container: %s",
             why->text);
    yarn_refuse(p, (uint32_t)id, text);
}

static void yarn_on_registered(struct yarn_platform *p, bool again)
{
    if (again)
        p->base.on.on_note(p->base.on.user, "the ResourceManager has restarted; the job continues");
    else
        p->base.on.on_phase(p->base.on.user, "registered", "rm");
    p->registered = true;
    p->registered_at = loop_now(p->loop);
    cond_wake_all(&p->changed);
}

int yarn_digest(struct yarn_platform *p, const struct amrm_event *e, struct yarn_grants *g)
{
    switch (e->type) {
    case AMRM_REGISTERED:
        yarn_on_registered(p, e->again);
        break;
    case AMRM_GRANTED:
        return take_grant(p, e, g);
    case AMRM_PREVIOUS:
        on_previous(p, e->container);
        break;
    case AMRM_COMPLETED:
        on_completed(p, e->id, e->status);
        break;
    case AMRM_PREEMPT:
        on_preempt(p, e->id);
        break;
    case AMRM_NODE:
        on_node(p, e->node);
        break;
    case AMRM_REFUSED:
        yarn_on_refused(p, e->ask.id, e->why);
        break;
    case AMRM_TROUBLE:
        on_trouble(p, e->why);
        break;
    default: /* tokens are the library's; surplus containers go back by themselves */
        break;
    }
    return 0;
}

/* Takes what is there, so that all grants of an answer are started together.
 * Waits for the first event and takes the rest without waiting: one answer of the ResourceManager
 * may bring hundreds of grants, and each node then gets one call for all of its containers. */
static int take_events(struct yarn_platform *p, struct yarn_grants *g, struct err *err)
{
    const struct amrm_event *e = NULL;
    int r = am_next(p->am, &e, LOOP_NEVER, err);

    g->slots = calloc(p->n_seats + 1, sizeof(*g->slots));
    g->tokens = calloc(p->n_seats + 1, sizeof(*g->tokens));
    if (!g->slots || !g->tokens)
        return err_oom(err);
    while (r == 0) {
        if (yarn_digest(p, e, g) < 0)
            return err_oom(err);
        r = am_next(p->am, &e, 0, err);
    }
    if (r == -ETIMEDOUT) {
        err_clear(err);
        r = 0;
    }
    yarn_start_grants(p, g);
    return r;
}

/* Ends when the ResourceManager has given us up, or we leave. Whether the application was killed,
 * and not only this attempt, is asked there only after an answer that is a moment old: one that was
 * silent before may have replaced us for that reason. */
void yarn_events_run(void *arg)
{
    struct yarn_platform *p = arg;
    struct err err = ERR_INIT;
    bool ended;
    int r = 0;

    while (r == 0) {
        struct yarn_grants g = { 0 };

        r = take_events(p, &g, &err);
        free(g.slots);
        free(g.tokens);
    }
    ended = r != -ECANCELED && !p->closing && !p->over;
    if (ended)
        p->killed = p->registered && loop_now(p->loop) - am_answered(p->am) < SILENT_MS &&
                    yarn_says_killed(p);
    p->events = NULL; /* not before the call: freeing the platform waits for this fiber */
    cond_wake_all(&p->changed);
    if (ended) {
        const struct err *why = am_error(p->am);

        p->over = true;
        p->base.on.on_over(p->base.on.user, why->code ? why->text : err.text);
    }
}
