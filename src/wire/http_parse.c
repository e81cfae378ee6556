/* http_parse.c - the glue to llhttp, which finds the parts of a message; this file says which of
 * them are taken, in which order, and how much of each. It pauses llhttp at the end of the header
 * and of the message, so that the caller decides between them.
 *
 *     AT_HEAD ──on_head()──► AT_BODY ──on_done()──► AT_END ──http_parse_next()──► AT_HEAD
 *                pauses                 pauses
 *
 * `text` holds the target of a request and the header: target 0 name 0 value 0 name 0 value 0. See
 * http_parse.h. */
#include "wire/http_parse.h"
#include "base/array.h"
#include "wire/http_check.h"

#include <string.h>

#define LINE_REST 64 /* a request line besides its target: method, version */

static const struct http_limits defaults = {
    .line_max = 8 * KIB,
    .header_max = 32 * KIB,
    .headers_max = 100,
    .body_max = 64 * MIB,
    .header_ms = 10000,
    .body_ms = 30000,
    .write_ms = 30000,
    .idle_ms = 60000,
    .connections_max = 1024,
};

void http_limits_fill(struct http_limits *l)
{
#define FILL(what) l->what = l->what ? l->what : defaults.what
    FILL(line_max);
    FILL(header_max);
    FILL(headers_max);
    FILL(body_max);
    FILL(header_ms);
    FILL(body_ms);
    FILL(write_ms);
    FILL(idle_ms);
    FILL(connections_max);
#undef FILL
}

static size_t head_max(const struct http_parse *h)
{
    return h->limits->line_max + LINE_REST + h->limits->header_max;
}

/* ---- what llhttp finds ---- */

/* Ends parsing with what is to be answered. */
static int http_refuse(struct http_parse *h, int status, const char *text)
{
    h->status = status;
    (void)err_set(h->err, -EBADMSG, "%s", text);
    return HPE_USER;
}

static int http_out_of_memory(struct http_parse *h)
{
    h->status = 503;
    (void)err_oom(h->err);
    return HPE_USER;
}

/* Names and values go one after the other into one text, each with a NUL behind it; fields hold
 * offsets, because the text may move as it grows. */
static int http_add_text(struct http_parse *h, const char *at, size_t n)
{
    if (memchr(at, '\0', n) || memchr(at, '\r', n) || memchr(at, '\n', n))
        return http_refuse(h, 400, "a control character in the header");
    /* The ceiling cannot be met: the text is never longer than the head. */
    return buf_add(&h->text, at, n) < 0 ? http_out_of_memory(h) : 0;
}

static int end_text(struct http_parse *h)
{
    return buf_add_u8(&h->text, 0) < 0 ? http_out_of_memory(h) : 0;
}

static int on_url(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *h = l->data;

    if (h->text.len + n > h->limits->line_max)
        return http_refuse(h, 414, "the request's target is too long");
    return http_add_text(h, at, n);
}

static int on_url_complete(llhttp_t *l)
{
    return end_text(l->data);
}

static int new_field(struct http_parse *h)
{
    struct http_field field = { .name = (uint32_t)h->text.len };

    if (h->n_fields >= h->limits->headers_max)
        return http_refuse(h, 431, "too many headers");
    if (ARRAY_ADD(h->fields, h->n_fields, field) < 0)
        return http_out_of_memory(h);
    h->in_name = true;
    return 0;
}

static int on_value_complete(llhttp_t *l)
{
    struct http_parse *h = l->data;

    if (!h->in_value)
        return 0;
    h->in_value = false;
    return end_text(h);
}

static int http_on_name(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *h = l->data;
    int r = 0;

    if (h->stage != HTTP_AT_HEAD)
        return 0; /* a trailer, which nobody here wants */
    if (!h->in_name)
        r = new_field(h);
    return r ? r : http_add_text(h, at, n);
}

static int on_name_complete(llhttp_t *l)
{
    struct http_parse *h = l->data;
    int r;

    if (!h->in_name)
        return 0;
    r = end_text(h);
    h->fields[h->n_fields - 1].value = (uint32_t)h->text.len;
    h->in_name = false;
    h->in_value = true;
    return r;
}

static int on_value(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *h = l->data;

    return h->in_value ? http_add_text(h, at, n) : 0;
}

/* Such an answer has no body, whatever length it states. */
static bool never_has_body(unsigned status)
{
    return status / 100 == 1 || status == 204 || status == 304;
}

/* Here the message is checked as a whole: lengths that contradict each other, or a missing host,
 * are a smuggled request or a mistake. */
static int on_head(llhttp_t *l)
{
    struct http_parse *h = l->data;
    const char *wrong;
    int status = 400;

    if (h->answers && buf_text(&h->text) == NULL)
        return http_out_of_memory(h); /* an answer without any header has no text yet */
    if (h->no_body || (h->answers && never_has_body(l->status_code)))
        l->flags |= F_SKIPBODY;
    h->keep_alive = llhttp_should_keep_alive(l);
    h->length = l->flags & F_CONTENT_LENGTH ? l->content_length : UINT64_MAX;
    wrong = http_check_head(h, &status);
    if (wrong)
        return http_refuse(h, status, wrong);
    /* Nothing is upgraded here: the upgrade is ignored and the request is answered as it is. */
    l->upgrade = 0;
    h->stage = HTTP_AT_BODY;
    return HPE_PAUSED;
}

static int on_body(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *h = l->data;

    h->body_seen += n;
    if (h->body_seen > h->limits->body_max)
        return http_refuse(h, 413, "the body is too large");
    return buf_add(&h->body, at, n) < 0 ? http_out_of_memory(h) : 0;
}

