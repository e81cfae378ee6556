/* fiber_test.c - claims about fibers, conditions, groups and the loop. */
#include "base/auto.h"
#include "loop/fiber.h"
#include "test.h"

#include <signal.h>
#include <string.h>

struct world {
    struct fiber *waiter;
    struct loop *loop;
    struct cond cond;
    char order[64];
    int result;
    int count;
};

static void note(struct world *w, char c)
{
    size_t n = strlen(w->order);

    w->order[n] = c;
}

static int run(int (*fn)(void *arg))
{
    struct world w = { 0 };
    int r;

    assert_int_equal(loop_new(&w.loop, NULL), 0);
    r = loop_run(w.loop, fn, &w, false);
    loop_free(w.loop);
    return r;
}

static void write_b(void *arg)
{
    note(arg, 'b');
}

static int start_then_yield(void *arg)
{
    struct world *w = arg;

    assert_int_equal(fiber_start(w->loop, write_b, w, NULL, NULL), 0);
    note(w, 'a'); /* it has not run inside fiber_start */
    fiber_yield(w->loop);
    note(w, 'c');
    assert_string_equal(w->order, "abc");
    return 7;
}

static void a_fiber_starts_at_the_next_turn_and_loop_run_returns_its_result(void **state)
{
    (void)state;
    assert_int_equal(run(start_then_yield), 7);
}

static int wait_past(void *arg)
{
    struct world *w = arg;
    int64_t before = loop_now(w->loop);

    assert_int_equal(cond_wait(w->loop, &w->cond, before + 20), -ETIMEDOUT);
    assert_true(loop_now(w->loop) - before >= 19);
    assert_int_equal(cond_wait(w->loop, &w->cond, before), -ETIMEDOUT); /* long past */
    assert_null(w->cond.first);
    return 0;
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    assert_int_equal(run(wait_past), 0);
}

static void wait_and_note(void *arg)
{
    struct world *w = arg;

    w->result = cond_wait(w->loop, &w->cond, LOOP_NEVER);
    w->count++;
}

static int wake_in_order(void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < 3; i++)
        fiber_start(w->loop, wait_and_note, w, NULL, NULL);
    fiber_yield(w->loop);
    cond_wake(&w->cond);
    assert_int_equal(w->count, 0); /* never inside the call that wakes */
    fiber_yield(w->loop);
    assert_int_equal(w->count, 1);
    cond_wake_all(&w->cond);
    cond_wake_all(&w->cond); /* nobody left: harmless */
    fiber_yield(w->loop);
    assert_int_equal(w->count, 3);
    return w->result;
}

static void waking_runs_each_waiter_once_and_later(void **state)
{
    (void)state;
    assert_int_equal(run(wake_in_order), 0);
}

static int cancel_a_waiter(void *arg)
{
    struct world *w = arg;
    struct fiber *f;

    assert_int_equal(fiber_start(w->loop, wait_and_note, w, &f, NULL), 0);
    fiber_yield(w->loop);
    fiber_cancel(f);
    cond_wake_all(&w->cond); /* too late: the wait has ended already */
    fiber_yield(w->loop);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->result, -ECANCELED);
    return 0;
}

static void a_cancelled_wait_ends_once_with_ecanceled(void **state)
{
    (void)state;
    assert_int_equal(run(cancel_a_waiter), 0);
}

static void shielded_sleep(void *arg)
{
    struct world *w = arg;

    fiber_shield(w->loop, true);
    w->result = fiber_sleep(w->loop, 5);
    fiber_shield(w->loop, false);
    w->count = fiber_sleep(w->loop, 1000);
}

static int cancel_while_shielded(void *arg)
{
    struct world *w = arg;
    struct fiber *f;

    w->result = 99;
    assert_int_equal(fiber_start(w->loop, shielded_sleep, w, &f, NULL), 0);
    fiber_yield(w->loop);
    fiber_cancel(f);
    fiber_sleep(w->loop, 30);
    assert_int_equal(w->result, 0);
    assert_int_equal(w->count, -ECANCELED);
    return 0;
}

static void a_shield_lets_clean_up_wait(void **state)
{
    (void)state;
    assert_int_equal(run(cancel_while_shielded), 0);
}

struct job {
    struct world *w;
    int ms, fail;
    bool cancelled;
};

static int sleep_or_fail(void *arg, struct err *err)
{
    struct job *j = arg;

    j->w->count++;
    if (j->w->count > j->w->result)
        j->w->result = j->w->count; /* the most at one time */
    j->cancelled = fiber_sleep(j->w->loop, j->ms) == -ECANCELED;
    j->w->count--;
    return j->fail ? err_set(err, -EIO, "job of %d ms failed", j->ms) : 0;
}

static int limited_group(void *arg)
{
    struct world *w = arg;
    struct job jobs[10];
    struct group g;

    group_init(&g, w->loop, 3);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        jobs[i] = (struct job){ .w = w, .ms = 3 };
        assert_int_equal(group_go(&g, sleep_or_fail, &jobs[i], NULL), 0);
    }
    assert_int_equal(group_wait(&g, NULL), 0);
    assert_int_equal(w->result, 3);
    return 0;
}

static void a_group_keeps_to_its_limit(void **state)
{
    (void)state;
    assert_int_equal(run(limited_group), 0);
}

