/* batcher_test.c - claims about the queue before a model, with a backend that does as it is told:
 * it doubles its input, waits until it is let go, and refuses rows that are negative. */
#include "base/auto.h"
#include "serve/engine/batcher.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    atomic_uint runs, inside;
    atomic_uint on_loop; /* runs on the loop's thread */
    pthread_t loop;
    int64_t rows[64]; /* of each run */
    bool odd;         /* gives one row too many when there is more than one request */
};

static void gate_init(struct gate *g, bool open)
{
    *g = (struct gate){ .open = open, .loop = pthread_self() };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

static void gate_set(struct gate *g, bool open)
{
    pthread_mutex_lock(&g->lock);
    g->open = open;
    pthread_mutex_unlock(&g->lock);
    pthread_cond_broadcast(&g->changed);
}

static int double_rows(const struct tensor *in, struct tensors *ret, int64_t rows)
{
    const int64_t dims[] = { rows, 1 };
    struct tensor *t = NULL;
    void *to = NULL;

    if (tensors_add(ret, &t, NULL) < 0 || tensor_init(t, "y", TENSOR_INT32, dims, 2, NULL) < 0 ||
        tensor_alloc(t, &to, NULL) < 0)
        return -ENOMEM;
    for (int64_t i = 0; i < in->dims[0]; i++)
        ((int32_t *)to)[i] = 2 * ((const int32_t *)(const void *)in->data)[i];
    return 0;
}

static int gate_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    struct gate *g = model;
    const struct tensor *x = &in->v[0];

    test_spare_thread();
    atomic_fetch_add(&g->inside, 1);
    atomic_fetch_add(&g->on_loop, pthread_equal(pthread_self(), g->loop) != 0);
    pthread_mutex_lock(&g->lock);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    g->rows[atomic_fetch_add(&g->runs, 1) % COUNT_OF(g->rows)] = x->dims[0];
    if (x->count == 0)
        return err_set(err, -EINVAL, "nothing");
    for (int64_t i = 0; i < x->dims[0]; i++)
        if (((const int32_t *)(const void *)x->data)[i] < 0)
            return err_set(err, -EINVAL, "a negative number");
    return double_rows(x, ret, x->dims[0] + (g->odd && x->dims[0] > 1));
}

static const struct backend_ops ops = { .name = "gate", .run = gate_run };

struct world {
    struct loop *loop;
    struct gate gate;
    struct batcher *batcher;
    struct batcher_options o;
    struct group fibers;
    size_t freed;
};

struct asked {
    struct batch_request q; /* first */
    struct world *w;
    int32_t value;
    int64_t empty;       /* so many rows without anything in them; 0: one with the value */
    struct gate *other;  /* the handle of another signature */
    int64_t deadline_ms; /* 0: never */
    int result;
    bool answered;
    int32_t answer;
};

static void asked_free(struct batch_request *q)
{
    struct asked *a = (struct asked *)q;

    a->w->freed++;
}

static int ask(void *arg, struct err *err)
{
    struct asked *a = arg;
    const int64_t dims[] = { a->empty ? a->empty : 1, a->empty ? 0 : 1 };
    struct tensor *t = NULL;
    void *to = NULL;

    (void)err;
    batch_request_init(&a->q, asked_free);
    a->q.model = a->other;
    assert_int_equal(tensors_add(&a->q.in, &t, NULL), 0);
    assert_int_equal(tensor_init(t, "x", TENSOR_INT32, dims, 2, NULL), 0);
    assert_int_equal(tensor_alloc(t, &to, NULL), 0);
    if (!a->empty)
        *(int32_t *)to = a->value;
    a->result =
        batcher_run(a->w->batcher, &a->q,
                    a->deadline_ms ? loop_in(a->w->loop, a->deadline_ms) : LOOP_NEVER, NULL);
    if (a->result == 0)
        a->answer = *(const int32_t *)(const void *)a->q.out.v[0].data;
    a->answered = true;
    (void)batch_request_unref(&a->q);
    return 0;
}

static void start(struct world *w, struct asked *a, int32_t value)
{
    a->w = w;
    a->value = value;
    assert_int_equal(group_go(&w->fibers, ask, a, NULL), 0);
}

static void turn_until(struct world *w, bool (*done)(struct world *w))
{
    while (!done(w))
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
}

