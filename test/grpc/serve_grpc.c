/* serve_grpc.c - a server for tests and by hand: ydl-test-grpc [LIMIT=N]… [CERTIFICATE KEY]
 *
 * Prints "port N"; HTTP/1.1 is answered there too. Ends when its standard input does: with
 * "drain\n" before that it first lets the calls end, and prints "drained". Methods of /test.Test/:
 *
 *     Echo    the message, and x-request-id as it came      Big     as many bytes as the message
 * says Sleep   waits so many ms, "slept"                     Fail    an error that is no valid
 * header Count   calls that run, and those that were cancelled */
#include "base/log.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "loop/listen.h"
#include "wire/grpc/grpc.h"
#include "wire/http.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 60000
#define NUMBER_MAX 24
#define ANSWER_MAX (256 * MIB)

struct serve {
    struct loop *loop;
    struct grpc_options grpc;
    struct grpc_server *server;
    unsigned cancelled;
    const char *chain, *key; /* NULL: no TLS */
};

/* ---- methods ---- */

static int message_number(struct grpc_call *c, int64_t *ret, struct err *err)
{
    struct view v = grpc_message(c);
    char text[NUMBER_MAX] = "";

    if (v.n < sizeof(text) && v.n > 0)
        memcpy(text, v.p, v.n);
    if (str_to_i64(text, 0, ANSWER_MAX, ret) < 0)
        return err_set(err, -EINVAL, "the message is no number");
    return 0;
}

static int on_echo(void *user, struct grpc_call *c, struct err *err)
{
    const char *id = grpc_metadata(c, "x-request-id");
    AUTO_BUF b = { .max = ANSWER_MAX };
    struct view v = grpc_message(c);

    (void)user;
    if (buf_add(&b, v.p, v.n) < 0)
        return err_oom(err);
    if (id && grpc_answer_header(c, "x-request-id", id, err) < 0)
        return err->code;
    return grpc_answer(c, &b, err);
}

static int on_big(void *user, struct grpc_call *c, struct err *err)
{
    AUTO_BUF b = { .max = ANSWER_MAX };
    uint8_t *p = NULL;
    int64_t n = 0;
    int r = message_number(c, &n, err);

    (void)user;
    if (r < 0)
        return r;
    if (buf_room(&b, (size_t)n, &p) < 0)
        return err_oom(err);
    memset(p, 'x', (size_t)n);
    b.len = (size_t)n;
    return grpc_answer(c, &b, err);
}

static int on_sleep(void *user, struct grpc_call *c, struct err *err)
{
    struct serve *s = user;
    AUTO_BUF b = { .max = NUMBER_MAX };
    int64_t ms = 0;
    int r = message_number(c, &ms, err);

    if (r < 0)
        return r;
    r = fiber_sleep(s->loop, ms);
    s->cancelled += r == -ECANCELED;
    if (r < 0)
        return err_code(err, r, "sleep");
    if (buf_add_str(&b, "slept") < 0)
        return err_oom(err);
    return grpc_answer(c, &b, err);
}

static int on_fail(void *user, struct grpc_call *c, struct err *err)
{
    (void)user;
    (void)c;
    return err_set(err, -ENOENT, "there is no model 'caf\xc3\xa9'\n(100%% sure)");
}

static int on_count(void *user, struct grpc_call *c, struct err *err)
{
    struct serve *s = user;
    AUTO_BUF b = { .max = 2 * NUMBER_MAX };

    if (buf_printf(&b, "%zu %u", grpc_calls(s->server), s->cancelled) < 0)
        return err_oom(err);
    return grpc_answer(c, &b, err);
}

static const struct grpc_method methods[] = {
    { "/test.Test/Echo", on_echo },   { "/test.Test/Big", on_big },
    { "/test.Test/Sleep", on_sleep }, { "/test.Test/Fail", on_fail },
    { "/test.Test/Count", on_count }, { 0 },
};

