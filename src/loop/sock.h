/* sock.h - stream sockets for fibers: connect, read and write, each with a deadline.
 *
 * At most one fiber reads and one writes at a time. Nothing is buffered here. */
#pragma once
#include "loop/loop.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sock; /* opaque */

/* Connects by TCP to `host` (a name or a number) and `port`, trying each address in turn. The
 * error names host and port and says what to look at. *ret is the caller's: sock_close(). */
int sock_connect(struct loop *l, const char *host, int port, int64_t deadline, struct sock **ret,
                 struct err *err);
/* Takes over a connected, non-blocking descriptor (closed on failure as well). */
int sock_from_fd(struct loop *l, int fd, struct sock **ret, struct err *err);
/* What every TCP connection has, also one that was accepted elsewhere: small writes go at once, and
 * a peer that is gone without a word is noticed in less than a minute (-ETIMEDOUT). */
void sock_set_tcp(int fd);
/* NULL is fine. A fiber that waits on the socket gets -ECONNABORTED. Always NULL. */
struct sock *sock_close(struct sock *s);

/* At least one byte, at most `n`; 0 at the end of the stream; else a negative errno. */
ssize_t sock_read(struct sock *s, void *p, size_t n, int64_t deadline);
ssize_t sock_readv(struct sock *s, const struct iovec *iov, int count, int64_t deadline);
/* The same without waiting: -EAGAIN when there is nothing. Any caller on the loop's thread. */
ssize_t sock_read_now(struct sock *s, void *p, size_t n);
int sock_wait_readable(struct sock *s, int64_t deadline);
/* Calls fn(user) once, from the loop, when there is something to read (or the end), or when the
 * socket is closed here: for callers without a waiting fiber. One at a time; not while a fiber
 * waits to read. */
int sock_on_readable(struct sock *s, void (*fn)(void *user), void *user);
/* Exactly `n` bytes, or -ENODATA when the stream ends before. */
int sock_read_full(struct sock *s, void *p, size_t n, int64_t deadline);
/* All of it. `iov` is changed. */
int sock_write(struct sock *s, const void *p, size_t n, int64_t deadline);
int sock_writev(struct sock *s, struct iovec *iov, int count, int64_t deadline);

int sock_fd(const struct sock *s);
const char *sock_peer_ip(const struct sock *s); /* numeric address of the other end, borrowed */
const char *sock_local_ip(const struct sock *s);

#include "base/auto.h"
AUTO_DEFINE(sock, struct sock *, sock_close);
#define AUTO_SOCK AUTO(sock) struct sock
