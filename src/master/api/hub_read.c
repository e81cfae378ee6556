/* hub_read.c - the readers of output and events, each on the fiber of its connection; see hub.c. */
#include "base/log.h"
#include "base/path.h"
#include "base/rotate.h"
#include "master/api/hub_private.h"

#include <stdio.h>
#include <string.h>

#define PIECE_MAX (64 * KIB)
#define SILENT_MS                                                                                  \
    3000 /* what no agent has sent by then, to who does not follow, is not to be had */
#define DRAIN_MS 10000 /* without a byte taken: the reader has stopped */

/* What a killed agent could not send any more: its files are on this machine. */
static int hub_read_file(struct follower *f, uint32_t task, int stream)
{
    struct master *m = f->master;
    AUTO_FREE char *path = NULL;
    AUTO_FREE uint8_t *p = malloc(PIECE_MAX);
    struct rotate file;
    const struct task *t = engine_task(m->engine, task);
    ssize_t n = 0;

    path = str_printf("%s/%s-%u.%s", m->paths.logs, m->spec.roles[t->role].name, t->rank,
                      stream == ERR ? "err" : "out");
    if (!path || !p)
        return -ENOMEM;
    if (rotate_look(&file, path) < 0)
        return 0;
    hub_place_tail(f, task, stream, rotate_size(&file));
    if (f->places[task].at[stream] < rotate_begin(&file))
        f->places[task].at[stream] = rotate_begin(&file);
    while (f->queue.len + 2 * PIECE_MAX < HUB_QUEUE_MAX) {
        n = rotate_read(&file, f->places[task].at[stream], p, PIECE_MAX);
        if (n <= 0)
            return 0;
        if (hub_put(f, task, stream, p, (size_t)n) < 0)
            return -ENOMEM;
    }
    return 1;
}

/* Of a task whose agent is there: is there more to come of this stream? */
static bool owes_stream(const struct follower *f, uint32_t task, int stream)
{
    const struct feed *d = &f->master->hub->feeds[task];
    const struct place *at = &f->places[task];
    uint64_t end = at->until[stream];

    if (d->ended && d->size[stream] < end)
        end = d->size[stream];
    return at->wanted && d->started && !d->lost && hub_wants(f, stream) &&
           (at->at[stream] < end || at->at[stream] == HUB_FAR);
}

/* Is there more to come of this task? Asks for what was missed. */
static bool owes(struct follower *f, uint32_t task)
{
    const struct feed *d = &f->master->hub->feeds[task];
    struct place *at = &f->places[task];
    bool more = false;

    if (!at->wanted || !(d->started || d->lost))
        return false;
    if (d->lost) {
        for (int s = OUT; s < STREAMS; s++)
            more |= hub_wants(f, s) && hub_read_file(f, task, s) > 0;
        return more;
    }
    if (at->missed && f->queue.len == 0)
        hub_request(f, task);
    if (!d->ended && f->opt->follow)
        return true;
    for (int s = OUT; s < STREAMS; s++)
        more |= owes_stream(f, task, s);
    return more;
}

static bool owes_any(struct follower *f)
{
    bool more = false;

    for (uint32_t i = 0; i < f->n_places && i < f->master->hub->n_feeds; i++)
        more |= owes(f, i);
    return more;
}

/* Is an agent on another machine gone, with output of this stream that the reader was not sent? An
 * agent that was killed while the job had no master leaves output that nobody tells us of. It is
 * among what was saved, if anywhere. */
static bool lacks_stream(const struct follower *f, uint32_t task, int stream)
{
    const struct feed *d = &f->master->hub->feeds[task];

    if (hub_has_files(f->master))
        return false; /* the files are here, and were read */
    if (!f->places[task].wanted || !hub_wants(f, stream))
        return false;
    if (!d->started)
        return d->ran;
    return d->lost && (!d->ended || f->places[task].at[stream] < d->size[stream]);
}

static bool hub_lacks_any(const struct follower *f)
{
    bool lacks = false;

    for (uint32_t i = 0; i < f->n_places && i < f->master->hub->n_feeds; i++)
        for (int s = OUT; s < STREAMS; s++)
            lacks |= lacks_stream(f, i, s);
    return lacks;
}

/* Event lines from the journal, each as a piece of its own. There is room for the longest. */
static int add_events(struct follower *f, struct err *err)
{
    struct master *m = f->master;
    AUTO_BUF lines = { .max = JOURNAL_LINES_MAX };
    const char *at, *end, *nl;
    ssize_t n;

    if (!f->opt->events || f->queue.len > HUB_QUEUE_MAX / 4)
        return 0;
    n = journal_lines(&m->journal, &f->journal_at, &lines); /* what stands in the log comes first */
    if (n == -ENOMEM)
        return err_oom(err);
    if (n < 0) { /* the job goes on, and so does who follows its output */
        (void)err_code(err, (int)n, "read the events log");
        log_warn(LOG_MASTER, "%s, ignoring", err->text);
        err_clear(err);
        f->journal_at = m->journal.size;
        buf_reset(&lines);
        n = 0;
    }
    if (n == 0 && live_read(&m->live, &f->live_at, &lines) < 0)
        return err_oom(err);
    at = (char *)lines.data;
    end = at + lines.len;
    for (; at < end && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL; at = nl + 1)
        if (buf_add_str(&f->queue, "{\"event\":") < 0 ||
            buf_add(&f->queue, at, (size_t)(nl - at)) < 0 || buf_add_str(&f->queue, "}\n") < 0)
            return err_oom(err);
    return 0;
}

/* The queue is taken out first: agents go on filling a new one while this write waits for the
 * reader. */
