/* digest.c - builds the two proofs from the same pieces: ours over AUTHENTICATE and the URI, the
 * server's over the URI alone, which shows that it knows the password too. See digest.h. */
#include "hadoop/sasl/digest.h"
#include "base/str.h"
#include "hadoop/sasl/challenge.h"
#include "hadoop/sasl/layer.h"
#include "hadoop/sasl/mechanism.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

#define CNONCE_BYTES 24
#define FIRST_USE "00000001" /* nc: how often this nonce was used; each exchange has its own */
#define NO_BODY ":00000000000000000000000000000000"

struct digest {
    struct sasl base;
    char *username, *password;
    char *uri; /* protocol/server_id */
    char *cnonce;
    unsigned qops;
    enum cipher_kind ciphers[CIPHER_KINDS_]; /* in the order we want them */
    size_t cipher_count;
    bool opened;          /* an empty first token was sent */
    bool answered;        /* the challenge was */
    char proof[MD5_TEXT]; /* the rspauth that only a server with the password can send */
    struct layer *layer;
};

/* What both proofs, ours and the server's, are made of. */
struct proof {
    uint8_t ha1[MD5_SIZE];
    const char *nonce, *cnonce, *qop, *uri;
    bool body; /* a layer follows: 32 zeros stand for a body's digest */
};

#define TEXT(s)                                                                                    \
    {                                                                                              \
        (s), strlen(s)                                                                             \
    }

/* H(A1) of md5-sess: the password's digest, bound to both nonces.
 *   H(A1)    = MD5( MD5(user:realm:password) : nonce : cnonce )
 *   H(A2)    = MD5( "AUTHENTICATE":uri )         in our proof
 *              MD5( :uri )                       in the server's
 *   response = MD5( H(A1) : nonce : 00000001 : cnonce : qop : H(A2) )
 * With a layer, A2 ends in ":" and 32 zeros. */
static int hash_a1(const struct digest *d, const char *realm, const char *nonce,
                   uint8_t ret[MD5_SIZE], struct err *err)
{
    uint8_t secret[MD5_SIZE];
    const struct md5_piece who[] = { TEXT(d->username), TEXT(":"), TEXT(realm), TEXT(":"),
                                     TEXT(d->password) };
    const struct md5_piece session[] = {
        { secret, sizeof(secret) }, TEXT(":"), TEXT(nonce), TEXT(":"), TEXT(d->cnonce)
    };
    int r = md5_of(who, COUNT_OF(who), secret, err);

    if (r == 0)
        r = md5_of(session, COUNT_OF(session), ret, err);
    OPENSSL_cleanse(secret, sizeof(secret));
    return r;
}

/* `method` is AUTHENTICATE in our proof and nothing in the server's. */
static int prove(const struct proof *p, const char *method, char ret[MD5_TEXT], struct err *err)
{
    uint8_t ha2[MD5_SIZE], response[MD5_SIZE];
    char a1[MD5_TEXT], a2[MD5_TEXT];
    const struct md5_piece target[] = { TEXT(method), TEXT(":"), TEXT(p->uri),
                                        TEXT(p->body ? NO_BODY : "") };
    int r = md5_of(target, COUNT_OF(target), ha2, err);

    if (r < 0)
        return r;
    md5_hex(p->ha1, a1);
    md5_hex(ha2, a2);
    const struct md5_piece all[] = {
        TEXT(a1),        TEXT(":"), TEXT(p->nonce), TEXT(":" FIRST_USE ":"),
        TEXT(p->cnonce), TEXT(":"), TEXT(p->qop),   TEXT(":"),
        TEXT(a2),
    };
    r = md5_of(all, COUNT_OF(all), response, err);
    OPENSSL_cleanse(a1, sizeof(a1));
    if (r == 0)
        md5_hex(response, ret);
    return r;
}

/* ,name="value" with \ before " and \ inside. */
static int add_quoted(struct buf *out, const char *name, const char *value)
{
    int r = buf_printf(out, ",%s=\"", name);

    for (const char *s = value; r == 0 && *s; s++) {
        if (*s == '"' || *s == '\\')
            r = buf_add_u8(out, '\\');
        if (r == 0)
            r = buf_add_u8(out, (uint8_t)*s);
    }
    return r < 0 ? r : buf_add_u8(out, '"');
}

/* Writes our answer. Each directive begins with a comma; the first one's is taken off again. maxbuf
 * is what we say because the RFC knows it; Hadoop's servers send larger messages all the same. */
static int add_answer(const struct digest *d, const struct challenge *c, const char *response,
                      enum cipher_kind cipher, struct buf *out)
{
    AUTO_BUF b = { .max = out->max };
    int r = 0;

