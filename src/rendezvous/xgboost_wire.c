/* xgboost_wire.c - finds the JSON of a message, then a table of commands reads the fields of
 * each. Texts from workers may have any encoding: what is not UTF-8 becomes '?'. See
 * xgboost_wire.h. */
#include "rendezvous/xgboost_wire.h"
#include "base/json.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Finds the text of a message in *ret. Gives the message's size, 0 while it is not whole, -EPROTO.
 * On the wire it is a length in the byte order of the machine (XGBoost's own tracker does so) and
 * that many bytes of JSON. A length out of bounds is an error at once: waiting for such a message
 * would fill our memory. */
static ssize_t find_text(const uint8_t *p, size_t n, size_t max, const char **ret, struct err *err)
{
    int32_t len = 0;

    if (n < sizeof(len))
        return 0;
    memcpy(&len, p, sizeof(len));
    if (len < 2 || (size_t)len > max)
        return err_set(err, -EPROTO, "a message of %d bytes, where %zu are allowed", len, max);
    if (n - sizeof(len) < (size_t)len)
        return 0;
    *ret = (const char *)p + sizeof(len);
    return (ssize_t)sizeof(len) + len;
}

/* Workers may print any encoding, and JSON needs UTF-8: other bytes become '?'. */
static int to_utf8(const char *p, size_t n, char **ret)
{
    char *copy = malloc(n + 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, p, n);
    copy[n] = 0;
    for (size_t i = 0; i < n;) {
        size_t len = copy[i] ? str_utf8_len(copy + i) : 0;

        if (len == 0)
            copy[i++] = '?';
        else
            i += len;
    }
    *ret = copy;
    return 0;
}

static int parse_object(const char *p, size_t n, json_t **ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_JSON *v = NULL;
    int r;

    if (to_utf8(p, n, &text) < 0)
        return err_oom(err);
    r = json_parse("message", text, n, &v, err);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return err_wrap(err, -EPROTO, "a worker's words");
    if (!json_is_object(v))
        return err_set(err, -EPROTO, "a message that is not a JSON object");
    *ret = take(v);
    return 0;
}

/* JSON numbers may be larger than any type: each has its range here, before it becomes a rank, a
 * port or an index into a table. */
static int get_number(const json_t *v, const char *key, int64_t min, int64_t max, int64_t *ret,
                      struct err *err)
{
    const json_t *m = json_object_get(v, key);

    if (!json_is_integer(m) || json_integer_value(m) < min || json_integer_value(m) > max)
        return err_set(err, -EPROTO, "a message without a valid '%s'", key);
    *ret = json_integer_value(m);
    return 0;
}

static int get_port(const json_t *v, const char *key, int64_t min, int32_t *ret, struct err *err)
{
    int64_t port = 0;
    int r = get_number(v, key, min, 65535, &port, err);

    *ret = (int32_t)port;
    return r;
}

static int read_hello(const json_t *v, struct xgboost_hello *h, struct err *err)
{
    const char *task = json_string_value(json_object_get(v, "task_id"));
    int r = get_number(v, "world_size", -1, INT32_MAX, &h->world, err);

    if (r == 0)
        r = get_number(v, "rank", -1, INT32_MAX, &h->rank, err);
    if (r < 0)
        return r;
    if (!task || strlen(task) > XGBOOST_TASK_MAX)
        return err_set(err, -EPROTO, "a message without a valid 'task_id'");
    (void)snprintf(h->task, sizeof(h->task), "%s", task);
    return 0;
}

ssize_t xgboost_parse_hello(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    struct xgboost_hello *h = ret;
    AUTO_JSON *v = NULL;
    const char *text = NULL;
    ssize_t size = find_text(p, n, XGBOOST_HELLO_MAX, &text, err);
    int r;

    if (size <= 0)
        return size;
    r = parse_object(text, (size_t)size - sizeof(int32_t), &v, err);
    if (r == 0)
        r = read_hello(v, h, err);
    return r < 0 ? r : size;
}

static int get_text(const json_t *v, char **ret, struct err *err)
{
    const char *s = json_string_value(json_object_get(v, "msg"));

    if (!s)
        return err_set(err, -EPROTO, "a message without a 'msg'");
    *ret = strdup(s);
    return *ret ? 0 : err_oom(err);
}

static int read_start(const json_t *v, struct xgboost_command *c, struct err *err)
{
    int r = get_port(v, "port", 1, &c->port, err);

    return r < 0 ? r : get_port(v, "error_port", 0, &c->error_port, err);
}

static int read_error(const json_t *v, struct xgboost_command *c, struct err *err)
{
    int r = get_number(v, "code", INT64_MIN, INT64_MAX, &c->code, err);

    return r < 0 ? r : get_text(v, &c->text, err);
}

static int read_print(const json_t *v, struct xgboost_command *c, struct err *err)
{
    return get_text(v, &c->text, err);
}

static int read_nothing(const json_t *v, struct xgboost_command *c, struct err *err)
{
    (void)v;
    (void)c;
    (void)err;
    return 0;
}

static int (*const readers[])(const json_t *v, struct xgboost_command *c, struct err *err) = {
    [XGBOOST_START] = read_start,
    [XGBOOST_SHUTDOWN] = read_nothing,
    [XGBOOST_ERROR] = read_error,
    [XGBOOST_PRINT] = read_print,
};

ssize_t xgboost_parse_command(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    struct xgboost_command *c = ret;
    AUTO_JSON *v = NULL;
    const char *text = NULL;
    ssize_t size = find_text(p, n, XGBOOST_COMMAND_MAX, &text, err);
    int64_t verb = 0;
    int r;

    *c = (struct xgboost_command){ 0 };
    if (size <= 0)
        return size;
    r = parse_object(text, (size_t)size - sizeof(int32_t), &v, err);
    if (r == 0)
        r = get_number(v, "cmd", XGBOOST_START, XGBOOST_PRINT, &verb, err);
    if (r < 0)
        return r;
    c->verb = (enum xgboost_verb)verb;
    r = readers[verb](v, c, err);
    return r < 0 ? r : size;
}

void xgboost_command_done(struct xgboost_command *c)
{
    free(c->text);
    *c = (struct xgboost_command){ 0 };
}

static int add_message(struct buf *out, const char *text)
{
    int32_t n = (int32_t)strlen(text);
    int r = buf_add(out, &n, sizeof(n));

    return r < 0 ? r : buf_add_str(out, text);
}

int xgboost_add_world(struct buf *out, unsigned world)
{
    char text[40];

    (void)snprintf(text, sizeof(text), "{\"world_size\":%u}", world);
    return add_message(out, text);
}

int xgboost_add_next(struct buf *out, unsigned rank, const char *host, int port)
{
    char text[160]; /* a numeric address needs no quoting */

    (void)snprintf(text, sizeof(text), "{\"rank\":%u,\"host\":\"%s\",\"port\":%d}", rank, host,
                   port);
    return add_message(out, text);
}