static int write_queue(struct follower *f, struct http_call *c, struct err *err)
{
    AUTO_BUF now = f->queue;
    int r;

    buf_init(&f->queue, HUB_QUEUE_MAX);
    if (now.len == 0)
        return 0;
    r = http_reply_write(c, now.data, now.len, err);
    f->moved = loop_now(f->master->loop);
    return r;
}

static int64_t hub_patience_of(const struct follower *f)
{
    return f->opt->silent_ms > 0 ? f->opt->silent_ms : SILENT_MS;
}

/* The end of a stream that is not all of it: clients that do not know "missing" take it for an end.
 */
static int hub_put_missing(struct follower *f, uint32_t task, int stream)
{
    char name[ENGINE_NAME_MAX], why[96] = "its agent is gone";

    if (!f->master->hub->feeds[task].lost)
        (void)snprintf(why, sizeof(why), "its agent has sent nothing for %g s",
                       (double)hub_patience_of(f) / 1000);
    if (f->opt->plain)
        return buf_printf(&f->queue, "[the rest is missing: %s]\n", why);
    return buf_printf(
        &f->queue, "{\"task\":\"%s\",\"stream\":\"%s\",\"end\":true,\"missing\":\"%s\"}\n",
        engine_task_name(f->master->engine, task, name), stream == ERR ? "err" : "out", why);
}

/* The end for who does not follow: names each stream that is not whole, of which nothing more
 * comes.
 */
static int tell_missing(struct follower *f, struct http_call *c, struct err *err)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < f->n_places && i < f->master->hub->n_feeds; i++) {
        for (int s = OUT; r == 0 && s < STREAMS; s++)
            if (owes_stream(f, i, s) || lacks_stream(f, i, s))
                r = hub_put_missing(f, i, s) < 0 ? err_oom(err) : 0;
        if (r == 0 && f->queue.len > HUB_QUEUE_MAX / 4)
            r = write_queue(f, c, err);
    }
    return r < 0 ? r : write_queue(f, c, err);
}

/* 1 while there is more, 0 when the reader has everything that is to be had. */
static int hub_turn(struct follower *f, struct http_call *c, struct err *err)
{
    struct master *m = f->master;
    bool more;
    int r = add_events(f, err);

    if (r == 0)
        r = write_queue(f, c, err);
    if (r < 0)
        return r;
    more = owes_any(f);
    if (f->queue.len > 0 ||
        (f->opt->events && (f->journal_at < m->journal.size || f->live_at < live_end(&m->live))))
        return 1;
    if (m->ended && f->opt->follow && !more &&
        hub_lacks_any(f)) /* no end: the reader looks there */
        return err_set(err, -ENODATA, "output of an agent that is gone was not sent");
    if (m->ended && f->opt->follow && !more)
        return 0;
    if (!f->opt->follow && (!more || loop_now(m->loop) - f->moved > hub_patience_of(f)))
        return tell_missing(f, c, err);
    r = cond_wait(m->loop, &f->wake,
                  loop_in(m->loop, f->opt->follow ? 1000 : hub_patience_of(f) / 3));
    if (r == -ETIMEDOUT && http_gone(c))
        return err_set(err, -EPIPE, "the reader has gone");
    return r < 0 && r != -ETIMEDOUT ? r : 1;
}

static void hub_join(struct follower *f)
{
    struct master *m = f->master;

    f->next = m->hub->followers;
    if (f->next)
        f->next->prev = f;
    m->hub->followers = f;
    for (uint32_t i = 0; i < f->n_places; i++)
        if (f->places[i].wanted && i < m->hub->n_feeds)
            hub_request(f, i);
}

static void hub_leave(struct follower *f)
{
    struct master *m = f->master;

    if (f->prev)
        f->prev->next = f->next;
    else
        m->hub->followers = f->next;
    if (f->next)
        f->next->prev = f->prev;
    free(f->places);
    buf_done(&f->queue);
    cond_wake_all(&m->hub->left);
}

/* The follower is on this fiber's stack and in the hub's list for as long as the call lasts. An
 * attached client whose stream breaks may have left for good or only lost its network:
 * client_watch.c decides. */
int hub_stream(struct master *m, struct http_call *c, const struct follow_options *o,
               struct err *err)
{
    struct follower f = {
        .master = m, .opt = o, .moved = loop_now(m->loop), .live_at = live_end(&m->live)
    };
    int r = hub_grow_feeds(m);

    buf_init(&f.queue, HUB_QUEUE_MAX);
    r = r < 0 ? err_oom(err) : hub_grow_places(&f, err);
    if (r == 0)
        r = http_reply_begin(
            c, 200, o->plain ? "text/plain; charset=utf-8" : "application/x-ydl-pieces", err);
    hub_join(&f);
    m->live.watchers += o->events;
    m->client.n += o->stop_when_gone;
    while (r == 0 || r == 1) {
        r = hub_turn(&f, c, err);
        if (r == 0)
            break;
    }
    m->live.watchers -= o->events;
    m->client.n -= o->stop_when_gone;
    hub_leave(&f);
    if (r < 0) {
        if (o->stop_when_gone)
            client_watch_broken(m, r);
        return r;
    }
    return http_reply_end(c, err);
}

/* At the end of the job readers get what is left, as long as one of them takes a byte now and then.
 */
void hub_drain(struct master *m)
{
    hub_wake(m);
    while (m->hub->followers) {
        bool moving = false;

        for (struct follower *f = m->hub->followers; f; f = f->next)
            moving |= loop_now(m->loop) - f->moved < DRAIN_MS;
        if (!moving || cond_wait(m->loop, &m->hub->left, loop_in(m->loop, 500)) == -ECANCELED)
            return;
    }
}
