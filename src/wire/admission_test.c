/* admission_test.c - claims about who gets in, against real sockets on loopback. */
#include "loop/fiber.h"
#include "loop/listen.h"
#include "test.h"
#include "wire/admission_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ENOUGH 60000
#define MANY 64

struct world {
    struct loop *loop;
    struct admission_options o;
    struct admission *admission;
    int port;
    unsigned served, cancelled, refused, asked;
    char why[128];
    bool pass;
    bool logs; /* refusals go to the log */
};

static int one_line(const uint8_t *p, size_t n, struct err *err)
{
    if (n > 0 && p[0] == '!')
        return err_set(err, -EPROTO, "a rude word");
    return n > 0 && memchr(p, '\n', n) != NULL;
}

static void count_refused(void *user, const char *host, const char *why)
{
    struct world *w = user;

    assert_string_equal(host, "127.0.0.1");
    snprintf(w->why, sizeof(w->why), "%s", why);
    w->refused++;
}

/* Answers each line by one, to whoever has passed; others are left standing. */
static void answer_lines(void *user, struct visitor *v, struct sock *s)
{
    struct world *w = user;
    ssize_t n = 0;
    char c;

    if (w->pass) {
        admission_pass(v);
        w->served++;
        while ((n = sock_read(s, &c, 1, loop_in(w->loop, ENOUGH))) > 0)
            if (c == '\n')
                (void)sock_write(s, "ok\n", 3, loop_in(w->loop, ENOUGH));
    } else {
        n = fiber_sleep(w->loop, ENOUGH);
    }
    w->cancelled += n == -ECANCELED;
    sock_close(s);
}

static void run_world(struct world *w, int (*fn)(void *arg))
{
    struct err err = ERR_INIT;

    assert_int_equal(loop_new(&w->loop, NULL), 0);
    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &w->o.fd, &w->port, &err), 0);
    w->o.loop = w->loop;
    w->o.name = "test";
    w->o.first = one_line;
    w->o.serve = answer_lines;
    w->o.on_refused = w->logs ? NULL : count_refused;
    w->o.user = w;
    assert_int_equal(admission_start(&w->o, &w->admission, &err), 0);
    assert_int_equal(loop_run(w->loop, fn, w, false), 0);
    loop_free(w->loop);
}

static struct sock *dial(struct world *w)
{
    struct sock *s = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(
        sock_connect(w->loop, "127.0.0.1", w->port, loop_in(w->loop, ENOUGH), &s, &err), 0);
    return s;
}

/* Of another address of this machine. */
static struct sock *dial_from(struct world *w, const char *address)
{
    struct sockaddr_in own = { .sin_family = AF_INET };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)w->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sock *s = NULL;

    assert_int_equal(inet_pton(AF_INET, address, &own.sin_addr), 1);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(sock_from_fd(w->loop, fd, &s, NULL), 0);
    return s;
}

static void say(struct world *w, struct sock *s, const char *text)
{
    assert_int_equal(sock_write(s, text, strlen(text), loop_in(w->loop, ENOUGH)), 0);
}

static void expect_ok(struct world *w, struct sock *s)
{
    char got[4] = "";

    assert_int_equal(sock_read_full(s, got, 3, loop_in(w->loop, ENOUGH)), 0);
    assert_string_equal(got, "ok\n");
}

/* Its end; what was said before it is in `want`. */
static void expect_end(struct world *w, struct sock *s, const char *want)
{
    char got[64] = "";
    size_t n = 0;
    ssize_t r;

    while ((r = sock_read(s, got + n, sizeof(got) - 1 - n, loop_in(w->loop, ENOUGH))) > 0)
        n += (size_t)r;
    assert_true(r == 0 || r == -ECONNRESET);
    assert_string_equal(got, want);
    sock_close(s);
}

static void wait_until(struct world *w, size_t strangers)
{
    while (admission_waiting(w->admission) != strangers)
        assert_int_equal(fiber_sleep(w->loop, 5), 0);
}

/* ---- claims ---- */

static int be_silent(void *arg)
{
    struct world *w = arg;
    struct sock *s[MANY];

    for (int i = 0; i < MANY; i++)
        s[i] = dial(w);
    wait_until(w, MANY);
    assert_int_equal(admission_serving(w->admission), 0);
    assert_true(w->admission->o.waiting_max <= 512);
    assert_int_equal(w->admission->o.entering_max, 64);
    for (int i = 0; i < MANY; i++)
        expect_end(w, s[i], "");
    assert_int_equal(w->refused, MANY);
    assert_string_equal(w->why, "it sent nothing in time");
    assert_int_equal(w->served, 0);
    w->admission = admission_close(w->admission);
    return 0;
}

static void silent_peers_get_no_fiber_and_go_in_time(void **state)
{
    struct world w = { .pass = true };

    (void)state;
    run_world(&w, be_silent);
}

