/* yarn_client_slots.c - see yarn_platform_private.h. Slots beside the client need nothing of YARN:
 * they are granted as soon as that does not make an incomplete gang of a job that only waits. */
#include "base/str.h"
#include "platform/yarn/yarn_platform_private.h"

bool yarn_at_client(const struct yarn_seat *s)
{
    return s->role && s->role->place == SPEC_PLACE_CLIENT;
}

/* The first number that is given out, so that it is the same one for every master of the job. */
int yarn_client_begin(struct yarn_platform *p, struct err *err)
{
    const struct spec *s = p->opt.spec;
    bool any = false;

    for (size_t i = 0; i < s->n_roles; i++)
        any = any || s->roles[i].place == SPEC_PLACE_CLIENT;
    if (!any)
        return 0;
    p->client_agent = ++p->next_agent;
    p->client_name = yarn_boot_client(p->opt.boot->job);
    return p->client_name ? 0 : err_oom(err);
}

void yarn_client_ask(struct yarn_platform *p, uint32_t slot)
{
    p->seats[slot]->state = SEAT_ASKED;
    p->seats[slot]->asked = ASKED_ANYWHERE; /* there is nothing to be relaxed */
}

/* To hold something limits how long the rest may take. A job that waits in a queue for the first of
 * its containers shall not lose its turn because of a slot that it has anyway. */
static bool empty_handed(const struct yarn_platform *p)
{
    bool waits = false;

    for (uint32_t i = 0; i < p->n_seats; i++) {
        const struct yarn_seat *s = p->seats[i];

        if (!s || yarn_at_client(s))
            continue;
        if (s->state >= SEAT_STARTING)
            return false;
        waits = waits || s->state == SEAT_ASKED;
    }
    return waits;
}

void yarn_client_grant(struct yarn_platform *p)
{
    if (!p->client_agent || p->closing || empty_handed(p))
        return;
    for (uint32_t i = 0; i < p->n_seats; i++) {
        struct yarn_seat *s = p->seats[i];

        if (!s || !yarn_at_client(s) || s->state != SEAT_ASKED)
            continue;
        s->state = SEAT_RUNNING;
        s->agent = p->client_agent;
        p->base.on.on_granted(p->base.on.user, i, s->agent, NULL, 0);
    }
}
