/* agents_serve.c - the connections of agents. One that is quiet has no fiber: a job may have
 * thousands, and a stack for each would be most of the master's memory. When there is something to
 * read, a fiber reads all that is there and ends. */
#include "base/log.h"
#include "loop/listen.h"
#include "master/master_private.h"

#include <stdio.h>

#define KEY_MS 3000 /* for a stranger to show the job's key */

static const struct channel_limits limits = { .frame_max = 16 * MIB, .queue_max = 256 * MIB };

/* One connection, from its welcome to its end. */
struct agent_reader {
    struct agent_conn *agent;
    struct channel *channel; /* a reference: it may be closed, and the agent's be another */
};

/* ---- the end ---- */

/* Closing calls whoever waits for its next words (on_more), who must find it gone. */
void agents_close(struct agent_conn *a)
{
    own_peer_hung_up(a);
    (void)channel_close(take(a->channel));
}

static void say_gone(struct agent_conn *a, int code, const struct err *why)
{
    struct master *m = a->master;

    if (m->save.until && !m->ended && !a->saved && !a->lost && !agents_will_be_heard(a) &&
        m->ops->results_wanted(m))
        master_unsaved(m, "not everything could be saved: an agent has ended before");
    /* A container's agent that was killed is started again by its node, and one that only lost its
     * connection comes back: agents_watch() waits for them. */
    if (m->ended || (m->save.until && a->saved) || !agents_will_be_heard(a)) {
        m->platform->ops->agent_gone(m->platform, a->number, code < 0 ? why->text : "it left");
    } else {
        a->heard = loop_now(m->loop);
        agents_away(a);
    }
}

/* `code` is 0 when the agent said goodbye. */
static void end_connection(struct agent_reader *x, int code, const struct err *why)
{
    struct agent_conn *a = x->agent;
    struct master *m = a->master;
    bool replaced = a->channel && a->channel != x->channel; /* it is back already, over another */

    if (code < 0 && code != -ECANCELED && !m->ended && !m->agents.hung_up)
        log_warn(LOG_MASTER, "agent %u: %s", a->number, why->text);
    if (!replaced)
        agents_close(a);
    if (!replaced)
        lost_hung_up(a);
    if (!replaced)
        master_wake(m);
    if (!replaced && code != -ECANCELED && !m->agents.hung_up && !m->left)
        say_gone(a, code, why);
    channel_unref(x->channel);
    a->readers--;
    free(x);
}

/* ---- reading ---- */

/* All that is there: -ETIMEDOUT when that was all, 0 at the end. */
static int read_messages(struct agent_reader *x, struct err *err)
{
    struct agent_conn *a = x->agent;
    struct master *m = a->master;
    int r = 1;

    while (r > 0 && a->channel == x->channel) {
        ProtobufCMessage *raw = NULL;

        r = channel_read(x->channel, &agent__to_master__descriptor, loop_now(m->loop), &raw, err);
        if (r <= 0)
            break;
        a->heard = loop_now(m->loop);
        r = inbox_message(a, (const Agent__ToMaster *)raw, err);
        protobuf_c_message_free_unpacked(raw, NULL);
        master_wake(m);
        r = r < 0 ? r : 1;
    }
    return r > 0 ? 0 : r;
}

static int read_on(void *arg, struct err *err);

static void on_more(void *user)
{
    struct agent_reader *x = user;
    struct master *m = x->agent->master;
    struct err none = ERR_INIT;

    if (m->agents.hung_up)
        end_connection(x, -ECANCELED, &none);
    else if (group_go(&m->agents.readers, read_on, x, &none) < 0)
        log_error(LOG_MASTER, "agent %u: %s", x->agent->number, none.text); /* it seems silent */
}

/* A connection is in one of two states, and never in both:
 *
 *     waiting (no fiber) ──on_more()──► reading (a fiber) ──nothing left──► waiting
 *                                          └── end, error, other channel ──► end_connection() */
