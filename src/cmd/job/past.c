/* past.c - see past.h */
#include "cmd/job/past.h"
#include "base/str.h"
#include "cmd/job/words.h"
#include "job/history.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define READ_BYTES (256 * KIB)
#define LINE_MAX_BYTES MIB
#define TAIL_BYTES (64 * KIB) /* the end of the log, where its last record is */

static int open_log(const struct job_dir *d, int *ret_fd, struct err *err)
{
    AUTO_FREE char *path = path_join(d->path, "events.jsonl");

    if (!path)
        return err_oom(err);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0 && errno != ENOENT)
        return err_sys(err, "open '%s'", path);
    return 0;
}

/* Hands on the whole lines at the beginning of `b`. */
static int hand_on(struct buf *b, int (*fn)(void *arg, const char *line, size_t n), void *arg)
{
    const char *at = (char *)b->data, *end = at + b->len, *nl;
    int r = 0;

    while (r == 0 && at < end && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        r = fn(arg, at, (size_t)(nl - at));
        at = nl + 1;
    }
    buf_eat(b, (size_t)(at - (char *)b->data));
    return r;
}

int past_events(const struct job_dir *d, int (*fn)(void *arg, const char *line, size_t n),
                void *arg, struct err *err)
{
    AUTO_BUF b = { .max = LINE_MAX_BYTES + READ_BYTES };
    AUTO_CLOSE int fd = -1;
    ssize_t n = 1;
    int r = open_log(d, &fd, err);

    while (r == 0 && fd >= 0 && n > 0) {
        uint8_t *room;

        r = buf_room(&b, READ_BYTES, &room);
        if (r < 0)
            return r == -E2BIG ? err_set(err, -EBADMSG,
                                         "the events log of %s has a line of more "
                                         "than %zu bytes",
                                         d->id, LINE_MAX_BYTES)
                               : err_oom(err);
        n = read(fd, room, READ_BYTES);
        if (n < 0)
            return err_sys(err, "read the events log of %s", d->id);
        b.len += (size_t)n;
        r = n > 0 ? hand_on(&b, fn, arg) : 0;
    }
    return r;
}

/* ---- the document ---- */

struct reading {
    struct history *history;
    struct err *err;
};

static int apply(void *arg, const char *line, size_t n)
{
    struct reading *x = arg;
    int r = history_apply(x->history, line, n, x->err);

    if (r == -EINVAL) { /* cut short by a crash, and gone on behind it */
        err_clear(x->err);
        return 0;
    }
    return r;
}

static int set_new(json_t *v, const char *key, json_t *value)
{
    return json_object_set_new(v, key, value) < 0 ? -ENOMEM : 0;
}

/* When the log was last written to, in milliseconds. */
static int64_t last_write(const struct job_dir *d)
{
    AUTO_FREE char *path = path_join(d->path, "events.jsonl");
    struct stat st;

    if (!path || stat(path, &st) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

/* The end that nobody wrote. */
static int make_end(const struct job_dir *d, json_t *v)
{
    int64_t ended = last_write(d);

    if (json_is_integer(json_object_get(v, "exit")))
        return 0;
    if (set_new(v, "state", json_string("FAILED")) < 0 ||
        set_new(v, "reason", json_string("its master was killed")) < 0 ||
        set_new(v, "exit", json_integer(PAST_EXIT_LOST)) < 0 ||
        set_new(v, "ended", ended ? json_integer(ended) : json_null()) < 0)
        return -ENOMEM;
    return set_new(v, "lost", json_true());
}

/* What the log does not say stands in job.json. */
static int add_facts(const struct job_dir *d, json_t *v)
{
    static const char *const keys[] = { "name", "user", "created", "framework" };
    AUTO_JSON *facts = NULL;
    int r = set_new(v, "job", json_string(d->id));

    if (r < 0 || jobs_facts(d, &facts, NULL) < 0)
        return r;
    for (size_t i = 0; r == 0 && i < COUNT_OF(keys); i++) {
        const json_t *have = json_object_get(v, keys[i]);
        json_t *fact = json_object_get(facts, keys[i]);

        if (fact && (!have || json_is_null(have)))
            r = json_object_set(v, keys[i], fact) < 0 ? -ENOMEM : 0;
    }
    return r;
}

int past_status(const struct job_dir *d, bool tasks, json_t **ret, struct err *err)
{
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *v = NULL;
    struct reading x = { .err = err };
    int r = history_new(&h, err);

    if (r < 0)
        return r;
    x.history = h;
    r = past_events(d, apply, &x, err);
    if (r == 0)
        r = history_json(h, tasks, &v, err);
    if (r < 0)
        return r;
    if (add_facts(d, v) < 0 || make_end(d, v) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}

/* ---- the summary ---- */

/* The last whole line of the log as a record; NULL when there is none that can be read. */
static json_t *last_record(int fd)
{
    AUTO_FREE char *p = malloc(TAIL_BYTES);
    off_t size = p ? lseek(fd, 0, SEEK_END) : -1;
    off_t from = size > (off_t)TAIL_BYTES ? size - (off_t)TAIL_BYTES : 0;
    ssize_t n = size > 0 ? pread(fd, p, TAIL_BYTES, from) : 0;
    json_t *v = NULL;

    while (n > 0 && !v) {
        const char *end = memrchr(p, '\n', (size_t)n), *begin;

        if (!end)
            break;
        begin = end > p ? memrchr(p, '\n', (size_t)(end - p)) : NULL;
        begin = begin ? begin + 1 : p;
        (void)json_parse("events", begin, (size_t)(end - begin), &v, NULL);
        n = begin - p;
    }
    return v;
}

int past_summary(const struct job_dir *d, json_t **ret, struct err *err)
{
    AUTO_JSON *v = json_object();
    AUTO_JSON *end = NULL;
    AUTO_CLOSE int fd = -1;
    int r = v ? open_log(d, &fd, err) : err_oom(err);

    if (r < 0)
        return r;
    if (add_facts(d, v) < 0)
        return err_oom(err);
    end = fd >= 0 ? last_record(fd) : NULL;
    if (str_eq(words_text(end, "event"), "end"))
        if (set_new(v, "state", json_string(words_text(end, "state"))) < 0 ||
            set_new(v, "exit", json_integer(words_int(end, "exit", 0))) < 0 ||
            set_new(v, "ended", json_integer(words_int(end, "t", 0))) < 0)
            return err_oom(err);
    if (make_end(d, v) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}
