/* agents_test.c - claims about the connections of agents: quiet ones, and those that come back. The
 * agents are this test's, over the master's own socket; the platform does nothing. */
#include "base/listen.h"
#include "base/path.h"
#include "master/master_private.h"
#include "test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define ENOUGH 20000

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct job_dir job;
    struct master_options opt;
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
};

static void no_agent_gone(struct platform *p, uint32_t agent, const char *why)
{
    (void)p;
    (void)agent;
    (void)why;
}

static const struct platform_ops nobody = { .name = "test",
                                            .apart = true,
                                            .agent_gone = no_agent_gone };

static int on_desk(void *arg)
{
    struct desk *d = arg;
    struct master *m = &d->m;
    const struct engine_options opt = { 0 };
    struct platform platform = { .ops = &nobody };
    AUTO_FREE char *journal = path_join(d->dir, "events.jsonl");
    AUTO_FREE char *sock = path_join(d->dir, "agents.sock");
    AUTO_FREE char *join = path_join(d->dir, "join.json");

    d->role = (struct spec_role){
        .name = (char *)"w", .count = 1, .procs = 1, .side = -1, .decides = -1
    };
    *m = (struct master){ .loop = d->loop, .opt = &d->opt, .wall = 1000, .platform = &platform };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    m->agents_path = sock;
    m->join_file = join;
    m->log_dir = m->work_dir = d->dir;
    assert_int_equal(journal_open(&m->journal, journal, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(agents_listen(m, NULL), 0);
    d->body(d);
    agents_hang_up(m);
    agents_done(m);
    journal_done(&m->journal);
    m->engine = engine_free(m->engine);
    free(m->busy.v);
    return 0;
}

static void with_desk(void (*body)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    d->job.id = (char *)"job-1";
    d->opt.dir = &d->job;
    assert_non_null(test_dir(d->dir, "agents"));
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d);
}

/* ---- an agent ---- */

static struct channel *dial(struct desk *d)
{
    const struct channel_limits limits = { .frame_max = MIB, .queue_max = MIB };
    struct channel *c = NULL;
    struct stream *stream = NULL;
    struct sock *s = NULL;

    assert_int_equal(
        sock_connect_unix(d->loop, d->m.agents_path, loop_in(d->loop, ENOUGH), &s, NULL), 0);
    assert_int_equal(stream_plain(s, &stream, NULL), 0);
    assert_int_equal(channel_new(d->loop, stream, &limits, &c, NULL), 0);
    return c;
}

static Agent__ToAgent__BodyCase next_kind(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;
    Agent__ToAgent__BodyCase kind;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL), 1);
    kind = ((Agent__ToAgent *)raw)->body_case;
    protobuf_c_message_free_unpacked(raw, NULL);
    return kind;
}

/* Returns when it is here, and nobody reads what it says: it has said nothing. */
static struct channel *come(struct desk *d, uint32_t number, bool again)
{
    struct channel *c = dial(d);
    Agent__Hello hello = AGENT__HELLO__INIT;
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;

    hello.version = MASTER_PROTOCOL;
    hello.job = d->job.id;
    hello.key = (ProtobufCBinaryData){ sizeof(d->m.key.key), d->m.key.key };
    hello.agent = number;
    hello.node = (char *)"node";
    hello.again = again;
    hello.knows_owners = true;
    msg.hello = &hello;
    msg.body_case = AGENT__TO_MASTER__BODY_HELLO;
    assert_int_equal(channel_send(c, &msg.base, NULL), 0);
    assert_int_equal(next_kind(d, c), AGENT__TO_AGENT__BODY_WELCOME);
    while (admission_serving(d->m.listener) > 0)
        assert_int_equal(fiber_yield(d->loop), 0);
    return c;
}

static void expect_end(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;

    assert_true(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL) <= 0);
    assert_null(raw);
    (void)channel_close(c);
}

/* ---- claims ---- */

static void hang_up_on_two(struct desk *d)
{
    struct channel *one, *two;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    assert_int_equal(agents_expect(&d->m, 2, NULL), 0);
    one = come(d, 1, false);
    two = come(d, 2, false);
    agents_hang_up(&d->m);
    assert_null(agents_get(&d->m, 1)->channel);
    assert_null(agents_get(&d->m, 2)->channel);
    expect_end(d, one);
    expect_end(d, two);
}

static void quiet_agents_are_hung_up_on(void **state)
{
    (void)state;
    with_desk(hang_up_on_two);
}

