/* event.c - the lines of the events log. A line is written straight into the buffer, without a tree
 * of JSON values and without printf: a job of ten thousand tasks writes sixty thousand of them. A
 * failure in the middle is remembered and takes the whole line back at its end. See event.h. */
#include "job/event.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[EVENT_KINDS_] = {
    [EVENT_JOB] = "job",         [EVENT_TASK] = "task",           [EVENT_FAILURE] = "failure",
    [EVENT_RESTART] = "restart", [EVENT_GANG] = "gang",           [EVENT_AGENT] = "agent",
    [EVENT_REQUEST] = "request", [EVENT_PROGRESS] = "progress",   [EVENT_READY] = "ready",
    [EVENT_PHASE] = "phase",     [EVENT_NOTE] = "note",           [EVENT_STORY] = "story",
    [EVENT_END] = "end",         [EVENT_MASTER] = "master",       [EVENT_CONTAINER] = "container",
    [EVENT_SUMMARY] = "summary", [EVENT_TASK_NOTE] = "task-note",
};

/* clang-format off */
static const struct {
    const char *key, *name;
} classes[FAIL_CLASSES_] = {
    [FAIL_NONE]      = { "none",      "no failure" },
    [FAIL_EXIT]      = { "exit",      "exit code" },
    [FAIL_SIGNAL]    = { "signal",    "ended by a signal" },
    [FAIL_MEMORY]    = { "memory",    "out of memory" },
    [FAIL_START]     = { "start",     "could not be started" },
    [FAIL_FILES]     = { "files",     "its files could not be put in place" },
    [FAIL_PORT]      = { "port",      "port could not be reserved" },
    [FAIL_DISK]      = { "disk",      "disk full or broken" },
    [FAIL_NOT_READY] = { "not-ready", "not ready in time" },
    [FAIL_LOG_LIMIT] = { "log-limit", "wrote too much output" },
    [FAIL_IMAGE]     = { "image",     "container image not available" },
    [FAIL_NODE]      = { "node",      "node lost" },
    [FAIL_PREEMPTED] = { "preempted", "preempted" },
    [FAIL_PERSON]    = { "person",    "stopped by a user" },
};
/* clang-format on */

const char *event_name(enum event_kind k)
{
    return kind_names[k];
}

const char *fail_name(enum fail_class c)
{
    return classes[c].name;
}

const char *fail_key(enum fail_class c)
{
    return classes[c].key;
}

int fail_from_key(const char *key, enum fail_class *ret)
{
    for (int i = 0; i < FAIL_CLASSES_; i++)
        if (str_eq(classes[i].key, key)) {
            *ret = (enum fail_class)i;
            return 0;
        }
    return -EINVAL;
}

static void event_put(struct event *e, const char *p, size_t n)
{
    if (e->bad == 0)
        e->bad = buf_add(e->out, p, n);
}

#define PUT(e, literal) event_put(e, literal, sizeof(literal) - 1)

static void put_int(struct event *e, int64_t v)
{
    char text[24];
    size_t at = sizeof(text);
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

    do
        text[--at] = (char)('0' + u % 10);
    while ((u /= 10) > 0);
    if (v < 0)
        text[--at] = '-';
    event_put(e, text + at, sizeof(text) - at);
}

/* Bytes of the UTF-8 character at the start of `p`, of which `n` are left; 0: it is none. */
static size_t event_utf8_len(const unsigned char *p, size_t n)
{
    char copy[5] = { 0 }; /* ends with a NUL, which str_utf8_len() does not pass */
    size_t len = n < 4 ? n : 4;

    memcpy(copy, p, len);
    if (p[0] == 0xc2 && len > 1 && (p[1] & 0xe0) == 0x80)
        return 2; /* control characters that a terminal must not see, but JSON may */
    return str_utf8_len(copy);
}

static bool event_is_plain(unsigned char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct event *e, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

    if (c == '\n')
        PUT(e, "\\n");
    else if (c == '\t')
        PUT(e, "\\t");
    else if (c == '\0')
        PUT(e, "\xef\xbf\xbd"); /* JSON could say it, but hardly a reader likes it */
    else if (c == '"' || c == '\\')
        event_put(e, (char[]){ '\\', (char)c }, 2);
    else
        event_put(e, text, sizeof(text));
}

