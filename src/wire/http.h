/* http.h - HTTP/1.1, server and client, over streams. llhttp parses; everything has a limit.
 *
 * Each connection of a server that has begun a request is a fiber, and a handler runs on it: it
 * reads the request's body as it comes, and answers in one piece or as a stream. Keep-alive is on;
 * a client that sends its header or body too slowly, or does not read what it asked for, is cut
 * off. Fibers only. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "wire/stream.h"

struct http_limits {
    size_t line_max;                               /* request line: 8 KiB when 0 */
    size_t header_max;                             /* all header bytes: 32 KiB when 0 */
    size_t headers_max;                            /* how many: 100 when 0 */
    uint64_t body_max;                             /* 64 MiB when 0; a client: no limit */
    int64_t header_ms, body_ms, write_ms, idle_ms; /* 10 s, 30 s, 30 s, 60 s when 0 */
    size_t connections_max; /* 1024 when 0; more are answered 503. Strangers: wire/admission.h */
};

struct http_header {
    const char *name, *value; /* name as it came; compare without case */
};

/* ---- server ---- */
struct http_call; /* one request and its answer; valid inside the handler */

/* Returns 0 when it has answered; a negative errno with `err` set is answered by the server with
 * the status that fits (-ENOENT 404, -EACCES 403, -EINVAL 400, -E2BIG 413 … else 500) and a JSON
 * body {"error": {"text", "hint"}}. */
typedef int http_handler(void *user, struct http_call *c, struct err *err);

struct http_server; /* opaque */
/* Serves connections that listen_… (loop/listen.h) accepts on `fd`, a listening descriptor that is
 * taken over, also when this fails. `check` (may be NULL) sees each new connection first and may
 * refuse it: it is answered 403, or just closed where TLS is spoken. With `key` (copied) or `tls`
 * (taken over, also when this fails) connections are TLS. *ret is the caller's: http_server_stop().
 */
struct http_server_options {
    struct loop *loop;
    int fd;
    const char *name; /* for the log; "http" when NULL */
    const struct stream_key *key;
    struct stream_tls *tls; /* stream_tls_certificate() */
    struct http_limits limits;
    bool (*check)(void *user, int fd);
    bool (*vouch)(void *user, int fd); /* the same, and may wait: as in wire/admission.h */
    /* Anybody may ask: they all stay strangers, so that few are served at the same time, others
     * wait, and one that is slow makes room for them. */
    bool strangers;
    /* One answer for each connection, for clients that never ask twice and never hang up. */
    bool once;
    /* What is no request, or one that its handler never sees, is answered {"error": "a sentence"},
     * and not with an object that has a hint as well. */
    bool bare_errors;
    const char *headers; /* of every answer, "NAME: VALUE\r\n" each; borrowed; NULL: none */
    http_handler *handler;
    void *user;
    /* May be NULL. Gets the connections on which the client speaks HTTP/2 from its first byte on
     * (grpc_serve(), wire/grpc/grpc.h): takes `s` over, and `n` bytes at `p` were read from it. */
    void (*http2)(void *user, struct stream *s, const void *p, size_t n);
    void *http2_user;
};
int http_server_start(const struct http_server_options *o, struct http_server **ret,
                      struct err *err);
/* Before the end: no new connections, and those that are open end with the answer to their present
 * request, which says so (Connection: close). One without a request is still answered a last one
 * that comes within `idle_ms`. Waits for all of them: 0, -ETIMEDOUT when requests are left at the
 * deadline, -ECANCELED. Fibers only, and not a handler. */
int http_server_drain(struct http_server *s, int64_t idle_ms, int64_t deadline);
size_t http_server_open(const struct http_server *s); /* connections */
/* Ends all connections (their handlers get -ECANCELED) and waits for their fibers. Not to be called
 * by a handler. NULL is fine; always NULL. */
struct http_server *http_server_stop(struct http_server *s);

