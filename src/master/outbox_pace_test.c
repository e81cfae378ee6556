/* outbox_pace_test.c - Start messages of large jobs, and agents that do not read theirs; see
 * outbox_pace.c. */
#include "master/agents_testing.h"

#define AGENTS 64u      /* more than are sent to at once, and than would be with the stuck ones */
#define PATIENCE 500    /* that one of them may take */
#define LARGE (2 * MIB) /* more than a socket takes */

/* Much for one that reads nothing. */
static void send_much(struct agent_conn *a)
{
    AUTO_FREE char *text = malloc(LARGE);
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Refused body = AGENT__REFUSED__INIT;

    assert_non_null(text);
    memset(text, 'x', LARGE - 1);
    text[LARGE - 1] = '\0';
    body.text = text;
    msg.body_case = AGENT__TO_AGENT__BODY_REFUSED;
    msg.refused = &body;
    outbox_send(a, &msg);
    assert_true(channel_queued(a->channel) > 0);
}

static uint32_t n_stuck;

static bool anybody_waits(const struct desk *d)
{
    for (uint32_t i = 1; i <= AGENTS; i++)
        if (agents_get(&d->m, i)->start_waits)
            return true;
    return false;
}

/* The first ones are stuck. What is sent to the others is nothing, in this test; the last, who is
 * not here, begins it. */
static void send_to_all(struct desk *d)
{
    struct channel *c[AGENTS + 1] = { 0 };
    int64_t began;

    for (uint32_t i = 1; i <= AGENTS + 1; i++) {
        assert_int_equal(agents_expect(&d->m, i, NULL), 0);
        assert_int_equal(numbers_add(&d->m.outbox.busy, i), 0);
    }
    for (uint32_t i = 1; i <= AGENTS; i++) {
        c[i] = come(d, i, false);
        agents_get(&d->m, i)->start_waits = true;
        assert_int_equal(numbers_add(&d->m.outbox.starting, i), 0);
        if (i <= n_stuck)
            send_much(agents_get(&d->m, i));
    }
    began = loop_now(d->loop);
    assert_int_equal(numbers_add(&agents_get(&d->m, AGENTS + 1)->start, 0), 0);
    outbox_start_later(agents_get(&d->m, AGENTS + 1));
    while (anybody_waits(d))
        assert_int_equal(fiber_yield(d->loop), 0);
    assert_true(loop_now(d->loop) - began < (n_stuck - 1) * PATIENCE); /* not one after the other */
    d->m.outbox.busy.n = 0;
    for (uint32_t i = 1; i <= AGENTS; i++)
        (void)channel_close(c[i]);
}

static void agents_that_do_not_read_hold_nobody_up(void **state)
{
    static const uint32_t rows[] = { 16, 40 }; /* fewer and more than are sent to at once */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        n_stuck = rows[i];
        with_desk(send_to_all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_that_do_not_read_hold_nobody_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
