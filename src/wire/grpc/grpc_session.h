/* grpc_session.h - HTTP/2 as a gRPC server speaks it, without I/O: bytes of the wire in, calls out;
 * answers in, bytes for the wire out. For grpc_conn.c, which moves the bytes and runs handlers, and
 * for tests. Nothing waits; the time is an argument. Loop thread only.
 *
 *     RECEIVING ──whole message──► RUNNING ──grpc_answer(), grpc_fail()──► ANSWERED ──► freed
 *         │ refused, too slow          │ deadline, handler failed           ▲
 *         └────────────────────────────┴────────────────────────────────────┘
 *
 * A stream can be closed by the client at any time, which frees the call; but one that a handler
 * has is kept until grpc_session_ran(). */
#pragma once
#include "wire/grpc/grpc.h"
#include "wire/grpc/grpc_flood.h"
#include "wire/grpc/grpc_frame.h"

#include <nghttp2/nghttp2.h>

enum grpc_state { GRPC_RECEIVING, GRPC_RUNNING, GRPC_ANSWERED };

struct grpc_kept {
    const char *name; /* of the table of names to keep, or the handler's own */
    char *value;
};

struct grpc_session;
struct fiber;

struct grpc_call {
    struct grpc_session *session;
    struct grpc_call *prev, *next; /* the session's, as long as it is not freed */
    int32_t id;                    /* the stream's; 0 once that is closed */
    enum grpc_state state;
    bool running;                     /* the handler has it: it must not be freed */
    const struct grpc_method *method; /* NULL: unknown */
    bool posts, is_grpc, identity;    /* what its headers said */
    bool whole_header;
    struct grpc_kept *metadata, *answer; /* what came and was kept; what the answer will have */
    size_t n_metadata, n_answer;
    size_t header_bytes;
    struct grpc_frame in;
    size_t held;      /* bytes that count in the budgets */
    int64_t began;    /* to receive, or to send the answer */
    int64_t deadline; /* the client's */
    struct buf out;   /* the answer's message */
    size_t out_at;    /* what of prefix and message was sent */
    uint8_t prefix[GRPC_PREFIX];
    struct fiber *fiber; /* the handler's, for grpc_conn.c; NULL: it does not run */
};

struct grpc_hooks {
    /* A call has come in whole; its state is GRPC_RUNNING until grpc_session_ran(). */
    int (*on_call)(void *user, struct grpc_call *c, struct err *err);
    /* Nobody waits any more for the answer of a running call. */
    void (*on_gone)(void *user, struct grpc_call *c);
    /* There is something to be taken. May be NULL, for whoever looks anyway. */
    void (*on_output)(void *user);
    void *user;
    struct stream *stream; /* for handlers that ask whose the call is; may be NULL */
};

struct grpc_session {
    nghttp2_session *h2;
    const struct grpc_options *o; /* limits are filled */
    struct grpc_hooks hooks;
    struct budget held, *all; /* bytes of requests and answers, of the connection and of all */
    struct grpc_flood flood;
    struct grpc_call *calls;
    size_t n_calls;
    int64_t now, quiet_since; /* since when there is no call */
    bool leaving;             /* the last GOAWAY is under way */
    bool flooded;             /* the client has sent too much that leads to nothing */
    bool in_header;           /* between a HEADERS frame and the end of its block */
    int64_t header_began;
};

void grpc_limits_fill(struct grpc_limits *l);

/* `o` and `all` are borrowed. `s` must not move afterwards. */
int grpc_session_init(struct grpc_session *s, const struct grpc_options *o,
                      const struct grpc_hooks *hooks, struct budget *all, int64_t now,
                      struct err *err);
/* No call may be running. */
void grpc_session_done(struct grpc_session *s);
/* Negative when the connection cannot go on; what is still to be sent says why. */
int grpc_session_feed(struct grpc_session *s, const uint8_t *p, size_t n, int64_t now,
                      struct err *err);
/* Bytes for the wire: > 0, 0 for none, negative. *p is valid until the next call. */
ssize_t grpc_session_take(struct grpc_session *s, const uint8_t **p);
bool grpc_session_has_output(const struct grpc_session *s);
/* Whether more may be read: false after a fault, or once all calls of a drained one have ended. */
bool grpc_session_reads(const struct grpc_session *s);
size_t grpc_session_queued(const struct grpc_session *s); /* frames that wait to be taken */
/* Ends what is too late; *next is when to look again. Negative: the connection has to end. */
int grpc_session_expire(struct grpc_session *s, int64_t now, int64_t *next, struct err *err);
/* The client is to go elsewhere: a notice first, and some time later that no new call is taken. */
void grpc_session_notice(struct grpc_session *s);
void grpc_session_leave(struct grpc_session *s);
/* The handler of a call has returned; `c` is not to be used any more. */
void grpc_session_ran(struct grpc_call *c, int code, const struct err *why);

/* ---- between the files of the session ---- */
bool grpc_budget_take(struct grpc_call *c, size_t n);
void grpc_budget_give(struct grpc_call *c, size_t n);
struct grpc_call *grpc_call_new(struct grpc_session *s, int32_t id);
void grpc_call_free(struct grpc_call *c);
void grpc_call_forget(struct grpc_call *c); /* its request is not needed any more */
/* Its stream is closed. */
void grpc_call_closed(struct grpc_call *c);
/* Answers it from here, instead of a handler. */
void grpc_call_refuse(struct grpc_call *c, enum grpc_status status, const char *text);
/* A request that is not gRPC's: an HTTP status without a body. */
void grpc_call_reject(struct grpc_call *c, const char *status);
/* One header of the request; -ENOMEM. */
int grpc_header_take(struct grpc_call *c, const nghttp2_vec *name, const nghttp2_vec *value);
/* All of them are there: refuses what cannot be answered. */
void grpc_header_done(struct grpc_call *c);
int grpc_callbacks_new(nghttp2_session_callbacks **ret);
