/* rendezvous_test.c - claims about rendezvous.h: servers start, stop, and survive their clients.
 * What workers say to each server is in test/rendezvous. */
#include "loop/fiber.h"
#include "loop/sock.h"
#include "rendezvous/rendezvous.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define CROWD 200

struct world {
    struct loop *loop;
    struct rendezvous_options opt;
    struct rendezvous *server;
    char notes[1024];
};

static void on_note(void *user, const char *text)
{
    struct world *w = user;
    size_t n = strlen(w->notes);

    snprintf(w->notes + n, sizeof(w->notes) - n, "%s\n", text);
}

static int run(int (*fn)(void *arg), unsigned workers)
{
    struct world w = { 0 };
    int r;

    assert_int_equal(loop_new(&w.loop, NULL), 0);
    w.opt = (struct rendezvous_options){
        .loop = w.loop, .host = "127.0.0.1", .world = workers, .user = &w, .on_note = on_note
    };
    r = loop_run(w.loop, fn, &w, false);
    w.loop = loop_free(w.loop);
    return r;
}

static struct sock *dial(struct world *w)
{
    struct sock *s = NULL;

    assert_int_equal(sock_connect(w->loop, "127.0.0.1", rendezvous_port(w->server),
                                  loop_in(w->loop, 30000), &s, NULL),
                     0);
    return s;
}

static int start_each(void *arg)
{
    struct world *w = arg;
    struct err err = ERR_INIT;

    for (unsigned bit = 1; bit <= 8; bit *= 2) {
        assert_int_equal(rendezvous_start(bit, &w->opt, &w->server, &err), 0);
        assert_in_range(rendezvous_port(w->server), 1, 65535);
        w->server = rendezvous_free(w->server);
    }
    assert_int_equal(rendezvous_start(16, &w->opt, &w->server, &err), -EINVAL);
    w->opt.world = 0;
    assert_int_equal(rendezvous_start(1, &w->opt, &w->server, &err), -EINVAL);
    assert_null(rendezvous_free(NULL));
    return 0;
}

static void every_bit_has_a_server_that_starts_and_stops(void **state)
{
    (void)state;
    assert_int_equal(run(start_each, 2), 0);
}

static int tell(void *user, const char *path, json_t **ret, struct err *err)
{
    struct world *w = user;

    on_note(w, path);
    if (strcmp(path, "a/b") != 0)
        return err_set(err, -ENOENT, "no '%s'", path);
    return json_make(ret, err, "{s:i}", "told", 1);
}

static void ask_slider(struct world *w, const char *what, const char *status, const char *body)
{
    struct sock *s = dial(w);
    char text[512] = "";
    ssize_t n, at = 0;

    snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", what);
    assert_int_equal(sock_write(s, text, strlen(text), loop_in(w->loop, 30000)), 0);
    while ((n = sock_read(s, text + at, sizeof(text) - 1 - (size_t)at, loop_in(w->loop, 30000))) >
           0)
        at += n;
    text[at] = '\0';
    assert_true(strncmp(text, status, strlen(status)) == 0);
    assert_non_null(strstr(text, body));
    s = sock_close(s);
}

static int ask_documents(void *arg)
{
    struct world *w = arg;

    w->opt.document = tell;
    assert_int_equal(rendezvous_start(8, &w->opt, &w->server, NULL), 0);
    ask_slider(w, "GET /ws/v1/slider/a/b", "HTTP/1.1 200", "{\"told\":1}");
    ask_slider(w, "GET /ws/v1/slider//a/b//", "HTTP/1.1 200", "{\"told\":1}");
    ask_slider(w, "GET /ws/v1/slider/c", "HTTP/1.1 404", "no 'c'");
    ask_slider(w, "GET /ws/v1/slider", "HTTP/1.1 404", "no ''");
    ask_slider(w, "GET /ws/v1/sliders/a/b", "HTTP/1.1 404", "there is nothing at");
    ask_slider(w, "GET /v1/job", "HTTP/1.1 404", "there is nothing at");
    ask_slider(w, "POST /ws/v1/slider/a/b", "HTTP/1.1 405", "");
    assert_string_equal(w->notes, "a/b\na/b\nc\n\n");
    w->server = rendezvous_free(w->server);
    return 0;
}

static void sliders_server_tells_what_it_is_told_and_takes_nothing(void **state)
{
    (void)state;
    assert_int_equal(run(ask_documents, 1), 0);
    assert_int_equal(run(ask_documents, 0), 0); /* components need not be workers */
    assert_true(rendezvous_lasts(8));
    assert_false(rendezvous_lasts(4));
    assert_false(rendezvous_lasts(16));
}

static int use_one_port(void *arg)
{
    struct world *w = arg;
    struct rendezvous *second = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(rendezvous_start(1, &w->opt, &w->server, &err), 0);
    w->opt.port_low = w->opt.port_high = (unsigned)rendezvous_port(w->server);
    assert_int_equal(rendezvous_start(2, &w->opt, &second, &err), -EADDRINUSE);
    assert_true(strncmp(err.text, "xgboost server: ", 16) == 0);
    w->server = rendezvous_free(w->server);
    return 0;
}

static void a_port_in_use_is_said_with_the_servers_name(void **state)
{
    (void)state;
    assert_int_equal(run(use_one_port, 2), 0);
}

