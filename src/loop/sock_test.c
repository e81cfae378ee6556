/* sock_test.c - claims about sockets for fibers, against real sockets on loopback. */
#include "loop/fiber.h"
#include "loop/sock.h"
#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

struct world {
    struct loop *loop;
    struct sock *a, *b;
    int port, listener;
    int result;
};

static int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
    *ret_port = ntohs(sa.sin_port);
    return fd;
}

static int run(int (*fn)(void *arg))
{
    struct world w = { .listener = -1 };
    int r;

    w.listener = listen_on_loopback(&w.port);
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    r = loop_run(w.loop, fn, &w, false);
    loop_free(w.loop);
    close(w.listener);
    return r;
}

static void connect_pair(struct world *w)
{
    struct err err = ERR_INIT;
    int fd;

    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &w->a, &err), 0);
    fd = accept4(w->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sock_from_fd(w->loop, fd, &w->b, &err), 0);
}

#define BIG (4 * MIB)

static void send_big(void *arg)
{
    struct world *w = arg;
    char *data = malloc(BIG);

    memset(data, 'x', BIG);
    w->result = sock_write(w->a, data, BIG, loop_in(w->loop, 60000));
    free(data);
    w->a = sock_close(w->a);
}

static int move_a_lot(void *arg)
{
    struct world *w = arg;
    char *got = malloc(BIG);
    int r;

    connect_pair(w);
    assert_string_equal(sock_peer_ip(w->a), "127.0.0.1");
    fiber_start(w->loop, send_big, w, NULL, NULL);
    r = sock_read_full(w->b, got, BIG, loop_in(w->loop, 60000));
    assert_int_equal(r, 0);
    assert_int_equal(got[BIG - 1], 'x');
    assert_int_equal(sock_read(w->b, got, 1, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read_full(w->b, got, 1, loop_in(w->loop, 30000)), -ENODATA);
    assert_int_equal(w->result, 0);
    sock_close(w->b);
    free(got);
    return 0;
}

static void more_than_the_socket_buffers_goes_through_whole(void **state)
{
    (void)state;
    assert_int_equal(run(move_a_lot), 0);
}

static int read_silence(void *arg)
{
    struct world *w = arg;
    char c;

    connect_pair(w);
    assert_int_equal(sock_read(w->a, &c, 1, loop_in(w->loop, 20)), -ETIMEDOUT);
    sock_close(w->a);
    sock_close(w->b);
    return 0;
}

static void a_silent_peer_costs_no_more_than_the_deadline(void **state)
{
    (void)state;
    assert_int_equal(run(read_silence), 0);
}

static void read_one(void *arg)
{
    struct world *w = arg;
    char c;

    w->result = (int)sock_read(w->a, &c, 1, LOOP_NEVER);
}

static int close_under_a_reader(void *arg)
{
    struct world *w = arg;

    connect_pair(w);
    fiber_start(w->loop, read_one, w, NULL, NULL);
    fiber_yield(w->loop);
    sock_close(w->a);
    sock_close(w->b);
    fiber_sleep(w->loop, 5);
    assert_int_equal(w->result, -ECONNABORTED);
    return 0;
}

static void closing_ends_the_read_of_another_fiber(void **state)
{
    (void)state;
    assert_int_equal(run(close_under_a_reader), 0);
}

static int connect_to_nobody(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    char want[80];

    close(w->listener);
    w->listener = -1;
    snprintf(want, sizeof(want), "connect to 127.0.0.1:%d: Connection refused", w->port);
    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &w->a, &err),
        -ECONNREFUSED);
    assert_string_equal(err.text, want);
    return 0;
}

static void a_closed_port_is_named_in_the_error(void **state)
{
    (void)state;
    assert_int_equal(run(connect_to_nobody), 0);
}

static int connect_by_name(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;

    assert_int_equal(
        sock_connect(w->loop, "localhost", w->port, loop_in(w->loop, 30000), &w->a, &err), 0);
    sock_close(w->a);
    return 0;
}

static void localhost_is_found_without_dns(void **state)
{
    (void)state;
    assert_int_equal(run(connect_by_name), 0);
}

static int look_at_options(void *arg)
{
    struct world *w = arg;
    int idle = 0, every = 0, probes = 0, on = 0;
    socklen_t n = sizeof(int);

    connect_pair(w);
    assert_int_equal(getsockopt(sock_fd(w->a), SOL_SOCKET, SO_KEEPALIVE, &on, &n), 0);
    assert_int_equal(getsockopt(sock_fd(w->a), IPPROTO_TCP, TCP_KEEPIDLE, &idle, &n), 0);
    assert_int_equal(getsockopt(sock_fd(w->a), IPPROTO_TCP, TCP_KEEPINTVL, &every, &n), 0);
    assert_int_equal(getsockopt(sock_fd(w->a), IPPROTO_TCP, TCP_KEEPCNT, &probes, &n), 0);
    assert_int_equal(on, 1);
    assert_in_range(idle + every * probes, 10, 59);
    w->a = sock_close(w->a);
    w->b = sock_close(w->b);
    return 0;
}

/* Nothing but the system finds out; unless told otherwise it takes two hours. */
static void a_peer_that_lost_its_power_is_noticed_in_a_minute(void **state)
{
    (void)state;
    assert_int_equal(run(look_at_options), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_the_socket_buffers_goes_through_whole),
        cmocka_unit_test(a_silent_peer_costs_no_more_than_the_deadline),
        cmocka_unit_test(closing_ends_the_read_of_another_fiber),
        cmocka_unit_test(a_closed_port_is_named_in_the_error),
        cmocka_unit_test(localhost_is_found_without_dns),
        cmocka_unit_test(a_peer_that_lost_its_power_is_noticed_in_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
