/* engine_names_test.c - tasks that are known by names keep them, and their ports, when they move.
 */
#include "job/engine/engine_testing.h"

#define DOMAIN "mnist.alice.cluster.test"

static void with(struct bench *b, enum spec_policy policy, int64_t max, const char *domain)
{
    bench_init(b, policy, max);
    role(b, "ps", 1);
    role(b, "worker", 3);
    begin(b);
    assert_int_equal(engine_set_names(b->e, domain, NULL), 0);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    forget_counts(b);
}

static void a_task_with_a_name_moves_alone_and_keeps_its_port(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    with(b, SPEC_RESTART_TASK, 1, DOMAIN);
    port = task(b, "worker:1")->port[0];
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    assert_int_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(task(b, "worker:1")->attempt, 1);
    assert_int_equal(engine_generation(b->e), 0);
    assert_int_equal(b->done[ACTION_ASK], 1);
    assert_int_equal(b->done[ACTION_STOP], 0); /* the others are undisturbed */
    assert_int_equal(b->done[ACTION_FORM], 0);
    assert_true(logged(b, "\"state\":\"RUNNING\"", "\"names\":\"" DOMAIN "\""));
}

/* Nobody has names here; the tasks need not know of each other. */
static void a_task_whose_address_people_know_keeps_its_port(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    bench_init(b, SPEC_RESTART_TASK, 5);
    b->opt.elastic = b->opt.keeps_ports = true;
    role(b, "worker", 2);
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    work(b);
    port = task(b, "worker:1")->port[0];
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    assert_int_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(engine_generation(b->e), 0);
    /* Somebody has it on the next node. */
    b->lazy = true;
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(task(b, "worker:1")->n_ports, 1);
    assert_int_equal(engine_on_granted(b->e, 1, 9, b->now, NULL), 0);
    assert_int_equal(engine_on_agent_up(b->e, 1, b->now, NULL), 0);
    work(b);
    b->lazy = false;
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_PORT });
    pass(b, 60000);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    assert_int_not_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(engine_generation(b->e), 0);
}

static void without_names_and_by_other_policies_the_gang_is_formed_anew(void **state)
{
    static const struct {
        enum spec_policy policy;
        const char *domain;
    } rows[] = { { SPEC_RESTART_TASK, NULL }, { SPEC_RESTART_GANG, DOMAIN } };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint16_t port;

        with(b, rows[i].policy, 1, rows[i].domain);
        port = task(b, "worker:1")->port[0];
        lost(b, "worker:1", FAIL_NODE);
        assert_int_equal(engine_generation(b->e), 1);
        assert_int_not_equal(task(b, "worker:1")->port[0], port);
        assert_int_equal(b->done[ACTION_STOP], 3);
        b->e = engine_free(b->e);
        buf_done(&b->log);
    }
}

/* Another job has it on the other node: that is nobody's fault, and the others are told. */
static void a_port_that_is_taken_elsewhere_forms_the_gang_anew_for_free(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    with(b, SPEC_RESTART_TASK, 1, DOMAIN);
    port = task(b, "worker:1")->port[0];
    b->lazy = true;
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(engine_on_granted(b->e, 2, 7, b->now, NULL), 0);
    assert_int_equal(engine_on_agent_up(b->e, 2, b->now, NULL), 0);
    work(b);
    assert_int_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(task(b, "worker:1")->n_ports, 1);
    b->lazy = false;
    ended_as(b, "worker:1", (struct engine_end){ .cls = FAIL_PORT });
    pass(b, 60000);
    assert_int_equal(engine_generation(b->e), 1);
    assert_int_not_equal(task(b, "worker:1")->port[0], port);
    assert_true(logged(b, "\"class\":\"port\"", "\"counted\":false"));
    ended(b, "worker:1", 1); /* its one restart is still there */
    pass(b, 60000);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
}

static void a_task_about_to_restart_keeps_its_port_when_its_container_goes(void **state)
{
    struct bench *b = *state;
    uint16_t port;

    with(b, SPEC_RESTART_TASK, 5, DOMAIN);
    port = task(b, "worker:1")->port[0];
    for (int i = 0; i < 2; i++) /* it dies young: the second time it has to wait */
        ended(b, "worker:1", 1);
    assert_int_equal(state_of(b, "worker:1"), TASK_FAILED);
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(state_of(b, "worker:1"), TASK_RUNNING);
    assert_int_equal(task(b, "worker:1")->port[0], port);
    assert_int_equal(engine_generation(b->e), 0);
}

/* Everybody is told again, so nobody has to wait for a port that is taken. */
static void a_gang_that_is_formed_anew_brings_no_ports_along(void **state)
{
    struct bench *b = *state;

    with(b, SPEC_RESTART_TASK, 5, DOMAIN);
    b->lazy = true;
    lost(b, "worker:1", FAIL_NODE);
    assert_int_equal(task(b, "worker:1")->n_ports, 1);
    assert_int_equal(engine_restart(b->e, EVERYBODY, "alice", b->now, NULL), 0);
    assert_int_equal(task(b, "worker:1")->n_ports, 0);
    assert_int_equal(task(b, "worker:0")->n_ports, 1);
}

static void a_new_master_reads_the_names_in_the_log(void **state)
{
    struct bench *b = *state;
    AUTO(engine) struct engine *e = NULL;
    const char *line, *end;

    with(b, SPEC_RESTART_TASK, 1, DOMAIN);
    assert_int_equal(engine_new(&b->spec, &b->opt, &e, NULL), 0);
    assert_null(engine_names(e));
    for (line = buf_text(&b->log); line && *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_int_equal(engine_restore(e, line, (size_t)(end - line), NULL), 0);
    }
    assert_string_equal(engine_names(e), DOMAIN);
}

static void a_domain_leaves_room_for_a_label(void **state)
{
    struct bench *b = *state;
    char domain[200];

    with(b, SPEC_RESTART_TASK, 1, DOMAIN);
    memset(domain, 'a', sizeof(domain));
    domain[190] = '\0';
    assert_int_equal(engine_set_names(b->e, domain, NULL), -EINVAL);
    assert_int_equal(engine_set_names(b->e, "", NULL), -EINVAL);
    assert_string_equal(engine_names(b->e), DOMAIN);
    domain[189] = '\0';
    assert_int_equal(engine_set_names(b->e, domain, NULL), 0);
    assert_int_equal(engine_set_names(b->e, NULL, NULL), 0);
    assert_null(engine_names(b->e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_task_with_a_name_moves_alone_and_keeps_its_port),
        TEST(a_task_whose_address_people_know_keeps_its_port),
        TEST(without_names_and_by_other_policies_the_gang_is_formed_anew),
        TEST(a_port_that_is_taken_elsewhere_forms_the_gang_anew_for_free),
        TEST(a_task_about_to_restart_keeps_its_port_when_its_container_goes),
        TEST(a_gang_that_is_formed_anew_brings_no_ports_along),
        TEST(a_new_master_reads_the_names_in_the_log),
        TEST(a_domain_leaves_room_for_a_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
