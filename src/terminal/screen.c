/* screen.c - producers append to a queue of chunks; one fiber waits for the descriptors and
 * writes. The live block is wiped before lines are written and drawn again below them. See
 * screen.h. */
#include "terminal/screen.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "hadoop/fs/fdwait.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "terminal/format.h"
#include "terminal/live_block.h"
#include "terminal/output_lines.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <uv.h>

#define CHUNK_BYTES (64 * KIB)
#define PENDING_MAX (512 * KIB) /* above it screen_wait() waits */
#define EARLY_BYTES (32 * KIB)  /* so much is written before its time */
#define FRAME_MS 100
#define IDLE_MS 1000 /* the block is drawn again so often, for its clock */
#define FIRST_MS 250 /* and not at all for a job that is shorter */

/* What the two streams are. */
struct facts {
    struct {
        bool terminal, colour;
    } to[2];
    bool joined, utf8;
};

/* Bytes for one stream; consecutive ones share a chunk. */
struct chunk {
    struct chunk *next;
    enum piece_stream to;
    struct buf bytes;
};

struct screen {
    struct screen_options o;
    struct facts facts;
    struct fdwait *wait[2];
    struct fiber *writer;
    struct chunk *first, *last;
    size_t pending;
    struct live block;
    int64_t drawn, since; /* when the block was last drawn; when the oldest bytes came */
    bool changed, ending;
    int error;
    struct cond work, drained;
    uv_signal_t resized;
    bool watching;
};

static const int fds[2] = { STDOUT_FILENO, STDERR_FILENO };

/* ---- what there is to write on ---- */

/* An unknown terminal, or one that can only write lines. */
static bool is_dumb(void)
{
    const char *term = getenv("TERM");

    return !term || !*term || strcmp(term, "dumb") == 0;
}

static void find_facts(struct facts *ret)
{
    const char *no_color = getenv("NO_COLOR");
    bool plain = (no_color && *no_color) || is_dumb();
    struct stat st[2] = { 0 };

    *ret = (struct facts){ .utf8 = progress_has_utf8() };
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        ret->to[i].terminal = isatty(fds[i]);
        ret->to[i].colour = ret->to[i].terminal && !plain;
        (void)fstat(fds[i], &st[i]);
    }
    ret->joined = st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}

/* ---- what is pending ---- */

static struct chunk *chunk_free(struct chunk *c)
{
    buf_done(&c->bytes);
    free(c);
    return NULL;
}

static int chunk_for(struct screen *s, enum piece_stream to, size_t n, struct chunk **ret)
{
    struct chunk *c = s->last;

    if (!c || c->to != to || c->bytes.len + n > CHUNK_BYTES) {
        c = calloc(1, sizeof(*c));
        if (!c)
            return -ENOMEM;
        c->to = to;
        buf_init(&c->bytes, n > CHUNK_BYTES ? n : CHUNK_BYTES);
        *(s->last ? &s->last->next : &s->first) = c;
        s->last = c;
    }
    *ret = c;
    return 0;
}

/* Hands over bytes (whole lines) to be written. Never waits. The error of an earlier write, or 0;
 * EXIT_OUTPUT_GONE when nobody reads standard output any more. */
static int screen_put(struct screen *s, enum piece_stream to, const void *p, size_t n)
{
    struct chunk *c;

    if (s->error < 0)
        return s->error;
    if (chunk_for(s, to, n, &c) < 0 || buf_add(&c->bytes, p, n) < 0)
        return -ENOMEM;
    if (s->pending == 0)
        s->since = loop_now(s->o.loop);
    s->pending += n;
    cond_wake_all(&s->work);
    return 0;
}

int screen_note(struct screen *s, const char *fmt, ...)
{
    AUTO_BUF b = { .max = 64 * KIB };
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    if (buf_add_str(&b, "ydl: ") < 0 || format_clean(&b, text) < 0 || buf_add_u8(&b, '\n') < 0)
        return -ENOMEM;
    return screen_put(s, PIECE_ERR, b.data, b.len);
}

