/* batcher_testing.h - a queue before a model for tests, with a backend that does as it is told: it
 * doubles its input, waits until it is let go, and refuses rows that are negative. */
#pragma once
#include "base/auto.h"
#include "serve/engine/batcher.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define TESTING __attribute__((unused)) static

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

TESTING void gate_init(struct gate *g, bool open)
{
    *g = (struct gate){ .open = open, .loop = pthread_self() };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

TESTING void gate_set(struct gate *g, bool open)
{
    pthread_mutex_lock(&g->lock);
    g->open = open;
    pthread_mutex_unlock(&g->lock);
    pthread_cond_broadcast(&g->changed);
}

TESTING int double_rows(const struct tensor *in, struct tensors *ret, int64_t rows)
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

TESTING int gate_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
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

TESTING void asked_free(struct batch_request *q)
{
    struct asked *a = (struct asked *)q;

    a->w->freed++;
}

TESTING int ask(void *arg, struct err *err)
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

TESTING void start(struct world *w, struct asked *a, int32_t value)
{
    a->w = w;
    a->value = value;
    assert_int_equal(group_go(&w->fibers, ask, a, NULL), 0);
}

TESTING void turn_until(struct world *w, bool (*done)(struct world *w))
{
    while (!done(w))
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
}

TESTING bool one_inside(struct world *w)
{
    return atomic_load(&w->gate.inside) > 0;
}

TESTING void queue_until(struct world *w, size_t n)
{
    while (batcher_waiting(w->batcher) < n)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
}

TESTING bool nothing_runs(struct world *w)
{
    return batcher_running(w->batcher) == 0;
}

/* The first one is at work when the others come. */
TESTING void start_behind_one(struct world *w, struct asked *a, int n)
{
    for (int i = 0; i < n; i++) {
        start(w, &a[i], i);
        if (i == 0)
            turn_until(w, one_inside);
    }
}

TESTING void ask_together(struct world *w, int n)
{
    struct asked a[4] = { 0 };

    for (int i = 0; i < n; i++)
        start(w, &a[i], i);
    assert_int_equal(group_wait(&w->fibers, NULL), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(a[i].answer, 2 * i);
}

struct claim {
    struct world w;
    int (*fn)(void *w);
    int64_t delay_ms;
    enum batcher_where here;
};

TESTING int run_claim(void *arg)
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

TESTING void check(int (*fn)(void *w), int64_t delay_ms, enum batcher_where here)
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
