/* hub.c - output of tasks and events, to whoever reads them.
 *
 * A reader (follower) has a position in every task's output and a queue with a ceiling. Agents send
 * pieces as long as they have credit, which comes back to them as pieces find a reader with room. A
 * reader whose queue is full misses pieces; when it has caught up the agent is told to go back to
 * its position. So nobody waits for a slow reader, nothing is kept for one, and nothing is lost. */
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_MAX (1 * MIB)
#define PIECE_MAX (64 * KIB)
#define CREDIT (4 * MIB)        /* that an agent begins with */
#define CREDIT_STEP (256 * KIB) /* given back in steps of at least so much */
#define IDLE_MS 300             /* a reader that does not follow has seen all after so long */
#define DRAIN_MS 10000          /* without a byte taken: the reader has stopped */

enum { OUT, ERR, STREAMS };

/* What is known of a task's output. One that moved to another machine begins a new file there: its
 * first byte is the `base`-th of the output as readers see it. */
struct feed {
    bool started, ended, lost;
    uint32_t agent; /* that has the file */
    uint64_t base[STREAMS];
    uint64_t seen[STREAMS]; /* bytes that agents have sent, or said that there are */
    uint64_t size[STREAMS]; /* once ended */
};

struct place {
    uint64_t at[STREAMS];
    bool wanted, missed;
};

struct follower {
    struct master *master;
    struct follower *prev, *next;
    const struct follow_options *opt;
    struct place *places; /* by task */
    uint32_t n_places;
    struct buf queue;
    uint64_t journal_at;
    int64_t moved; /* when it last took something */
    struct cond wake;
};

/* ---- telling agents ---- */

static void follow_task(struct agent_conn *a, uint32_t task, const struct place *from)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Follow body = AGENT__FOLLOW__INIT;
    Agent__Follow__One one = AGENT__FOLLOW__ONE__INIT, *list[] = { &one };

    if (from) {
        const struct feed *d = &a->master->feeds[task];

        one.task = task;
        one.out_offset = from->at[OUT] > d->base[OUT] ? from->at[OUT] - d->base[OUT] : 0;
        one.err_offset = from->at[ERR] > d->base[ERR] ? from->at[ERR] - d->base[ERR] : 0;
        body.tasks = list;
        body.n_tasks = 1;
    }
    body.credit = a->credited ? a->credit_due : CREDIT;
    a->credited = true;
    a->credit_due = 0;
    msg.body_case = AGENT__TO_AGENT__BODY_FOLLOW;
    msg.follow = &body;
    outbox_send(a, &msg);
}

/* The agent goes back (or on) to where this reader is. */
static void request(struct follower *f, uint32_t task)
{
    struct master *m = f->master;
    const struct task *t = engine_task(m->engine, task);
    struct agent_conn *a = agents_get(m, t->agent);

    f->places[task].missed = false;
    /* What was written on a machine that the task has left is not to be had any more. */
    for (int s = OUT; s < STREAMS; s++)
        if (f->places[task].at[s] < m->feeds[task].base[s])
            f->places[task].at[s] = m->feeds[task].base[s];
    if (m->feeds[task].started && a && a->channel)
        follow_task(a, task, &f->places[task]);
}

/* ---- who wants what ---- */

static bool names_task(const char *list, const char *task, const char *role)
{
    size_t n, t = strlen(task), r = strlen(role);

    for (; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if ((n == t && memcmp(list, task, n) == 0) || (n == r && memcmp(list, role, n) == 0))
            return true;
    }
    return false;
}

static int grow_places(struct follower *f, struct err *err)
{
    struct master *m = f->master;
    uint32_t n = engine_n_tasks(m->engine);
    struct place *v;

    if (n <= f->n_places)
        return 0;
    v = realloc(f->places, n * sizeof(*v));
    if (!v)
        return err_oom(err);
    f->places = v;
    for (uint32_t i = f->n_places; i < n; i++) {
        char name[ENGINE_NAME_MAX];
        const char *role = m->spec.roles[engine_task(m->engine, i)->role].name;

        v[i] = (struct place){ 0 };
        v[i].wanted =
            f->opt->logs && (!f->opt->tasks ||
                             names_task(f->opt->tasks, engine_task_name(m->engine, i, name), role));
    }
    f->n_places = n;
    return 0;
}

