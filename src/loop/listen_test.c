/* listen_test.c - claims about listening sockets, on loopback and in a directory of their own. */
#include "base/str.h"
#include "loop/fiber.h"
#include "loop/listener_testing.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct world {
    struct loop *loop;
    char dir[TEST_PATH];
    char path[TEST_PATH + 2];
    struct listener *listener;
    int port;
    unsigned served, cancelled;
};

static void run(int (*fn)(void *arg))
{
    struct world w = { 0 };

    assert_true(test_dir(w.dir, "listen"));
    snprintf(w.path, sizeof(w.path), "%s/s", w.dir);
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, fn, &w, false), 0);
    loop_free(w.loop);
    (void)unlink(w.path);
    assert_int_equal(rmdir(w.dir), 0);
}

/* Sends back what comes, until the other side ends or we are told to. */
static void echo(void *user, struct sock *s)
{
    struct world *w = user;
    char c;
    ssize_t n;

    w->served++;
    while ((n = sock_read(s, &c, 1, loop_in(w->loop, 30000))) > 0)
        (void)sock_write(s, &c, 1, loop_in(w->loop, 30000));
    if (n == -ECANCELED)
        w->cancelled++;
    sock_close(s);
}

static void start(struct world *w, int fd)
{
    struct err err = ERR_INIT;

    assert_int_equal(listener_start(w->loop, fd, echo, w, &w->listener, &err), 0);
}

static void start_tcp(struct world *w)
{
    struct err err = ERR_INIT;
    int fd = -1;

    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &fd, &w->port, &err), 0);
    assert_true(w->port > 0);
    start(w, fd);
}

static void start_unix(struct world *w)
{
    struct err err = ERR_INIT;
    int fd = -1;

    assert_int_equal(listen_unix(w->path, &fd, &err), 0);
    start(w, fd);
}

static void expect_echo(struct world *w, struct sock *s)
{
    char c = 0;

    assert_int_equal(sock_write(s, "x", 1, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read_full(s, &c, 1, loop_in(w->loop, 30000)), 0);
    assert_int_equal(c, 'x');
}

#define MANY 100

static int serve_many(void *arg)
{
    struct world *w = arg;
    struct sock *s[MANY] = { 0 };

    start_tcp(w);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(
            sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &s[i], NULL), 0);
    for (int i = MANY - 1; i >= 0; i--)
        expect_echo(w, s[i]);
    assert_int_equal(listener_connections(w->listener), MANY);
    for (int i = 0; i < MANY; i++)
        sock_close(s[i]);
    while (listener_connections(w->listener) > 0)
        fiber_yield(w->loop);
    listener_close(w->listener);
    assert_int_equal(w->served, MANY);
    assert_int_equal(w->cancelled, 0);
    return 0;
}

static void each_connection_has_a_fiber_of_its_own(void **state)
{
    (void)state;
    run(serve_many);
}

static int close_with_connections(void *arg)
{
    struct world *w = arg;
    AUTO_SOCK *s = NULL;
    char c;

    start_tcp(w);
    assert_int_equal(sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &s, NULL),
                     0);
    expect_echo(w, s);
    listener_close(w->listener);
    assert_int_equal(w->cancelled, 1);
    assert_int_equal(sock_read(s, &c, 1, loop_in(w->loop, 30000)), 0);
    return 0;
}

static void closing_ends_the_connections_and_waits_for_them(void **state)
{
    (void)state;
    run(close_with_connections);
}

static int stop_with_connections(void *arg)
{
    struct world *w = arg;
    AUTO_SOCK *s = NULL, *late = NULL;

    start_tcp(w);
    assert_int_equal(sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &s, NULL),
                     0);
    expect_echo(w, s);
    listener_stop(w->listener);
    listener_stop(w->listener);
    expect_echo(w, s);
    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &late, NULL),
        -ECONNREFUSED);
    listener_close(w->listener);
    return 0;
}

static void a_stopped_listener_keeps_what_it_has_and_takes_no_more(void **state)
{
    (void)state;
    run(stop_with_connections);
}

static int talk_unix(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    AUTO_SOCK *s = NULL;
    struct stat st;
    uid_t uid = 12345;

    start_unix(w);
    assert_int_equal(stat(w->path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(sock_connect_unix(w->loop, w->path, loop_in(w->loop, 30000), &s, &err), 0);
    expect_echo(w, s);
    assert_int_equal(sock_peer_uid(sock_fd(s), &uid), 0);
    assert_int_equal(uid, getuid());
    listener_close(w->listener);
    assert_int_equal(stat(w->path, &st), -1);
    return 0;
}

static void a_unix_socket_is_private_and_gone_afterwards(void **state)
{
    (void)state;
    run(talk_unix);
}

static int listen_twice(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    AUTO_FREE char *want = str_printf("listen on '%s': Address already in use", w->path);
    int fd = -1, left = -1;

    assert_non_null(want);
    assert_int_equal(listen_unix(w->path, &left, &err), 0);
    assert_int_equal(listen_unix(w->path, &fd, &err), -EADDRINUSE);
    assert_string_equal(err.text, want);
    close(left); /* as a kill would: the file stays */
    start_unix(w);
    listener_close(w->listener);
    return 0;
}

static void a_socket_left_by_the_dead_is_replaced_and_one_in_use_is_not(void **state)
{
    (void)state;
    run(listen_twice);
}

static int listen_on_a_file(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    FILE *f = fopen(w->path, "we");
    int fd = -1;

    assert_non_null(f);
    fclose(f);
    assert_int_equal(listen_unix(w->path, &fd, &err), -EADDRINUSE);
    assert_int_equal(access(w->path, F_OK), 0);
    return 0;
}

static void a_file_in_the_way_is_left_alone(void **state)
{
    (void)state;
    run(listen_on_a_file);
}

static void a_port_is_found_in_a_range_until_none_is_free(void **state)
{
    struct err err = ERR_INIT;
    int fds[2] = { -1, -1 }, ports[2] = { 0, 0 }, third = -1;
    unsigned low;

    (void)state;
    /* A range whose first port is surely taken, by us. */
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &fds[0], &ports[0], &err), 0);
    low = (unsigned)ports[0];
    if (low < UINT16_MAX && listen_tcp("127.0.0.1", low, low + 1, &fds[1], &ports[1], &err) == 0)
        assert_int_equal(ports[1], low + 1);
    assert_int_equal(listen_tcp("127.0.0.1", low, low, &third, &ports[0], &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "Address already in use"));
    listen_close(fds[0]);
    listen_close(fds[1]);
}

