/* replay.c - shows output that lies in files, for readers that no master serves any more, or not
 * yet.
 *
 * A task's stream may be in several files, one for each agent that had it: they are shown as one,
 * in order. What an agent was killed with is in none of them; by what was seen before
 * (replay_place) such a gap is told from bytes that were shown already. */
#include "follow/replay.h"

#define READ_BYTES (64 * KIB)

int replay_file(const struct logfile *f, uint64_t from, uint64_t before, struct show *show,
                struct screen *screen, struct err *err)
{
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_LOGREADER *file = NULL;
    struct piece p = { .task = f->task, .stream = f->stream, .data = bytes };
    ssize_t n = 1;
    int r = bytes ? logreader_open(f, &file, err) : err_oom(err);

    while (r == 0 && n > 0) {
        n = logreader_read(file, &from, bytes, READ_BYTES, err);
        if (n < 0)
            return (int)n;
        p.offset = before + from;
        p.n = (size_t)n;
        p.kind = n > 0 ? PIECE_OUTPUT : PIECE_END;
        r = show_piece(show, &p, 0);
        from += (uint64_t)n;
        if (r == 0)
            r = screen_wait(screen);
    }
    return r == -ENOMEM ? err_oom(err) : r;
}

static int replay_size_of(const struct logfile *f, uint64_t *ret, struct err *err)
{
    AUTO_LOGREADER *file = NULL;
    int r = logreader_open(f, &file, err);

    *ret = r == 0 ? logreader_size(file) : 0;
    return r;
}

static bool same_stream(const struct logfile *a, const struct logfile *b)
{
    return a->stream == b->stream && str_eq(a->task, b->task);
}

/* How many bytes of the stream that begins with the file `first` are in none of its files: those of
 * an agent that was killed and had saved nothing. */
static int find_unsaved(const struct logfiles *files, size_t first, const struct replay_place *p,
                        uint64_t *ret, struct err *err)
{
    uint64_t saved = 0, size = 0;
    int r = 0;

    *ret = 0;
    if (p->at == UINT64_MAX || p->file == 0 || p->file > p->at)
        return 0;
    for (size_t i = first; r == 0 && i < files->n && files->v[i].part > 0; i++) {
        if (!same_stream(&files->v[i], &files->v[first]))
            break;
        r = replay_size_of(&files->v[i], &size, err);
        saved += size;
    }
    if (r == 0 && saved < p->file)
        *ret = p->file - saved;
    return r;
}

/* The files of each stream from where its reader stands; of a job that goes on, only the `earlier`
 * ones. */
static int replay_streams(const struct logfiles *files, const struct replay_from *from,
                          bool earlier, struct show *show, struct screen *screen, struct err *err)
{
    struct replay_place p = { 0 };
    uint64_t before = 0, size = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct logfile *f = &files->v[i];
        bool last = !earlier && f->part == 0; /* shown to its end, whatever its size */

        if (i == 0 || !same_stream(f, f - 1)) {
            p = from->place(from->user, f);
            before = 0;
            if (!earlier) {
                show_resume_none(show, f->task, f->stream); /* offsets count saved bytes alone */
                r = find_unsaved(files, i, &p, &before, err);
            }
        }
        if (earlier && (!f->earlier || p.at == UINT64_MAX))
            continue;
        if (r == 0 && !last)
            r = replay_size_of(f, &size, err);
        if (r == 0 && p.at != UINT64_MAX && (last || p.at < before + size))
            r = replay_file(f, p.at > before ? p.at - before : 0, before, show, screen, err);
        before += size;
        if (r == 0 && earlier &&
            show_earlier(show, f->task, f->stream, before, (struct show_saved){ f->id, size }) < 0)
            r = err_oom(err);
    }
    return r;
}

int replay_rest(const struct logfiles *files, const struct replay_from *from, struct show *show,
                struct screen *screen, struct err *err)
{
    return replay_streams(files, from, false, show, screen, err);
}

int replay_earlier(const struct logfiles *files, const struct replay_from *from, struct show *show,
                   struct screen *screen, struct err *err)
{
    return replay_streams(files, from, true, show, screen, err);
}
