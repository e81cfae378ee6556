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
/* The same keyed with `key`. */
int md5_hmac(const uint8_t key[MD5_SIZE], const struct md5_piece *pieces, size_t count,
             uint8_t ret[MD5_SIZE], struct err *err);

/* Lower case. */
void md5_hex(const uint8_t digest[MD5_SIZE], char ret[MD5_TEXT]);

/* The error for an algorithm that OpenSSL did not give us; -ENOMEM where memory was the reason.
 * Leaves nothing in OpenSSL's queue of errors, which a TLS connection of this thread would take
 * for its own. */
int md5_refused(struct err *err, const char *algorithm);
