/* http_reply.c - the answer's side of a call: a whole answer, or a stream that begins, goes on and
 * ends.
 *
 *     UNANSWERED ──http_reply()──────────────────────────────► ANSWERED
 *         └───http_reply_begin()──► STREAMING ──http_reply_end()──┘
 *
 * HTTP/1.1 clients get a stream in chunks; for older ones its end is the end of the connection. */
#include "wire/http_call.h"
#include "wire/http_status.h"

#include <string.h>

#define HEAD_MAX (32 * KIB)
#define JSON_TYPE "application/json; charset=utf-8"
#define CHUNK_LINE 24 /* a chunk's size in hexadecimal, and the ends of lines */

/* A line end inside a value could be taken for the start of another header. */
static bool is_one_line(const char *s)
{
    return s[strcspn(s, "\r\n")] == '\0';
}

/* "NAME: VALUE", whole or not at all. Without printf: each answer has several. */
static int add_line(struct buf *out, const char *name, const char *value)
{
    size_t before = out->len;
    int r = buf_add_str(out, name);

    if (r == 0)
        r = buf_add_str(out, ": ");
    if (r == 0)
        r = buf_add_str(out, value);
    if (r == 0)
        r = buf_add_str(out, "\r\n");
    if (r < 0)
        out->len = before;
    return r;
}

int http_reply_header(struct http_call *c, const char *name, const char *value, struct err *err)
{
    int r;

    if (c->answer != HTTP_UNANSWERED)
        return err_set(err, -EALREADY, "header '%s': the answer has begun", name);
    if (!*name || !is_one_line(name) || strpbrk(name, ": \t") || !is_one_line(value))
        return err_set(err, -EINVAL, "header '%s': not a name and a value on one line", name);
    r = add_line(&c->headers, name, value);
    if (r == -E2BIG)
        return err_set(err, r, "header '%s': the answer has too many", name);
    return r < 0 ? err_oom(err) : 0;
}

/* With these a client does not look for a body, whatever the header says: one that was sent would
 * be read as the next answer. */
static bool has_no_body(int status)
{
    return status / 100 == 1 || status == 204 || status == 304;
}

/* The head, up to and with the empty line. `length` is the body's as a header line, or "". */
static int http_reply_write_head(struct http_call *c, int status, const char *type,
                                 const char *length, struct buf *out)
{
    int r = buf_printf(out, "HTTP/1.1 %d %s\r\n", status, http_status_text(status));

    if (r == 0 && type && !has_no_body(status))
        r = add_line(out, "Content-Type", type);
    if (r == 0)
        r = buf_add_str(out, length);
    if (r == 0 && c->last)
        r = buf_add_str(out, "Connection: close\r\n");
    if (r == 0 && c->conn->headers)
        r = buf_add_str(out, c->conn->headers);
    if (r == 0)
        r = buf_add(out, c->headers.data, c->headers.len);
    return r == 0 ? buf_add_str(out, "\r\n") : r;
}

static int http_begin(struct http_call *c, int status, const char *type, struct err *err)
{
    if (c->answer != HTTP_UNANSWERED)
        return err_set(err, -EALREADY, "the request was answered already");
    if (status < 200 || status > 999 || (type && !is_one_line(type)))
        return err_set(err, -EINVAL, "%d '%s' is no answer", status, type ? type : "");
    /* A body that the client was not told to send may come or not: nobody knows what is next. */
    c->last |= c->expects || c->conn->once; /* it may be the last one only since now */
    return 0;
}

static int send_out(struct http_call *c, struct http_out out, struct err *err)
{
    int r = http_conn_write(c->conn, out, LOOP_NEVER, err);

    if (r < 0)
        c->last = true;
    return r;
}

int http_reply(struct http_call *c, int status, const char *type, const void *body, size_t n,
               struct err *err)
{
    AUTO_BUF head = { .max = HEAD_MAX };
    char length[48] = "";
    int r = http_begin(c, status, type, err);

