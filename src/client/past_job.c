/* past_job.c - feeds the segments of a log to history.h, from the last one with a whole summary
 * on. Where a log has no end, the end is made up from what else is known: the master is dead, or
 * YARN says why. See past_job.h. */
#include "client/past_job.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "job/history.h"
#include "job/protocol.h"
#include "job/segment.h"
#include "platform/log/log_files.h"
#include "terminal/format.h"

#include <limits.h>
#include <string.h>

#define TAIL_BYTES (64 * KIB) /* the end of the log, where its last record is */
#define FACTS_MAX MIB

/* ---- the log and its parts ---- */

/* All files of the log: the one of a job on one machine, or the parts. A master that died early may
 * have left none of its own. */
static int list_log(const struct past *p, struct log_files *ret, struct err *err)
{
    const struct log_name name = { p->dir, "events", "jsonl" };
    const struct segment only = { 0 };
    AUTO_FREE char *one = path_join(p->dir, "events.jsonl");
    AUTO_FS_ENTRY entry = { 0 };
    int r = one ? fs_exists(p->fs, one, &entry, err) : err_oom(err);

    ret->fs = p->fs;
    if (r != 0)
        return r < 0 ? r : log_files_add(ret, &only, one, err);
    r = log_files_find(ret, &name, INT_MAX, err);
    if (r == -ENOENT) {
        err_clear(err);
        r = 0;
    }
    return r;
}

int past_begun(const struct past *p, struct err *err)
{
    AUTO_LOG_FILES parts = { 0 };
    int r = list_log(p, &parts, err);

    return r < 0 ? r : parts.n > 0;
}

/* ---- its lines ---- */

struct handing {
    fs_line_fn *fn;
    void *arg;
    struct segment_seen seen;
    uint64_t end;   /* records of this part from this number on do not count */
    bool summaries; /* they are wanted, too … */
    bool stale;     /* … but not this part's */
    struct err *err;
};

static int hand_on_once(void *arg, const char *line, size_t n)
{
    struct handing *h = arg;
    int r = protocol_check_line(PROTOCOL_EVENTS, line, n, h->err);

    if (r < 0)
        return r;
    if ((!h->summaries || h->stale) && segment_is_summary(line, n))
        return 0; /* all that it says was said, or did not happen */
    if (segment_is_beyond(line, n, h->end))
        return 0;
    return segment_seen_before(&h->seen, line, n) ? 0 : h->fn(h->arg, line, n);
}

/* A log of three masters; the second one was replaced while it could still write:
 *
 *     events-1.jsonl    0 … 90
 *     events-2.jsonl    summary of 0 … 90,  91 … 140,  141 … 144     ← `end` of this part is 141
 *     events-3.jsonl    summary of 0 … 140, 141 … 200
 *
 * What the second wrote after its successor had read its part did not happen: the records from
 * `end` on, and a summary that stands for any of them (`stale`). */
static int hand_on_lines(const struct past *p, struct handing *h, struct err *err)
{
    AUTO_LOG_FILES parts = { 0 };
    int r = list_log(p, &parts, err);

    h->err = err;
    for (size_t i = r == 0 && h->summaries ? log_files_first(&parts, NULL, NULL) : 0;
         r == 0 && i < parts.n; i++) {
        h->end = log_files_end(&parts, i);
        h->stale = h->end < UINT64_MAX && !log_files_has_summary(&parts, i, h->end);
        r = fs_lines(p->fs, parts.v[i].path, hand_on_once, h, err);
        if (r < 0)
            (void)err_wrap(err, r, "read the events log of %s", p->id);
    }
    return r;
}

int past_events(const struct past *p, int (*fn)(void *arg, const char *line, size_t n), void *arg,
                struct err *err)
{
    struct handing h = { .fn = fn, .arg = arg };

    return hand_on_lines(p, &h, err);
}

/* ---- the document ---- */

struct reading {
    struct history *history;
    struct err *err;
};

static int past_apply(void *arg, const char *line, size_t n)
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

/* When the log was last written to, in milliseconds; 0 when nobody knows. */
static int64_t last_write(const struct past *p)
{
    AUTO_LOG_FILES parts = { 0 };
    AUTO_FS_ENTRY e = { 0 };

    if (list_log(p, &parts, NULL) < 0 || parts.n == 0)
        return 0;
    return fs_exists(p->fs, parts.v[parts.n - 1].path, &e, NULL) == 1 ? e.mtime : 0;
}

/* The story of a job that failed before it could record one: its master's. */
static int make_story(const struct past_end *end, json_t *v)
{
    bool more = (end->lines && *end->lines) || (end->hint && *end->hint);
    json_t *story;

    if (!more || !str_eq(end->state, "FAILED") || json_is_object(json_object_get(v, "story")))
        return 0;
    story = json_object();
    if (!story || json_object_set_new(v, "story", story) < 0 ||
        json_object_set_new(story, "text", json_text(end->reason)) < 0 ||
        json_object_set_new(story, "lines", json_text(end->lines ? end->lines : "")) < 0 ||
        json_object_set_new(story, "hint", json_text(end->hint ? end->hint : "")) < 0)
        return -ENOMEM;
    return 0;
}

/* The end that nobody wrote. */
static int make_end(const struct past *p, json_t *v)
{
    static const struct past_end killed = { .state = "FAILED",
                                            .reason = "its master was killed",
                                            .exit = PAST_EXIT_LOST };
    const struct past_end *end = p->end ? p->end : &killed;
    int64_t ended = end->ended;

    if (p->runs || json_is_integer(json_object_get(v, "exit")))
        return 0;
    if (!ended)
        ended = last_write(p);
    if (set_new(v, "state", json_string(end->state)) < 0 ||
        set_new(v, "reason", json_text(end->reason)) < 0 ||
        set_new(v, "exit", json_integer(end->exit)) < 0 ||
        set_new(v, "ended", ended ? json_integer(ended) : json_null()) < 0)
        return -ENOMEM;
    if (make_story(end, v) < 0 ||
        (end->unsaved && set_new(v, "unsaved", json_text(end->unsaved)) < 0))
        return -ENOMEM;
    return set_new(v, "lost", json_true());
}

