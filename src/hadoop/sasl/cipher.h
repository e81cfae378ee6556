/* cipher.h - the ciphers of DIGEST-MD5's auth-conf, RFC 2831 section 2.4.
 *
 * All are long out of date and are here because Hadoop's servers offer nothing else: the JDK lists
 * 3des, rc4, des, rc4-56 and rc4-40. A cipher runs over the whole life of a connection, one per
 * direction: its chaining value or key stream goes on from message to message. No I/O, any thread,
 * one at a time per cipher. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which we want them. */
enum cipher_kind {
    CIPHER_3DES,
    CIPHER_RC4,
    CIPHER_DES,
    CIPHER_RC4_56,
    CIPHER_RC4_40,
    CIPHER_KINDS_,
};

#define CIPHER_BIT(kind) (1u << (kind))
#define CIPHER_KEY 16 /* bytes of key material: an MD5 */

struct cipher; /* opaque */

const char *cipher_name(enum cipher_kind kind);
/* The kind with that name (case does not matter), or -1. `name` need not end with a NUL. */
int cipher_find(const char *name, size_t n);
/* The message and its MAC are padded to a multiple of this; 1 for the stream ciphers. */
size_t cipher_block(enum cipher_kind kind);
/* How many bytes of H(A1) go into the sealing key: fewer for the export ciphers. */
size_t cipher_strength(enum cipher_kind kind);

/* `key` is the sealing key of one direction; the CBC ciphers take their first chaining value from
 * it too. *ret is the caller's: cipher_free(). -EOPNOTSUPP when OpenSSL refuses the cipher. */
int cipher_new(enum cipher_kind kind, const uint8_t key[CIPHER_KEY], bool encrypt,
               struct cipher **ret, struct err *err);
/* In place. `n` is a multiple of the block. */
int cipher_run(struct cipher *c, uint8_t *p, size_t n, struct err *err);
struct cipher *cipher_free(struct cipher *c); /* overwrites the key; NULL is fine; always NULL */

AUTO_DEFINE(cipher, struct cipher *, cipher_free);
#define AUTO_CIPHER AUTO(cipher) struct cipher