const char *http_method(const struct http_call *c); /* "GET" */
const char *http_path(const struct http_call *c);   /* decoded, without the query */
const char *http_query(const struct http_call *c, const char *name); /* decoded; NULL: not there */
const char *http_raw(const struct http_call *c); /* path and query as they came, still quoted */
const char *http_header(const struct http_call *c, const char *name);
/* Header `i`, for those who pass them on; false behind the last. */
bool http_header_at(const struct http_call *c, size_t i, struct http_header *ret);
/* Bytes that its body has: 0 for none, UINT64_MAX when that was not told. */
uint64_t http_body_size(const struct http_call *c);
/* The body's next bytes: > 0, 0 at its end, negative. */
ssize_t http_body(struct http_call *c, void *p, size_t n, struct err *err);
/* All of it, up to the buffer's ceiling. */
int http_body_all(struct http_call *c, struct buf *ret, struct err *err);

int http_reply(struct http_call *c, int status, const char *type, const void *body, size_t n,
               struct err *err);
int http_reply_json(struct http_call *c, int status, const json_t *v, struct err *err);
/* A stream (chunked): begin, any number of writes, end. A write waits for the client to read, up to
 * write_ms for each 64 KiB. A handler that fails in the middle of one ends the connection, so that
 * the client knows that it was not all. */
int http_reply_begin(struct http_call *c, int status, const char *type, struct err *err);
int http_reply_write(struct http_call *c, const void *p, size_t n, struct err *err);
int http_reply_end(struct http_call *c, struct err *err);
/* Adds a header to the answer; before it begins. */
int http_reply_header(struct http_call *c, const char *name, const char *value, struct err *err);
/* Has the client gone? (Looked at without waiting: for streams that have nothing to send.) */
bool http_gone(struct http_call *c);
struct stream *http_stream(struct http_call *c); /* borrowed: whose it is */

/* ---- client ---- */
struct http_client; /* one connection, used again and again */
struct http_answer {
    int status;
    uint64_t length; /* UINT64_MAX when not known */
};
/* Takes over `s`, also when it fails. `host` is sent as the Host header. `limits`
 * may be NULL. *ret is the caller's: http_client_free(). */
int http_client_new(struct loop *l, struct stream *s, const char *host,
                    const struct http_limits *limits, struct http_client **ret, struct err *err);
struct http_client *http_client_free(struct http_client *c); /* NULL is fine; always NULL */
struct http_request {
    const char *method; /* "GET" */
    const char *target; /* "/v1/job?tasks=0", quoted already: http_quote() */
    const char *type;   /* of the body; NULL: JSON */
    const void *body;   /* NULL: none */
    size_t size;
    const char *headers; /* more of them, "NAME: VALUE\r\n" each; NULL: none */
    /* Instead of `body`: gives `size` bytes piece by piece, while they are sent. > 0, or negative.
     */
    ssize_t (*next)(void *user, void *p, size_t n, struct err *err);
    void *user;
    int64_t answer_ms; /* for the answer's head when all was sent; 0: until the deadline alone */
};
/* Sends a request with an optional body and reads the answer's head. The unread rest of the last
 * answer is read and dropped first. */
int http_ask(struct http_client *c, const struct http_request *q, int64_t deadline,
             struct http_answer *ret, struct err *err);
/* The answer's body: > 0, 0 at its end. `deadline` for this piece. */
ssize_t http_read(struct http_client *c, void *p, size_t n, int64_t deadline, struct err *err);
const char *http_answer_header(const struct http_client *c, const char *name); /* NULL: none */
bool http_answer_header_at(const struct http_client *c, size_t i, struct http_header *ret);
/* Appends `s` as one part of a target: everything but letters, digits and -._~ as %XX. */
int http_quote(struct buf *out, const char *s);

AUTO_DEFINE(http_server, struct http_server *, http_server_stop);
AUTO_DEFINE(http_client, struct http_client *, http_client_free);
