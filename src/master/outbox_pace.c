/* outbox_pace.c - Start messages of large jobs, a few at a time.
 *
 * Each has the specification of all tasks in it, so that those of a thousand agents together are
 * large. Only so many wait to be written at the same time; what an agent has already is not sent
 * again (outbox_start.c). Whatever else an agent is told afterwards comes after its Start. */
#include "base/log.h"
#include "master/master_private.h"

#define AT_ONCE 32      /* agents whose Start is on the way */
#define PATIENCE_MS 500 /* one that reads slowly does not hold up the others for longer */

static void send_start(struct agent_conn *a)
{
    struct err err = ERR_INIT;

    a->start_waits = false;
    if (outbox_send_start(a, outbox_send, &err) < 0)
        master_fault(a->master, &err);
}

/* Its Start is sent no more: there is nobody to send it to, or somebody else. */
void outbox_start_forget(struct agent_conn *a)
{
    if (a->start_waits)
        a->start.n = 0;
    a->start_waits = false;
}

/* Sends to those that wait, each when one of AT_ONCE before it has been written. */
static int send_waiting(void *arg, struct err *err)
{
    struct master *m = arg;
    struct channel *sent[AT_ONCE] = { 0 };
    int r = 0;

    (void)err;
    for (size_t i = 0; i < m->starting.n && r != -ECANCELED; i++) {
        struct channel **slot = &sent[i % AT_ONCE];
        struct agent_conn *a;

        if (*slot)
            r = channel_flush(*slot, loop_in(m->loop, PATIENCE_MS), NULL);
        *slot = channel_unref(*slot);
        a = agents_get(m, m->starting.v[i]);
        if (r == -ECANCELED || !a || !a->start_waits)
            continue;
        if (a->lost || !a->channel)
            outbox_start_forget(a);
        else
            send_start(a);
        if (a->channel)
            *slot = channel_ref(a->channel);
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        channel_unref(sent[i]);
    m->starting.n = 0;
    m->starter = false;
    return 0;
}

void outbox_start_first(struct agent_conn *a)
{
    if (a->start_waits && (a->drop.n || a->stop.n || a->prepare.n))
        send_start(a);
}

void outbox_start_later(struct agent_conn *a)
{
    struct master *m = a->master;
    struct err err = ERR_INIT;

    if (a->start.n == 0 || a->start_waits)
        return;
    if (m->busy.n <= AT_ONCE || numbers_add(&m->starting, a->number) < 0) {
        send_start(a);
        return;
    }
    a->start_waits = true;
    if (!m->starter && group_go(&m->readers, send_waiting, m, &err) == 0)
        m->starter = true;
    if (!m->starter)
        send_start(a);
}
