/* job_actions_test.c - see job_actions.h: `stop` and `kill` on YARN, where masters come and go. */
#include "client/client_yarn_testing.h"
#include "client/job_actions.h"

#include <sys/socket.h>

/* What becomes of each request to end the job, in this order; behind them it is taken. */
enum fate { TAKEN, LEAVES, DIES };

struct story {
    struct world w; /* first: what the master's handler gets */
    const char *what, *target;
    const enum fate *fates;
    int asked; /* so often */
    bool told; /* somebody was told to end it */
    bool waited;
    int r;
    struct err err;
};

static void end_app(struct world *w)
{
    w->state = STATE(KILLED);
    w->final = FINAL(KILLED);
    w->port = 0;
}

static int end_of_request(void *user, struct http_call *c, struct err *err)
{
    struct story *s = user;
    enum fate fate = s->fates[s->asked];

    if (str_eq(http_path(c), "/v1/events")) { /* who waits now, waits forever */
        s->waited = true;
        end_app(&s->w);
        return err_set(err, -EAGAIN, "it is leaving");
    }
    assert_string_equal(http_path(c), s->target);
    s->asked += fate != TAKEN;
    if (fate == LEAVES)
        return err_set(err, -EAGAIN, "it is leaving");
    if (fate == DIES) { /* and the next one listens at once, on the same port */
        (void)shutdown(sock_fd(stream_sock(http_stream(c))), SHUT_RDWR);
        return err_set(err, -EIO, "killed");
    }
    s->told = true;
    end_app(&s->w);
    return http_reply(c, 200, "application/json", "{}", 2, err);
}

static void end_job(struct world *w, struct client *c)
{
    struct story *s = (struct story *)w;
    const struct globals globals = { .quiet = true };
    struct job_call x = { .globals = &globals, .loop = w->loop, .client = c };

    start_master(w);
    put_key(w);
    put_log(w, "events-1.jsonl",
            "{\"seq\":0,\"t\":1000,\"event\":\"job\",\"state\":\"NEW\",\"name\":\"m\"}\n");
    s->r = act_end(&x, s->what, s->target, &s->err);
}

static void tell(void **state, struct story *s)
{
    s->w.instead = end_of_request;
    s->err = (struct err)ERR_INIT;
    run(state, end_job, &s->w);
    assert_false(s->waited);
}

static void every_master_that_comes_is_asked_to_stop(void **state)
{
    static const enum fate fates[][5] = {
        { LEAVES, TAKEN },
        { LEAVES, DIES, TAKEN },        /* taken in the moment before it listens no more */
        { DIES, DIES, TAKEN },          /* two masters, one after the other */
        { LEAVES, LEAVES, DIES, TAKEN } /* … */
    };

    for (size_t i = 0; i < COUNT_OF(fates); i++) {
        struct story s = { .what = "stop", .target = "/v1/stop", .fates = fates[i] };

        tell(state, &s);
        assert_int_equal(s.r, 0);
        assert_true(s.told);
    }
}

static void a_stop_that_no_master_takes_is_an_error(void **state)
{
    enum fate fates[64];
    struct story s = { .what = "stop", .target = "/v1/stop", .fates = fates };

    for (size_t i = 0; i < COUNT_OF(fates); i++)
        fates[i] = LEAVES;
    tell(state, &s);
    assert_int_equal(s.r, -EAGAIN);
    assert_string_equal(s.err.text, "it is leaving");
    assert_int_equal(s.w.kills, 0);
}

/* Gives up after three requests. */
static bool given_up(const void *user)
{
    const struct story *s = user;

    return s->asked == 3;
}

static void stop_beside(struct world *w, struct client *c)
{
    struct story *s = (struct story *)w;

    start_master(w);
    put_key(w);
    s->r = act_ask_stop_beside(c, given_up, s, &s->err);
}

static void who_follows_a_job_stops_it_although_masters_are_replaced(void **state)
{
    static const enum fate fates[][5] = { { LEAVES, TAKEN },
                                          { DIES, LEAVES, TAKEN },
                                          { DIES, LEAVES, DIES, TAKEN } };

    for (size_t i = 0; i < COUNT_OF(fates); i++) {
        struct story s = { .target = "/v1/stop", .fates = fates[i] };

        s.w.instead = end_of_request;
        s.err = (struct err)ERR_INIT;
        run(state, stop_beside, &s.w);
        assert_int_equal(s.told, i < 2);
        assert_int_equal(s.r == 0, i < 2);
        assert_int_equal(s.w.kills, 0);
    }
}

static void a_kill_that_fails_is_an_error(void **state)
{
    static const enum fate fates[] = { LEAVES, LEAVES };
    struct story s = {
        .w = { .kill_fails = -ETIMEDOUT }, .what = "kill", .target = "/v1/kill", .fates = fates
    };

    tell(state, &s);
    assert_int_equal(s.r, -ETIMEDOUT);
    assert_non_null(strstr(s.err.text, "the ResourceManager is busy"));
    assert_int_equal(s.w.kills, 1);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(every_master_that_comes_is_asked_to_stop),
        CLAIM(a_stop_that_no_master_takes_is_an_error),
        CLAIM(who_follows_a_job_stops_it_although_masters_are_replaced),
        CLAIM(a_kill_that_fails_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
