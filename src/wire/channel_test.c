/* channel_test.c - claims about messages over streams. */
#include "agent.pb-c.h"
#include "test.h"
#include "wire/channel.h"
#include "wire/wire_testing.h"

#include <stdio.h>
#include <string.h>

static const struct channel_limits limits = { .frame_max = 64 * KIB, .queue_max = 256 * KIB };

struct world {
    struct loop *loop;
    struct channel *a, *b;
    struct stream *raw; /* the other end, where a test speaks for itself */
    int result;
    bool done;
};

static void start(struct world *w)
{
    struct stream *s[2] = { 0 };
    int r;

    connected_streams(w->loop, s);
    r = channel_new(w->loop, s[0], &limits, &w->a, NULL);
    if (r < 0)
        stream_close(s[1]);
    assert_int_equal(r, 0);
    assert_int_equal(channel_new(w->loop, s[1], &limits, &w->b, NULL), 0);
}

static void start_raw(struct world *w)
{
    struct stream *s[2] = { 0 };

    connected_streams(w->loop, s);
    w->raw = s[0];
    assert_int_equal(channel_new(w->loop, s[1], &limits, &w->b, NULL), 0);
}

static int finish(struct world *w)
{
    w->a = channel_close(w->a);
    w->b = channel_close(w->b);
    w->raw = stream_close(w->raw);
    return 0;
}

static int send_note(struct channel *c, const char *text, uint32_t level, struct err *err)
{
    Agent__Note note = AGENT__NOTE__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    note.text = (char *)text;
    note.level = level;
    m.body_case = AGENT__TO_MASTER__BODY_NOTE;
    m.note = &note;
    return channel_send(c, &m.base, err);
}

static int read_note(struct world *w, struct channel *c, uint32_t *ret_level, struct err *err)
{
    ProtobufCMessage *m = NULL;
    int r = channel_read(c, &agent__to_master__descriptor, loop_in(w->loop, TEST_MS), &m, err);

    if (r <= 0)
        return r;
    assert_int_equal(((Agent__ToMaster *)m)->body_case, AGENT__TO_MASTER__BODY_NOTE);
    *ret_level = ((Agent__ToMaster *)m)->note->level;
    protobuf_c_message_free_unpacked(m, NULL);
    return r;
}

#define MANY 2000

static void send_many(void *arg)
{
    struct world *w = arg;

    for (uint32_t i = 0; i < MANY && w->result == 0; i++) {
        w->result = send_note(w->a, "a line of about sixty bytes, as agents send them now and then",
                              i, NULL);
        if (w->result == 0 && channel_queued(w->a) > 100 * KIB)
            w->result = channel_flush(w->a, loop_in(w->loop, TEST_MS), NULL);
    }
    w->done = true;
}

static int in_order(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;

    start(w);
    assert_int_equal(fiber_start(w->loop, send_many, w, NULL, NULL), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t level = MANY;

        assert_int_equal(read_note(w, w->b, &level, &err), 1);
        assert_int_equal(level, i);
    }
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(w->result, 0);
    assert_int_equal(channel_flush(w->a, loop_in(w->loop, TEST_MS), &err), 0);
    assert_int_equal(channel_queued(w->a), 0);
    return finish(w);
}

static void messages_arrive_whole_and_in_order(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, in_order, &w);
}

static int at_the_limit(void *arg)
{
    struct world *w = arg;
    AUTO_FREE char *text = calloc(1, limits.frame_max + 1);
    struct err err = ERR_INIT;
    uint32_t level = 0;

    assert_non_null(text);
    memset(text, 'x', limits.frame_max);
    start(w);
    assert_int_equal(send_note(w->a, text, 1, &err), -E2BIG);
    assert_non_null(strstr(err.text, "a message agent.ToMaster of 65"));
    text[limits.frame_max - 10] = '\0';
    assert_int_equal(send_note(w->a, text, 2, &err), 0);
    assert_int_equal(send_note(w->a, "", 3, &err), 0);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(level, 2);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(level, 3);
    return finish(w);
}

static void a_message_too_large_to_send_leaves_the_channel_as_it_was(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, at_the_limit, &w);
}

struct bad_row {
    const char *bytes;
    size_t n;
    int code;
    const char *text;
};