static int on_http(void *user, struct http_call *c, struct err *err)
{
    (void)user;
    return http_reply(c, 200, "text/plain", "HTTP/1.1\n", strlen("HTTP/1.1\n"), err);
}

/* ---- the program ---- */

/* 1 when "drain" was said. */
static int wait_for_end(struct loop *l, struct err *err)
{
    AUTO_SOCK *in = NULL;
    char c[64];
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 3), r;
    ssize_t n;

    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, "standard input");
    r = sock_from_fd(l, fd, &in, err);
    if (r < 0)
        return r;
    n = sock_read(in, c, sizeof(c), LOOP_NEVER);
    return n > 0;
}

static int serve_on(struct serve *s, int fd, int port, struct err *err)
{
    struct http_server_options o = { .loop = s->loop,
                                     .fd = fd,
                                     .limits.header_ms = s->grpc.limits.header_ms,
                                     .handler = on_http,
                                     .http2 = grpc_serve,
                                     .http2_user = s->server };
    AUTO(http_server) struct http_server *http = NULL;
    int r = 0;

    if (s->chain)
        r = stream_tls_certificate(s->chain, s->key, &o.tls, err);
    if (r < 0)
        listen_close(fd);
    else
        r = http_server_start(&o, &http, err);
    if (r < 0)
        return r;
    printf("port %d\n", port);
    fflush(stdout);
    r = wait_for_end(s->loop, err);
    if (r > 0) {
        r = grpc_drain(s->server, loop_in(s->loop, PATIENCE_MS), err);
        printf("%s\n", r < 0 ? err->text : "drained");
    }
    return r;
}

static int run(void *arg)
{
    struct serve *s = arg;
    struct err err = ERR_INIT;
    int fd = -1, port = 0;
    int r = listen_tcp("127.0.0.1", 0, 0, &fd, &port, &err);

    if (r == 0)
        r = grpc_server_new(&s->grpc, &s->server, &err);
    if (r == 0)
        r = serve_on(s, fd, port, &err);
    if (r < 0)
        fprintf(stderr, "%s\n%s\n", err.text, err.hint);
    s->server = grpc_server_free(s->server);
    return r;
}

static bool set_limit(struct grpc_limits *l, const char *word)
{
    const struct {
        const char *name;
        size_t *size;
        int64_t *ms;
    } rows[] = {
        { "message_max=", &l->message_max, NULL }, { "held_max=", &l->held_max, NULL },
        { "header_max=", &l->header_max, NULL },   { "body_ms=", NULL, &l->body_ms },
        { "write_ms=", NULL, &l->write_ms },       { "header_ms=", NULL, &l->header_ms },
        { "idle_ms=", NULL, &l->idle_ms },
    };
    int64_t n = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!str_starts(word, rows[i].name) ||
            str_to_i64(word + strlen(rows[i].name), 1, INT32_MAX, &n) < 0)
            continue;
        if (rows[i].size)
            *rows[i].size = (size_t)n;
        else
            *rows[i].ms = n;
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char *const metadata[] = { "x-request-id", "authorization", NULL };
    struct serve s = { .grpc = { .methods = methods, .metadata = metadata } };
    int code;

    log_init("ydl-test-grpc");
    for (int i = 1; i < argc; i++) {
        if (set_limit(&s.grpc.limits, argv[i]))
            continue;
        if (i + 2 == argc) {
            s.chain = argv[i];
            s.key = argv[i + 1];
            break;
        }
        fprintf(stderr, "usage: %s [LIMIT=N]… [CERTIFICATE KEY]\n", argv[0]);
        return 2;
    }
    if (loop_new(&s.loop, NULL) < 0)
        return 1;
    s.grpc.loop = s.loop;
    s.grpc.user = &s;
    code = loop_run(s.loop, run, &s, true);
    loop_free(s.loop);
    return code < 0;
}
