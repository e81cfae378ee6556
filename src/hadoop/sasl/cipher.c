/* cipher.c - see cipher.h
 *
 * The CBC ciphers go through EVP. Both are des-ede3-cbc, which OpenSSL's default provider has:
 * 3des with the keys K1 K2 K1, and des with K K K, where the decryption in the middle undoes the
 * first encryption. Single DES and RC4 proper are in the legacy provider, which a static libcrypto
 * cannot load; for RC4 its low-level calls are left. */
#include "hadoop/sasl/cipher.h"
#include "hadoop/sasl/md5.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rc4.h>
#include <string.h>
#include <strings.h>

#define DES_KEY ((size_t)8)
#define DES_BITS 7 /* bytes of key material in one DES key */

struct cipher {
    enum cipher_kind kind;
    EVP_CIPHER_CTX *cbc; /* NULL for the stream ciphers */
    RC4_KEY rc4;
};

static const struct {
    const char *name;
    size_t strength, block;
} kinds[CIPHER_KINDS_] = {
    /* clang-format off */
    [CIPHER_3DES]   = { "3des",   16, 8 },
    [CIPHER_RC4]    = { "rc4",    16, 1 },
    [CIPHER_DES]    = { "des",    16, 8 },
    [CIPHER_RC4_56] = { "rc4-56",  7, 1 },
    [CIPHER_RC4_40] = { "rc4-40",  5, 1 },
    /* clang-format on */
};

const char *cipher_name(enum cipher_kind kind)
{
    return kinds[kind].name;
}

int cipher_find(const char *name, size_t n)
{
    for (int k = 0; k < CIPHER_KINDS_; k++)
        if (strlen(kinds[k].name) == n && strncasecmp(kinds[k].name, name, n) == 0)
            return k;
    return -1;
}

size_t cipher_block(enum cipher_kind kind)
{
    return kinds[kind].block;
}

size_t cipher_strength(enum cipher_kind kind)
{
    return kinds[kind].strength;
}

/* Spreads 56 bits over 8 bytes, the lowest bit of each being the parity, which OpenSSL ignores. */
static void des_key(uint8_t out[DES_KEY], const uint8_t in[DES_BITS])
{
    uint64_t bits = 0;

    for (int i = 0; i < DES_BITS; i++)
        bits = bits << 8 | in[i];
    for (size_t i = 0; i < DES_KEY; i++)
        out[i] = (uint8_t)((bits >> (49 - 7 * i) & 0x7f) << 1);
    OPENSSL_cleanse(&bits, sizeof(bits));
}

/* The key material is 16 bytes: two halves of 7 bytes for the keys (des uses the first one only),
 * and bytes 8 to 15 are the first IV, which overlaps the second half (RFC 2831, 2.4). The context
 * is never finished or reset, because the chain goes on from message to message; padding is the
 * layer's business. */
static int cbc_start(struct cipher *c, const uint8_t key[CIPHER_KEY], bool encrypt, struct err *err)
{
    EVP_CIPHER *algorithm = EVP_CIPHER_fetch(NULL, "DES-EDE3-CBC", NULL);
    uint8_t keys[3 * DES_KEY];
    int r = 0;

    if (!algorithm)
        return md5_refused(err, "3DES");
    des_key(keys, key);
    des_key(keys + DES_KEY, c->kind == CIPHER_3DES ? key + DES_BITS : key);
    memcpy(keys + 2 * DES_KEY, keys, DES_KEY);
    c->cbc = EVP_CIPHER_CTX_new();
    if (!c->cbc)
        r = err_oom(err);
    else if (EVP_CipherInit_ex2(c->cbc, algorithm, keys, key + 8, encrypt, NULL) != 1 ||
             EVP_CIPHER_CTX_set_padding(c->cbc, 0) != 1)
        r = md5_refused(err, "3DES");
    OPENSSL_cleanse(keys, sizeof(keys));
    EVP_CIPHER_free(algorithm);
    return r;
}

/* The low-level calls are marked as deprecated in favour of a provider that a static program does
 * not have. They are the whole of what is silenced here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void rc4_start(struct cipher *c, const uint8_t key[CIPHER_KEY])
{
    RC4_set_key(&c->rc4, CIPHER_KEY, key);
}

static void rc4_run(struct cipher *c, uint8_t *p, size_t n)
{
    RC4(&c->rc4, n, p, p);
}
#pragma GCC diagnostic pop

int cipher_new(enum cipher_kind kind, const uint8_t key[CIPHER_KEY], bool encrypt,
               struct cipher **ret, struct err *err)
{
    AUTO_CIPHER *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_oom(err);
    c->kind = kind;
    if (kinds[kind].block == 1) {
        rc4_start(c, key);
    } else {
        r = cbc_start(c, key, encrypt, err);
        if (r < 0)
            return r;
    }
    *ret = take(c);
    return 0;
}

int cipher_run(struct cipher *c, uint8_t *p, size_t n, struct err *err)
{
    int done = 0;

    if (!c->cbc) {
        rc4_run(c, p, n);
        return 0;
    }
    if (n > INT_MAX)
        return err_set(err, -E2BIG, "a message of %zu bytes is too large to encrypt", n);
    if (EVP_CipherUpdate(c->cbc, p, &done, p, (int)n) != 1 || (size_t)done != n)
        return md5_refused(err, "3DES");
    return 0;
}

struct cipher *cipher_free(struct cipher *c)
{
    if (!c)
        return NULL;
    EVP_CIPHER_CTX_free(c->cbc); /* overwrites its own keys */
    OPENSSL_cleanse(c, sizeof(*c));
    free(c);
    return NULL;
}
