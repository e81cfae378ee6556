/* rendezvous.h - the servers that frameworks expect their launcher to run, inside the master.
 *
 * One protocol is one file and one row of the table. A server lives for one generation: a re-formed
 * gang gets a new one on a new port, so that a straggler of the old one cannot disturb. A server
 * that only publishes information (rendezvous_lasts) keeps its port, because others know it. Loop
 * thread; each connection is a fiber with deadlines. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct rendezvous; /* opaque */

struct rendezvous_options {
    struct loop *loop;
    const char *host;             /* numeric address to listen on */
    unsigned port_low, port_high; /* 0: any */
    unsigned world;               /* workers expected; of no concern to those that last */
    void *user;
    /* May be NULL. Is the peer one of this job's? Others are refused before they have said a word.
     */
    bool (*check)(void *user, int fd);
    bool (*vouch)(void *user, int fd);             /* the same, and may wait; may be NULL */
    void (*on_note)(void *user, const char *text); /* prints and complaints of workers */
    /* For servers that tell of the job: the value at `path` ("publisher/exports"). -ENOENT:
     * nothing. *ret is the caller's. NULL: there is nothing to tell. */
    int (*document)(void *user, const char *path, json_t **ret, struct err *err);
};

/* Starts the server for one bit of enum framework_server (1 rabit, 2 xgboost, 4 horovod, 8 slider).
 * *ret is the caller's: rendezvous_free(); `opt` is borrowed and outlives it. */
int rendezvous_start(unsigned server, const struct rendezvous_options *opt, struct rendezvous **ret,
                     struct err *err);
int rendezvous_port(const struct rendezvous *r);
bool rendezvous_lasts(unsigned server); /* it belongs to no generation */
/* Ends its connections and waits for their fibers: on a fiber only. NULL is fine; always NULL. */
struct rendezvous *rendezvous_free(struct rendezvous *r);