static bool one_inside(struct world *w)
{
    return atomic_load(&w->gate.inside) > 0;
}

static void queue_until(struct world *w, size_t n)
{
    while (batcher_waiting(w->batcher) < n)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
}

static bool nothing_runs(struct world *w)
{
    return batcher_running(w->batcher) == 0;
}

/* The first one is at work when the others come. */
static void start_behind_one(struct world *w, struct asked *a, int n)
{
    for (int i = 0; i < n; i++) {
        start(w, &a[i], i);
        if (i == 0)
            turn_until(w, one_inside);
    }
}

static void ask_together(struct world *w, int n)
{
    struct asked a[4] = { 0 };

    for (int i = 0; i < n; i++)
        start(w, &a[i], i);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(a[i].answer, 2 * i);
}

/* ---- claims, each on a fiber ---- */

static int requests_that_wait_go_together(void *arg)
{
    struct world *w = arg;
    struct asked a[6] = { 0 };

    start_behind_one(w, a, 6);
    queue_until(w, 5);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(a[i].result, 0);
        assert_int_equal(a[i].answer, 2 * i);
    }
    assert_int_equal(atomic_load(&w->gate.runs), 3); /* 1, then 4 at most, then the last */
    assert_int_equal(w->gate.rows[1], 4);
    assert_int_equal(w->gate.rows[2], 1);
    assert_int_equal(w->freed, 6);
    return 0;
}

static int a_bad_request_spoils_no_other(void *arg)
{
    struct world *w = arg;
    struct asked a[4] = { 0 };
    static const int32_t values[] = { 1, 2, -3, 4 };

    for (int i = 0; i < 4; i++) {
        start(w, &a[i], values[i]);
        if (i == 0)
            turn_until(w, one_inside);
    }
    queue_until(w, 3);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(a[i].result, values[i] < 0 ? -EINVAL : 0);
    assert_int_equal(a[3].answer, 8);
    return 0;
}

static int signatures_are_not_joined_with_each_other(void *arg)
{
    struct world *w = arg;
    struct asked a[5] = { 0 };
    struct gate other;

    gate_init(&other, true);
    a[2].other = &other;
    for (int i = 0; i < 5; i++) {
        start(w, &a[i], i);
        if (i == 0)
            turn_until(w, one_inside);
    }
    while (batcher_waiting(w->batcher) < 4)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(a[i].answer, 2 * i);
    assert_int_equal(atomic_load(&other.runs), 1);
    assert_int_equal(other.rows[0], 1);
    assert_int_equal(atomic_load(&w->gate.runs), 3); /* what was before it, and what came after */
    return 0;
}

static int outputs_that_are_not_rows_end_the_joining_for_a_while(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    w->gate.odd = true;
    start_behind_one(w, a, 3);
    queue_until(w, 2);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(a[i].answer, 2 * i);
    assert_false(batcher_joins(w->batcher));
    w->gate.odd = false;
    for (int i = 0; i < 1024; i++)
        ask_together(w, 1);
    assert_true(batcher_joins(w->batcher)); /* tried again */
    ask_together(w, 2);
    assert_true(batcher_joins(w->batcher));
    return 0;
}

static int who_has_hung_up_is_not_run(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    start_behind_one(w, a, 3);
    queue_until(w, 2);
    batcher_drop(w->batcher, &a[0].q); /* it runs already */
    batcher_drop(w->batcher, &a[1].q);
    assert_int_equal(batcher_waiting(w->batcher), 1);
    while (!a[1].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[0].result, 0);
    assert_int_equal(a[1].result, -ECONNABORTED);
    assert_int_equal(a[2].result, 0);
    assert_int_equal(atomic_load(&w->gate.runs), 2);
    assert_int_equal(w->freed, 3);
    return 0;
}

static int a_full_queue_refuses(void *arg)
{
    struct world *w = arg;
    struct asked a[10] = { 0 };

    start(w, &a[0], 0);
    turn_until(w, one_inside);
    for (int i = 1; i < 10; i++)
        start(w, &a[i], i);
    while (!a[9].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(a[9].result, -EAGAIN);
    assert_int_equal(batcher_waiting(w->batcher), 8);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[8].answer, 16);
    return 0;
}

