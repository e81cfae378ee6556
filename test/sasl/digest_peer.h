/* digest_peer.h - a DIGEST-MD5 server in miniature, for unit tests and the fuzzer.
 *
 * Written apart from the client: it shares no code with it and takes other ways through OpenSSL
 * (one-shot digests, two-key 3DES, the low-level DES), so that a mistake has to be made twice to go
 * unnoticed. Everything is small and fixed; a broken client trips an assert. */
#pragma once
#include <assert.h>
#include <openssl/des.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rc4.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEER_NONCE "OA6MG9tEQGm2hh"

/* DES and RC4 by their low-level calls are what this peer is for. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct peer_half {
    uint8_t sign[16], seal[16], iv[8];
    uint32_t seq;
    RC4_KEY rc4;
    DES_key_schedule des[2];
};

struct peer {
    const char *user, *password, *realm;
    char qop[16], cipher[16]; /* what the client chose */
    uint8_t ha1[16];
    struct peer_half in, out;
};

static inline void peer_md5(const void *p, size_t n, uint8_t out[16])
{
    size_t len = 16;
    int ok = EVP_Q_digest(NULL, "MD5", NULL, p, n, out, &len);

    assert(ok == 1);
    (void)ok;
}

static inline void peer_hex(const uint8_t in[16], char out[33])
{
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", in[i]);
}

/* The value of `name` in a list of name=value, quoted or not; "" when it is not there. */
static inline const char *peer_field(const char *list, const char *name, char out[256])
{
    char key[32];
    const char *at;
    size_t n;

    snprintf(key, sizeof(key), ",%s=", name);
    at = strstr(list, key);
    out[0] = '\0';
    if (!at && strncmp(list, key + 1, strlen(key) - 1) == 0)
        at = list - 1;
    if (!at)
        return out;
    at += strlen(key);
    n = *at == '"' ? strcspn(++at, "\"") : strcspn(at, ",");
    snprintf(out, 256, "%.*s", (int)n, at);
    return out;
}

static inline void peer_proof(const struct peer *p, const char *method, const char *answer,
                              char out[33])
{
    char text[1024], uri[256], cnonce[256], a1[33], a2[33];
    uint8_t digest[16];
    bool layer = strcmp(p->qop, "auth") != 0;
    int n = snprintf(text, sizeof(text), "%s:%s%s", method, peer_field(answer, "digest-uri", uri),
                     layer ? ":00000000000000000000000000000000" : "");

    peer_md5(text, (size_t)n, digest);
    peer_hex(digest, a2);
    peer_hex(p->ha1, a1);
    n = snprintf(text, sizeof(text), "%s:%s:00000001:%s:%s:%s", a1, PEER_NONCE,
                 peer_field(answer, "cnonce", cnonce), p->qop, a2);
    peer_md5(text, (size_t)n, digest);
    peer_hex(digest, out);
}

static inline void peer_des_key(const uint8_t in[7], DES_key_schedule *out)
{
    DES_cblock key;

    for (int i = 0; i < 7; i++)
        key[i] = (uint8_t)((i ? in[i - 1] << (8 - i) : 0) | in[i] >> i);
    key[7] = (uint8_t)(in[6] << 1);
    DES_set_odd_parity(&key);
    DES_set_key_unchecked(&key, out);
}

static inline void peer_half(const struct peer *p, struct peer_half *h, const char *direction)
{
    char magic[100];
    uint8_t text[120];
    size_t n = strcmp(p->cipher, "rc4-40") == 0 ? 5 : strcmp(p->cipher, "rc4-56") == 0 ? 7 : 16;

    snprintf(magic, sizeof(magic), "Digest session key to %s signing key magic constant",
             direction);
    memcpy(text, p->ha1, 16);
    memcpy(text + 16, magic, strlen(magic));
    peer_md5(text, 16 + strlen(magic), h->sign);
    snprintf(magic, sizeof(magic), "Digest H(A1) to %s sealing key magic constant", direction);
    memcpy(text + n, magic, strlen(magic));
    peer_md5(text, n + strlen(magic), h->seal);
    RC4_set_key(&h->rc4, 16, h->seal);
    peer_des_key(h->seal, &h->des[0]);
    peer_des_key(h->seal + 7, &h->des[1]);
    memcpy(h->iv, h->seal + 8, 8);
    h->seq = 0;
}

