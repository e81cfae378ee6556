/* runner.c - one queue to the threads, one back to the loop, one lock for both. The loop is woken
 * once for all tasks that ended meanwhile. See runner.h. */
#include "serve/engine/runner.h"
#include "base/err.h"

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#define RUNNER_STACK ((size_t)8 * MIB) /* libraries that run models expect a usual one */

struct task_list {
    struct runner_task *first, *last;
};

struct runner {
    struct loop *loop;
    uv_async_t ended_async;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task_list waiting, ended; /* under the lock */
    bool stopping;                   /* likewise */
    pthread_t *threads;
    unsigned n;
    size_t busy;
};

static void tasks_add(struct task_list *l, struct runner_task *t)
{
    t->next = NULL;
    *(l->last ? &l->last->next : &l->first) = t;
    l->last = t;
}

static struct runner_task *tasks_next(struct task_list *l)
{
    struct runner_task *t = l->first;

    if (t) {
        l->first = t->next;
        if (!l->first)
            l->last = NULL;
    }
    return t;
}

static void *runner_work(void *arg)
{
    struct runner *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct runner_task *t;
        bool first;

        while (!r->stopping && !r->waiting.first)
            pthread_cond_wait(&r->changed, &r->lock);
        if (r->stopping)
            break;
        t = tasks_next(&r->waiting);
        pthread_mutex_unlock(&r->lock);
        t->run(t);
        pthread_mutex_lock(&r->lock);
        first = !r->ended.first;
        tasks_add(&r->ended, t);
        pthread_mutex_unlock(&r->lock); /* the loop wakes at once, and wants it */
        if (first)
            (void)uv_async_send(&r->ended_async);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* The handle holds the loop only while something runs: a loop with nothing else to wait for must
 * neither end nor spin then. */
static void runner_on_ended(uv_async_t *a)
{
    struct runner *r = a->data;
    struct task_list all;
    struct runner_task *t;

    pthread_mutex_lock(&r->lock);
    all = r->ended;
    r->ended = (struct task_list){ 0 };
    pthread_mutex_unlock(&r->lock);
    while ((t = tasks_next(&all)) != NULL) {
        if (--r->busy == 0)
            uv_unref((uv_handle_t *)&r->ended_async);
        t->done(t);
    }
}

/* Signals are the loop's. */
static int start_threads(struct runner *r, unsigned n)
{
    sigset_t all, before;
    pthread_attr_t attr;
    int e = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, RUNNER_STACK);
    for (; r->n < n && e == 0; r->n += e == 0)
        e = pthread_create(&r->threads[r->n], &attr, runner_work, r);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -e;
}

int runner_new(struct loop *l, unsigned threads, struct runner **ret, struct err *err)
{
    struct runner *r = calloc(1, sizeof(*r));
    int e;

    if (!r)
        return err_oom(err);
    r->threads = calloc(threads, sizeof(*r->threads));
    e = r->threads ? uv_async_init(loop_uv(l), &r->ended_async, runner_on_ended) : -ENOMEM;
    if (e < 0) {
        free(r->threads);
        free(r);
        return err_code(err, e, "make a place to run models in");
    }
    r->loop = l;
    r->ended_async.data = r;
    uv_unref((uv_handle_t *)&r->ended_async);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    e = start_threads(r, threads);
    if (e < 0) {
        runner_free(r);
        return err_code(err, e, "start %u threads", threads);
    }
    *ret = r;
    return 0;
}

void runner_start(struct runner *r, struct runner_task *t)
{
    if (r->busy++ == 0) /* a loop without anything to wait for does not wait */
        uv_ref((uv_handle_t *)&r->ended_async);
    pthread_mutex_lock(&r->lock);
    tasks_add(&r->waiting, t);
    pthread_mutex_unlock(&r->lock);
    pthread_cond_signal(&r->changed);
}

size_t runner_idle(const struct runner *r)
{
    return r->busy < r->n ? r->n - r->busy : 0;
}

size_t runner_busy(const struct runner *r)
{
    return r->busy;
}

static void runner_on_closed(uv_handle_t *h)
{
    struct runner *r = h->data;

    free(r->threads);
    free(r);
}

struct runner *runner_free(struct runner *r)
{
    if (!r)
        return NULL;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_mutex_unlock(&r->lock);
    pthread_cond_broadcast(&r->changed);
    for (unsigned i = 0; i < r->n; i++)
        pthread_join(r->threads[i], NULL);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    uv_close((uv_handle_t *)&r->ended_async, runner_on_closed);
    return NULL;
}
