/* lost.c - a container that is gone while its agent is not.
 *
 *     NodeManager starts anew and forgets its containers ──► YARN: lost ──► its agent is told to
 *     leave ──► its tasks have ended, or it has hung up, or it takes too long ──► the engine
 *
 * The engine starts a replacement as soon as it hears of the loss: two tasks of one rank would run
 * at the same time. So it hears of it when the old one is gone. */
#include "master/master_private.h"

#include <string.h>

#define HEARD_MS 5000 /* an agent that has been silent for longer may be gone with its machine */
#define GONE_MS 5000  /* for its tasks to end */

/* Tasks that run, or may have been started and have not said so. */
static uint32_t count_living(const struct master *m, uint32_t slot)
{
    bool runs = engine_state(m->engine) >= JOB_RUNNING;
    uint32_t role, first, n, living = 0;

    engine_slot(m->engine, slot, &role, &first, &n);
    for (uint32_t i = 0; i < n; i++) {
        enum task_state s = engine_task(m->engine, first + i)->state;

        living += s == TASK_RUNNING || (s == TASK_READY && runs);
    }
    return living;
}

/* Waits only where there is somebody to wait for: a connected agent that was heard of lately, with
 * tasks that live. In all other cases the caller tells the engine at once. A slot waits once; a
 * second loss of it while it waits is told at once and ends the wait (set_slot() calls
 * lost_forget()). */
bool lost_waits(struct master *m, uint32_t slot, enum fail_class cls, const char *text)
{
    struct slot_info *s = &m->slots.v[slot];
    const struct agent_conn *a = agents_get(m, s->agent);
    char *why;

    if (!a || !a->channel || s->lost_until || m->over || m->save.until || agents_at_client(a) ||
        !m->platform->ops->apart || loop_now(m->loop) - a->heard > HEARD_MS)
        return false;
    s->living = count_living(m, slot);
    why = s->living ? strdup(text) : NULL;
    if (!why)
        return false;
    s->lost_why = why;
    s->lost_as = cls;
    s->lost_until = master_now(m) + GONE_MS;
    m->slots.n_lost++;
    return true;
}

void lost_forget(struct master *m, uint32_t slot)
{
    struct slot_info *s = &m->slots.v[slot];

    if (!s->lost_until)
        return;
    free(take(s->lost_why));
    s->lost_until = 0;
    m->slots.n_lost--;
}

static void tell_loss(struct master *m, uint32_t slot)
{
    AUTO_FREE char *why = take(m->slots.v[slot].lost_why);

    drive_lost(m, slot, m->slots.v[slot].lost_as, why);
}

void lost_task_ended(struct agent_conn *a, const struct task *t, uint32_t attempt)
{
    struct master *m = a->master;
    struct slot_info *s = t->slot < m->slots.n ? &m->slots.v[t->slot] : NULL;

    if (s && s->lost_until && s->agent == a->number && attempt == t->attempt && --s->living == 0)
        tell_loss(m, t->slot);
}

void lost_hung_up(struct agent_conn *a)
{
    struct master *m = a->master;

    for (uint32_t i = 0; i < m->slots.n && m->slots.n_lost > 0; i++)
        if (m->slots.v[i].lost_until && m->slots.v[i].agent == a->number)
            tell_loss(m, i);
}

int64_t lost_deadline(const struct master *m)
{
    int64_t at = INT64_MAX;

    for (uint32_t i = 0; i < m->slots.n && m->slots.n_lost > 0; i++)
        if (m->slots.v[i].lost_until && m->slots.v[i].lost_until < at)
            at = m->slots.v[i].lost_until;
    return at;
}

void lost_on_time(struct master *m)
{
    for (uint32_t i = 0; i < m->slots.n && m->slots.n_lost > 0; i++)
        if (m->slots.v[i].lost_until && m->slots.v[i].lost_until <= master_now(m))
            tell_loss(m, i);
}
