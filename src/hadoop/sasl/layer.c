/* layer.c - both directions are the same struct with other keys. A wrong MAC, a gap or a
 * repetition ends the connection: nothing after it can be trusted. See layer.h. */
#include "hadoop/sasl/layer.h"

#include <endian.h>
#include <openssl/crypto.h>
#include <string.h>

#define MAC_SIZE 10
#define TRAILER 6 /* version and sequence number, in clear */
#define VERSION 1

/* One direction. */
struct half {
    struct md5_mac *mac;
    struct cipher *cipher; /* NULL for auth-int */
    uint32_t seq;          /* of the next message */
};

struct layer {
    size_t block;
    struct half send, receive;
};

/* The texts that RFC 2831 mixes into the keys. */
static const char sign_send[] = "Digest session key to client-to-server signing key magic constant";
static const char sign_receive[] =
    "Digest session key to server-to-client signing key magic constant";
static const char seal_send[] = "Digest H(A1) to client-to-server sealing key magic constant";
static const char seal_receive[] = "Digest H(A1) to server-to-client sealing key magic constant";

static int derive(const uint8_t *ha1, size_t n, const char *magic, uint8_t ret[MD5_SIZE],
                  struct err *err)
{
    const struct md5_piece pieces[] = { { ha1, n }, { magic, strlen(magic) } };

    return md5_of(pieces, COUNT_OF(pieces), ret, err);
}

static int sign(const uint8_t ha1[MD5_SIZE], const char *magic, struct half *h, struct err *err)
{
    uint8_t key[MD5_SIZE];
    int r = derive(ha1, MD5_SIZE, magic, key, err);

    if (r == 0)
        r = md5_mac_new(key, &h->mac, err);
    OPENSSL_cleanse(key, sizeof(key));
    return r;
}

static int layer_seal(const uint8_t ha1[MD5_SIZE], enum cipher_kind kind, bool encrypt,
                      struct half *h, struct err *err)
{
    const char *magic = encrypt ? seal_send : seal_receive;
    uint8_t key[CIPHER_KEY];
    int r = derive(ha1, cipher_strength(kind), magic, key, err);

    if (r == 0)
        r = cipher_new(kind, key, encrypt, &h->cipher, err);
    OPENSSL_cleanse(key, sizeof(key));
    return r;
}

/* The four keys differ by direction, so that a message that is sent back to us is not taken for the
 * server's. */
int layer_new(const uint8_t ha1[MD5_SIZE], enum sasl_qop qop, enum cipher_kind cipher,
              struct layer **ret, struct err *err)
{
    struct layer *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return err_oom(err);
    l->block = qop == SASL_CONF ? cipher_block(cipher) : 1;
    r = sign(ha1, sign_send, &l->send, err);
    if (r == 0)
        r = sign(ha1, sign_receive, &l->receive, err);
    if (r == 0 && qop == SASL_CONF)
        r = layer_seal(ha1, cipher, true, &l->send, err);
    if (r == 0 && qop == SASL_CONF)
        r = layer_seal(ha1, cipher, false, &l->receive, err);
    if (r < 0)
        l = layer_free(l);
    *ret = l;
    return r;
}

struct layer *layer_free(struct layer *l)
{
    if (!l)
        return NULL;
    md5_mac_free(l->send.mac);
    md5_mac_free(l->receive.mac);
    cipher_free(l->send.cipher);
    cipher_free(l->receive.cipher);
    OPENSSL_cleanse(l, sizeof(*l));
    free(l);
    return NULL;
}

/* The MAC of a message under the direction's next sequence number; 16 bytes, of which 10 count. */
static int mac_of(const struct half *h, const void *p, size_t n, uint8_t ret[MD5_SIZE],
                  struct err *err)
{
    const uint32_t seq = htobe32(h->seq);
    const struct md5_piece pieces[] = { { &seq, sizeof(seq) }, { p, n } };

    return md5_mac_of(h->mac, pieces, COUNT_OF(pieces), ret, err);
}

