/* md5.h - MD5 and HMAC-MD5 by OpenSSL, as DIGEST-MD5 uses them. No I/O, any thread.
 *
 * A host in FIPS mode may refuse MD5. Then there is no way into Hadoop with a token, and every
 * function here says so: -EOPNOTSUPP. */
#pragma once
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

#define MD5_SIZE 16
#define MD5_TEXT (2 * MD5_SIZE + 1) /* as hexadecimal, with the NUL */

struct md5_piece {
    const void *p;
    size_t n;
};

/* The digest of the pieces, one after the other. */
int md5_of(const struct md5_piece *pieces, size_t count, uint8_t ret[MD5_SIZE], struct err *err);

/* HMAC-MD5 under one key, for many messages. One thread at a time. */
struct md5_mac; /* opaque */

/* *ret is the caller's: md5_mac_free(). The key is copied. */
int md5_mac_new(const uint8_t key[MD5_SIZE], struct md5_mac **ret, struct err *err);
int md5_mac_of(struct md5_mac *m, const struct md5_piece *pieces, size_t count,
               uint8_t ret[MD5_SIZE], struct err *err);
struct md5_mac *md5_mac_free(struct md5_mac *m); /* overwrites the key; NULL is fine; always NULL */

/* Lower case. */
void md5_hex(const uint8_t digest[MD5_SIZE], char ret[MD5_TEXT]);

/* The error for an algorithm that OpenSSL did not give us; -ENOMEM where memory was the reason.
 * Leaves nothing in OpenSSL's queue of errors, which a TLS connection of this thread would take
 * for its own. */
int md5_refused(struct err *err, const char *algorithm);