/* They come before the thread has taken any. */
static int a_thread_without_work_makes_room_in_the_queue(void *arg)
{
    struct world *w = arg;
    struct asked a[10] = { 0 };

    for (int i = 0; i < 10; i++)
        start(w, &a[i], i);
    while (!a[9].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[9].result, -EAGAIN);
    assert_int_equal(a[8].result, 0);
    return 0;
}

static int who_would_wait_too_long_is_refused_at_once(void *arg)
{
    struct world *w = arg;
    struct asked a[5] = { 0 };

    start(w, &a[0], 0);
    turn_until(w, one_inside);
    assert_int_equal(fiber_sleep(w->loop, 50), 0); /* so long it takes, at least */
    gate_set(&w->gate, true);
    turn_until(w, nothing_runs);
    gate_set(&w->gate, false);
    a[2].deadline_ms = 40; /* the first to wait may */
    a[3].deadline_ms = 40;
    a[4].deadline_ms = 3600000;
    for (int i = 1; i < 5; i++) {
        start(w, &a[i], i);
        while (i == 1 && atomic_load(&w->gate.inside) < 2)
            assert_int_equal(fiber_sleep(w->loop, 1), 0);
    }
    while (!a[2].answered)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(a[1].result, 0);
    assert_int_equal(a[2].result, -ETIMEDOUT);
    assert_int_equal(a[3].result, -EAGAIN);
    assert_int_equal(a[4].result, 0);
    return 0;
}

static int rows_that_cannot_be_added_up_are_not_joined(void *arg)
{
    struct world *w = arg;
    struct asked a[3] = { 0 };

    a[1].empty = a[2].empty = INT64_MAX;
    start_behind_one(w, a, 3);
    queue_until(w, 2);
    gate_set(&w->gate, true);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 3);
    assert_int_equal(w->gate.rows[1], INT64_MAX);
    assert_int_equal(w->gate.rows[2], INT64_MAX);
    assert_int_equal(a[2].result, -EINVAL);
    return 0;
}

/* The answer comes while the model still computes, and its memory stays until then. */
static int a_deadline_ends_the_wait_and_not_the_run(void *arg)
{
    struct world *w = arg;
    struct asked running = { .deadline_ms = 30 }, waiting = { .deadline_ms = 30 };

    start(w, &running, 1);
    turn_until(w, one_inside);
    start(w, &waiting, 2);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(running.result, -ETIMEDOUT);
    assert_int_equal(waiting.result, -ETIMEDOUT);
    assert_int_equal(w->freed, 1); /* that of the queue */
    assert_int_equal(batcher_running(w->batcher), 1);
    gate_set(&w->gate, true);
    turn_until(w, nothing_runs);
    assert_int_equal(w->freed, 2);
    assert_int_equal(atomic_load(&w->gate.runs), 1);
    return 0;
}

/* A busy machine may make any run long: so the claim is that it happens, not after how many. */
static int short_runs_come_to_the_loop(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    while (atomic_load(&w->gate.on_loop) == 0)
        ask_together(w, 1);
    assert_true(atomic_load(&w->gate.runs) > 32);
    return 0;
}

static int where_others_wait_the_loop_runs_nothing(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    for (int i = 0; i < 200; i++)
        ask_together(w, 2);
    assert_int_equal(atomic_load(&w->gate.on_loop), 0);
    return 0;
}

static int one_processor_runs_all_that_is_short_on_the_loop(void *arg)
{
    struct world *w = arg;

    gate_set(&w->gate, true);
    while (atomic_load(&w->gate.on_loop) == 0)
        ask_together(w, 4);
    assert_int_equal(w->gate.rows[0], 4);
    return 0;
}

static int a_delay_gathers_and_is_not_waited_for_by_a_full_batch(void *arg)
{
    struct world *w = arg;
    struct asked a[4] = { 0 };

    gate_set(&w->gate, true);
    for (int i = 0; i < 2; i++)
        start(w, &a[i], i);
    assert_int_equal(fiber_sleep(w->loop, 5), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 0);
    for (int i = 2; i < 4; i++)
        start(w, &a[i], i);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    assert_int_equal(atomic_load(&w->gate.runs), 1);
    assert_int_equal(w->gate.rows[0], 4);
    return 0;
}

/* ---- the frame ---- */

