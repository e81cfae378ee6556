/* tls.c - see tls.h. OpenSSL between two memory BIOs.
 *
 *     client                                   server
 *     ClientHello, identity, binder ─────────►  knows the identity? does the binder fit the key?
 *     fits the key? ◄───────── ServerHello … Finished
 *     Finished ──────────────────────────────►
 *
 * Neither side has a certificate and neither accepts one, so whoever has not the key cannot get
 * through (a server that has one instead of a key is in tls_certificate.c). A fresh key exchange
 * goes into every connection (psk_dhe_ke): one that was recorded stays secret when the key becomes
 * known later. */
#include "wire/tls.h"

#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

/* The key's hash is SHA-256, so these are the suites that go with it; all key lengths are 128 bits
 * or more. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
static const uint8_t suite_of_key[] = { 0x13, 0x01 }; /* TLS_AES_128_GCM_SHA256 */

#define BIO_KEEP 512 /* bytes that a quiet connection may keep for each direction */

/* OpenSSL never sees the socket:
 *
 *     socket ──tls_put()──► in ──SSL_read()──► plain
 *     plain ──SSL_write()──► out ──tls_take()──► socket
 *
 * So it cannot block a fiber, and all waiting and all deadlines are those of stream.c. */
struct tls {
    SSL *ssl;
    BIO *in, *out; /* the SSL's */
};

/* ---- the key ---- */

/* The key as OpenSSL wants it: a session that never was. */
static SSL_SESSION *session_of(SSL *ssl)
{
    const struct stream_tls *c = SSL_get_app_data(ssl);
    const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, suite_of_key);
    SSL_SESSION *s = SSL_SESSION_new();

    if (!s || !suite || !SSL_SESSION_set1_master_key(s, c->key.key, STREAM_KEY) ||
        !SSL_SESSION_set_cipher(s, suite) || !SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION)) {
        SSL_SESSION_free(s);
        return NULL;
    }
    return s;
}

static int offer_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                     SSL_SESSION **ret)
{
    const struct stream_tls *c = SSL_get_app_data(ssl);

    *ret = NULL;
    if (md && EVP_MD_get_type(md) != NID_sha256)
        return 0; /* a server that asks for a hash that we never offered */
    *ret = session_of(ssl);
    *id = (const unsigned char *)c->key.identity;
    *id_size = strlen(c->key.identity);
    return *ret != NULL;
}

/* The identity is no secret (it travels in clear), so a plain comparison is enough; the binder
 * proves the key. */
static int find_key(SSL *ssl, const unsigned char *id, size_t id_size, SSL_SESSION **ret)
{
    const struct stream_tls *c = SSL_get_app_data(ssl);

    *ret = NULL;
    if (id_size != strlen(c->key.identity) || memcmp(id, c->key.identity, id_size) != 0)
        return 1; /* unknown: without a certificate the handshake ends as with a wrong key */
    *ret = session_of(ssl);
    return *ret != NULL;
}

/* ---- the shared part ---- */

static int tls_set_up(struct stream_tls *c)
{
    c->ctx = SSL_CTX_new(c->server ? TLS_server_method() : TLS_client_method());
    if (!c->ctx || !SSL_CTX_set_min_proto_version(c->ctx, TLS1_3_VERSION) ||
        !SSL_CTX_set_max_proto_version(c->ctx, TLS1_3_VERSION) ||
        !SSL_CTX_set_num_tickets(c->ctx, 0))
        return -ENOMEM;
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return 0;
}

int tls_prepare(bool server, struct stream_tls **ret, struct err *err)
{
    AUTO(stream_tls) struct stream_tls *c = NULL;

    /* A machine's openssl.cnf must not decide about us, and could name modules that a static
     * program cannot load. */
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
        return err_set(err, -EIO, "OpenSSL does not start");
    c = calloc(1, sizeof(*c));
    if (!c)
        return err_oom(err);
    c->server = server;
    ERR_clear_error();
    if (tls_set_up(c) < 0)
        return err_oom(err);
    *ret = take(c);
    return 0;
}

int stream_tls_new(const struct stream_key *k, bool server, struct stream_tls **ret,
                   struct err *err)
{
    AUTO(stream_tls) struct stream_tls *c = NULL;
    size_t n = strnlen(k->identity, sizeof(k->identity));
    int r;

    if (n == 0 || n == sizeof(k->identity))
        return err_set(err, -EINVAL, "a TLS key needs an identity of 1 to %zu bytes",
                       sizeof(k->identity) - 1);
    r = tls_prepare(server, &c, err);
    if (r < 0)
        return r;
    c->key = *k;
    if (!SSL_CTX_set_ciphersuites(c->ctx, SUITES))
        return err_oom(err);
    if (c->server) {
        SSL_CTX_set_psk_find_session_callback(c->ctx, find_key);
    } else {
        SSL_CTX_set_psk_use_session_callback(c->ctx, offer_key);
        /* Nobody is trusted: a server that would rather show a certificate gets no further. */
        SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    }
    *ret = take(c);
    return 0;
}

struct stream_tls *stream_tls_free(struct stream_tls *t)
{
    if (!t)
        return NULL;
    SSL_CTX_free(t->ctx);
    OPENSSL_cleanse(&t->key, sizeof(t->key));
    free(t);
    return NULL;
}

/* ---- one connection ---- */

static int attach_bios(struct tls *t)
{
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->in || !t->out) {
        BIO_free(t->in);
        BIO_free(t->out);
        return -ENOMEM;
    }
    SSL_set_bio(t->ssl, t->in, t->out);
    return 0;
}

