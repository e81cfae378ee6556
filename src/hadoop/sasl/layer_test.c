/* layer_test.c - protected messages in both directions, whole, damaged, repeated and reordered. */
#include "hadoop/sasl/digest.h"
#include "sasl/digest_peer.h"
#include "test.h"

static const size_t sizes[] = { 0, 1, 7, 8, 9, 1000, 70000, 200000 };

static const struct mode {
    enum sasl_qop qop;
    const char *cipher; /* NULL for auth-int */
} modes[] = {
    { SASL_INT, NULL },   { SASL_CONF, "3des" },   { SASL_CONF, "rc4" },
    { SASL_CONF, "des" }, { SASL_CONF, "rc4-56" }, { SASL_CONF, "rc4-40" },
};

/* A client and a server that are through with the exchange. */
struct pair {
    struct sasl *client;
    struct peer peer;
    struct buf token, message;
};

static void pair_start(struct pair *t, const struct mode *m)
{
    const struct sasl_digest_conf conf = {
        .username = "me",
        .password = "secret",
        .protocol = "hdfs",
        .server_id = "0",
        .qops = SASL_QOP_BIT(m->qop),
        .ciphers = m->cipher,
    };
    char text[512], last[64];
    struct err err = ERR_INIT;
    size_t n;

    *t = (struct pair){ .peer = { "me", "secret", "0" } };
    buf_init(&t->token, MIB);
    buf_init(&t->message, MIB);
    assert_int_equal(sasl_digest_new(&conf, &t->client, &err), 0);
    n = peer_challenge(&t->peer, "auth,auth-int,auth-conf", "3des,rc4,des,rc4-56,rc4-40", text,
                       sizeof(text));
    assert_int_equal(sasl_step(t->client, text, n, &t->token, &err), 0);
    assert_true(peer_accept(&t->peer, buf_text(&t->token), last));
    buf_reset(&t->token);
    assert_int_equal(sasl_step(t->client, last, strlen(last), &t->token, &err), 0);
    assert_int_equal(t->token.len, 0);
    assert_true(sasl_done(t->client));
    assert_int_equal(sasl_qop(t->client), m->qop);
}

static void pair_end(struct pair *t)
{
    sasl_free(t->client);
    buf_done(&t->token);
    buf_done(&t->message);
}

/* Bytes that differ from place to place and from size to size. */
static uint8_t *sample(size_t n)
{
    uint8_t *p = malloc(n + 1);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + (i >> 8) + n);
    return p;
}

/* The server's token for `n` sample bytes, in t->token. */
static void from_server(struct pair *t, size_t n)
{
    AUTO_FREE uint8_t *p = sample(n);
    uint8_t *room;

    buf_reset(&t->token);
    assert_int_equal(buf_room(&t->token, n + 24, &room), 0);
    t->token.len = peer_wrap(&t->peer, p, n, room);
}

static int unwrap(struct pair *t, struct err *err)
{
    buf_reset(&t->message);
    return sasl_unwrap(t->client, t->token.data, t->token.len, &t->message, err);
}

static void messages_of_every_size_reach_the_server(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        struct err err = ERR_INIT;
        struct pair t;

        pair_start(&t, &modes[m]);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            AUTO_FREE uint8_t *p = sample(sizes[i]);
            long n;

            buf_reset(&t.token);
            assert_int_equal(sasl_wrap(t.client, p, sizes[i], &t.token, &err), 0);
            if (modes[m].cipher && sizes[i] >= 8)
                assert_memory_not_equal(t.token.data, p, 8);
            n = peer_unwrap(&t.peer, t.token.data, t.token.len);
            assert_int_equal(n, sizes[i]);
            assert_memory_equal(t.token.data, p, sizes[i]);
        }
        pair_end(&t);
    }
}

static void messages_of_every_size_come_from_the_server(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        struct err err = ERR_INIT;
        struct pair t;

        pair_start(&t, &modes[m]);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            AUTO_FREE uint8_t *p = sample(sizes[i]);

            from_server(&t, sizes[i]);
            if (unwrap(&t, &err) < 0)
                fail_msg("mode %zu, size %zu: %s", m, sizes[i], err.text);
            assert_int_equal(t.message.len, sizes[i]);
            if (sizes[i])
                assert_memory_equal(t.message.data, p, sizes[i]);
        }
        pair_end(&t);
    }
}

static void messages_are_appended(void **state)
{
    struct err err = ERR_INIT;
    struct pair t;

    (void)state;
    pair_start(&t, &modes[1]);
    for (int i = 0; i < 3; i++) {
        from_server(&t, 100);
        assert_int_equal(sasl_unwrap(t.client, t.token.data, t.token.len, &t.message, &err), 0);
    }
    assert_int_equal(t.message.len, 300);
    pair_end(&t);
}