struct claim {
    struct world w;
    int (*fn)(void *w);
    int64_t delay_ms;
    enum batcher_where here;
};

static int run_claim(void *arg)
{
    struct claim *c = arg;
    const int64_t dims[] = { -1, 1 };
    AUTO_SIGNATURE s = { 0 };

    assert_int_equal(signature_add(&s.inputs, "x", NULL, TENSOR_INT32, dims, 2, NULL), 0);
    assert_int_equal(signature_add(&s.outputs, "y", NULL, TENSOR_INT32, dims, 2, NULL), 0);
    c->w.o = (struct batcher_options){ .loop = c->w.loop,
                                       .ops = &ops,
                                       .model = &c->w.gate,
                                       .signature = &s,
                                       .threads = 1,
                                       .here = c->here,
                                       .rows_max = 4,
                                       .delay_ms = c->delay_ms,
                                       .waiting_max = 8 };
    group_init(&c->w.fibers, c->w.loop, 0);
    assert_int_equal(batcher_new(&c->w.o, &c->w.batcher, NULL), 0);
    assert_int_equal(c->fn(&c->w), 0);
    c->w.batcher = batcher_free(c->w.batcher);
    return 0;
}

static void check(int (*fn)(void *w), int64_t delay_ms, enum batcher_where here)
{
    struct claim c = { .fn = fn, .delay_ms = delay_ms, .here = here };

    gate_init(&c.w.gate, false);
    assert_int_equal(loop_new(&c.w.loop, NULL), 0);
    assert_int_equal(loop_run(c.w.loop, run_claim, &c, false), 0);
    loop_free(c.w.loop);
}

#define CLAIM(name, delay, here)                                                                   \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check(name, delay, here);                                                                  \
    }
CLAIM(requests_that_wait_go_together, 0, BATCHER_THREADS)
CLAIM(a_bad_request_spoils_no_other, 0, BATCHER_THREADS)
CLAIM(signatures_are_not_joined_with_each_other, 0, BATCHER_THREADS)
CLAIM(outputs_that_are_not_rows_end_the_joining_for_a_while, 0, BATCHER_THREADS)
CLAIM(who_has_hung_up_is_not_run, 0, BATCHER_THREADS)
CLAIM(a_full_queue_refuses, 0, BATCHER_THREADS)
CLAIM(a_thread_without_work_makes_room_in_the_queue, 0, BATCHER_THREADS)
CLAIM(who_would_wait_too_long_is_refused_at_once, 0, BATCHER_THREADS)
CLAIM(rows_that_cannot_be_added_up_are_not_joined, 0, BATCHER_THREADS)
CLAIM(a_deadline_ends_the_wait_and_not_the_run, 0, BATCHER_THREADS)
CLAIM(a_delay_gathers_and_is_not_waited_for_by_a_full_batch, 60000, BATCHER_THREADS)
CLAIM(short_runs_come_to_the_loop, 0, BATCHER_HERE_ALONE)
CLAIM(where_others_wait_the_loop_runs_nothing, 0, BATCHER_HERE_ALONE)
CLAIM(one_processor_runs_all_that_is_short_on_the_loop, 0, BATCHER_HERE)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_that_wait_go_together),
        cmocka_unit_test(test_a_bad_request_spoils_no_other),
        cmocka_unit_test(test_signatures_are_not_joined_with_each_other),
        cmocka_unit_test(test_outputs_that_are_not_rows_end_the_joining_for_a_while),
        cmocka_unit_test(test_who_has_hung_up_is_not_run),
        cmocka_unit_test(test_a_full_queue_refuses),
        cmocka_unit_test(test_a_thread_without_work_makes_room_in_the_queue),
        cmocka_unit_test(test_who_would_wait_too_long_is_refused_at_once),
        cmocka_unit_test(test_rows_that_cannot_be_added_up_are_not_joined),
        cmocka_unit_test(test_a_deadline_ends_the_wait_and_not_the_run),
        cmocka_unit_test(test_a_delay_gathers_and_is_not_waited_for_by_a_full_batch),
        cmocka_unit_test(test_short_runs_come_to_the_loop),
        cmocka_unit_test(test_where_others_wait_the_loop_runs_nothing),
        cmocka_unit_test(test_one_processor_runs_all_that_is_short_on_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
