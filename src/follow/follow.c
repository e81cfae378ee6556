/* follow.c - see follow.h
 *
 *     master ──stream──► this fiber ──lines──► screen's fiber ──► terminal
 *                          ▲   │ records ► history ► live block
 *              ticker: lines that wait to be finished, or for others of the same text
 *
 * On YARN a master may be replaced by another one. The new one sends everything from the beginning;
 * records and bytes that were seen are left out, so that nothing is lost and nothing comes twice.
 */
#include "follow/follow_private.h"
#include "follow/replay.h"
#include "launch/client_agent.h"
#include "launch/token_renewal.h"
#include "terminal/format.h"
#include "terminal/wait_reason.h"

#include <string.h>

#define READ_BYTES (64 * KIB)
#define LIVE_TASKS 64 /* of a larger job the block shows no single task's numbers */
#define LEAVE_MS 500

/* ---- records ---- */

/* A second one comes from a master that found no record of the one before it: the tasks have begun
 * again, and so has their output. */
static int on_created(struct follow *f, const json_t *record)
{
    int r = f->created ? show_begin_anew(f->show, loop_now(f->loop)) : 0;

    f->created = true;
    f->tasks = 0;
    if (r == 0)
        r = show_roles(f->show, json_object_get(record, "roles"), &f->tasks);

    return r == -EINVAL ? 0 : r;
}

static int follow_on_job(struct follow *f, const json_t *record)
{
    if (json_object_get(record, "roles"))
        return on_created(f, record);
    if (str_eq(format_text(record, "state"), "RUNNING"))
        f->waiting[0] = '\0';
    return 0;
}

static int follow_on_gang(struct follow *f, const json_t *record)
{
    int64_t have = json_int_or(record, "have", 0), want = json_int_or(record, "want", 0);

    snprintf(f->waiting, sizeof(f->waiting), "have %lld of %lld containers; %s", (long long)have,
             (long long)want, format_text(record, "reason"));
    return 0;
}

static void said_something(struct follow *f)
{
    f->said = loop_now(f->loop);
    f->told = 0;
}

static int follow_on_note(struct follow *f, const json_t *record)
{
    said_something(f);
    return f->o->quiet ? 0 : screen_note(f->screen, "%s", format_text(record, "text"));
}

static int follow_on_restart(struct follow *f, const json_t *record)
{
    const char *task = format_text(record, "task"), *reason = format_text(record, "reason");
    int64_t used = json_int_or(record, "used", 0), max = json_int_or(record, "max", -1);
    char count[64] = "";

    said_something(f);
    if (f->o->quiet)
        return 0;
    if (used > 0 && max > 0)
        snprintf(count, sizeof(count), " (%lld of %lld)", (long long)used, (long long)max);
    return screen_note(f->screen, "restarting %s%s%s%s", *task ? task : "all tasks", count,
                       *reason ? ": " : "", reason);
}

/* A container that is replaced: nothing else tells why the job still waits. Each reason once, for a
 * node may take many along. */
static int follow_on_failure(struct follow *f, const json_t *record)
{
    const char *task = format_text(record, "task"), *text = format_text(record, "text");

    if (f->o->quiet || !json_is_true(json_object_get(record, "gone")) || !*text ||
        !str_eq(format_text(record, "then"), "move") ||
        strncmp(f->lost, text, sizeof(f->lost) - 1) == 0)
        return 0;
    snprintf(f->lost, sizeof(f->lost), "%s", text);
    return screen_note(f->screen, "replacing the container of %s: %s", task, text);
}

static int follow_on_end(struct follow *f, const json_t *record)
{
    (void)record;
    f->ended = true;
    return 0;
}

/* Those that are more than history's business. */
static const struct {
    const char *mark;
    int (*on)(struct follow *f, const json_t *record);
} kinds[] = {
    { "\"event\":\"job\"", follow_on_job },   { "\"event\":\"gang\"", follow_on_gang },
    { "\"event\":\"note\"", follow_on_note }, { "\"event\":\"restart\"", follow_on_restart },
    { "\"event\":\"end\"", follow_on_end },   { "\"event\":\"failure\"", follow_on_failure },
};

