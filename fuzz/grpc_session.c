/* grpc_session.c - what a client sends a gRPC server after HTTP/2's preface, in pieces, each behind
 * a byte with its size. A piece of no bytes lets time pass, and handlers end that have run
 * meanwhile.
 *
 * Whatever comes: the memory that is held stays below its limits, and is given back at the end. */
#include "wire/grpc/grpc_session.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define RUNNING_MAX 8

struct world {
    struct budget all;
    struct grpc_call *running[RUNNING_MAX];
    size_t n;
};

static int handle(struct grpc_call *c, struct err *err)
{
    const char *id = grpc_metadata(c, "x-request-id");
    struct view v = grpc_message(c);
    struct buf b = { .max = 4 * KIB };

    if (v.n == 0)
        return err_set(err, -ENOENT, "nothing \n%%");
    if (id && grpc_answer_header(c, "x-request-id", id, err) < 0)
        return err->code;
    if (v.p[0] == 'f')
        return grpc_fail(c, GRPC_UNAVAILABLE, "later", err);
    if (buf_add(&b, v.p, v.n) < 0)
        return err_oom(err);
    return grpc_answer(c, &b, err);
}

static void run(struct grpc_call *c)
{
    struct err err = ERR_INIT;
    int r = handle(c, &err);

    grpc_session_ran(c, r, &err);
}

/* Every other call is one that takes its time. */
static int on_call(void *user, struct grpc_call *c, struct err *err)
{
    struct world *w = user;

    (void)err;
    if (c->id % 4 == 1 && w->n < RUNNING_MAX)
        w->running[w->n++] = c;
    else
        run(c);
    return 0;
}

static void on_gone(void *user, struct grpc_call *c)
{
    (void)user;
    if (!c->running)
        abort();
}

static int never(void *user, struct grpc_call *c, struct err *err)
{
    (void)user;
    (void)c;
    (void)err;
    abort();
}

static const struct grpc_method methods[] = { { "/a/B", never }, { 0 } };
static const char *const metadata[] = { "x-request-id", NULL };

static void let_them_end(struct world *w)
{
    while (w->n > 0)
        run(w->running[--w->n]);
}

/* Takes what is to be sent, as the writer does. */
static void flush(struct grpc_session *s)
{
    const uint8_t *p;

    while (grpc_session_take(s, &p) > 0)
        ;
}

static int feed(struct grpc_session *s, struct world *w, const uint8_t *p, size_t size)
{
    int64_t now = 0, next;
    int r = grpc_session_feed(s, (const uint8_t *)PREFACE, strlen(PREFACE), now, NULL);

    for (size_t at = 0; r == 0 && at < size;) {
        size_t n = p[at++];

        n = n < size - at ? n : size - at;
        if (n > 0) {
            r = grpc_session_feed(s, p + at, n, now, NULL);
        } else {
            now += 300;
            r = grpc_session_expire(s, now, &next, NULL);
            let_them_end(w);
        }
        at += n;
        flush(s);
        if (s->held.used > s->held.max || s->n_calls > s->o->limits.streams_max)
            abort();
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct grpc_options o = { .methods = methods,
                              .metadata = metadata,
                              .limits = { .message_max = KIB,
                                          .held_max = 2 * KIB,
                                          .header_max = KIB,
                                          .streams_max = 6,
                                          .body_ms = 500,
                                          .write_ms = 500,
                                          .header_ms = 500,
                                          .idle_ms = 1000 } };
    struct world w = { .all = { .max = 3 * KIB } };
    struct grpc_hooks hooks = { .on_call = on_call, .on_gone = on_gone, .user = &w };
    struct grpc_session s;

    grpc_limits_fill(&o.limits);
    if (grpc_session_init(&s, &o, &hooks, &w.all, 0, NULL) < 0)
        abort();
    if (feed(&s, &w, data, size) < 0)
        flush(&s);
    let_them_end(&w);
    flush(&s);
    grpc_session_done(&s);
    if (w.all.used != 0)
        abort();
    return 0;
}