/* Reads the magic number and ends the connection by a word that is none of the protocol's. */
static int speak_nonsense(void *arg)
{
    static const char nonsense[] = "GET / HTTP/1.1\r\n\r\n";
    struct world *w = arg;

    for (unsigned bit = 1; bit <= 2; bit++) {
        struct sock *s;
        char c;

        assert_int_equal(rendezvous_start(bit, &w->opt, &w->server, NULL), 0);
        s = dial(w);
        assert_int_equal(sock_write(s, nonsense, sizeof(nonsense), loop_in(w->loop, 30000)), 0);
        assert_true(sock_read(s, &c, 1, loop_in(w->loop, 30000)) <= 0);
        s = sock_close(s);
        w->server = rendezvous_free(w->server);
    }
    assert_string_equal(
        w->notes, "rabit: 127.0.0.1: this is not a worker (its first word is 0x20544547)\n"
                  "xgboost: 127.0.0.1: this is not a worker (its first word is 0x20544547)\n");
    return 0;
}

static void a_stranger_is_sent_away_with_a_note(void **state)
{
    (void)state;
    assert_int_equal(run(speak_nonsense, 2), 0);
}

static int stop_under_clients(void *arg)
{
    struct world *w = arg;
    struct sock *s[3];
    int64_t t;
    char c;

    assert_int_equal(rendezvous_start(1, &w->opt, &w->server, NULL), 0);
    for (int i = 0; i < 3; i++)
        s[i] = dial(w);
    fiber_sleep(w->loop, 2);
    t = loop_now(w->loop);
    w->server = rendezvous_free(w->server);
    assert_true(loop_now(w->loop) - t < 2500);
    for (int i = 0; i < 3; i++) {
        assert_true(sock_read(s[i], &c, 1, loop_in(w->loop, 30000)) <= 0);
        s[i] = sock_close(s[i]);
    }
    assert_string_equal(w->notes, "");
    return 0;
}

static void stopping_ends_all_connections_at_once(void **state)
{
    (void)state;
    assert_int_equal(run(stop_under_clients, 2), 0);
}

/* One worker is a whole job: from start to its place, without waiting for anybody. */
static int serve_one(void *arg)
{
    static const int32_t want[] = { 0xff99, 0, -1, 1, 0, -1, -1 };
    static const char hello[] = "\x99\xff\0\0\xff\xff\xff\xff\xff\xff\xff\xff\4\0\0\0NULL"
                                "\5\0\0\0start";
    struct world *w = arg;
    int32_t got[7], none[] = { 0, 0, 4000 }, peers[2];
    struct sock *s;

    assert_int_equal(rendezvous_start(1, &w->opt, &w->server, NULL), 0);
    s = dial(w);
    assert_int_equal(sock_write(s, hello, sizeof(hello) - 1, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read_full(s, got, sizeof(got), loop_in(w->loop, 30000)), 0);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(sock_write(s, none, 4, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read_full(s, peers, sizeof(peers), loop_in(w->loop, 30000)), 0);
    assert_int_equal(peers[0] + peers[1], 0);
    assert_int_equal(sock_write(s, none + 1, 8, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read(s, got, 1, loop_in(w->loop, 30000)), 0);
    s = sock_close(s);
    w->server = rendezvous_free(w->server);
    assert_string_equal(w->notes, "");
    return 0;
}

static void a_rabit_worker_alone_gets_its_place(void **state)
{
    (void)state;
    assert_int_equal(run(serve_one, 1), 0);
}

/* All have connected before any of them goes on. */
static int greet_many(void *arg)
{
    static const char print[] = "\xff\xff\xff\xff\xff\xff\xff\xff\4\0\0\0NULL"
                                "\5\0\0\0print\2\0\0\0hi";
    struct world *w = arg;
    struct sock *s[CROWD];
    int32_t magic = 0xff99;
    char c;

    assert_int_equal(rendezvous_start(1, &w->opt, &w->server, NULL), 0);
    for (int i = 0; i < CROWD; i++) {
        s[i] = dial(w);
        assert_int_equal(sock_write(s[i], &magic, sizeof(magic), loop_in(w->loop, 30000)), 0);
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(sock_read_full(s[i], &magic, sizeof(magic), loop_in(w->loop, 20000)), 0);
    assert_int_equal(sock_write(s[0], print, sizeof(print) - 1, loop_in(w->loop, 30000)), 0);
    assert_int_equal(sock_read(s[0], &c, 1, loop_in(w->loop, 20000)), 0);
    assert_string_equal(w->notes, "hi\n");
    for (int i = 0; i < CROWD; i++)
        s[i] = sock_close(s[i]);
    w->server = rendezvous_free(w->server);
    return 0;
}

static void no_worker_is_sent_away_because_all_come_at_once(void **state)
{
    (void)state;
    assert_int_equal(run(greet_many, CROWD), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_has_a_server_that_starts_and_stops),
        cmocka_unit_test(sliders_server_tells_what_it_is_told_and_takes_nothing),
        cmocka_unit_test(a_port_in_use_is_said_with_the_servers_name),
        cmocka_unit_test(a_stranger_is_sent_away_with_a_note),
        cmocka_unit_test(stopping_ends_all_connections_at_once),
        cmocka_unit_test(a_rabit_worker_alone_gets_its_place),
        cmocka_unit_test(no_worker_is_sent_away_because_all_come_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
