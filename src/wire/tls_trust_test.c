/* tls_trust_test.c - claims about whose certificate a client accepts. The server is ours. */
#include "base/auto.h"
#include "base/path.h"
#include "test.h"
#include "wire/wire_testing.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

/* A certificate that signed itself, for a name and an address, and its key, in one file. */
static void write_certificate(const char *path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:shop.example,IP:10.0.0.7");
    FILE *f = fopen(path, "we");

    assert_true(key && x && names && f);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)path, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    assert_int_equal(X509_add_ext(x, names, -1), 1);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509(f, x), 1);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(f), 0);
    X509_EXTENSION_free(names);
    X509_free(x);
    EVP_PKEY_free(key);
}

struct world {
    struct loop *loop;
    char dir[TEST_PATH];
    struct sock *theirs;
    struct stream_tls *server;
    bool done;
};

/* Says hello to whom it accepted. */
static void server_side(void *arg)
{
    struct world *w = arg;
    AUTO_STREAM *s = NULL;
    int64_t deadline = loop_in(w->loop, TEST_MS);

    if (stream_tls_start(w->server, w->theirs, deadline, &s, NULL) == 0)
        (void)stream_write(s, "hello", 5, deadline);
    w->done = true;
}

static void connect_once(struct world *w, const char *roots, const char *name, int code,
                         const char *text)
{
    AUTO_FREE char *path = roots ? path_join(w->dir, roots) : NULL;
    AUTO(stream_tls) struct stream_tls *client = NULL;
    int64_t deadline = loop_in(w->loop, TEST_MS);
    struct err err = ERR_INIT;
    struct sock *socks[2];
    char hello[8] = "";
    int r;

    connected_socks(w->loop, socks);
    w->theirs = socks[1];
    w->done = false;
    assert_int_equal(fiber_start(w->loop, server_side, w, NULL, NULL), 0);
    assert_int_equal(stream_tls_trust(path, name, &client, &err), 0);
    {
        AUTO_STREAM *s = NULL;

        r = stream_tls_start(client, socks[0], deadline, &s, &err);
        assert_int_equal(r, code);
        if (r == 0)
            assert_int_equal(stream_read(s, hello, sizeof(hello), deadline), 5);
        assert_non_null(strstr(err.text, text));
    }
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
}

static int try_all(void *arg)
{
    static const struct {
        const char *roots, *name;
        int code;
        const char *text;
    } rows[] = {
        { "server.pem", "shop.example", 0, "" },
        { "server.pem", "10.0.0.7", 0, "" },
        { "server.pem", NULL, 0, "" },
        { "server.pem", "shop.example.org", -EACCES, "hostname mismatch" },
        { "server.pem", "10.0.0.8", -EACCES, "IP address mismatch" },
        { "other.pem", "shop.example", -EACCES, "self-signed certificate" },
        { NULL, "shop.example", -EACCES, "self-signed certificate" },
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        connect_once(w, rows[i].roots, rows[i].name, rows[i].code, rows[i].text);
    return 0;
}

static void a_certificate_must_be_trusted_and_for_the_name(void **state)
{
    struct world w = { 0 };
    AUTO_FREE char *server = NULL;
    AUTO_FREE char *other = NULL;

    (void)state;
    assert_true(test_dir(w.dir, "trust"));
    server = path_join(w.dir, "server.pem");
    other = path_join(w.dir, "other.pem");
    assert_true(server && other);
    write_certificate(server);
    write_certificate(other);
    assert_int_equal(stream_tls_certificate(server, server, &w.server, NULL), 0);
    on_a_loop(&w.loop, try_all, &w);
    w.server = stream_tls_free(w.server);
    assert_int_equal(path_remove(w.dir, NULL), 0);
}

static void a_file_without_a_certificate_is_refused(void **state)
{
    struct stream_tls *t = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(stream_tls_trust("/dev/null", NULL, &t, &err), -EINVAL);
    assert_non_null(strstr(err.text, "certificate '/dev/null'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_must_be_trusted_and_for_the_name),
        cmocka_unit_test(a_file_without_a_certificate_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
