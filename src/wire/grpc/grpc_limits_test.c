/* grpc_limits_test.c - claims about how much a client can make us hold, and how often it may send
 * what leads to nothing. */
#include "wire/grpc/grpc_testing.h"

#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"

/* ---- amounts ---- */

static void what_is_held_has_a_limit(void **state)
{
    static uint8_t large[600];
    struct grpc_world w = { .open_end = true,
                            .o.limits = { .message_max = 1000, .held_max = 1000 } };
    struct grpc_reply *a;

    (void)state;
    memcpy(large, "\0\0\0\3\xe8", 5);
    grpc_world_open(&w);
    a = grpc_world_ask(&w, "/t.T/Echo", large, sizeof(large));
    assert_false(a->closed);
    a = grpc_world_ask(&w, "/t.T/Echo", large, sizeof(large));
    assert_string_equal(a->status, "8");
    assert_true(a->closed);
    assert_int_equal(w.s.held.used, sizeof(large));
    grpc_world_close(&w);
}

static void unread_answers_have_a_limit(void **state)
{
    nghttp2_settings_entry shut = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };
    struct grpc_world w = { .o.limits.held_max = 5 * MIB / 2 };

    (void)state;
    grpc_world_open(&w);
    assert_int_equal(nghttp2_submit_settings(w.client, NGHTTP2_FLAG_NONE, &shut, 1), 0);
    assert_false(grpc_world_ask(&w, "/t.T/Big", GRPC_HELLO, 10)->closed);
    assert_false(grpc_world_ask(&w, "/t.T/Big", GRPC_HELLO, 10)->closed);
    assert_string_equal(grpc_world_ask(&w, "/t.T/Big", GRPC_HELLO, 10)->status, "8");
    grpc_world_close(&w);
}

static void a_cancelled_call_counts_until_its_handler_has_ended(void **state)
{
    struct grpc_world w = { .keep = true, .o.limits.streams_max = 3 };
    struct err gone = { .code = -ECANCELED, .text = "interrupted" };

    (void)state;
    grpc_world_open(&w);
    for (int32_t i = 0; i < 3; i++) {
        (void)grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10);
        nghttp2_submit_rst_stream(w.client, NGHTTP2_FLAG_NONE, 2 * i + 1, NGHTTP2_CANCEL);
        assert_int_equal(grpc_world_pump(&w), 0);
    }
    assert_int_equal(w.gone, 3);
    assert_int_equal(grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10)->error,
                     NGHTTP2_REFUSED_STREAM);
    for (size_t i = 0; i < 3; i++)
        grpc_session_ran(w.running[i], -ECANCELED, &gone);
    w.keep = false;
    assert_string_equal(grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10)->status, "0");
    grpc_world_close(&w);
}

/* ---- floods ---- */

struct flood {
    const char *first; /* frames that come once */
    size_t n_first;
    const char *frames;
    size_t n;
    bool streams; /* they are of a new stream each time */
};

static void next_stream(uint8_t *frames, size_t n, uint32_t i)
{
    for (size_t at = 0; at < n; at += 9U + frames[at + 2]) {
        frames[at + 7] = (uint8_t)((2 * i + 1) >> 8);
        frames[at + 8] = (uint8_t)(2 * i + 1);
    }
}

/* The same again and again; true when the server says that it has enough. */
static bool floods(const struct flood *f)
{
    struct grpc_world w = { 0 };
    uint8_t copy[64];
    const uint8_t *p;
    int r;

    grpc_world_open(&w);
    r = grpc_session_feed(&w.s, (const uint8_t *)PREFACE SETTINGS, 33, w.now, NULL);
    assert_int_equal(r, 0);
    r = grpc_session_feed(&w.s, (const uint8_t *)f->first, f->n_first, w.now, NULL);
    memcpy(copy, f->frames, f->n);
    for (uint32_t i = 0; i < 5000 && r == 0; i++) {
        if (f->streams)
            next_stream(copy, f->n, i);
        r = grpc_session_feed(&w.s, copy, f->n, w.now, NULL);
        while (r == 0 && grpc_session_take(&w.s, &p) > 0)
            ;
    }
    grpc_world_close(&w);
    return r == -EPROTO;
}

#define BYTES(text) (text), sizeof(text) - 1
#define OPEN_CALL                                                                                  \
    "\0\0\57\1\4\0\0\0\1\x83\x86\4\11/t.T/Echo\1\1x"                                               \
    "\0\14content-type\20application/grpc"
#define HEADERS "\0\0\6\1\4\0\0\0\1\x83\x86\x84\1\1x" /* POST, http, / and an authority */

static void a_flood_ends_the_connection(void **state)
{
    static const struct flood rows[] = {
        { BYTES(""), BYTES(HEADERS "\0\0\4\3\0\0\0\0\1\0\0\0\x8"), true }, /* rapid resets */
        { BYTES(""), BYTES("\0\0\x8\6\0\0\0\0\0pingping"), false },
        { BYTES(""), BYTES(SETTINGS), false },
        { BYTES(""), BYTES("\0\0\5\2\0\0\0\0\3\0\0\0\0\1"), false }, /* priorities */
        { BYTES(""), BYTES("\0\0\4\x8\0\0\0\0\0\0\0\0\1"), false },  /* windows */
        { BYTES(OPEN_CALL), BYTES("\0\0\0\0\0\0\0\0\1"), false },    /* empty data */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(floods(&rows[i]));
}

static void a_client_is_told_that_it_floods(void **state)
{
    struct grpc_world w = { 0 };
    int r = 0;

    (void)state;
    grpc_world_open(&w);
    for (int i = 0; i < 5000 && r == 0; i++) {
        assert_int_equal(nghttp2_submit_ping(w.client, NGHTTP2_FLAG_NONE, NULL), 0);
        r = grpc_world_pump(&w);
    }
    assert_int_equal(r, -EPROTO);
    assert_true(w.left);
    assert_int_equal(w.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    grpc_world_close(&w);
}

static void many_calls_are_no_flood(void **state)
{
    struct grpc_world w = { 0 };

    (void)state;
    grpc_world_open(&w);
    for (int i = 0; i < 5000; i++) {
        struct grpc_reply *a;

        memset(w.answers, 0, sizeof(w.answers));
        if (i % (GRPC_REPLIES - 1) ==
            0) { /* a connection of its own, whose clock stands still too */
            nghttp2_session_del(w.client);
            grpc_session_done(&w.s);
            grpc_world_open(&w);
        }
        a = grpc_world_ask(&w, "/t.T/Echo", GRPC_HELLO, 10);
        assert_string_equal(a->status, "0");
    }
    grpc_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_has_a_limit),
        cmocka_unit_test(unread_answers_have_a_limit),
        cmocka_unit_test(a_cancelled_call_counts_until_its_handler_has_ended),
        cmocka_unit_test(a_flood_ends_the_connection),
        cmocka_unit_test(a_client_is_told_that_it_floods),
        cmocka_unit_test(many_calls_are_no_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
