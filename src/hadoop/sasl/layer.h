/* layer.h - DIGEST-MD5's protection of messages, RFC 2831 sections 2.3 and 2.4.
 *
 *     auth-int    message · MAC(10) · 00 01 · sequence(4)
 *     auth-conf   E( message · padding · MAC(10) ) · 00 01 · sequence(4)
 *
 * The MAC is the start of HMAC-MD5(signing key, sequence · message). Padding is 1 to 8 bytes, each
 * saying how many there are, and only where the cipher works in blocks. Each direction has its own
 * keys, its own cipher and its own count, which begins at 0.
 *
 * No I/O, any thread, one at a time per layer. Errors as in sasl.h. */
#pragma once
#include "hadoop/sasl/cipher.h"
#include "hadoop/sasl/md5.h"
#include "hadoop/sasl/sasl.h"

struct layer; /* opaque */

/* The client's layer, with keys derived from H(A1). `cipher` matters for SASL_CONF only. *ret is
 * the caller's: layer_free(). */
int layer_new(const uint8_t ha1[MD5_SIZE], enum sasl_qop qop, enum cipher_kind cipher,
              struct layer **ret, struct err *err);
struct layer *layer_free(struct layer *l); /* overwrites the keys; NULL is fine; always NULL */

int layer_wrap(struct layer *l, const void *in, size_t n, struct buf *out, struct err *err);
int layer_unwrap(struct layer *l, const void *in, size_t n, struct buf *out, struct err *err);
