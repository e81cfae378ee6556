/* yarn_platform.c - the hooks of the platform table. A *seat* is what YARN knows of a slot:
 * asked, granted, started. See yarn_platform.h. */
#include "base/array.h"
#include "base/log.h"
#include "base/str.h"
#include "platform/yarn/yarn_platform_private.h"

#include <stdio.h>
#include <string.h>

#define HEARTBEAT_MS 1000 /* what YARN's nodes have unless somebody changed it */
#define OVER_MS 120       /* a NodeManager gives us a quarter of a second between its two signals */
#define OVER_STEP_MS 15

struct yarn_seat *yarn_seat_at(struct yarn_platform *p, int64_t slot)
{
    return slot >= 0 && slot < (int64_t)p->n_seats ? p->seats[slot] : NULL;
}

/* The slot of a container that is ours and runs, or -1. */
int64_t yarn_slot_of(const struct yarn_platform *p, struct yarn_container_id id)
{
    for (uint32_t i = 0; i < p->n_seats; i++)
        if (p->seats[i] && p->seats[i]->state >= SEAT_STARTING &&
            yarn_container_id_cmp(p->seats[i]->container, id) == 0)
            return i;
    return -1;
}

void yarn_seat_empty(struct yarn_platform *p, struct yarn_seat *s)
{
    struct yarn_want want;

    yarn_want_of(p, s->role, &want);
    yarn_spread_back(p->spread, s->node, &want.node);
    s->node = YARN_SPREAD_ANYWHERE;
    s->state = SEAT_EMPTY;
    s->agent = 0;
}

/* ---- the clock ---- */

static void run_clock(void *arg)
{
    struct yarn_platform *p = arg;
    int r = 0;

    while (r != -ECANCELED) {
        int64_t a = yarn_ask_relax(p), b = yarn_leavers_stop_late(p);

        yarn_client_grant(p);
        r = cond_wait(p->loop, &p->changed, a < b ? a : b);
    }
    p->clock = NULL;
    cond_wake_all(&p->changed);
}

/* ---- slots ---- */

static int yarn_grow_seats(struct yarn_platform *p, uint32_t slot, struct err *err)
{
    while (p->n_seats <= slot)
        if (ARRAY_ADD(p->seats, p->n_seats, NULL) < 0)
            return err_oom(err);
    if (!p->seats[slot]) {
        p->seats[slot] = calloc(1, sizeof(struct yarn_seat));
        if (p->seats[slot])
            p->seats[slot]->node = YARN_SPREAD_ANYWHERE;
    }
    return p->seats[slot] ? 0 : err_oom(err);
}

static int yarn_platform_ask(struct platform *base, uint32_t slot, const struct spec_role *role,
                             struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    int r = yarn_grow_seats(p, slot, err);

    if (r < 0)
        return r;
    if (p->seats[slot]->state != SEAT_EMPTY)
        return err_set(err, -EALREADY, "slot %u is asked for twice", slot);
    p->seats[slot]->role = role;
    if (yarn_at_client(p->seats[slot]))
        yarn_client_ask(p, slot);
    else
        r = yarn_ask_slot(p, slot, err);
    cond_wake_all(&p->changed);
    return r;
}

/* By state: an ask is cancelled; a container that is being started has no agent to ask; one whose
 * agent runs is given time to save results, and is only then stopped. The seat is free for the
 * next ask in any case, as a leaver has its own record. */
static void yarn_release(struct platform *base, uint32_t slot)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    struct yarn_seat *s = yarn_seat_at(p, slot);

    if (!s || s->state == SEAT_EMPTY)
        return;
    if (yarn_at_client(s))
        ; /* only this platform knows of it, and its agent stays */
    else if (s->state == SEAT_ASKED)
        yarn_ask_cancel(p, slot);
    else if (s->state == SEAT_STARTING)
        yarn_stop_container(p, s->host, s->port, s->container);
    else if (s->state == SEAT_RUNNING) /* one that is silent is being stopped */
        yarn_let_leave(p, s);
    yarn_seat_empty(p, s);
}

static void yarn_take_back(struct platform *base, uint32_t slot)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    struct yarn_seat *s = yarn_seat_at(p, slot);

    if (!s || s->state != SEAT_RUNNING || yarn_at_client(s)) {
        yarn_release(base, slot);
        return;
    }
    yarn_stop_container(p, s->host, s->port, s->container);
    yarn_seat_empty(p, s);
}

/* The container is stopped even if its agent seems dead: tasks may live on in it. For a silent one
 * `on_lost` follows when it has ended or cannot be reached, without waiting for YARN, which may
 * take minutes to notice a dead node; at once where nobody can be asked, and for one that has left.
 */