static void come_back(struct desk *d)
{
    struct channel *old, *now;
    struct agent_conn *a;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    a = agents_get(&d->m, 1);
    old = come(d, 1, false);
    assert_int_equal(numbers_add(&a->start, 0), 0);
    a->start_waits = true;
    now = come(d, 1, true);
    assert_int_equal(a->start.n, 0);
    assert_false(a->start_waits);
    expect_end(d, old);
    assert_non_null(a->channel);
    agents_leave(&d->m, 1);
    assert_int_equal(next_kind(d, now), AGENT__TO_AGENT__BODY_SHUTDOWN);
    (void)channel_close(now);
}

static void a_start_that_waits_is_not_for_a_later_connection(void **state)
{
    (void)state;
    with_desk(come_back);
}

static void stop_twice(struct desk *d)
{
    struct agent_conn *a;
    struct channel *c;

    assert_int_equal(engine_start(d->m.engine, 1000, NULL), 0);
    assert_int_equal(engine_on_granted(d->m.engine, 0, 1, 1000, NULL), 0);
    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    a = agents_get(&d->m, 1);
    c = come(d, 1, false);
    a->start_waits = true;
    assert_int_equal(outbox_stop(&d->m, 0, 1000, NULL), 0);
    assert_true(a->start_waits); /* both go out together */
    assert_int_equal(outbox_stop(&d->m, 0, 2000, NULL), 0);
    assert_false(a->start_waits);
    assert_int_equal(next_kind(d, c), AGENT__TO_AGENT__BODY_STOP);
    (void)channel_close(c);
}

static void a_start_that_waits_goes_before_a_stop(void **state)
{
    (void)state;
    with_desk(stop_twice);
}

/* ---- those that are gone ---- */

/* Of each of three slots the agent is lost again and again; sometimes it is only let go. */
static void losing(struct desk *d)
{
    struct master *m = &d->m;
    uint32_t most = 0;

    m->slots = calloc(3, sizeof(*m->slots));
    assert_non_null(m->slots);
    m->n_slots = 3;
    for (uint32_t i = 1; i <= 100000; i++) {
        struct slot_info *s = &m->slots[i % 3];
        struct agent_conn *a = agents_get(m, s->agent);

        if (a && i % 5)
            a->lost = true;
        else if (a)
            agents_leave(m, a->number);
        assert_int_equal(agents_expect(m, i, NULL), 0);
        s->agent = i;
        if (i % 50 == 0)
            agents_forget(m);
        most = m->n_agents > most ? m->n_agents : most;
    }
    assert_in_range(most, 3, 60);
    assert_in_range(m->cap_agents, 3, 128);
    agents_forget(m);
    assert_int_equal(m->n_agents, 3);
    for (uint32_t i = 99998; i <= 100000; i++)
        assert_int_equal(agents_get(m, i)->number, i);
    assert_null(agents_get(m, 99997));
    agents_get(m, 99999)->lost = agents_get(m, 99999)->described = true;
    m->slots[99999 % 3].agent = 0;
    agents_forget(m); /* others were told where it is */
    assert_non_null(agents_get(m, 99999));
    agents_get(m, 99999)->described = false;
    m->save_until = 1;
    agents_forget(m); /* who has saved what is counted at the end */
    assert_non_null(agents_get(m, 99999));
    m->save_until = 0;
    agents_forget(m);
    assert_null(agents_get(m, 99999));
    free(m->slots);
    m->slots = NULL;
    m->n_slots = 0;
}

static void agents_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    with_desk(losing);
}

static void lingering(struct desk *d)
{
    struct channel *c;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    c = come(d, 1, false);
    agents_get(&d->m, 1)->lost = true;
    agents_forget(&d->m); /* it may still say how its tasks ended */
    assert_non_null(agents_get(&d->m, 1));
    channel_close(c);
    while (agents_get(&d->m, 1)) {
        assert_int_equal(fiber_yield(d->loop), 0);
        agents_forget(&d->m);
    }
}

static void a_lost_agent_is_heard_until_it_hangs_up(void **state)
{
    (void)state;
    with_desk(lingering);
}

/* ---- whose connection it is ---- */

struct caller { /* somebody at a tracker of the master's */
    struct desk *desk;
    int listener, client, fd;
    bool mine, done;
};

static void ask_about(void *arg)
{
    struct caller *c = arg;

    c->mine = own_peer(&c->desk->m, c->fd) && own_peer_asked(&c->desk->m, c->fd);
    c->done = true;
}

