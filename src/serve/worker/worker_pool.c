/* worker_pool.c - a run: an idle worker is taken, asked, and given back. See worker_pool.h. */
#include "serve/worker/worker_pool.h"
#include "base/str.h"
#include "serve/worker/worker_pool_private.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#define NONE_MS 5000     /* for a worker to be started when none is there */
#define LOADING_MS 20000 /* for one that is loading the model: the machine may be busy */
#define STORY_MS 6000    /* for the end of a worker to be seen */
#define STACK (512 * KIB)

void worker_wake(struct worker_pool *p)
{
    const uint64_t one = 1;

    (void)!write(p->wake, &one, sizeof(one));
}

/* Waits for a change of a state, under the lock. False at the deadline. */
static bool wait_change(struct worker_pool *p, int64_t deadline_ms)
{
    const struct timespec t = { .tv_sec = deadline_ms / 1000,
                                .tv_nsec = deadline_ms % 1000 * 1000000 };

    return pthread_cond_timedwait(&p->changed, &p->lock, &t) == 0;
}

/* ---- taking and giving back ---- */

static struct worker *find_state(struct worker_pool *p, enum worker_state state)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->v[i].state == state && !p->v[i].ended)
            return &p->v[i];
    return NULL;
}

static int no_worker(const struct worker_pool *p, struct err *err)
{
    const struct worker *w = &p->v[0];

    if (!*w->end_text)
        return err_set(err, -EHOSTDOWN, "no worker of the handler is ready");
    return err_set(err, -EHOSTDOWN, "no worker of the handler is ready: the last one %s: %.200s",
                   w->end_text, w->end_line);
}

