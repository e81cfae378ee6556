/* stream_test.c - claims about streams, plain and with TLS between two of our own. */
#include "test.h"
#include "wire/wire_testing.h"

#include <stdio.h>
#include <string.h>

static const struct stream_key job_key = { .identity = "local-1", .key = { 1, 2, 3 } };

struct world {
    struct loop *loop;
    struct stream *a, *b; /* client and server */
    struct sock *sock;
    struct stream_key key; /* the server's */
    struct err err;        /* and what it got */
    int result;
    bool done;
};

static void serve_handshake(void *arg)
{
    struct world *w = arg;

    w->result = stream_tls_server(w->sock, &w->key, loop_in(w->loop, TEST_MS), &w->b, &w->err);
    w->done = true;
}

/* The handshake of both sides; the client's result is returned. */
static int shake(struct world *w, const struct stream_key *client, struct err *err)
{
    struct sock *socks[2];
    int r;

    connected_socks(w->loop, socks);
    w->sock = socks[1];
    w->done = false;
    assert_int_equal(fiber_start(w->loop, serve_handshake, w, NULL, NULL), 0);
    r = stream_tls_client(socks[0], client, loop_in(w->loop, TEST_MS), &w->a, err);
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    return r;
}

static void shake_well(struct world *w)
{
    struct err err = ERR_INIT;

    w->key = job_key;
    assert_int_equal(shake(w, &job_key, &err), 0);
    assert_int_equal(w->result, 0);
}

#define BIG (MIB + 17)

static void fill(uint8_t *p, unsigned seed)
{
    for (size_t i = 0; i < BIG; i++)
        p[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

static int send_big(void *arg, struct err *err)
{
    struct stream **s = arg;
    AUTO_FREE uint8_t *data = malloc(BIG);
    struct iovec iov[3];

    if (!data)
        return err_oom(err);
    fill(data, 1);
    iov[0] = (struct iovec){ data, 5 };
    iov[1] = (struct iovec){ NULL, 0 };
    iov[2] = (struct iovec){ data + 5, BIG - 5 };
    return stream_writev(*s, iov, 3, LOOP_NEVER);
}

/* Exactly `n` bytes, or -ENODATA when the stream ends before. */
static int read_full(struct stream *s, void *p, size_t n, int64_t deadline)
{
    char *at = p;

    while (n > 0) {
        ssize_t got = stream_read(s, at, n, deadline);

        if (got <= 0)
            return got < 0 ? (int)got : -ENODATA;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

static int receive_big(void *arg, struct err *err)
{
    struct stream **s = arg;
    AUTO_FREE uint8_t *data = malloc(BIG), *want = malloc(BIG);
    int r;

    if (!data || !want)
        return err_oom(err);
    fill(want, 1);
    r = read_full(*s, data, BIG, LOOP_NEVER);
    if (r == 0 && memcmp(data, want, BIG) != 0)
        r = -EBADMSG;
    return r;
}

/* Both sides send and receive at the same time. */
static void cross(struct world *w)
{
    struct group g;
    int r = 0;

    group_init(&g, w->loop, 0);
    if (group_go(&g, send_big, &w->a, NULL) < 0 || group_go(&g, send_big, &w->b, NULL) < 0 ||
        group_go(&g, receive_big, &w->a, NULL) < 0 || group_go(&g, receive_big, &w->b, NULL) < 0) {
        group_cancel(&g);
        r = -ENOMEM;
    }
    if (group_wait(&g, NULL) < 0)
        r = -EIO;
    w->a = stream_close(w->a);
    w->b = stream_close(w->b);
    assert_int_equal(r, 0);
}

static int cross_plain(void *arg)
{
    struct world *w = arg;
    struct stream *s[2];

    connected_streams(w->loop, s);
    w->a = s[0];
    w->b = s[1];
    cross(w);
    return 0;
}

static int cross_tls(void *arg)
{
    struct world *w = arg;

    shake_well(w);
    cross(w);
    return 0;
}

static void both_sides_send_and_receive_at_once(void **state)
{
    static int (*const ways[])(void *arg) = { cross_plain, cross_tls };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct world w = { 0 };

        on_a_loop(&w.loop, ways[i], &w);
    }
}

static int say_goodbye(void *arg)
{
    struct world *w = arg;
    char c;

    shake_well(w);
    assert_int_equal(stream_write(w->a, "x", 1, loop_in(w->loop, TEST_MS)), 0);
    w->a = stream_close(w->a);
    assert_int_equal(read_full(w->b, &c, 1, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(stream_read(w->b, &c, 1, loop_in(w->loop, TEST_MS)), 0);
    assert_int_equal(read_full(w->b, &c, 1, loop_in(w->loop, TEST_MS)), -ENODATA);
    w->b = stream_close(w->b);
    return 0;
}

static int cut_off(void *arg)
{
    struct world *w = arg;
    char c;

    shake_well(w);
    assert_int_equal(shutdown(sock_fd(stream_sock(w->a)), SHUT_WR), 0);
    assert_int_equal(stream_read(w->b, &c, 1, loop_in(w->loop, TEST_MS)), -ECONNRESET);
    w->b = stream_close(w->b);
    w->a = stream_close(w->a);
    return 0;
}

static void an_end_without_a_goodbye_is_not_taken_for_one(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, say_goodbye, &w);
    on_a_loop(&w.loop, cut_off, &w);
}

static int refuse(void *arg)
{
    struct world *w = arg;
    struct stream_key other = job_key, renamed = job_key, longer = job_key;
    const struct stream_key *wrong[] = { &other, &renamed, &longer };

    other.key[31] = 1;
    renamed.identity[6] = '2';
    longer.identity[7] = '2';
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err err = ERR_INIT;

        w->key = job_key;
        assert_int_equal(shake(w, wrong[i], &err), -EACCES);
        assert_string_equal(err.text, "TLS: wrong key or job");
        assert_int_equal(w->result, -EACCES);
        assert_string_equal(w->err.text, "TLS: wrong key or job");
    }
    return 0;
}

static void a_wrong_key_or_job_is_refused_by_both_sides(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, refuse, &w);
}

static int no_identity(void *arg)
{
    struct world *w = arg;
    struct stream_key k = { .key = { 1 } };
    struct err err = ERR_INIT;
    struct sock *socks[2];

    connected_socks(w->loop, socks);
    assert_int_equal(stream_tls_client(socks[0], &k, loop_in(w->loop, 1), &w->a, &err), -EINVAL);
    memset(k.identity, 'x', sizeof(k.identity));
    assert_int_equal(stream_tls_client(socks[1], &k, loop_in(w->loop, 1), &w->a, &err), -EINVAL);
    assert_string_equal(err.text, "a TLS key needs an identity of 1 to 127 bytes");
    return 0;
}

static void a_key_without_an_identity_opens_nothing(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, no_identity, &w);
}

static int stay_silent(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    struct sock *socks[2];

    connected_socks(w->loop, socks);
    assert_int_equal(stream_tls_server(socks[0], &job_key, loop_in(w->loop, 20), &w->b, &err),
                     -ETIMEDOUT);
    assert_string_equal(err.text, "TLS handshake: Connection timed out");
    sock_close(socks[1]);
    return 0;
}

static void a_silent_client_costs_no_more_than_the_deadline(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, stay_silent, &w);
}

