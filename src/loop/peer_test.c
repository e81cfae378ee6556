/* peer_test.c - claims about whose process is at the other end. */
#include "base/auto.h"
#include "loop/listen.h"
#include "loop/peer.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static int connect_to(int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int accept_one(int fd)
{
    int s;

    do
        s = accept(fd, NULL, NULL); /* the listening socket does not wait */
    while (s < 0 && (errno == EAGAIN || errno == EINTR));
    return s;
}

static void our_own_connection_is_ours(void **state)
{
    AUTO_CLOSE int listener = -1, client = -1, s = -1;
    uid_t uid = (uid_t)-1;
    int port = 0;

    (void)state;
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    client = connect_to(port);
    assert_true(client >= 0);
    s = accept_one(listener);
    assert_true(s >= 0);
    assert_int_equal(peer_uid(s, &uid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(peer_uid_by_table(s, &uid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(peer_uid(client, &uid), 0);
}

#define MANY 400 /* connections: their table is longer than what is read of it at a time */

static void all_of_many_are_found(void **state)
{
    AUTO_CLOSE int listener = -1;
    int client[MANY], s[MANY], port = 0;

    (void)state;
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        client[i] = connect_to(port);
        s[i] = client[i] >= 0 ? accept_one(listener) : -1;
        assert_true(s[i] >= 0);
    }
    for (int i = 0; i < MANY; i++) {
        uid_t uid = (uid_t)-1;

        if (i % (MANY / 20) == 0) { /* they lie anywhere in it */
            assert_int_equal(peer_uid_by_table(s[i], &uid), 0);
            assert_int_equal(uid, geteuid());
        }
        close(s[i]);
        close(client[i]);
    }
}

/* As the machine sees it that a connection comes from: it has only that end. */
static void a_socket_of_this_machine_has_an_owner(void **state)
{
    AUTO_CLOSE int listener = -1, client = -1, s = -1;
    struct peer_ends e = { 0 };
    char ip[INET6_ADDRSTRLEN];
    uid_t uid = (uid_t)-1;
    int port = 0;

    (void)state;
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    client = connect_to(port);
    s = accept_one(listener);
    assert_int_equal(peer_ends(s, &e), 0);
    assert_int_equal(resolve_port(&e.local), port);
    assert_string_equal(resolve_text(&e.peer, ip), "127.0.0.1");
    assert_int_equal(peer_uid_of(&e, &uid), 0);
    assert_int_equal(uid, geteuid());
    assert_true(resolve_number("127.0.0.77", resolve_port(&e.peer), &e.peer));
    assert_int_equal(peer_uid_of(&e, &uid), -ENOENT);
    assert_true(resolve_number("::1", 7, &e.peer));
    assert_int_equal(resolve_port(&e.peer), 7);
    assert_false(resolve_number("localhost", 7, &e.peer));
}

/* Many programs have but sockets of IPv6, also for IPv4. */
static void a_socket_of_ipv6_that_speaks_ipv4_is_found(void **state)
{
    AUTO_CLOSE int listener = -1, client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), s = -1;
    struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
    uid_t uid = (uid_t)-1;
    int port = 0;

    (void)state;
    if (client < 0)
        skip();
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    to.sin6_port = htons((uint16_t)port);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr), 1);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
    s = accept_one(listener);
    assert_int_equal(peer_uid(s, &uid), 0);
    assert_int_equal(uid, geteuid());
    uid = (uid_t)-1;
    assert_int_equal(peer_uid_by_table(s, &uid), 0);
    assert_int_equal(uid, geteuid());
}

/* Who cannot look must not say that the machine does not tell: such a connection is let in. */
static void without_descriptors_nothing_is_known(void **state)
{
    AUTO_CLOSE int listener = -1, client = -1, s = -1;
    struct rlimit usual, none;
    struct peer_ends e;
    uid_t uid = 0;
    int port = 0, r;

    (void)state;
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    client = connect_to(port);
    s = accept_one(listener);
    assert_int_equal(peer_ends(s, &e), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = usual.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = peer_uid_of(&e, &uid);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(r, -EMFILE);
}

/* Makes a connection as somebody else, and stays until it is told to go. */
static int run_stranger(int port, int stay)
{
    char c;

    if (setuid(NOBODY) < 0 || connect_to(port) < 0)
        return 1;
    return read(stay, &c, 1) < 0;
}

static void another_users_connection_is_theirs(void **state)
{
    AUTO_CLOSE int listener = -1, s = -1;
    int stay[2], port = 0, status = 0;
    uid_t uid = 0;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    assert_int_equal(pipe(stay), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(stay[1]);
        _exit(run_stranger(port, stay[0]));
    }
    close(stay[0]);
    s = accept_one(listener);
    assert_true(s >= 0);
    assert_int_equal(peer_uid(s, &uid), 0);
    assert_int_equal(uid, NOBODY);
    uid = 0;
    assert_int_equal(peer_uid_by_table(s, &uid), 0);
    assert_int_equal(uid, NOBODY);
    close(stay[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* It is gone, but its bytes are there: whose they are nobody knows, and root's they are not. */
static void a_connection_that_was_closed_is_nobodys(void **state)
{
    AUTO_CLOSE int listener = -1, client = -1, s = -1;
    uid_t uid = 0;
    int port = 0;
    char c;

    (void)state;
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &listener, &port, NULL), 0);
    client = connect_to(port);
    assert_true(client >= 0);
    s = accept_one(listener);
    assert_true(s >= 0);
    assert_int_equal(write(client, "x", 1), 1);
    close(take_fd(client));
    assert_int_equal(recv(s, &c, 1, MSG_PEEK), 1);
    assert_int_equal(peer_uid(s, &uid), -ESHUTDOWN);
    assert_int_equal(peer_uid_by_table(s, &uid), -ESHUTDOWN);
}

static void what_is_no_tcp_connection_has_none(void **state)
{
    int pair[2];
    uid_t uid = 0;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(peer_uid(pair[0], &uid), -EAFNOSUPPORT);
    close(pair[0]);
    close(pair[1]);
    assert_true(peer_uid(-1, &uid) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_connection_is_ours),
        cmocka_unit_test(all_of_many_are_found),
        cmocka_unit_test(a_socket_of_this_machine_has_an_owner),
        cmocka_unit_test(a_socket_of_ipv6_that_speaks_ipv4_is_found),
        cmocka_unit_test(without_descriptors_nothing_is_known),
        cmocka_unit_test(another_users_connection_is_theirs),
        cmocka_unit_test(a_connection_that_was_closed_is_nobodys),
        cmocka_unit_test(what_is_no_tcp_connection_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