static int on_done(llhttp_t *l)
{
    struct http_parse *h = l->data;

    h->stage = HTTP_AT_END;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_header_field = http_on_name,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_done,
};

/* ---- the interface ---- */

void http_parse_init(struct http_parse *h, bool answers, const struct http_limits *limits)
{
    *h = (struct http_parse){ .limits = limits, .answers = answers };
    buf_init(&h->text, head_max(h) + 1);
    buf_init(&h->body, HTTP_READ);
    http_parse_next(h);
}

void http_parse_done(struct http_parse *h)
{
    buf_done(&h->text);
    buf_done(&h->body);
    free(h->fields);
    h->fields = NULL;
    h->n_fields = 0;
}

void http_parse_next(struct http_parse *h)
{
    llhttp_init(&h->llhttp, h->answers ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    h->llhttp.data = h;
    h->stage = HTTP_AT_HEAD;
    buf_reset(&h->text);
    buf_reset(&h->body);
    h->n_fields = 0;
    h->in_name = h->in_value = h->line_start = h->no_body = h->keep_alive = false;
    h->head_bytes = 0;
    h->body_seen = h->overhead = 0;
    h->length = UINT64_MAX;
    h->status = 0;
}

static int not_http(struct http_parse *h, llhttp_errno_t e)
{
    const char *why = llhttp_get_error_reason(&h->llhttp);

    h->status = e == HPE_INVALID_VERSION ? 505 : 400;
    return err_set(h->err, -EBADMSG, "not HTTP/1.1: %s", why ? why : llhttp_errno_name(e));
}

/* One call of llhttp: the bytes used, or an error. A callback that refuses has set h->status.
 * HPE_PAUSED is one that only stops llhttp at a boundary; what lies behind that was not looked at,
 * and the caller gives it again. */
static ssize_t execute(struct http_parse *h, const char *p, size_t n)
{
    llhttp_errno_t e = llhttp_execute(&h->llhttp, p, n);
    const char *at;

    if (e == HPE_OK)
        return (ssize_t)n;
    if (h->status) /* a callback said no; llhttp has several names for that */
        return h->status == 503 ? -ENOMEM : -EBADMSG;
    if (e != HPE_PAUSED)
        return not_http(h, e);
    at = llhttp_get_error_pos(&h->llhttp);
    llhttp_resume(&h->llhttp);
    return at - p;
}

/* Some servers take a line that begins with a blank as a continuation of the header before it.
 * llhttp does not mind; a request that means two things to two readers is refused. */
static bool has_folded_line(struct http_parse *h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (h->line_start && (p[i] == ' ' || p[i] == '\t'))
            return true;
        h->line_start = p[i] == '\n';
    }
    return false;
}

static ssize_t feed_head(struct http_parse *h, const char *p, size_t n)
{
    size_t room = head_max(h) - h->head_bytes;
    ssize_t used = execute(h, p, n < room ? n : room);

    if (used < 0)
        return used;
    if (has_folded_line(h, p, (size_t)used)) {
        (void)http_refuse(h, 400, "a header line that begins with a blank");
        return -EBADMSG;
    }
    h->head_bytes += (size_t)used;
    if (h->stage == HTTP_AT_HEAD && h->head_bytes >= head_max(h)) {
        (void)http_refuse(h, 431, "the header is too large");
        return -EBADMSG;
    }
    /* Without a body it is complete already. */
    if (h->stage == HTTP_AT_BODY && execute(h, p + used, 0) < 0)
        return -EBADMSG;
    return used;
}

/* Chunks of one byte need five more around it; nobody needs a lot more than that. */
static bool too_much_overhead(const struct http_parse *h)
{
    return h->overhead > h->limits->header_max + 8 * h->body_seen;
}

/* Only as much as the body buffer has room for is parsed; the rest stays with the caller, who stops
 * reading then. So a slow handler slows its client down. */
static ssize_t feed_body(struct http_parse *h, const char *p, size_t n)
{
    size_t room = h->body.max - h->body.len;
    uint64_t before = h->body_seen;
    ssize_t used = execute(h, p, n < room ? n : room);

    if (used < 0)
        return used;
    h->overhead += (uint64_t)used - (h->body_seen - before);
    if (too_much_overhead(h)) {
        (void)http_refuse(h, 400, "more chunk headers than content");
        return -EBADMSG;
    }
    return used;
}

ssize_t http_parse_feed(struct http_parse *h, const void *p, size_t n, struct err *err)
{
    ssize_t used = 0;

    h->err = err;
    if (h->stage == HTTP_AT_HEAD)
        used = feed_head(h, p, n);
    else if (h->stage == HTTP_AT_BODY)
        used = feed_body(h, p, n);
    h->err = NULL;
    return used;
}

int http_parse_end(struct http_parse *h, struct err *err)
{
    h->err = err;
    if (h->stage == HTTP_AT_BODY)
        (void)llhttp_finish(&h->llhttp);
    h->err = NULL;
    return h->stage == HTTP_AT_END
               ? 0
               : err_set(err, -ENODATA, "the other side ended inside a message");
}

const char *http_parse_target(const struct http_parse *h)
{
    return (const char *)h->text.data;
}

const char *http_parse_method(const struct http_parse *h)
{
    return llhttp_method_name(h->llhttp.method);
}

bool http_parse_is_11(const struct http_parse *h)
{
    return h->llhttp.http_major == 1 && h->llhttp.http_minor == 1;
}

bool http_parse_field(const struct http_parse *h, size_t i, const char **ret_name,
                      const char **ret_value)
{
    if (i >= h->n_fields)
        return false;
    *ret_name = (const char *)h->text.data + h->fields[i].name;
    *ret_value = (const char *)h->text.data + h->fields[i].value;
    return true;
}
