/* worker_keeper.c - the thread that keeps the workers of a pool alive: it starts them, hears that
 * they are ready, passes on what they print, and sees them end. It waits for all of that at once.
 * See worker_pool.h. */
#include "base/log.h"
#include "serve/worker/worker_pool_private.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define STEADY_MS 10000 /* a worker that lived so long was not a failure to start */
#define DELAY_MS 100    /* doubled for each failure in a row; behind the first there is none */
#define DELAY_MAX_MS 10000
#define END_MS 2000 /* for workers that are told to end, or have closed their socket */
#define ABOUT_MAX MIB

int64_t worker_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- one worker ---- */

/* Who takes a worker from one state to the next, and when:
 *
 *     DOWN ──────► STARTING   keeper, when its delay is over
 *     STARTING ──► IDLE       keeper, on READY
 *     STARTING ──► DOWN       keeper: it ended, failed to load, or load_ms was over
 *     IDLE ──────► BUSY       a run, under the lock
 *     IDLE ──────► DOWN       keeper, when it ends without a request
 *     BUSY ──────► IDLE       the run
 *     BUSY ──────► BROKEN     the run, which wakes the keeper
 *     BROKEN ────► DOWN       keeper, when the process is gone
 *
 * A busy worker that ends is only marked: its socket and regions are the run's until it gives them
 * back. */
static void keeper_set(struct worker_pool *p, struct worker *w, enum worker_state state)
{
    pthread_mutex_lock(&p->lock);
    w->state = state;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_broadcast(&p->changed);
}

/* The first failure to load is what the pool's maker is told; later ones are in the log. */
static void keeper_failed(struct worker_pool *p, const struct err *why)
{
    pthread_mutex_lock(&p->lock);
    if (!p->loaded && p->failed.code == 0)
        p->failed = *why;
    pthread_mutex_unlock(&p->lock);
    pthread_cond_broadcast(&p->changed);
}

static int64_t keeper_delay(const struct worker *w)
{
    int64_t ms = DELAY_MS << (w->failures < 8 ? w->failures : 8);

    if (w->failures <= 1)
        return 0;
    return ms < DELAY_MAX_MS ? ms : DELAY_MAX_MS;
}

/* Everything of the old process goes; the next one starts later. */
static void keeper_put_down(struct worker_pool *p, struct worker *w)
{
    int64_t now = worker_now();

    w->failures = w->ready_ms > 0 && now - w->ready_ms > STEADY_MS ? 1 : w->failures + 1;
    w->next_ms = now + keeper_delay(w);
    w->ready_ms = 0;
    worker_process_done(&w->process);
    worker_region_done(&w->in);
    worker_region_done(&w->out);
    keeper_set(p, w, WORKER_DOWN);
}

static int keeper_start_process(struct worker_pool *p, struct worker *w, struct err *err)
{
    int r = worker_region_init(&w->in, "ydl-handler-in", p->o.memory_max, err);

    if (r == 0)
        r = worker_region_init(&w->out, "ydl-handler-out", p->o.memory_max, err);
    if (r < 0)
        return r;
    const struct worker_spec spec = {
        .python = p->python,
        .file = p->file,
        .threads = p->o.threads,
        .max = w->out.max,
        .program = p->program,
        .in = w->in.fd,
        .out = w->out.fd,
    };
    return worker_process_start(&spec, &w->process, err);
}

static void keeper_start(struct worker_pool *p, struct worker *w)
{
    struct err err = ERR_INIT;
    int r;

    w->sequence = 0;
    w->silent = false;
    buf_reset(&w->line);
    pthread_mutex_lock(&p->lock);
    w->life++;
    w->ended = false;
    w->last_line[0] = '\0';
    pthread_mutex_unlock(&p->lock);
    r = keeper_start_process(p, w, &err);
    if (r < 0) {
        keeper_failed(p, &err);
        keeper_put_down(p, w);
        return;
    }
    w->deadline_ms = worker_now() + p->o.load_ms;
    keeper_set(p, w, WORKER_STARTING);
}

/* It says that it is ready, or why it cannot be.
 *
 * Of one that has closed its socket nothing more can come. It is killed, and its end is told
 * instead, with its last line, which says more than a lost connection. */
