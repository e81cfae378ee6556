/* admission.h - a listening socket that anybody can reach: who gets in, and what strangers cost.
 *
 *     accepted ──► waiting ──first message──► ready ──► entering ──admission_pass()──► in
 *                     │ too late, or too many              │ too slow while others wait
 *                     ▼                                    ▼
 *                   closed                               closed
 *
 * A stranger that waits costs a few hundred bytes and a descriptor: its bytes stay in the kernel,
 * where they are looked at, until the first message is complete (a TLS ClientHello, the head of an
 * HTTP request, a tracker's magic number). Only then does it get a fiber, and few have one at the
 * same time before they have shown who they are. When too many wait, the oldest goes, of the
 * address that most of them come from; a peer that speaks at once is never among them. Those that
 * are in do not count here: the server's own limits are for them.
 *
 * Unix sockets have no strangers: `check` says who may connect, and an allowed peer is in at once.
 * Loop thread only. */
#pragma once
#include "base/auto.h"
#include "loop/sock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admission; /* opaque */
struct visitor;   /* opaque: one connection that has a fiber */

/* Looks at the first bytes that a peer sent: 1 when they are enough to begin with, 0 when more has
 * to come, or negative when this is nothing for us, with the reason. */
typedef int admission_first(const uint8_t *p, size_t n, struct err *err);
admission_first admission_first_tls;  /* a whole ClientHello */
admission_first admission_first_http; /* a whole head, or what is none and deserves an answer */

struct admission_options {
    struct loop *loop;
    int fd;                 /* listening; taken over, also when the start fails */
    const char *name;       /* for the log: "agents" */
    admission_first *first; /* NULL: for a Unix socket only */
    /* May be NULL. Sees each connection before its bytes are acted upon; false: it is refused. */
    bool (*check)(void *user, int fd);
    /* May be NULL. The same once more on the connection's fiber, for what takes a while to find
     * out; -ECANCELED of a wait counts as false. */
    bool (*vouch)(void *user, int fd);
    /* Runs on a fiber of its own; `s` is the callee's. */
    void (*serve)(void *user, struct visitor *v, struct sock *s);
    void *user;
    /* Told of each peer that is refused. NULL: the log is, with one line a second at most. */
    void (*on_refused)(void *user, const char *host, const char *why);
    const char *forbidden; /* what a peer that `check` refuses is answered; NULL: nothing */
    const char *late;      /* answer to a connection whose first message comes too slowly */
    size_t waiting_max;    /* default: 512, or a 16th of the descriptors that we may have */
    size_t entering_max;   /* default: 64 */
    int64_t wait_ms;       /* for the first message; default: 3000 */
};

/* *ret is the caller's: admission_close(). `o` is copied. */
int admission_start(const struct admission_options *o, struct admission **ret, struct err *err);
/* It has shown who it is: it counts no longer, and is not made to leave for others. */
void admission_pass(struct visitor *v);
/* It could not: a line for the log, or less. `host` is its address. */
void admission_refused(struct admission *a, const char *host, const char *why);
size_t admission_serving(const struct admission *a); /* fibers that still run */
size_t admission_waiting(const struct admission *a); /* strangers without one */
/* No new connections, and strangers go; those that have a fiber go on. */
void admission_stop(struct admission *a);
/* The same, cancels the fibers and waits until all have ended. Fibers only, and not one of its own.
 * NULL is fine; always NULL. */
struct admission *admission_close(struct admission *a);
AUTO_DEFINE(admission, struct admission *, admission_close);
