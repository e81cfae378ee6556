/* agents_test.c - claims about the connections of agents: quiet ones, and those that come back. The
 * agents are this test's, over the master's own socket; the platform does nothing. */
#include "master/agents_testing.h"

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

    m->slots.v = calloc(3, sizeof(*m->slots.v));
    assert_non_null(m->slots.v);
    m->slots.n = 3;
    for (uint32_t i = 1; i <= 100000; i++) {
        struct slot_info *s = &m->slots.v[i % 3];
        struct agent_conn *a = agents_get(m, s->agent);

        if (a && i % 5)
            a->lost = true;
        else if (a)
            agents_leave(m, a->number);
        assert_int_equal(agents_expect(m, i, NULL), 0);
        s->agent = i;
        if (i % 50 == 0)
            agents_forget(m);
        most = m->agents.n > most ? m->agents.n : most;
    }
    assert_in_range(most, 3, 60);
    assert_in_range(m->agents.cap, 3, 128);
    agents_forget(m);
    assert_int_equal(m->agents.n, 3);
    for (uint32_t i = 99998; i <= 100000; i++)
        assert_int_equal(agents_get(m, i)->number, i);
    assert_null(agents_get(m, 99997));
    agents_get(m, 99999)->lost = agents_get(m, 99999)->described = true;
    m->slots.v[99999 % 3].agent = 0;
    agents_forget(m); /* others were told where it is */
    assert_non_null(agents_get(m, 99999));
    agents_get(m, 99999)->described = false;
    m->save.until = 1;
    agents_forget(m); /* who has saved what is counted at the end */
    assert_non_null(agents_get(m, 99999));
    m->save.until = 0;
    agents_forget(m);
    assert_null(agents_get(m, 99999));
    free(m->slots.v);
    m->slots.v = NULL;
    m->slots.n = 0;
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

    c->mine = c->desk->m.ops->own_peer(&c->desk->m, c->fd) &&
              c->desk->m.ops->own_peer_asked(&c->desk->m, c->fd);
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
    static struct master_container elsewhere;
    struct channel *far, *one, *two;
    struct caller c;

    be_on_yarn(d, &elsewhere);
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
}

static void whose_a_connection_is_the_agents_of_its_machine_are_asked(void **state)
{
    (void)state;
    with_desk(ask_agents);
}

static void ask_one_that_hangs_up(struct desk *d)
{
    static struct master_container elsewhere;
    struct channel *one, *again;
    struct caller c;

    be_on_yarn(d, &elsewhere);
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
}

static void an_agent_that_hung_up_is_asked_again(void **state)
{
    (void)state;
    with_desk(ask_one_that_hangs_up);
}

/* One that says nothing leaves the others time to answer. */
static void ask_beside_a_silent_one(struct desk *d)
{
    static struct master_container elsewhere;
    struct channel *silent, *other;
    struct caller c;

    be_on_yarn(d, &elsewhere);
    silent = come_from(d, 1, "127.0.0.1", false);
    other = come_from(d, 2, "127.0.0.1", false);
    call_tracker(d, &c);
    say_whose(d, other, true);
    assert_true(is_mine(&c));
    (void)channel_close(silent);
    (void)channel_close(other);
}

static void the_next_agent_is_asked_when_one_is_silent(void **state)
{
    (void)state;
    with_desk(ask_beside_a_silent_one);
}

/* Who waits at a tracker waits for all of them together, not for each of hundreds. */
static void ask_many_that_are_silent(struct desk *d)
{
    static struct master_container elsewhere;
    struct channel *silent[4];
    struct caller c;

    be_on_yarn(d, &elsewhere);
    d->m.own_peers.ask_ms = 20;
    for (uint32_t i = 0; i < COUNT_OF(silent); i++)
        silent[i] = come_from(d, i + 1, "127.0.0.1", false);
    call_tracker(d, &c);
    assert_false(is_mine(&c));
    assert_int_equal(d->m.own_peers.last, 1); /* then the time was over */
    for (uint32_t i = 0; i < COUNT_OF(silent); i++)
        (void)channel_close(silent[i]);
}

static void silent_agents_share_one_time_limit(void **state)
{
    (void)state;
    with_desk(ask_many_that_are_silent);
}

