/* ports_test.c - see ports.h */
#include "agent/tasks/ports.h"
#include "base/auto.h"
#include "base/name_lock.h"
#include "test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Binds and listens as a framework does; the descriptor, or a negative errno. */
static int listen_on(unsigned number, int family, int option)
{
    struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number) };
    AUTO_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    assert_true(fd >= 0);
    if (option)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)), 0);
    if (family == AF_INET6)
        assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
    if (bind(fd, family == AF_INET ? (void *)&in4 : (void *)&in6,
             family == AF_INET ? sizeof(in4) : sizeof(in6)) < 0 ||
        listen(fd, 4) < 0)
        return -errno;
    return take_fd(fd);
}

static struct port hold_any(void)
{
    struct ports range;
    struct err err = ERR_INIT;
    struct port p = { .bound = -1, .lock = -1 };

    assert_int_equal(ports_init(&range, 0, 0, &err), 0);
    assert_int_equal(ports_any(&range, &p, &err), 0);
    return p;
}

static void ports_come_from_the_range(void **state)
{
    struct ports range;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ports_init(&range, 0, 0, &err), 0);
    assert_int_equal(range.low, PORTS_LOW);
    assert_true(range.high <= PORTS_HIGH && range.next >= range.low && range.next <= range.high);
    assert_int_equal(ports_init(&range, 20000, 20000, &err), 0);
    assert_int_equal(range.next, 20000);
    assert_int_equal(ports_init(&range, 9, 8, &err), -EINVAL);
    assert_string_equal(err.text, "9 to 8 is no range of ports");
    assert_int_equal(ports_init(&range, 1, 65536, &err), -EINVAL);
}

static void a_held_port_is_held_once(void **state)
{
    struct port p = hold_any(), again = { 0 };
    struct err err = ERR_INIT;
    char text[64];

    (void)state;
    assert_int_equal(ports_one(p.number, &again, &err), -EADDRINUSE);
    snprintf(text, sizeof(text), "port %u is in use", p.number);
    assert_non_null(strstr(err.text, text));
    assert_int_equal(listen_on(p.number, AF_INET, 0), -EADDRINUSE);
    ports_drop(&p);
    assert_int_equal(ports_one(p.number, &again, &err), 0);
    ports_drop(&again);
}

static void a_port_is_shared_only_while_it_is_said_to_be(void **state)
{
    static const int options[] = { SO_REUSEADDR, SO_REUSEPORT };
    struct port p = hold_any();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        AUTO_CLOSE int fd = -1;

        assert_int_equal(listen_on(p.number, AF_INET, options[i]), -EADDRINUSE);
        assert_int_equal(ports_share(&p, true, NULL), 0);
        fd = listen_on(p.number, AF_INET, options[i]);
        assert_true(fd >= 0);
        close(take_fd(fd));
        assert_int_equal(ports_hold_again(&p, NULL), 0); /* and alone again */
    }
    assert_int_equal(listen_on(p.number, AF_INET, SO_REUSEADDR), -EADDRINUSE);
    ports_drop(&p);
}

