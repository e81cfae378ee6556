/* grpc.h - a gRPC server on HTTP/2, over streams. nghttp2 does the frames; everything has a limit.
 *
 *     http server ── "PRI * HTTP/2.0" ──► grpc_serve()     http_server_options.http2: the same port
 *         │                                  │
 *         │ a fiber reads, a second one writes, and each call has its own for the handler:
 *         │                                  │
 *         │   HEADERS, DATA… ──► whole message ──► handler ──► grpc_answer() or grpc_fail()
 *         ▼                                  ▼
 *     HTTP/1.1                          HEADERS, DATA…, HEADERS with grpc-status
 *
 * A call is one message in and one out (unary). Messages are not compressed: a client that insists
 * is answered UNIMPLEMENTED. A client that resets calls faster than it lets them end, sends frames
 * that lead to nothing, sends its message too slowly or does not read what it asked for loses the
 * call or the connection. Loop thread; fibers only, where not said otherwise. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/budget.h"
#include "wire/grpc/grpc_status.h"
#include "wire/stream.h"

struct grpc_server; /* opaque */
struct grpc_call;   /* one request and its answer; valid inside the handler */

/* Returns 0 when it has answered. A negative errno with `err` set is answered by the server with
 * the status that fits: grpc_status_of(). When the client goes or its deadline passes, the fiber is
 * cancelled. */
typedef int grpc_handler(void *user, struct grpc_call *c, struct err *err);

/* What a server offers. There is no flag for streams of messages yet: a method that has them will
 * be told by a field here, and answer by several grpc_answer(). */
struct grpc_method {
    const char *path; /* "/inference.GRPCInferenceService/ModelInfer" */
    grpc_handler *handler;
};

struct grpc_limits {
    size_t message_max;        /* of one request: 64 MiB when 0 */
    size_t held_max;           /* requests and answers of one connection: 4 * message_max when 0 */
    size_t server_held_max;    /* those of all: 16 * message_max when 0 */
    size_t header_max;         /* all header bytes of a call: 16 KiB when 0 */
    unsigned streams_max;      /* calls of one connection at a time: 100 when 0 */
    size_t calls_max;          /* handlers of all that run at a time: 1000 when 0; more are answered
                                  RESOURCE_EXHAUSTED */
    int64_t body_ms, write_ms; /* for each 64 KiB of a request, of an answer: 30 s when 0 */
    int64_t header_ms, idle_ms; /* for a header; without any call: 10 s, 5 min when 0 */
};

struct grpc_options {
    struct loop *loop;
    const struct grpc_method *methods; /* borrowed; ends with a row without a path */
    const char *const *metadata;       /* borrowed: which headers of a call are kept, in lower case;
                                          ends with NULL; NULL: none */
    struct grpc_limits limits;
    struct budget *budget; /* borrowed: in place of server_held_max, shared with others; NULL */
    void *user;
};

/* `o` is copied. *ret is the caller's: grpc_server_free(), after whatever calls grpc_serve(). */
int grpc_server_new(const struct grpc_options *o, struct grpc_server **ret, struct err *err);
struct grpc_server *grpc_server_free(struct grpc_server *s); /* NULL is fine; always NULL */

/* Serves one connection until it ends; for http_server_options.http2. Takes over `stream`; `p` is
 * what was read from it already. */
void grpc_serve(void *server, struct stream *stream, const void *p, size_t n);
/* Tells all clients to go elsewhere with their next calls, and waits until those that run have been
 * answered and every client was told: then the http server can be stopped. -ETIMEDOUT when calls
 * are left at the deadline. */
int grpc_drain(struct grpc_server *s, int64_t deadline, struct err *err);
size_t grpc_calls(const struct grpc_server *s); /* handlers that run; any caller */

/* ---- a call, for its handler ---- */
const char *grpc_path(const struct grpc_call *c);
struct view grpc_message(const struct grpc_call *c); /* the request; borrowed */
/* The value of one of grpc_options.metadata; NULL: it did not come. */
const char *grpc_metadata(const struct grpc_call *c, const char *name);
int64_t grpc_deadline(const struct grpc_call *c); /* the client's; LOOP_NEVER when it has none */
struct stream *grpc_stream(struct grpc_call *c);  /* borrowed: whose it is; not to be read */
/* Adds a header to the answer; before it. `name` is in lower case and borrowed. */
int grpc_answer_header(struct grpc_call *c, const char *name, const char *value, struct err *err);
/* The answer: takes the content of `message` over, also when it fails. Does not wait. -E2BIG when
 * the client has left too much unread. */
int grpc_answer(struct grpc_call *c, struct buf *message, struct err *err);
/* An answer without a message; `text` is for people. */
int grpc_fail(struct grpc_call *c, enum grpc_status status, const char *text, struct err *err);

AUTO_DEFINE(grpc_server, struct grpc_server *, grpc_server_free);
