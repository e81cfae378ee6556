/* outbox_pace.c - Start messages of large jobs, a few at a time.
 *
 * Each has the specification of all tasks in it, so that those of a thousand agents together are
 * large. Only so many wait to be written at the same time; what an agent has already is not sent
 * again (outbox_start.c). Whatever else an agent is told afterwards comes after its Start. */
#include "base/log.h"
#include "master/master_private.h"

#define AT_ONCE 32      /* agents whose Start is on the way */
#define PATIENCE_MS 500 /* one that reads slowly has a place among them for so long */
#define LOOK_MS 20      /* … while all of them are slow, another one is looked at so often */

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

/* A Start that is on its way. */
struct on_way {
    struct channel *c; /* NULL: none is */
    int64_t until;     /* when nobody waits for it any more; loop's clock */
};

/* A place for the next: where a Start has been written, or has had its time. NULL: nowhere. */
static struct on_way *free_place(const struct master *m, struct on_way v[AT_ONCE])
{
    for (size_t i = 0; i < AT_ONCE; i++)
        if (!v[i].c || channel_queued(v[i].c) == 0 || v[i].until <= loop_now(m->loop)) {
            v[i].c = channel_unref(v[i].c);
            return &v[i];
        }
    return NULL;
}

/* Looks at all of them in turn, so that one that reads nothing does not keep the others' places.
 * -ECANCELED, or 0. */
static int await_place(struct master *m, struct on_way v[AT_ONCE], struct on_way **ret)
{
    size_t next = 0;
    int r = 0;

    while (r != -ECANCELED && !(*ret = free_place(m, v))) {
        struct on_way *one = &v[next++ % AT_ONCE];

        r = channel_flush(one->c, loop_in(m->loop, LOOK_MS), NULL);
        if (r < 0 && r != -ETIMEDOUT)
            one->until = 0; /* it is broken */
    }
    return r == -ECANCELED ? r : 0;
}

/* Sends to those that wait, each when one of AT_ONCE before it has been written.
 * Runs as one fiber of the readers' group, so that agents_hang_up() cancels it with them. Agents
 * may be lost or reconnect while it waits for a place: it looks each one up by number afterwards
 * and skips those whose Start was sent or dropped meanwhile. */
static int send_waiting(void *arg, struct err *err)
{
    struct master *m = arg;
    struct on_way v[AT_ONCE] = { 0 };
    int r = 0;

    (void)err;
    for (size_t i = 0; i < m->outbox.starting.n && r == 0; i++) {
        struct on_way *place = NULL;
        struct agent_conn *a;

        r = await_place(m, v, &place);
        a = agents_get(m, m->outbox.starting.v[i]);
        if (r < 0 || !a || !a->start_waits)
            continue;
        if (a->lost || !a->channel)
            outbox_start_forget(a);
        else
            send_start(a);
        if (a->channel)
            *place = (struct on_way){ channel_ref(a->channel), loop_in(m->loop, PATIENCE_MS) };
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        channel_unref(v[i].c);
    m->outbox.starting.n = 0;
    m->outbox.starter = false;
    return 0;
}

/* Whatever is sent to an agent next must not overtake its Start. */
void outbox_start_first(struct agent_conn *a)
{
    if (a->start_waits && (a->drop.n || a->stop.n || a->prepare.n))
        send_start(a);
}

/* Small jobs send at once. Where there is no memory or no fiber for pacing, so does everybody: a
 * burst is better than a task that never starts. */
void outbox_start_later(struct agent_conn *a)
{
    struct master *m = a->master;
    struct err err = ERR_INIT;

    if (a->start.n == 0 || a->start_waits)
        return;
    if (m->outbox.busy.n <= AT_ONCE || numbers_add(&m->outbox.starting, a->number) < 0) {
        send_start(a);
        return;
    }
    a->start_waits = true;
    if (!m->outbox.starter && group_go(&m->agents.readers, send_waiting, m, &err) == 0)
        m->outbox.starter = true;
    if (!m->outbox.starter)
        send_start(a);
}
