/* tls.h - TLS 1.3 with an external pre-shared key or a server's certificate, without I/O: bytes of
 * the wire in, bytes for the wire out. For stream.c, which moves them. Never waits; loop thread
 * only. */
#pragma once
#include "wire/stream.h"

#include <openssl/types.h>

#define TLS_PLAIN_MAX (16 * KIB)           /* one record's worth */
#define TLS_WIRE_MAX (TLS_PLAIN_MAX + 512) /* the same with everything around it */

struct stream_tls {
    SSL_CTX *ctx;
    struct stream_key key;
    bool server, certified; /* the latter: by a certificate, not by a key */
};

/* What is the same with a key and with a certificate. *ret is the caller's: stream_tls_free(). */
int tls_prepare(bool server, struct stream_tls **ret, struct err *err);

struct tls; /* opaque: one connection */

/* Why a server's certificate was not accepted: -EACCES. */
int tls_not_trusted(SSL *ssl, struct err *err);

int tls_new(struct stream_tls *c, struct tls **ret, struct err *err);
struct tls *tls_free(struct tls *t);
AUTO_DEFINE(tls, struct tls *, tls_free);

/* Does what can be done of the handshake: 1 when it is complete, 0 when it needs more bytes of the
 * other side, negative with a sentence. There may be bytes for the wire in any case. */
int tls_shake(struct tls *t, struct err *err);

int tls_put(struct tls *t, const void *p, size_t n);     /* what came from the wire; -ENOMEM */
size_t tls_pending(struct tls *t);                       /* bytes that are to go to it */
size_t tls_take(struct tls *t, void *p, size_t n);       /* those; 0: nothing */
int tls_encrypt(struct tls *t, const void *p, size_t n); /* at most TLS_PLAIN_MAX */
/* > 0, 0 when the other side said goodbye, -EAGAIN when it needs more bytes, or -EPROTO. */
ssize_t tls_decrypt(struct tls *t, void *p, size_t n);
void tls_goodbye(struct tls *t);
