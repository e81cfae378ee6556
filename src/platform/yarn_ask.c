/* yarn_ask.c - see yarn_private.h. Every slot is asked for under an allocation id of its own, so
 * that a grant says whose it is. */
#include "platform/yarn_private.h"

#define SERVED_SHARE 3 / 2 /* of a heartbeat: by then a node that has room has said so */

/* Roles are served in the order of the job file: servers before the workers that need them. */
static int32_t priority_of(const struct yarn_platform *p, const struct spec_role *role)
{
    return (int32_t)(role - p->opt.spec->roles) + 1;
}

static const char *label_of(const struct yarn_platform *p, const struct spec_role *role)
{
    return role->label ? role->label : p->opt.spec->label;
}

int yarn_ask_slot(struct yarn_platform *p, uint32_t slot, struct err *err)
{
    struct yarn_seat *s = p->seats[slot];
    struct yarn_role_room room;
    struct yarn_resource size;
    struct ask_place place = { 0 };
    struct ask ask = {
        .priority = priority_of(p, s->role), .id = slot, .count = 1, .label = label_of(p, s->role)
    };
    int r;

    yarn_role_resource(s->role, &room, &size);
    ask.resource = size;
    /* Labelled asks may name no node: their label is a choice of nodes already. */
    s->node = ask.label ? YARN_SPREAD_ANYWHERE : yarn_spread_pick(p->spread, &size);
    if (s->node != YARN_SPREAD_ANYWHERE) {
        place.host = yarn_spread_host(p->spread, s->node);
        place.rack = yarn_spread_rack(p->spread, s->node);
        ask.places = &place;
        ask.n_places = 1;
        ask.strict = true;
    }
    r = amrm_ask(am_rm(p->am), &ask, err);
    if (r < 0) {
        yarn_spread_back(p->spread, s->node, &size);
        return r;
    }
    s->strict = ask.strict;
    s->asked_at = loop_now(p->loop);
    s->state = SEAT_ASKED;
    return 0;
}

void yarn_ask_cancel(struct yarn_platform *p, uint32_t slot)
{
    struct yarn_seat *s = p->seats[slot];

    (void)amrm_cancel(am_rm(p->am), priority_of(p, s->role), slot, -1);
}

int64_t yarn_ask_relax(struct yarn_platform *p)
{
    int64_t now = loop_now(p->loop), wait = p->heartbeat * SERVED_SHARE, next = LOOP_NEVER;

    for (uint32_t i = 0; i < p->n_seats; i++) {
        struct yarn_seat *s = p->seats[i];

        if (!s || s->state != SEAT_ASKED || !s->strict)
            continue;
        if (s->asked_at + wait > now) {
            if (s->asked_at + wait < next)
                next = s->asked_at + wait;
            continue;
        }
        s->strict = false;
        (void)amrm_relax(am_rm(p->am), priority_of(p, s->role), i);
    }
    return next;
}