static int grow_feeds(struct master *m)
{
    uint32_t n = engine_n_tasks(m->engine);
    struct feed *v;

    if (n <= m->n_feeds)
        return 0;
    v = realloc(m->feeds, n * sizeof(*v));
    if (!v)
        return -ENOMEM;
    memset(v + m->n_feeds, 0, (n - m->n_feeds) * sizeof(*v));
    m->feeds = v;
    m->n_feeds = n;
    return 0;
}

/* A file of its own on each machine; on one machine all agents write to the same. */
static void note_move(struct master *m, uint32_t task)
{
    struct feed *d = &m->feeds[task];
    uint32_t agent = engine_task(m->engine, task)->agent;

    if (d->started && d->agent != agent && m->platform->ops->apart)
        for (int s = OUT; s < STREAMS; s++)
            d->base[s] = d->seen[s];
    d->agent = agent;
}

void hub_follow_again(struct agent_conn *a)
{
    struct master *m = a->master;

    a->credited = false;
    a->credit_due = 0;
    for (struct follower *f = m->followers; f; f = f->next)
        for (uint32_t i = 0; i < f->n_places && i < m->n_feeds; i++)
            if (f->places[i].wanted && m->feeds[i].agent == a->number)
                request(f, i);
}

void hub_task_started(struct master *m, uint32_t task)
{
    if (grow_feeds(m) < 0)
        return;
    note_move(m, task);
    m->feeds[task].started = true;
    m->feeds[task].ended = m->feeds[task].lost = false;
    for (struct follower *f = m->followers; f; f = f->next)
        if (grow_places(f, NULL) == 0 && f->places[task].wanted)
            request(f, task);
}

void hub_task_ended(struct master *m, uint32_t task, uint64_t out_bytes, uint64_t err_bytes)
{
    struct feed *d;

    if (grow_feeds(m) < 0)
        return;
    d = &m->feeds[task];
    d->ended = true;
    for (int s = OUT; s < STREAMS; s++) {
        d->size[s] = d->base[s] + (s == OUT ? out_bytes : err_bytes);
        d->seen[s] = d->size[s] > d->seen[s] ? d->size[s] : d->seen[s];
    }
    for (struct follower *f = m->followers; f; f = f->next)
        cond_wake_all(&f->wake);
}

void hub_task_lost(struct master *m, uint32_t task)
{
    if (grow_feeds(m) == 0)
        m->feeds[task].lost = m->feeds[task].started;
}

/* ---- pieces ---- */

static int put_piece(struct follower *f, uint32_t task, int stream, const uint8_t *p, size_t n)
{
    char name[ENGINE_NAME_MAX];
    struct place *at = &f->places[task];

    if (f->queue.len + n + 160 > QUEUE_MAX)
        return -E2BIG;
    if (buf_printf(&f->queue, "{\"task\":\"%s\",\"stream\":\"%s\",\"offset\":%llu,\"len\":%zu}\n",
                   engine_task_name(f->master->engine, task, name), stream == ERR ? "err" : "out",
                   (unsigned long long)at->at[stream], n) < 0 ||
        buf_add(&f->queue, p, n) < 0)
        return -ENOMEM;
    at->at[stream] += n;
    cond_wake_all(&f->wake);
    return 0;
}

static bool wants_stream(const struct follower *f, int stream)
{
    return stream == ERR ? f->opt->err : f->opt->out;
}