static int say_half(void *arg)
{
    struct world *w = arg;
    struct sock *half = dial(w), *pieces = dial(w), *rude = dial(w);

    say(w, half, "half a l");
    say(w, rude, "!\n");
    for (int i = 0; i < 20; i++)
        say(w, pieces, "a");
    wait_until(w, 2);
    say(w, pieces, "line\n");
    expect_ok(w, pieces);
    expect_end(w, rude, "");
    expect_end(w, half, "too late\n");
    sock_close(pieces);
    assert_int_equal(w->served, 1);
    assert_int_equal(w->refused, 2);
    w->admission = admission_close(w->admission);
    return 0;
}

static void a_message_is_waited_for_as_a_whole(void **state)
{
    struct world w = { .pass = true, .o = { .late = "too late\n" } };

    (void)state;
    run_world(&w, say_half);
}

static int stand_still(void *arg)
{
    struct world *w = arg;
    struct sock *whole = dial(w), *half = dial(w);
    const struct timespec longer = { .tv_nsec = 600000000 };

    wait_until(w, 2);
    assert_int_equal(send(sock_fd(whole), "a line\n", 7, 0), 7);
    assert_int_equal(send(sock_fd(half), "half", 4, 0), 4);
    (void)nanosleep(&longer, NULL); /* nobody else has a turn */
    expect_ok(w, whole);
    expect_end(w, half, "too late\n");
    sock_close(whole);
    assert_int_equal(w->refused, 1);
    w->admission = admission_close(w->admission);
    return 0;
}

/* A server that was stopped, or waited for memory, does not blame others for it. */
static void who_spoke_while_the_server_stood_still_is_heard(void **state)
{
    struct world w = { .pass = true, .o = { .late = "too late\n", .wait_ms = 50 } };

    (void)state;
    run_world(&w, stand_still);
}

static int flood(void *arg)
{
    struct world *w = arg;
    struct sock *lone = dial_from(w, "127.0.0.2"), *old, *s[MANY], *talks;

    wait_until(w, 1);
    old = dial(w);
    wait_until(w, 2);
    for (int i = 0; i < MANY; i++)
        s[i] = dial(w);
    expect_end(w, old, ""); /* long before its time */
    talks = dial(w);
    say(w, talks, "hello\n");
    expect_ok(w, talks);
    assert_true(admission_waiting(w->admission) <= w->o.waiting_max);
    assert_string_equal(w->why, "too many connections, and this one sent nothing");
    for (int i = 0; i < MANY; i++)
        sock_close(s[i]);
    say(w, talks, "still there\n");
    expect_ok(w, talks);
    say(w, lone, "older than all, but not of where they come from\n");
    expect_ok(w, lone);
    sock_close(lone);
    sock_close(talks);
    w->admission = admission_close(w->admission);
    return 0;
}

static void the_oldest_silent_peer_makes_room(void **state)
{
    struct world w = { .pass = true, .o = { .waiting_max = 8, .wait_ms = ENOUGH } };

    (void)state;
    run_world(&w, flood);
}

static int crowd_the_door(void *arg)
{
    struct world *w = arg;
    struct sock *slow = dial(w), *others[2];

    say(w, slow, "x\n");
    while (admission_serving(w->admission) < 1)
        fiber_yield(w->loop);
    for (int i = 0; i < 2; i++) {
        others[i] = dial(w);
        say(w, others[i], "x\n");
    }
    wait_until(w, 2); /* one is at the door, and two wait for it */
    w->pass = true;
    expect_end(w, slow, "");
    expect_ok(w, others[0]);
    expect_ok(w, others[1]);
    assert_int_equal(w->cancelled, 1);
    sock_close(others[0]);
    sock_close(others[1]);
    w->admission = admission_close(w->admission);
    return 0;
}

static void whoever_is_slow_to_show_itself_makes_room_for_others(void **state)
{
    struct world w = { .o = { .entering_max = 1, .wait_ms = ENOUGH } };

    (void)state;
    run_world(&w, crowd_the_door);
}

static bool nobody(void *user, int fd)
{
    (void)user;
    return fd < 0;
}

static int be_forbidden(void *arg)
{
    struct world *w = arg;
    struct sock *s = dial(w), *stays;

    say(w, s, "hello\n");
    expect_end(w, s, "no\n");
    stays = dial(w); /* and does not hang up when it is told to */
    say(w, stays, "hello\n");
    wait_until(w, 1);
    wait_until(w, 0);
    sock_close(stays);
    assert_int_equal(w->refused, 2);
    assert_int_equal(w->served, 0);
    w->admission = admission_close(w->admission);
    return 0;
}

static void a_peer_that_may_not_connect_is_told_and_gets_no_fiber(void **state)
{
    struct world w = { .pass = true, .o = { .check = nobody, .forbidden = "no\n" } };

    (void)state;
    run_world(&w, be_forbidden);
}

/* Knows only after a while, and is for every second one. */
static bool stand_for(void *user, int fd)
{
    struct world *w = user;

    assert_true(fd >= 0);
    if (fiber_sleep(w->loop, 20) < 0)
        return false;
    return w->asked++ % 2 == 0;
}