static void what_is_no_address_or_range_is_refused(void **state)
{
    static const struct {
        const char *host;
        unsigned low, high;
        const char *text;
    } rows[] = {
        { "localhost", 0, 0, "listen on 'localhost': not a numeric address" },
        { "127.0.0.1", 9, 8, "listen on '127.0.0.1': ports 9 to 8 are not a range" },
        { "127.0.0.1", 0, 8, "listen on '127.0.0.1': ports 0 to 8 are not a range" },
        { "127.0.0.1", 1, 70000, "listen on '127.0.0.1': ports 1 to 70000 are not a range" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        int fd = -1, port;

        assert_int_equal(listen_tcp(rows[i].host, rows[i].low, rows[i].high, &fd, &port, &err),
                         -EINVAL);
        assert_string_equal(err.text, rows[i].text);
    }
}

static int connect_nowhere(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;
    char longer[200];
    AUTO_SOCK *s = NULL;
    int fd;

    assert_int_equal(sock_connect_unix(w->loop, w->path, loop_in(w->loop, 100), &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, "connect to '"));
    assert_non_null(strstr(err.text, w->dir));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(sock_connect_unix(w->loop, longer, loop_in(w->loop, 100), &s, &err),
                     -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "199 bytes, at most 107"));
    assert_int_equal(listen_unix("", &fd, &err), -EINVAL);
    return 0;
}

static void a_path_that_cannot_be_is_named(void **state)
{
    (void)state;
    run(connect_nowhere);
}

static int peer_of_tcp(void *arg)
{
    struct world *w = arg;
    AUTO_SOCK *s = NULL;
    uid_t uid = 0;

    start_tcp(w);
    assert_int_equal(sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, 30000), &s, NULL),
                     0);
    assert_int_equal(sock_peer_uid(sock_fd(s), &uid), -EOPNOTSUPP);
    listener_close(w->listener);
    return 0;
}

static void tcp_does_not_say_whose_it_is(void **state)
{
    (void)state;
    run(peer_of_tcp);
}

/* A socket that is bound, and does not listen, or does. */
static int other_socket(int option, bool listens, unsigned *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    assert_true(fd >= 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)), 0);
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || (listens && listen(fd, 1) < 0)) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void a_port_can_be_held_for_us(void **state)
{
    static const int options[] = { SO_REUSEADDR, SO_REUSEPORT };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct err err = ERR_INIT;
        unsigned port = 0;
        int holder = other_socket(options[i], false, &port), fd = -1, again = -1;

        assert_int_equal(listen_tcp_held("127.0.0.1", port, &fd, &err), 0);
        assert_int_equal(listen_tcp_held("127.0.0.1", port, &again, &err), -EADDRINUSE);
        assert_int_equal(other_socket(SO_REUSEADDR, true, &port), -1);
        if (options[i] == SO_REUSEADDR)
            assert_int_equal(other_socket(SO_REUSEPORT, true, &port), -1);
        listen_close(fd);
        close(holder);
    }
}

static void a_port_on_which_somebody_listens_is_not_shared(void **state)
{
    static const int options[] = { SO_REUSEADDR, SO_REUSEPORT };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct err err = ERR_INIT;
        unsigned port = 0;
        int other = other_socket(options[i], true, &port), fd = -1;

        assert_int_equal(listen_tcp_held("127.0.0.1", port, &fd, &err), -EADDRINUSE);
        assert_int_equal(fd, -1);
        close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_can_be_held_for_us),
        cmocka_unit_test(a_port_on_which_somebody_listens_is_not_shared),
        cmocka_unit_test(each_connection_has_a_fiber_of_its_own),
        cmocka_unit_test(closing_ends_the_connections_and_waits_for_them),
        cmocka_unit_test(a_stopped_listener_keeps_what_it_has_and_takes_no_more),
        cmocka_unit_test(a_unix_socket_is_private_and_gone_afterwards),
        cmocka_unit_test(a_socket_left_by_the_dead_is_replaced_and_one_in_use_is_not),
        cmocka_unit_test(a_file_in_the_way_is_left_alone),
        cmocka_unit_test(a_port_is_found_in_a_range_until_none_is_free),
        cmocka_unit_test(what_is_no_address_or_range_is_refused),
        cmocka_unit_test(a_path_that_cannot_be_is_named),
        cmocka_unit_test(tcp_does_not_say_whose_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
