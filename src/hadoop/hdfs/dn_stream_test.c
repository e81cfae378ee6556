/* dn_stream_test.c - two streams talk to each other over a socket pair. */
#include "hadoop/hdfs/dn_stream.h"
#include "hadoop/hdfs/packet.h"
#include "loop/fiber.h"
#include "test.h"

#include <string.h>
#include <sys/socket.h>

static const struct dn_stream_limits limits = {
    .connect_ms = 1000, .read_ms = 200, .write_ms = 1000, .buffer = 64
};

#define PIECE(text)                                                                                \
    {                                                                                              \
        (void *)(uintptr_t)(text), sizeof(text) - 1                                                \
    }

/* Two streams that talk to each other. */
struct ends {
    struct loop *loop;
    struct dn_stream *a, *b;
    void (*body)(struct ends *e);
};

static int run(void *arg)
{
    struct ends *e = arg;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(dn_stream_from_fd(e->loop, fds[0], "a", &limits, &e->a, NULL), 0);
    assert_int_equal(dn_stream_from_fd(e->loop, fds[1], "b", &limits, &e->b, NULL), 0);
    e->body(e);
    dn_stream_close(e->a);
    dn_stream_close(e->b);
    return 0;
}

static void with_ends(void (*body)(struct ends *e))
{
    struct ends e = { .body = body };

    assert_int_equal(loop_new(&e.loop, NULL), 0);
    assert_int_equal(loop_run(e.loop, run, &e, false), 0);
    loop_free(e.loop);
}

static void expect_bytes(struct dn_stream *s, const char *text)
{
    size_t n = strlen(text), have;
    const uint8_t *p;

    assert_int_equal(dn_stream_need(s, n, NULL), 0);
    p = dn_stream_bytes(s, &have);
    assert_true(have >= n);
    assert_memory_equal(p, text, n);
    dn_stream_eat(s, n);
}

static void pieces(struct ends *e)
{
    struct iovec iov[] = { PIECE("one"), { NULL, 0 }, PIECE("two") };

    assert_int_equal(dn_stream_write(e->a, iov, 3, NULL), 0);
    expect_bytes(e->b, "on");
    expect_bytes(e->b, "etw");
    assert_false(dn_stream_quiet(e->b));
    expect_bytes(e->b, "o");
    assert_true(dn_stream_quiet(e->b));
    assert_int_equal(dn_stream_send(e->b, "back", 4, NULL), 0);
    expect_bytes(e->a, "back");
}

static void bytes_come_as_they_were_sent_whatever_the_pieces(void **state)
{
    (void)state;
    with_ends(pieces);
}

/* More than the buffer and more than the socket takes at once: the reader's fiber runs between. */
#define MANY 3000000

static void send_many(void *arg)
{
    struct ends *e = arg;
    char *block = malloc(MANY);

    memset(block, 'x', MANY);
    assert_int_equal(dn_stream_send(e->a, block, MANY, NULL), 0);
    free(block);
}

static void large(struct ends *e)
{
    size_t have;

    assert_int_equal(fiber_start(e->loop, send_many, e, NULL, NULL), 0);
    assert_int_equal(dn_stream_need(e->b, 1000, NULL), 0);
    dn_stream_eat(e->b, 999);
    assert_int_equal(dn_stream_need(e->b, MANY - 999, NULL), 0);
    assert_int_equal(dn_stream_bytes(e->b, &have)[MANY - 1000], 'x');
    assert_int_equal(have, MANY - 999);
    dn_stream_eat(e->b, have);
}

static void the_buffer_grows_to_a_whole_packet(void **state)
{
    (void)state;
    with_ends(large);
}

static void hostile(struct ends *e)
{
    struct err err = ERR_INIT;
    struct view v;

    assert_int_equal(dn_stream_need(e->b, PACKET_MAX * 2, &err), -E2BIG);
    assert_int_equal(dn_stream_send(e->a, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11, NULL),
                     0);
    assert_int_equal(dn_stream_message(e->b, 100, &v, &err), -EPROTO);
    assert_string_equal(err.text, "b sent an invalid HDFS message");
    dn_stream_eat(e->b, 11);
    assert_int_equal(dn_stream_send(e->a, "\x65", 1, NULL), 0);
    assert_int_equal(dn_stream_message(e->b, 100, &v, NULL), -EPROTO);
    dn_stream_eat(e->b, 1);
    assert_int_equal(dn_stream_message(e->b, 100, &v, &err), -ETIMEDOUT);
    assert_string_equal(err.text, "b was silent for 0 s");
    e->a = dn_stream_close(e->a);
    assert_int_equal(dn_stream_need(e->b, 1, &err), -ENODATA);
    assert_string_equal(err.text, "b closed the connection");
}

