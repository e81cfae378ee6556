/* earlier_output.c - compares the start of a saved file with what an agent sends: where the bytes
 * are the same it is the same output, and the saved copy is left out. See earlier_output.h. */
#include "client/earlier_output.h"
#include "terminal/format.h"

#include <string.h>

#define COMPARE_BYTES (64 * KIB)

static bool state_is_one_of(const json_t *task, const char *const *states)
{
    const char *state = format_text(task, "state");

    while (*states && !str_eq(state, *states))
        states++;
    return *states != NULL;
}

/* One that waits for its next container still has the number of the start before. */
static bool may_have_started_before(const json_t *task)
{
    static const char *const started[] = { "RUNNING", "DONE", "FAILED", NULL };

    return json_int_or(task, "attempt", 0) > 0 || json_int_or(task, "generation", 0) > 0 ||
           !state_is_one_of(task, started);
}

bool earlier_any(const json_t *status, const struct strs *wanted)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (may_have_started_before(t) && logfiles_wanted(wanted, format_text(t, "task")))
            return true;
    }
    return false;
}

/* The names of the tasks that have ended: their agents may still be there, having saved what they
 * send. The caller's; NULL when out of memory. */
static json_t *ended_tasks(const json_t *status)
{
    static const char *const states[] = { "DONE", "FAILED", NULL };
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    AUTO_JSON *ended = json_object();
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (state_is_one_of(t, states) &&
            json_object_set_new(ended, format_text(t, "task"), json_true()) < 0)
            return NULL;
    }
    return take(ended);
}

static const struct logfile *find_stream(const struct logfiles *l, const struct logfile *f)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].stream == f->stream && str_eq(l->v[i].task, f->task))
            return &l->v[i];
    return NULL;
}

/* 1 when `n` bytes of both are the same, where the second has its first bytes at `begin`. */
static int same_bytes(struct logreader *a, struct logreader *b, uint64_t begin, struct err *err)
{
    AUTO_FREE char *pa = malloc(COMPARE_BYTES), *pb = malloc(COMPARE_BYTES);
    uint64_t at = 0, size = logreader_size(a);

    if (!pa || !pb)
        return err_oom(err);
    while (at < size) {
        ssize_t n = logreader_read(a, &at, pa, COMPARE_BYTES, err), have = 0, m = 1;

        while (n > 0 && have < n && m > 0) {
            uint64_t from = begin + at + (uint64_t)have;

            m = logreader_read(b, &from, pb + have, (size_t)(n - have), err);
            have += m > 0 ? m : 0;
        }
        if (n < 0 || m < 0)
            return n < 0 ? (int)n : (int)m;
        if (n == 0 || have < n || memcmp(pa, pb, (size_t)n) != 0)
            return 0;
        at += (uint64_t)n;
    }
    return 1;
}

static int same_files(const struct logfile *saved, const struct logfile *sent, struct err *err)
{
    AUTO_LOGREADER *a = NULL;
    AUTO_LOGREADER *b = NULL;
    uint64_t begin;
    int r = logreader_open(saved, &a, err);

    if (r == 0)
        r = logreader_open(sent, &b, err);
    if (r < 0)
        return r;
    begin = logreader_begin(b);
    if (logreader_size(a) != logreader_size(b) - begin)
        return 0;
    return same_bytes(a, b, begin, err);
}

/* Is it what an agent saved that was killed, while the one that follows it in the same container
 * sends the same again, with all that came since? The master knows the file by its number. */
static bool goes_on(const json_t *status, const struct logfile *f)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t, *ids = NULL;
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (str_eq(format_text(t, "task"), f->task))
            ids = json_object_get(t, "saved_files");
    }
    return f->id && (json_int_t)f->id == json_integer_value(json_array_get(ids, f->stream));
}

/* 1: it is to be left out. */
static int earlier_is_sent(const json_t *status, const json_t *ended, const struct logfiles *sent,
                           const struct logfile *f, struct err *err)
{
    const struct logfile *other = sent ? find_stream(sent, f) : NULL;

    if (goes_on(status, f) || (other && f->id && other->id == f->id))
        return 1;
    if (f->part > 0 || !json_object_get(ended, f->task))
        return 0;
    if (!sent)
        return 1;
    return other ? same_files(f, other, err) : 0;
}

int earlier_keep(const json_t *status, const struct logfiles *sent, struct logfiles *l,
                 struct err *err)
{
    AUTO_JSON *ended = ended_tasks(status);
    size_t n = 0;
    int r = ended ? 0 : err_oom(err);

    for (size_t i = 0; i < l->n; i++) {
        struct logfile *f = &l->v[i];
        int out = r < 0 ? 0 : earlier_is_sent(status, ended, sent, f, err);

        r = out < 0 ? out : r;
        if (out == 1) {
            free(f->path);
            continue;
        }
        f->earlier = true;
        f->part = f->part ? f->part : UINT32_MAX; /* the last of them, before what is sent */
        l->v[n++] = *f;
    }
    l->n = n;
    return r;
}
