/* sasl.h - the client's side of one SASL exchange, and the protection of what follows it.
 *
 * Tokens in, tokens out: who carries them (RPC frames, DataTransfer messages) is not known here.
 * The mechanisms are made by digest.h (tokens) and gss.h (Kerberos).
 *
 *     r = sasl_digest_new(&conf, &s, err);
 *     while (!sasl_done(s)) {
 *         buf_reset(&out);
 *         r = sasl_step(s, challenge, n, &out, err);   // n = 0 where the client speaks first
 *         …send `out` (also when it is empty: the server counts tokens), read the next one…
 *     }
 *     if (sasl_qop(s) != SASL_AUTH)
 *         …everything after goes through sasl_wrap() and sasl_unwrap()…
 *
 * Any thread, one at a time per exchange. Nothing here blocks or does I/O, except for the steps of
 * Kerberos, which may ask a KDC (see gss.h).
 *
 * After any failure the exchange can only be freed: cipher states and sequence numbers no longer
 * agree with the peer's. Codes: -EPROTO for a token that makes no sense now, -EBADMSG for bytes
 * that were damaged, forged, repeated or reordered, -EACCES for a server that does not prove that
 * it knows the secret, -EPERM when no protection suits both sides, -EOPNOTSUPP when this machine
 * lacks what is needed, -E2BIG past a buffer's ceiling, -ENOMEM. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct sasl; /* opaque */

/* What protects the bytes after the exchange, weakest first. */
enum sasl_qop {
    SASL_AUTH, /* nothing; hadoop.rpc.protection "authentication" */
    SASL_INT,  /* a MAC and a sequence number; "integrity" */
    SASL_CONF, /* encryption as well; "privacy" */
};

/* Sets of protections. The strongest one that both sides allow is taken. */
#define SASL_QOP_BIT(qop) (1u << (qop))
#define SASL_QOP_ANY (SASL_QOP_BIT(SASL_AUTH) | SASL_QOP_BIT(SASL_INT) | SASL_QOP_BIT(SASL_CONF))

/* "auth", "auth-int", "auth-conf". */
const char *sasl_qop_name(enum sasl_qop qop);

/* Takes the server's token (`n` may be 0) and appends the next one to `out`, perhaps an empty one.
 * After a token of the server that ends the exchange there is nothing more to send; sasl_done()
 * says so. `in` must not lie inside `out`. */
int sasl_step(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);

/* The exchange is complete and the server has proved who it is. A server that reports success
 * earlier must not be believed. */
bool sasl_done(const struct sasl *s);

/* What was agreed on; meaningful once done. */
enum sasl_qop sasl_qop(const struct sasl *s);

/* Protects one message of any size, 0 included, and appends the token to `out`. Only after an
 * exchange that agreed on SASL_INT or SASL_CONF, else -EINVAL. */
int sasl_wrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);

/* Checks one token and appends its message to `out`, whose ceiling bounds it (it needs room for
 * the token itself). Tokens must come in the order in which they were made. */
int sasl_unwrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);

/* Overwrites the secrets and frees. NULL is fine; always NULL. */
struct sasl *sasl_free(struct sasl *s);

AUTO_DEFINE(sasl, struct sasl *, sasl_free);
#define AUTO_SASL AUTO(sasl) struct sasl
