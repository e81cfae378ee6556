/* replay.c - see replay.h */
#include "cmd/job/replay.h"

#define READ_BYTES (64 * KIB)

int replay_file(const struct logfile *f, uint64_t from, struct show *show, struct screen *screen,
                struct err *err)
{
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_LOGREADER *file = NULL;
    struct piece p = { .task = f->task, .stream = f->stream, .offset = from, .data = bytes };
    ssize_t n = 1;
    int r = bytes ? logreader_open(f, &file, err) : err_oom(err);

    while (r == 0 && n > 0) {
        n = logreader_read(file, &p.offset, bytes, READ_BYTES, err);
        if (n < 0)
            return (int)n;
        p.n = (size_t)n;
        p.kind = n > 0 ? PIECE_OUTPUT : PIECE_END;
        r = show_piece(show, &p, 0);
        p.offset += (uint64_t)n;
        if (r == 0)
            r = screen_wait(screen);
    }
    return r == -ENOMEM ? err_oom(err) : r;
}
