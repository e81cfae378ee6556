/* haproxy_runtime.c - one connection per line: HAProxy closes it when it has answered, which is the
 * only end that an answer has. */
#include "serve/gateway/haproxy_runtime.h"
#include "base/str.h"
#include "loop/listen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COMMANDS_MAX 4096
#define PIECE 16384

static int runtime_read(struct sock *s, struct buf *ret, int64_t deadline)
{
    for (;;) {
        uint8_t *at;
        ssize_t n;
        int r = buf_room(ret, PIECE, &at);

        if (r < 0)
            return r;
        n = sock_read(s, at, PIECE, deadline);
        if (n <= 0)
            return (int)n;
        ret->len += (size_t)n;
    }
}

int haproxy_ask(struct loop *l, const char *socket, const char *commands, struct buf *ret,
                struct err *err)
{
    int64_t deadline = loop_in(l, HAPROXY_ANSWER_MS);
    AUTO_SOCK *s = NULL;
    int r = sock_connect_unix(l, socket, deadline, &s, err);

    if (r < 0)
        return r;
    r = sock_write(s, commands, strlen(commands), deadline);
    if (r == 0)
        r = sock_write(s, "\n", 1, deadline);
    if (r == 0)
        r = runtime_read(s, ret, deadline);
    return r < 0 ? err_code(err, r, "ask HAProxy '%.60s'", commands) : 0;
}

/* What HAProxy prints when it did what it was told. */
static bool runtime_is_done(const char *answer)
{
    static const char *const done[] = { "New server registered", "Server deleted" };

    answer += strspn(answer, "\r\n ");
    for (size_t i = 0; i < COUNT_OF(done); i++)
        if (str_starts(answer, done[i]))
            return true;
    return !*answer;
}

int haproxy_tell(struct loop *l, const char *socket, struct err *err, const char *fmt, ...)
{
    AUTO_BUF answer = { .max = 64 * KIB };
    char commands[COMMANDS_MAX], clean[200];
    va_list ap;
    int n, r;

    va_start(ap, fmt);
    n = vsnprintf(commands, sizeof(commands), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(commands))
        return err_set(err, -E2BIG, "a command for HAProxy is too long");
    r = haproxy_ask(l, socket, commands, &answer, err);
    if (r < 0)
        return r;
    if (!buf_text(&answer))
        return err_oom(err);
    if (runtime_is_done(buf_text(&answer)))
        return 0;
    (void)str_clean(clean, sizeof(clean), buf_text(&answer));
    return err_set(err, -EREMOTEIO, "HAProxy answered '%s' to '%.60s'", clean, commands);
}
