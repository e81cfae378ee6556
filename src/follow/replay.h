/* replay.h - output that tasks left in their files, shown. Fibers only. */
#pragma once
#include "client/logfiles.h"
#include "terminal/output_lines.h"
#include "terminal/screen.h"

/* Shows a file from the byte `from` on; `before` bytes of the stream are in other files. No time
 * passes meanwhile for `show`, so that the same lines of several tasks find each other. */
int replay_file(const struct logfile *f, uint64_t from, uint64_t before, struct show *show,
                struct screen *screen, struct err *err);

/* Where each stream is to begin, asked of its first file. */
struct replay_place {
    uint64_t at;     /* offset in all of its files together; UINT64_MAX: show nothing of it */
    uint64_t file;   /* offset at which the file that was seen last begins; 0: unknown. If the files
                      * before it hold less, one of them was never saved. */
    uint64_t hidden; /* bytes at the beginning that are left out on purpose (--tail) */
    bool last;       /* the file that was seen last is the task's last one */
};
struct replay_from {
    struct replay_place (*place)(void *user, const struct logfile *first);
    void *user;
};
/* Of a job that goes on: shows the files that are `earlier`, and has each stream go on behind them.
 */
int replay_earlier(const struct logfiles *files, const struct replay_from *from, struct show *show,
                   struct screen *screen, struct err *err);
/* Of one that has ended: shows what `show` has not yet. Is what its master sent `whole`, only gaps
 * can be missing: what agents had that left before they could send it (show_gap()). */
int replay_rest(const struct logfiles *files, const struct replay_from *from, bool whole,
                struct show *show, struct screen *screen, struct err *err);
