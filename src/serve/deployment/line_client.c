/* line_client.c - one connection, made when it is wanted and dropped when anything fails, so that
 * an answer is never taken for that of another question. See line_client.h. */
#include "serve/deployment/line_client.h"
#include "loop/listen.h"

#include <string.h>

#define ANSWER_MS 30000
#define PIECE (64 * KIB)

void line_client_init(struct line_client *c, struct loop *l, const char *path)
{
    *c = (struct line_client){ .loop = l, .path = path };
    buf_init(&c->in, LINE_CLIENT_MAX);
}

void line_client_done(struct line_client *c)
{
    c->sock = sock_close(c->sock);
    buf_done(&c->in);
}

/* Reads until the newline, which becomes the text's end. */
static int read_line(struct line_client *c, int64_t deadline)
{
    uint8_t *end = NULL, *room;
    ssize_t n = 1;

    buf_reset(&c->in);
    while (!end) {
        if (buf_room(&c->in, PIECE, &room) < 0)
            return -E2BIG;
        n = sock_read(c->sock, room, PIECE, deadline);
        if (n <= 0)
            return n < 0 ? (int)n : -ECONNRESET;
        end = memchr(room, '\n', (size_t)n);
        c->in.len += (size_t)n;
    }
    *end = '\0';
    return 0;
}

int line_client_ask(struct line_client *c, const char *line, const char **ret, struct err *err)
{
    int64_t deadline = loop_in(c->loop, ANSWER_MS);
    int r = c->sock ? 0 : sock_connect_unix(c->loop, c->path, deadline, &c->sock, err);

    if (r < 0)
        return r;
    r = sock_write(c->sock, line, strlen(line), deadline);
    if (r == 0)
        r = sock_write(c->sock, "\n", 1, deadline);
    if (r == 0)
        r = read_line(c, deadline);
    if (r < 0) {
        c->sock = sock_close(c->sock);
        return err_code(err, r, "ask '%s'", c->path);
    }
    *ret = (const char *)c->in.data;
    return 0;
}
