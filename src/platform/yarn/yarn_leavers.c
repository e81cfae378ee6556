/* yarn_leavers.c - containers that were given back: their agents are given time to save and to go
 * by themselves, then they are stopped. Some are of a master before us. See yarn_platform.h. */
#include "base/str.h"
#include "platform/yarn/yarn_platform_private.h"

#include <string.h>

#define LEAVE_MS 90000 /* for an agent to bring its results home */

struct yarn_leaver *yarn_leaver_of(struct yarn_platform *p, struct yarn_container_id id)
{
    struct yarn_leaver *l = p->leavers;

    while (l && yarn_container_id_cmp(l->container, id) != 0)
        l = l->next;
    return l;
}

void yarn_leaver_ended(struct yarn_platform *p, struct yarn_container_id id)
{
    struct yarn_leaver **at = &p->leavers;

    while (*at) {
        struct yarn_leaver *l = *at;

        if (yarn_container_id_cmp(l->container, id) == 0) {
            *at = l->next;
            free(l->host);
            free(l);
            cond_wake_all(&p->changed);
            return;
        }
        at = &l->next;
    }
}

void yarn_let_leave(struct yarn_platform *p, struct yarn_seat *s)
{
    struct yarn_leaver *l = calloc(1, sizeof(*l));

    if (!l) {
        yarn_stop_container(p, s->host, s->port, s->container);
        return;
    }
    *l = (struct yarn_leaver){ .container = s->container,
                               .agent = s->agent,
                               .host = strdup(s->host ? s->host : ""),
                               .port = s->port,
                               .until = loop_in(p->loop, LEAVE_MS),
                               .next = p->leavers };
    p->leavers = l;
    cond_wake_all(&p->changed);
}

bool yarn_leaver_left(struct yarn_platform *p, uint32_t agent)
{
    for (struct yarn_leaver *l = p->leavers; l; l = l->next)
        if (l->agent == agent) {
            yarn_leaver_ended(p, l->container);
            return true;
        }
    return false;
}

int yarn_adopt_leaver(struct platform *base, uint32_t agent, const char *container, struct err *err)
{
    struct yarn_platform *p = (struct yarn_platform *)base;
    struct yarn_container_id id;
    int r = yarn_container_id_parse(container, &id, err);
    struct yarn_leaver *l = r == 0 ? calloc(1, sizeof(*l)) : NULL;

    if (r == 0 && !l)
        r = err_oom(err);
    if (r < 0)
        return r;
    *l = (struct yarn_leaver){ .container = id,
                               .agent = agent,
                               .until = loop_in(p->loop, LEAVE_MS),
                               .adopted = true,
                               .next = p->leavers };
    p->leavers = l;
    yarn_count_from(base, agent);
    cond_wake_all(&p->changed);
    return 0;
}

bool yarn_any_leaver(const struct yarn_platform *p)
{
    const struct yarn_leaver *l = p->leavers;

    while (l && !l->host)
        l = l->next;
    return l != NULL;
}

/* The stop may be lost with the NodeManager; it is repeated until YARN says that the container has
 * ended. */
int64_t yarn_leavers_stop_late(struct yarn_platform *p)
{
    int64_t now = loop_now(p->loop), next = LOOP_NEVER;

    for (struct yarn_leaver *l = p->leavers; l; l = l->next) {
        if (l->until <= now) {
            l->until = now + LEAVE_MS;
            yarn_stop_container(p, l->host, l->port, l->container);
        }
        next = l->until < next ? l->until : next;
    }
    return next;
}
