/* agents_table.c - the agents that there are, by number. Numbers never return and a long job loses
 * many agents, so that those which are gone for good are forgotten: the table is as long as the
 * number of agents that exist, not as the highest number. */
#include "master/master_private.h"

#include <string.h>

/* Where it is, or would be: in the order of numbers. */
static uint32_t agents_find_place(const struct master *m, uint32_t number)
{
    uint32_t from = 0, to = m->agents.n;

    if (to > 0 && m->agents.v[to - 1]->number < number) /* as a new one's is */
        return to;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (m->agents.v[mid]->number < number)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

struct agent_conn *agents_get(const struct master *m, uint32_t number)
{
    uint32_t at = agents_find_place(m, number);

    return at < m->agents.n && m->agents.v[at]->number == number ? m->agents.v[at] : NULL;
}

/* Room for one more. */
static int grow_table(struct master *m)
{
    uint32_t cap = m->agents.cap + m->agents.cap / 2 + 16;
    struct agent_conn **v;

    if (m->agents.n < m->agents.cap)
        return 0;
    v = reallocarray(m->agents.v, cap, sizeof(*v));
    if (!v)
        return -ENOMEM;
    m->agents.v = v;
    m->agents.cap = cap;
    return 0;
}

int agents_expect(struct master *m, uint32_t number, struct err *err)
{
    uint32_t at = agents_find_place(m, number);
    struct agent_conn *a;

    if (at < m->agents.n && m->agents.v[at]->number == number)
        return 0;
    a = grow_table(m) == 0 ? calloc(1, sizeof(*a)) : NULL;
    if (!a)
        return err_oom(err);
    a->master = m;
    a->number = number;
    a->heard = loop_now(m->loop);
    memmove(&m->agents.v[at + 1], &m->agents.v[at], (m->agents.n - at) * sizeof(a));
    m->agents.v[at] = a;
    m->agents.n++;
    return 0;
}

/* The platform forgets it when the container is gone, and records of the agent come later. */
const char *agents_container(struct agent_conn *a)
{
    const char *now = platform_container(a->master->platform, a->number);
    char *copy = *now && !str_eq(now, a->container) ? strdup(now) : NULL;

    if (copy) {
        free(a->container);
        a->container = copy;
    }
    return a->container ? a->container : "";
}

static void free_agent(struct agent_conn *a)
{
    free(a->container);
    free(a->prepare.v);
    free(a->start.v);
    free(a->stop.v);
    free(a->drop.v);
    free(a);
}

/* Gone for good, and nothing speaks of it any more? At the end of the job all are kept: who has
 * saved what is counted then. */
static bool is_forgettable(const struct agent_conn *a)
{
    return (a->lost || (a->leaving && !a->adopted)) && !a->channel && a->readers == 0 && !a->used &&
           !a->master->save.until && !agents_at_client(a);
}

/* A slot has it, or a task shows where it was. */
static void mark_used(struct master *m)
{
    struct agent_conn *a;

    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.v[i].agent && (a = agents_get(m, m->slots.v[i].agent)))
            a->used = true;
    for (const struct task *t = NULL; (t = engine_next_in_gang(m->engine, t));)
        if (t->state != TASK_WAITING && (a = agents_get(m, t->agent)))
            a->used = true;
}

/* Two passes: marking what is in use walks the whole gang, so it is only done when there is a
 * candidate at all. Called by agents_watch() alone, between two sleeps, when nobody holds a pointer
 * from agents_get(): those are good only until their holder waits. */
void agents_forget(struct master *m)
{
    uint32_t n = 0, over = 0;

    for (uint32_t i = 0; i < m->agents.n; i++) {
        m->agents.v[i]->used = m->agents.v[i]->described;
        over += is_forgettable(m->agents.v[i]);
    }
    if (over == 0)
        return;
    mark_used(m);
    for (uint32_t i = 0; i < m->agents.n; i++) {
        if (is_forgettable(m->agents.v[i]))
            free_agent(m->agents.v[i]);
        else
            m->agents.v[n++] = m->agents.v[i];
    }
    m->agents.n = n;
}

void agents_done(struct master *m)
{
    for (uint32_t i = 0; i < m->agents.n; i++)
        free_agent(m->agents.v[i]);
    free(m->agents.v);
    m->agents.tls = stream_tls_free(m->agents.tls);
}
