/* grpc_frame_test.c - claims about a message behind its prefix. */
#include "test.h"
#include "wire/grpc/grpc_frame.h"

#include <string.h>

#define HELLO "\0\0\0\0\5hello"
#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* In pieces of `step` bytes. */
static int feed(struct grpc_frame *f, const uint8_t *p, size_t n, size_t step)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < n; at += step)
        r = grpc_frame_feed(f, p + at, step < n - at ? step : n - at, NULL);
    return r;
}

static void pieces_of_any_size_make_the_message(void **state)
{
    (void)state;
    for (size_t step = 1; step <= 10; step++) {
        struct grpc_frame f;

        grpc_frame_init(&f, 5);
        assert_int_equal(feed(&f, BYTES(HELLO), step), 0);
        assert_true(grpc_frame_complete(&f));
        assert_int_equal(f.body.len, 5);
        assert_memory_equal(f.body.data, "hello", 5);
        grpc_frame_done(&f);
    }
}

static void what_is_not_all_there_is_not_complete(void **state)
{
    (void)state;
    for (size_t n = 0; n < 10; n++) {
        struct grpc_frame f;

        grpc_frame_init(&f, 100);
        assert_int_equal(feed(&f, (const uint8_t *)HELLO, n, 10), 0);
        assert_false(grpc_frame_complete(&f));
        grpc_frame_done(&f);
    }
}

static void a_bad_message_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int r;
    } rows[] = {
        { "\0\0\0\0\6", 5, -E2BIG },   { "\0\xff\xff\xff\xff", 5, -E2BIG },
        { "\1\0\0\0\1x", 6, -EPROTO }, { "\xff\0\0\0\0", 5, -EPROTO },
        { HELLO "\0", 11, -EPROTO },   { "\0\0\0\0\0x", 6, -EPROTO },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct grpc_frame f;

        grpc_frame_init(&f, 5);
        assert_int_equal(feed(&f, (const uint8_t *)rows[i].bytes, rows[i].n, 1), rows[i].r);
        grpc_frame_done(&f);
        grpc_frame_init(&f, 5);
        assert_int_equal(feed(&f, (const uint8_t *)rows[i].bytes, rows[i].n, 20), rows[i].r);
        grpc_frame_done(&f);
    }
}

static void an_empty_message_is_one(void **state)
{
    struct grpc_frame f;

    (void)state;
    grpc_frame_init(&f, 5);
    assert_int_equal(feed(&f, BYTES("\0\0\0\0\0"), 3), 0);
    assert_true(grpc_frame_complete(&f));
    grpc_frame_done(&f);
}

static void the_prefix_we_write_is_the_one_we_read(void **state)
{
    uint8_t prefix[GRPC_PREFIX];
    struct grpc_frame f;

    (void)state;
    grpc_frame_prefix(prefix, 0x01020304);
    assert_memory_equal(prefix, "\0\1\2\3\4", GRPC_PREFIX);
    grpc_frame_init(&f, SIZE_MAX);
    assert_int_equal(feed(&f, prefix, sizeof(prefix), 2), 0);
    assert_int_equal(f.length, 0x01020304);
    grpc_frame_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_make_the_message),
        cmocka_unit_test(what_is_not_all_there_is_not_complete),
        cmocka_unit_test(a_bad_message_is_refused),
        cmocka_unit_test(an_empty_message_is_one),
        cmocka_unit_test(the_prefix_we_write_is_the_one_we_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
