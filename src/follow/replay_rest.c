/* replay_rest.c - shows what the files of an ended job have and its reader was not sent.
 *
 * A task's stream is in several files, one for each agent that had it. Its reader counts bytes over
 * all of them, as its master did:
 *
 *     reader   |---- file 1 ----|== gap ==|--- file 2 ---|----- file 3 ---at        p.file: of 3
 *     files    |-------- saved 1 ---------|-- saved 2 --|------- last ----------|
 *
 * The two counts differ where an agent was killed (it saved less than it sent, or nothing) and
 * where one went on while nobody heard it (it saved more). So where the reader stands in the last
 * file is counted from that file's own beginning, if it is known that it stands there. */
#include "follow/replay_private.h"

/* The files of one stream: v[first] to v[end - 1]. `own` is the one that the reader saw last; it
 * counts as the last one. As offsets in the stream: the files start at `begin` (what is before it
 * was never saved), `own` starts at `last`, and all end at `size`. */
struct replay_stream {
    const struct logfiles *files;
    size_t first, end, own;
    uint64_t begin, last, size;
    struct show *show;
    struct screen *screen;
};

/* Who has seen a whole file knows how long it is. It is not always the one of that name: an agent
 * that was cut off may save after the one that took its place. False: there is no such file. */
static int find_own(struct replay_stream *st, uint64_t n, bool *ret, struct err *err)
{
    uint64_t size = 0;
    int r = 0;

    *ret = false;
    for (size_t i = st->end; r == 0 && i > st->first && !*ret; i--) {
        r = replay_size_of(&st->files->v[i - 1], &size, err);
        if (r == 0 && size == n) {
            st->own = i - 1;
            *ret = true;
        }
    }
    return r;
}

static int replay_measure(struct replay_stream *st, const struct replay_place *p, struct err *err)
{
    const struct logfile *v = st->files->v;
    uint64_t size = 0;
    int r = 0;

    for (size_t i = st->first; r == 0 && i < st->end; i++) {
        r = replay_size_of(&v[i], &size, err);
        st->size += size;
        if (i != st->own)
            st->last += size;
    }
    if (p->file > st->last && p->file <= p->at)
        st->begin = p->file - st->last;
    st->last += st->begin;
    st->size += st->begin;
    return r;
}

static int replay_one(const struct replay_stream *st, size_t i, uint64_t from, uint64_t to,
                      uint64_t *before, struct err *err)
{
    const struct logfile *f = &st->files->v[i];
    struct replay_bytes b = { .before = *before };
    uint64_t size = 0;
    int r = replay_size_of(f, &size, err);

    b.from = from > b.before ? from - b.before : 0;
    b.to = to > b.before ? to - b.before : 0;
    *before += size;
    if (r < 0 || b.to == 0 || (i != st->own && b.from >= size))
        return r;
    return replay_part(f, b, st->show, st->screen, err); /* the last one to its present end */
}

/* The bytes [from, to) of the stream, as far as the files have them. */
static int replay_range(const struct replay_stream *st, uint64_t from, uint64_t to, struct err *err)
{
    uint64_t before = st->begin;
    int r = 0;

    for (size_t i = st->first; r == 0 && i < st->end; i++)
        if (i != st->own)
            r = replay_one(st, i, from, to, &before, err);
    return r < 0 ? r : replay_one(st, st->own, from, to, &before, err);
}

/* Does the reader stand in the last file? */
static bool replay_is_in_last(const struct replay_stream *st, const struct replay_place *p)
{
    return p->file > 0 && (p->last || p->at > st->last);
}

/* How much more was saved of the file before the reader's own one than was sent of it. */
static uint64_t saved_more(const struct replay_stream *st, const struct replay_place *p)
{
    return st->last > p->file ? st->last - p->file : 0;
}

/* Gaps of which the reader knows. Where there was one change of files, what the first file has in
 * addition belongs to it. */
static int replay_gaps(const struct replay_stream *st, const struct replay_place *p,
                       bool seen_whole, struct err *err)
{
    const struct logfile *f = &st->files->v[st->first];
    struct show_gap gap, other;
    int r = 0;

    for (size_t i = 0; r == 0 && show_gap(st->show, f->task, f->stream, i, &gap); i++) {
        if (seen_whole && gap.to == p->file &&
            !show_gap(st->show, f->task, f->stream, i ? 0 : 1, &other))
            gap.to += saved_more(st, p);
        if (gap.from < p->hidden)
            gap.from = p->hidden;
        if (gap.from < gap.to)
            r = replay_range(st, gap.from, gap.to, err);
    }
    return r;
}

static int replay_stream_rest(struct replay_stream *st, const struct replay_place *p, bool whole,
                              struct err *err)
{
    const struct logfile *f = &st->files->v[st->first];
    bool seen_whole = false; /* the reader has seen all of its file */
    int r = 0;

    for (st->end = st->first; st->end < st->files->n; st->end++)
        if (!replay_same_stream(&st->files->v[st->end], f))
            break;
    st->own = st->end - 1;
    if (p->file > 0 && (whole || p->last))
        r = find_own(st, p->at - p->file, &seen_whole, err);
    if (r < 0 || (whole && !seen_whole))
        return r;
    r = replay_measure(st, p, err);
    show_resume_none(st->show, f->task,
                     f->stream); /* offsets are those of the files from here on */
    if (r == 0)
        r = replay_gaps(st, p, seen_whole, err);
    if (r < 0 || whole)
        return r;
    return replay_range(st, replay_is_in_last(st, p) ? st->last + (p->at - p->file) : p->at,
                        UINT64_MAX, err);
}

int replay_rest(const struct logfiles *files, const struct replay_from *from, bool whole,
                struct show *show, struct screen *screen, struct err *err)
{
    struct show_gap gap;
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct logfile *f = &files->v[i];
        struct replay_stream st = { files, .first = i, .show = show, .screen = screen };
        struct replay_place p;

        if (i > 0 && replay_same_stream(f, f - 1))
            continue;
        if (whole && !show_gap(show, f->task, f->stream, 0, &gap))
            continue;
        p = from->place(from->user, f);
        if (p.at != UINT64_MAX)
            r = replay_stream_rest(&st, &p, whole, err);
    }
    return r;
}
