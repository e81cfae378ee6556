/* digest_test.c - the exchange, against recorded ones and against a server in miniature. */
#include "hadoop/sasl/digest.h"
#include "sasl/digest_peer.h"
#include "test.h"
#include <openssl/evp.h>

#define ANSWER_MAX 4096

static int step(struct sasl *s, const char *token, struct buf *out, struct err *err)
{
    buf_reset(out);
    return sasl_step(s, token, strlen(token), out, err);
}

/* A NodeManager token as an allocate response carried it, and the exchange that followed. */
static const uint8_t nm_id[] = {
    0x0a, 0x0d, 0x0a, 0x09, 0x08, 0x4b, 0x10, 0xa9, 0x9c, 0xc7, 0xec, 0x9d, 0x34,
    0x10, 0x01, 0x12, 0x10, 0x0a, 0x0a, 0x31, 0x32, 0x37, 0x2e, 0x30, 0x2e, 0x30,
    0x2e, 0x31, 0x32, 0x10, 0xd9, 0xdb, 0x01, 0x1a, 0x04, 0x72, 0x6f, 0x6f, 0x74,
    0x20, 0xee, 0xf2, 0xce, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x01,
};
static const uint8_t nm_password[] = {
    0x38, 0x01, 0x65, 0x87, 0x0e, 0x40, 0xde, 0x65, 0x40, 0xae,
    0xc5, 0xe1, 0x96, 0xd7, 0x39, 0x71, 0x3b, 0x80, 0x35, 0x37,
};
static const char nm_challenge[] =
    "realm=\"default\",nonce=\"9wkaJcA1mAhtNHcWHFtzquQV4wEVfBnPPh/vEZzG\",qop=\"auth\","
    "charset=utf-8,algorithm=md5-sess";
static const char nm_answer[] =
    "charset=utf-8,username=\"Cg0KCQhLEKmcx+ydNBABEhAKCjEyNy4wLjAuMTIQ2dsBGgRyb290IO7yzsH4"
    "/////wE=\",realm=\"default\",nonce=\"9wkaJcA1mAhtNHcWHFtzquQV4wEVfBnPPh/vEZzG\","
    "nc=00000001,cnonce=\"7wI01pv7SkI0hlQBsceh7MA+\",digest-uri=\"/default\",maxbuf=65536,"
    "response=52aaea1d6a6b973f5fe9fe4069888e9c,qop=auth";

static struct sasl *nm_client(void)
{
    const struct sasl_digest_conf conf = {
        .protocol = "",
        .server_id = "default",
        .qops = SASL_QOP_ANY,
        .cnonce = "7wI01pv7SkI0hlQBsceh7MA+",
    };
    const struct sasl_digest_token token = { nm_id, sizeof(nm_id), nm_password,
                                             sizeof(nm_password) };
    struct err err = ERR_INIT;
    struct sasl *s = NULL;

    assert_int_equal(sasl_digest_new_token(&conf, &token, &s, &err), 0);
    return s;
}

static void a_node_managers_exchange_is_reproduced_to_the_byte(void **state)
{
    AUTO_SASL *s = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(s, nm_challenge, &out, &err), 0);
    assert_string_equal(buf_text(&out), nm_answer);
    assert_false(sasl_done(s));
    assert_int_equal(step(s, "rspauth=868f921d3b893ab464d1f834c866d4e9", &out, &err), 0);
    assert_int_equal(out.len, 0);
    assert_true(sasl_done(s));
    assert_int_equal(sasl_qop(s), SASL_AUTH);
}

static void a_server_without_the_password_is_found_out(void **state)
{
    AUTO_SASL *s = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(s, nm_challenge, &out, &err), 0);
    assert_int_equal(step(s, "rspauth=868f921d3b893ab464d1f834c866d4e8", &out, &err), -EACCES);
    assert_non_null(strstr(err.text, "does not know the token's password"));
    assert_false(sasl_done(s));
    assert_int_equal(step(s, "rspauth=868f921d3b893ab464d1f834c866d4e9", &out, &err), -EPROTO);
    assert_string_equal(err.text, "DIGEST-MD5: used again after a failure");
}

static void the_example_of_rfc_2831_is_reproduced(void **state)
{
    const struct sasl_digest_conf conf = {
        .username = "chris",
        .password = "secret",
        .protocol = "imap",
        .server_id = "elwood.innosoft.com",
        .qops = SASL_QOP_ANY,
        .cnonce = "OA6MHXh6VqTrRk",
    };
    struct err err = ERR_INIT;
    AUTO_SASL *s = NULL;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(sasl_digest_new(&conf, &s, &err), 0);
    assert_int_equal(step(s,
                          "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\","
                          "algorithm=md5-sess,charset=utf-8",
                          &out, &err),
                     0);
    assert_non_null(strstr(buf_text(&out), "digest-uri=\"imap/elwood.innosoft.com\""));
    assert_non_null(strstr(buf_text(&out), "response=d388dad90d4bbd760a152321f2143af7"));
    assert_int_equal(step(s, "rspauth=ea40f60335c427b5527b84dbabcdfffd", &out, &err), 0);
    assert_true(sasl_done(s));
}

