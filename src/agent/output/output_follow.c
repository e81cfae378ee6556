/* output_follow.c - sends output to the master while somebody there reads it.
 *
 * The task just writes to its files. The kernel says which files grew (inotify); new bytes are read
 * and sent as far as the master's credit allows. Notifications are gathered for a few milliseconds,
 * so that a task that writes line by line costs a hundred reads a second, not a hundred thousand.
 */
#include "agent/output/output_follow.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/output/output_files.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"

#include <string.h>
#include <sys/inotify.h>

#define GATHER_MS 10
#define BLIND_MS 100 /* polling interval where inotify is not available */
#define CHUNK (64 * KIB)
#define PIECES 32
#define QUEUE_MAX (512 * KIB) /* the channel is slow: wait */

struct watch {
    struct agent_task *task;
    int stream;
};

struct follow {
    struct agent *agent;
    int fd; /* inotify's; -1: look at everything */
    uv_poll_t poll;
    uv_timer_t timer;
    bool polling;
    uint64_t credit;
    size_t turn;           /* whose turn it is, so that nobody is left out */
    struct watch *watches; /* by inotify's number */
    size_t n_watches;
    /* A message being put together. */
    uint8_t *chunk;
    size_t used;
    Agent__OutputPiece pieces[PIECES], *list[PIECES];
    size_t n_pieces;
};

static void follow_plan(struct follow *f, uint64_t in);

/* ---- messages ---- */

static void follow_send_pieces(struct follow *f)
{
    Agent__Output body = AGENT__OUTPUT__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    if (f->n_pieces == 0)
        return;
    body.pieces = f->list;
    body.n_pieces = f->n_pieces;
    m.output = &body;
    m.body_case = AGENT__TO_MASTER__BODY_OUTPUT;
    report_flush(f->agent); /* the start is reported before the output */
    (void)report_send(f->agent, &m);
    f->n_pieces = 0;
    f->used = 0;
}

static Agent__OutputPiece *add_piece(struct follow *f, const struct agent_task *t, int i)
{
    Agent__OutputPiece *p = &f->pieces[f->n_pieces];

    agent__output_piece__init(p);
    p->task = t->id;
    p->err = i == 1;
    p->offset = t->output.streams[i].sent;
    f->list[f->n_pieces++] = p;
    return p;
}

static bool follow_over(const struct agent_task *t)
{
    return t->phase == PHASE_IDLE && t->process.when_ended > 0;
}

/* How much of the file is new, and how much of that may be sent now. */
static size_t may_send(const struct follow *f, const struct stream_out *s, uint64_t size,
                       uint64_t *ret_new)
{
    uint64_t room = CHUNK - f->used < f->credit ? CHUNK - f->used : f->credit;

    *ret_new = size > s->sent ? size - s->sent : 0;
    return (size_t)(*ret_new < room ? *ret_new : room);
}

static void skip_to(struct follow *f, struct agent_task *t, int i, uint64_t to)
{
    t->output.streams[i].sent = to;
    add_piece(f, t, i)->gap = true;
    if (f->n_pieces == PIECES)
        follow_send_pieces(f);
}

/* Skips what rotation has deleted. */
static void skip_gap(struct follow *f, struct agent_task *t, int i)
{
    const struct stream_out *s = &t->output.streams[i];

    if (s->sent < rotate_begin(&s->cut))
        skip_to(f, t, i, rotate_begin(&s->cut));
}

/* Skips a piece that was removed by others: the next one may exist. */
static void skip_piece(struct follow *f, struct agent_task *t, int i)
{
    const struct stream_out *s = &t->output.streams[i];

    skip_to(f, t, i, (s->sent / s->cut.piece + 1) * s->cut.piece);
}

/* A reader that asked for the file's length gets it before the data. */
static void send_size(struct follow *f, struct agent_task *t, int i, uint64_t size)
{
    struct stream_out *s = &t->output.streams[i];
    Agent__OutputPiece *p;

    if (!s->mark)
        return;
    p = add_piece(f, t, i);
    p->mark = s->mark;
    p->size = size;
    s->mark = 0;
    if (f->n_pieces == PIECES)
        follow_send_pieces(f);
}

/* Sends what is new in one file, up to a chunk; false when nothing more can be sent now.
 * `offset` counts from the beginning of the task's files, over all pieces of rotation. What cannot
 * be read any more is told as a gap, so that a reader knows that lines are missing and where it
 * goes on. The end is sent once, after the last byte, and needs no credit. */