static int no_room(int r, size_t n, const struct buf *out, struct err *err)
{
    if (r == -ENOMEM)
        return err_oom(err);
    return err_set(err, r, "a protected message of %zu bytes is over the limit of %zu", n,
                   out->max);
}

int layer_wrap(struct layer *l, const void *in, size_t n, struct buf *out, struct err *err)
{
    /* 1 to `block` bytes, never none: the last byte has to say how many there are. */
    size_t pad = l->block > 1 ? l->block - (n + MAC_SIZE) % l->block : 0;
    size_t body = n + pad + MAC_SIZE;
    uint8_t mac[MD5_SIZE], *p;
    int r;

    if (n > SIZE_MAX - 64)
        return no_room(-E2BIG, n, out, err);
    r = buf_room(out, body + TRAILER, &p);
    if (r < 0)
        return no_room(r, n, out, err);
    r = mac_of(&l->send, in, n, mac, err);
    if (r < 0)
        return r;
    if (n)
        memcpy(p, in, n);
    memset(p + n, (int)pad, pad);
    memcpy(p + n + pad, mac, MAC_SIZE);
    r = l->send.cipher ? cipher_run(l->send.cipher, p, body, err) : 0;
    if (r < 0)
        return r;
    out->len += body;
    (void)buf_add_be16(out, VERSION); /* the room is there */
    (void)buf_add_be32(out, l->send.seq++);
    return 0;
}

/* How many bytes of padding end the `n` bytes at `p`, or -1 when they are no padding. */
static int layer_padding(const uint8_t *p, size_t n, size_t block)
{
    size_t pad;

    if (block == 1)
        return 0;
    pad = n ? p[n - 1] : 0;
    if (pad < 1 || pad > block || pad > n)
        return -1;
    for (size_t i = n - pad; i < n; i++)
        if (p[i] != pad)
            return -1;
    return (int)pad;
}

/* Looks at the unencrypted part: the size, the version and the sequence number. */
static int check_trailer(const struct layer *l, const uint8_t *in, size_t n, struct err *err)
{
    struct view v;
    uint16_t version;
    uint32_t seq;

    if (n < MAC_SIZE + TRAILER || (n - TRAILER) % l->block)
        return err_set(err, -EBADMSG, "DIGEST-MD5: a protected message of %zu bytes is cut short",
                       n);
    v = view_of(in + n - TRAILER, TRAILER);
    version = view_be16(&v);
    seq = view_be32(&v);
    if (version != VERSION)
        return err_set(err, -EBADMSG, "DIGEST-MD5: a protected message of unknown version %u",
                       version);
    if (seq != l->receive.seq)
        return err_set(err, -EBADMSG,
                       "DIGEST-MD5: protected message number %u came where %u was due", seq,
                       l->receive.seq);
    return 0;
}

int layer_unwrap(struct layer *l, const void *in, size_t n, struct buf *out, struct err *err)
{
    uint8_t mac[MD5_SIZE], *p;
    size_t body, message;
    int r, pad;

    r = check_trailer(l, in, n, err);
    if (r < 0)
        return r;
    body = n - TRAILER;
    r = buf_room(out, body, &p);
    if (r < 0)
        return no_room(r, n, out, err);
    memcpy(p, in, body);
    r = l->receive.cipher ? cipher_run(l->receive.cipher, p, body, err) : 0;
    if (r < 0)
        return r;
    /* Bad padding is not reported before the MAC was looked at, nor in other words: whoever sends
     * forged tokens learns nothing about what they decrypt to. */
    pad = layer_padding(p, body - MAC_SIZE, l->block);
    message = body - MAC_SIZE - (size_t)(pad > 0 ? pad : 0);
    r = mac_of(&l->receive, p, message, mac, err);
    if (r < 0)
        return r;
    if (CRYPTO_memcmp(mac, p + body - MAC_SIZE, MAC_SIZE) != 0 || pad < 0)
        return err_set(err, -EBADMSG,
                       "DIGEST-MD5: protected message number %u was damaged or forged",
                       l->receive.seq);
    l->receive.seq++;
    out->len += message;
    return 0;
}
