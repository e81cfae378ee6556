/* replay.c - shows output that lies in files: one of them, or what tasks wrote on machines that
 * they have left, for readers that no master serves yet. What a master did not send is shown by
 * replay_rest.c. */
#include "follow/replay_private.h"

#define READ_BYTES (64 * KIB)

int replay_part(const struct logfile *f, struct replay_bytes b, struct show *show,
                struct screen *screen, struct err *err)
{
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_LOGREADER *file = NULL;
    struct piece p = { .task = f->task, .stream = f->stream, .data = bytes };
    ssize_t n = 1;
    int r = bytes ? logreader_open(f, &file, err) : err_oom(err);

    while (r == 0 && n > 0) {
        n = logreader_read(file, &b.from, bytes, READ_BYTES, err);
        if (n < 0)
            return (int)n;
        if (n > 0 && (b.from >= b.to || (uint64_t)n > b.to - b.from))
            n = b.from < b.to ? (ssize_t)(b.to - b.from) : 0;
        p.offset = b.before + b.from;
        p.n = (size_t)n;
        p.kind = n > 0 ? PIECE_OUTPUT : PIECE_END;
        r = show_piece(show, &p, 0);
        b.from += (uint64_t)n;
        if (r == 0)
            r = screen_wait(screen);
    }
    return r == -ENOMEM ? err_oom(err) : r;
}

int replay_file(const struct logfile *f, uint64_t from, uint64_t before, struct show *show,
                struct screen *screen, struct err *err)
{
    return replay_part(f, (struct replay_bytes){ from, UINT64_MAX, before }, show, screen, err);
}

int replay_size_of(const struct logfile *f, uint64_t *ret, struct err *err)
{
    AUTO_LOGREADER *file = NULL;
    int r = logreader_open(f, &file, err);

    *ret = r == 0 ? logreader_size(file) : 0;
    return r;
}

bool replay_same_stream(const struct logfile *a, const struct logfile *b)
{
    return a->stream == b->stream && str_eq(a->task, b->task);
}

int replay_earlier(const struct logfiles *files, const struct replay_from *from, struct show *show,
                   struct screen *screen, struct err *err)
{
    struct replay_place p = { 0 };
    uint64_t before = 0, size = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->n; i++) {
        const struct logfile *f = &files->v[i];

        if (i == 0 || !replay_same_stream(f, f - 1)) {
            p = from->place(from->user, f);
            before = 0;
        }
        if (!f->earlier || p.at == UINT64_MAX)
            continue;
        r = replay_size_of(f, &size, err);
        if (r == 0 && p.at < before + size)
            r = replay_file(f, p.at > before ? p.at - before : 0, before, show, screen, err);
        before += size;
        if (r == 0 &&
            show_earlier(show, f->task, f->stream, before, (struct show_saved){ f->id, size }) < 0)
            r = err_oom(err);
    }
    return r;
}
