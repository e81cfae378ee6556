/* md5.c - contexts are made once per direction, since looking algorithms up costs more than the
 * digest of a short message. See md5.h. */
#include "hadoop/sasl/md5.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

int md5_refused(struct err *err, const char *algorithm)
{
    unsigned long why = ERR_peek_error();

    ERR_clear_error();
    /* An algorithm that was found fails only when memory runs out, though OpenSSL seldom says so.
     */
    if (ERR_GET_REASON(why) != ERR_R_UNSUPPORTED)
        return err_oom(err);
    err_set(err, -EOPNOTSUPP,
            "OpenSSL refuses %s, which Hadoop's token login (DIGEST-MD5) is built on", algorithm);
    err_hint(err, "OpenSSL on this host may be in FIPS mode; OPENSSL_CONF=/dev/null turns it off "
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

struct md5_mac {
    EVP_MAC_CTX *ctx;
    uint8_t key[MD5_SIZE];
};

/* Finding the algorithms by name costs more than a short message's MAC: it is done once. */
static EVP_MAC_CTX *mac_context(void)
{
    char name[] = "MD5"; /* OSSL_PARAM wants it writable */
    const OSSL_PARAM params[] = {
        OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_END,
    };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;

    EVP_MAC_free(hmac); /* the context holds on to it */
    if (ctx && EVP_MAC_CTX_set_params(ctx, params) != 1) {
        EVP_MAC_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

int md5_mac_new(const uint8_t key[MD5_SIZE], struct md5_mac **ret, struct err *err)
{
    struct md5_mac *m = calloc(1, sizeof(*m));

    if (!m)
        return err_oom(err);
    memcpy(m->key, key, MD5_SIZE);
    m->ctx = mac_context();
    if (!m->ctx) {
        md5_mac_free(m);
        return md5_refused(err, "HMAC-MD5");
    }
    *ret = m;
    return 0;
}

/* EVP_MAC_init() with the key begins the next message: the context is used again and again. */
int md5_mac_of(struct md5_mac *m, const struct md5_piece *pieces, size_t count,
               uint8_t ret[MD5_SIZE], struct err *err)
{
    int ok = EVP_MAC_init(m->ctx, m->key, MD5_SIZE, NULL) == 1;

    for (size_t i = 0; ok && i < count; i++)
        ok = EVP_MAC_update(m->ctx, pieces[i].p, pieces[i].n) == 1;
    ok = ok && EVP_MAC_final(m->ctx, ret, NULL, MD5_SIZE) == 1;
    return ok ? 0 : md5_refused(err, "HMAC-MD5");
}

struct md5_mac *md5_mac_free(struct md5_mac *m)
{
    if (!m)
        return NULL;
    EVP_MAC_CTX_free(m->ctx); /* overwrites its own copy of the key */
    OPENSSL_cleanse(m, sizeof(*m));
    free(m);
    return NULL;
}

void md5_hex(const uint8_t digest[MD5_SIZE], char ret[MD5_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < MD5_SIZE; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[MD5_TEXT - 1] = '\0';
}