static int keeper_hear(struct worker_pool *p, struct worker *w, struct err *err)
{
    struct worker_message m;
    char text[300];
    ssize_t n = recv(w->process.socket, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    int r;

    if (n == 0) { /* it is ending, or does not know what it does */
        w->silent = true;
        w->deadline_ms = worker_now() + END_MS;
    }
    if (n <= 0)
        return -EAGAIN; /* its end says more */
    r = worker_message_check(&m, (size_t)n, 0, err);
    if (r == 0 && m.size > ABOUT_MAX)
        r = err_set(err, -EPROTO, "the handler's description has %llu bytes",
                    (unsigned long long)m.size);
    if (r == 0)
        r = worker_region_follow(&w->out, m.size, err);
    if (r < 0)
        return r;
    if (m.kind != WORKER_READY) {
        worker_text_take(w->out.p, m.size, text, sizeof(text));
        return err_set(err, -EINVAL, "the handler cannot be loaded: %s", text);
    }
    pthread_mutex_lock(&p->lock);
    if (!p->about)
        p->about = strndup((const char *)w->out.p, m.size);
    pthread_mutex_unlock(&p->lock);
    w->ready_ms = worker_now();
    keeper_set(p, w, WORKER_IDLE);
    return 0;
}

static void keeper_on_message(struct worker_pool *p, struct worker *w)
{
    struct err err = ERR_INIT;
    int r = keeper_hear(p, w, &err);

    if (r == 0 || r == -EAGAIN)
        return;
    keeper_failed(p, &err);
    worker_process_kill(&w->process);
    shutdown(w->process.socket, SHUT_RDWR); /* nothing more is heard of it but its end */
}

static void keeper_on_end(struct worker_pool *p, struct worker *w, int status)
{
    struct err err = ERR_INIT;
    enum worker_state state;

    worker_output_end(p, w);
    pthread_mutex_lock(&p->lock);
    state = w->state;
    w->ended = true;
    (void)worker_process_end_text(status, w->end_text);
    memcpy(w->end_line, w->last_line, sizeof(w->end_line));
    if (!p->stopping)
        (void)err_set(&err, -EIO, "the handler's worker %u %s%s%s", w->index, w->end_text,
                      *w->last_line ? ": " : "", w->last_line);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_broadcast(&p->changed);
    if (err.code) {
        keeper_failed(p, &err);
        log_warn(LOG_MAIN, "%s", err.text);
    }
    if (state != WORKER_BUSY)
        keeper_put_down(p, w);
    else /* a run gives it back first; what the worker left behind may hold the other end */
        (void)shutdown(w->process.socket, SHUT_RDWR);
}

/* ---- all of them ---- */

enum { SEEN_END, SEEN_OUTPUT, SEEN_MESSAGE, SEEN_ }; /* of each worker */
enum { SEEN_WAKE, SEEN_ROOM, SEEN_FIRST };           /* before them */

static enum worker_state keeper_state(struct worker_pool *p, const struct worker *w)
{
    enum worker_state s;

    pthread_mutex_lock(&p->lock);
    s = w->state;
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* What is due; milliseconds until the next thing is, or -1.
 *
 * A broken one that is still there has until deadline_ms to end by itself; 0: it is killed at
 * once. */
static int keeper_turn(struct worker_pool *p, struct worker *w)
{
    enum worker_state state = keeper_state(p, w);
    int64_t now = worker_now(), until = INT64_MAX;

    if (state == WORKER_BROKEN) {
        if (w->process.pid == 0)
            keeper_put_down(p, w);
        else if (now >= w->deadline_ms)
            worker_process_kill(&w->process);
        state = keeper_state(p, w);
    }
    if (state == WORKER_DOWN && now >= w->next_ms) {
        keeper_start(p, w);
        state = keeper_state(p, w);
    }
    if (state == WORKER_STARTING && now >= w->deadline_ms) {
        struct err err = ERR_INIT;

        (void)err_set(&err, -ETIMEDOUT, "the handler's load() took longer than %lld s",
                      (long long)p->o.load_ms / 1000);
        if (!w->silent)
            keeper_failed(p, &err);
        worker_process_kill(&w->process);
        w->deadline_ms = INT64_MAX;
    }
    if (state == WORKER_DOWN)
        until = w->next_ms;
    if (state == WORKER_STARTING || (state == WORKER_BROKEN && now < w->deadline_ms))
        until = w->deadline_ms;
    if (until == INT64_MAX)
        return -1;
    return until <= now ? 0 : until - now < 60000 ? (int)(until - now) : 60000;
}

static void keeper_watch(struct worker_pool *p, struct worker *w, struct pollfd *f)
{
    bool listens = keeper_state(p, w) == WORKER_STARTING && !w->silent;

    f[SEEN_END] = (struct pollfd){ .fd = w->process.pid ? w->process.pidfd : -1, .events = POLLIN };
    f[SEEN_OUTPUT] = (struct pollfd){ .fd = w->process.output, .events = POLLIN };
    f[SEEN_MESSAGE] = (struct pollfd){ .fd = listens && w->process.pid ? w->process.socket : -1,
                                       .events = POLLIN };
}

static void keeper_see(struct worker_pool *p, struct worker *w, const struct pollfd *f)
{
    int status = 0;

    if (f[SEEN_OUTPUT].revents)
        worker_output_read(p, w);
    if (f[SEEN_MESSAGE].revents & POLLIN)
        keeper_on_message(p, w);
    if (f[SEEN_END].revents && worker_process_reap(&w->process, &status))
        keeper_on_end(p, w, status);
}

static bool keeper_stops(struct worker_pool *p)
{
    bool stops;

    pthread_mutex_lock(&p->lock);
    stops = p->stopping;
    pthread_mutex_unlock(&p->lock);
    return stops;
}

static void keeper_wait(struct worker_pool *p, struct pollfd *f, int ms)
{
    uint64_t n;

    f[SEEN_WAKE] = (struct pollfd){ .fd = p->wake, .events = POLLIN };
    f[SEEN_ROOM] =
        (struct pollfd){ .fd = line_out_waits(&p->out) ? p->out.fd : -1, .events = POLLOUT };
    for (unsigned i = 0; i < p->n; i++)
        keeper_watch(p, &p->v[i], f + SEEN_FIRST + i * SEEN_);
    if (poll(f, SEEN_FIRST + p->n * SEEN_, ms) <= 0)
        return;
    if (f[SEEN_WAKE].revents)
        (void)!read(p->wake, &n, sizeof(n));
    if (f[SEEN_ROOM].revents)
        line_out_go(&p->out);
    for (unsigned i = 0; i < p->n; i++)
        keeper_see(p, &p->v[i], f + SEEN_FIRST + i * SEEN_);
}

/* A worker whose socket closes ends by itself. */
static void keeper_end_all(struct worker_pool *p, struct pollfd *f)
{
    int64_t deadline = worker_now() + END_MS;
    bool left = true;

    for (unsigned i = 0; i < p->n; i++) {
        if (p->v[i].process.socket >= 0)
            shutdown(p->v[i].process.socket, SHUT_RDWR);
        if (keeper_state(p, &p->v[i]) == WORKER_STARTING) /* it would load to the end first */
            worker_process_kill(&p->v[i].process);
    }
    while (left && worker_now() < deadline) {
        left = false;
        for (unsigned i = 0; i < p->n; i++)
            left |= p->v[i].process.pid > 0;
        if (left)
            keeper_wait(p, f, 100);
    }
    for (unsigned i = 0; i < p->n; i++) {
        worker_output_end(p, &p->v[i]);
        worker_process_done(&p->v[i].process);
        worker_region_done(&p->v[i].in);
        worker_region_done(&p->v[i].out);
    }
}

void *worker_keep(void *pool)
{
    struct worker_pool *p = pool;
    struct pollfd *f = calloc(SEEN_FIRST + (size_t)p->n * SEEN_, sizeof(*f));
    struct err err = ERR_INIT;

    if (!f) {
        (void)err_oom(&err);
        keeper_failed(p, &err);
        return NULL;
    }
    while (!keeper_stops(p)) {
        int wait = -1;

        for (unsigned i = 0; i < p->n; i++) {
            int ms = keeper_turn(p, &p->v[i]);

            if (ms >= 0 && (wait < 0 || ms < wait))
                wait = ms;
        }
        keeper_wait(p, f, wait);
    }
    keeper_end_all(p, f);
    free(f);
    return NULL;
}
