/* client_streams.c - see client.h: events and output, from whichever master has them, else from the
 * files. */
#include "base/str.h"
#include "client/client_private.h"
#include "client/earlier_output.h"
#include "client/event_dedup.h"
#include "wire/http.h"

#include <string.h>

#define READ_BYTES (64 * KIB)

/* ---- events ---- */

struct events {
    int (*fn)(void *arg, const char *line, size_t n);
    void *arg;
    struct event_dedup seen;
    bool ended; /* the last record was there */
    bool ours;  /* `fn` wants no more */
};

static int client_on_line(void *arg, const char *line, size_t n)
{
    struct events *e = arg;
    int r;

    if (event_dedup_seen(&e->seen, line, n))
        return 0;
    e->ended = memmem(line, n < 96 ? n : 96, "\"event\":\"end\"", 13) != NULL;
    r = e->fn(e->arg, line, n);
    e->ours = r != 0;
    return r;
}

/* Calls `fn` for each line until it returns other than 0, which is returned. */
static int read_lines(struct client_stream *s, int (*fn)(void *arg, const char *line, size_t n),
                      void *arg, struct err *err)
{
    AUTO_BUF b = { .max = MIB + READ_BYTES };
    int r = 0;

    while (r == 0) {
        const char *at, *end, *nl;
        uint8_t *room;
        ssize_t n;

        if (buf_room(&b, READ_BYTES, &room) < 0)
            return err_set(err, -EPROTO, "the master's events end in the middle of a line");
        n = client_read(s, room, READ_BYTES, err);
        if (n <= 0)
            return (int)n;
        b.len += (size_t)n;
        at = (char *)b.data;
        end = at + b.len;
        for (; r == 0 && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL; at = nl + 1)
            r = fn(arg, at, (size_t)(nl - at));
        buf_eat(&b, (size_t)(at - (char *)b.data));
    }
    return r;
}

static int keep_first(void *arg, const char *line, size_t n)
{
    (void)event_dedup_resume(arg, line, n);
    return 1; /* one is enough */
}

/* A master may begin the log anew, which has fewer records then than were seen here: what it begins
 * with tells.
 *
 * Only from a thousand records on: as long as a reader asks from 0, it sees the first one
 * anyway. */
static int look_at_first(struct client *c, struct events *e, struct err *err)
{
    AUTO_CLIENT_STREAM *s = NULL;
    int r = event_dedup_from(&e->seen) > 0 ? client_open(c, "/v1/events?from=0", &s, err) : 0;

    if (s)
        r = read_lines(s, keep_first, &e->seen, err);
    return r < 0 ? r : 0;
}

/* What the present master has, from the current position; with `follow` until it or the job ends.
 */
static int ask_events(struct client *c, bool follow, struct events *e, struct err *err)
{
    AUTO_FREE char *target = NULL;
    AUTO_CLIENT_STREAM *s = NULL;
    int r = look_at_first(c, e, err);

    if (r < 0)
        return r;
    target = str_printf("/v1/events?from=%llu%s", (unsigned long long)event_dedup_from(&e->seen),
                        follow ? "&follow=1" : "");
    r = target ? client_open(c, target, &s, err) : err_oom(err);
    return r < 0 ? r : read_lines(s, client_on_line, e, err);
}

static int events_in_files(struct client *c, struct events *e, struct err *err)
{
    struct past p = { .id = c->id };
    int r = c->ops->past(c, &p, err);

    return r < 0 ? r : past_events(&p, client_on_line, e, err);
}

int client_events(struct client *c, bool follow, int (*fn)(void *arg, const char *line, size_t n),
                  void *arg, struct err *err)
{
    AUTO_FREE struct events *e = calloc(1, sizeof(*e));
    int r = e ? client_alive(c, err) : err_oom(err);

    if (r < 0)
        return r;
    e->fn = fn;
    e->arg = arg;
    while (r == 1 && (follow || !c->ops->here)) { /* here the log is a file of ours either way */
        r = ask_events(c, follow, e, err);
        if (e->ended || e->ours || (r == 0 && !follow))
            return r;
        r = client_again(c, r, err);
    }
    return r < 0 ? r : events_in_files(c, e, err);
}

/* ---- output ---- */

static int client_take_pieces(struct pieces *s, struct spool *spool, struct err *err)
{
    struct piece p;
    int r;

    while ((r = pieces_next(s, &p, err)) == 1) {
        r = spool_add(spool, &p, err);
        if (r < 0)
            return r;
    }
    return r;
}