    if (c->utf8)
        r = buf_add_str(&b, ",charset=utf-8");
    if (r == 0)
        r = add_quoted(&b, "username", d->username);
    if (r == 0 && c->realm)
        r = add_quoted(&b, "realm", c->realm);
    if (r == 0)
        r = add_quoted(&b, "nonce", c->nonce);
    if (r == 0)
        r = buf_add_str(&b, ",nc=" FIRST_USE);
    if (r == 0)
        r = add_quoted(&b, "cnonce", d->cnonce);
    if (r == 0)
        r = add_quoted(&b, "digest-uri", d->uri);
    if (r == 0)
        r = buf_printf(&b, ",maxbuf=65536,response=%s,qop=%s", response,
                       sasl_qop_name(d->base.qop));
    if (r == 0 && d->base.qop == SASL_CONF)
        r = add_quoted(&b, "cipher", cipher_name(cipher));
    return r < 0 ? r : buf_add(out, b.data + 1, b.len - 1);
}

/* The first of our ciphers that the server has; false when there is none. */
static bool choose_cipher(const struct digest *d, unsigned offered, enum cipher_kind *ret)
{
    for (size_t i = 0; i < d->cipher_count; i++)
        if (offered & CIPHER_BIT(d->ciphers[i])) {
            *ret = d->ciphers[i];
            return true;
        }
    return false;
}

/* The names of a set of protections, for people. */
static const char *qops_text(unsigned qops, char out[32])
{
    size_t n = 0;

    out[0] = '\0';
    for (enum sasl_qop q = SASL_AUTH; q <= SASL_CONF; q++)
        if (qops & SASL_QOP_BIT(q))
            n += (size_t)snprintf(out + n, 32 - n, "%s%s", n ? "," : "", sasl_qop_name(q));
    return out;
}

/* The strongest protection that both sides have; for auth-conf with a cipher in common. */
static int sasl_digest_choose(struct digest *d, const struct challenge *c,
                              enum cipher_kind *ret_cipher, struct err *err)
{
    unsigned both = d->qops & c->qops;
    char ours[32], theirs[32];

    if (!choose_cipher(d, c->ciphers, ret_cipher))
        both &= ~SASL_QOP_BIT(SASL_CONF);
    for (int q = SASL_CONF; q >= SASL_AUTH; q--)
        if (both & SASL_QOP_BIT(q)) {
            d->base.qop = (enum sasl_qop)q;
            return 0;
        }
    if (d->qops & c->qops)
        return err_set(err, -EPERM,
                       "DIGEST-MD5: the server offers no cipher that this client accepts");
    err_set(err, -EPERM, "DIGEST-MD5: the server allows only %s and this client only %s",
            qops_text(c->qops, theirs), qops_text(d->qops, ours));
    err_hint(err,
             "compare hadoop.rpc.protection (for HDFS data: dfs.data.transfer.protection) here "
             "with the server's");
    return -EPERM;
}

/* The challenge came: answer it, and keep what the server must send to prove itself. The server's
 * proof is computed now, together with ours: both come from H(A1), which is wiped before the answer
 * is sent. */
static int sasl_digest_answer(struct digest *d, const struct challenge *c, struct buf *out,
                              struct err *err)
{
    struct proof p = { .nonce = c->nonce, .cnonce = d->cnonce, .uri = d->uri };
    char response[MD5_TEXT];
    enum cipher_kind cipher = CIPHER_3DES; /* matters for auth-conf only */
    int r;

    r = sasl_digest_choose(d, c, &cipher, err);
    if (r < 0)
        return r;
    p.qop = sasl_qop_name(d->base.qop);
    p.body = d->base.qop != SASL_AUTH;
    r = hash_a1(d, c->realm ? c->realm : "", c->nonce, p.ha1, err);
    if (r == 0)
        r = prove(&p, "AUTHENTICATE", response, err);
    if (r == 0)
        r = prove(&p, "", d->proof, err);
    if (r == 0 && p.body)
        r = layer_new(p.ha1, d->base.qop, cipher, &d->layer, err);
    OPENSSL_cleanse(p.ha1, sizeof(p.ha1));
    if (r < 0)
        return r;
    r = add_answer(d, c, response, cipher, out);
    if (r < 0)
        return r == -ENOMEM ? err_oom(err) : err_set(err, r, "DIGEST-MD5: the answer is too long");
    d->answered = true;
    return 0;
}

/* The server's last token came. Compared in constant time. Without this check anybody who listens
 * on the port could take our calls. */
static int verify(struct digest *d, const void *in, size_t n, struct err *err)
{
    char proof[MD5_TEXT];
    int r = challenge_rspauth(in, n, proof, err);

    if (r < 0)
        return r;
    if (CRYPTO_memcmp(proof, d->proof, MD5_TEXT) != 0)
        return err_set(err, -EACCES,
                       "DIGEST-MD5: the server does not know the token's password; it is not the "
                       "server it claims to be");
    d->base.done = true;
    return 0;
}

/* With Hadoop's RPC the challenge comes with the offer. Others (DataNodes) wait for a first message
 * from us, which is empty: one such is sent, a second would go round forever. */
static int digest_step(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    struct digest *d = (struct digest *)s;
    AUTO_CHALLENGE c = { 0 };
    int r;

    if (d->answered)
        return verify(d, in, n, err);
    if (n == 0) {
        if (d->opened)
            return err_set(err, -EPROTO, "DIGEST-MD5: the server sent an empty challenge");
        d->opened = true;
        return 0;
    }
    r = challenge_parse(in, n, &c, err);
    return r < 0 ? r : sasl_digest_answer(d, &c, out, err);
}

