/* tracker_server.c - the life of a connection:
 *
 *     stranger ──first word──► client, unproven ──tracker_client_proven()──► client ──► settled
 *        │ late or too many        │ little time, the oldest makes room
 *        └──────────► closed ◄─────┘
 *
 * What workers print, and notes about those who break the rules, have a rate that refills with
 * time. See tracker_server.h. */
#include "rendezvous/tracker_server.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "loop/listen.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WRITE_MS 10000
#define READ_SIZE 4096
#define SETTLE_MS 5000
#define WAITING_MAX 512 /* who has said nothing yet: the workers, or so many */
#define WAITING_MIN 64
#define NOTES_MAX 64   /* complaints of one server */
#define LINE_MAX_ 1000 /* bytes of one printed line */
#define LINE_COST 100  /* of the events log for each, beyond its text */
#define PRINT_BURST ((size_t)1 * MIB)
#define PRINT_PER_MS 64 /* bytes that workers may print in the long run */
#define PRINT_MS ((int64_t)(PRINT_BURST / PRINT_PER_MS)) /* until the burst is there again */

struct tracker_server {
    struct tracker_server_options o;
    struct admission *admission;
    struct tracker_client *first, *last; /* the oldest first */
    struct cond heard;                   /* somebody was, or left */
    unsigned notes;
    size_t print_left;  /* bytes that may be printed now … */
    int64_t print_at;   /* … by what was then */
    uint64_t unprinted; /* lines */
};

/* ---- notes ---- */

static void tracker_tell(struct tracker_server *ts, const char *text)
{
    const struct rendezvous_options *opt = ts->o.opt;

    if (opt->on_note)
        opt->on_note(opt->user, text);
}

void tracker_server_note(struct tracker_server *ts, const char *fmt, ...)
{
    char text[600], clean[700];
    int n = snprintf(text, sizeof(text), "%s: ", ts->o.name);
    va_list ap;

    if (ts->notes > NOTES_MAX)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    if (ts->notes++ == NOTES_MAX)
        (void)snprintf(text + n, sizeof(text) - (size_t)n,
                       "further notes of this kind are suppressed");
    (void)str_clean(clean, sizeof(clean), text); /* a parser's complaint may quote what it read */
    tracker_tell(ts, clean);
}

/* Is there still something of what workers may print? It comes back with time. A bucket of 1 MiB
 * that refills at 64 KB a second: a burst of output passes, a loop does not fill the events log. */
static bool may_print(struct tracker_server *ts, size_t n)
{
    int64_t now = loop_now(ts->o.opt->loop), ms = now - ts->print_at;
    size_t more = ms > PRINT_MS ? PRINT_BURST : (size_t)ms * PRINT_PER_MS;

    ts->print_at = now;
    ts->print_left = more >= PRINT_BURST - ts->print_left ? PRINT_BURST : ts->print_left + more;
    n += LINE_COST;
    if (n > ts->print_left) {
        ts->unprinted++;
        return false;
    }
    ts->print_left -= n;
    return true;
}

/* Reports the lines that were left out, once the rate allows it again. */
static void tell_unprinted(struct tracker_server *ts)
{
    char text[120];

    if (ts->unprinted == 0)
        return;
    (void)snprintf(text, sizeof(text), "%s: %llu lines were left out: workers print too much",
                   ts->o.name, (unsigned long long)ts->unprinted);
    ts->unprinted = 0;
    tracker_tell(ts, text);
}

static void print_line(struct tracker_server *ts, const char *p, size_t n)
{
    char raw[LINE_MAX_ + 1], clean[4 * LINE_MAX_ + 1];

    n = n < LINE_MAX_ ? n : LINE_MAX_;
    if (!may_print(ts, n))
        return;
    tell_unprinted(ts);
    memcpy(raw, p, n);
    raw[n] = 0;
    for (size_t i = 0; i < n; i++) {
        if (raw[i] == '\t' || raw[i] == 0)
            raw[i] = ' ';
    }
    (void)str_clean(clean, sizeof(clean), raw);
    tracker_tell(ts, clean);
}

void tracker_server_print(struct tracker_server *ts, const char *text, size_t n)
{
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t line = end ? (size_t)(end - text) : n;
        size_t shown = line && text[line - 1] == '\r' ? line - 1 : line;

        if (shown)
            print_line(ts, text, shown);
        line += end != NULL;
        text += line;
        n -= line;
    }
}