static void lengths_that_cannot_be_and_silence_are_errors(void **state)
{
    (void)state;
    with_ends(hostile);
}

static void messages(struct ends *e)
{
    struct view v;

    assert_int_equal(dn_stream_send(e->a,
                                    "\x03"
                                    "abc"
                                    "\x00"
                                    "\x81\x00"
                                    "z",
                                    8, NULL),
                     0);
    assert_int_equal(dn_stream_message(e->b, 100, &v, NULL), 0);
    assert_int_equal(v.n, 3);
    assert_memory_equal(v.p, "abc", 3);
    assert_int_equal(dn_stream_message(e->b, 100, &v, NULL), 0);
    assert_int_equal(v.n, 0);
    assert_int_equal(dn_stream_message(e->b, 100, &v, NULL), 0);
    assert_int_equal(v.n, 1);
    assert_memory_equal(v.p, "z", 1);
}

static void messages_are_taken_one_by_one(void **state)
{
    (void)state;
    with_ends(messages);
}

static void encrypted(struct ends *e)
{
    static const uint8_t key1[32] = { 1 }, key2[32] = { 2 }, iv1[16] = { 3 }, iv2[16] = { 4 };
    struct dn_stream_keys keys = { key1, iv1, key2, iv2, 16 },
                          mirror = { key2, iv2, key1, iv1, 16 };
    uint8_t raw[4];

    assert_int_equal(dn_stream_encrypt(e->a, &keys, NULL), 0);
    assert_int_equal(dn_stream_send(e->a, "once", 4, NULL), 0);
    assert_int_equal(dn_stream_need(e->b, 4, NULL), 0);
    memcpy(raw, dn_stream_bytes(e->b, &(size_t){ 0 }), 4);
    assert_memory_not_equal(raw, "once", 4); /* b does not know the key yet */
    dn_stream_eat(e->b, 4);
    mirror.key_len = 17;
    assert_int_equal(dn_stream_encrypt(e->b, &mirror, NULL), -EPROTO);
}

static void encrypted_bytes_are_not_what_was_said(void **state)
{
    (void)state;
    with_ends(encrypted);
}

static void both_ways(struct ends *e)
{
    static const uint8_t key1[32] = { 1 }, key2[32] = { 2 }, iv1[16] = { 3 }, iv2[16] = { 4 };

    for (size_t n = 16; n <= 32; n += 8) {
        struct dn_stream_keys keys = { key1, iv1, key2, iv2, n };
        struct dn_stream_keys mirror = { key2, iv2, key1, iv1, n };
        struct iovec iov[] = { PIECE("head"), PIECE("body of some more bytes") };
        struct ends pair = { .loop = e->loop };
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        assert_int_equal(dn_stream_from_fd(e->loop, fds[0], "a", &limits, &pair.a, NULL), 0);
        assert_int_equal(dn_stream_from_fd(e->loop, fds[1], "b", &limits, &pair.b, NULL), 0);
        assert_int_equal(dn_stream_encrypt(pair.a, &keys, NULL), 0);
        assert_int_equal(dn_stream_encrypt(pair.b, &mirror, NULL), 0);
        assert_int_equal(dn_stream_write(pair.a, iov, 2, NULL), 0);
        expect_bytes(pair.b, "headbody of");
        assert_int_equal(dn_stream_send(pair.b, "answer", 6, NULL), 0);
        expect_bytes(pair.a, "answer");
        assert_int_equal(dn_stream_send(pair.a, "!", 1, NULL), 0);
        expect_bytes(pair.b, " some more bytes!");
        dn_stream_close(pair.a);
        dn_stream_close(pair.b);
    }
}

static void every_key_length_works_both_ways(void **state)
{
    (void)state;
    with_ends(both_ways);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_as_they_were_sent_whatever_the_pieces),
        cmocka_unit_test(the_buffer_grows_to_a_whole_packet),
        cmocka_unit_test(lengths_that_cannot_be_and_silence_are_errors),
        cmocka_unit_test(messages_are_taken_one_by_one),
        cmocka_unit_test(encrypted_bytes_are_not_what_was_said),
        cmocka_unit_test(every_key_length_works_both_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
