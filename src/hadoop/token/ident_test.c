/* ident_test.c - see ident.h. The identifiers in testdata/ were made by Hadoop's own classes, those
 * in the rows were seen on a real cluster. */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/token/ident.h"
#include "hadoop/token/pb.h"
#include "test.h"

#include <ctype.h>
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

static size_t unhex(const char *hex, uint8_t *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (; *hex; hex += 2)
        out[n++] =
            (uint8_t)((strchr(digits, hex[0]) - digits) << 4 | (strchr(digits, hex[1]) - digits));
    return n;
}

static void every_kind_is_said_in_words(void **state)
{
    static const struct {
        const char *kind, *file, *text;
    } rows[] = {
        { KIND_HDFS, "hdfs.id",
          "HDFS_DELEGATION_TOKEN for s, owner alice, renewer yarn, number 12, key -1234567, issued "
          "2023-11-14 22:13:20 UTC, ends 2023-11-21 22:13:20 UTC" },
        { KIND_RM, "rm.id",
          "RM_DELEGATION_TOKEN for s, owner alice@EXAMPLE.COM, by oozie, renewer rm, number 3, key "
          "2, issued 2023-11-14 22:13:20 UTC, ends 2023-11-21 22:13:20 UTC" },
        { KIND_RM, "rm_old.id",
          "RM_DELEGATION_TOKEN for s, owner alice, renewer rm, number 3, key 2, issued 2023-11-14 "
          "22:13:20 UTC, ends 2023-11-21 22:13:20 UTC" },
        { KIND_AMRM, "amrm.id",
          "YARN_AM_RM_TOKEN for s, appattempt_1700000000123_0007_000001, key -987654321" },
        { KIND_NM, "nm.id",
          "NMToken for s, appattempt_1700000000123_0007_000001, owner alice, node "
          "127.0.0.12:28123, key -5" },
        { KIND_CONTAINER, "container.id",
          "ContainerToken for s, container_e02_1700000000123_0007_01_000009, owner alice, node "
          "127.0.0.12:28123, key 77, issued 2023-11-14 22:13:20 UTC, ends 2023-11-14 22:23:20 "
          "UTC" },
        { KIND_CLIENT_TO_AM, "client.id",
          "YARN_CLIENT_TOKEN for s, appattempt_1700000000123_0007_000001, owner bob" },
        { KIND_BLOCK, "block_w.id",
          "HDFS_BLOCK_TOKEN for s, owner alice, block 1073741827, pool BP-1-127.0.0.1-17, key "
          "-2147, ends 2023-11-14 22:23:20 UTC" },
        { KIND_BLOCK, "block_pb.id",
          "HDFS_BLOCK_TOKEN for s, owner alice, block 1073741827, pool BP-1-127.0.0.1-17, key "
          "-2147, ends 2023-11-14 22:23:20 UTC" },
        { "some-other", "block_pb.id", "some-other for s" },
        { KIND_NM, "hdfs.id", "NMToken for s, an identifier of 32 bytes that cannot be read" },
        { KIND_HDFS, "nm.id",
          "HDFS_DELEGATION_TOKEN for s, an identifier of 51 bytes that cannot be read" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = NULL;
        uint8_t id[256];
        struct token t = { .id = id,
                           .password = (uint8_t *)"secret",
                           .password_len = 6,
                           .kind = (char *)rows[i].kind,
                           .service = (char *)"s" };

        t.id_len = read_file(rows[i].file, id, sizeof(id));
        assert_int_equal(token_describe(&t, &text), 0);
        assert_string_equal(text, rows[i].text);
        assert_null(strstr(text, "secret"));
    }
}

static void identifiers_of_a_real_cluster_are_read(void **state)
{
    static const struct {
        const char *kind, *hex, *text;
    } rows[] = {
        { KIND_AMRM, "0a0d0a09084b10a99cc7ec9d34100110b6c68df9ffffffffff01",
          "YARN_AM_RM_TOKEN, appattempt_1794718682665_0075_000001, key -14458058" },
        { KIND_NM,
          "0a0d0a09084b10a99cc7ec9d34100112100a0a3132372e302e302e313210d9db011a04726f6f7420eef2ce"
          "c1f8ffffffff01",
          "NMToken, appattempt_1794718682665_0075_000001, owner root, node 127.0.0.12:28121, key "
          "-2009876114" },
        { KIND_CONTAINER,
          "0a11120d0a09084b10a99cc7ec9d341001180212103132372e302e302e31323a32383132311a04726f6f7422"
          "29084010011a130a096d656d6f72792d6d6210401a024d6920001a0e0a0676636f72657310011a00200028"
          "809dfbec9d3430b2c6d1bff9ffffffff0138a99cc7ec9d34420208014892cdd6ec9d345a00600268017000"
          "7800",
          "ContainerToken, container_1794718682665_0075_01_000002, owner root, node "
          "127.0.0.12:28121, key -1745591502, issued 2026-11-15 05:02:14 UTC, ends 2026-11-15 "
          "05:12:14 UTC" },
        { KIND_BLOCK,
          "8a01a1dfbc6c8f8c084079e800000005616c6963650000002542502d313638303932313234372d3132372e30"
          "2e302e312d313739343731383937313233308c400000030105575249544501044449534b01000000274453"
          "2d35643231343130312d643237652d343833312d613539652d333134356562353039306638",
          "HDFS_BLOCK_TOKEN, owner alice, block 1073741827, pool "
          "BP-1680921247-127.0.0.1-1794718971230, key 138443240, ends 2026-11-15 15:03:50 UTC" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = NULL;
        uint8_t id[256];
        struct token t = { .id = id, .kind = (char *)rows[i].kind, .service = (char *)"" };

        t.id_len = unhex(rows[i].hex, id);
        assert_int_equal(token_describe(&t, &text), 0);
        assert_string_equal(text, rows[i].text);
    }
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
        assert_int_equal(s.expires, 1700000600000);
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

static void hostile_texts_cannot_move_the_cursor(void **state)
{
    AUTO_FREE char *text = NULL;
    struct token t = { .kind = (char *)"K\033[2J\n", .service = (char *)"s\rx" };

    (void)state;
    assert_int_equal(token_describe(&t, &text), 0);
    for (const char *p = text; *p; p++)
        assert_false(iscntrl((unsigned char)*p));
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
        cmocka_unit_test(every_kind_is_said_in_words),
        cmocka_unit_test(identifiers_of_a_real_cluster_are_read),
        cmocka_unit_test(the_secret_of_a_block_token_is_found_in_both_forms),
        cmocka_unit_test(a_truncated_identifier_is_refused_or_ends_between_its_parts),
        cmocka_unit_test(hostile_texts_cannot_move_the_cursor),
        cmocka_unit_test(tokens_travel_in_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
