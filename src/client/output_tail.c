/* output_tail.c - walks a stream from its last part back to its first, counting newlines, until
 * enough lines are found; then says where in which part to begin. See output_tail.h. */
#include "client/output_tail.h"

#include <stdio.h>

/* Where to begin in a file of whose lines *left are wanted, and how many those before it are to
 * have. */
static int begin_of(const struct logfile *f, uint64_t *left, uint64_t *ret, struct err *err)
{
    AUTO_LOGREADER *file = NULL;
    int r = logreader_open(f, &file, err);

    return r < 0 ? r : logreader_tail(file, left, ret, err);
}

/* The first file of the stream whose last one is before `end`. */
static size_t tail_first_of(const struct logfiles *files, size_t end)
{
    const struct logfile *last = &files->v[end - 1];
    size_t i = end - 1;

    while (i > 0 && files->v[i - 1].stream == last->stream &&
           str_eq(files->v[i - 1].task, last->task))
        i--;
    return i;
}

/* From the last part of a stream to its first. */
static int stream_begins(const struct logfiles *files, size_t first, size_t end, int64_t lines,
                         uint64_t *begins, struct err *err)
{
    uint64_t left = (uint64_t)lines;
    int r = 0;

    for (size_t i = end; i > first && r == 0; i--)
        r = begin_of(&files->v[i - 1], &left, &begins[i - 1], err);
    return r;
}

int tail_begins(const struct logfiles *files, const bool streams[2], int64_t lines,
                uint64_t *begins, struct err *err)
{
    size_t first;
    int r = 0;

    for (size_t end = files->n; end > 0 && r == 0; end = first) {
        first = tail_first_of(files, end);
        for (size_t i = first; i < end; i++)
            begins[i] = 0;
        if (lines >= 0 && streams[files->v[first].stream])
            r = stream_begins(files, first, end, lines, begins, err);
    }
    return r;
}

#define KEY_MAX (PIECE_TASK_MAX + 16)

static const char *tail_key_of(const char *task, enum piece_stream stream, bool earlier,
                               char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s/%d%s", task, stream, earlier ? "/earlier" : "");
    return key;
}

/* A stream is several files, one after the other, and is followed in two pieces: what earlier
 * agents wrote, and what the present one does. Each has its own place to begin:
 *
 *     earlier                                  present
 *     [ worker-0.1.out ][ worker-0.2.out ]     [ worker-0.out …
 *     all is skipped    from its middle on     from the first byte on
 *
 * Files that cannot be read are shown whole: only memory and signals end this. */
int tail_skips(const struct logfiles *files, const bool streams[2], int64_t lines, json_t *ret,
               struct err *err)
{
    AUTO_FREE uint64_t *begins = calloc(files->n + 1, sizeof(*begins));
    size_t first;

    if (!begins)
        return err_oom(err);
    for (size_t end = files->n; end > 0; end = first) {
        const struct logfile *f = &files->v[end - 1];
        char key[KEY_MAX];
        uint64_t skip[2] = { 0, 0 }; /* [1]: earlier */
        int r;

        first = tail_first_of(files, end);
        if (lines < 0 || !streams[f->stream])
            continue;
        r = stream_begins(files, first, end, lines, begins, NULL);
        if (r == -ENOMEM || r == -ECANCELED)
            return err_code(err, r, "read the last lines of %s", f->task);
        for (size_t i = first; r == 0 && i < end; i++)
            skip[files->v[i].earlier] += begins[i];
        for (int k = 0; k < 2; k++)
            if (json_object_set_new(ret, tail_key_of(f->task, f->stream, k, key),
                                    json_integer((json_int_t)skip[k])) < 0)
                return err_oom(err);
    }
    return 0;
}

uint64_t tail_skip(const json_t *skips, const char *task, enum piece_stream stream)
{
    char key[KEY_MAX];

    return (uint64_t)json_int_or(skips, tail_key_of(task, stream, false, key), 0);
}

uint64_t tail_skip_earlier(const json_t *skips, const char *task, enum piece_stream stream)
{
    char key[KEY_MAX];

    return (uint64_t)json_int_or(skips, tail_key_of(task, stream, true, key), 0);
}