static void agent_ends(struct platform *base, uint32_t agent, bool silent, const char *why)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    if (yarn_leaver_left(p, agent))
        return;
    for (uint32_t i = 0; i < p->n_seats; i++) {
        struct yarn_seat *s = p->seats[i];

        if (!s || s->state < SEAT_STARTING || s->agent != agent || s->state == SEAT_SILENT)
            continue;
        if (!p->closing && !yarn_at_client(s) && silent && yarn_silent_begin(p, i, why))
            continue;
        if (!p->closing && !yarn_at_client(s))
            yarn_stop_container(p, s->host, s->port, s->container);
        yarn_seat_empty(p, s);
        cond_wake_all(&p->changed);
        if (!p->closing)
            p->base.on.on_lost(p->base.on.user, i, FAIL_NODE, why);
    }
}

static void yarn_agent_gone(struct platform *base, uint32_t agent, const char *why)
{
    agent_ends(base, agent, false, why);
}

static void yarn_agent_silent(struct platform *base, uint32_t agent, const char *why)
{
    agent_ends(base, agent, true, why);
}

static uint32_t find_agent(struct platform *base, const char *container)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    struct yarn_container_id id;
    int64_t slot;

    if (p->client_name && str_eq(container, p->client_name))
        return p->client_agent;
    if (yarn_container_id_parse(container, &id, NULL) < 0)
        return 0;
    slot = yarn_slot_of(p, id);
    /* One that was given up comes too late: its container is being stopped. */
    return slot < 0 || p->seats[slot]->state == SEAT_SILENT ? 0 : p->seats[slot]->agent;
}

static const char *container_of_agent(struct platform *base, uint32_t agent)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    if (p->client_name && agent == p->client_agent)
        return p->client_name;
    for (uint32_t i = 0; i < p->n_seats; i++)
        if (p->seats[i] && p->seats[i]->state >= SEAT_STARTING && p->seats[i]->agent == agent)
            return yarn_container_id_text(p->seats[i]->container, p->container_text);
    return "";
}

static bool at_client(struct platform *base, uint32_t agent)
{
    const struct yarn_platform *p = (struct yarn_platform *)base;

    return p->client_agent && agent == p->client_agent;
}

static int64_t yarn_silence(struct platform *base)
{
    const struct yarn_platform *p = (struct yarn_platform *)base;

    return p->registered ? loop_now(p->loop) - am_answered(p->am) : 0;
}

static const char *yarn_node_of(struct platform *base, uint32_t slot)
{
    const struct yarn_seat *s = yarn_seat_at((struct yarn_platform *)base, slot);

    return s && s->host ? s->host : "";
}

static void avoid(struct platform *base, const char *node, bool on)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    yarn_spread_avoid(p->spread, node, on);
    (void)amrm_blacklist(am_rm(p->am), node, on, NULL);
}

/* For the role that has the fewest nodes to choose from. */
static unsigned count_nodes(struct platform *base)
{
    const struct yarn_platform *p = (struct yarn_platform *)base;
    int32_t all = amrm_cluster_nodes(am_rm(p->am));
    size_t least = all > 0 ? (size_t)all : 0;

    for (size_t i = 0; i < p->opt.spec->n_roles; i++) {
        struct yarn_want want;
        size_t n;

        if (p->opt.spec->roles[i].place == SPEC_PLACE_CLIENT)
            continue;
        yarn_want_of(p, &p->opt.spec->roles[i], &want);
        n = yarn_spread_count(p->spread, want.node.label);
        least = n > 0 && n < least ? n : least;
    }
    return (unsigned)least;
}

void yarn_count_from(struct platform *base, uint32_t number)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    if (number > p->next_agent)
        p->next_agent = number;
}

/* host stays NULL: the log does not say on which port the NodeManager listens. The
 * ResourceManager's first answer does (on_previous()); a container that it does not name there is
 * one it has forgotten. */
int yarn_adopt(struct platform *base, uint32_t slot, const struct spec_role *role, uint32_t agent,
               const char *container, struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    int r = yarn_grow_seats(p, slot, err);

    if (r == 0 && role->place == SPEC_PLACE_CLIENT)
        p->client_agent = agent;
    else if (r == 0)
        r = yarn_container_id_parse(container, &p->seats[slot]->container, err);
    if (r < 0)
        return r;
    p->seats[slot]->role = role;
    p->seats[slot]->agent = agent;
    p->seats[slot]->state = SEAT_RUNNING;
    if (agent > p->next_agent)
        p->next_agent = agent;
    return 0;
}

/* ---- the end ---- */

static size_t taken_seats(const struct yarn_platform *p)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_seats; i++)
        n += p->seats[i] && p->seats[i]->state >= SEAT_STARTING;
    return n;
}

/* Containers that do not leave by themselves end with the application, a moment later. */
static int yarn_close_platform(struct platform *base, int64_t deadline, struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    int r = 0;

    (void)err;
    p->closing = true;
    while (r == 0 && (taken_seats(p) > 0 || yarn_any_leaver(p)) && !p->over)
        r = cond_wait(p->loop, &p->changed, deadline);
    return 0;
}

int yarn_finish(struct platform *base, Yarn__FinalStatus status, const char *text, int64_t deadline,
                struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    p->closing = true;
    return p->over ? 0 : am_finish(p->am, status, text, "", deadline, err);
}

