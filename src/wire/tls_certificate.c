/* tls_certificate.c - a server that shows a certificate instead of knowing a key, what it tells
 * clients that ask for a protocol (ALPN), and clients that look at the certificate. See stream.h.
 */
#include "wire/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

/* OpenSSL would ask whoever sits at the terminal. */
static int no_password(char *out, int n, int writing, void *user)
{
    (void)out;
    (void)n;
    (void)writing;
    (void)user;
    return 0;
}

static int certificate_failed(const char *what, const char *path, struct err *err)
{
    unsigned long first = ERR_peek_error(); /* later ones say only that there was one */
    const char *why = ERR_reason_error_string(first);

    if (ERR_SYSTEM_ERROR(first)) {
        errno = ERR_GET_REASON(first);
        return err_sys(err, "open '%s'", path);
    }
    (void)err_set(err, -EINVAL, "%s '%s': %s", what, path, why ? why : "OpenSSL cannot use it");
    err_hint(err, "both files are PEM, and the private key has no password: try 'openssl x509 -in "
                  "CERTIFICATE -noout -text' and 'openssl pkey -in KEY -noout'");
    return -EINVAL;
}

static int load_pair(SSL_CTX *ctx, const char *chain, const char *key, struct err *err)
{
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(ctx, no_password);
    if (SSL_CTX_use_certificate_chain_file(ctx, chain) != 1)
        return certificate_failed("certificate", chain, err);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return certificate_failed("private key", key, err);
    return 0;
}

int stream_tls_certificate(const char *chain, const char *key, struct stream_tls **ret,
                           struct err *err)
{
    AUTO(stream_tls) struct stream_tls *c = NULL;
    int r = tls_prepare(true, &c, err);

    if (r == 0)
        r = load_pair(c->ctx, chain, key, err);
    if (r < 0)
        return r;
    c->certified = true;
    *ret = take(c);
    return 0;
}

/* ---- whom a client trusts ---- */

/* A number is looked for among the certificate's addresses, anything else among its names. */
static int expect_name(SSL_CTX *ctx, const char *name)
{
    X509_VERIFY_PARAM *p = SSL_CTX_get0_param(ctx);

    return X509_VERIFY_PARAM_set1_ip_asc(p, name) == 1 ||
                   X509_VERIFY_PARAM_set1_host(p, name, 0) == 1
               ? 0
               : -ENOMEM;
}

/* A certificate that is named itself is trusted, whoever signed it. */
static int load_roots(SSL_CTX *ctx, const char *roots, struct err *err)
{
    ERR_clear_error();
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (!roots)
        return SSL_CTX_set_default_verify_paths(ctx) == 1 ? 0 : err_oom(err);
    (void)X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
    if (SSL_CTX_load_verify_file(ctx, roots) == 1)
        return 0;
    return certificate_failed("certificate", roots, err);
}

int stream_tls_trust(const char *roots, const char *name, struct stream_tls **ret, struct err *err)
{
    AUTO(stream_tls) struct stream_tls *c = NULL;
    int r = tls_prepare(false, &c, err);

    if (r == 0)
        r = load_roots(c->ctx, roots, err);
    if (r == 0 && name && expect_name(c->ctx, name) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
    c->certified = true;
    *ret = take(c);
    return 0;
}

int tls_not_trusted(SSL *ssl, struct err *err)
{
    return err_set(err, -EACCES, "TLS: the server's certificate is not accepted: %s",
                   X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
}

/* ---- which protocol ---- */

/* Names behind a byte with their length each; NULL when it is not among them. */
static const unsigned char *find_name(const unsigned char *in, unsigned n, const char *name)
{
    for (unsigned at = 0; at < n; at += 1U + in[at])
        if (in[at] == strlen(name) && at + in[at] < n && memcmp(in + at + 1, name, in[at]) == 0)
            return in + at;
    return NULL;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                           const unsigned char *in, unsigned n, void *user)
{
    (void)ssl;
    for (const char *const *name = user; *name; name++) {
        const unsigned char *found = find_name(in, n, *name);

        if (!found)
            continue;
        *out = found + 1;
        *out_n = *found;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

void stream_tls_offer(struct stream_tls *t, const char *const *names)
{
    SSL_CTX_set_alpn_select_cb(t->ctx, choose_protocol, (void *)names);
}
