/* listener_testing.h - the other side of a test: a fiber for each connection to a descriptor that
 * listens. The product admits connections through wire/admission.h. Loop thread only. */
#pragma once
#include "loop/listen.h"

/* Runs on a fiber of its own. `s` is the callee's: sock_close(). */
typedef void listen_on_accept(void *user, struct sock *s);

struct listener; /* opaque */

/* Accepts connections on `fd`, which is taken over, also when this fails. While descriptors or
 * memory run out it waits a little and goes on. *ret is the caller's: listener_close(). */
int listener_start(struct loop *l, int fd, listen_on_accept *on_accept, void *user,
                   struct listener **ret, struct err *err);
size_t listener_connections(const struct listener *ln); /* fibers of on_accept that still run */
/* No new connections from now on: closes the descriptor. Those that are there go on. */
void listener_stop(struct listener *ln);
/* Stops, cancels the connections' fibers and waits until all have ended. Fibers only, and not one
 * of its own. NULL is fine; always NULL. */
struct listener *listener_close(struct listener *ln);
AUTO_DEFINE(listener, struct listener *, listener_close);
#define AUTO_LISTENER AUTO(listener) struct listener
