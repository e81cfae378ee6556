/* challenge_test.c - what servers may say, and what they may not. */
#include "base/buf.h"
#include "hadoop/sasl/challenge.h"
#include "hadoop/sasl/cipher.h"
#include "hadoop/sasl/sasl.h"
#include "test.h"
#include <string.h>

#define AUTH SASL_QOP_BIT(SASL_AUTH)
#define INT SASL_QOP_BIT(SASL_INT)
#define CONF SASL_QOP_BIT(SASL_CONF)
#define ALL_CIPHERS (CIPHER_BIT(CIPHER_KINDS_) - 1)
#define OK "nonce=\"n\",algorithm=md5-sess"

static const struct good {
    const char *text, *realm, *nonce;
    unsigned qops, ciphers;
    uint32_t maxbuf;
    bool utf8;
} good[] = {
    /* clang-format off */
    /* What a NodeManager and a DataNode sent. */
    { "realm=\"default\",nonce=\"9wkaJcA1mAhtNHcWHFtzquQV4wEVfBnPPh/vEZzG\",qop=\"auth\","
      "charset=utf-8,algorithm=md5-sess",
      "default", "9wkaJcA1mAhtNHcWHFtzquQV4wEVfBnPPh/vEZzG", AUTH, 0, 65536, true },
    { "realm=\"0\",nonce=\"H5/pYiPDFkgak+128Sjreak1Efp39QAQmlCO5NUB\",qop=\"auth-conf\","
      "charset=utf-8,cipher=\"3des,rc4,des,rc4-56,rc4-40\",algorithm=md5-sess",
      "0", "H5/pYiPDFkgak+128Sjreak1Efp39QAQmlCO5NUB", CONF, ALL_CIPHERS, 65536, true },
    /* RFC 2831 section 4 */
    { "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",algorithm=md5-sess,"
      "charset=utf-8",
      "elwood.innosoft.com", "OA6MG9tEQGm2hh", AUTH, 0, 65536, true },
    { OK, NULL, "n", AUTH, 0, 65536, false },
    { ",, \t" OK " ,\r\n, ", NULL, "n", AUTH, 0, 65536, false },
    { "NONCE = \"n\" , Algorithm\t=\tMD5-SESS", NULL, "n", AUTH, 0, 65536, false },
    { "realm=\"first\",realm=\"second\"," OK, "first", "n", AUTH, 0, 65536, false },
    { "realm=\"\"," OK, "", "n", AUTH, 0, 65536, false },
    { "realm=word," OK, "word", "n", AUTH, 0, 65536, false },
    { "realm=\"a\\\"b\\\\c,d=e\"," OK, "a\"b\\c,d=e", "n", AUTH, 0, 65536, false },
    { "realm=\"caf\xc3\xa9\"," OK, "caf\xc3\xa9", "n", AUTH, 0, 65536, false },
    { "qop=\"auth-int , AUTH,auth-super\"," OK, NULL, "n", AUTH | INT, 0, 65536, false },
    { "qop=\"auth,auth-int,auth-conf\",cipher=\"aes-ctr,RC4 , des\"," OK, NULL, "n",
      AUTH | INT | CONF, CIPHER_BIT(CIPHER_RC4) | CIPHER_BIT(CIPHER_DES), 65536, false },
    { "cipher=\"\"," OK, NULL, "n", AUTH, 0, 65536, false },
    { "maxbuf=17," OK, NULL, "n", AUTH, 0, 17, false },
    { "maxbuf=16777215," OK, NULL, "n", AUTH, 0, 16777215, false },
    { "stale=true,new=1,new=\"2\",new=3," OK, NULL, "n", AUTH, 0, 65536, false },
    /* clang-format on */
};

static void good_challenges_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        AUTO_CHALLENGE c = { 0 };
        struct err err = ERR_INIT;

        if (challenge_parse(good[i].text, strlen(good[i].text), &c, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(!c.realm, !good[i].realm);
        if (c.realm)
            assert_string_equal(c.realm, good[i].realm);
        assert_string_equal(c.nonce, good[i].nonce);
        assert_int_equal(c.qops, good[i].qops);
        assert_int_equal(c.ciphers, good[i].ciphers);
        assert_int_equal(c.maxbuf, good[i].maxbuf);
        assert_int_equal(c.utf8, good[i].utf8);
    }
}