    if (r < 0)
        return r;
    if (!has_no_body(status))
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", n);
    if (http_reply_write_head(c, status, type, length, &head) < 0)
        return err_oom(err); /* the ceiling is above that of the handler's headers */
    c->answer = HTTP_ANSWERED;
    if (c->head_only || has_no_body(status))
        n = 0;
    return send_out(c, (struct http_out){ (char *)head.data, head.len, body, n, NULL }, err);
}

int http_reply_json(struct http_call *c, int status, const json_t *v, struct err *err)
{
    AUTO_FREE char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t n;

    if (!text)
        return err_oom(err);
    n = strlen(text);
    text[n] = '\n'; /* for readers at a terminal; the NUL is not needed any more */
    return http_reply(c, status, JSON_TYPE, text, n + 1, err);
}

int http_reply_begin(struct http_call *c, int status, const char *type, struct err *err)
{
    AUTO_BUF head = { .max = HEAD_MAX };
    const char *length = "";
    int r = http_begin(c, status, type, err);

    if (r < 0)
        return r;
    if (has_no_body(status))
        c->head_only = true;
    else if (c->chunks)
        length = "Transfer-Encoding: chunked\r\n";
    else
        c->last = true;
    if (http_reply_write_head(c, status, type, length, &head) < 0)
        return err_oom(err);
    c->answer = HTTP_STREAMING;
    return send_out(c, (struct http_out){ .head = (char *)head.data, .head_size = head.len }, err);
}

/* One chunk.
 *
 *     size in hexadecimal \r\n bytes \r\n        … at last: 0 \r\n \r\n */
int http_reply_write(struct http_call *c, const void *p, size_t n, struct err *err)
{
    char line[CHUNK_LINE];

    if (c->answer != HTTP_STREAMING)
        return err_set(err, -EINVAL, "the answer is not a stream");
    if (n == 0 || c->head_only)
        return 0; /* an empty chunk would be the end */
    if (!c->chunks)
        return send_out(c, (struct http_out){ .p = p, .n = n }, err);
    snprintf(line, sizeof(line), "%zx\r\n", n);
    return send_out(c, (struct http_out){ line, strlen(line), p, n, "\r\n" }, err);
}

int http_reply_end(struct http_call *c, struct err *err)
{
    if (c->answer != HTTP_STREAMING)
        return err_set(err, -EINVAL, "the answer is not a stream");
    c->answer = HTTP_ANSWERED;
    if (c->head_only || !c->chunks)
        return 0;
    return send_out(c, (struct http_out){ .tail = "0\r\n\r\n" }, err);
}

/* A client that asked first ("Expect: 100-continue") sends its body only when it is told to, which
 * is when the handler begins to read it. */
int http_reply_continue(struct http_call *c, struct err *err)
{
    bool waits = c->expects && c->answer == HTTP_UNANSWERED && c->conn->in.body_seen == 0;

    c->expects = false;
    if (!waits)
        return 0;
    return send_out(c, (struct http_out){ .tail = "HTTP/1.1 100 Continue\r\n\r\n" }, err);
}

int http_reply_error(struct http_call *c, int code, const struct err *why, struct err *err)
{
    static const char bare[] = "{\"error\":{\"text\":\"out of memory\",\"hint\":\"\"}}\n";
    int status = c->status ? c->status : http_status_of(code);
    AUTO_JSON *v = NULL;

    buf_reset(&c->headers); /* they belong to the answer that was not given */
    if (c->conn->bare_errors && json_make(&v, NULL, "{s:o}", "error", json_text(why->text)) == 0)
        return http_reply_json(c, status, v, err);
    if (json_make(&v, NULL, "{s:{s:o,s:o}}", "error", "text", json_text(why->text), "hint",
                  json_text(why->hint)) < 0)
        return http_reply(c, status, JSON_TYPE, bare, sizeof(bare) - 1, err);
    return http_reply_json(c, status, v, err);
}