static int past_read_facts(const struct past *p, json_t **ret)
{
    AUTO_FREE char *path = path_join(p->dir, "job.json");
    AUTO_BUF text = { .max = FACTS_MAX };
    AUTO_FS_READER *f = NULL;
    uint8_t *room;
    ssize_t n = 1;

    if (!path || fs_open(p->fs, path, &f, NULL) < 0)
        return -ENOENT;
    while (n > 0) {
        if (buf_room(&text, 16 * KIB, &room) < 0)
            return -E2BIG;
        n = fs_read(f, room, 16 * KIB, NULL);
        text.len += n > 0 ? (size_t)n : 0;
    }
    return n < 0
               ? (int)n
               : json_parse("job.json", text.data ? text.data : (uint8_t *)"", text.len, ret, NULL);
}

/* Facts that are not in the log come from job.json.
 *
 * The file may be missing: then the log is all there is, and that is no failure. */
static int add_facts(const struct past *p, json_t *v)
{
    static const char *const keys[] = { "name", "user", "created", "framework" };
    AUTO_JSON *facts = NULL;
    int r = set_new(v, "job", json_string(p->id));

    if (r < 0 || past_read_facts(p, &facts) < 0)
        return r;
    for (size_t i = 0; r == 0 && i < COUNT_OF(keys); i++) {
        const json_t *have = json_object_get(v, keys[i]);
        json_t *fact = json_object_get(facts, keys[i]);

        if (fact && (!have || json_is_null(have)))
            r = json_object_set(v, keys[i], fact) < 0 ? -ENOMEM : 0;
    }
    return r;
}

int past_status(const struct past *p, bool tasks, json_t **ret, struct err *err)
{
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *v = NULL;
    struct reading x = { .err = err };
    int r = history_new(&h, err);

    if (r < 0)
        return r;
    x.history = h;
    r = hand_on_lines(p, &(struct handing){ .fn = past_apply, .arg = &x, .summaries = true }, err);
    if (r == 0)
        r = history_json(h, tasks, &v, err);
    if (r < 0)
        return r;
    if (add_facts(p, v) < 0 || make_end(p, v) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}

/* ---- the summary ---- */

/* The record of the end, or else the last whole line as a record; NULL when there is none that can
 * be read. Earlier builds wrote a few more behind the end.
 *
 * Only the last block of the file is read: a list of many jobs wants one line of each. Lines are
 * parsed only if they can be the end, but for the very last one. */
static json_t *last_record(struct fs_reader *f)
{
    static const char mark[] = "\"event\":\"end\"";
    AUTO_FREE char *p = malloc(TAIL_BYTES);
    uint64_t size = fs_length(f), from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    ssize_t n = p && size > 0 ? fs_pread(f, from, p, TAIL_BYTES, NULL) : 0;
    json_t *v = NULL;

    while (n > 0 && !str_eq(format_text(v, "event"), "end")) {
        const char *end = memrchr(p, '\n', (size_t)n), *begin;
        json_t *one = NULL;

        if (!end)
            break;
        begin = end > p ? memrchr(p, '\n', (size_t)(end - p)) : NULL;
        begin = begin ? begin + 1 : p;
        if (!v || memmem(begin, (size_t)(end - begin), mark, sizeof(mark) - 1))
            (void)json_parse("events", begin, (size_t)(end - begin), &one, NULL);
        if (one && (!v || str_eq(format_text(one, "event"), "end"))) {
            json_decref(v);
            v = take(one);
        }
        json_decref(one);
        n = begin - p;
    }
    return v;
}

/* The record at the very end; NULL as well when it cannot be read. The last segment may have been
 * opened for what then went into none. */
static int past_find_end(const struct past *p, json_t **ret, struct err *err)
{
    AUTO_LOG_FILES parts = { 0 };
    int r = list_log(p, &parts, err);

    *ret = NULL;
    for (size_t i = parts.n; r == 0 && i > 0 && !*ret; i--) {
        AUTO_FS_READER *f = NULL;

        r = fs_open(p->fs, parts.v[i - 1].path, &f, err);
        *ret = f ? last_record(f) : NULL;
    }
    return r;
}

/* As the status says it: a job that succeeded without saving its results has its own exit code. */
static json_int_t past_exit_of(const json_t *end)
{
    json_int_t code = json_int_or(end, "exit", 0);

    return code == 0 && json_is_true(json_object_get(end, "unsaved")) ? HISTORY_UNSAVED_EXIT : code;
}

int past_summary(const struct past *p, json_t **ret, struct err *err)
{
    AUTO_JSON *v = json_object();
    AUTO_JSON *end = NULL;
    int r = v ? past_find_end(p, &end, err) : err_oom(err);

    if (r < 0)
        return r;
    if (add_facts(p, v) < 0)
        return err_oom(err);
    if (str_eq(format_text(end, "event"), "end"))
        if (set_new(v, "state", json_string(format_text(end, "state"))) < 0 ||
            set_new(v, "exit", json_integer(past_exit_of(end))) < 0 ||
            set_new(v, "ended", json_integer(json_int_or(end, "t", 0))) < 0)
            return err_oom(err);
    if (make_end(p, v) < 0)
        return err_oom(err);
    *ret = take(v);
    return 0;
}