static struct sasl *client(unsigned qops, const char *ciphers)
{
    const struct sasl_digest_conf conf = {
        .username = "me",
        .password = "secret",
        .protocol = "",
        .server_id = "default",
        .qops = qops,
        .ciphers = ciphers,
    };
    struct err err = ERR_INIT;
    struct sasl *s = NULL;

    assert_int_equal(sasl_digest_new(&conf, &s, &err), 0);
    return s;
}

static const struct choice {
    unsigned ours;
    int code;
    const char *our_ciphers, *their_qops, *their_ciphers;
    const char *outcome; /* what the answer has, or the error says */
} choices[] = {
/* clang-format off */
#define A SASL_QOP_BIT(SASL_AUTH)
#define I SASL_QOP_BIT(SASL_INT)
#define C SASL_QOP_BIT(SASL_CONF)
    { A | I | C, 0, NULL, "auth,auth-int,auth-conf", "3des,rc4", "qop=auth-conf,cipher=\"3des\"" },
    { A | I | C, 0, NULL, "auth,auth-int", "3des", "qop=auth-int" },
    { A | I | C, 0, NULL, "auth", "", "qop=auth" },
    { A | I, 0, NULL, "auth-conf,auth-int,auth", "3des", "qop=auth-int" },
    { A, 0, NULL, "auth-conf,auth-int,auth", "3des", "qop=auth" },
    { C, 0, NULL, "auth-conf", "rc4-40,rc4-56,des,rc4", "cipher=\"rc4\"" },
    { C, 0, NULL, "auth-conf", "rc4-40,rc4-56,des", "cipher=\"des\"" },
    { C, 0, NULL, "auth-conf", "rc4-40,rc4-56", "cipher=\"rc4-56\"" },
    { C, 0, "rc4-40, RC4", "auth-conf", "3des,rc4,des,rc4-56,rc4-40", "cipher=\"rc4-40\"" },
    { C, -EPERM, "rc4", "auth-conf", "3des,des", "no cipher that this client accepts" },
    { C, -EPERM, NULL, "auth-conf", "aes", "no cipher that this client accepts" },
    { A | C, 0, NULL, "auth,auth-conf", "aes", "qop=auth" },
    { C, -EPERM, NULL, "auth", "", "allows only auth and this client only auth-conf" },
    { A | I, -EPERM, NULL, "auth-conf", "3des", "only auth-conf and this client only auth,auth-int" },
    /* clang-format on */
};

static void the_strongest_protection_both_allow_is_taken(void **state)
{
    const struct peer p = { "me", "secret", "default" };
    char challenge[512];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct choice *c = &choices[i];
        AUTO_SASL *s = client(c->ours, c->our_ciphers);
        struct err err = ERR_INIT;
        AUTO_BUF out = { .max = ANSWER_MAX };
        int r;

        peer_challenge(&p, c->their_qops, c->their_ciphers, challenge, sizeof(challenge));
        r = step(s, challenge, &out, &err);
        if (r != c->code || !strstr(r < 0 ? err.text : buf_text(&out), c->outcome))
            fail_msg("row %zu: %d, '%s', '%s'", i, r, err.text, buf_text(&out));
    }
}

static void special_characters_are_escaped_on_the_way_back(void **state)
{
    AUTO_SASL *s = client(SASL_QOP_ANY, NULL);
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(s, "realm=\"a\\\"b\\\\c\",nonce=\"\\\"\",algorithm=md5-sess", &out, &err),
                     0);
    assert_non_null(strstr(buf_text(&out), "username=\"me\",realm=\"a\\\"b\\\\c\",nonce=\"\\\"\""));
    assert_null(strstr(buf_text(&out), "charset"));
}

static void a_server_without_a_realm_gets_none(void **state)
{
    AUTO_SASL *s = client(SASL_QOP_ANY, NULL);
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(s, "nonce=\"n\",algorithm=md5-sess", &out, &err), 0);
    assert_null(strstr(buf_text(&out), "realm"));
}

static void each_exchange_has_a_nonce_of_its_own(void **state)
{
    AUTO_SASL *a = client(SASL_QOP_ANY, NULL), *b = client(SASL_QOP_ANY, NULL);
    struct err err = ERR_INIT;
    AUTO_BUF first = { .max = ANSWER_MAX };
    AUTO_BUF second = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(a, nm_challenge, &first, &err), 0);
    assert_int_equal(step(b, nm_challenge, &second, &err), 0);
    assert_string_not_equal(buf_text(&first), buf_text(&second));
}