/* After a kill one more heartbeat may still be answered as if nothing had happened. */
static bool yarn_is_killed(struct platform *base)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    int64_t deadline = loop_in(p->loop, OVER_MS);

    while (!p->over && loop_now(p->loop) < deadline) {
        am_hurry(p->am);
        if (cond_wait(p->loop, &p->changed, loop_in(p->loop, OVER_STEP_MS)) == -ECANCELED)
            break;
    }
    return p->killed;
}

int yarn_set_tokens(struct platform *base, struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    yarn_launch_forget(p);
    return yarn_launch_make_tokens(p, err);
}

static void yarn_stop_fibers(struct yarn_platform *p)
{
    p->closing = true;
    fiber_shield(p->loop, true);
    if (p->events)
        fiber_cancel(p->events);
    if (p->clock)
        fiber_cancel(p->clock);
    while (p->events || p->clock || p->starting > 0)
        (void)cond_wait(p->loop, &p->changed, LOOP_NEVER);
    fiber_shield(p->loop, false);
}

static struct platform *yarn_free_platform(struct platform *base)
{
    struct yarn_platform *p = (struct yarn_platform *)base;

    if (p->am)
        yarn_stop_fibers(p);
    while (p->leavers)
        yarn_leaver_ended(p, p->leavers->container);
    p->am = am_free(p->am);
    p->nodes = nm_pool_free(p->nodes);
    p->spread = yarn_spread_free(p->spread);
    yarn_launch_forget(p);
    buf_done(&p->tokens);
    for (uint32_t i = 0; i < p->n_seats; i++) {
        if (p->seats[i])
            free(p->seats[i]->host);
        free(p->seats[i]);
    }
    free(p->seats);
    free(p->client_name);
    free(p);
    return NULL;
}

static const struct platform_ops yarn_ops = {
    .name = "yarn",
    .apart = true,
    .ask = yarn_platform_ask,
    .release = yarn_release,
    .take_back = yarn_take_back,
    .agent_gone = yarn_agent_gone,
    .agent_silent = yarn_agent_silent,
    .find_agent = find_agent,
    .container = container_of_agent,
    .node = yarn_node_of,
    .avoid = avoid,
    .nodes = count_nodes,
    .trouble = yarn_trouble,
    .at_client = at_client,
    .silence = yarn_silence,
    .is_killed = yarn_is_killed,
    .forgotten = yarn_is_forgotten,
    .close = yarn_close_platform,
    .free = yarn_free_platform,
};

/* The one that the ResourceManager knows already; its page is new. */
static int take_early(struct yarn_platform *p, struct yarn_early *e, struct err *err)
{
    p->nodes = take(e->nodes);
    p->am = take(e->am);
    return amrm_set_tracking_url(am_rm(p->am), p->opt.shown.tracking_url, err);
}

static int open_am(struct yarn_platform *p, struct err *err)
{
    struct am_conf conf = { .shown = p->opt.shown, .node = p->opt.node };
    int r;

    if (p->am)
        return 0;
    r = nm_pool_new(p->opt.session, 0, &p->nodes, err);
    conf.nodes = p->nodes;
    if (r == 0)
        r = am_new(p->opt.session, &conf, &p->am, err);
    return r < 0 ? r : am_start(p->am, err);
}

static int yarn_begin(struct yarn_platform *p, struct err *err)
{
    const struct yarn_facts *facts = p->opt.facts;
    AUTO_YARN_EARLY *early = take(p->opt.early);
    int r = early ? take_early(p, early, err) : 0;

    p->spread = yarn_spread_new(facts->nodes, facts->n_nodes);
    if (r == 0 && !p->spread)
        r = err_oom(err);
    if (r == 0)
        r = yarn_client_begin(p, err);
    if (r == 0)
        r = yarn_launch_make_tokens(p, err);
    if (r == 0)
        r = open_am(p, err);
    if (r == 0)
        r = fiber_start(p->loop, yarn_events_run, p, &p->events, err);
    if (r == 0)
        r = fiber_start(p->loop, run_clock, p, &p->clock, err);
    return r;
}

int yarn_new(const struct yarn_options *opt, const struct platform_events *on,
             struct platform **ret, struct err *err)
{
    struct yarn_platform *p = calloc(1, sizeof(*p));
    int r;

    if (!p) {
        (void)yarn_early_free(opt->early);
        return err_oom(err);
    }
    p->base = (struct platform){ .ops = &yarn_ops, .on = *on };
    p->opt = *opt;
    p->loop = session_loop(opt->session);
    p->heartbeat = opt->facts->heartbeat > 0 ? opt->facts->heartbeat : HEARTBEAT_MS;
    p->tokens.max = MIB;
    r = yarn_begin(p, err);
    if (r < 0) {
        (void)yarn_free_platform(&p->base);
        return r;
    }
    *ret = &p->base;
    return 0;
}
