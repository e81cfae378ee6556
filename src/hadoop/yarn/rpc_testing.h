/* rpc_testing.h - for tests: the RPC layer replaced by a function, so that a test is the server.
 *
 * Linked instead of hadoop/rpc's service: what the library sends arrives as a message, and what
 * the test gives comes back as the answer. The real wire is tested with the real daemons. */
#pragma once
#include "base/str.h"
#include "hadoop/rpc/rpc.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/message.h"
#include "loop/fiber.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct rpc_service {
    char host[64];
    int port;
    size_t count;   /* addresses */
    char token[32]; /* kind of the token it has, or "" */
    size_t tokens;  /* how often one was set */
    size_t resets;
};

/* One call: fills *ret with a message on the heap, or returns an error. May wait. */
typedef int fake_answer_fn(void *arg, struct rpc_service *s, const char *method,
                           const void *request, void **ret, struct err *err);

/* The one server of all services. */
struct fake_rpc {
    fake_answer_fn *answer;
    void *arg;
    struct loop *loop;
    size_t calls;    /* so far */
    size_t services; /* that exist now */
};
extern struct fake_rpc fake_rpc;

/* An answer that is a copy of a message on the stack. */
static inline int fake_copy(void *message, void **ret)
{
    *ret = message_copy(message);
    return *ret ? 0 : -ENOMEM;
}

/* Fails as a remote exception of YARN's does. */
__attribute__((unused)) static int fake_throw(const char *short_class, const char *text,
                                              struct err *err)
{
    char name[120];

    snprintf(name, sizeof(name), "org.apache.hadoop.yarn.exceptions.%s", short_class);
    return rpc_exception_err(name, text, err);
}

/* A session on a configuration, with the tokens of a file unless that is NULL; both are named with
 * TESTDATA. Frees with session_free(). */
#define TESTDATA YDL_SOURCE_DIR "/src/hadoop/yarn/testdata/"
struct session *fake_session(struct loop *l, const char *conf_dir, const char *tokens);

/* Runs fn(arg) as the first fiber of a new loop, which is in fake_rpc.loop. */
void fake_run(int (*fn)(void *arg), void *arg, fake_answer_fn *answer, void *answer_arg);
