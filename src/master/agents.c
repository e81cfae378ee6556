/* agents.c - connections of agents: who may join, what they are told first, and are they alive. */
#include "base/log.h"
#include "base/path.h"
#include "job/protocol.h"
#include "loop/listen.h"
#include "master/master_private.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#define HELLO_MS 10000
#define LOOK_MS 500  /* so often somebody looks who is silent … */
#define PING_LOOKS 4 /* … and each time so many have passed, all are asked for a word */
#define START_MS (15 * 60 * 1000) /* … and one of a container that has never said anything */
#define RETURN_MS 60000 /* … and one that has to find out first that there is a new master */
#define LATE_MS 3000    /* so late ourselves: the machine stood still, not the agents */

/* One that a master before us had may be on its way to us. */
bool agents_never_here(struct master *m, uint32_t number)
{
    const struct agent_conn *a = agents_get(m, number);

    return a && !a->channel && !a->node[0] && !a->adopted;
}

/* ---- joining ---- */

void agents_refuse(struct channel *c, const char *text)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Refused body = AGENT__REFUSED__INIT;

    body.text = (char *)text;
    msg.body_case = AGENT__TO_AGENT__BODY_REFUSED;
    msg.refused = &body;
    if (channel_send(c, &msg.base, NULL) == 0)
        (void)channel_flush(c, LOOP_NEVER, NULL);
}

/* With TLS the key has been proven by the handshake; on a Unix socket it is in the message. */
static bool key_fits(const struct master *m, const Agent__Hello *h)
{
    return m->tls || (h->key.len == sizeof(m->key.key) &&
                      CRYPTO_memcmp(h->key.data, m->key.key, sizeof(m->key.key)) == 0);
}

bool agents_at_client(const struct agent_conn *a)
{
    return platform_at_client(a->master->platform, a->number);
}

/* On a cluster agents know the name of their container, and the platform whose that is. The
 * client's may be here before anything is granted to it. */
static uint32_t agent_number(struct master *m, const Agent__Hello *h)
{
    uint32_t number = platform_find_agent(m->platform, h->container, h->agent);

    if (platform_at_client(m->platform, number))
        (void)agents_expect(m, number, NULL);
    return number;
}

/* Nothing of ours changes before the version, the job and the key fit. A second connection under
 * the same number is refused, unless it says that it is back (`again`): then the old one is dead,
 * even if TCP has not noticed, and is replaced. */
static int check_hello(struct master *m, const Agent__Hello *h, struct agent_conn **ret,
                       struct err *err)
{
    struct agent_conn *a = agents_get(m, agent_number(m, h));

    int r = protocol_check(PROTOCOL_AGENT, h->version, err);

    if (r < 0)
        return r;
    if (!str_eq(h->job, m->opt->dir->id))
        return err_set(err, -EACCES, "it belongs to another job");
    if (!key_fits(m, h))
        return err_set(err, -EACCES, "its key is wrong");
    if (!a || a->lost || a->given_up)
        return err_set(err, -ENOENT, "nobody expects agent %u%s", h->agent, h->container);
    if (a->channel && !h->again)
        return err_set(err, -EEXIST, "agent %u is here already", a->number);
    /* It has given up the old connection, which may look alive from here for long. */
    agents_close(a);
    *ret = a;
    return 0;
}

/* Its connection is broken; whoever noticed it first has said so. */
static int away_once(struct engine *e, uint32_t slot, int64_t now, struct err *err)
{
    return engine_slot_is_away(e, slot) ? 0 : engine_on_agent_away(e, slot, now, err);
}

/* Tells the engine something of each slot that the agent has. */
void agents_tell_slots(struct agent_conn *a,
                       int (*tell)(struct engine *e, uint32_t slot, int64_t now, struct err *err))
{
    struct master *m = a->master;

    for (uint32_t i = 0; i < m->slots.n; i++) {
        struct err err = ERR_INIT;

        if (m->slots.v[i].agent == a->number && tell(m->engine, i, master_now(m), &err) < 0)
            master_fault(m, &err);
    }
    master_wake(m);
}

void agents_away(struct agent_conn *a)
{
    agents_tell_slots(a, away_once);
}

/* Is it new to us, or one that we, or a master before us, had already? One that is back says what
 * it has; until then the engine wants nothing of it. */
static void note_coming(struct agent_conn *a, const Agent__Hello *h)
{
    bool known = a->node[0] != '\0';

    a->knows_owners = h->knows_owners;
    a->comes = !known ? AGENT_NEW : h->again ? AGENT_BACK : AGENT_RESTARTED;
    if (a->comes == AGENT_RESTARTED)
        a->output_saved = false; /* that was another one's */
    if (a->comes == AGENT_BACK && !a->adopted)
        agents_away(a);
    a->adopted = false;
    a->heard = loop_now(a->master->loop);
}

int agents_hello(struct master *m, struct channel *c, struct agent_conn **ret, struct err *err)
{
    ProtobufCMessage *raw = NULL;
    const Agent__ToMaster *msg;
    int r = channel_read(c, &agent__to_master__descriptor, loop_in(m->loop, HELLO_MS), &raw, err);

    if (r == 0)
        return err_set(err, -ECONNRESET, "it left without a word");
    if (r < 0)
        return r;
    msg = (const Agent__ToMaster *)raw;
    if (msg->body_case != AGENT__TO_MASTER__BODY_HELLO)
        r = err_set(err, -EPROTO, "it did not say hello");
    else
        r = check_hello(m, msg->hello, ret, err);
    if (r == 0) {
        note_coming(*ret, msg->hello);
        (void)snprintf((*ret)->host, sizeof((*ret)->host), "%s", msg->hello->host);
        (void)snprintf((*ret)->node, sizeof((*ret)->node), "%s", msg->hello->node);
        if ((*ret)->comes == AGENT_BACK)
            r = inbox_held(*ret, msg->hello, err);
    }
    protobuf_c_message_free_unpacked(raw, NULL);
    return r;
}

