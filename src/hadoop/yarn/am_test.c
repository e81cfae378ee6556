/* am_test.c - claims about am.h: when heartbeats are sent, and what a master lives through. */
#include "hadoop/yarn/am.h"
#include "hadoop/yarn/rpc_testing.h"

/* A ResourceManager, and the master that a test is. */
struct world {
    struct session *session;
    struct am *am;
    struct am_conf conf;
    size_t registers, allocates, finishes;
    int32_t last_id;     /* of the heartbeats */
    int64_t allocate_at; /* when the last one came */
    int32_t asked;       /* of the last "*" row */
    /* what to do */
    size_t refuse;        /* so many calls get nowhere */
    bool restarted;       /* the next heartbeat learns of it */
    bool killed;          /* so does the next call */
    size_t broken;        /* so many heartbeats make the RM throw */
    bool hang;            /* calls are never answered */
    size_t grant_after;   /* grants what is asked for with this heartbeat */
    size_t unregister_at; /* this finish is the last */
    bool new_token;
    char token[32]; /* kind of the one that the last call signed in with */
};

static int on_register(struct world *w, void **ret)
{
    Yarn__RegisterApplicationMasterResponse m = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;

    w->registers++;
    w->last_id = 0;
    w->restarted = false;
    return fake_copy(&m, ret);
}

static void add_grant(Yarn__AllocateResponse *m)
{
    static Yarn__Container c;
    static Yarn__Container *list[] = { &c };
    static Yarn__NodeId node;
    static Hadoop__Token token;
    static struct yarn_id_message id;

    c = (Yarn__Container)YARN__CONTAINER__INIT;
    node = (Yarn__NodeId)YARN__NODE_ID__INIT;
    token = (Hadoop__Token)HADOOP__TOKEN__INIT;
    token.kind = token.service = "x";
    node.host = "h1";
    node.port = 1;
    node.has_port = true;
    c.id = yarn_container_id_message(&id, (struct yarn_container_id){ { { 1, 1 }, 1 }, 2 });
    c.node_id = &node;
    c.container_token = &token;
    c.has_allocation_request_id = true;
    c.allocation_request_id = 0;
    m->allocated_containers = list;
    m->n_allocated_containers = 1;
}

static int on_allocate(struct world *w, const Yarn__AllocateRequest *request, void **ret)
{
    Yarn__AllocateResponse m = YARN__ALLOCATE_RESPONSE__INIT;
    Hadoop__Token token = HADOOP__TOKEN__INIT;

    w->allocates++;
    w->allocate_at = loop_now(fake_rpc.loop);
    assert_int_equal(request->response_id, w->last_id);
    m.has_response_id = true;
    m.response_id = ++w->last_id;
    for (size_t i = 0; i < request->n_ask; i++)
        w->asked = request->ask[i]->num_containers;
    if (w->grant_after && w->allocates == w->grant_after && w->asked > 0)
        add_grant(&m);
    if (w->new_token) {
        token.kind = "rolled";
        token.service = "";
        m.am_rm_token = &token;
        w->new_token = false;
    }
    return fake_copy(&m, ret);
}

static int on_finish(struct world *w, void **ret)
{
    Yarn__FinishApplicationMasterResponse m = YARN__FINISH_APPLICATION_MASTER_RESPONSE__INIT;

    m.has_unregistered = true;
    m.unregistered = ++w->finishes >= w->unregister_at;
    return fake_copy(&m, ret);
}

static int resource_manager(void *arg, struct rpc_service *s, const char *method,
                            const void *request, void **ret, struct err *err)
{
    struct world *w = arg;

    snprintf(w->token, sizeof(w->token), "%s", s->token);
    if (w->hang)
        return fiber_sleep(fake_rpc.loop, 60000);
    if (w->refuse) {
        w->refuse--;
        return err_set(err, -ECONNREFUSED, "connection refused");
    }
    if (w->killed)
        return fake_throw("ApplicationAttemptNotFoundException", "gone", err);
    if (str_eq(method, "registerApplicationMaster"))
        return on_register(w, ret);
    if (w->restarted)
        return fake_throw("ApplicationMasterNotRegisteredException", "AM should re-register.", err);
    if (w->broken && str_eq(method, "allocate")) {
        w->broken--;
        return rpc_exception_err("java.lang.NullPointerException", "null", err);
    }
    return str_eq(method, "allocate") ? on_allocate(w, request, ret) : on_finish(w, ret);
}

/* ---- helpers ---- */

static void start(struct world *w)
{
    w->session = fake_session(fake_rpc.loop, TESTDATA "one-rm", TESTDATA "am.tokens");
    assert_int_equal(am_new(w->session, &w->conf, &w->am, NULL), 0);
    assert_int_equal(am_start(w->am, NULL), 0);
    assert_int_equal(am_start(w->am, NULL), -EALREADY);
}

static int stop(struct world *w)
{
    w->am = am_free(w->am);
    w->session = session_free(w->session);
    return 0;
}

