/* ident_test.c - see ident.h. The identifiers in testdata/ were made by Hadoop's own classes. */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/token/ident.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define DATA YDL_SOURCE_DIR "/src/hadoop/token/testdata/"

static size_t read_file(const char *name, uint8_t *out, size_t cap)
{
    AUTO_FREE char *path = str_printf(DATA "%s", name);
    FILE *f;
    size_t n;

    assert_non_null(path);
    f = fopen(path, "re");
    assert_non_null(f);
    n = fread(out, 1, cap, f);
    fclose(f);
    assert_true(n > 0 && n < cap);
    return n;
}

static void a_delegation_token_says_who_renews_it_and_until_when(void **state)
{
    static const struct {
        const char *kind, *file, *renewer;
        int32_t sequence;
    } rows[] = {
        { KIND_HDFS, "hdfs.id", "yarn", 12 },
        { "kms-dt", "hdfs.id", "yarn", 12 },
        { KIND_RM, "rm.id", "rm", 3 },
        { KIND_RM, "rm_old.id", "rm", 3 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_IDENT got = { 0 };
        uint8_t id[256];
        size_t n = read_file(rows[i].file, id, sizeof(id));

        assert_int_equal(ident_parse(rows[i].kind, id, n, &got, NULL), 0);
        assert_int_equal(got.type, IDENT_DELEGATION);
        assert_string_equal(got.renewer, rows[i].renewer);
        assert_int_equal(got.sequence, rows[i].sequence);
        assert_int_equal(got.issued, 1700000000000);
        assert_int_equal(got.expires, 1700604800000);
    }
}

static void what_is_no_delegation_token_is_not_taken_for_one(void **state)
{
    AUTO_IDENT got = { 0 };
    struct err err = ERR_INIT;
    uint8_t id[256];
    size_t n = read_file("block_pb.id", id, sizeof(id));

    (void)state;
    assert_int_equal(ident_parse("some-other", id, n, &got, NULL), 0);
    assert_int_equal(got.type, IDENT_UNKNOWN);
    assert_int_equal(ident_parse(KIND_HDFS, id, n, &got, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "HDFS_DELEGATION_TOKEN: an identifier of "));
}

static void the_secret_of_a_block_token_is_found_in_both_forms(void **state)
{
    static const struct {
        const char *file, *secret;
    } rows[] = {
        { "block_w.id", NULL },
        { "block_pb.id", NULL },
        { "block_w_secret.id", "auth-conf" },
        { "block_pb_secret.id", "auth-conf" },
    };
    struct block_secret s;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t id[256];
        size_t n = read_file(rows[i].file, id, sizeof(id));

        assert_int_equal(ident_block_secret(id, n, &s, &err), 0);
        assert_string_equal(s.pool, "BP-1-127.0.0.1-17");
        assert_int_equal(s.secret_len, rows[i].secret ? strlen(rows[i].secret) : 0);
        if (rows[i].secret)
            assert_memory_equal(s.secret, rows[i].secret, s.secret_len);
        block_secret_done(&s);
    }
    /* Without security there are no block tokens, only empty ones. */
    assert_int_equal(ident_block_secret(NULL, 0, &s, &err), 0);
    assert_null(s.secret);
}

static void a_truncated_identifier_is_refused_or_ends_between_its_parts(void **state)
{
    uint8_t id[256];
    size_t n = read_file("block_w_secret.id", id, sizeof(id));
    size_t good = 0;

    (void)state;
    for (size_t cut = 1; cut <= n; cut++) {
        AUTO_FREE uint8_t *exact = malloc(cut);
        struct block_secret s = { 0 };
        struct err err = ERR_INIT;
        int r;

        assert_non_null(exact);
        memcpy(exact, id, cut);
        r = ident_block_secret(exact, cut, &s, &err);
        assert_true(r == 0 || r == -EBADMSG);
        good += r == 0;
        block_secret_done(&s);
    }
    assert_int_equal(good, 4); /* modes, storage types, storage ids, secret */
}

static void tokens_travel_in_messages(void **state)
{
    AUTO_TOKEN copy = { 0 };
    struct token t = { .id = (uint8_t *)"i",
                       .id_len = 1,
                       .password = (uint8_t *)"pw",
                       .password_len = 2,
                       .kind = (char *)"K",
                       .service = (char *)"s" };
    Hadoop__Token m = token_to_pb(&t);
    uint8_t packed[64];
    size_t n = hadoop__token__pack(&m, packed);
    Hadoop__Token *back = hadoop__token__unpack(NULL, n, packed);
    int r;

    (void)state;
    assert_non_null(back);
    r = token_from_pb(&copy, back);
    hadoop__token__free_unpacked(back, NULL);
    assert_int_equal(r, 0);
    assert_string_equal(copy.kind, "K");
    assert_string_equal(copy.service, "s");
    assert_int_equal(copy.password_len, 2);
    assert_memory_equal(copy.password, "pw", 2);
    assert_memory_equal(copy.id, "i", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delegation_token_says_who_renews_it_and_until_when),
        cmocka_unit_test(what_is_no_delegation_token_is_not_taken_for_one),
        cmocka_unit_test(the_secret_of_a_block_token_is_found_in_both_forms),
        cmocka_unit_test(a_truncated_identifier_is_refused_or_ends_between_its_parts),
        cmocka_unit_test(tokens_travel_in_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
