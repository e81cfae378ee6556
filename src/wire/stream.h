/* stream.h - bytes both ways: a plain socket, or TLS 1.3 over one, with a pre-shared key or a
 * server's certificate.
 *
 * The key is the job's: 32 random bytes, known to the master and those allowed to talk to it. The
 * identity that goes with it is the job's id, so a key is never accepted for another job, and no
 * certificate instead of it. A certificate is for servers that anybody may ask, and says nothing of
 * the client. No older version, no early data, no renegotiation. Fibers only; one reads and one
 * writes at a time. */
#pragma once
#include "base/auto.h"
#include "loop/sock.h"
#include <stdbool.h>
#include <stdint.h>

struct stream; /* opaque */

#define STREAM_KEY 32
struct stream_key {
    char identity[128]; /* the job's id */
    uint8_t key[STREAM_KEY];
};

/* Takes over `s`, also when it fails. */
int stream_plain(struct sock *s, struct stream **ret, struct err *err);
/* The handshake. The error says "wrong key or job" (-EACCES) when that is what it was; -EPROTO when
 * the other side speaks no TLS, or an older one. */
int stream_tls_client(struct sock *s, const struct stream_key *k, int64_t deadline,
                      struct stream **ret, struct err *err);
int stream_tls_server(struct sock *s, const struct stream_key *k, int64_t deadline,
                      struct stream **ret, struct err *err);

/* A key made ready for many connections, of servers or of clients: set up once instead of for each,
 * which saves 14 KB and some work every time. `k` is copied. *ret is the caller's and outlives
 * every handshake: stream_tls_free(), which streams that stand survive. */
struct stream_tls; /* opaque */
int stream_tls_new(const struct stream_key *k, bool server, struct stream_tls **ret,
                   struct err *err);
struct stream_tls *stream_tls_free(struct stream_tls *t); /* always NULL */
/* The same for a server that shows a certificate: PEM files, the certificate with the chain that
 * leads to its issuer, and its private key. */
int stream_tls_certificate(const char *chain, const char *key, struct stream_tls **ret,
                           struct err *err);
/* The same for a client of such a server: trusted is what a certificate of the PEM file `roots` has
 * signed, and those themselves; NULL: what the machine trusts (SSL_CERT_FILE, SSL_CERT_DIR). It
 * must be for `name`, a host's name or number; NULL: for any. */
int stream_tls_trust(const char *roots, const char *name, struct stream_tls **ret, struct err *err);
/* What a server speaks over it, the preferred first, such as "h2" and "http/1.1". A client that
 * asks (ALPN) is told the first that it knows too; one that knows none is told nothing. `names` is
 * borrowed and ends with NULL. */
void stream_tls_offer(struct stream_tls *t, const char *const *names);
/* Takes over `s`, also when it fails. */
int stream_tls_start(struct stream_tls *t, struct sock *s, int64_t deadline, struct stream **ret,
                     struct err *err);

/* At least one byte; 0 at the orderly end (TLS: the other side said goodbye), -ECONNRESET when TLS
 * ended without it, -ECONNABORTED when it was closed here meanwhile. */
ssize_t stream_read(struct stream *s, void *p, size_t n, int64_t deadline);
/* Waits until there may be something to read, the end included, without having tried: for one that
 * has just answered, and to whom nothing can have come yet. 0, or negative. */
int stream_wait(struct stream *s, int64_t deadline);
/* All of it. A write that failed leaves the stream unusable for writing: later ones fail in the
 * same way. `iov` is changed. */
int stream_writev(struct stream *s, struct iovec *iov, int count, int64_t deadline);
int stream_write(struct stream *s, const void *p, size_t n, int64_t deadline);
struct sock *stream_sock(struct stream *s); /* borrowed */
/* Says goodbye where it can without waiting. A fiber that waits in it gets -ECONNABORTED. NULL is
 * fine; always NULL. */
struct stream *stream_close(struct stream *s);
AUTO_DEFINE(stream, struct stream *, stream_close);
#define AUTO_STREAM AUTO(stream) struct stream
AUTO_DEFINE(stream_tls, struct stream_tls *, stream_tls_free);
