/* engine_resume_test.c - a new master goes on from what the log says and from what agents have. */
#include "job/engine/engine_testing.h"

/* The master dies with all that it wrote down, and another one reads it. */
static void read_log(struct bench *b)
{
    const char *line, *end;

    assert_int_equal(engine_events(b->e, &b->log), 0);
    engine_free(b->e);
    b->e = NULL;
    begin(b);
    for (line = buf_text(&b->log); *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_int_equal(engine_restore(b->e, line, (size_t)(end - line), NULL), 0);
    }
    forget_counts(b);
}

static void reborn(struct bench *b)
{
    read_log(b);
    assert_int_equal(engine_resume(b->e, b->now, NULL), 0);
    work(b);
}

static void held(struct bench *b, const char *name, struct engine_held h)
{
    h.task = id_of(b, name);
    assert_int_equal(engine_on_held(b->e, &h, b->now, NULL), 0);
}

static void runs(struct bench *b, const char *name)
{
    const struct task *t = task(b, name);

    held(b, name,
         (struct engine_held){ .attempt = t->attempt,
                               .generation = t->generation,
                               .pid = t->pid,
                               .ports = t->port,
                               .n_ports = t->n_ports });
}

static void up(struct bench *b, const char *name)
{
    assert_int_equal(engine_on_agent_up(b->e, task(b, name)->slot, b->now, NULL), 0);
    work(b);
}

static void back_all(struct bench *b)
{
    char name[ENGINE_NAME_MAX];

    for (uint32_t i = 0; i < engine_n_tasks(b->e); i++)
        if (engine_task(b->e, i)->state == TASK_RUNNING)
            runs(b, engine_task_name(b->e, i, name));
    for (uint32_t i = 0; i < engine_n_slots(b->e); i++)
        if (engine_slot_is_away(b->e, i))
            assert_int_equal(engine_on_agent_up(b->e, i, b->now, NULL), 0);
    work(b);
}

static uint32_t actions(const struct bench *b)
{
    uint32_t n = 0;

    for (int i = 0; i <= ACTION_END; i++)
        n += b->done[i];
    return n;
}

static void two_workers(struct bench *b, enum spec_policy policy, int64_t max)
{
    bench_init(b, policy, max);
    role(b, "worker", 2);
    run_all(b);
}

/* ---- what goes on ---- */

static void what_runs_goes_on_as_if_nothing_had_happened(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_NEVER, -1);
    engine_on_progress(b->e, 1, 17, 100, "{\"loss\": 0.5}", b->now);
    reborn(b);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(task(b, "worker:1")->step, 17);
    assert_int_equal(task(b, "worker:1")->pid, 1001);
    assert_int_equal(task(b, "worker:1")->port[0], 10001);
    assert_int_equal(engine_slot_agent(b->e, 1), 101);
    assert_true(engine_slot_is_away(b->e, 1));
    back_all(b);
    assert_false(engine_slot_is_away(b->e, 1));
    assert_int_equal(actions(b), 0);
    ended(b, "worker:0", 0);
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void half_a_line_and_half_a_decision_are_none(void **state)
{
    static const char half[] = "{\"seq\":99,\"t\":1763274830000,\"event\":\"ta";
    static const char part[] = "{\"seq\":98,\"t\":1763274830000,\"event\":\"task\",\"task\":"
                               "\"worker:1\",\"state\":\"FAILED\",\"generation\":0,\"attempt\":0}";
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_NEVER, -1);
    read_log(b);
    assert_int_equal(engine_restore(b->e, part, strlen(part), NULL), 0);
    assert_int_equal(engine_restore(b->e, half, strlen(half), NULL), -EINVAL);
    assert_int_equal(engine_restore(b->e, "{}", 2, NULL), -EINVAL);
    assert_int_equal(engine_resume(b->e, b->now, NULL), 0);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    back_all(b);
    /* Who had read it is told otherwise, in the numbering that goes on. */
    assert_true(logged(b, "{\"seq\":99,", "\"task\":\"worker:1\",\"state\":\"RUNNING\""));
}