/* What a task says may be anything. It leaves here as valid UTF-8 in valid JSON, or the log could
 * not be read by the next master. */
static void put_text(struct event *e, const char *value, size_t n)
{
    const unsigned char *p = (const unsigned char *)value;
    size_t i = 0, run, len;

    PUT(e, "\"");
    while (i < n) {
        for (run = i; run < n && event_is_plain(p[run]); run++)
            ;
        event_put(e, value + i, run - i);
        i = run;
        if (i == n)
            break;
        if (p[i] < 0x80) {
            put_escaped(e, p[i++]);
            continue;
        }
        len = event_utf8_len(p + i, n - i);
        if (len == 0)
            PUT(e, "\xef\xbf\xbd"); /* U+FFFD stands for what is not UTF-8 */
        else
            event_put(e, value + i, len);
        i += len ? len : 1;
    }
    PUT(e, "\"");
}

static void event_put_key(struct event *e, const char *key)
{
    PUT(e, ",\"");
    event_put(e, key, strlen(key));
    PUT(e, "\":");
}

void event_begin(struct event *e, struct buf *out, uint64_t seq, int64_t t, enum event_kind k)
{
    *e = (struct event){ .out = out, .start = out->len };
    PUT(e, "{\"seq\":");
    put_int(e, (int64_t)seq);
    PUT(e, ",\"t\":");
    put_int(e, t);
    event_str(e, "event", kind_names[k]);
}

void event_begin_live(struct event *e, struct buf *out, int64_t t, enum event_kind k)
{
    *e = (struct event){ .out = out, .start = out->len };
    PUT(e, "{\"t\":");
    put_int(e, t);
    event_str(e, "event", kind_names[k]);
}

void event_str(struct event *e, const char *key, const char *value)
{
    if (value)
        event_strn(e, key, value, strlen(value));
}

void event_strn(struct event *e, const char *key, const char *value, size_t n)
{
    event_put_key(e, key);
    put_text(e, value, n);
}

void event_int(struct event *e, const char *key, int64_t value)
{
    event_put_key(e, key);
    put_int(e, value);
}

void event_num(struct event *e, const char *key, double value)
{
    char text[32];

    event_put_key(e, key);
    if (!isfinite(value)) {
        PUT(e, "null");
        return;
    }
    snprintf(text, sizeof(text), "%.17g", value);
    event_put(e, text, strlen(text));
}

void event_bool(struct event *e, const char *key, int value)
{
    event_put_key(e, key);
    if (value)
        PUT(e, "true");
    else
        PUT(e, "false");
}

void event_ports(struct event *e, const char *key, const uint16_t *ports, size_t n)
{
    event_put_key(e, key);
    PUT(e, "[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            PUT(e, ",");
        put_int(e, ports[i]);
    }
    PUT(e, "]");
}

static int dump(const char *p, size_t n, void *arg)
{
    struct event *e = arg;

    event_put(e, p, n);
    return e->bad < 0 ? -1 : 0;
}

void event_json(struct event *e, const char *key, const json_t *value)
{
    if (!value)
        return;
    event_put_key(e, key);
    if (json_dump_callback(value, dump, e, JSON_COMPACT | JSON_ENCODE_ANY) < 0 && e->bad == 0)
        e->bad = -ENOMEM;
}

int event_end(struct event *e)
{
    PUT(e, "}\n");
    if (e->bad < 0)
        e->out->len = e->start;
    return e->bad;
}

/* Only the head of the line is looked at: this is asked for every line of a log. */
bool event_number(const char *line, size_t n, uint64_t *ret)
{
    static const char head[] = "{\"seq\":";
    size_t i = sizeof(head) - 1;

    if (n <= i || memcmp(line, head, i) != 0)
        return false;
    while (i < n && line[i] == ' ')
        i++;
    if (i == n || line[i] < '0' || line[i] > '9')
        return false;
    for (*ret = 0; i < n && line[i] >= '0' && line[i] <= '9' && *ret < UINT64_MAX / 16; i++)
        *ret = *ret * 10 + (uint64_t)(line[i] - '0');
    return true;
}