static int on_record(struct follow *f, const char *p, size_t n, struct err *err)
{
    AUTO_JSON *record = NULL;
    /* The kind stands near the beginning, before anything that a user could have written. */
    size_t head = n < 96 ? n : 96;
    int r;

    if (event_dedup_seen(&f->seen, p, n))
        return 0;
    r = history_apply(f->history, p, n, err);
    screen_changed(f->screen);
    if (r == -EINVAL) {
        err_clear(err);
        return 0;
    }
    for (size_t i = 0; r == 0 && i < COUNT_OF(kinds); i++) {
        if (!memmem(p, head, kinds[i].mark, strlen(kinds[i].mark)))
            continue;
        r = json_parse("an event", p, n, &record, err);
        return r < 0 ? r : kinds[i].on(f, record);
    }
    return r;
}

/* ---- output ---- */

static int follow_on_output(struct follow *f, struct piece *p)
{
    uint64_t skip;

    if (!f->o->streams[p->stream])
        return 0;
    skip = f->o->skip ? f->o->skip(f->o->user, p->task, p->stream) : 0;
    if (p->kind == PIECE_OUTPUT && p->offset < skip) {
        uint64_t more = skip - p->offset;

        if (more >= p->n)
            return 0;
        p->data += more;
        p->n -= (size_t)more;
        p->offset = skip;
    }
    said_something(f);
    return show_piece(f->show, p, loop_now(f->loop));
}

/* ---- time ---- */

/* Says what the job waits for, to those who started it and see no block. */
static int follow_tell_waiting(struct follow *f)
{
    AUTO_BUF line = { .max = 4 * KIB };
    AUTO_JSON *status = NULL;
    int64_t now = loop_now(f->loop);
    int r;

    if (now < waiting_due(f->said, f->told))
        return 0;
    f->told = now;
    r = follow_make_status(f, false, &status, NULL);
    if (r == 0)
        r = waiting_line(status, now - f->said, &line);
    if (r == -E2BIG) /* more roles than a line is for */
        r = 0;
    if (r < 0 || line.len == 0)
        return r;
    return buf_text(&line) ? screen_note(f->screen, "%s", buf_text(&line)) : -ENOMEM;
}

static void run_ticker(void *arg)
{
    struct follow *f = arg;
    bool tell = f->o->ours && !screen_is_live(f->screen) && !f->o->quiet && !f->o->json;

    said_something(f);
    while (!f->stopping && f->error == 0) {
        int64_t due = tell ? waiting_due(f->said, f->told) : LOOP_NEVER;

        f->tick_at = show_deadline(f->show);
        if (due < f->tick_at)
            f->tick_at = due;
        if (cond_wait(f->loop, &f->tick, f->tick_at) == -ECANCELED)
            break;
        f->error = show_tick(f->show, loop_now(f->loop));
        if (tell && f->error == 0 && !f->stopping)
            f->error = follow_tell_waiting(f);
    }
    f->ticker = NULL;
    cond_wake_all(&f->ticked);
}

static void stop_ticker(struct follow *f)
{
    f->stopping = true;
    fiber_shield(f->loop, true);
    while (f->ticker) {
        cond_wake_all(&f->tick);
        (void)cond_wait(f->loop, &f->ticked, LOOP_NEVER);
    }
    fiber_shield(f->loop, false);
}

/* ---- the stream ---- */

static int follow_make_target(const struct follow_options *o, struct buf *out, struct err *err)
{
    bool output = o->streams[PIECE_OUT] || o->streams[PIECE_ERR];
    int r = buf_printf(out, "/v1/attach?logs=%d&stop=%d", output, o->ours && !o->detach);

    return r < 0 || client_add_tasks(out, '&', o->tasks) < 0 ? err_oom(err) : 0;
}

static int follow_take_pieces(struct follow *f, struct pieces *s, struct err *err)
{
    struct piece p;
    int r;

    while ((r = pieces_next(s, &p, err)) == 1) {
        r = p.kind == PIECE_EVENT ? on_record(f, p.record, p.record_n, err)
                                  : follow_on_output(f, &p);
        if (r < 0)
            return r == -ENOMEM ? err_oom(err) : r;
    }
    return r;
}

/* One connection, until it ends or fails. screen_wait() holds the reading up when the terminal is
 * slow, and so the master's queue for us fills instead of our memory. The agent beside the client
 * is started here, once a master answers. */