static void call_tracker(struct desk *d, struct caller *c)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct fiber *f = NULL;
    int port = 0;

    *c = (struct caller){ .desk = d };
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &c->listener, &port, NULL), 0);
    at.sin_port = htons((uint16_t)port);
    c->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c->client, (struct sockaddr *)&at, sizeof(at)), 0);
    do
        c->fd = accept(c->listener, NULL, NULL);
    while (c->fd < 0);
    assert_int_equal(fiber_start(d->loop, ask_about, c, &f, NULL), 0);
}

static bool is_mine(struct caller *c)
{
    while (!c->done)
        assert_int_equal(fiber_sleep(c->desk->loop, 1), 0);
    close(c->listener);
    close(c->client);
    close(c->fd);
    return c->mine;
}

static void say_whose(struct desk *d, struct channel *c, bool ours)
{
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__Owner owner = AGENT__OWNER__INIT;
    ProtobufCMessage *raw = NULL;
    const Agent__ToAgent *q;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL), 1);
    q = (Agent__ToAgent *)raw;
    assert_int_equal(q->body_case, AGENT__TO_AGENT__BODY_WHOSE);
    assert_string_equal(q->whose->from, "127.0.0.1");
    owner.id = q->whose->id;
    owner.ours = ours;
    msg.owner = &owner;
    msg.body_case = AGENT__TO_MASTER__BODY_OWNER;
    assert_int_equal(channel_send(c, &msg.base, NULL), 0);
    protobuf_c_message_free_unpacked(raw, NULL);
}

static struct channel *come_from(struct desk *d, uint32_t number, const char *ip, bool again)
{
    struct channel *c;

    assert_int_equal(agents_expect(&d->m, number, NULL), 0);
    c = come(d, number, again);
    (void)snprintf(agents_get(&d->m, number)->ip, sizeof(agents_get(&d->m, number)->ip), "%s", ip);
    return c;
}

static void ask_agents(struct desk *d)
{
    static struct container elsewhere;
    struct channel *far, *one, *two;
    struct caller c;

    d->opt.container = &elsewhere;
    far = come_from(d, 1, "10.0.0.1", false);
    call_tracker(d, &c);
    assert_false(is_mine(&c)); /* the job has no agent there */
    one = come_from(d, 2, "127.0.0.1", false);
    call_tracker(d, &c);
    say_whose(d, one, true);
    assert_true(is_mine(&c));
    call_tracker(d, &c);
    say_whose(d, one, false);
    assert_false(is_mine(&c));
    /* Another, in an image with a network of its own, knows sockets that the first does not. */
    two = come_from(d, 3, "127.0.0.1", false);
    call_tracker(d, &c);
    say_whose(d, one, false);
    say_whose(d, two, true);
    assert_true(is_mine(&c));
    (void)channel_close(far);
    (void)channel_close(one);
    (void)channel_close(two);
    d->opt.container = NULL;
}

static void whose_a_connection_is_the_agents_of_its_machine_are_asked(void **state)
{
    (void)state;
    with_desk(ask_agents);
}

static void ask_one_that_hangs_up(struct desk *d)
{
    static struct container elsewhere;
    struct channel *one, *again;
    struct caller c;

    d->opt.container = &elsewhere;
    one = come_from(d, 1, "127.0.0.1", false);
    call_tracker(d, &c);
    assert_int_equal(next_kind(d, one), AGENT__TO_AGENT__BODY_WHOSE);
    again = come_from(d, 1, "127.0.0.1", true);
    expect_end(d, one);
    say_whose(d, again, true);
    assert_true(is_mine(&c));
    /* One of an earlier version is not asked. */
    agents_get(&d->m, 1)->knows_owners = false;
    call_tracker(d, &c);
    assert_true(is_mine(&c));
    (void)channel_close(again);
    d->opt.container = NULL;
}

static void an_agent_that_hung_up_is_asked_again(void **state)
{
    (void)state;
    with_desk(ask_one_that_hangs_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_that_are_gone_are_forgotten),
        cmocka_unit_test(a_lost_agent_is_heard_until_it_hangs_up),
        cmocka_unit_test(quiet_agents_are_hung_up_on),
        cmocka_unit_test(a_start_that_waits_is_not_for_a_later_connection),
        cmocka_unit_test(whose_a_connection_is_the_agents_of_its_machine_are_asked),
        cmocka_unit_test(an_agent_that_hung_up_is_asked_again),
        cmocka_unit_test(a_start_that_waits_goes_before_a_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