static void the_client_may_open_with_an_empty_token_once(void **state)
{
    AUTO_SASL *s = nm_client(), *other = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(step(s, "", &out, &err), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(step(s, nm_challenge, &out, &err), 0);
    assert_string_equal(buf_text(&out), nm_answer);
    assert_int_equal(step(s, "", &out, &err), -EPROTO);
    assert_string_equal(err.text, "DIGEST-MD5: the server's last token: it has no rspauth");

    assert_int_equal(step(other, "", &out, &err), 0);
    assert_int_equal(step(other, "", &out, &err), -EPROTO);
    assert_string_equal(err.text, "DIGEST-MD5: the server sent an empty challenge");
}

static void nothing_may_follow_the_end(void **state)
{
    AUTO_SASL *s = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };

    (void)state;
    assert_int_equal(sasl_wrap(s, "x", 1, &out, &err), -EINVAL);
    assert_int_equal(step(s, nm_challenge, &out, &err), 0);
    assert_int_equal(step(s, "rspauth=868f921d3b893ab464d1f834c866d4e9", &out, &err), 0);
    assert_int_equal(sasl_wrap(s, "x", 1, &out, &err), -EINVAL);
    assert_string_equal(err.text, "DIGEST-MD5: no protection was agreed on");
    assert_int_equal(sasl_unwrap(s, "x", 1, &out, &err), -EINVAL);
    assert_int_equal(step(s, "x=y", &out, &err), -EPROTO);
    assert_false(sasl_done(s));
}

static void a_failed_step_leaves_nothing_in_the_buffer(void **state)
{
    AUTO_SASL *s = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = 100 };

    (void)state;
    assert_int_equal(buf_add_str(&out, "kept"), 0);
    assert_int_equal(sasl_step(s, nm_challenge, strlen(nm_challenge), &out, &err), -E2BIG);
    assert_string_equal(buf_text(&out), "kept");
}

static void wrong_configurations_are_refused(void **state)
{
    static const struct {
        const char *username, *password, *ciphers;
        unsigned qops;
        const char *says;
    } rows[] = {
        { "m\xc3\xa9", "p", NULL, SASL_QOP_ANY, "the user name is not plain text" },
        { "me", "p\n", NULL, SASL_QOP_ANY, "the password is not plain text" },
        { "me", "p", "rc4,aes", SASL_QOP_ANY, "unknown cipher 'aes'" },
        { "me", "p", "des,des,des,des,des,des", SASL_QOP_ANY, "too many ciphers" },
        { "me", "p", NULL, 0, "no protection level is allowed" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct sasl_digest_conf conf = {
            .username = rows[i].username,
            .password = rows[i].password,
            .protocol = "",
            .server_id = "default",
            .ciphers = rows[i].ciphers,
            .qops = rows[i].qops,
        };
        struct err err = ERR_INIT;
        AUTO_SASL *s = NULL;

        assert_int_equal(sasl_digest_new(&conf, &s, &err), -EINVAL);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

static void a_host_that_forbids_md5_says_so(void **state)
{
    AUTO_SASL *s = nm_client();
    struct err err = ERR_INIT;
    AUTO_BUF out = { .max = ANSWER_MAX };
    int r;

    (void)state;
    assert_int_equal(EVP_set_default_properties(NULL, "fips=yes"), 1);
    r = step(s, nm_challenge, &out, &err);
    assert_int_equal(EVP_set_default_properties(NULL, ""), 1);
    assert_int_equal(r, -EOPNOTSUPP);
    assert_non_null(strstr(err.text, "OpenSSL refuses MD5"));
    assert_non_null(strstr(err.hint, "FIPS"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_managers_exchange_is_reproduced_to_the_byte),
        cmocka_unit_test(a_server_without_the_password_is_found_out),
        cmocka_unit_test(the_example_of_rfc_2831_is_reproduced),
        cmocka_unit_test(the_strongest_protection_both_allow_is_taken),
        cmocka_unit_test(special_characters_are_escaped_on_the_way_back),
        cmocka_unit_test(a_server_without_a_realm_gets_none),
        cmocka_unit_test(each_exchange_has_a_nonce_of_its_own),
        cmocka_unit_test(the_client_may_open_with_an_empty_token_once),
        cmocka_unit_test(nothing_may_follow_the_end),
        cmocka_unit_test(a_failed_step_leaves_nothing_in_the_buffer),
        cmocka_unit_test(wrong_configurations_are_refused),
        cmocka_unit_test(a_host_that_forbids_md5_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
