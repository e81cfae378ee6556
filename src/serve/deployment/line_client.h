/* line_client.h - a line to a Unix socket, a line back. Fibers only. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "loop/sock.h"

#define LINE_CLIENT_MAX (2 * MIB) /* bytes of an answer */

struct line_client {
    struct loop *loop;
    const char *path;  /* borrowed */
    struct sock *sock; /* NULL: to be connected */
    struct buf in;
};

void line_client_init(struct line_client *c, struct loop *l, const char *path);
void line_client_done(struct line_client *c);

/* Sends `line` (without its newline) and waits for the answer: text without its newline, borrowed
 * until the next call. Connects where there is no connection; one that fails is closed. */
int line_client_ask(struct line_client *c, const char *line, const char **ret, struct err *err);