/* One reader's share of a piece: what lies beyond its position, if the piece reaches back to it. */
static bool offer(struct follower *f, const Agent__OutputPiece *piece)
{
    int stream = piece->err ? ERR : OUT;
    struct place *at = piece->task < f->n_places ? &f->places[piece->task] : NULL;
    uint64_t begin = piece->offset, end, skip;

    if (!at || !at->wanted || at->missed)
        return false;
    begin += f->master->feeds[piece->task].base[stream];
    end = begin + piece->data.len;
    if (!wants_stream(f, stream)) {
        at->at[stream] = end > at->at[stream] ? end : at->at[stream];
        return true;
    }
    if (end <= at->at[stream])
        return true; /* another reader went back */
    if (begin > at->at[stream]) {
        at->missed = true;
        return false;
    }
    skip = at->at[stream] - begin;
    if (put_piece(f, piece->task, stream, piece->data.data + skip, piece->data.len - skip) < 0) {
        at->missed = true;
        return false;
    }
    return true;
}

void hub_output(struct agent_conn *a, const Agent__OutputPiece *piece)
{
    struct master *m = a->master;
    struct feed *d = piece->task < m->n_feeds ? &m->feeds[piece->task] : NULL;
    int stream = piece->err ? ERR : OUT;
    bool taken = false;

    if (!d || d->agent != a->number)
        return; /* of a file that is not the task's any more */
    if (d->base[stream] + piece->offset + piece->data.len > d->seen[stream])
        d->seen[stream] = d->base[stream] + piece->offset + piece->data.len;

    for (struct follower *f = m->followers; f; f = f->next)
        taken |= offer(f, piece);
    /* What nobody took comes again when a reader asks for it: its credit comes back then. */
    a->credit_due += piece->data.len;
    if (taken && a->credit_due >= CREDIT_STEP)
        follow_task(a, 0, NULL);
}

/* ---- a reader's own fiber ---- */

/* What a killed agent could not send any more: its files are on this machine. */
static int read_file(struct follower *f, uint32_t task, int stream)
{
    struct master *m = f->master;
    AUTO_FREE char *path = NULL;
    AUTO_FREE uint8_t *p = malloc(PIECE_MAX);
    AUTO_CLOSE int fd = -1;
    const struct task *t = engine_task(m->engine, task);
    ssize_t n = 0;

    path = str_printf("%s/%s-%u.%s", m->log_dir, m->spec.roles[t->role].name, t->rank,
                      stream == ERR ? "err" : "out");
    if (!path || !p)
        return -ENOMEM;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && f->queue.len + 2 * PIECE_MAX < QUEUE_MAX) {
        n = pread(fd, p, PIECE_MAX, (off_t)f->places[task].at[stream]);
        if (n <= 0)
            return 0;
        if (put_piece(f, task, stream, p, (size_t)n) < 0)
            return -ENOMEM;
    }
    return fd >= 0 ? 1 : 0;
}

/* Is there more to come of this task? Asks for what was missed. */
static bool owes(struct follower *f, uint32_t task)
{
    const struct feed *d = &f->master->feeds[task];
    struct place *at = &f->places[task];
    bool more = false;

    if (!at->wanted || !d->started)
        return false;
    if (d->lost) {
        for (int s = OUT; s < STREAMS; s++)
            more |= wants_stream(f, s) && read_file(f, task, s) > 0;
        return more;
    }
    if (at->missed && f->queue.len == 0)
        request(f, task);
    if (!d->ended)
        return true;
    for (int s = OUT; s < STREAMS; s++)
        more |= wants_stream(f, s) && at->at[s] < d->size[s];
    return more;
}

static bool owes_any(struct follower *f)
{
    bool more = false;

    for (uint32_t i = 0; i < f->n_places && i < f->master->n_feeds; i++)
        more |= owes(f, i);
    return more;
}

