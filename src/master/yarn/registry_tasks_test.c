/* registry_tasks_test.c - tasks that wait for their names before they are ready; see
 * registry_tasks.c. The registry is none: nothing is put there. */
#include "master/agents_testing.h"
#include "master/yarn/registry_entry_private.h"

/* A task on agent 1, being prepared; `x` holds back what its agent says, for its name. */
static struct agent_conn *begin_preparing(struct desk *d, struct enrolled *x)
{
    struct engine *e = d->m.engine;
    struct action a;

    x->fiber = fiber_self(d->loop);
    be_on_yarn(d, NULL);
    d->side.enrolled = x;
    assert_int_equal(engine_start(e, 1000, NULL), 0);
    assert_int_equal(engine_on_granted(e, 0, 1, 1000, NULL), 0);
    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    assert_int_equal(engine_on_agent_up(e, 0, 1000, NULL), 0);
    while (engine_next_action(e, &a))
        ;
    assert_int_equal(engine_task(e, 0)->state, TASK_PREPARING);
    return agents_get(&d->m, 1);
}

/* As the driver does what the engine wants. */
static void prepare_as_wanted(struct desk *d)
{
    struct action a;

    while (engine_next_action(d->m.engine, &a))
        if (a.kind == ACTION_PREPARE)
            registry_tasks_prepare_again(&d->m, a.id);
}

/* The agent of the container dies when the task is prepared, and the next one prepares it on
 * another port. `served`: the first report is already being given a name. */
static void prepare_twice(struct desk *d, bool served)
{
    struct enrolled x = { .m = &d->m, .domain = strdup("a.b.test"), .wanted = true };
    struct agent_conn *a = begin_preparing(d, &x);
    const uint16_t before[] = { 4711 }, now[] = { 4712 };

    assert_non_null(x.domain);
    assert_true(registry_tasks_before_ready(a, 0, before, 1));
    if (served) {
        x.batch = take(x.wishes);
        x.n_batch = x.n_wishes;
        x.n_wishes = x.cap_wishes = 0;
    }
    assert_int_equal(engine_on_agent_again(d->m.engine, 0, 1000, NULL), 0);
    prepare_as_wanted(d);
    assert_true(registry_tasks_before_ready(a, 0, now, 1));
    if (served)
        assert_false(x.batch[0].held);
    registry_tasks_give_up(&x); /* what waits is told */
    assert_int_equal(engine_task(d->m.engine, 0)->state, TASK_READY);
    assert_int_equal(engine_task(d->m.engine, 0)->port[0], 4712);
    free(x.batch);
    registry_tasks_free(&x);
    d->side.enrolled = NULL;
}

static void twice_while_it_waits(struct desk *d)
{
    prepare_twice(d, false);
}

static void twice_while_it_is_named(struct desk *d)
{
    prepare_twice(d, true);
}

static void a_report_of_an_earlier_prepare_is_dropped(void **state)
{
    (void)state;
    with_desk(twice_while_it_waits);
    with_desk(twice_while_it_is_named);
}

/* ---- tasks that keep their ports ---- */

static void keep_ports(struct desk *d, struct framework *ret)
{
    *ret = *d->m.framework;
    ret->keeps_ports = true;
    d->m.framework = ret;
}

/* In the same container, by the same agent: somebody else had taken the one before. */
static void another_port(struct desk *d)
{
    struct enrolled x = { .m = &d->m, .path = (char *)"/users/me/services/ydl/x" };
    struct agent_conn *a = begin_preparing(d, &x);
    const uint16_t before[] = { 4711 }, now[] = { 4712 };
    struct framework f;

    keep_ports(d, &f);
    x.places = calloc(1, sizeof(*x.places));
    assert_non_null(x.places);
    x.places[0] = (struct registry_entry_place){ .path = strdup("p"), .agent = 1, .port = 4711 };
    x.n_places = 1;
    assert_false(registry_tasks_before_ready(a, 0, before, 1));
    assert_int_equal(x.n_wishes, 0);
    assert_false(registry_tasks_before_ready(a, 0, now, 1));
    assert_int_equal(x.n_wishes, 1);
    assert_int_equal(x.wishes[0].ports[0], 4712);
    registry_tasks_free(&x);
    d->side.enrolled = NULL;
}

static void the_record_of_a_task_follows_its_port(void **state)
{
    (void)state;
    with_desk(another_port);
}

static void run_serve(void *arg)
{
    struct enrolled *x = arg;

    registry_tasks_serve(x);
    x->fiber = NULL;
    cond_wake_all(&x->changed);
}

static void wait_for_failure(struct desk *d, const struct enrolled *x)
{
    for (int i = 0; !x->retry_at && i < ENOUGH; i++)
        assert_int_equal(fiber_sleep(d->loop, 1), 0);
    assert_true(x->retry_at > loop_now(d->loop));
    assert_true(x->failing);
    assert_int_equal(x->n_wishes, 0);
}

/* There is no registry, and no record can be put at such a path. */
static void put_in_vain(struct desk *d)
{
    struct enrolled x = { .m = &d->m, .path = (char *)"no path" };
    struct agent_conn *a = begin_preparing(d, &x);
    const uint16_t port[] = { 4711 };
    struct framework f;

    keep_ports(d, &f);
    assert_int_equal(fiber_start(d->loop, run_serve, &x, &x.fiber, NULL), 0);
    assert_false(registry_tasks_before_ready(a, 0, port, 1));
    assert_int_equal(inbox_prepared(a, 0, port, 1, NULL), 0);
    wait_for_failure(d, &x);
    for (int i = 0; i < 2; i++) { /* it is time, twice */
        x.retry_at = loop_now(d->loop);
        cond_wake_all(&x.changed);
        assert_int_equal(fiber_yield(d->loop), 0);
        assert_int_not_equal(engine_task(d->m.engine, 0)->state, TASK_PREPARING);
        wait_for_failure(d, &x);
    }
    fiber_cancel(x.fiber);
    while (x.fiber)
        (void)cond_wait(d->loop, &x.changed, LOOP_NEVER);
    registry_tasks_free(&x);
    d->side.enrolled = NULL;
}

static void a_record_that_could_not_be_put_is_tried_again(void **state)
{
    (void)state;
    with_desk(put_in_vain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_of_an_earlier_prepare_is_dropped),
        cmocka_unit_test(the_record_of_a_task_follows_its_port),
        cmocka_unit_test(a_record_that_could_not_be_put_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
