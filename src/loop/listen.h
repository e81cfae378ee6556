/* listen.h - listening sockets, and who is at the other end.
 *
 * Binding gives a plain descriptor, so that it can be done early and handed on; wire/admission.h
 * accepts on it. Loop thread only; binding does not wait. */
#pragma once
#include "base/auto.h"
#include "loop/sock.h"

#define LISTEN_BACKLOG 1024

/* Listens on `host`, a numeric address ("0.0.0.0" and "::" for all), and a port from `low` to
 * `high`: the first that is free, tried from a random one on; any that the system likes when both
 * are 0. -EADDRINUSE when none is free. *ret_fd is the caller's. */
int listen_tcp(const char *host, unsigned low, unsigned high, int *ret_fd, int *ret_port,
               struct err *err);

/* The same for a port that another process of this user may hold for us: bound, with SO_REUSEADDR
 * or SO_REUSEPORT, and not listening. -EADDRINUSE when somebody listens, whatever options both
 * have. After that nobody else can listen on it, but for programs of this user that set
 * SO_REUSEPORT on a port that was held with that option: the kernel cannot be told otherwise. Reads
 * /proc/net. *ret_fd is the caller's. */
int listen_tcp_held(const char *host, unsigned port, int *ret_fd, struct err *err);

/* Listens on a Unix socket that only this user can connect to (mode 0600). An existing socket on
 * which nobody listens is replaced; anything else in the way is -EADDRINUSE. A path has at most 107
 * bytes (-ENAMETOOLONG), and should be absolute. *ret_fd is the caller's: listen_close(). */
int listen_unix(const char *path, int *ret_fd, struct err *err);

/* Closes a listening descriptor; a Unix socket's file is removed first. Always -1. */
int listen_close(int fd);

/* The user that connected, as the kernel saw it then; Unix sockets only, else
 * -EOPNOTSUPP. */
int sock_peer_uid(int fd, uid_t *ret);

/* Connects to a Unix socket. *ret is the caller's: sock_close(). Fibers only. */
int sock_connect_unix(struct loop *l, const char *path, int64_t deadline, struct sock **ret,
                      struct err *err);