static int be_stood_for(void *arg)
{
    struct world *w = arg;
    struct sock *one = dial(w), *two, *three;

    say(w, one, "a\n");
    expect_ok(w, one);
    two = dial(w);
    say(w, two, "b\n");
    expect_end(w, two, "no\n");
    assert_int_equal(w->refused, 1);
    assert_string_equal(w->why, "this address or user may not connect");
    three = dial(w);
    say(w, three, "c\n");
    expect_ok(w, three);
    say(w, one, "d\n");
    expect_ok(w, one);
    assert_int_equal(w->served, 2);
    w->admission = admission_close(w->admission);
    sock_close(one);
    sock_close(three);
    return 0;
}

static void one_that_nobody_stands_for_is_refused(void **state)
{
    struct world w = { .pass = true, .o = { .vouch = stand_for, .forbidden = "no\n" } };

    (void)state;
    run_world(&w, be_stood_for);
}

static int close_with_all_kinds(void *arg)
{
    struct world *w = arg;
    struct sock *silent = dial(w), *half = dial(w), *in = dial(w);

    say(w, half, "h");
    say(w, in, "hello\n");
    expect_ok(w, in);
    w->admission = admission_close(w->admission);
    assert_int_equal(w->cancelled, 1);
    expect_end(w, silent, "");
    expect_end(w, half, "");
    expect_end(w, in, "");
    return 0;
}

static void closing_ends_strangers_and_visitors(void **state)
{
    struct world w = { .pass = true, .o = { .wait_ms = ENOUGH } };

    (void)state;
    run_world(&w, close_with_all_kinds);
}

static int be_refused_among_others(void *arg)
{
    struct world *w = arg;
    struct sock *waits = dial(w), *s;
    int64_t first;

    wait_until(w, 1);
    for (int i = 0; i < 2; i++) {
        s = dial(w);
        say(w, s, "!\n");
        expect_end(w, s, "");
    }
    assert_int_equal(w->admission->untold, 1); /* the first was told at once … */
    first = w->admission->told;
    while (w->admission->untold)
        assert_int_equal(fiber_sleep(w->loop, 5), 0);
    assert_true(w->admission->told - first >= 1000); /* … the next a second later, … */
    assert_int_equal(w->admission->pause, 2000);     /* … and then less and less often */
    assert_int_equal(admission_waiting(w->admission), 1);
    sock_close(waits);
    w->admission = admission_close(w->admission);
    return 0;
}

static void refusals_are_told_while_others_wait(void **state)
{
    struct world w = { .logs = true, .o = { .wait_ms = ENOUGH } };

    (void)state;
    run_world(&w, be_refused_among_others);
}

/* ---- first messages ---- */

static void a_greeting_is_complete_or_not_or_none(void **state)
{
    static const struct {
        admission_first *fn;
        const char *p;
        size_t n;
        int want;
    } rows[] = {
        { admission_first_tls, "\x16\x03\x01\x00\x02\x01z", 7, 1 },
        { admission_first_tls, "\x16\x03\x01\x00\x02\x01", 6, 0 },
        { admission_first_tls, "\x16\x03", 2, 0 },
        { admission_first_tls, "\x16", 1, 0 },
        { admission_first_tls, "\x16\x02", 2, -EPROTO },
        { admission_first_tls, "\x17\x03\x01\x00\x02\x01z", 7, -EPROTO },
        { admission_first_tls, "GET / HTTP/1.1\r\n", 16, -EPROTO },
        { admission_first_tls, "\x16\x03\x01\xff\xff\x01", 6, -EPROTO },
        { admission_first_tls, "\x16\x03\x01\x00\x00", 5, -EPROTO },
        { admission_first_tls, "\x16\x03\x01\x00\x02\x02z", 7, -EPROTO },
        { admission_first_http, "GET / HTTP/1.1\r\nHost: a\r\n", 25, 0 },
        { admission_first_http, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, 1 },
        { admission_first_http, "GET / HTTP/1.0\n\n", 16, 1 },
        { admission_first_http, "get /", 5, 1 },
        { admission_first_http, "\x16\x03", 2, 1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(rows[i].fn((const uint8_t *)rows[i].p, rows[i].n, &err), rows[i].want);
        assert_int_equal(err.text[0] != '\0', rows[i].want < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_peers_get_no_fiber_and_go_in_time),
        cmocka_unit_test(a_message_is_waited_for_as_a_whole),
        cmocka_unit_test(who_spoke_while_the_server_stood_still_is_heard),
        cmocka_unit_test(the_oldest_silent_peer_makes_room),
        cmocka_unit_test(whoever_is_slow_to_show_itself_makes_room_for_others),
        cmocka_unit_test(a_peer_that_may_not_connect_is_told_and_gets_no_fiber),
        cmocka_unit_test(one_that_nobody_stands_for_is_refused),
        cmocka_unit_test(closing_ends_strangers_and_visitors),
        cmocka_unit_test(refusals_are_told_while_others_wait),
        cmocka_unit_test(a_greeting_is_complete_or_not_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