static bool send_some(struct follow *f, struct agent_task *t, int i)
{
    struct stream_out *s = &t->output.streams[i];
    bool ended = follow_over(t); /* before reading: what comes later is seen later */
    uint64_t size = rotate_size(&s->cut), fresh;
    size_t want;
    ssize_t n;

    if (f->n_pieces == PIECES || CHUNK - f->used < CHUNK / 4)
        follow_send_pieces(f);
    skip_gap(f, t, i);
    if (s->sent > size)
        s->sent = size; /* only new output was requested */
    send_size(f, t, i, size);
    want = may_send(f, s, size, &fresh);
    n = want ? rotate_read(&s->cut, s->sent, f->chunk + f->used, want) : 0;
    if (n > 0) {
        add_piece(f, t, i)->data =
            (ProtobufCBinaryData){ .data = f->chunk + f->used, .len = (size_t)n };
        f->used += (size_t)n;
        f->credit -= (uint64_t)n;
        s->sent += (uint64_t)n;
        return true;
    }
    if (n == -ESTALE && s->cut.piece > 0) {
        skip_piece(f, t, i);
        return true;
    }
    if (fresh > 0)
        return false; /* no credit */
    s->dirty = false;
    if (ended && !s->told) {
        add_piece(f, t, i)->end = true;
        s->told = true;
    }
    return false;
}

/* ---- turns ---- */

static bool channel_full(const struct agent *a)
{
    return a->link.channel && channel_queued(a->link.channel) > QUEUE_MAX;
}

/* One chunk of each file that grew; false when none did, or no more may be sent. Without credit the
 * ends of files that were sent before still go. */
static bool pump_once(struct follow *f)
{
    struct agent *a = f->agent;
    bool more = false;

    for (size_t n = 0; n < a->tasks.n; n++) {
        struct agent_task *t = a->tasks.v[(f->turn + n) % a->tasks.n];

        if (!t->output.followed)
            continue;
        for (int i = 0; i < 2; i++) {
            if (t->output.streams[i].dirty)
                more = send_some(f, t, i) || more;
            if (channel_full(a)) {
                f->turn = (f->turn + n + 1) % a->tasks.n; /* the next one is first then */
                return false;
            }
        }
    }
    return more;
}

/* When the connection is slower than the tasks, looking is put off until the queue is shorter:
 * output is in the file anyway, and the queue would be the agent's memory. */
static void pump(struct follow *f)
{
    while (!channel_full(f->agent) && pump_once(f))
        ;
    follow_send_pieces(f);
    if (channel_full(f->agent))
        follow_plan(f, GATHER_MS);
}

static void mark_all(struct follow *f)
{
    for (size_t i = 0; i < f->agent->tasks.n; i++) {
        struct agent_task *t = f->agent->tasks.v[i];

        if (t->output.followed)
            t->output.streams[0].dirty = t->output.streams[1].dirty = true;
    }
}

/* ---- signs ---- */

static void read_signs(struct follow *f)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    while ((n = read(f->fd, events, sizeof(events))) > 0) {
        for (char *at = events; at < events + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;

            at += sizeof(*e) + e->len;
            if (e->mask & IN_Q_OVERFLOW)
                mark_all(f);
            else if (e->wd > 0 && (size_t)e->wd < f->n_watches && f->watches[e->wd].task)
                f->watches[e->wd].task->output.streams[f->watches[e->wd].stream].dirty = true;
        }
    }
}

static void on_sign(uv_poll_t *h, int status, int events)
{
    struct follow *f = h->data;

    (void)status;
    (void)events;
    uv_poll_stop(h);
    f->polling = false;
    follow_plan(f, GATHER_MS);
}

static void follow_on_time(uv_timer_t *h)
{
    struct follow *f = h->data;

    if (f->fd >= 0) {
        read_signs(f);
        if (!f->polling && uv_poll_start(&f->poll, UV_READABLE, on_sign) == 0)
            f->polling = true;
    } else {
        mark_all(f);
        follow_plan(f, BLIND_MS);
    }
    pump(f);
}

static void follow_plan(struct follow *f, uint64_t in)
{
    if (!uv_is_active((uv_handle_t *)&f->timer) || uv_timer_get_due_in(&f->timer) > in)
        uv_timer_start(&f->timer, follow_on_time, in, 0);
}

static int follow_remember(struct follow *f, int wd, struct agent_task *t, int i)
{
    if ((size_t)wd >= f->n_watches) {
        size_t n = (size_t)wd * 2 + 16;
        struct watch *v = reallocarray(f->watches, n, sizeof(*v));

        if (!v)
            return -ENOMEM;
        memset(v + f->n_watches, 0, (n - f->n_watches) * sizeof(*v));
        f->watches = v;
        f->n_watches = n;
    }
    f->watches[wd] = (struct watch){ .task = t, .stream = i };
    return 0;
}

