/* haproxy_process.h - one HAProxy: started on a listening socket, heard through a pipe, ended with
 * its gateway. Fibers only.
 *
 * It is started through our own program, which asks the kernel to kill it when we die and becomes
 * HAProxy then: so none is left behind, whatever happens to us. */
#pragma once
#include "base/auto.h"
#include "loop/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct haproxy; /* opaque */

#define HAPROXY_START_MS 20000

struct haproxy_options {
    struct loop *loop;
    const char *program; /* HAProxy's */
    const char *conf;    /* its configuration */
    const char *socket;  /* where its run-time API will be; copied */
    int listen_fd;       /* borrowed: becomes its standard input */
    /* Each line that it prints, without its end: of the log, and warnings. */
    void (*on_line)(void *user, const char *line, size_t n);
    void (*on_end)(void *user); /* it has ended, by itself or not */
    void *user;
};

/* Starts it and waits until its run-time API answers. The error has what it said about its
 * configuration. `o` is copied, but for what is borrowed. *ret is the caller's. */
int haproxy_start(const struct haproxy_options *o, struct haproxy **ret, struct err *err);
bool haproxy_ended(struct haproxy *h);
bool haproxy_was_told(struct haproxy *h); /* it ended because somebody sent SIGTERM or SIGINT */
pid_t haproxy_pid(const struct haproxy *h);
const char *haproxy_socket(const struct haproxy *h);
/* Returns when it accepts no more. It answers what it has, and ends then: `hard-stop-after` at the
 * latest. */
void haproxy_retire(struct haproxy *h);
/* Waits for its end; kills it after `ms`. Goes on when the fiber is cancelled. */
void haproxy_wait_end(struct haproxy *h, int64_t ms);
/* Kills what is left. NULL is fine; always NULL. */
struct haproxy *haproxy_free(struct haproxy *h);
AUTO_DEFINE(haproxy, struct haproxy *, haproxy_free);

/* What our own program does as the child: never returns but with an error. */
int haproxy_become(pid_t parent, char **argv, struct err *err);
