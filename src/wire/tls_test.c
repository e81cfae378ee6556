/* tls_test.c - claims about who else may knock: plain text, an older TLS, certificates. The other
 * side is OpenSSL itself, set up as anybody might. */
#include "test.h"
#include "wire/wire_testing.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

static const struct stream_key job_key = { .identity = "local-1", .key = { 1, 2, 3 } };

struct world {
    struct loop *loop;
    struct sock *ours, *theirs;
    struct stream *stream;
    bool server; /* whether we are it */
    struct err err;
    int result;
    bool done;
};

static void our_side(void *arg)
{
    struct world *w = arg;
    int64_t deadline = loop_in(w->loop, TEST_MS);

    w->result = w->server ? stream_tls_server(w->ours, &job_key, deadline, &w->stream, &w->err)
                          : stream_tls_client(w->ours, &job_key, deadline, &w->stream, &w->err);
    w->done = true;
}

static void start_ours(struct world *w, bool server)
{
    struct sock *socks[2];

    connected_socks(w->loop, socks);
    w->ours = socks[0];
    w->theirs = socks[1];
    w->server = server;
    w->done = false;
    err_clear(&w->err);
    assert_int_equal(fiber_start(w->loop, our_side, w, NULL, NULL), 0);
}

static void expect(struct world *w, int code, const char *text)
{
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    w->theirs = sock_close(w->theirs);
    assert_int_equal(w->result, code);
    assert_string_equal(w->err.text, text);
}

static int knock_in_plain_text(void *arg)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT x:1 HTTP/1.1\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\x00\x00\x00\x10 an agent without TLS",
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        start_ours(w, true);
        assert_int_equal(sock_write(w->theirs, texts[i], 21, loop_in(w->loop, TEST_MS)), 0);
        expect(w, -EPROTO, "TLS: the other side does not speak TLS");
    }
    start_ours(w, false);
    assert_int_equal(
        sock_write(w->theirs, "HTTP/1.1 400 Bad Request\r\n", 26, loop_in(w->loop, TEST_MS)), 0);
    expect(w, -EPROTO, "TLS: the other side does not speak TLS");
    return 0;
}

static void plain_text_is_refused_with_a_sentence(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, knock_in_plain_text, &w);
}

/* ---- OpenSSL at the other end ---- */

struct foreign {
    SSL_CTX *ctx;
    SSL *ssl;
};

static void foreign_new(struct foreign *f, const SSL_METHOD *method, int version)
{
    f->ctx = SSL_CTX_new(method);
    assert_non_null(f->ctx);
    SSL_CTX_set_max_proto_version(f->ctx, version);
    SSL_CTX_set_min_proto_version(f->ctx, version);
}

static void foreign_start(struct foreign *f, bool server)
{
    f->ssl = SSL_new(f->ctx);
    assert_non_null(f->ssl);
    SSL_set_bio(f->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (server)
        SSL_set_accept_state(f->ssl);
    else
        SSL_set_connect_state(f->ssl);
}

static void foreign_done(struct foreign *f)
{
    SSL_free(f->ssl);
    SSL_CTX_free(f->ctx);
}

/* Moves bytes until its handshake is over, one way or the other. */
static int foreign_shake(struct world *w, struct foreign *f)
{
    char bytes[16 * KIB];
    ssize_t n;
    int r;

    do {
        r = SSL_do_handshake(f->ssl);
        n = BIO_read(SSL_get_wbio(f->ssl), bytes, sizeof(bytes));
        if (n > 0)
            assert_int_equal(sock_write(w->theirs, bytes, (size_t)n, loop_in(w->loop, TEST_MS)), 0);
        if (r == 1 || SSL_get_error(f->ssl, r) != SSL_ERROR_WANT_READ)
            break;
        n = sock_read(w->theirs, bytes, sizeof(bytes), loop_in(w->loop, TEST_MS));
        if (n > 0)
            BIO_write(SSL_get_rbio(f->ssl), bytes, (int)n);
    } while (n > 0);
    return r;
}

static int knock_without_a_key(void *arg)
{
    static const struct {
        int version;
        int code;
        const char *text;
    } rows[] = {
        { TLS1_2_VERSION, -EPROTO, "TLS: the other side speaks an older TLS than 1.3" },
        { TLS1_3_VERSION, -EACCES, "TLS: wrong key or job" },
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct foreign f = { 0 };

        foreign_new(&f, TLS_client_method(), rows[i].version);
        foreign_start(&f, false);
        start_ours(w, true);
        assert_int_not_equal(foreign_shake(w, &f), 1);
        foreign_done(&f);
        expect(w, rows[i].code, rows[i].text);
    }
    return 0;
}

static void a_client_without_a_key_or_with_an_old_tls_is_refused(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, knock_without_a_key, &w);
}

/* It could be asked for another share, and take its time: a place for strangers to wait in. */
static int greet_and_wait(void *arg)
{
    static const char *const groups[] = { "P-384:X25519", "X448:P-256" };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct foreign f = { 0 };
        char bytes[4 * KIB];
        int n;

        foreign_new(&f, TLS_client_method(), TLS1_3_VERSION);
        assert_int_equal(SSL_CTX_set1_groups_list(f.ctx, groups[i]), 1);
        foreign_start(&f, false);
        start_ours(w, true);
        assert_int_not_equal(SSL_do_handshake(f.ssl), 1);
        n = BIO_read(SSL_get_wbio(f.ssl), bytes, sizeof(bytes));
        assert_true(n > 0);
        assert_int_equal(sock_write(w->theirs, bytes, (size_t)n, loop_in(w->loop, TEST_MS)), 0);
        foreign_done(&f);
        expect(w, -EACCES, "TLS: wrong key or job");
    }
    return 0;
}

static void a_greeting_without_a_share_of_ours_is_refused_at_once(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, greet_and_wait, &w);
}

static void show_a_certificate(SSL_CTX *ctx)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();

    assert_non_null(key);
    assert_non_null(x);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"impostor", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(ctx, x), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    X509_free(x);
    EVP_PKEY_free(key);
}

static int show_a_certificate_instead(void *arg)
{
    static const struct {
        int version;
        int code;
        const char *text;
    } rows[] = {
        { TLS1_2_VERSION, -EPROTO, "TLS: the other side speaks an older TLS than 1.3" },
        { TLS1_3_VERSION, -EACCES, "TLS: wrong key or job" },
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct foreign f = { 0 };

        foreign_new(&f, TLS_server_method(), rows[i].version);
        show_a_certificate(f.ctx);
        foreign_start(&f, true);
        start_ours(w, false);
        assert_int_not_equal(foreign_shake(w, &f), 1);
        foreign_done(&f);
        expect(w, rows[i].code, rows[i].text);
    }
    return 0;
}

static void a_server_with_a_certificate_instead_of_the_key_is_refused(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, show_a_certificate_instead, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_is_refused_with_a_sentence),
        cmocka_unit_test(a_client_without_a_key_or_with_an_old_tls_is_refused),
        cmocka_unit_test(a_greeting_without_a_share_of_ours_is_refused_at_once),
        cmocka_unit_test(a_server_with_a_certificate_instead_of_the_key_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