static void expect_break(struct world *w, const struct bad_row *row)
{
    struct world other = { .loop = w->loop };
    struct err err = ERR_INIT;
    uint32_t level = 0;

    start(&other);
    start_raw(w);
    assert_int_equal(stream_write(w->raw, row->bytes, row->n, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(shutdown(sock_fd(stream_sock(w->raw)), SHUT_WR), 0);
    assert_int_equal(read_note(w, w->b, &level, &err), row->code);
    assert_string_equal(err.text, row->text);
    err_clear(&err);
    assert_int_equal(read_note(w, w->b, &level, &err), row->code);
    assert_string_equal(err.text, row->text);
    assert_int_equal(send_note(w->b, "too late", 0, NULL), row->code);
    assert_int_equal(channel_flush(w->b, loop_in(w->loop, TEST_MS), NULL), row->code);
    assert_int_equal(send_note(other.a, "we are fine", 5, &err), 0);
    assert_int_equal(read_note(&other, other.b, &level, &err), 1);
    finish(&other);
    finish(w);
}

static int break_it(void *arg)
{
    static const struct bad_row rows[] = {
        { "\x00\x01\x00\x01", 4, -E2BIG, "a message of 65537 bytes, at most 65536" },
        { "\xff\xff\xff\xff", 4, -E2BIG, "a message of 4294967295 bytes, at most 65536" },
        { "\x00\x00\x00\x02\x0a\xff", 6, -EBADMSG,
          "2 bytes that are not a valid message agent.ToMaster" },
        { "\x00\x00", 2, -ENODATA, "the other side ended inside a message" },
        { "\x00\x00\x00\x05\x0a", 5, -ENODATA, "the other side ended inside a message" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_break(arg, &rows[i]);
    return 0;
}

static void a_bad_message_breaks_its_channel_and_nothing_else(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, break_it, &w);
}

static int overflow(void *arg)
{
    struct world *w = arg;
    AUTO_FREE char *text = calloc(1, 32 * KIB);
    struct err err = ERR_INIT;
    uint32_t level;
    int r = 0;

    assert_non_null(text);
    memset(text, 'x', 32 * KIB - 1);
    start(w);
    for (int i = 0; i < 1000 && r == 0; i++) {
        r = send_note(w->a, text, 1, &err);
        assert_int_equal(fiber_yield(w->loop), 0);
        assert_true(channel_queued(w->a) <= limits.queue_max);
    }
    assert_int_equal(r, -ENOBUFS);
    assert_non_null(strstr(err.text, "the other side reads too slowly"));
    assert_int_equal(read_note(w, w->a, &level, &err), -ENOBUFS);
    return finish(w);
}

static void a_peer_that_does_not_read_breaks_the_channel_at_its_ceiling(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, overflow, &w);
}

static int in_pieces(void *arg)
{
    /* A ToMaster with a note of level 7, then half of the next. */
    static const uint8_t bytes[] = { 0, 0, 0, 4, 0x4a, 2, 8, 7, 0, 0, 0, 4, 0x4a };
    struct world *w = arg;
    ProtobufCMessage *m = NULL;
    struct err err = ERR_INIT;
    uint32_t level = 0;

    start_raw(w);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(stream_write(w->raw, bytes + i, 1, loop_in(w->loop, TEST_MS)), 0);
        assert_int_equal(
            channel_read(w->b, &agent__to_master__descriptor, loop_in(w->loop, 1), &m, &err),
            -ETIMEDOUT);
    }
    assert_int_equal(stream_write(w->raw, bytes + 7, 6, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(level, 7);
    assert_int_equal(stream_write(w->raw, "\x02\x08\x09", 3, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(level, 9);
    w->raw = stream_close(w->raw);
    assert_int_equal(read_note(w, w->b, &level, &err), 0);
    return finish(w);
}

static void a_message_may_come_byte_by_byte_across_deadlines(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, in_pieces, &w);
}

static void read_until_told(void *arg)
{
    struct world *w = arg;
    ProtobufCMessage *m = NULL;
    struct err err = ERR_INIT;

    w->result = channel_read(w->b, &agent__to_master__descriptor, LOOP_NEVER, &m, &err);
    w->done = true;
}

static int close_under_a_reader(void *arg)
{
    struct world *w = arg;

    start(w);
    assert_int_equal(send_note(w->b, "never to be written", 1, NULL), 0);
    assert_int_equal(fiber_start(w->loop, read_until_told, w, NULL, NULL), 0);
    assert_int_equal(fiber_yield(w->loop), 0);
    w->b = channel_close(w->b);
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(w->result, -ECONNABORTED);
    return finish(w);
}

static void closing_ends_the_read_of_another_fiber(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, close_under_a_reader, &w);
}

static int the_peer_dies(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    int r = 0;

    start_raw(w);
    w->raw = stream_close(w->raw);
    for (int i = 0; i < 10000 && r == 0; i++) {
        r = send_note(w->b, "hello?", 1, &err);
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    }
    assert_int_equal(r, -EPIPE);
    assert_string_equal(err.text, "write to the other side: Broken pipe");
    return finish(w);
}

static void sending_to_a_dead_peer_fails_soon(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, the_peer_dies, &w);
}

static int last_words(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    uint32_t level = 0;

    start(w);
    assert_int_equal(send_note(w->a, "it is over", 1, &err), 0);
    assert_int_equal(send_note(w->a, "farewell", 2, &err), 0);
    assert_int_equal(channel_flush(w->a, loop_in(w->loop, TEST_MS), &err), 0);
    w->a = channel_close(w->a);
    assert_int_equal(send_note(w->b, "are you there?", 3, &err), 0);
    assert_int_equal(channel_flush(w->b, loop_in(w->loop, TEST_MS), &err), -EPIPE);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(read_note(w, w->b, &level, &err), 1);
    assert_int_equal(level, 2);
    assert_int_equal(read_note(w, w->b, &level, &err), 0);
    return finish(w);
}

static void last_words_are_heard_although_nothing_can_be_said(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, last_words, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_whole_and_in_order),
        cmocka_unit_test(a_message_too_large_to_send_leaves_the_channel_as_it_was),
        cmocka_unit_test(a_bad_message_breaks_its_channel_and_nothing_else),
        cmocka_unit_test(a_peer_that_does_not_read_breaks_the_channel_at_its_ceiling),
        cmocka_unit_test(a_message_may_come_byte_by_byte_across_deadlines),
        cmocka_unit_test(closing_ends_the_read_of_another_fiber),
        cmocka_unit_test(sending_to_a_dead_peer_fails_soon),
        cmocka_unit_test(last_words_are_heard_although_nothing_can_be_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