/* ---- coming and going ---- */

static void tracker_on_refused(void *user, const char *host, const char *why)
{
    tracker_server_note(user, "%s: %s", host, why);
}

static void tracker_enter(struct tracker_server *ts, struct tracker_client *g)
{
    g->prev = ts->last;
    *(ts->last ? &ts->last->next : &ts->first) = g;
    ts->last = g;
}

static void tracker_leave(struct tracker_server *ts, struct tracker_client *g)
{
    *(g->prev ? &g->prev->next : &ts->first) = g->next;
    *(g->next ? &g->next->prev : &ts->last) = g->prev;
    cond_wake_all(&ts->heard);
    buf_done(&g->in);
    g->sock = sock_close(g->sock);
}

static void tracker_serve(void *user, struct visitor *v, struct sock *s)
{
    struct tracker_server *ts = user;
    struct tracker_client g = {
        .of = ts, .sock = s, .visitor = v, .fiber = fiber_self(ts->o.opt->loop)
    };
    struct err err = ERR_INIT;
    int r;

    buf_init(&g.in, ts->o.in_max);
    tracker_enter(ts, &g);
    r = ts->o.talk(ts->o.user, &g, &err);
    if (r < 0 && r != -ECANCELED && (r != -ENODATA || err.code))
        tracker_server_note(ts, "%s: %s", tracker_client_host(&g),
                            err.code ? err.text : "it hung up");
    tracker_leave(ts, &g);
}

static bool tracker_check(void *user, int fd)
{
    const struct rendezvous_options *opt = ((struct tracker_server *)user)->o.opt;

    return !opt->check || opt->check(opt->user, fd);
}

static bool tracker_vouch(void *user, int fd)
{
    const struct rendezvous_options *opt = ((struct tracker_server *)user)->o.opt;

    return !opt->vouch || opt->vouch(opt->user, fd);
}

int tracker_server_open(const struct tracker_server_options *o, struct tracker_server **ret,
                        int *ret_port, struct err *err)
{
    AUTO_FREE struct tracker_server *ts = calloc(1, sizeof(*ts));
    const struct rendezvous_options *opt = o->opt;
    struct admission_options door = { .loop = opt->loop,
                                      .name = o->name,
                                      .first = o->first,
                                      .check = tracker_check,
                                      .vouch = tracker_vouch,
                                      .serve = tracker_serve,
                                      .on_refused = tracker_on_refused };
    int r;

    if (!ts)
        return err_oom(err);
    ts->o = *o;
    r = listen_tcp(opt->host, opt->port_low, opt->port_high, &door.fd, ret_port, err);
    if (r < 0)
        return r;
    door.user = ts;
    ts->print_left = PRINT_BURST;
    ts->print_at = loop_now(opt->loop);
    door.waiting_max = opt->world < WAITING_MAX ? opt->world + WAITING_MIN : WAITING_MAX;
    /* All workers may come at once, and one that is sent away because it is slow does not come
     * again: its job fails. */
    door.entering_max = (size_t)opt->world + WAITING_MIN;
    r = admission_start(&door, &ts->admission, err);
    if (r < 0)
        return r;
    *ret = take(ts);
    return 0;
}

struct tracker_server *tracker_server_close(struct tracker_server *ts)
{
    if (!ts)
        return NULL;
    ts->admission = admission_close(ts->admission);
    tell_unprinted(ts);
    free(ts);
    return NULL;
}

/* ---- talking ---- */

/* Protocols without lengths in front: the parser is asked after each read whether that is enough.
 * It uses nothing up by itself (tracker_client_used()), so the same bytes may be looked at
 * twice. */
ssize_t tracker_client_read(struct tracker_client *g, tracker_parse *parse, void *ret,
                            int64_t deadline, struct err *err)
{
    for (;;) {
        ssize_t used = parse(g->in.data, g->in.len, ret, err), n;
        uint8_t *room = NULL;
        int r;

        if (used != 0)
            return used;
        r = buf_room(&g->in, READ_SIZE, &room);
        if (r < 0)
            return err_code(err, r, "a message that is too long");
        n = sock_read(g->sock, room, READ_SIZE, deadline);
        if (n == 0 && g->in.len)
            return err_set(err, -ENODATA, "it hung up in the middle of a message");
        if (n == 0)
            return -ENODATA;
        if (n == -ETIMEDOUT)
            return err_set(err, -ETIMEDOUT, "it sent too little in time");
        if (n < 0)
            return err_code(err, (int)n, "read");
        g->in.len += (size_t)n;
    }
}