/* Its Shutdown says how long the master waits for it to save. */
static void expect_save(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;
    const Agent__ToAgent *msg;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL), 1);
    msg = (const Agent__ToAgent *)raw;
    assert_int_equal(msg->body_case, AGENT__TO_AGENT__BODY_SHUTDOWN);
    assert_true(msg->shutdown->save_ms > 0 && msg->shutdown->save_ms < ENOUGH);
    protobuf_c_message_free_unpacked(raw, NULL);
}

/* One that is away when the job ends is told to save and leave as soon as it is back; until
 * then it is waited for. */
static void back_at_the_end(struct desk *d)
{
    struct channel *here, *away;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    assert_int_equal(agents_expect(&d->m, 2, NULL), 0);
    here = come(d, 1, false);
    away = come(d, 2, false);
    (void)channel_close(away);
    while (agents_get(&d->m, 2)->channel)
        assert_int_equal(fiber_yield(d->loop), 0);
    d->m.save.until = loop_in(d->loop, ENOUGH);
    agents_shutdown(&d->m, 0);
    expect_save(d, here);
    agents_tell_saved(agents_get(&d->m, 1), true);
    assert_false(agents_saved(&d->m));
    away = come(d, 2, true);
    expect_save(d, away);
    agents_tell_saved(agents_get(&d->m, 2), true);
    assert_true(agents_saved(&d->m));
    (void)channel_close(here);
    (void)channel_close(away);
}

static void who_comes_back_at_the_end_is_told_to_leave(void **state)
{
    (void)state;
    with_desk(back_at_the_end);
}

static void run_watch(void *arg)
{
    agents_watch(arg);
}

/* Two agents of an earlier master save what their tasks left, and look for nobody. */
static void adopted_two(struct desk *d)
{
    struct test_platform *p = (struct test_platform *)d->m.platform;

    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(agents_expect(&d->m, i, NULL), 0);
        (void)snprintf(agents_get(&d->m, i)->node, sizeof(agents_get(&d->m, i)->node), "n%u", i);
        agents_get(&d->m, i)->adopted = true;
        agents_get(&d->m, i)->heard = loop_now(d->loop) - 90000;
    }
    d->m.save.until = loop_in(d->loop, ENOUGH);
    assert_int_equal(fiber_start(d->loop, run_watch, &d->m, NULL, NULL), 0);
    for (int i = 0; !p->gone && i < ENOUGH / 10; i++)
        assert_int_equal(fiber_sleep(d->loop, 10), 0);
    assert_int_equal(p->gone, 2);
    assert_string_equal(p->why, "its container is not known any more");
    d->m.ended = true;
    assert_int_equal(fiber_sleep(d->loop, 600), 0); /* for the watch to see it */
    assert_int_equal(p->gone, 2);
}

static void a_container_that_nobody_knows_is_not_waited_for(void **state)
{
    (void)state;
    with_desk(adopted_two);
}

/* It was let go, and its machine stood still before it had hung up. */
static void leaving_one(struct desk *d)
{
    struct channel *c;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    c = come(d, 1, false);
    agents_get(&d->m, 1)->leaving = true;
    agents_get(&d->m, 1)->heard = loop_now(d->loop) - 90000;
    d->m.save.until = loop_in(d->loop, ENOUGH);
    assert_false(agents_saved(&d->m));
    assert_int_equal(fiber_start(d->loop, run_watch, &d->m, NULL, NULL), 0);
    expect_end(d, c);
    assert_true(agents_saved(&d->m));
    d->m.ended = true;
    assert_int_equal(fiber_sleep(d->loop, 600), 0); /* for the watch to see it */
}

static void one_that_leaves_and_falls_silent_does_not_hold_up_the_end(void **state)
{
    (void)state;
    with_desk(leaving_one);
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
        cmocka_unit_test(the_next_agent_is_asked_when_one_is_silent),
        cmocka_unit_test(silent_agents_share_one_time_limit),
        cmocka_unit_test(a_start_that_waits_goes_before_a_stop),
        cmocka_unit_test(who_comes_back_at_the_end_is_told_to_leave),
        cmocka_unit_test(a_container_that_nobody_knows_is_not_waited_for),
        cmocka_unit_test(one_that_leaves_and_falls_silent_does_not_hold_up_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