/* A file that does not exist yet is watched once its task is started. */
static void watch_files(struct follow *f, struct agent_task *t)
{
    for (int i = 0; i < 2 && f->fd >= 0; i++) {
        struct stream_out *s = &t->output.streams[i];
        char name[OUTPUT_NAME];

        if (s->wd >= 0)
            continue;
        s->wd = inotify_add_watch(f->fd, output_name(s, name), IN_MODIFY);
        if (s->wd >= 0 && follow_remember(f, s->wd, t, i) == 0)
            continue;
        if (s->wd >= 0 || errno != ENOENT) { /* too many watches: do without */
            trace(LOG_AGENT, "inotify is not available: polling");
            uv_poll_stop(&f->poll);
            close(f->fd);
            f->fd = -1;
            follow_plan(f, BLIND_MS);
        }
    }
}

static void unwatch_files(struct follow *f, struct agent_task *t)
{
    for (int i = 0; i < 2; i++) {
        struct stream_out *s = &t->output.streams[i];

        if (s->wd >= 0 && f->fd >= 0)
            (void)inotify_rm_watch(f->fd, s->wd);
        if (s->wd >= 0 && (size_t)s->wd < f->n_watches)
            f->watches[s->wd].task = NULL;
        s->wd = -1;
    }
}

/* ---- the interface ---- */

static int open_follow(struct agent *a)
{
    struct follow *f = calloc(1, sizeof(*f));

    if (f)
        f->chunk = malloc(CHUNK);
    if (!f || !f->chunk) {
        free(f);
        return -ENOMEM;
    }
    f->agent = a;
    uv_timer_init(loop_uv(a->loop), &f->timer);
    f->timer.data = f;
    f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->fd >= 0 && uv_poll_init(loop_uv(a->loop), &f->poll, f->fd) == 0) {
        f->poll.data = f;
    } else if (f->fd >= 0) {
        close(f->fd);
        f->fd = -1;
    }
    a->follow = f;
    return 0;
}

/* One message adds credit and says from which byte each task is to be sent; zero tasks is credit
 * alone. It may name a task again with an older offset: a reader that fell behind has it sent once
 * more. */
int follow_begin(struct agent *a, const Agent__Follow *m)
{
    struct follow *f;

    if (!a->follow && open_follow(a) < 0)
        return -ENOMEM;
    f = a->follow;
    f->credit = f->credit + m->credit < f->credit ? UINT64_MAX : f->credit + m->credit;
    for (size_t i = 0; i < m->n_tasks; i++) {
        struct agent_task *t = agent_task_find(a, m->tasks[i]->task);

        if (!t)
            continue; /* not ours, or not any more */
        t->output.followed = !m->tasks[i]->stop;
        if (!t->output.followed) {
            unwatch_files(f, t);
            continue;
        }
        t->output.streams[0].sent = m->tasks[i]->out_offset;
        t->output.streams[1].sent = m->tasks[i]->err_offset;
        for (int k = 0; k < 2; k++) {
            t->output.streams[k].dirty = true;
            t->output.streams[k].told = false;
            if (m->tasks[i]->mark)
                t->output.streams[k].mark = m->tasks[i]->mark;
        }
        watch_files(f, t);
    }
    follow_plan(f, 0);
    return 0;
}

void follow_task_changed(struct agent_task *t)
{
    struct follow *f = t->agent->follow;

    if (!f || !t->output.followed)
        return;
    if (t->phase == PHASE_RUNNING)
        t->output.streams[0].told = t->output.streams[1].told = false;
    watch_files(f, t);
    t->output.streams[0].dirty = t->output.streams[1].dirty = true;
    follow_plan(f, t->phase == PHASE_RUNNING ? GATHER_MS : 0);
}

/* With the connection all credit is gone. The next master, or the same one, asks anew from where
 * its readers are. */
void follow_forget(struct agent *a)
{
    struct follow *f = a->follow;

    if (!f)
        return;
    f->credit = 0;
    f->n_pieces = 0;
    f->used = 0;
    for (size_t i = 0; i < a->tasks.n; i++) {
        a->tasks.v[i]->output.followed = false;
        unwatch_files(f, a->tasks.v[i]);
    }
}

static void follow_on_timer_closed(uv_handle_t *h)
{
    struct follow *f = h->data;

    free(f->watches);
    free(f->chunk);
    free(f);
}

static void on_poll_closed(uv_handle_t *h)
{
    struct follow *f = h->data;

    uv_close((uv_handle_t *)&f->timer, follow_on_timer_closed);
}

/* libuv needs its handles until their close callbacks have run, so the memory is freed in the last
 * one. */
void follow_stop(struct agent *a)
{
    struct follow *f = a->follow;

    if (!f)
        return;
    a->follow = NULL;
    uv_timer_stop(&f->timer);
    if (f->poll.data)
        uv_close((uv_handle_t *)&f->poll, on_poll_closed);
    else
        uv_close((uv_handle_t *)&f->timer, follow_on_timer_closed);
    if (f->fd >= 0)
        close(f->fd);
}