static int failing_group(void *arg)
{
    struct world *w = arg;
    struct job slow = { .w = w, .ms = 600000 }, bad = { .w = w, .ms = 1, .fail = 1 };
    struct err err = ERR_INIT;
    struct group g;
    int64_t before = loop_now(w->loop);

    group_init(&g, w->loop, 0);
    group_go(&g, sleep_or_fail, &slow, NULL);
    group_go(&g, sleep_or_fail, &bad, NULL);
    assert_int_equal(group_wait(&g, &err), -EIO);
    assert_string_equal(err.text, "job of 1 ms failed");
    assert_true(slow.cancelled);
    assert_true(loop_now(w->loop) - before < 300000);
    assert_int_equal(group_go(&g, sleep_or_fail, &bad, NULL), -EIO);
    return 0;
}

static int nap(void *arg, struct err *err)
{
    struct world *w = arg;

    (void)err;
    return fiber_sleep(w->loop, 1);
}

static int fail_soon(void *arg, struct err *err)
{
    (void)nap(arg, err);
    return err_set(err, -EIO, "one of them failed");
}

/* Its end does not depend on anybody, so the group itself has not failed. */
static int cancel_and_end_well(void *arg, struct err *err)
{
    struct world *w = arg;

    (void)err;
    fiber_cancel(w->waiter);
    return 0;
}

static int all_at_once(void *arg)
{
    static int (*const good[])(void *, struct err *) = { nap, nap };
    static int (*const bad[])(void *, struct err *) = { nap, fail_soon };
    static int (*const gone[])(void *, struct err *) = { cancel_and_end_well };
    struct world *w = arg;
    struct err err = ERR_INIT;

    assert_int_equal(group_all(w->loop, good, 2, w, &err), 0);
    assert_int_equal(group_all(w->loop, bad, 2, w, &err), -EIO);
    assert_string_equal(err.text, "one of them failed");
    err_clear(&err);
    w->waiter = fiber_self(w->loop);
    assert_int_equal(group_all(w->loop, gone, 1, w, &err), -ECANCELED);
    return 0;
}

static void who_waits_for_all_learns_of_failures_and_of_being_cancelled(void **state)
{
    (void)state;
    assert_int_equal(run(all_at_once), 0);
}

static void the_first_failure_cancels_the_rest_of_a_group(void **state)
{
    (void)state;
    assert_int_equal(run(failing_group), 0);
}

static int raise_and_sleep(void *arg)
{
    struct world *w = arg;

    raise(SIGTERM);
    return fiber_sleep(w->loop, 600000);
}

static void a_signal_cancels_the_main_fiber(void **state)
{
    struct world w = { 0 };

    (void)state;
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, raise_and_sleep, &w, true), -ECANCELED);
    assert_int_equal(loop_signal(w.loop), SIGTERM);
    loop_free(w.loop);
}

static int leave_fibers_behind(void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < 20; i++)
        fiber_start(w->loop, wait_and_note, w, NULL, NULL);
    return fiber_yield(w->loop);
}

static void freeing_the_loop_unwinds_what_still_waits(void **state)
{
    struct world w = { 0 };

    (void)state;
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, leave_fibers_behind, &w, false), 0);
    loop_free(w.loop);
    assert_int_equal(w.count, 20);
    assert_int_equal(w.result, -ECANCELED);
}

static void deep(int n, char *sum)
{
    char frame[1024];

    memset(frame, n, sizeof(frame));
    *sum = (char)(*sum + frame[n % 1024]);
    if (n > 0)
        deep(n - 1, sum);
    *sum = (char)(*sum + frame[1]);
}

static int go_deep(void *arg)
{
    char sum = 0;

    (void)arg;
    deep(150, &sum);
    return 0;
}

static void a_fiber_has_room_for_ordinary_call_depth(void **state)
{
    (void)state;
    assert_int_equal(run(go_deep), 0);
}

#define MANY 300

struct crowd {
    struct loop *loop;
    uintptr_t at[MANY]; /* the stacks that they had */
    uint32_t n, distinct;
};

static void note_stack(void *arg)
{
    struct crowd *c = arg;
    char here = 0;
    uintptr_t at = (uintptr_t)&here;
    uint32_t i = 0;

    while (i < c->distinct && c->at[i] != at)
        i++;
    if (i == c->distinct)
        c->at[c->distinct++] = at;
    c->n++;
}

static int start_many(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < MANY; i++)
        assert_int_equal(fiber_start(c->loop, note_stack, c, NULL, NULL), 0);
    while (c->n < MANY)
        assert_int_equal(fiber_yield(c->loop), 0);
    return 0;
}

/* A thousand agents that speak at once would otherwise be a thousand stacks. */
static void those_that_end_at_once_share_a_stack(void **state)
{
    struct crowd c = { 0 };

    (void)state;
    assert_int_equal(loop_new(&c.loop, NULL), 0);
    assert_int_equal(loop_run(c.loop, start_many, &c, false), 0);
    loop_free(c.loop);
    assert_true(c.distinct <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fiber_starts_at_the_next_turn_and_loop_run_returns_its_result),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(waking_runs_each_waiter_once_and_later),
        cmocka_unit_test(a_cancelled_wait_ends_once_with_ecanceled),
        cmocka_unit_test(a_shield_lets_clean_up_wait),
        cmocka_unit_test(a_group_keeps_to_its_limit),
        cmocka_unit_test(the_first_failure_cancels_the_rest_of_a_group),
        cmocka_unit_test(who_waits_for_all_learns_of_failures_and_of_being_cancelled),
        cmocka_unit_test(a_signal_cancels_the_main_fiber),
        cmocka_unit_test(freeing_the_loop_unwinds_what_still_waits),
        cmocka_unit_test(a_fiber_has_room_for_ordinary_call_depth),
        cmocka_unit_test(those_that_end_at_once_share_a_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
