/* replay.c - see replay.h */
#include "cmd/job/replay.h"

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

static int size_of(const struct logfile *f, uint64_t *ret, struct err *err)
{
    AUTO_LOGREADER *file = NULL;
    int r = logreader_open(f, &file, err);

    *ret = r == 0 ? logreader_size(file) : 0;
    return r;
}

int replay_rest(const struct logfiles *files, const struct replay_from *from, struct show *show,
                struct screen *screen, struct err *err)
{
    uint64_t at = 0, before = 0, size = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct logfile *f = &files->v[i];

        if (i == 0 || f->stream != f[-1].stream || !str_eq(f->task, f[-1].task)) {
            at = from->place(from->user, f);
            before = 0;
        }
        if (f->part > 0)
            r = size_of(f, &size, err);
        if (r == 0 && at != UINT64_MAX && (f->part == 0 || at < before + size))
            r = replay_file(f, at > before ? at - before : 0, before, show, screen, err);
        before += size;
    }
    return r;
}
