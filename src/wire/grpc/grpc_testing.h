/* grpc_testing.h - for tests: a session with nghttp2's client in memory at its other end. The clock
 * is the test's, and the methods are /t.T/Echo and /t.T/Big, which answers with a megabyte. */
#pragma once
#include "test.h"
#include "wire/grpc/grpc_session.h"

#define GRPC_HELLO "\0\0\0\0\5hello"
#define GRPC_REPLIES 200

/* What the client knows of its calls; the n-th has the stream 2 * n + 1. */
struct grpc_reply {
    char http[8], status[8], text[256], accepts[16];
    uint8_t body[64];
    size_t n, total;
    bool closed;
    uint32_t error;
};

struct grpc_world {
    struct grpc_options o;
    struct grpc_session s;
    struct budget all;
    nghttp2_session *client;
    int64_t now;
    struct grpc_call *running[GRPC_REPLIES];
    size_t n_running, gone;
    bool keep; /* the calls: the test answers them */
    struct grpc_reply answers[GRPC_REPLIES];
    size_t n_answers;
    uint32_t goaway;
    bool left;
    const uint8_t *send; /* the request's bytes */
    size_t n_send, at_send;
    bool open_end; /* the client does not say that it has ended */
};

void grpc_world_open(struct grpc_world *w);
void grpc_world_close(struct grpc_world *w);
/* Bytes go both ways until nobody has any. The server's result. */
int grpc_world_pump(struct grpc_world *w);
/* The call's reply, where it will come; w->send is the request. */
struct grpc_reply *grpc_world_ask_with(struct grpc_world *w, const nghttp2_nv *more, size_t n_more,
                                       const char *path);
/* The same with this request, and pumps. */
struct grpc_reply *grpc_world_ask(struct grpc_world *w, const char *path, const void *p, size_t n);
/* So much later. */
void grpc_world_expire(struct grpc_world *w, int64_t ms);
/* What a handler does. */
int grpc_world_echo(struct grpc_call *c, struct err *err);