static void a_job_that_has_ended_is_only_closed(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_NEVER, -1);
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_EXIT, .code = 7, .lines = "oh\n" });
    assert_ended(b, JOB_FAILED, 7);
    reborn(b);
    assert_ended(b, JOB_FAILED, 7);
    assert_string_equal(outcome_of(b).text, "worker:1 ended with exit code 7");
    assert_string_equal(outcome_of(b).lines, "oh\n");
    assert_int_equal(b->done[ACTION_END], 1);
    assert_int_equal(actions(b), 1);
    assert_true(engine_slot_is_away(b->e, 0)); /* its agent may still save what the task left */
    assert_int_equal(engine_slot_agent(b->e, 0), 100);
    assert_int_equal(engine_last_agent(b->e), 101);
}

/* Lines of the log that have the text. */
static unsigned told(struct bench *b, const char *text)
{
    unsigned n = 0;

    assert_int_equal(engine_events(b->e, &b->log), 0);
    for (const char *p = buf_text(&b->log); (p = strstr(p, text)) != NULL; p++)
        n++;
    return n;
}

/* The ResourceManager may not have heard of the end, and start another master. */
static void nothing_is_told_behind_the_end(void **state)
{
    struct bench *b = *state;
    struct event ev;

    two_workers(b, SPEC_RESTART_NEVER, -1);
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_EXIT, .code = 7 });
    engine_close(b->e, b->now);
    assert_int_equal(told(b, "\"event\":\"end\""), 1);
    reborn(b);
    assert_ended(b, JOB_FAILED, 7);
    engine_event(b->e, EVENT_MASTER, b->now, &ev);
    assert_int_equal(event_end(&ev), 0);
    engine_close(b->e, b->now);
    assert_int_equal(told(b, "\"event\":\"end\""), 1);
    assert_int_equal(told(b, "\"event\":\"master\""), 0);
}

static void a_job_that_had_not_begun_begins(void **state)
{
    static const struct engine_facts facts = { .job = "application_1_1" };
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    begin(b);
    assert_int_equal(engine_created(b->e, &facts, b->now, NULL), 0);
    reborn(b);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

static void a_stop_that_was_asked_for_is_carried_out(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_GANG, 3);
    b->lazy = true;
    engine_set_grace(b->e, 8000);
    assert_int_equal(engine_stop(b->e, "me", b->now, NULL), 0);
    work(b);
    b->now += 5000;
    reborn(b);
    assert_int_equal(engine_state(b->e), JOB_FINISHING);
    back_all(b);
    assert_int_equal(b->done[ACTION_STOP], 2);
    assert_int_equal(b->last_grace, 3000); /* what is left of it */
    ended_as(b, "worker:0", (struct engine_end){ .cls = FAIL_SIGNAL, .signal = 15 });
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_SIGNAL, .signal = 15 });
    assert_ended(b, JOB_KILLED, 143);
    assert_string_equal(outcome_of(b).text, "stopped by me");
}

static void budgets_are_not_given_a_second_time(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_TASK, 1);
    ended(b, "worker:0", 1);
    reborn(b);
    back_all(b);
    ended(b, "worker:0", 1);
    assert_int_equal(engine_state(b->e), JOB_FAILED);
}

static void a_scaled_role_keeps_its_size(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    b->opt.elastic = true;
    role(b, "worker", 2);
    run_all(b);
    assert_int_equal(engine_scale(b->e, "worker", 4, "me", b->now, NULL), 0);
    work(b);
    reborn(b);
    assert_int_equal(engine_role_count(b->e, 0), 4);
    assert_int_equal(state_of(b, "worker:3"), TASK_RUNNING);
    back_all(b);
    assert_int_equal(actions(b), 0);
}

/* ---- what was under way ---- */

static void what_was_asked_for_is_asked_for_again(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 3);
    begin(b);
    b->lazy = true;
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    assert_int_equal(engine_on_granted(b->e, 1, 7, b->now, NULL), 0);
    b->now += 1000;
    reborn(b);
    assert_int_equal(b->done[ACTION_ASK], 2);
    assert_int_equal(engine_state(b->e), JOB_ASKING);
    assert_int_equal(engine_slot_agent(b->e, 1), 7);
    assert_int_equal(engine_deadline(b->e), T0 + 300000); /* held since then */
    up(b, "worker:1");
    assert_int_equal(b->done[ACTION_PREPARE], 1);
}