static void read_one(void *arg)
{
    struct world *w = arg;
    char c;

    w->result = (int)stream_read(w->b, &c, 1, LOOP_NEVER);
    w->done = true;
}

static int close_under_a_reader(void *arg)
{
    struct world *w = arg;

    shake_well(w);
    w->done = false;
    assert_int_equal(fiber_start(w->loop, read_one, w, NULL, NULL), 0);
    assert_int_equal(fiber_sleep(w->loop, 1), 0);
    stream_close(w->b);
    stream_close(w->a);
    while (!w->done)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(w->result, -ECONNABORTED);
    return 0;
}

static void closing_ends_the_read_of_another_fiber(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, close_under_a_reader, &w);
}

static int write_to_nobody(void *arg)
{
    struct world *w = arg;
    AUTO_FREE char *data = calloc(1, BIG);

    assert_non_null(data);
    shake_well(w);
    assert_int_equal(stream_write(w->a, data, BIG, loop_in(w->loop, 20)), -ETIMEDOUT);
    assert_int_equal(stream_write(w->a, data, 1, loop_in(w->loop, TEST_MS)), -ETIMEDOUT);
    stream_close(w->a);
    stream_close(w->b);
    return 0;
}

static void a_write_that_broke_off_is_the_last(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, write_to_nobody, &w);
}

static void start_one(void *arg)
{
    struct world *w = arg;
    AUTO(stream_tls) struct stream_tls *t = NULL;

    w->result = stream_tls_new(&job_key, false, &t, &w->err);
    if (w->result == 0)
        w->result = stream_tls_start(t, w->sock, loop_in(w->loop, TEST_MS), &w->a, &w->err);
    else
        sock_close(w->sock);
    w->done = true;
}

static int use_a_key_often(void *arg)
{
    struct world *w = arg;
    AUTO(stream_tls) struct stream_tls *t = NULL;
    struct sock *socks[2];
    char c = 0;

    assert_int_equal(stream_tls_new(&job_key, true, &t, NULL), 0);
    for (int i = 0; i < 3; i++) {
        connected_socks(w->loop, socks);
        w->sock = socks[1];
        w->done = false;
        assert_int_equal(fiber_start(w->loop, start_one, w, NULL, NULL), 0);
        assert_int_equal(stream_tls_start(t, socks[0], loop_in(w->loop, TEST_MS), &w->b, NULL), 0);
        while (!w->done)
            assert_int_equal(fiber_sleep(w->loop, 1), 0);
        assert_int_equal(w->result, 0);
        assert_int_equal(stream_write(w->b, "y", 1, loop_in(w->loop, TEST_MS)), 0);
        assert_int_equal(stream_read(w->a, &c, 1, loop_in(w->loop, TEST_MS)), 1);
        assert_int_equal(c, 'y');
        stream_close(w->a);
        stream_close(w->b);
    }
    return 0;
}

static void a_key_made_ready_serves_many_connections(void **state)
{
    struct world w = { 0 };

    (void)state;
    on_a_loop(&w.loop, use_a_key_often, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_send_and_receive_at_once),
        cmocka_unit_test(an_end_without_a_goodbye_is_not_taken_for_one),
        cmocka_unit_test(a_wrong_key_or_job_is_refused_by_both_sides),
        cmocka_unit_test(a_key_without_an_identity_opens_nothing),
        cmocka_unit_test(a_silent_client_costs_no_more_than_the_deadline),
        cmocka_unit_test(closing_ends_the_read_of_another_fiber),
        cmocka_unit_test(a_write_that_broke_off_is_the_last),
        cmocka_unit_test(a_key_made_ready_serves_many_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