static enum amrm_event_type next(struct world *w)
{
    const struct amrm_event *e = NULL;

    assert_int_equal(am_next(w->am, &e, loop_in(fake_rpc.loop, 30000), NULL), 0);
    return e->type;
}

static void ask_for_one(struct world *w)
{
    struct ask ask = { .count = 1, .resource = { 64, 1, NULL, 0 } };

    assert_int_equal(amrm_ask(am_rm(w->am), &ask, NULL), 0);
}

static void run(int (*fn)(void *arg), struct world *w)
{
    fake_run(fn, w, resource_manager, w);
}

/* ---- claims ---- */

static int without_token(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;

    w->session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    assert_int_equal(am_new(w->session, &w->conf, &w->am, &err), -ENOKEY);
    assert_string_equal(err.text, "there is no token for an application master");
    return stop(w);
}

static void a_program_that_yarn_did_not_start_is_told_so(void **state)
{
    struct world w = { 0 };

    (void)state;
    run(without_token, &w);
}

static int quick_then_slow(void *arg)
{
    struct world *w = arg;
    int64_t began, took;
    size_t idle;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    began = loop_now(fake_rpc.loop);
    ask_for_one(w);
    do {
        fiber_sleep(fake_rpc.loop, 1);
        took = loop_now(fake_rpc.loop) - began;
    } while (w->allocates < 20 && took < w->conf.idle_ms);
    assert_true(w->allocates >= 20); /* every 10 ms, on a machine that has nothing else to do … */
    assert_true(took > 90);          /* … and not much more often */
    w->grant_after = w->allocates + 1;
    assert_int_equal(next(w), AMRM_GRANTED);
    idle = w->allocates;
    fiber_sleep(fake_rpc.loop, 300);
    assert_true(w->allocates - idle <= 3); /* what the grant left to say */
    return stop(w);
}

static void heartbeats_are_quick_only_while_something_is_awaited(void **state)
{
    struct world w = { .conf = { .idle_ms = 60000 } };

    (void)state;
    run(quick_then_slow, &w);
}

static int told_at_once(void *arg)
{
    struct world *w = arg;
    int64_t asked_at;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    fiber_sleep(fake_rpc.loop, 50);
    assert_int_equal(w->allocates, 0);
    asked_at = loop_now(fake_rpc.loop);
    ask_for_one(w);
    while (w->allocates == 0)
        fiber_sleep(fake_rpc.loop, 1);
    assert_int_equal(w->asked, 1);
    assert_true(w->allocate_at - asked_at < 10000); /* not the 20 s of the idle heartbeat */
    assert_int_equal(amrm_cancel(am_rm(w->am), 0, 0, -1), 1);
    while (w->asked == 1)
        fiber_sleep(fake_rpc.loop, 1);
    return stop(w);
}

static void news_do_not_wait_for_the_heartbeat(void **state)
{
    struct world w = { .conf = { .idle_ms = 20000 } };

    (void)state;
    run(told_at_once, &w);
}

static int through_restart(void *arg)
{
    struct world *w = arg;
    const struct amrm_event *e = NULL;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    ask_for_one(w);
    while (w->allocates < 3)
        fiber_sleep(fake_rpc.loop, 1);
    w->refuse = 2; /* away */
    w->restarted = true;
    w->asked = 0;
    w->grant_after = 0;
    assert_int_equal(am_next(w->am, &e, loop_in(fake_rpc.loop, 30000), NULL), 0);
    assert_int_equal(e->type, AMRM_REGISTERED);
    assert_true(e->again);
    assert_int_equal(w->registers, 2);
    while (w->asked == 0) /* told again */
        fiber_sleep(fake_rpc.loop, 1);
    return stop(w);
}

static void a_master_survives_the_restart_of_the_rm(void **state)
{
    struct world w = { .conf = { .idle_ms = 20 } };

    (void)state;
    run(through_restart, &w);
}

static int give_up(void *arg)
{
    struct world *w = arg;
    const struct amrm_event *e = NULL;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    w->refuse = 1000000;
    assert_int_equal(am_next(w->am, &e, loop_in(fake_rpc.loop, 20000), NULL), -ENODATA);
    assert_int_equal(am_error(w->am)->code, -ECONNREFUSED);
    assert_int_equal(am_finish(w->am, 1, "", "", loop_in(fake_rpc.loop, 30000), NULL),
                     -ECONNREFUSED);
    return stop(w);
}

static void an_rm_that_stays_away_ends_the_master(void **state)
{
    struct world w = { .conf = { .idle_ms = 20, .patience_ms = 300 } };

    (void)state;
    run(give_up, &w);
}

static int until_killed(void *arg)
{
    struct world *w = arg;
    const struct amrm_event *e = NULL;
    size_t calls;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    w->killed = true;
    assert_int_equal(next(w), AMRM_ENDED);
    assert_int_equal(am_next(w->am, &e, LOOP_NEVER, NULL), -ENODATA);
    assert_string_equal(am_error(w->am)->text, "ApplicationAttemptNotFoundException: gone");
    calls = fake_rpc.calls;
    fiber_sleep(fake_rpc.loop, 50);
    assert_int_equal(fake_rpc.calls, calls); /* it says nothing more */
    return stop(w);
}