int client_add_tasks(struct buf *target, char sep, const struct strs *wanted)
{
    int r = 0;

    for (size_t i = 0; r == 0 && wanted && i < wanted->n; i++) {
        r = i ? buf_add_u8(target, ',') : buf_printf(target, "%ctask=", sep);
        if (r == 0)
            r = http_quote(target, wanted->v[i]);
    }
    return r < 0 || !buf_text(target) ? -ENOMEM : 0;
}

/* All that there was when the master was asked. */
static int fetch_output(struct client *c, const struct strs *wanted, struct spool *spool,
                        struct err *err)
{
    AUTO_BUF target = { .max = MIB };
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_CLIENT_STREAM *s = NULL;
    AUTO_PIECES pieces = { 0 };
    ssize_t n = 1;
    int r = bytes && buf_add_str(&target, "/v1/logs") == 0 &&
                    client_add_tasks(&target, '?', wanted) == 0
                ? 0
                : err_oom(err);

    pieces_init(&pieces);
    if (r == 0)
        r = client_open(c, buf_text(&target), &s, err);
    while (r == 0 && n > 0) {
        n = client_read(s, bytes, READ_BYTES, err);
        if (n > 0)
            r = pieces_feed(&pieces, bytes, (size_t)n, err);
        if (r == 0)
            r = client_take_pieces(&pieces, spool, err);
    }
    return r < 0 ? r : (int)n;
}

int client_saved_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                        struct spool **ret_spool, struct err *err)
{
    struct past p = { .id = c->id };
    int r = c->ops->past(c, &p, err);

    *ret_spool = NULL;
    if (r == 0)
        r = logfiles_list(p.fs, p.logs, wanted, ret, err);
    if (r == 0 && c->ops->more_output)
        r = c->ops->more_output(c, wanted, ret, ret_spool, err);
    return r;
}

static int read_earlier(struct client *c, const struct strs *wanted, json_t **ret_status,
                        struct logfiles *ret, struct err *err)
{
    struct past p = { .id = c->id };
    AUTO_JSON *before = NULL;
    int r = client_status(c, true, &before, err);

    if (r < 0 || !earlier_any(before, wanted))
        return r;
    r = c->ops->past(c, &p, err);
    if (r == 0)
        r = logfiles_list(p.fs, p.logs, wanted, ret, err);
    return r < 0 ? r : client_status(c, true, ret_status, err);
}

/* What is saved, and a document that is newer. It should work even while HDFS is away. */
static int find_earlier(struct client *c, const struct strs *wanted, json_t **ret_status,
                        struct logfiles *ret, struct err *err)
{
    struct err why = ERR_INIT;
    int r = c->ops->here ? 0 : read_earlier(c, wanted, ret_status, ret, &why);

    if (r == -ENOMEM || r == -ECANCELED) {
        *err = why;
        return r;
    }
    if (r < 0) {
        logfiles_done(ret);
        client_say(c, "earlier output of tasks that moved cannot be shown: %s", why.text);
    }
    return 0;
}

int client_earlier_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                          struct err *err)
{
    AUTO_JSON *status = NULL;
    int r = find_earlier(c, wanted, &status, ret, err);

    return r < 0 ? r : earlier_keep(status, NULL, ret, err);
}

static int add_sent(const struct spool *s, const struct strs *wanted, const json_t *status,
                    struct logfiles *saved, struct logfiles *ret, struct err *err)
{
    int r = logfiles_add(s, wanted, ret, err);

    if (r == 0)
        r = earlier_keep(status, ret, saved, err);
    return r < 0 ? r : logfiles_move(saved, ret) < 0 ? err_oom(err) : 0;
}

/*     a master answers: what is saved of tasks that moved, then what their agents send
 *     none does:        what is saved, and at last what NodeManagers have
 *
 * The spool keeps its place when a master is replaced in the middle: what comes twice is dropped
 * there. */
int client_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                  struct spool **ret_spool, struct err *err)
{
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES saved = { 0 };
    AUTO_JSON *status = NULL;
    int r = c->ops->here ? 0 : client_alive(c, err);

    *ret_spool = NULL;
    if (r == 1)
        r = spool_new(&spool, err) < 0 ? err->code : 1;
    if (r == 1) {
        int found = find_earlier(c, wanted, &status, &saved, err);

        r = found < 0 ? found : 1;
    }
    while (r == 1) {
        r = fetch_output(c, wanted, spool, err);
        if (r == 0) {
            *ret_spool = take(spool);
            return add_sent(*ret_spool, wanted, status, &saved, ret, err);
        }
        r = client_again(c, r, err);
    }
    return r < 0 ? r : client_saved_output(c, wanted, ret, ret_spool, err);
}
