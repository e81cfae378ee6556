/* agents_silence_test.c - what an agent is told of its silence, and what becomes of one that was
 * silent for too long. */
#include "master/agents_testing.h"

static void run_watch(void *arg)
{
    agents_watch(arg);
}

/* The next message, to be freed. */
static Agent__ToAgent *next_message(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL), 1);
    return (Agent__ToAgent *)raw;
}

/* It stops its tasks before that, on a node that is cut off (src/agent/link/fence_clock.h). */
static void tell_silence(struct desk *d)
{
    Agent__Hello hello = AGENT__HELLO__INIT;
    Agent__Pong pong = AGENT__PONG__INIT;
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__ToAgent *m;
    struct channel *c;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    hello.agent = 1;
    c = say_hello(d, &hello);
    m = next_message(d, c);
    assert_int_equal(m->body_case, AGENT__TO_AGENT__BODY_WELCOME);
    assert_int_equal(m->welcome->silence_ms, AGENTS_SILENCE_MS);
    agent__to_agent__free_unpacked(m, NULL);
    assert_int_equal(fiber_start(d->loop, run_watch, &d->m, NULL, NULL), 0);
    msg.body_case = AGENT__TO_MASTER__BODY_PONG;
    msg.pong = &pong;
    for (uint64_t seq = 1; seq <= 2; seq++) {
        m = next_message(d, c);
        assert_int_equal(m->body_case, AGENT__TO_AGENT__BODY_PING);
        assert_int_equal(m->ping->seq, seq);
        assert_int_equal(m->ping->answered, seq - 1);
        agent__to_agent__free_unpacked(m, NULL);
        pong.seq = seq;
        assert_int_equal(channel_send(c, &msg.base, NULL), 0);
    }
    d->m.ended = true;
    assert_int_equal(fiber_sleep(d->loop, 600), 0); /* for the watch to see it */
    (void)channel_close(c);
}

static void an_agent_is_told_when_it_was_heard_and_how_long_it_may_be_silent(void **state)
{
    (void)state;
    with_desk(tell_silence);
}

/* Its container is being ended, and it does not count as lost yet. */
static void back_too_late(struct desk *d)
{
    struct test_platform *p = (struct test_platform *)d->m.platform;
    Agent__Hello hello = AGENT__HELLO__INIT;
    struct channel *c, *again;
    struct agent_conn *a;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    c = come(d, 1, false);
    a = agents_get(&d->m, 1);
    a->heard = loop_now(d->loop) - 2 * AGENTS_SILENCE_MS;
    assert_int_equal(fiber_start(d->loop, run_watch, &d->m, NULL, NULL), 0);
    for (int i = 0; !p->gone && i < ENOUGH / 10; i++)
        assert_int_equal(fiber_sleep(d->loop, 10), 0);
    assert_int_equal(p->gone, 1);
    assert_string_equal(p->why, "it does not answer");
    assert_false(a->lost);
    a->heard = loop_now(d->loop); /* what it says now comes too late */
    hello.agent = 1;
    hello.again = true;
    again = say_hello(d, &hello);
    assert_int_equal(next_kind(d, again), AGENT__TO_AGENT__BODY_REFUSED);
    expect_end(d, again);
    assert_int_equal(fiber_sleep(d->loop, 2500), 0); /* a ping comes every 2 s, but for it */
    assert_int_equal(a->ping, 0);
    d->m.ended = true;
    assert_int_equal(fiber_sleep(d->loop, 600), 0); /* for the watch to see it */
    (void)channel_close(c);
}

static void one_that_was_given_up_is_neither_asked_nor_let_in_again(void **state)
{
    (void)state;
    with_desk(back_too_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_told_when_it_was_heard_and_how_long_it_may_be_silent),
        cmocka_unit_test(one_that_was_given_up_is_neither_asked_nor_let_in_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
