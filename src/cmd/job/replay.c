/* replay.c - see replay.h */
#include "cmd/job/replay.h"

#include <fcntl.h>

#define READ_BYTES (64 * KIB)

int replay_file(const struct logfile *f, uint64_t from, struct show *show, struct screen *screen,
                struct err *err)
{
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    AUTO_CLOSE int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    struct piece p = { .task = f->task, .stream = f->stream, .offset = from, .data = bytes };
    ssize_t n = 1;
    int r = bytes ? 0 : err_oom(err);

    if (fd < 0)
        return err_sys(err, "open '%s'", f->path);
    while (r == 0 && n > 0) {
        n = pread(fd, bytes, READ_BYTES, (off_t)p.offset);
        if (n < 0)
            return err_sys(err, "read '%s'", f->path);
        p.n = (size_t)n;
        p.kind = n > 0 ? PIECE_OUTPUT : PIECE_END;
        r = show_piece(show, &p, 0);
        p.offset += (uint64_t)n;
        if (r == 0)
            r = screen_wait(screen);
    }
    return r == -ENOMEM ? err_oom(err) : r;
}
