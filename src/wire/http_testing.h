/* http_testing.h - for tests: a real server on loopback with a few things to ask for.
 *
 *     /hello           "hello\n"            /echo            the request's body, streamed back
 *     /big?n=N         N bytes              /stream?n=N      N chunks, "chunk 0\n" and so on
 *     /say?name=NAME   a query's value      /unread          answers without reading the body
 *     /fail?code=N     fails with errno N   /half            begins a stream and fails
 *     /silent          gives no answer      /gone            waits until the client has gone
 *     /never           waits until it is cancelled */
#pragma once
#include "test.h"
#include "wire/http.h"
#include "wire/wire_testing.h"

struct http_world {
    struct loop *loop;
    struct http_server *server;
    struct http_limits limits;
    bool once;
    const struct stream_key *key;
    bool (*check)(void *user, int fd);
    int port;
    unsigned requests, cancelled, failed, gone;
};

/* Runs fn(w) on a loop of its own beside the server. */
void http_world_run(struct http_world *w, int (*fn)(void *w));

/* Waits until a counter of `w` is not 0 any more, for as long as anything may take. */
void http_world_await(struct http_world *w, const unsigned *counter);
/* A plain connection to it; the caller's: sock_close(). */
struct sock *http_world_connect(struct http_world *w);
/* The same, let in: it has asked for /hello, and the first byte of its answer was read. */
struct sock *http_world_guest(struct http_world *w);
/* Sends `request` on a new connection and reads up to its end. The answer is the caller's. */
char *http_world_ask(struct http_world *w, const char *request);
/* A client of it; the caller's: http_client_free(). */
struct http_client *http_world_client(struct http_world *w);
/* The whole body of the answer as text; the caller's. NULL when it fails. */
char *http_world_read(struct http_world *w, struct http_client *c);
