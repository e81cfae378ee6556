/* yarn_ask.c - see yarn_platform_private.h. Every slot is asked for under an allocation id of its
 * own, so that a grant says whose it is. */
#include "platform/yarn/yarn_platform_private.h"

#define SERVED_SHARE 3 / 2 /* of a heartbeat: by then a node that has room has said so */
#define SERVED_MIN_MS 300  /* however quick the nodes are, the RM needs its time too */
#define APART_MS 3000      /* … and where two on one node would be lost together */
#define CHOICE_MAX 64      /* nodes that one container is asked for on */
#define CHOICE_MS 5000     /* then others have their turn, and those that are new */

/* Roles are served in the order of the job file: servers before the workers that need them. */
static int32_t priority_of(const struct yarn_platform *p, const struct spec_role *role)
{
    return (int32_t)(role - p->opt.spec->roles) + 1;
}

static const char *yarn_label_of(const struct yarn_platform *p, const struct spec_role *role)
{
    return role->label ? role->label : p->opt.spec->label;
}

void yarn_want_of(const struct yarn_platform *p, const struct spec_role *role,
                  struct yarn_want *ret)
{
    yarn_role_resource(role, &ret->room, &ret->size);
    ret->node = (struct yarn_spread_want){
        .size = &ret->size,
        .label = yarn_label_of(p, role),
        .role = (size_t)(role - p->opt.spec->roles),
        .how = role->spread,
        .hosts = &role->hosts,
    };
}

/* Asks for one container on one of these nodes, or anywhere when there are none. */
static int send_ask(struct yarn_platform *p, uint32_t slot, const size_t *nodes, size_t n,
                    struct err *err)
{
    struct yarn_seat *s = p->seats[slot];
    struct ask_place places[CHOICE_MAX];
    struct yarn_want want;
    struct ask ask = { .priority = priority_of(p, s->role), .id = slot, .count = 1 };
    int r;

    yarn_want_of(p, s->role, &want);
    for (size_t i = 0; i < n; i++)
        places[i] = (struct ask_place){ .host = yarn_spread_host(p->spread, nodes[i]),
                                        .rack = yarn_spread_rack(p->spread, nodes[i]) };
    ask.resource = want.size;
    ask.label = want.node.label;
    ask.places = places;
    ask.n_places = n;
    ask.strict = n > 0;
    r = amrm_ask(am_rm(p->am), &ask, err);
    s->asked_at = loop_now(p->loop);
    return r;
}

/* A node for each container of the role: wherever there is none of them yet. */
static int ask_choice(struct yarn_platform *p, uint32_t slot, struct err *err)
{
    struct yarn_seat *s = p->seats[slot];
    size_t nodes[CHOICE_MAX], n, turn = slot + (size_t)(loop_now(p->loop) / CHOICE_MS) * CHOICE_MAX;
    struct yarn_want want;

    yarn_want_of(p, s->role, &want);
    n = yarn_spread_choice(p->spread, &want.node, turn, nodes, CHOICE_MAX);
    s->asked = n > 0 ? ASKED_CHOICE : ASKED_NOTHING;
    s->asked_at = loop_now(p->loop);
    return n > 0 ? send_ask(p, slot, nodes, n, err) : 0;
}

/*     NODE      one node, strictly ──not served──► ANYWHERE, or CHOICE where tasks must be apart
 *     CHOICE    any of some nodes that have none of the role ──CHOICE_MS──► the next of them
 *     NOTHING   no such node now: looks again
 *     ANYWHERE  for good
 *
 * Strict asks let a node serve all of its containers with one report of its own. */
int yarn_ask_slot(struct yarn_platform *p, uint32_t slot, struct err *err)
{
    struct yarn_seat *s = p->seats[slot];
    struct yarn_want want;
    int r;

    yarn_want_of(p, s->role, &want);
    s->node = yarn_spread_pick(p->spread, &want.node);
    if (s->node != YARN_SPREAD_ANYWHERE) {
        s->asked = ASKED_NODE;
        r = send_ask(p, slot, &s->node, 1, err);
    } else if (s->role->spread == SPEC_SPREAD_NODE) {
        r = ask_choice(p, slot, err);
    } else {
        s->asked = ASKED_ANYWHERE;
        r = send_ask(p, slot, NULL, 0, err);
    }
    if (r < 0) {
        yarn_spread_back(p->spread, s->node, &want.node);
        s->node = YARN_SPREAD_ANYWHERE;
        return r;
    }
    s->state = SEAT_ASKED;
    return 0;
}

void yarn_ask_cancel(struct yarn_platform *p, uint32_t slot)
{
    struct yarn_seat *s = p->seats[slot];

    (void)amrm_cancel(am_rm(p->am), priority_of(p, s->role), slot, -1);
}

/* ---- what is not served ---- */

/* The same ask is loosened where that is enough. One that must stay apart from its role is
 * cancelled and asked for anew, because it may not go just anywhere. */
static void relax(struct yarn_platform *p, uint32_t slot)
{
    struct yarn_seat *s = p->seats[slot];
    struct yarn_want want;

    if (s->role->spread != SPEC_SPREAD_NODE) {
        s->asked = ASKED_ANYWHERE;
        (void)amrm_relax(am_rm(p->am), priority_of(p, s->role), slot);
        return;
    }
    yarn_want_of(p, s->role, &want);
    yarn_spread_back(p->spread, s->node, &want.node);
    s->node = YARN_SPREAD_ANYWHERE;
    yarn_ask_cancel(p, slot);
    (void)ask_choice(p, slot, NULL);
}

/* While grants keep coming, the nodes are being served one after the other: who gives up then gets
 * what is left over on the nodes that were first, and hundreds of tasks end up on a few of them. */
static int64_t waits_since(const struct yarn_platform *p, const struct yarn_seat *s)
{
    int64_t since = s->asked_at;

    if (!p->registered)
        return loop_now(p->loop); /* nobody has heard of it yet */
    if (s->asked == ASKED_NODE && p->granted_at > since)
        since = p->granted_at;
    return p->registered_at > since ? p->registered_at : since;
}

int64_t yarn_ask_relax(struct yarn_platform *p)
{
    const int64_t share = p->heartbeat * SERVED_SHARE;
    const int64_t served = share > SERVED_MIN_MS ? share : SERVED_MIN_MS;
    const int64_t chosen = p->opt.apart && served < APART_MS ? APART_MS : served;
    const int64_t waits[] = {
        [ASKED_NODE] = chosen, [ASKED_CHOICE] = CHOICE_MS, [ASKED_NOTHING] = served
    };
    int64_t now = loop_now(p->loop), next = LOOP_NEVER;

    for (uint32_t i = 0; i < p->n_seats; i++) {
        struct yarn_seat *s = p->seats[i];
        int64_t at;

        if (!s || s->state != SEAT_ASKED || s->asked == ASKED_ANYWHERE)
            continue;
        if (waits_since(p, s) + waits[s->asked] <= now)
            relax(p, i);
        at = s->asked == ASKED_ANYWHERE ? LOOP_NEVER : waits_since(p, s) + waits[s->asked];
        next = at < next ? at : next;
    }
    return next;
}