bool screen_is_live(const struct screen *s)
{
    return s->o.live;
}

void screen_changed(struct screen *s)
{
    s->changed = true;
    if (s->o.live)
        cond_wake_all(&s->work);
}

int screen_wait(struct screen *s)
{
    int r = 0;

    while (r == 0 && s->error == 0 && s->pending > PENDING_MAX)
        r = cond_wait(s->o.loop, &s->drained, LOOP_NEVER); /* the writer's error ends it too */
    return s->error < 0 ? s->error : r;
}

/* ---- the writer ---- */

static int screen_write_all(struct screen *s, enum piece_stream to, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t done = fdwait_write(s->wait[to], fds[to], p, n);

        if (done == -EPIPE && exit_reader_gone(fds[to]))
            return EXIT_OUTPUT_GONE;
        if (done < 0)
            return (int)done;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static void terminal_size(unsigned *ret_columns, unsigned *ret_rows)
{
    struct winsize w = { 0 };
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0;

    *ret_columns = known ? w.ws_col : 80;
    *ret_rows = known && w.ws_row > 0 ? w.ws_row : 24;
}

static int screen_wipe(struct screen *s)
{
    AUTO_BUF b = { .max = 4 * KIB };
    unsigned columns, rows;
    int r;

    if (s->block.n == 0)
        return 0;
    terminal_size(&columns, &rows);
    r = live_wipe(&s->block, columns, &b);
    return r < 0 ? r : screen_write_all(s, PIECE_ERR, b.data, b.len);
}

static int screen_draw(struct screen *s)
{
    AUTO_BUF b = { .max = 256 * KIB };
    AUTO_JSON *status = NULL;
    struct live_view v = { .now = loop_wall(),
                           .utf8 = s->facts.utf8,
                           .colour = s->facts.to[PIECE_ERR].colour };
    int r = s->o.status(s->o.user, &status);

    s->drawn = loop_now(s->o.loop);
    s->changed = false;
    if (r < 0)
        return r;
    v.status = status;
    terminal_size(&v.width, &v.rows);
    r = live_draw(&s->block, &v, &b);
    return r < 0 ? r : screen_write_all(s, PIECE_ERR, b.data, b.len);
}

static int write_chunks(struct screen *s)
{
    int r = s->first ? screen_wipe(s) : 0;

    while (r == 0 && s->first) {
        struct chunk *c = s->first;

        s->first = c->next;
        if (!s->first)
            s->last = NULL;
        r = screen_write_all(s, c->to, c->bytes.data, c->bytes.len);
        s->pending -= c->bytes.len;
        chunk_free(c);
        cond_wake_all(&s->drained);
    }
    return r;
}

/* When there is something to do next.
 *
 *     no block                     bytes at once: when they came
 *     a block, and many bytes      at once
 *     a block, something changed   with the next frame
 *     a block, nothing changed     once a second, for its clock */
static int64_t screen_due(const struct screen *s)
{
    int64_t at = s->pending > 0 ? s->since : LOOP_NEVER, frame;

    if (!s->o.live)
        return at;
    if (s->pending > EARLY_BYTES)
        return s->since;
    frame = s->drawn + (s->changed || s->pending > 0 || s->block.n == 0 ? FRAME_MS : IDLE_MS);
    /* While the block is not there lines need not wait for it. */
    return s->block.n == 0 && at < frame ? at : frame;
}

/* Lines wait for the next frame of the block, so that it is wiped and drawn ten times a second and
 * not for each line; many bytes, or no block, and they go at once. */
static int screen_turn(struct screen *s)
{
    int64_t at = screen_due(s), now = loop_now(s->o.loop);
    int r;

    if (now < at && !s->ending) {
        r = cond_wait(s->o.loop, &s->work, at);
        return r == -ETIMEDOUT ? 0 : r;
    }
    r = write_chunks(s);
    now = loop_now(s->o.loop);
    if (r == 0 && s->o.live && !s->ending && now >= s->drawn + FRAME_MS)
        r = screen_draw(s);
    if (r == 0 && s->ending && !s->first)
        r = screen_wipe(s);
    return r;
}

static void screen_run_writer(void *arg)
{
    struct screen *s = arg;
    int r = 0;

    while (r == 0 && !(s->ending && !s->first && s->block.n == 0))
        r = screen_turn(s);
    s->error = r < 0 ? r : s->error;
    s->writer = NULL;
    cond_wake_all(&s->drained);
}

/* ---- life ---- */

static void on_resize(uv_signal_t *h, int signum)
{
    (void)signum;
    screen_changed(h->data);
}

static int screen_watch(struct screen *s, struct err *err)
{
    int r = uv_signal_init(loop_uv(s->o.loop), &s->resized);

    if (r < 0)
        return err_code(err, r, "watch the terminal");
    s->watching = true;
    s->resized.data = s;
    uv_unref((uv_handle_t *)&s->resized);
    r = uv_signal_start(&s->resized, on_resize, SIGWINCH);
    return r < 0 ? err_code(err, r, "watch the terminal") : 0;
}

int screen_new(const struct screen_options *o, struct screen **ret, struct err *err)
{
    AUTO(screen) struct screen *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s)
        return err_oom(err);
    s->o = *o;
    find_facts(&s->facts);
    s->o.live = o->live && s->facts.to[PIECE_ERR].terminal && !is_dumb();
    /* The first block comes a little later: a job may be over by then. */
    s->drawn = loop_now(o->loop) + FIRST_MS - FRAME_MS;
    for (size_t i = 0; r == 0 && i < COUNT_OF(fds); i++)
        r = fdwait_new(o->loop, fds[i], true, &s->wait[i], err);
    if (r == 0 && s->o.live)
        r = screen_watch(s, err);
    if (r == 0)
        r = fiber_start(o->loop, screen_run_writer, s, &s->writer, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

static void screen_on_closed(uv_handle_t *h)
{
    free(h->data);
}

struct screen *screen_free(struct screen *s)
{
    if (!s)
        return NULL;
    if (s->writer) { /* it holds on to `s`: wait for its end */
        fiber_cancel(s->writer);
        fiber_shield(s->o.loop, true);
        while (s->writer)
            (void)cond_wait(s->o.loop, &s->drained, LOOP_NEVER);
        fiber_shield(s->o.loop, false);
    }
    while (s->first) {
        struct chunk *c = s->first;

        s->first = c->next;
        chunk_free(c);
    }
    fdwait_free(s->wait[0]);
    fdwait_free(s->wait[1]);
    if (s->watching)
        uv_close((uv_handle_t *)&s->resized, screen_on_closed);
    else
        free(s);
    return NULL;
}

int screen_end(struct screen *s, int64_t deadline, struct err *err)
{
    int r = 0;

    s->ending = true;
    cond_wake_all(&s->work);
    while (r == 0 && s->writer)
        r = cond_wait(s->o.loop, &s->drained, deadline);
    if (s->error < 0 && s->error != EXIT_OUTPUT_GONE)
        return err_code(err, s->error, "write the tasks' output");
    return s->error < 0 ? s->error : r;
}

static int screen_put_lines(void *user, enum piece_stream to, const void *p, size_t n)
{
    return screen_put(user, to, p, n);
}

int screen_show(struct screen *s, const struct show_options *o, struct show **ret, struct err *err)
{
    struct show_options full = *o;

    full.joined = s->facts.joined;
    full.ascii = !s->facts.utf8;
    full.wall = loop_wall() - loop_now(s->o.loop);
    full.sink = screen_put_lines;
    full.user = s;
    for (size_t i = 0; i < COUNT_OF(full.to); i++) {
        full.to[i].terminal = s->facts.to[i].terminal;
        full.to[i].colour = s->facts.to[i].colour;
    }
    return show_new(&full, ret) < 0 ? err_oom(err) : 0;
}
