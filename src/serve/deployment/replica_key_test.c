/* replica_key_test.c - claims about replica_key.h, with a real key-value store behind a socket. */
#include "loop/fiber.h"
#include "loop/listen.h"
#include "rendezvous/kv.h"
#include "serve/deployment/replica_key.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAKERS 3
#define LINE_MAX_ 400

struct world {
    struct loop *loop;
    struct kv *kv;
    char dir[64], path[80];
    struct sock *listener;
    char answer[LINE_MAX_];
    unsigned connected;
    unsigned first_gets; /* how many were told that there is no key */
};

struct maker {
    struct world *w;
    unsigned n;
};

/* ---- the store behind its socket ---- */

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct world *w = user;
    size_t len = 0;

    (void)task;
    (void)id;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(w->answer + len, sizeof(w->answer) - len, "%s%.*s", i ? " " : "",
                                (int)words[i].n, (const char *)words[i].p);
    (void)snprintf(w->answer + len, sizeof(w->answer) - len, "\n");
    w->first_gets += strcmp(w->answer, "none\n") == 0;
}

static void answer_line(struct world *w, uint32_t task, char *line)
{
    static uint64_t id;
    struct kv_word words[3];
    size_t n = 0;

    for (char *at = strtok_r(line, " \n", &line); at && n < 3; at = strtok_r(NULL, " \n", &line))
        words[n++] = (struct kv_word){ at, strlen(at) };
    assert_int_equal(kv_request(w->kv, &(struct kv_ask){ task, ++id, words, n, 0 }, NULL), 0);
}

/* One connection: each read is a line, as its client waits for the answer. Nobody is answered
 * before all have asked once: all of them find no key. */
static void serve_one(void *arg)
{
    struct world *w = arg;
    uint32_t task = w->connected++;
    AUTO_SOCK *s = NULL;
    char line[LINE_MAX_];
    ssize_t n;

    assert_int_equal(
        sock_from_fd(w->loop,
                     accept4(sock_fd(w->listener), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), &s,
                     NULL),
        0);
    while ((n = sock_read(s, line, sizeof(line) - 1, INT64_MAX)) > 0) {
        line[n] = '\0';
        answer_line(w, task, line);
        AUTO_FREE char *answer = strdup(w->answer);

        while (strcmp(answer, "none\n") == 0 && w->first_gets < MAKERS)
            assert_int_equal(fiber_yield(w->loop), 0);
        assert_int_equal(sock_write(s, answer, strlen(answer), INT64_MAX), 0);
    }
}

static void accept_all(void *arg)
{
    struct world *w = arg;

    while (w->connected < MAKERS) {
        unsigned before = w->connected;

        assert_int_equal(sock_wait_readable(w->listener, INT64_MAX), 0);
        assert_int_equal(fiber_start(w->loop, serve_one, w, NULL, NULL), 0);
        while (w->connected == before)
            assert_int_equal(fiber_yield(w->loop), 0);
    }
}

/* ---- gateways ---- */

static void file_of(const struct world *w, unsigned n, char *ret, size_t max)
{
    (void)snprintf(ret, max, "%s/key%u", w->dir, n);
}

static int make(void *arg, struct err *err)
{
    const struct maker *m = arg;
    struct line_client c;
    char file[100];
    int r;

    file_of(m->w, m->n, file, sizeof(file));
    line_client_init(&c, m->w->loop, m->w->path);
    r = replica_key_make(&c, file, err);
    line_client_done(&c);
    return r;
}

static void read_key(const struct world *w, unsigned n, char key[65])
{
    char file[100];
    int fd;

    file_of(w, n, file, sizeof(file));
    fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, key, 65), 64);
    key[64] = '\0';
    close(fd);
    assert_int_equal(unlink(file), 0);
}

static int make_at_once(void *arg)
{
    struct world *w = arg;
    struct maker makers[MAKERS];
    struct group g;
    struct err err = ERR_INIT;
    char keys[MAKERS][65];
    int fd = -1;

    assert_int_equal(listen_unix(w->path, &fd, NULL), 0);
    assert_int_equal(sock_from_fd(w->loop, fd, &w->listener, NULL), 0);
    assert_int_equal(fiber_start(w->loop, accept_all, w, NULL, NULL), 0);
    group_init(&g, w->loop, 0);
    for (unsigned i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){ w, i };
        assert_int_equal(group_go(&g, make, &makers[i], &err), 0);
    }
    assert_int_equal(group_wait(&g, &err), 0);
    assert_int_equal(w->first_gets, MAKERS);
    for (unsigned i = 0; i < MAKERS; i++) {
        read_key(w, i, keys[i]);
        assert_string_equal(keys[i], keys[0]);
    }
    w->listener = sock_close(w->listener);
    return 0;
}

static void gateways_that_begin_at_once_have_one_key(void **state)
{
    struct world w = { .dir = "/tmp/replica_key.XXXXXX" };
    struct kv_events on = { .user = &w, .on_reply = on_reply };

    (void)state;
    assert_non_null(mkdtemp(w.dir));
    (void)snprintf(w.path, sizeof(w.path), "%s/store", w.dir);
    assert_int_equal(kv_new(&on, &w.kv, NULL), 0);
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, make_at_once, &w, false), 0);
    loop_free(w.loop);
    kv_free(w.kv);
    assert_int_equal(unlink(w.path), 0);
    assert_int_equal(rmdir(w.dir), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gateways_that_begin_at_once_have_one_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