void agents_tell(struct agent_conn *a, const char *state)
{
    struct event e;

    engine_event(a->master->engine, EVENT_AGENT, master_now(a->master), &e);
    event_int(&e, "agent", a->number);
    event_str(&e, "state", state);
    event_str(&e, "node", a->node);
    event_str(&e, "host", a->host);
    if (platform_has_containers(a->master->platform))
        event_str(&e, "container", agents_container(a));
    if (a->results_left && str_eq(state, "saved"))
        event_bool(&e, "results", 0);
    if (!str_eq(state, "up"))
        a->master->ops->owed->put(a->master, a->number, &e);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
}

/* ---- where they find us ---- */

int agents_listen(struct master *m, struct err *err)
{
    struct admission_options o = { .loop = m->loop,
                                   .name = "agents",
                                   .first = m->tls ? admission_first_tls : NULL,
                                   .check = agents_may_connect,
                                   .serve = agents_serve,
                                   .user = m };
    AUTO_FREE char *address = NULL;
    int r = 0;

    group_init(&m->agents.readers, m->loop, 0);
    if (m->tls)
        r = stream_tls_new(&m->key, true, &m->agents.tls, err);
    if (r == 0)
        r = m->ops->listen(m, &o.fd, &address, err);
    if (r == 0)
        r = admission_start(&o, &m->agents.listener, err);
    return r < 0 ? r : m->ops->publish(m, address, err);
}

/* ---- alive? ---- */

static void agents_ping(struct agent_conn *a)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Ping body = AGENT__PING__INIT;

    body.seq = ++a->ping;
    body.now = master_now(a->master);
    body.alone_ms = platform_silence(a->master->platform);
    body.answered = a->answered;
    msg.body_case = AGENT__TO_AGENT__BODY_PING;
    msg.ping = &body;
    outbox_send(a, &msg);
}

/* The container of an agent that an earlier master had is gone, and nobody tells us of its end. */
static bool is_forgotten(const struct agent_conn *a)
{
    return a->adopted && platform_forgotten(a->master->platform, a->number);
}

/* A container may need long to fetch its files before its agent says the first word, and a machine
 * on which a thousand start has no time for each; on this one their end would be seen. */
static int64_t agents_patience(const struct agent_conn *a)
{
    if (a->leaving && a->adopted)
        return is_forgotten(a) ? RETURN_MS : INT64_MAX;
    /* While it saves it may be cut off; then it ends its container, and the platform says so. */
    if (a->master->save.until && !a->channel)
        return (a->adopted || a->asked) && !is_forgotten(a) ? INT64_MAX : RETURN_MS;
    if (a->adopted)
        return RETURN_MS;
    if (a->node[0])
        return AGENTS_SILENCE_MS;
    return a->master->platform->ops->apart ? START_MS : RETURN_MS;
}

/* Without the client's there is no job. */
static void agents_give_up(struct agent_conn *a)
{
    struct master *m = a->master;

    if (agents_at_client(a) && !m->save.until)
        api_client_gone(m);
    if (a->leaving)
        agents_leaver_gone(m, a->number, PLATFORM_LEFT_LOST, "its container is not known any more");
    a->given_up = m->platform->ops->apart && !a->leaving && !agents_at_client(a);
    if (!a->lost)
        platform_agent_silent(m->platform, a->number,
                              is_forgotten(a) ? "its container is not known any more"
                                              : "it does not answer");
    if (!a->lost && a->leaving) /* no slot has it, so that nobody else hears of its end */
        agents_close(a);
}

void agents_client_gone(struct master *m)
{
    for (uint32_t i = 0; i < m->agents.n; i++) {
        struct agent_conn *a = m->agents.v[i];

        if (a && !a->channel && !a->lost && agents_at_client(a))
            m->platform->ops->agent_gone(m->platform, a->number, "it went with the client");
    }
}

/* One fiber looks after all agents. When it wakes up late by more than LATE_MS the machine itself
 * stood still (suspended, or starved of CPU), and everybody's silence is forgiven: the pings they
 * sent are still unread in our sockets. */
void agents_watch(struct master *m)
{
    int64_t last = loop_now(m->loop), now;
    unsigned looks = 0;

    while (!m->ended && fiber_sleep(m->loop, LOOK_MS) == 0) {
        now = loop_now(m->loop);
        looks++;
        for (uint32_t i = 0; i < m->agents.n; i++) {
            struct agent_conn *a = m->agents.v[i];

            if (!a || a->lost)
                continue;
            if (now - last > LOOK_MS + LATE_MS)
                a->heard = now;
            if (now - a->heard > agents_patience(a) && !m->over) /* then it is another master's */
                agents_give_up(a);
            else if (looks % PING_LOOKS == 0 && !a->given_up)
                agents_ping(a);
        }
        last = now;
        agents_forget(m);
    }
}

void agents_leave(struct master *m, uint32_t number)
{
    struct agent_conn *a = agents_get(m, number);
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Shutdown body = AGENT__SHUTDOWN__INIT;

    if (!a || a->lost)
        return;
    a->leaving = true;
    msg.body_case = AGENT__TO_AGENT__BODY_SHUTDOWN;
    msg.shutdown = &body;
    outbox_send(a, &msg);
}