/* Event lines from the journal, each as a piece of its own. */
static int add_events(struct follower *f)
{
    struct master *m = f->master;
    AUTO_FREE char *p = malloc(PIECE_MAX);
    const char *at, *end;
    ssize_t n;

    if (!p)
        return -ENOMEM;
    if (!f->opt->events || f->journal_at == m->journal.size || f->queue.len > QUEUE_MAX / 2)
        return 0;
    n = journal_read(&m->journal, f->journal_at, p, PIECE_MAX);
    for (at = p; n > 0 && (end = memchr(at, '\n', (size_t)(p + n - at))) != NULL; at = end + 1)
        if (buf_add_str(&f->queue, "{\"event\":") < 0 ||
            buf_add(&f->queue, at, (size_t)(end - at)) < 0 || buf_add_str(&f->queue, "}\n") < 0)
            return -ENOMEM;
    f->journal_at += (uint64_t)(at - p);
    return 0;
}

static int write_queue(struct follower *f, struct http_call *c, struct err *err)
{
    AUTO_BUF now = f->queue;
    int r;

    buf_init(&f->queue, QUEUE_MAX);
    if (now.len == 0)
        return 0;
    r = http_reply_write(c, now.data, now.len, err);
    f->moved = loop_now(f->master->loop);
    return r;
}

/* 1 while there is more, 0 when the reader has everything. */
static int turn(struct follower *f, struct http_call *c, struct err *err)
{
    struct master *m = f->master;
    bool more;
    int r = add_events(f);

    if (r < 0)
        return err_oom(err);
    r = write_queue(f, c, err);
    if (r < 0)
        return r;
    more = owes_any(f);
    if (f->queue.len > 0 || (f->opt->events && f->journal_at < m->journal.size))
        return 1;
    if (m->ended && !more)
        return 0;
    if (!f->opt->follow && loop_now(m->loop) - f->moved > IDLE_MS)
        return 0;
    r = cond_wait(m->loop, &f->wake, loop_in(m->loop, f->opt->follow ? 1000 : IDLE_MS / 3));
    if (r == -ETIMEDOUT && http_gone(c))
        return err_set(err, -EPIPE, "the reader has gone");
    return r < 0 && r != -ETIMEDOUT ? r : 1;
}

static void join(struct follower *f)
{
    struct master *m = f->master;

    f->next = m->followers;
    if (f->next)
        f->next->prev = f;
    m->followers = f;
    for (uint32_t i = 0; i < f->n_places; i++)
        if (f->places[i].wanted && i < m->n_feeds)
            request(f, i);
}

static void leave(struct follower *f)
{
    struct master *m = f->master;

    if (f->prev)
        f->prev->next = f->next;
    else
        m->followers = f->next;
    if (f->next)
        f->next->prev = f->prev;
    free(f->places);
    buf_done(&f->queue);
    cond_wake_all(&m->followers_left);
}

int hub_stream(struct master *m, struct http_call *c, const struct follow_options *o,
               struct err *err)
{
    struct follower f = { .master = m, .opt = o, .moved = loop_now(m->loop) };
    int r = grow_feeds(m);

    buf_init(&f.queue, QUEUE_MAX);
    r = r < 0 ? err_oom(err) : grow_places(&f, err);
    if (r == 0)
        r = http_reply_begin(c, 200, "application/x-ydl-pieces", err);
    join(&f);
    while (r == 0 || r == 1) {
        r = turn(&f, c, err);
        if (r == 0)
            break;
    }
    leave(&f);
    if (r < 0) {
        if (o->stop_when_gone && !m->ended && r != -ECANCELED)
            api_client_gone(m);
        return r;
    }
    return http_reply_end(c, err);
}

void hub_wake(struct master *m)
{
    for (struct follower *f = m->followers; f; f = f->next)
        cond_wake_all(&f->wake);
}

void hub_drain(struct master *m)
{
    hub_wake(m);
    while (m->followers) {
        bool moving = false;

        for (struct follower *f = m->followers; f; f = f->next)
            moving |= loop_now(m->loop) - f->moved < DRAIN_MS;
        if (!moving || cond_wait(m->loop, &m->followers_left, loop_in(m->loop, 500)) == -ECANCELED)
            return;
    }
}

void hub_done(struct master *m)
{
    free(m->feeds);
}
