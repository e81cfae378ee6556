/* challenge.h - reads what a DIGEST-MD5 server says, RFC 2831 section 2.1.
 *
 *     realm="default",nonce="9wka…",qop="auth,auth-conf",charset=utf-8,
 *     cipher="3des,rc4",algorithm=md5-sess
 *
 * A list of name=value; a value is a word or stands in "quotes" with \-escapes. Names we do not
 * know are skipped, as the RFC wants; a name that we know may come once only, except for realm.
 * The bytes are a stranger's: at most 2047 of them, no control characters. No I/O, any thread. */
#pragma once
#include "base/err.h"
#include "hadoop/sasl/md5.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHALLENGE_MAX 2047 /* "less than 2048 bytes" */

struct challenge {
    char *realm;      /* the first one offered, NULL for none */
    char *nonce;      /* never NULL */
    unsigned qops;    /* those we know: SASL_QOP_BIT */
    unsigned ciphers; /* those we know: CIPHER_BIT; 0 when none were listed */
    uint32_t maxbuf;  /* largest token the server says it takes; 65536 unless it says otherwise */
    bool utf8;        /* it speaks of charset=utf-8 */
};

/* -EPROTO when it is no challenge, -EOPNOTSUPP for an algorithm that is not md5-sess, -EPERM when
 * no quality of protection in it is known. On success *ret is the caller's: challenge_done(). */
int challenge_parse(const void *p, size_t n, struct challenge *ret, struct err *err);
void challenge_done(struct challenge *c);

/* The server's last word, rspauth=HEX. -EPROTO when it is something else. */
int challenge_rspauth(const void *p, size_t n, char ret[MD5_TEXT], struct err *err);

#define AUTO_CHALLENGE AUTO_DONE(challenge_done) struct challenge