/* The first token. */
static inline size_t peer_challenge(const struct peer *p, const char *qops, const char *ciphers,
                                    char *out, size_t size)
{
    return (size_t)snprintf(out, size,
                            "realm=\"%s\",nonce=\"" PEER_NONCE "\",qop=\"%s\",charset=utf-8,"
                            "cipher=\"%s\",algorithm=md5-sess",
                            p->realm, qops, ciphers);
}

/* Checks the client's answer and makes the last token. False when the password differs. */
static inline bool peer_accept(struct peer *p, const char *answer, char out[64])
{
    char text[1024], cnonce[256], got[256], want[33];
    uint8_t secret[16];
    int n = snprintf(text, sizeof(text), "%s:%s:%s", p->user, p->realm, p->password);

    peer_md5(text, (size_t)n, secret);
    memcpy(text, secret, 16);
    n = snprintf(text + 16, sizeof(text) - 16, ":%s:%s", PEER_NONCE,
                 peer_field(answer, "cnonce", cnonce));
    peer_md5(text, 16 + (size_t)n, p->ha1);
    snprintf(p->qop, sizeof(p->qop), "%.15s", peer_field(answer, "qop", got));
    snprintf(p->cipher, sizeof(p->cipher), "%.15s", peer_field(answer, "cipher", got));
    peer_proof(p, "AUTHENTICATE", answer, want);
    if (strcmp(peer_field(answer, "response", got), want) != 0)
        return false;
    peer_half(p, &p->in, "client-to-server");
    peer_half(p, &p->out, "server-to-client");
    peer_proof(p, "", answer, want);
    snprintf(out, 64, "rspauth=%s", want);
    return true;
}

static inline void peer_crypt(const struct peer *p, struct peer_half *h, uint8_t *b, size_t n,
                              int enc)
{
    if (strcmp(p->qop, "auth-conf") != 0)
        return;
    if (p->cipher[0] == 'r')
        RC4(&h->rc4, n, b, b);
    else if (strcmp(p->cipher, "des") == 0)
        DES_ncbc_encrypt(b, b, (long)n, &h->des[0], &h->iv, enc);
    else
        DES_ede2_cbc_encrypt(b, b, (long)n, &h->des[0], &h->des[1], &h->iv, enc);
}

static inline bool peer_blocks(const struct peer *p)
{
    return strcmp(p->qop, "auth-conf") == 0 && strstr(p->cipher, "des");
}

static inline void peer_mac(const struct peer_half *h, const uint8_t *m, size_t n, uint8_t out[16])
{
    uint8_t *text = malloc(n + 4), *mac;

    assert(text);
    for (int i = 0; i < 4; i++)
        text[i] = (uint8_t)(h->seq >> (24 - 8 * i));
    if (n)
        memcpy(text + 4, m, n);
    mac = HMAC(EVP_md5(), h->sign, 16, text, n + 4, out, NULL);
    assert(mac == out);
    (void)mac;
    free(text);
}

/* A protected message from the server; `out` has room for n + 24 bytes. Returns its size. */
static inline size_t peer_wrap(struct peer *p, const void *m, size_t n, uint8_t *out)
{
    size_t pad = peer_blocks(p) ? 8 - (n + 10) % 8 : 0, body = n + pad + 10;
    uint8_t mac[16];

    peer_mac(&p->out, m, n, mac);
    if (n)
        memcpy(out, m, n);
    memset(out + n, (int)pad, pad);
    memcpy(out + n + pad, mac, 10);
    peer_crypt(p, &p->out, out, body, DES_ENCRYPT);
    out[body] = 0;
    out[body + 1] = 1;
    for (int i = 0; i < 4; i++)
        out[body + 2 + i] = (uint8_t)(p->out.seq >> (24 - 8 * i));
    p->out.seq++;
    return body + 6;
}

/* Opens a client's token in place; the size of the message, or -1. */
static inline long peer_unwrap(struct peer *p, uint8_t *b, size_t n)
{
    size_t body = n - 6, size;
    uint8_t mac[16];

    if (n < 16 || b[body + 1] != 1 || b[n - 1] != (uint8_t)p->in.seq)
        return -1;
    peer_crypt(p, &p->in, b, body, DES_DECRYPT);
    size = body - 10;
    if (peer_blocks(p))
        size -= b[size - 1];
    peer_mac(&p->in, b, size, mac);
    p->in.seq++;
    return memcmp(mac, b + body - 10, 10) == 0 ? (long)size : -1;
}
#pragma GCC diagnostic pop