static const struct bad {
    const char *text;
    int code;
    const char *says;
} bad[] = {
    /* clang-format off */
    { "", -EPROTO, "it has no nonce" },
    { ",,,", -EPROTO, "it has no nonce" },
    { "algorithm=md5-sess", -EPROTO, "it has no nonce" },
    { "nonce=\"n\"", -EPROTO, "it has no algorithm" },
    { "nonce=\"\",algorithm=md5-sess", -EPROTO, "the nonce is empty" },
    { "nonce=\"n\",algorithm=md5", -EOPNOTSUPP, "unknown algorithm 'md5'" },
    { "nonce=\"m\"," OK, -EPROTO, "nonce comes twice" },
    { "algorithm=md5-sess," OK, -EPROTO, "algorithm comes twice" },
    { "qop=auth,qop=auth," OK, -EPROTO, "qop comes twice" },
    { "cipher=rc4,cipher=des," OK, -EPROTO, "cipher comes twice" },
    { "charset=utf-8,charset=utf-8," OK, -EPROTO, "charset comes twice" },
    { "maxbuf=100,maxbuf=100," OK, -EPROTO, "maxbuf comes twice" },
    { "stale=true,stale=true," OK, -EPROTO, "stale comes twice" },
    { "charset=latin1," OK, -EPROTO, "unknown charset 'latin1'" },
    { "qop=\"auth-super\"," OK, -EPERM, "no protection in qop 'auth-super' is known" },
    { "qop=\"\"," OK, -EPERM, "no protection in qop '' is known" },
    { "maxbuf=16," OK, -EPROTO, "maxbuf '16' is out of range" },
    { "maxbuf=16777216," OK, -EPROTO, "maxbuf '16777216' is out of range" },
    { "maxbuf=99999999999999999999," OK, -EPROTO, "is not a size" },
    { "maxbuf=0x20," OK, -EPROTO, "maxbuf '0x20' is not a size" },
    { "maxbuf=\"\"," OK, -EPROTO, "maxbuf '' is out of range" },
    { "realm=\"open", -EPROTO, "a quoted value does not end" },
    { "realm=\"open\\", -EPROTO, "a quoted value does not end" },
    { "realm=\"a\x01" "b\"," OK, -EPROTO, "a value has a control character (1)" },
    { "realm=\"a\\\x7f\"," OK, -EPROTO, "a value has a control character (127)" },
    { "realm=," OK, -EPROTO, "a name has no value" },
    { "realm=", -EPROTO, "a name has no value" },
    { "realm", -EPROTO, "it is not a list of name=value" },
    { "=x," OK, -EPROTO, "it is not a list of name=value" },
    { "a b=c," OK, -EPROTO, "it is not a list of name=value" },
    { "realm=\"x\"y," OK, -EPROTO, "there is no comma after 'realm'" },
    { "realm=a b," OK, -EPROTO, "there is no comma after 'realm'" },
    { "HTTP/1.1 404 Not Found\r\n", -EPROTO, "it is not a list of name=value" },
    /* clang-format on */
};

static void bad_challenges_are_refused_with_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_CHALLENGE c = { 0 };
        struct err err = ERR_INIT;
        int r = challenge_parse(bad[i].text, strlen(bad[i].text), &c, &err);

        if (r != bad[i].code || !strstr(err.text, bad[i].says))
            fail_msg("row %zu: %d, '%s'", i, r, err.text);
        assert_null(c.nonce);
    }
}

static void a_nul_inside_a_value_is_refused(void **state)
{
    static const char text[] = "realm=\"a\0b\"," OK;
    AUTO_CHALLENGE c = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(challenge_parse(text, sizeof(text) - 1, &c, &err), -EPROTO);
}

static void every_beginning_of_a_challenge_is_safe_to_read(void **state)
{
    (void)state;
    for (size_t n = 0; n <= strlen(good[1].text); n++) {
        AUTO_FREE char *copy = malloc(n + !n);
        AUTO_CHALLENGE c = { 0 };
        struct err err = ERR_INIT;

        assert_non_null(copy); /* its own block, so that ASan sees one byte too many */
        memcpy(copy, good[1].text, n);
        (void)challenge_parse(copy, n, &c, &err);
    }
}

static void a_challenge_has_a_greatest_length(void **state)
{
    AUTO_CHALLENGE c = { 0 };
    struct err err = ERR_INIT;
    AUTO_BUF b = { .max = 4096 };

    (void)state;
    assert_int_equal(buf_add_str(&b, OK ",x="), 0);
    while (b.len < CHALLENGE_MAX)
        assert_int_equal(buf_add_u8(&b, 'y'), 0);
    assert_int_equal(challenge_parse(b.data, b.len, &c, &err), 0);
    challenge_done(&c);
    assert_int_equal(buf_add_u8(&b, 'y'), 0);
    assert_int_equal(challenge_parse(b.data, b.len, &c, &err), -EPROTO);
    assert_string_equal(err.text, "DIGEST-MD5: a challenge of 2048 bytes is too long");
}

#define PROOF "868f921d3b893ab464d1f834c866d4e9"

static void the_servers_proof_is_one_digest(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        { "rspauth=" PROOF, 0 },         { "RspAuth = \"" PROOF "\" ", 0 },
        { "later=1,rspauth=" PROOF, 0 }, { "", -EPROTO },
        { "rspauth=", -EPROTO },         { "rspauth=" PROOF "0", -EPROTO },
        { "rspauth=868f", -EPROTO },     { "rspauth=" PROOF ",rspauth=" PROOF, -EPROTO },
        { "nonce=\"n\"", -EPROTO },      { "\x01", -EPROTO },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        char proof[MD5_TEXT];
        int r = challenge_rspauth(rows[i].text, strlen(rows[i].text), proof, &err);

        if (r != rows[i].code)
            fail_msg("row %zu: %d, '%s'", i, r, err.text);
        if (r == 0)
            assert_string_equal(proof, PROOF);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_challenges_are_understood),
        cmocka_unit_test(bad_challenges_are_refused_with_a_sentence),
        cmocka_unit_test(a_nul_inside_a_value_is_refused),
        cmocka_unit_test(every_beginning_of_a_challenge_is_safe_to_read),
        cmocka_unit_test(a_challenge_has_a_greatest_length),
        cmocka_unit_test(the_servers_proof_is_one_digest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