static int read_on(void *arg, struct err *err)
{
    struct agent_reader *x = arg;
    struct err why = ERR_INIT;
    int r = read_messages(x, &why);

    (void)err; /* one that ends is not the end of the others */
    if (r == -ETIMEDOUT) {
        err_clear(&why);
        r = channel_on_readable(x->channel, on_more, x);
        if (r == 0)
            return 0;
        (void)err_code(&why, r, "wait for the other side");
    }
    end_connection(x, r, &why);
    return 0;
}

/* ---- the beginning ---- */

/* The Welcome is the first message on a connection: an agent takes anything else for a broken
 * master. The engine hears of the agent after that, because what it then wants is sent right
 * behind. A restarted agent has none of its predecessor's tasks (engine_on_agent_again()); one that
 * came back has said in its Hello which of them live. */
static void agents_serve_one(struct agent_conn *a, struct channel *c)
{
    struct agent_reader *x = calloc(1, sizeof(*x));
    struct err err = ERR_INIT;
    int r;

    if (!x) {
        agents_close(a);
        log_error(LOG_MASTER, "agent %u: out of memory", a->number);
        return;
    }
    *x = (struct agent_reader){ .agent = a, .channel = channel_ref(c) };
    a->readers++;
    a->spec_sent = 0;
    a->answered = 0;
    outbox_start_forget(a); /* what it has not got is asked of it anew, or not any more */
    r = outbox_welcome(a, &err);
    if (r < 0) {
        end_connection(x, r, &err);
        return;
    }
    trace(LOG_MASTER, "agent %u on '%s' is here", a->number, a->node);
    a->master->ops->agent_up(a);
    agents_tell(a, "up");
    hub_follow_again(a);
    agents_tell_slots(a, a->comes == AGENT_RESTARTED ? engine_on_agent_again : engine_on_agent_up);
    agents_save_late(a);
    (void)read_on(x, NULL);
}

/* A stranger has KEY_MS to prove that it knows the key. Whoever does not is reported as refused,
 * with its address (wire/admission.h). */
static int agents_open_stream(struct master *m, struct sock *s, struct stream **ret,
                              struct err *err)
{
    char host[64];
    int r;

    if (!m->tls)
        return stream_plain(s, ret, err);
    (void)snprintf(host, sizeof(host), "%s", sock_peer_ip(s));
    r = stream_tls_start(m->agents.tls, s, loop_in(m->loop, KEY_MS), ret, err);
    if (r < 0 && r != -ECANCELED)
        admission_refused(m->agents.listener, host, err->text);
    return r;
}

bool agents_may_connect(void *user, int fd)
{
    const struct master *m = user;
    uid_t uid = 0;

    return m->tls || (sock_peer_uid(fd, &uid) == 0 && uid == geteuid());
}

void agents_serve(void *user, struct visitor *v, struct sock *s)
{
    struct master *m = user;
    AUTO(channel) struct channel *c = NULL;
    AUTO_STREAM *stream = NULL;
    struct agent_conn *a = NULL;
    struct err err = ERR_INIT;
    int r = agents_open_stream(m, s, &stream, &err);

    if (r < 0 || fiber_cancelled(m->loop)) /* too slow in the end: it comes again */
        return;
    admission_pass(v);
    r = channel_new(m->loop, take(stream), &limits, &c, &err);
    if (r == 0) {
        r = agents_hello(m, c, &a, &err);
        if (r < 0 && r != -ECANCELED)
            agents_refuse(c, err.text);
    }
    if (r < 0 || !a) {
        if (r != -ECANCELED)
            log_warn(LOG_MASTER, "an agent was refused: %s", err.text);
        return;
    }
    (void)snprintf(a->ip, sizeof(a->ip), "%s", sock_peer_ip(stream_sock(channel_stream(c))));
    a->channel = take(c);
    agents_serve_one(a, a->channel);
}

/* Waiting connections have no fiber to cancel; closing them calls on_more(), which sees `hung_up`
 * and ends them. Hence the flag is set first and the group is waited for last. */
void agents_hang_up(struct master *m)
{
    m->agents.hung_up = true;
    m->agents.listener = admission_close(m->agents.listener);
    group_cancel(&m->agents.readers);
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i])
            agents_close(m->agents.v[i]);
    (void)group_wait(&m->agents.readers, NULL);
}
