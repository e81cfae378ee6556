/* peer.h - which user's process is at the other end of a TCP connection from this machine.
 *
 * The kernel's own table of sockets is asked, so that it cannot be lied to. Any thread; does not
 * wait. */
#pragma once
#include "loop/resolve.h"
#include <sys/types.h>

struct peer_ends { /* of a connection, as its accepting side sees them */
    union resolve_addr local, peer;
};
int peer_ends(int fd, struct peer_ends *ret);

/* The user that made the other end of a connected TCP socket. -ENOENT: that is not a socket of this
 * machine (or of this network namespace), or it is gone. -ESHUTDOWN: it was closed, and its owner
 * can no longer be determined. */
int peer_uid(int fd, uid_t *ret);
/* The same by /proc/net alone, which takes longer the more sockets there are. */
int peer_uid_by_table(int fd, uid_t *ret);
/* The same of a connection to another machine, where `local` is, of a socket here, which is `peer`.
 * -ENOSYS: this machine does not tell whose its sockets are. -EMFILE, -ENFILE, -ENOMEM: not now. */
int peer_uid_of(const struct peer_ends *e, uid_t *ret);
