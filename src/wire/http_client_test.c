/* http_client_test.c - claims about the client, mostly against our own server, plain and with TLS.
 */
#include "wire/http_testing.h"

#include <string.h>

static const struct stream_key job_key = { .identity = "local-1", .key = { 1, 2, 3 } };

static void on_both(int (*fn)(void *w))
{
    struct http_world plain = { 0 }, tls = { .key = &job_key };

    http_world_run(&plain, fn);
    http_world_run(&tls, fn);
}

static struct http_answer ask(struct http_world *w, struct http_client *c, struct http_request q)
{
    struct http_answer a = { 0 };
    struct err err = ERR_INIT;
    int r = http_ask(c, &q, loop_in(w->loop, TEST_MS), &a, &err);

    assert_string_equal(err.text, "");
    assert_int_equal(r, 0);
    return a;
}

static int ask_a_thousand_times(void *arg)
{
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);

    for (int i = 0; i < 1000; i++) {
        struct http_answer a = ask(w, c, (struct http_request){ "GET", "/hello" });
        AUTO_FREE char *body = http_world_read(w, c);

        assert_int_equal(a.status, 200);
        assert_true(a.length == 6);
        assert_non_null(body);
        assert_string_equal(body, "hello\n");
    }
    assert_int_equal(w->requests, 1000);
    http_client_free(c);
    return 0;
}

static void a_thousand_requests_go_over_one_connection(void **state)
{
    (void)state;
    on_both(ask_a_thousand_times);
}

/* A body of many pieces: each byte tells where it stands. */
struct pieces {
    size_t at;
    size_t end;   /* where it fails, … */
    bool quietly; /* … or ends too early */
};

static ssize_t next_of_pieces(void *user, void *p, size_t n, struct err *err)
{
    struct pieces *x = user;

    if (x->at >= x->end)
        return x->quietly ? 0 : err_set(err, -ENODATA, "no more");
    for (size_t i = 0; i < n; i++)
        ((char *)p)[i] = (char)('a' + (x->at + i) % 26);
    x->at += n;
    return (ssize_t)n;
}

static int send_in_pieces(void *arg)
{
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);
    struct pieces all = { .end = SIZE_MAX };
    struct http_request q = {
        "PUT", "/echo", "text/plain", .size = 300000, .next = next_of_pieces, .user = &all
    };
    struct http_answer a = ask(w, c, q);
    AUTO_FREE char *body = http_world_read(w, c);

    assert_int_equal(a.status, 200);
    assert_non_null(body);
    assert_int_equal(strlen(body), 300000);
    for (size_t i = 0; i < 300000; i++)
        assert_int_equal(body[i], 'a' + (int)(i % 26));
    http_client_free(c);
    return 0;
}

static void a_body_is_sent_piece_by_piece(void **state)
{
    (void)state;
    on_both(send_in_pieces);
}

static int fail_in_pieces(void *arg)
{
    struct http_world *w = arg;

    for (int quietly = 0; quietly < 2; quietly++) {
        struct http_client *c = http_world_client(w);
        struct pieces some = { .end = 1, .quietly = quietly };
        struct http_request q = {
            "PUT", "/echo", "text/plain", .size = 300000, .next = next_of_pieces, .user = &some
        };
        struct http_answer a = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(http_ask(c, &q, loop_in(w->loop, TEST_MS), &a, &err), -ENODATA);
        http_client_free(c);
    }
    return 0;
}

static void a_body_that_cannot_be_had_fails_the_request(void **state)
{
    (void)state;
    on_both(fail_in_pieces);
}

static int all_kinds(void *arg)
{
    static const struct {
        struct http_request q;
        int status;
        uint64_t length;
        const char *body; /* NULL: not read, so that the next request has to */
    } rows[] = {
        { { "GET", "/say?name=%C3%A9" }, 200, 29, "{\"name\":\"\xc3\xa9\",\"method\":\"GET\"}\n" },
        { { "HEAD", "/hello" }, 200, 6, "" },
        { { "GET", "/stream?n=3" }, 200, UINT64_MAX, "chunk 0\nchunk 1\nchunk 2\n" },
        { { "GET", "/stream?n=300" }, 200, UINT64_MAX, NULL },
        { { "HEAD", "/stream?n=3" }, 200, UINT64_MAX, "" },
        { { "GET", "/big?n=300000" }, 200, 300000, NULL },
        { { "PUT", "/echo", "text/plain", "hello", 5 }, 200, UINT64_MAX, "hello" },
        { { "PUT", "/echo" }, 200, 0, "" },
        { { "PUT", "/unread", NULL, "hello", 5 }, 200, 9, "not read\n" },
        { { "GET", "/fail?code=1" }, 403, 71, NULL },
        { { "GET", "/nothing" },
          404,
          54,
          "{\"error\":{\"text\":\"there is no '/nothing'\",\"hint\":\"\"}}\n" },
    };
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_answer a = ask(w, c, rows[i].q);
        AUTO_FREE char *body = rows[i].body ? http_world_read(w, c) : NULL;

        assert_int_equal(a.status, rows[i].status);
        assert_true(a.length == rows[i].length);
        if (rows[i].body) {
            assert_non_null(body);
            assert_string_equal(body, rows[i].body);
        }
    }
    assert_string_equal(http_answer_header(c, "content-type"), "application/json; charset=utf-8");
    assert_null(http_answer_header(c, "X-Lost"));
    http_client_free(c);
    return 0;
}

static void all_kinds_of_answers_follow_each_other(void **state)
{
    (void)state;
    on_both(all_kinds);
}

