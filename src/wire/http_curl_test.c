/* http_curl_test.c - claims about the server that another program's HTTP has to confirm: curl. */
#include "loop/proc.h"
#include "wire/http_testing.h"

#include <fcntl.h>
#include <string.h>

#define ARGS_MAX 16

struct row {
    const char *args[ARGS_MAX]; /* a word that begins with '=' is asked for from the server */
    const char *input;          /* on its standard input, or NULL */
    const char *output;
};

/* Two ends of a pipe, ours without blocking. */
static void pipe_to(int ours, int fds[2])
{
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(fcntl(fds[ours], F_SETFL, O_NONBLOCK), 0);
}

static void run_curl(struct http_world *w, const struct row *row, char *out, size_t cap)
{
    char urls[ARGS_MAX][128];
    char *argv[ARGS_MAX + 6] = { (char *)"curl", (char *)"-q", (char *)"-s", (char *)"--noproxy",
                                 (char *)"*" };
    int in[2], from[2], status = 0;
    AUTO_PROC *p = NULL;
    size_t len = 0;

    for (size_t i = 0; row->args[i]; i++) {
        argv[5 + i] = (char *)row->args[i];
        if (row->args[i][0] != '=')
            continue;
        snprintf(urls[i], sizeof(urls[i]), "http://127.0.0.1:%d%s", w->port, row->args[i] + 1);
        argv[5 + i] = urls[i];
    }
    pipe_to(1, in);
    pipe_to(0, from);
    assert_int_equal(proc_start(w->loop,
                                &(struct proc_spec){ .program = "curl",
                                                     .argv = argv,
                                                     .fds = { in[0], from[1], from[1] } },
                                &p, NULL),
                     0);
    if (row->input)
        assert_int_equal(write(in[1], row->input, strlen(row->input)), strlen(row->input));
    close(in[0]);
    close(in[1]);
    close(from[1]);
    assert_int_equal(proc_wait(p, loop_in(w->loop, 4 * TEST_MS), &status), 0);
    for (ssize_t n = 1; n > 0 && len<cap - 1; len += n> 0 ? (size_t)n : 0)
        n = read(from[0], out + len, cap - 1 - len);
    out[len] = '\0';
    close(from[0]);
}

static const struct row rows[] = {
    { { "=/hello" }, NULL, "hello\n" },
    { { "-I", "-w", "%{http_code}", "-o", "/dev/null", "=/hello" }, NULL, "200" },
    { { "=/stream?n=3" }, NULL, "chunk 0\nchunk 1\nchunk 2\n" },
    { { "--http1.0", "=/stream?n=2" }, NULL, "chunk 0\nchunk 1\n" },
    { { "--http2", "=/hello" }, NULL, "hello\n" },
    { { "-T", "-", "=/echo" }, "sent in chunks", "sent in chunks" },
    { { "-H", "Expect: 100-continue", "-d", "after a word", "=/echo" }, NULL, "after a word" },
    { { "-X", "PUT", "-d", "x", "=/unread" }, NULL, "not read\n" },
    { { "-w", "%{num_connects}", "=/hello", "=/hello", "=/hello" },
      NULL,
      "hello\n1hello\n0hello\n0" },
    { { "-w", " %{http_code}", "--path-as-is", "=/../x" },
      NULL,
      "{\"error\":{\"text\":\"a path with '.' or '..' in it\",\"hint\":\"\"}}\n 400" },
    { { "-G", "--data-urlencode", "name=a&b c/\xc3\xa9", "=/say" },
      NULL,
      "{\"name\":\"a&b c/\xc3\xa9\",\"method\":\"GET\"}\n" },
    { { "-o", "/dev/null", "-w", "%{size_download}", "=/big?n=10000000" }, NULL, "10000000" },
    { { "-w", " %{exitcode}", "=/half" }, NULL, "half 18" },
};

static int ask_with_curl(void *arg)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[4 * KIB];

        run_curl(arg, &rows[i], out, sizeof(out));
        assert_string_equal(out, rows[i].output);
    }
    return 0;
}

static void curl_gets_what_it_asks_for(void **state)
{
    struct http_world w = { 0 };

    (void)state;
    http_world_run(&w, ask_with_curl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curl_gets_what_it_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
