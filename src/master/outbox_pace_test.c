/* outbox_pace_test.c - Start messages of large jobs: agents that do not read theirs, and how long
 * they are; see outbox_pace.c and outbox_start.c. */
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

/* ---- how long they are ---- */

#define SMALL 100
#define LARGER 4 /* times as many tasks */
#define DIGITS 8 /* ports, ranks and numbers of a larger job may have more of them */

/* A job, and what was sent for it in one round. */
struct sent {
    unsigned containers, procs;
    size_t messages, bytes, longest, with_spec;
};

static void count_it(struct agent_conn *a, Agent__ToAgent *msg)
{
    struct desk *d = (struct desk *)((char *)a->master - offsetof(struct desk, m));
    struct sent *x = d->arg;
    size_t n = agent__to_agent__get_packed_size(msg);

    assert_int_equal(msg->body_case, AGENT__TO_AGENT__BODY_START);
    x->messages++;
    x->bytes += n;
    x->longest = n > x->longest ? n : x->longest;
    x->with_spec += msg->start->spec.len > 0;
}

static void grant(struct desk *d, uint32_t slot)
{
    struct agent_conn *a;

    assert_int_equal(agents_expect(&d->m, slot + 1, NULL), 0);
    a = agents_get(&d->m, slot + 1);
    (void)snprintf(a->host, sizeof(a->host), "10.1.%u.%u", slot / 250, slot % 250 + 1);
    (void)snprintf(a->node, sizeof(a->node), "node%04u.example.com", slot);
    assert_int_equal(engine_on_granted(d->m.engine, slot, slot + 1, 0, NULL), 0);
    assert_int_equal(engine_on_agent_up(d->m.engine, slot, 0, NULL), 0);
}

/* What the engine wants is done at once, until all are to start. */
static void form_gang(struct desk *d)
{
    struct engine *e = d->m.engine;
    struct action a;

    assert_int_equal(engine_start(e, 0, NULL), 0);
    while (engine_next_action(e, &a)) {
        const uint16_t port = (uint16_t)(20000 + a.id);

        if (a.kind == ACTION_ASK) {
            grant(d, a.id);
        } else if (a.kind == ACTION_PREPARE) {
            assert_int_equal(engine_on_prepared(e, a.id, &port, 1, 0, NULL), 0);
        } else if (a.kind == ACTION_FORM) {
            assert_int_equal(form_generation(&d->m, NULL), 0);
            assert_int_equal(engine_on_formed(e, 0, NULL), 0);
        }
    }
}

/* Every task is told to start. */
static void start_all(struct desk *d)
{
    const struct task *t = NULL;

    while ((t = engine_next_in_gang(d->m.engine, t)))
        assert_int_equal(numbers_add(&agents_get(&d->m, t->agent)->start, t->id), 0);
    for (uint32_t i = 0; i < d->m.agents.n; i++)
        assert_int_equal(outbox_send_start(d->m.agents.v[i], count_it, NULL), 0);
}

/* The first time with the specification, and then each once more, as if all had been restarted. */
static void start_twice(struct desk *d)
{
    struct sent *first = d->arg, *again = first + 1;

    form_gang(d);
    start_all(d);
    assert_int_equal(first->messages, first->containers);
    assert_int_equal(first->with_spec, first->containers);
    d->arg = again;
    start_all(d);
    assert_int_equal(again->messages, first->containers);
    assert_int_equal(again->with_spec, 0);
    form_done(&d->m);
}

static void start_job(unsigned containers, unsigned procs, struct sent ret[2])
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    memset(ret, 0, 2 * sizeof(*ret));
    ret->containers = containers;
    d->role = (struct spec_role){ .count = containers, .procs = procs, .ports = 1 };
    assert_int_equal(strs_add(&d->role.command, "./train"), 0);
    d->body = start_twice;
    d->arg = ret;
    run_desk(d);
    strs_done(&d->role.command);
    free(d);
}

/* Only the specification has all tasks in it, and an agent is told that once. */
static void a_start_message_does_not_grow_with_the_job(void **state)
{
    struct sent small[2], large[2];

    (void)state;
    start_job(SMALL, 1, small);
    start_job(SMALL * LARGER, 1, large);
    assert_in_range(large[1].longest, 1, small[1].longest + DIGITS);
    assert_in_range(large[1].bytes, 1, LARGER * (small[1].bytes + SMALL * DIGITS));
    assert_in_range(large[0].longest, large[1].longest,
                    LARGER * (small[0].longest + SMALL * DIGITS));
}

static void a_container_with_many_tasks_gets_them_in_one_message_of_their_size(void **state)
{
    struct sent small[2], large[2];

    (void)state;
    start_job(1, SMALL, small);
    start_job(1, SMALL * LARGER, large);
    for (int i = 0; i < 2; i++)
        assert_in_range(large[i].bytes, 1, LARGER * (small[i].bytes + SMALL * DIGITS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_that_do_not_read_hold_nobody_up),
        cmocka_unit_test(a_start_message_does_not_grow_with_the_job),
        cmocka_unit_test(a_container_with_many_tasks_gets_them_in_one_message_of_their_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