static void a_gang_that_was_being_formed_is_formed(void **state)
{
    struct bench *b = *state;
    uint16_t port = 7000;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 1);
    begin(b);
    b->lazy = true;
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    assert_int_equal(engine_on_granted(b->e, 0, 7, b->now, NULL), 0);
    assert_int_equal(engine_on_agent_up(b->e, 0, b->now, NULL), 0);
    assert_int_equal(engine_on_prepared(b->e, 0, &port, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_FORM], 1);
    reborn(b);
    assert_int_equal(b->done[ACTION_FORM], 0); /* its agent may be gone */
    held(b, "worker:0", (struct engine_held){ .ports = &port, .n_ports = 1 });
    up(b, "worker:0");
    assert_int_equal(b->done[ACTION_FORM], 1);
    assert_int_equal(b->done[ACTION_PREPARE], 0);
    assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_START], 1);
    reborn(b); /* and again: it was told to start, or was not */
    held(b, "worker:0", (struct engine_held){ .ports = &port, .n_ports = 1 });
    up(b, "worker:0");
    assert_int_equal(b->done[ACTION_START], 1);
    assert_int_equal(task(b, "worker:0")->attempt, 0);
}

/* ---- agents know better ---- */

static void what_an_agent_runs_is_believed(void **state)
{
    static const uint16_t port = 7000;
    struct bench *b = *state;
    struct engine_held h = { .pid = 55, .ports = &port, .n_ports = 1, .ready = true };

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2)->ready.kind = SPEC_READY_PORT;
    begin(b);
    b->lazy = true;
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(engine_on_granted(b->e, i, i, b->now, NULL), 0);
    reborn(b); /* all that came then was not written down */
    held(b, "worker:0", h);
    held(b, "worker:1", h);
    up(b, "worker:0");
    up(b, "worker:1");
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    assert_int_equal(actions(b), 0);
    assert_int_equal(task(b, "worker:1")->pid, 55);
    assert_true(task(b, "worker:1")->ready);
    ended(b, "worker:0", 0);
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void what_it_does_not_have_is_lost_and_starts_again_there(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_TASK, 0);
    reborn(b);
    runs(b, "worker:0");
    up(b, "worker:0");
    up(b, "worker:1");
    pass(b, 1000);
    assert_int_equal(b->done[ACTION_START], 1);
    assert_int_equal(b->done[ACTION_ASK], 0);
    assert_int_equal(task(b, "worker:1")->attempt, 1);
    assert_int_equal(task(b, "worker:1")->port[0], 10001);
    assert_int_equal(task(b, "worker:0")->attempt, 0);
}

static void what_was_moving_moves_on(void **state)
{
    struct bench *b = *state;

    bench_init(b, SPEC_RESTART_TASK, 0);
    b->opt.elastic = true;
    role(b, "worker", 2)->procs = 2;
    run_all(b);
    b->lazy = true;
    assert_int_equal(engine_move(b->e, id_of(b, "worker:2"), 0, "me", b->now, NULL), 0);
    work(b);
    ended(b, "worker:2", 0); /* the other one of its container has not yet */
    reborn(b);
    back_all(b);
    work(b);
    assert_int_equal(b->done[ACTION_RELEASE], 0);
    ended(b, "worker:3", 0);
    assert_int_equal(b->done[ACTION_RELEASE], 1);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(state_of(b, "worker:2"), TASK_WAITING);
    assert_int_equal(state_of(b, "worker:3"), TASK_WAITING);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    assert_false(logged(b, "\"event\":\"failure\"", NULL));
}

static void an_end_that_was_not_written_down_is_told_again(void **state)
{
    struct bench *b = *state;
    struct engine_held h = { .ended = true };

    two_workers(b, SPEC_RESTART_NEVER, -1);
    ended(b, "worker:0", 0);
    reborn(b);
    held(b, "worker:0", h);
    held(b, "worker:1", h);
    up(b, "worker:0");
    up(b, "worker:1");
    assert_int_equal(actions(b), 0);
    ended(b, "worker:0", 0); /* known */
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    ended(b, "worker:1", 0);
    assert_ended(b, JOB_SUCCEEDED, 0);
}

static void an_agent_that_died_meanwhile_is_a_new_one(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_TASK, 0);
    reborn(b);
    runs(b, "worker:0");
    up(b, "worker:0");
    assert_int_equal(engine_on_agent_again(b->e, 1, b->now, NULL), 0);
    work(b);
    assert_int_equal(b->done[ACTION_PREPARE], 1);
    assert_true(logged(b, "\"event\":\"failure\"", "its agent ended"));
}