static void any_changed_byte_is_noticed(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++)
        for (size_t at = 0; at < 40; at++) {
            struct err err = ERR_INIT;
            struct pair t;

            pair_start(&t, &modes[m]);
            from_server(&t, 20);
            if (at < t.token.len) {
                t.token.data[at] ^= 0x10;
                assert_int_equal(unwrap(&t, &err), -EBADMSG);
                assert_int_equal(t.message.len, 0);
                t.token.data[at] ^= 0x10; /* too late: the layer is finished */
                assert_int_equal(unwrap(&t, &err), -EPROTO);
                assert_int_equal(sasl_wrap(t.client, "x", 1, &t.token, &err), -EPROTO);
            }
            pair_end(&t);
        }
}

static void every_shorter_token_is_refused(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++)
        for (size_t n = 0; n < 36; n++) {
            struct err err = ERR_INIT;
            struct pair t;

            pair_start(&t, &modes[m]);
            from_server(&t, 20);
            AUTO_FREE uint8_t *copy = malloc(n + 1);
            assert_non_null(copy);
            memcpy(copy, t.token.data, n);
            assert_int_equal(sasl_unwrap(t.client, copy, n, &t.message, &err), -EBADMSG);
            pair_end(&t);
        }
}

static void a_message_sent_again_is_refused(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        struct err err = ERR_INIT;
        struct pair t;

        pair_start(&t, &modes[m]);
        from_server(&t, 50);
        assert_int_equal(unwrap(&t, &err), 0);
        assert_int_equal(unwrap(&t, &err), -EBADMSG);
        assert_string_equal(err.text,
                            "DIGEST-MD5: protected message number 0 came where 1 was due");
        pair_end(&t);
    }
}

static void a_message_out_of_order_is_refused(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        struct err err = ERR_INIT;
        struct pair t;

        pair_start(&t, &modes[m]);
        from_server(&t, 50);
        from_server(&t, 60);
        assert_int_equal(unwrap(&t, &err), -EBADMSG);
        assert_string_equal(err.text,
                            "DIGEST-MD5: protected message number 1 came where 0 was due");
        pair_end(&t);
    }
}

static void a_token_of_another_version_is_refused(void **state)
{
    struct err err = ERR_INIT;
    struct pair t;

    (void)state;
    pair_start(&t, &modes[0]);
    from_server(&t, 5);
    t.token.data[t.token.len - 5] = 2;
    assert_int_equal(unwrap(&t, &err), -EBADMSG);
    assert_string_equal(err.text, "DIGEST-MD5: a protected message of unknown version 2");
    pair_end(&t);
}

/* A server with the right keys and wrong padding: as bad as a wrong MAC, and told the same way. */
static void wrong_padding_reads_like_a_wrong_mac(void **state)
{
    static const uint8_t message[] = { 'a', 'b', 'c', 'd', 2, 3 }; /* 2, 2 would be right */
    static const uint8_t trailer[] = { 0, 1, 0, 0, 0, 0 };
    struct err err = ERR_INIT;
    struct pair t;
    uint8_t mac[16], *p;

    (void)state;
    pair_start(&t, &modes[1]);
    assert_int_equal(buf_room(&t.token, 22, &p), 0);
    memcpy(p, message, sizeof(message));
    peer_mac(&t.peer.out, p, 4, mac);
    memcpy(p + 6, mac, 10);
    peer_crypt(&t.peer, &t.peer.out, p, 16, DES_ENCRYPT);
    memcpy(p + 16, trailer, sizeof(trailer));
    t.token.len = 22;
    assert_int_equal(unwrap(&t, &err), -EBADMSG);
    assert_string_equal(err.text, "DIGEST-MD5: protected message number 0 was damaged or forged");
    pair_end(&t);
}

static void the_buffers_ceiling_bounds_a_message(void **state)
{
    struct err err = ERR_INIT;
    struct pair t, other;

    (void)state;
    pair_start(&t, &modes[0]);
    from_server(&t, 2000);
    t.message.max = 1000;
    assert_int_equal(unwrap(&t, &err), -E2BIG);
    assert_string_equal(err.text, "a protected message of 2016 bytes is over the limit of 1000");
    pair_end(&t);

    pair_start(&other, &modes[1]);
    other.token.max = 40;
    assert_int_equal(sasl_wrap(other.client, err.text, 100, &other.token, &err), -E2BIG);
    assert_int_equal(other.token.len, 0);
    pair_end(&other);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_every_size_reach_the_server),
        cmocka_unit_test(messages_of_every_size_come_from_the_server),
        cmocka_unit_test(messages_are_appended),
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(every_shorter_token_is_refused),
        cmocka_unit_test(a_message_sent_again_is_refused),
        cmocka_unit_test(a_message_out_of_order_is_refused),
        cmocka_unit_test(a_token_of_another_version_is_refused),
        cmocka_unit_test(wrong_padding_reads_like_a_wrong_mac),
        cmocka_unit_test(the_buffers_ceiling_bounds_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