/* As another user; the result of listen_on(), without the descriptor. */
static int listen_as_other(unsigned number, int option)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(setuid(65534) < 0 ? 255 : listen_on(number, AF_INET, option) < 0 ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

/* Needs root, to be somebody else for a moment. */
static void another_user_cannot_bind_a_held_port(void **state)
{
    static const int options[] = { 0, SO_REUSEADDR, SO_REUSEPORT };
    struct port p = hold_any();

    (void)state;
    for (size_t k = 0; k < COUNT_OF(options) && geteuid() == 0; k++)
        assert_int_equal(listen_as_other(p.number, options[k]), 1);
    ports_drop(&p);
    if (geteuid() != 0)
        skip();
}

/* What is left, and the kernel's rule: by SO_REUSEADDR anybody may bind beside us until somebody
 * listens, by SO_REUSEPORT only the same user. Needs root. */
static void another_user_can_bind_a_shared_port_until_its_program_listens(void **state)
{
    static const struct {
        int option, before; /* that listens: 0, it can */
    } rows[] = { { 0, 1 }, { SO_REUSEPORT, 1 }, { SO_REUSEADDR, 0 } };
    struct port p = hold_any();
    int fd = -1;

    (void)state;
    assert_int_equal(ports_share(&p, true, NULL), 0);
    for (size_t k = 0; k < COUNT_OF(rows) && geteuid() == 0; k++) {
        assert_int_equal(listen_as_other(p.number, rows[k].option), rows[k].before);
        fd = listen_on(p.number, AF_INET, SO_REUSEADDR);
        assert_true(fd >= 0);
        assert_int_equal(listen_as_other(p.number, rows[k].option), 1);
        close(fd);
    }
    ports_drop(&p);
    if (geteuid() != 0)
        skip();
}

/* Needs root. */
static void a_name_that_another_user_took_first_is_said_to_be_theirs(void **state)
{
    struct port p = hold_any(), mine = { .bound = -1, .lock = -1 };
    struct ports range;
    struct err err = ERR_INIT;
    int ready[2], done[2];
    char name[32], want[96], c;
    pid_t pid;

    (void)state;
    ports_drop(&p);
    if (geteuid() != 0)
        skip();
    (void)snprintf(name, sizeof(name), "ydl-port-%u", p.number);
    assert_int_equal(pipe(ready) | pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        close(done[1]);
        if (setuid(65534) < 0 || name_lock(name) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(read(done[0], &c, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(ports_one(p.number, &mine, &err), -EADDRINUSE);
    (void)snprintf(want, sizeof(want), "port %u is held by another user (uid 65534)", p.number);
    assert_string_equal(err.text, want);
    assert_int_equal(ports_init(&range, p.number, p.number, &err), 0);
    err_clear(&err);
    assert_int_equal(ports_any(&range, &mine, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "1 are held by other users (uid 65534)"));
    close(done[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(done[0]);
}

static void a_released_port_is_the_programs_but_no_other_agents(void **state)
{
    struct port p = hold_any(), other = { 0 };
    struct err err = ERR_INIT;
    int fd;

    (void)state;
    ports_let_go(&p);
    assert_int_equal(ports_one(p.number, &other, &err), -EADDRINUSE);
    fd = listen_on(p.number, AF_INET, 0);
    assert_true(fd >= 0);
    assert_int_equal(ports_hold_again(&p, &err), -EADDRINUSE); /* it still listens */
    close(fd);
    assert_int_equal(ports_hold_again(&p, &err), 0);
    assert_int_equal(listen_on(p.number, AF_INET, SO_REUSEADDR), -EADDRINUSE);
    assert_int_equal(ports_hold_again(&p, &err), 0);
    assert_int_equal(listen_on(p.number, AF_INET, 0), -EADDRINUSE);
    ports_drop(&p);
}

/* A server that closes first leaves its side of the connection behind for a minute. */
static void connections_that_linger_do_not_count(void **state)
{
    struct port p = hold_any(), other = { 0 }, third = { 0 };
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(p.number) };
    struct err err = ERR_INIT;
    int server, client, peer;
    char c;

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ports_let_go(&p);
    server = listen_on(p.number, AF_INET, 0);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
    peer = accept(server, NULL, NULL);
    close(peer);
    assert_int_equal(read(client, &c, 1), 0);
    close(client);
    close(server);
    assert_int_equal(ports_hold_again(&p, &err), 0);
    ports_drop(&p);
    /* Another process, after ours has died, gets it too; and only one does. */
    assert_int_equal(ports_one(p.number, &other, &err), 0);
    assert_int_equal(ports_one(p.number, &third, NULL), -EADDRINUSE);
    ports_drop(&other);
}

static void a_listener_on_ipv6_alone_is_seen_and_named(void **state)
{
    struct port p = hold_any(), again = { 0 };
    struct err err = ERR_INIT;
    unsigned number = p.number;
    AUTO_CLOSE int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char who[64];
    int fd;

    (void)state;
    ports_drop(&p);
    if (probe < 0)
        skip();
    fd = listen_on(number, AF_INET6, 0);
    assert_true(fd >= 0);
    assert_int_equal(ports_one(number, &again, &err), -EADDRINUSE);
    snprintf(who, sizeof(who), "by process %d (", (int)getpid());
    assert_non_null(strstr(err.text, who));
    close(fd);
}

static void a_full_range_says_so(void **state)
{
    struct port p = hold_any(), again = { 0 };
    struct ports range;
    struct err err = ERR_INIT;
    char text[64];

    (void)state;
    assert_int_equal(ports_init(&range, p.number, p.number, &err), 0);
    assert_int_equal(ports_any(&range, &again, &err), -EADDRINUSE);
    snprintf(text, sizeof(text), "no port from %u to %u is free", p.number, p.number);
    assert_string_equal(err.text, text);
    ports_drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_come_from_the_range),
        cmocka_unit_test(a_held_port_is_held_once),
        cmocka_unit_test(a_port_is_shared_only_while_it_is_said_to_be),
        cmocka_unit_test(another_user_cannot_bind_a_held_port),
        cmocka_unit_test(another_user_can_bind_a_shared_port_until_its_program_listens),
        cmocka_unit_test(a_name_that_another_user_took_first_is_said_to_be_theirs),
        cmocka_unit_test(a_released_port_is_the_programs_but_no_other_agents),
        cmocka_unit_test(connections_that_linger_do_not_count),
        cmocka_unit_test(a_listener_on_ipv6_alone_is_seen_and_named),
        cmocka_unit_test(a_full_range_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