int tls_new(struct stream_tls *c, struct tls **ret, struct err *err)
{
    AUTO(tls) struct tls *t = calloc(1, sizeof(*t));

    if (!t)
        return err_oom(err);
    ERR_clear_error();
    t->ssl = SSL_new(c->ctx);
    if (!t->ssl || attach_bios(t) < 0 || !SSL_set_app_data(t->ssl, c))
        return err_oom(err);
    if (c->server)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    *ret = take(t);
    return 0;
}

struct tls *tls_free(struct tls *t)
{
    if (!t)
        return NULL;
    SSL_free(t->ssl);
    free(t);
    return NULL;
}

#define WRONG_KEY "wrong key or job"
#define NOT_TLS "the other side does not speak TLS"
#define OLD_TLS "the other side speaks an older TLS than 1.3"

/* clang-format off */
static const struct {
    int reason;
    int code;
    const char *text;
} reasons[] = {
    { SSL_R_BINDER_DOES_NOT_VERIFY,          -EACCES, WRONG_KEY }, /* server: another key */
    { SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, -EACCES, WRONG_KEY }, /* server: another identity */
    { SSL_R_NO_SHARED_CIPHER,                -EACCES, WRONG_KEY }, /* server: a hash not ours */
    { SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER,   -EACCES, WRONG_KEY }, /* client: the same, told */
    { SSL_R_TLSV1_ALERT_DECRYPT_ERROR,       -EACCES, WRONG_KEY },
    { SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,   -EACCES, WRONG_KEY },
    { SSL_R_DIGEST_CHECK_FAILED,             -EACCES, WRONG_KEY },
    { SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, -EACCES, WRONG_KEY },
    { SSL_R_CERTIFICATE_VERIFY_FAILED,       -EACCES, WRONG_KEY }, /* client: a certificate */
    { SSL_R_UNSUPPORTED_PROTOCOL,            -EPROTO, OLD_TLS },
    { SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,    -EPROTO, OLD_TLS },
    { SSL_R_HTTP_REQUEST,                    -EPROTO, NOT_TLS },
    { SSL_R_HTTPS_PROXY_REQUEST,             -EPROTO, NOT_TLS },
    { SSL_R_WRONG_VERSION_NUMBER,            -EPROTO, NOT_TLS },
    { SSL_R_RECORD_LENGTH_MISMATCH,          -EPROTO, NOT_TLS },
    { SSL_R_PACKET_LENGTH_TOO_LONG,          -EPROTO, NOT_TLS },
};
/* clang-format on */

static int tls_explain(const struct tls *t, struct err *err)
{
    const struct stream_tls *c = SSL_get_app_data(t->ssl);
    unsigned long e = ERR_peek_error();
    const char *text = ERR_reason_error_string(e);

    if (c->certified && ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return tls_not_trusted(t->ssl, err);
    if (ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE)
        return err_oom(err);
    for (size_t i = 0; ERR_GET_LIB(e) == ERR_LIB_SSL && i < COUNT_OF(reasons); i++) {
        if (reasons[i].reason == ERR_GET_REASON(e))
            return err_set(err, reasons[i].code, "TLS: %s", reasons[i].text);
    }
    return err_set(err, -EPROTO, "TLS: %s", text ? text : "the handshake failed");
}

/* OpenSSL counts the external key as a session used again. */
static int confirm(struct tls *t, struct err *err)
{
    const struct stream_tls *c = SSL_get_app_data(t->ssl);

    if (SSL_version(t->ssl) != TLS1_3_VERSION || (!c->certified && !SSL_session_reused(t->ssl)))
        return err_set(err, -EACCES, "TLS: the other side did not use the key");
    return 1;
}

int tls_shake(struct tls *t, struct err *err)
{
    int r;

    ERR_clear_error(); /* the queue is the thread's, and so every fiber's */
    r = SSL_do_handshake(t->ssl);
    if (r == 1)
        return confirm(t, err);
    return SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_READ ? 0 : tls_explain(t, err);
}

int tls_put(struct tls *t, const void *p, size_t n)
{
    ERR_clear_error();
    return BIO_write(t->in, p, (int)n) == (int)n ? 0 : -ENOMEM;
}

/* A BIO keeps the most that it ever held. A connection is quiet most of its life, and there may be
 * thousands: what is empty is made small again. */
static void slim(BIO *b)
{
    BUF_MEM *m = NULL, *fresh;

    if (BIO_pending(b) > 0 || BIO_get_mem_ptr(b, &m) <= 0 || !m || m->max <= BIO_KEEP)
        return;
    fresh = BUF_MEM_new();
    if (fresh && BIO_set_mem_buf(b, fresh, BIO_CLOSE) <= 0)
        BUF_MEM_free(fresh);
}

size_t tls_pending(struct tls *t)
{
    return BIO_pending(t->out);
}

size_t tls_take(struct tls *t, void *p, size_t n)
{
    int got = BIO_read(t->out, p, (int)n);

    slim(t->out);
    return got > 0 ? (size_t)got : 0;
}

/* A memory BIO takes everything, so SSL_write() never does a part of it. */
int tls_encrypt(struct tls *t, const void *p, size_t n)
{
    ERR_clear_error();
    return SSL_write(t->ssl, p, (int)n) == (int)n ? 0 : -EPROTO;
}

ssize_t tls_decrypt(struct tls *t, void *p, size_t n)
{
    int got;

    ERR_clear_error();
    got = SSL_read(t->ssl, p, n > TLS_PLAIN_MAX ? (int)TLS_PLAIN_MAX : (int)n);
    if (got > 0)
        return got;
    switch (SSL_get_error(t->ssl, got)) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_READ:
        slim(t->in);
        return -EAGAIN;
    default:
        return -EPROTO;
    }
}

void tls_goodbye(struct tls *t)
{
    ERR_clear_error();
    (void)SSL_shutdown(t->ssl);
}