static int digest_wrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    return layer_wrap(((struct digest *)s)->layer, in, n, out, err);
}

static int digest_unwrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    return layer_unwrap(((struct digest *)s)->layer, in, n, out, err);
}

static void free_secret(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

static void digest_free(struct sasl *s)
{
    struct digest *d = (struct digest *)s;

    layer_free(d->layer);
    free_secret(d->username);
    free_secret(d->password);
    free(d->uri);
    free(d->cnonce);
    OPENSSL_cleanse(d, sizeof(*d));
    free(d);
}

static const struct sasl_ops digest_ops = {
    .name = "DIGEST-MD5",
    .step = digest_step,
    .wrap = digest_wrap,
    .unwrap = digest_unwrap,
    .free = digest_free,
};

/* Other characters have one form on the wire and perhaps another in the digest (RFC 2831 2.1.2.1).
 * Hadoop's names are base64, numbers and host names: none has any. */
static int sasl_digest_check_text(const char *what, const char *text, struct err *err)
{
    for (const char *s = text; *s; s++)
        if (*s < 0x20 || *s > 0x7e)
            return err_set(err, -EINVAL, "DIGEST-MD5: the %s is not plain text", what);
    return 0;
}

/* Reads "rc4,3des" into the list of ciphers; NULL means all. */
static int parse_ciphers(struct digest *d, const char *list, struct err *err)
{
    AUTO_STRS words = { 0 };

    if (!list) {
        for (int k = 0; k < CIPHER_KINDS_; k++)
            d->ciphers[d->cipher_count++] = (enum cipher_kind)k;
        return 0;
    }
    if (strs_split(&words, list, ",") < 0)
        return err_oom(err);
    for (size_t i = 0; i < words.n; i++) {
        int kind = cipher_find(words.v[i], strlen(words.v[i]));

        if (kind < 0)
            return err_set(err, -EINVAL, "DIGEST-MD5: unknown cipher '%s'", words.v[i]);
        if (d->cipher_count == CIPHER_KINDS_)
            return err_set(err, -EINVAL, "DIGEST-MD5: too many ciphers in '%s'", list);
        d->ciphers[d->cipher_count++] = (enum cipher_kind)kind;
    }
    return 0;
}

static int make_cnonce(char **ret, struct err *err)
{
    uint8_t raw[CNONCE_BYTES];

    if (RAND_bytes(raw, sizeof(raw)) != 1)
        return err_set(err, -EIO, "DIGEST-MD5: OpenSSL returned no random numbers");
    return str_base64(raw, sizeof(raw), ret) < 0 ? err_oom(err) : 0;
}

/* The uri is "/default" with RPC, where the offer has no protocol, and "hdfs/0" with DataNodes. */
static int copy_conf(struct digest *d, const struct sasl_digest_conf *conf, struct err *err)
{
    d->qops = conf->qops & SASL_QOP_ANY;
    d->username = strdup(conf->username);
    d->password = strdup(conf->password);
    d->uri = str_printf("%s/%s", conf->protocol, conf->server_id);
    if (!d->username || !d->password || !d->uri)
        return err_oom(err);
    if (!conf->cnonce)
        return make_cnonce(&d->cnonce, err);
    d->cnonce = strdup(conf->cnonce);
    return d->cnonce ? 0 : err_oom(err);
}

int sasl_digest_new(const struct sasl_digest_conf *conf, struct sasl **ret, struct err *err)
{
    AUTO_SASL *s = NULL;
    struct digest *d;
    int r;

    if (!(conf->qops & SASL_QOP_ANY))
        return err_set(err, -EINVAL, "DIGEST-MD5: no protection level is allowed, not even none");
    if ((r = sasl_digest_check_text("user name", conf->username, err)) < 0 ||
        (r = sasl_digest_check_text("password", conf->password, err)) < 0 ||
        (r = sasl_digest_check_text("server's name", conf->server_id, err)) < 0 ||
        (r = sasl_digest_check_text("protocol", conf->protocol, err)) < 0)
        return r;
    d = calloc(1, sizeof(*d));
    if (!d)
        return err_oom(err);
    s = &d->base;
    s->ops = &digest_ops;
    r = parse_ciphers(d, conf->ciphers, err);
    if (r == 0)
        r = copy_conf(d, conf, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

/* Hadoop's convention: a token's identifier, in base64, is the user name, and its password, in
 * base64, is the password. The server finds the password by the identifier. */
int sasl_digest_new_token(const struct sasl_digest_conf *conf,
                          const struct sasl_digest_token *token, struct sasl **ret, struct err *err)
{
    struct sasl_digest_conf full = *conf;
    char *username = NULL, *password = NULL;
    int r;

    (void)str_base64(token->id, token->id_len, &username);
    (void)str_base64(token->password, token->password_len, &password);
    full.username = username;
    full.password = password;
    r = username && password ? sasl_digest_new(&full, ret, err) : err_oom(err);
    free_secret(username);
    free_secret(password);
    return r;
}