static int read_stream(struct follow *f, struct err *err)
{
    AUTO_BUF target = { .max = MIB };
    AUTO_CLIENT_STREAM *stream = NULL;
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_PIECES pieces = { 0 };
    ssize_t n = 1;
    int r = bytes ? follow_make_target(f->o, &target, err) : err_oom(err);

    pieces_init(&pieces);
    if (r == 0)
        r = client_open(f->client, buf_text(&target), &stream, err);
    if (r == 0)
        client_agent_begin(f->o->beside);
    while (r == 0) {
        n = client_read(stream, bytes, READ_BYTES, err);
        if (n <= 0)
            break;
        r = pieces_feed(&pieces, bytes, (size_t)n, err);
        if (r == 0)
            r = follow_take_pieces(f, &pieces, err);
        if (show_deadline(f->show) < f->tick_at)
            cond_wake_all(&f->tick);
        if (r == 0)
            r = f->error < 0 ? f->error : screen_wait(f->screen);
    }
    return r < 0 ? r : (int)n;
}

/* From one master to the next, until the job has ended. */
static int follow_read_all(struct follow *f, struct err *err)
{
    for (;;) {
        int r = read_stream(f, err);

        if (follow_is_final(r) || f->error < 0)
            return r;
        if (f->ended) {
            f->over = true;
            return r;
        }
        r = client_again(f->client, r, err);
        f->over = r == 0;
        if (r <= 0)
            return r;
        renew_again(f->o->renew);
        show_resume(f->show);
    }
}

/* ---- all of it ---- */

static int status_for_block(void *user, json_t **ret)
{
    struct follow *f = user;

    return follow_make_status(f, f->tasks <= LIVE_TASKS, ret, NULL);
}

static int follow_start(struct follow *f, struct err *err)
{
    const struct follow_options *o = f->o;
    struct screen_options screen = {
        .loop = f->loop, .live = o->live, .status = status_for_block, .user = f
    };
    struct interrupt_options interrupt = {
        .client = f->client, .fiber = fiber_self(f->loop), .detach = o->detach, .quiet = o->quiet
    };
    struct show_options show = {
        .prefix = o->prefix, .timestamps = o->timestamps, .collapse = o->collapse, .json = o->json
    };
    int r = history_new(&f->history, err);

    if (r == 0)
        r = screen_new(&screen, &f->screen, err);
    if (r == 0)
        r = screen_show(f->screen, &show, &f->show, err);
    interrupt.screen = f->screen;
    if (r == 0 && o->ours)
        r = interrupt_start(&interrupt, &f->interrupt, err);
    return r < 0 ? r : fiber_start(f->loop, run_ticker, f, &f->ticker, err);
}

static int follow_finish(struct follow *f, int r, struct follow_result *ret, struct err *err)
{
    int64_t deadline = LOOP_NEVER;
    int shown;

    if (f->over)
        r = follow_the_end(f, r, ret, err);
    ret->interrupted = interrupt_count(f->interrupt) > 0;
    if (r == -ECANCELED && ret->interrupted) {
        ret->left = true;
        err_clear(err);
        r = 0;
        fiber_shield(f->loop, true); /* what is there is shown, if that takes no time */
        deadline = loop_in(f->loop, LEAVE_MS);
    }
    shown = f->show ? show_end(f->show, loop_now(f->loop)) : 0;
    if (f->screen && shown == 0)
        shown = screen_end(f->screen, deadline, err);
    if (ret->left) {
        fiber_shield(f->loop, false);
        return 0;
    }
    return r < 0 ? r : shown;
}

/* What the client tells people while it waits for a master. */
static void on_client_note(void *user, const char *text)
{
    struct follow *f = user;

    if (!f->o->quiet)
        (void)screen_note(f->screen, "%s", text);
}

int follow_job(struct client *c, const struct follow_options *o, struct follow_result *ret,
               struct err *err)
{
    AUTO_FREE struct follow *f = calloc(1, sizeof(*f));
    int r;

    *ret = (struct follow_result){ 0 };
    if (!f)
        return err_oom(err);
    f->client = c;
    f->o = o;
    f->loop = client_loop(c);
    f->tick_at = LOOP_NEVER;
    r = follow_start(f, err);
    client_set_note(c, on_client_note, f);
    client_set_patience(c, CLIENT_LONG_MS);
    if (r == 0 && o->earlier)
        r = replay_earlier(o->earlier, o->earlier_from, f->show, f->screen, err);
    if (r == 0)
        r = follow_read_all(f, err);
    stop_ticker(f);
    r = follow_finish(f, r, ret, err);
    client_set_note(c, NULL, NULL);
    interrupt_stop(f->interrupt);
    screen_free(f->screen);
    show_free(f->show);
    history_free(f->history);
    return r;
}
