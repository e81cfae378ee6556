/* yarn_keytab_test.c - see yarn_keytab.h */
#include "platform/yarn/yarn_keytab.h"
#include "test.h"

#include <string.h>

static const char secret[] = "\5\2 the key of alice, which is nobody's business";

static struct stream_key key_of(const char *job, char fill)
{
    struct stream_key k = { 0 };

    snprintf(k.identity, sizeof(k.identity), "%s", job);
    memset(k.key, fill, sizeof(k.key));
    return k;
}

/* 0, or -ENOMEM under torture. */
static int seal(const struct stream_key *key, struct buf *ret)
{
    AUTO_YARN_KEYTAB k = { 0 };
    struct err err = ERR_INIT;

    yarn_keytab_init(&k);
    k.principal = strdup("alice@EXAMPLE.COM");
    assert_non_null(k.principal);
    assert_int_equal(strs_add(&k.places, "/"), 0);
    assert_int_equal(strs_add(&k.places, "hdfs://ns2/data"), 0);
    assert_int_equal(buf_add(&k.keytab, secret, sizeof(secret)), 0);
    return yarn_keytab_seal(&k, key, ret, &err);
}

static void what_was_sealed_can_be_opened(void **state)
{
    const struct stream_key key = key_of("application_1_0001", 7);
    AUTO_BUF sealed = { .max = YARN_KEYTAB_SEALED_MAX };
    AUTO_YARN_KEYTAB k = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(seal(&key, &sealed), 0);
    assert_null(memmem(sealed.data, sealed.len, "alice", 5));
    assert_int_equal(yarn_keytab_open(sealed.data, sealed.len, &key, &k, &err), 0);
    assert_string_equal(k.principal, "alice@EXAMPLE.COM");
    assert_int_equal(k.places.n, 2);
    assert_string_equal(k.places.v[0], "/");
    assert_string_equal(k.places.v[1], "hdfs://ns2/data");
    assert_int_equal(k.keytab.len, sizeof(secret));
    assert_memory_equal(k.keytab.data, secret, sizeof(secret));
}

static void nothing_else_opens_it(void **state)
{
    const struct stream_key key = key_of("application_1_0001", 7);
    const struct stream_key others[] = { key_of("application_1_0001", 8),
                                         key_of("application_1_0002", 7) };
    AUTO_BUF sealed = { .max = YARN_KEYTAB_SEALED_MAX };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(seal(&key, &sealed), 0);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        AUTO_YARN_KEYTAB k = { 0 };

        assert_int_equal(yarn_keytab_open(sealed.data, sealed.len, &others[i], &k, &err), -EBADMSG);
        assert_string_equal(err.text, "the keytab of the job is not sealed with its key");
        assert_null(k.principal);
    }
}

static void no_byte_of_it_can_be_changed_or_left_out(void **state)
{
    const struct stream_key key = key_of("application_1_0001", 7);
    AUTO_BUF sealed = { .max = YARN_KEYTAB_SEALED_MAX };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(seal(&key, &sealed), 0);
    for (size_t i = 0; i < sealed.len; i++) {
        AUTO_YARN_KEYTAB k = { 0 };

        sealed.data[i] ^= 1;
        assert_int_equal(yarn_keytab_open(sealed.data, sealed.len, &key, &k, &err), -EBADMSG);
        sealed.data[i] ^= 1;
    }
    for (size_t n = 0; n < sealed.len; n++) {
        AUTO_YARN_KEYTAB k = { 0 };

        assert_int_equal(yarn_keytab_open(sealed.data, n, &key, &k, &err), -EBADMSG);
    }
}

static void the_same_keytab_is_sealed_differently_each_time(void **state)
{
    const struct stream_key key = key_of("application_1_0001", 7);
    AUTO_BUF first = { .max = YARN_KEYTAB_SEALED_MAX };
    AUTO_BUF second = { .max = YARN_KEYTAB_SEALED_MAX };

    (void)state;
    assert_int_equal(seal(&key, &first), 0);
    assert_int_equal(seal(&key, &second), 0);
    assert_int_equal(first.len, second.len);
    assert_memory_not_equal(first.data, second.data, first.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_can_be_opened),
        cmocka_unit_test(nothing_else_opens_it),
        cmocka_unit_test(no_byte_of_it_can_be_changed_or_left_out),
        cmocka_unit_test(the_same_keytab_is_sealed_differently_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