void tracker_client_used(struct tracker_client *g, size_t n)
{
    buf_eat(&g->in, n);
}

void tracker_client_proven(struct tracker_client *g)
{
    admission_pass(g->visitor);
}

int tracker_client_write(struct tracker_client *g, const void *p, size_t n, struct err *err)
{
    int r = sock_write(g->sock, p, n, loop_in(g->of->o.opt->loop, WRITE_MS));

    return r < 0 ? err_code(err, r, "write") : 0;
}

int tracker_server_first_word(const uint8_t *p, size_t n, int32_t magic, struct err *err)
{
    int32_t word = 0;

    if (n < sizeof(word))
        return 0;
    memcpy(&word, p, sizeof(word));
    if (word != magic)
        return err_set(err, -EPROTO, "this is not a worker (its first word is 0x%x)",
                       (unsigned)word);
    return 1;
}

static ssize_t tracker_parse_word(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    (void)p;
    (void)ret;
    (void)err;
    return n < sizeof(int32_t) ? 0 : (ssize_t)sizeof(int32_t);
}

int tracker_client_greet(struct tracker_client *g, int32_t magic, int64_t deadline, struct err *err)
{
    ssize_t used = tracker_client_read(g, tracker_parse_word, NULL, deadline, err);

    if (used < 0)
        return (int)used;
    tracker_client_used(g, (size_t)used);
    g->greeted = true;
    return tracker_client_write(g, &magic, sizeof(magic), err);
}

int tracker_client_linger(struct tracker_client *g, struct err *err)
{
    char c;
    /* It ends when the client does, by the kernel's keep-alive at the latest, or with the server.
     */
    ssize_t n = g->in.len ? 1 : sock_read(g->sock, &c, 1, LOOP_NEVER);

    if (n > 0)
        return err_set(err, -EPROTO, "it sent more than it may");
    return n == 0 || n == -ECANCELED ? (int)n : err_code(err, (int)n, "read");
}

/* Two processes of one host may come in any order; only those before this one in the list, who have
 * begun to speak, can have something to say that changes the answer. */
static bool is_settled(const struct tracker_client *g)
{
    for (const struct tracker_client *e = g->of->first; e && e != g; e = e->next) {
        if (e->greeted && !e->heard && strcmp(tracker_client_host(e), tracker_client_host(g)) == 0)
            return false;
    }
    return true;
}

/* For whoever finds the state of the tracker not as it should be: what would make it right may be
 * on its way, on another connection that came before this one and was not acted upon yet. The
 * deadline is for one that never says anything. */
int tracker_client_settle(struct tracker_client *g)
{
    struct loop *l = g->of->o.opt->loop;
    int64_t deadline = loop_in(l, SETTLE_MS);
    int r = 0;

    while (r == 0 && !is_settled(g))
        r = cond_wait(l, &g->of->heard, deadline);
    return r == -ETIMEDOUT ? 0 : r;
}

void tracker_client_heard(struct tracker_client *g)
{
    g->heard = true;
    cond_wake_all(&g->of->heard);
}

const char *tracker_client_host(const struct tracker_client *g)
{
    return sock_peer_ip(g->sock);
}

/* ---- ids ---- */

static bool tracker_is_number(const char *s)
{
    size_t n = strlen(s);

    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)s[i]))
            return false;
    }
    return n > 0;
}

/* Numbers of any length: leading zeroes aside, the longer one is larger. */
static int compare_numbers(const char *a, const char *b)
{
    size_t n, m;

    a += strspn(a, "0");
    b += strspn(b, "0");
    n = strlen(a);
    m = strlen(b);
    return n != m ? (n > m) - (n < m) : strcmp(a, b);
}

int tracker_server_compare_ids(const char *a, const char *b)
{
    bool x = tracker_is_number(a), y = tracker_is_number(b);

    if (x != y)
        return x ? -1 : 1;
    return x ? compare_numbers(a, b) : strcmp(a, b);
}
