/* http_conn.h - one HTTP connection as the server and the client both need it: a stream, what was
 * read from it and not parsed yet, and the message being parsed. Fibers only; for wire/http_*.c. */
#pragma once
#include "loop/fiber.h"
#include "wire/http_parse.h"
#include "wire/stream.h"

#define HTTP_PIECE (64 * KIB) /* what is written under one deadline */

struct http_conn {
    struct loop *loop;
    struct stream *stream; /* owned */
    struct http_limits limits;
    struct http_parse in;
    const char *headers; /* of every answer; borrowed; NULL: none */
    bool bare_errors;    /* likewise */
    bool once;           /* it ends after its first answer */
    struct buf raw;
    size_t raw_at; /* bytes of `raw` that were parsed */
};

/* Takes over `s`. `c` must not move afterwards. */
void http_conn_init(struct http_conn *c, struct loop *l, struct stream *s, bool answers,
                    const struct http_limits *limits);
void http_conn_done(struct http_conn *c);

bool http_conn_pending(const struct http_conn *c); /* bytes were read and not parsed */
/* Reads some more: > 0, 0 at the end of the stream. */
ssize_t http_conn_fill(struct http_conn *c, int64_t deadline, struct err *err);
/* Parses the next message's head: 1, 0 when the stream ended before it began, or negative; `in` is
 * ready to be looked at, also for the status that a failure deserves. */
int http_conn_head(struct http_conn *c, int64_t deadline, struct err *err);
/* Decoded bytes of its body: > 0, 0 at the end of it. */
ssize_t http_conn_body(struct http_conn *c, void *p, size_t n, int64_t deadline, struct err *err);

/* What is written in one go. */
struct http_out {
    const char *head;
    size_t head_size;
    const void *p;
    size_t n;
    const char *tail; /* up to its NUL; NULL: none */
};
/* Writes it, each piece within write_ms or before `deadline`, whichever comes first. */
int http_conn_write(struct http_conn *c, struct http_out out, int64_t deadline, struct err *err);