static void an_agent_may_be_away_for_a_while(void **state)
{
    struct bench *b = *state;

    two_workers(b, SPEC_RESTART_GANG, 1);
    b->lazy = true;
    assert_int_equal(engine_on_agent_away(b->e, 1, b->now, NULL), 0);
    assert_true(engine_slot_is_away(b->e, 1));
    ended(b, "worker:0", 1);
    assert_int_equal(b->done[ACTION_STOP], 0); /* it cannot be told */
    pass(b, 100000);
    runs(b, "worker:1");
    up(b, "worker:1");
    assert_int_equal(b->done[ACTION_STOP], 1);
    assert_int_equal(b->last_grace, 0); /* the grace is long over */
}

static void one_that_does_not_come_back_is_lost(void **state)
{
    struct bench *b = *state;
    AUTO_BUF text = { .max = KIB };

    two_workers(b, SPEC_RESTART_NEVER, -1);
    reborn(b);
    engine_waiting_for(b->e, &text);
    assert_string_equal(buf_text(&text), "waiting for 2 agents to reconnect");
    runs(b, "worker:0");
    up(b, "worker:0");
    lost(b, "worker:1", FAIL_NODE);
    assert_ended(b, JOB_FAILED, 75);
}

static void nonsense_is_refused_and_the_rest_forgiven(void **state)
{
    static const char *const lines[] = {
        "{\"event\":\"task\",\"task\":\"nobody:0\",\"state\":\"RUNNING\",\"rest\":true}",
        "{\"event\":\"task\",\"task\":\"worker:99\",\"state\":\"RUNNING\",\"rest\":true}",
        "{\"event\":\"task\",\"task\":\"worker:0\",\"state\":\"RUNNING\",\"attempt\":-1,"
        "\"ports\":[1,2,3,4,5,6,7,8,9],\"rest\":true}",
        "{\"event\":\"job\",\"state\":\"RUNNING\",\"generation\":1e9,\"rest\":true}",
        "{\"event\":\"request\",\"what\":\"scale\",\"role\":\"worker\",\"count\":999999999,"
        "\"rest\":true}",
        "{\"event\":\"failure\",\"task\":\"worker:1\",\"class\":\"exit\",\"then\":\"what\","
        "\"rest\":true}",
        "{\"event\":\"new\",\"rest\":true}",
    };
    struct bench *b = *state;
    struct engine_held h = { .n_ports = CLUSTER_PORTS_MAX + 1 };

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", 2);
    begin(b);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_int_equal(engine_restore(b->e, lines[i], strlen(lines[i]), NULL), 0);
    assert_int_equal(engine_resume(b->e, b->now, NULL), 0);
    assert_int_equal(engine_on_held(b->e, &h, b->now, NULL), -EINVAL);
    h = (struct engine_held){ .task = 77 };
    assert_int_equal(engine_on_held(b->e, &h, b->now, NULL), -EINVAL);
    work(b);
    assert_int_equal(state_of(b, "worker:0"), TASK_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_runs_goes_on_as_if_nothing_had_happened),
        TEST(half_a_line_and_half_a_decision_are_none),
        TEST(a_job_that_has_ended_is_only_closed),
        TEST(nothing_is_told_behind_the_end),
        TEST(a_job_that_had_not_begun_begins),
        TEST(a_stop_that_was_asked_for_is_carried_out),
        TEST(budgets_are_not_given_a_second_time),
        TEST(a_scaled_role_keeps_its_size),
        TEST(what_was_asked_for_is_asked_for_again),
        TEST(a_gang_that_was_being_formed_is_formed),
        TEST(what_an_agent_runs_is_believed),
        TEST(what_it_does_not_have_is_lost_and_starts_again_there),
        TEST(what_was_moving_moves_on),
        TEST(an_end_that_was_not_written_down_is_told_again),
        TEST(an_agent_that_died_meanwhile_is_a_new_one),
        TEST(an_agent_may_be_away_for_a_while),
        TEST(one_that_does_not_come_back_is_lost),
        TEST(nonsense_is_refused_and_the_rest_forgiven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