static int large_bodies(void *arg)
{
    enum { SIZE = 1000000 };
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);
    AUTO_FREE char *data = malloc(SIZE + 1), *back = NULL;
    struct http_answer a;

    assert_non_null(data);
    for (int i = 0; i < SIZE; i++)
        data[i] = (char)('a' + i % 23 + i / 4096 % 3);
    data[SIZE] = '\0';
    a = ask(w, c, (struct http_request){ "PUT", "/unread", NULL, data, 1 });
    assert_int_equal(a.status, 200);
    /* The server sends while we send: what fits between us must be enough for a part of it. */
    a = ask(w, c, (struct http_request){ "PUT", "/echo", NULL, data, 100000 });
    assert_int_equal(a.status, 200);
    back = http_world_read(w, c);
    assert_non_null(back);
    assert_int_equal(strlen(back), 100000);
    assert_int_equal(strncmp(back, data, 100000), 0);
    http_client_free(c);
    return 0;
}

static void a_large_body_comes_back_as_it_was(void **state)
{
    (void)state;
    on_both(large_bodies);
}

static int early_answer(void *arg)
{
    enum { SIZE = 20 * 1000 * 1000 };
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);
    AUTO_FREE char *data = calloc(1, SIZE);
    struct http_answer a;
    struct err err = ERR_INIT;
    struct http_request again = { "GET", "/hello" };

    assert_non_null(data);
    a = ask(w, c, (struct http_request){ "PUT", "/echo", NULL, data, SIZE });
    assert_int_equal(a.status, 413);
    assert_int_equal(http_ask(c, &again, loop_in(w->loop, TEST_MS), &a, &err) < 0, true);
    http_client_free(c);
    return 0;
}

static void an_answer_that_comes_before_all_was_sent_is_read(void **state)
{
    struct http_world w = { .limits = { .body_max = 1000 } };

    (void)state;
    http_world_run(&w, early_answer);
}

static int broken_stream(void *arg)
{
    struct http_world *w = arg;
    struct http_client *c = http_world_client(w);
    char piece[16];
    struct err err = ERR_INIT;
    struct http_answer a = ask(w, c, (struct http_request){ "GET", "/half" });
    ssize_t n = http_read(c, piece, sizeof(piece), loop_in(w->loop, TEST_MS), &err);

    assert_int_equal(a.status, 200);
    assert_int_equal(n, 4);
    n = http_read(c, piece, sizeof(piece), loop_in(w->loop, TEST_MS), &err);
    assert_int_equal(n, w->key ? -ECONNRESET : -ENODATA);
    http_client_free(c);
    return 0;
}

static void a_stream_that_breaks_off_is_not_taken_for_whole(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, broken_stream);
}

static int nonsense(void *arg)
{
    static const struct http_request rows[] = {
        { "", "/" },       { "GET", "" },
        { "GET", "/a b" }, { "GET", "/a\r\nX: y" },
        { "G T", "/" },    { "GET", "/", "a\r\nb", "", 0 },
    };
    struct http_world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_client *c = http_world_client(w);
        struct http_answer a;
        struct err err = ERR_INIT;

        assert_int_equal(http_ask(c, &rows[i], loop_in(w->loop, TEST_MS), &a, &err), -EINVAL);
        http_client_free(c);
    }
    return 0;
}

static void a_request_cannot_smuggle_another(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, nonsense);
    assert_int_equal(w.requests, 0);
}

/* ---- servers that are not ours ---- */

struct fake {
    struct loop *loop;
    const char *answer;
    int code;
    const char *text;
};

static int ask_fake(void *arg)
{
    struct fake *f = arg;
    struct stream *s[2] = { 0 };
    struct http_client *c = NULL;
    struct http_request q = { "GET", "/" };
    struct http_answer a = { 0 };
    struct err err = ERR_INIT;

    connected_streams(f->loop, s);
    assert_int_equal(http_client_new(f->loop, s[0], "h", NULL, &c, NULL), 0);
    assert_int_equal(stream_write(s[1], f->answer, strlen(f->answer), loop_in(f->loop, TEST_MS)),
                     0);
    assert_int_equal(shutdown(sock_fd(stream_sock(s[1])), SHUT_WR), 0);
    assert_int_equal(http_ask(c, &q, loop_in(f->loop, TEST_MS), &a, &err), f->code);
    assert_string_equal(err.text, f->text);
    http_client_free(c);
    stream_close(s[1]);
    return 0;
}

static void what_is_no_answer_is_an_error(void **state)
{
    static const struct fake rows[] = {
        { NULL, "", -ECONNRESET, "the server closed the connection" },
        { NULL, "HTTP/1.1 20", -ENODATA, "the other side ended inside a header" },
        { NULL, "SSH-2.0-x\r\n", -EBADMSG, "not HTTP/1.1: Expected HTTP/" },
        { NULL, "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", -EPROTO,
          "the server answered with status 101" },
        { NULL, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\n", 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fake f = rows[i];

        on_a_loop(&f.loop, ask_fake, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_requests_go_over_one_connection),
        cmocka_unit_test(a_body_is_sent_piece_by_piece),
        cmocka_unit_test(a_body_that_cannot_be_had_fails_the_request),
        cmocka_unit_test(all_kinds_of_answers_follow_each_other),
        cmocka_unit_test(a_large_body_comes_back_as_it_was),
        cmocka_unit_test(an_answer_that_comes_before_all_was_sent_is_read),
        cmocka_unit_test(a_stream_that_breaks_off_is_not_taken_for_whole),
        cmocka_unit_test(a_request_cannot_smuggle_another),
        cmocka_unit_test(what_is_no_answer_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
