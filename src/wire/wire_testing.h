/* wire_testing.h - what the tests of wire share: a loop, two connected sockets, and work in fibers.
 */
#pragma once
#include "loop/fiber.h"
#include "test.h"
#include "wire/stream.h"

#define TEST_MS 60000 /* longer than anything here takes */

/* Runs fn(arg) on a loop of its own; `*loop` is it meanwhile. */
static inline void on_a_loop(struct loop **loop, int (*fn)(void *arg), void *arg)
{
    assert_int_equal(loop_new(loop, NULL), 0);
    assert_int_equal(loop_run(*loop, fn, arg, false), 0);
    *loop = loop_free(*loop);
}

static inline void connected_socks(struct loop *l, struct sock *ret[2])
{
    int fds[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    r = sock_from_fd(l, fds[0], &ret[0], NULL);
    if (r < 0)
        close(fds[1]);
    assert_int_equal(r, 0);
    assert_int_equal(sock_from_fd(l, fds[1], &ret[1], NULL), 0);
}

static inline void connected_streams(struct loop *l, struct stream *ret[2])
{
    struct sock *socks[2];
    int r;

    connected_socks(l, socks);
    r = stream_plain(socks[0], &ret[0], NULL);
    if (r < 0)
        sock_close(socks[1]);
    assert_int_equal(r, 0);
    assert_int_equal(stream_plain(socks[1], &ret[1], NULL), 0);
}