static void a_killed_attempt_falls_silent(void **state)
{
    struct world w = { .conf = { .idle_ms = 20 } };

    (void)state;
    run(until_killed, &w);
}

static int to_the_end(void *arg)
{
    struct world *w = arg;
    int64_t deadline = loop_in(fake_rpc.loop, 30000), began;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    began = loop_now(fake_rpc.loop);
    assert_int_equal(
        am_finish(w->am, YARN__FINAL_STATUS__FINAL_SUCCEEDED, "ok", "", deadline, NULL), 0);
    assert_int_equal(w->finishes, 4);
    assert_true(loop_now(fake_rpc.loop) - began < 10000); /* 2 + 4 + 8 ms, not 3 heartbeats */
    assert_int_equal(amrm_state(am_rm(w->am)), AMRM_DONE);
    assert_int_equal(am_finish(w->am, 1, "", "", deadline, NULL), -EALREADY);
    return stop(w);
}

static void finishing_is_repeated_until_the_rm_has_it(void **state)
{
    struct world w = { .conf = { .idle_ms = 20000 }, .unregister_at = 4 };

    (void)state;
    run(to_the_end, &w);
}

static int early_end(void *arg)
{
    struct world *w = arg;

    w->session = fake_session(fake_rpc.loop, TESTDATA "one-rm", TESTDATA "am.tokens");
    assert_int_equal(am_new(w->session, &w->conf, &w->am, NULL), 0);
    assert_int_equal(am_finish(w->am, YARN__FINAL_STATUS__FINAL_FAILED, "no", "",
                               loop_in(fake_rpc.loop, 30000), NULL),
                     0);
    assert_int_equal(w->registers, 1);
    assert_int_equal(w->finishes, 1);
    return stop(w);
}

static void a_master_may_give_up_before_it_starts(void **state)
{
    struct world w = { 0 };

    (void)state;
    run(early_end, &w);
}

static int cut_short(void *arg)
{
    struct world *w = arg;
    const struct amrm_event *e = NULL;

    w->hang = true;
    start(w);
    assert_int_equal(am_next(w->am, &e, loop_in(fake_rpc.loop, 30), NULL), -ETIMEDOUT);
    return stop(w); /* and this returns */
}

static void a_master_can_be_freed_at_any_time(void **state)
{
    struct world w = { 0 };

    (void)state;
    run(cut_short, &w);
}

static int in_trouble(void *arg)
{
    struct world *w = arg;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    assert_int_equal(next(w), AMRM_TROUBLE);
    assert_string_equal(am_trouble(w->am)->text, "NullPointerException: null");
    ask_for_one(w);
    w->grant_after = 2; /* the one that failed is repeated first, as it was */
    assert_int_equal(next(w), AMRM_GRANTED);
    assert_int_equal(am_trouble(w->am)->code, 0);
    return stop(w);
}

static void the_words_of_an_rm_that_fails_are_kept_until_it_answers(void **state)
{
    struct world w = { .conf = { .idle_ms = 20 }, .broken = 3 };

    (void)state;
    run(in_trouble, &w);
}

static int take_token(void *arg)
{
    struct world *w = arg;
    size_t before;

    start(w);
    assert_int_equal(next(w), AMRM_REGISTERED);
    w->new_token = true;
    assert_int_equal(next(w), AMRM_TOKEN);
    before = w->allocates;
    for (int i = 0; i < 12000 && w->allocates == before; i++)
        assert_int_equal(fiber_sleep(fake_rpc.loop, 5), 0);
    assert_string_equal(w->token, "rolled");
    return stop(w);
}

static void a_new_token_is_taken_over(void **state)
{
    struct world w = { .conf = { .idle_ms = 20 } };

    (void)state;
    run(take_token, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_yarn_did_not_start_is_told_so),
        cmocka_unit_test(heartbeats_are_quick_only_while_something_is_awaited),
        cmocka_unit_test(news_do_not_wait_for_the_heartbeat),
        cmocka_unit_test(a_master_survives_the_restart_of_the_rm),
        cmocka_unit_test(an_rm_that_stays_away_ends_the_master),
        cmocka_unit_test(a_killed_attempt_falls_silent),
        cmocka_unit_test(finishing_is_repeated_until_the_rm_has_it),
        cmocka_unit_test(a_master_may_give_up_before_it_starts),
        cmocka_unit_test(a_master_can_be_freed_at_any_time),
        cmocka_unit_test(a_new_token_is_taken_over),
        cmocka_unit_test(the_words_of_an_rm_that_fails_are_kept_until_it_answers),
    };

    return cmocka_run_group_tests_name("yarn am", tests, NULL, NULL);
}
