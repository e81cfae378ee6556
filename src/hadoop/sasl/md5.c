/* md5.c - see md5.h */
#include "hadoop/sasl/md5.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>

int md5_refused(struct err *err, const char *algorithm)
{
    unsigned long why = ERR_peek_error();

    ERR_clear_error();
    /* An algorithm that was found fails for want of memory only, though OpenSSL seldom says so. */
    if (ERR_GET_REASON(why) != ERR_R_UNSUPPORTED)
        return err_oom(err);
    err_set(err, -EOPNOTSUPP,
            "OpenSSL refuses %s, which Hadoop's token login (DIGEST-MD5) is built on", algorithm);
    err_hint(err, "this host's OpenSSL may be set to FIPS mode; OPENSSL_CONF=/dev/null lifts that "
                  "for one command");
    return -EOPNOTSUPP;
}

int md5_of(const struct md5_piece *pieces, size_t count, uint8_t ret[MD5_SIZE], struct err *err)
{
    EVP_MD *md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int ok = md5 && ctx && EVP_DigestInit_ex2(ctx, md5, NULL) == 1;

    for (size_t i = 0; ok && i < count; i++)
        ok = EVP_DigestUpdate(ctx, pieces[i].p, pieces[i].n) == 1;
    ok = ok && EVP_DigestFinal_ex(ctx, ret, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_MD_free(md5);
    return ok ? 0 : md5_refused(err, "MD5");
}

int md5_hmac(const uint8_t key[MD5_SIZE], const struct md5_piece *pieces, size_t count,
             uint8_t ret[MD5_SIZE], struct err *err)
{
    char name[] = "MD5"; /* OSSL_PARAM wants it writable */
    OSSL_PARAM params[] = {
        OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_END,
    };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    int ok = ctx && EVP_MAC_init(ctx, key, MD5_SIZE, params) == 1;

    for (size_t i = 0; ok && i < count; i++)
        ok = EVP_MAC_update(ctx, pieces[i].p, pieces[i].n) == 1;
    ok = ok && EVP_MAC_final(ctx, ret, NULL, MD5_SIZE) == 1;
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(hmac);
    return ok ? 0 : md5_refused(err, "HMAC-MD5");
}

void md5_hex(const uint8_t digest[MD5_SIZE], char ret[MD5_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < MD5_SIZE; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[2 * MD5_SIZE] = '\0';
}