static int take_worker(struct worker_pool *p, struct worker **ret, struct err *err)
{
    int64_t begin = worker_now();
    int r = 0;

    pthread_mutex_lock(&p->lock);
    while (r == 0 && !(*ret = find_state(p, WORKER_IDLE))) {
        /* One that is busy comes back, or is replaced, within a run's time. */
        int64_t ms = find_state(p, WORKER_BUSY)       ? p->o.run_ms + NONE_MS
                     : find_state(p, WORKER_STARTING) ? LOADING_MS
                                                      : NONE_MS;

        if (p->stopping || worker_now() >= begin + ms)
            r = no_worker(p, err);
        else
            (void)wait_change(p, begin + ms);
    }
    if (r == 0) {
        (*ret)->state = WORKER_BUSY;
        (*ret)->last_line[0] = '\0'; /* of earlier requests: it would explain nothing */
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

static void give_back(struct worker_pool *p, struct worker *w, bool fine)
{
    pthread_mutex_lock(&p->lock);
    fine = fine && !w->ended;
    w->state = fine ? WORKER_IDLE : WORKER_BROKEN;
    w->deadline_ms = 0;
    pthread_mutex_unlock(&p->lock);
    if (!fine)
        worker_wake(p);
    pthread_cond_broadcast(&p->changed);
}

/* ---- one run ---- */

/* What a run that found its worker gone is told: how it ended, and its last words. The worker is
 * given back first, so that the keeper can look.
 *
 * Half of the time is the worker's, to end by itself: its socket may close a moment before it ends,
 * and its exit status is a better story than our SIGKILL. Then the keeper kills it. The other half
 * is for the keeper to see that, and to read its last line. */
static int tell_end(struct worker_pool *p, struct worker *w, struct err *err)
{
    int64_t deadline = worker_now() + STORY_MS;
    char how[64] = "ended", last[WORKER_LINE] = "";
    uint64_t life;

    pthread_mutex_lock(&p->lock);
    life = w->life;
    w->state = WORKER_BROKEN;
    w->deadline_ms = deadline - STORY_MS / 2;
    worker_wake(p);
    while (w->life == life && !w->ended && !p->stopping && wait_change(p, deadline))
        ;
    if (w->life != life || w->ended) {
        memcpy(how, w->end_text, sizeof(how));
        memcpy(last, w->end_line, sizeof(last));
    }
    pthread_mutex_unlock(&p->lock);
    return err_set(err, -EIO, "the handler's worker %s while it ran this request%s%.200s", how,
                   *last ? ": " : "", last);
}

/* -EPIPE: it was gone before it was asked. */
static int ask(struct worker *w, size_t size)
{
    const struct worker_message m = { WORKER_MAGIC, WORKER_RUN, ++w->sequence, size };

    return send(w->process.socket, &m, sizeof(m), MSG_NOSIGNAL) == (ssize_t)sizeof(m) ? 0 : -EPIPE;
}

/* Waits for the answer: -ENODATA when the worker has ended, -ETIMEDOUT.
 *
 * What times out is still at work in the worker, and cannot be stopped: the caller gives it back as
 * broken, and the keeper kills it. So no late answer can be taken for that of the next request;
 * `sequence` guards against a worker that answers twice. */
static int hear(struct worker_pool *p, struct worker *w, struct worker_message *ret,
                struct err *err)
{
    int64_t deadline = worker_now() + p->o.run_ms;
    struct pollfd f = { .fd = w->process.socket, .events = POLLIN };
    ssize_t n;
    int r;

    do {
        int64_t left = deadline - worker_now();

        r = left > 0 ? poll(&f, 1, left < 60000 ? (int)left : 60000) : 0;
        if (r == 0 && worker_now() >= deadline)
            return err_set(err, -ETIMEDOUT,
                           "the handler did not answer within %lld ms: its worker is replaced",
                           (long long)p->o.run_ms);
    } while (r <= 0);
    n = recv(w->process.socket, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
    if (n <= 0)
        return -ENODATA;
    return worker_message_check(ret, (size_t)n, w->sequence, err);
}

static int take_answer(struct worker *w, const struct worker_message *m, struct tensors *ret,
                       struct err *err)
{
    char text[400];
    int r = worker_region_follow(&w->out, m->size, err);

    if (r < 0)
        return r;
    if (m->kind == WORKER_DONE)
        return worker_tensors_take(w->out.p, m->size, ret, err);
    worker_text_take(w->out.p, m->size, text, sizeof(text));
    return m->kind == WORKER_REFUSED  ? err_set(err, -EINVAL, "%s", text)
           : m->kind == WORKER_FAILED ? err_set(err, -EIO, "the handler failed: %s", text)
                                      : err_set(err, -EPROTO, "the worker began again");
}

/* With `w`, which is given back. -EPIPE: another one may be asked.
 *
 * What becomes of the worker:
 *
 *     0              answered                                      idle
 *     -EINVAL        the handler refused the request               idle
 *     -EIO           the handler raised something else             idle
 *     -ENOMEM        ours                                          idle
 *     -ETIMEDOUT     it is still at work                           killed
 *     -EPROTO        it wrote what it must not; told as -EIO       killed
 *     -EPIPE         it had ended before it was asked: nobody has  replaced
 *                    seen the request, which goes to another one
 *     -ENODATA       it ended with the request, which may be what  replaced
 *                    killed it, and fails */
static int run_in(struct worker_pool *p, struct worker *w, const struct tensors *in,
                  struct tensors *ret, struct err *err)
{
    struct worker_message m;
    size_t size = 0;
    int r = worker_tensors_size(in, w->in.max, &size, err);

    if (r == 0)
        r = worker_region_reserve(&w->in, size, err);
    if (r < 0) {
        give_back(p, w, true);
        return r == -E2BIG ? -EINVAL : r;
    }
    worker_tensors_put(in, w->in.p);
    r = ask(w, size);
    if (r == 0)
        r = hear(p, w, &m, err);
    if (r == -ENODATA)
        return tell_end(p, w, err);
    if (r == 0)
        r = take_answer(w, &m, ret, err);
    if (r == 0 || r == -EINVAL || r == -EIO) {
        worker_region_trim(&w->in, size);
        worker_region_trim(&w->out, m.size);
    }
    give_back(p, w, r == 0 || r == -EINVAL || r == -EIO || r == -ENOMEM);
    return r == -EPROTO ? -EIO : r;
}

int worker_pool_run(struct worker_pool *p, const struct tensors *in, struct tensors *ret,
                    struct err *err)
{
    for (unsigned i = 0;; i++) {
        struct worker *w = NULL;
        int r = take_worker(p, &w, err);

        if (r < 0)
            return r;
        r = run_in(p, w, in, ret, err);
        if (r != -EPIPE)
            return r;
        if (i == p->n)
            return err_set(err, -EHOSTDOWN, "the handler's workers end before they are asked");
    }
}

/* ---- the pool ---- */

/* A worker that is replaced at once makes the server not unready: a gateway would move all requests
 * away, to come back a moment later. */
bool worker_pool_ready(struct worker_pool *p)
{
    int64_t now = worker_now();
    bool ready;

    pthread_mutex_lock(&p->lock);
    if (find_state(p, WORKER_IDLE) || find_state(p, WORKER_BUSY))
        p->none_ms = 0;
    else if (p->none_ms == 0)
        p->none_ms = now;
    ready = p->none_ms == 0 || now - p->none_ms < NONE_MS;
    pthread_mutex_unlock(&p->lock);
    return ready;
}

const char *worker_pool_about(const struct worker_pool *p)
{
    return p->about;
}

/* It must live as long as the workers: the kernel kills a child that asked for it when the thread
 * that started it ends, not the process. */
static int start_keeper(struct worker_pool *p, struct err *err)
{
    sigset_t all, before;
    pthread_attr_t attr;
    int e;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the loop's */
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    e = pthread_create(&p->keeper, &attr, worker_keep, p);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    p->keeping = e == 0;
    return e == 0 ? 0 : err_code(err, -e, "start the thread that keeps the workers");
}

/* All have loaded the model, or the first one could not. */
static int wait_loaded(struct worker_pool *p, struct err *err)
{
    int r = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        unsigned ready = 0;

        for (unsigned i = 0; i < p->n; i++)
            ready += p->v[i].state == WORKER_IDLE;
        if (p->failed.code || ready == p->n)
            break;
        (void)wait_change(p, worker_now() + p->o.load_ms);
    }
    r = p->failed.code;
    if (r < 0 && err)
        *err = p->failed;
    p->loaded = r == 0;
    if (r == 0 && !p->about)
        r = err_oom(err);
    pthread_mutex_unlock(&p->lock);
    return r;
}

static int fill_pool(struct worker_pool *p, const struct worker_pool_options *o, struct err *err)
{
    pthread_condattr_t attr;

    p->o = *o;
    p->program = -1;
    line_out_open(&p->out, STDERR_FILENO);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &attr);
    pthread_condattr_destroy(&attr);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->python = strdup(o->python);
    p->file = strdup(o->file);
    p->v = calloc(o->workers, sizeof(*p->v));
    if (p->wake < 0)
        return err_sys(err, "make an eventfd");
    if (!p->python || !p->file || !p->v)
        return err_oom(err);
    p->n = o->workers;
    for (unsigned i = 0; i < p->n; i++) {
        p->v[i] = (struct worker){ .index = i,
                                   .process = WORKER_PROCESS_INIT,
                                   .in = WORKER_REGION_INIT,
                                   .out = WORKER_REGION_INIT };
        buf_init(&p->v[i].line, 4 * KIB);
    }
    return worker_program(&p->program, err);
}

int worker_pool_new(const struct worker_pool_options *o, struct worker_pool **ret, struct err *err)
{
    AUTO(worker_pool) struct worker_pool *p = calloc(1, sizeof(*p));
    int r;

    if (!p)
        return err_oom(err);
    r = fill_pool(p, o, err);
    if (r == 0)
        r = start_keeper(p, err);
    if (r == 0)
        r = wait_loaded(p, err);
    if (r == 0)
        *ret = take(p);
    return r;
}

struct worker_pool *worker_pool_free(struct worker_pool *p)
{
    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_mutex_unlock(&p->lock);
    if (p->keeping) {
        worker_wake(p);
        pthread_join(p->keeper, NULL);
    }
    for (unsigned i = 0; i < p->n; i++)
        buf_done(&p->v[i].line);
    line_out_done(&p->out);
    if (p->program >= 0)
        close(p->program);
    if (p->wake >= 0)
        close(p->wake);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p->python);
    free(p->file);
    free(p->about);
    free(p->v);
    free(p);
    return NULL;
}
