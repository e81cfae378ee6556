/* xgboost_wire.h - the messages of XGBoost's tracker protocol from 2.1 on. Pure.
 *
 * A message is a 4-byte length in native byte order, followed by that many bytes of JSON. The bytes
 * come from anybody: every length has a limit. The parsers give the bytes they used, 0 when the
 * message is not whole yet, or -EPROTO; they fit tracker_client_read(). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <sys/types.h>

#define XGBOOST_MAGIC 0xff99
#define XGBOOST_TASK_MAX 256            /* bytes of a task's id */
#define XGBOOST_HELLO_MAX (4 * KIB)     /* bytes of the first message */
#define XGBOOST_COMMAND_MAX (256 * KIB) /* bytes of the second, which may carry a text */

struct xgboost_hello {
    int64_t world, rank; /* -1: it has none */
    char task[XGBOOST_TASK_MAX + 1];
};

enum xgboost_verb { XGBOOST_START = 1, XGBOOST_SHUTDOWN, XGBOOST_ERROR, XGBOOST_PRINT };

struct xgboost_command {
    enum xgboost_verb verb;
    int32_t port, error_port; /* start: where it listens for its neighbour, and for bad news */
    char *text;               /* error, print: owned */
    int64_t code;             /* error */
};

/* `ret` of both is the structure of that name; a command's is to be freed with _done() after a
 * result above 0. */
ssize_t xgboost_parse_hello(const uint8_t *p, size_t n, void *ret, struct err *err);
ssize_t xgboost_parse_command(const uint8_t *p, size_t n, void *ret, struct err *err);
void xgboost_command_done(struct xgboost_command *c);

/* Append the answers to a start: how many there are, at once; the next in the ring, when all are
 * here. */
int xgboost_add_world(struct buf *out, unsigned world);
int xgboost_add_next(struct buf *out, unsigned rank, const char *host, int port);
