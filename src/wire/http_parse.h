/* http_parse.h - HTTP messages out of bytes, one at a time, by llhttp. No I/O.
 *
 * Bytes go in as they come; the parser stops at the end of the head and at the end of the message,
 * and says how many it used. What llhttp lets through and a careful server should not is refused
 * here: two lengths, lengths and chunks together, no or two Host, control bytes, folded lines, a
 * head or an overhead of chunks that never ends. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/http.h"
#include <llhttp.h>

#define HTTP_READ (16 * KIB) /* bytes that are read and parsed at a time */

enum http_stage {
    HTTP_AT_HEAD, /* more of the head is needed */
    HTTP_AT_BODY, /* the head is there; more of the body may come */
    HTTP_AT_END,  /* all of it was seen */
};

struct http_field {
    uint32_t name, value; /* offsets into `text` */
};

struct http_parse {
    llhttp_t llhttp;
    const struct http_limits *limits; /* all set; borrowed */
    bool answers;                     /* parses a server's answers, not requests */
    enum http_stage stage;
    struct buf text; /* target, names and values, each with a NUL */
    struct http_field *fields;
    size_t n_fields;
    bool in_name, in_value, line_start;
    size_t head_bytes;
    bool keep_alive;    /* another message may follow on this connection */
    bool no_body;       /* set it before an answer to HEAD is parsed */
    uint64_t length;    /* of the body, when it was told, else UINT64_MAX */
    struct buf body;    /* decoded and not taken yet: at most HTTP_READ */
    uint64_t body_seen; /* bytes of body so far */
    uint64_t overhead;  /* bytes of chunk headers and trailers so far */
    int status;         /* after a failure: what to answer */
    struct err *err;    /* while parsing */
};

/* Fills what is 0 with the defaults that http.h names. */
void http_limits_fill(struct http_limits *l);

void http_parse_init(struct http_parse *h, bool answers, const struct http_limits *limits);
void http_parse_done(struct http_parse *h);
/* Forgets the message and waits for the next. */
void http_parse_next(struct http_parse *h);

/* Parses; returns how many bytes were used. Fewer than `n` were when the head is complete, when the
 * message is, or when `body` has to be emptied first. -EBADMSG or -ENOMEM with a sentence, and
 * `status` set. */
ssize_t http_parse_feed(struct http_parse *h, const void *p, size_t n, struct err *err);
/* The stream has ended. It may be how a body ends; else -ENODATA. */
int http_parse_end(struct http_parse *h, struct err *err);

const char *http_parse_target(const struct http_parse *h);
const char *http_parse_method(const struct http_parse *h);
bool http_parse_is_11(const struct http_parse *h); /* HTTP/1.1, not 1.0 */
/* The value of the first header of that name, in any case of letters; NULL: none. */
const char *http_parse_header(const struct http_parse *h, const char *name);
/* Header `i` as it came; false behind the last. */
bool http_parse_field(const struct http_parse *h, size_t i, const char **ret_name,
                      const char **ret_value);
size_t http_parse_count(const struct http_parse *h, const char *name);
