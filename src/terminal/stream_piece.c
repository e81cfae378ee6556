/* stream_piece.c - collects bytes until a line is whole, then hands on the bytes of its piece as
 * they come. The form that the master writes is read without building a tree; any other form of
 * the same JSON is read by the parser. See stream_piece.h. */
#include "terminal/stream_piece.h"
#include "base/str.h"

#include <string.h>

#define RECORD_HEAD "{\"event\":{"

void pieces_init(struct pieces *s)
{
    *s = (struct pieces){ 0 };
    buf_init(&s->in, PIECE_LINE_MAX + 256 * KIB);
}

void pieces_done(struct pieces *s)
{
    buf_done(&s->in);
    json_decref(s->line);
    free(s->record);
    *s = (struct pieces){ 0 };
}

bool piece_task(const char *name, size_t *ret_role, uint32_t *ret_rank)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    int64_t rank;

    if (n == 0 || name[n] != ':' || name[n + 1] < '0' || name[n + 1] > '9' ||
        strlen(name) >= PIECE_TASK_MAX || str_to_i64(name + n + 1, 0, UINT32_MAX - 1, &rank) < 0)
        return false;
    *ret_role = n;
    *ret_rank = (uint32_t)rank;
    return true;
}

int pieces_feed(struct pieces *s, const void *p, size_t n, struct err *err)
{
    int r;

    buf_eat(&s->in, s->eaten);
    s->eaten = 0;
    r = buf_add(&s->in, p, n);
    if (r == -E2BIG)
        return err_set(err, -EPROTO, "the master's stream has a line of more than %zu bytes",
                       PIECE_LINE_MAX);
    return r < 0 ? err_oom(err) : 0;
}

static int stream_piece_bad(struct err *err, const char *what)
{
    return err_set(err, -EPROTO, "the master's stream is not valid: %s", what);
}

/* As the master writes them: {"event":{…}}. The reader of the record checks its contents. */
static bool plain_record(struct pieces *s, const char *line, size_t n)
{
    size_t head = strlen(RECORD_HEAD) - 1;

    if (n <= head + 2 || memcmp(line, RECORD_HEAD, head + 1) != 0 || line[n - 1] != '}')
        return false;
    s->p = (struct piece){ .kind = PIECE_EVENT, .record = line + head, .record_n = n - head - 1 };
    return true;
}

/* The same, written with other spaces. */
static int take_record(struct pieces *s, struct err *err)
{
    const json_t *event = json_object_get(s->line, "event");

    if (!json_is_object(event))
        return stream_piece_bad(err, "an event that is not an object");
    free(s->record);
    s->record = json_dumps(event, JSON_COMPACT);
    if (!s->record)
        return err_oom(err);
    s->p.kind = PIECE_EVENT;
    s->p.record = s->record;
    s->p.record_n = strlen(s->record);
    return 0;
}

/* The head line of a piece, checked: `len` bytes follow it, and may come in several reads. A head
 * without `len` is the end of a stream, and says so. */
static int take_output(struct pieces *s, struct err *err)
{
    const char *task = json_string_value(json_object_get(s->line, "task"));
    const char *stream = json_string_value(json_object_get(s->line, "stream"));
    const json_t *len = json_object_get(s->line, "len");
    json_int_t offset = json_integer_value(json_object_get(s->line, "offset"));
    json_int_t began = json_integer_value(json_object_get(s->line, "began"));
    json_int_t saved = json_integer_value(json_object_get(s->line, "saved"));
    uint32_t rank;
    size_t role;

    if (!task || !piece_task(task, &role, &rank))
        return stream_piece_bad(err, "output without a task");
    if (!stream || (!str_eq(stream, "out") && !str_eq(stream, "err")))
        return stream_piece_bad(err, "output without a stream");
    memcpy(s->task, task, strlen(task) + 1);
    s->p.task = s->task;
    s->p.stream = str_eq(stream, "err") ? PIECE_ERR : PIECE_OUT;
    s->p.kind = PIECE_END;
    s->p.missing = len ? NULL : json_string_value(json_object_get(s->line, "missing"));
    if (!len)
        return json_is_true(json_object_get(s->line, "end"))
                   ? 0
                   : stream_piece_bad(err, "a record of unknown kind");
    s->p.kind = PIECE_OUTPUT;
    if (!json_is_integer(len) || json_integer_value(len) < 0 || offset < 0)
        return stream_piece_bad(err, "a negative length or offset");
    s->left = (uint64_t)json_integer_value(len);
    if (began < 0 || began > UINT32_MAX)
        return stream_piece_bad(err, "output without an attempt");
    s->p.offset = (uint64_t)offset;
    s->p.began = (uint32_t)began;
    s->p.saved = saved > 0 ? (uint64_t)saved : 0;
    return 0;
}

/* The line at the beginning of what is there. 1: a piece; 0: not whole yet, or only a head.
 *
 *     {"event":{…}}\n                                                  a record
 *     {"task":"worker:1","stream":"out","offset":17,"len":5}\nhello     output, and its bytes
 *     {"task":"worker:1","stream":"out","end":true}\n                   the stream's end */
static int take_line(struct pieces *s, struct err *err)
{
    const char *line = (const char *)s->in.data + s->eaten;
    size_t there = s->in.len - s->eaten, n;
    const char *end = there ? memchr(line, '\n', there) : NULL;
    int r;

    if (!end && there > PIECE_LINE_MAX)
        return stream_piece_bad(err, "an incomplete line");
    if (!end)
        return 0;
    n = (size_t)(end - line);
    s->eaten += n + 1;
    if (plain_record(s, line, n))
        return 1;
    json_decref(s->line);
    s->line = NULL;
    s->p = (struct piece){ 0 };
    r = json_parse("the master's stream", line, n, &s->line, err);
    if (r < 0)
        return r == -EINVAL ? stream_piece_bad(err, "a line that is not JSON") : r;
    if (!json_is_object(s->line))
        return stream_piece_bad(err, "a line that is not an object");
    r = json_object_get(s->line, "event") ? take_record(s, err) : take_output(s, err);
    return r < 0 ? r : 1;
}

int pieces_next(struct pieces *s, struct piece *ret, struct err *err)
{
    int r = 1;

    while (r == 1 && s->left == 0) {
        r = take_line(s, err);
        if (r == 1 && (s->p.kind != PIECE_OUTPUT)) {
            *ret = s->p;
            return 1;
        }
    }
    if (r <= 0 || s->in.len == s->eaten)
        return r < 0 ? r : 0;
    s->p.data = (const char *)s->in.data + s->eaten;
    s->p.n = s->in.len - s->eaten;
    if (s->p.n > s->left)
        s->p.n = (size_t)s->left;
    s->eaten += s->p.n;
    s->left -= s->p.n;
    *ret = s->p;
    s->p.offset += s->p.n;
    return 1;
}
