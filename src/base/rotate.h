/* rotate.h - a file that others append to for long, cut into pieces while they do.
 *
 *     NAME.1, NAME.2 …   the beginning, as many bytes in each, oldest first
 *     NAME               the rest, which grows
 *
 * Whoever writes knows nothing of it: its descriptor stays what it is. A piece is copied first, and
 * then the kernel takes the same bytes from the beginning of the file at once, as if they had never
 * been there (fallocate's "collapse range": ext4, xfs, f2fs); so no byte is lost and none is there
 * twice, whenever anybody is killed. On file systems that cannot do that the file stays whole. It
 * works for writers that append (O_APPEND), and for those only.
 *
 * Offsets are those of the whole. One process cuts; any may read meanwhile. A reader that has the
 * file open (`kept`) can go on when file or directory are removed. Blocks on the local disk. One
 * thread at a time per value. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ROTATE_STEP ((uint64_t)64 * 1024) /* a piece is a multiple of this: no block is larger */

struct rotate {
    const char *path;     /* borrowed */
    uint64_t piece;       /* bytes of each; 0: there is none yet */
    uint32_t first, last; /* numbers of those that are there; 0: none */
    bool unnamed;         /* `last` had no name yet when it was counted */
    bool never;           /* this file system cannot do it */
    int kept; /* the file itself, open for reading, for when its name is gone; 0: not; borrowed */
};

/* What there is by now; a file that is not there is none yet. -ENOMEM, or why the directory cannot
 * be read. */
int rotate_look(struct rotate *r, const char *path);
/* For who is going to cut: completes a cut that was interrupted when its process was killed. */
int rotate_mend(struct rotate *r);

/* The offset of the first byte that still exists, and the length including the removed bytes. */
uint64_t rotate_begin(const struct rotate *r);
uint64_t rotate_size(struct rotate *r);
/* At most `n` bytes from `at` on, those of one file; 0 at the end; -ESTALE before rotate_begin().
 * While somebody else cuts, `r` learns of it here. */
ssize_t rotate_read(struct rotate *r, uint64_t at, void *p, size_t n);

/* ---- cutting ---- */

/* Whether a piece of `piece` bytes (a multiple of ROTATE_STEP) can be cut off; once there are any,
 * their size counts. */
bool rotate_due(const struct rotate *r, uint64_t piece);
/* Copies the next piece, at most `most` bytes of it now: 1 when all of it is there and on its way
 * to the disk, 0 when it is to be called again. May be another thread's: it changes nothing that
 * the others look at. */
int rotate_copy(const struct rotate *r, uint64_t piece, uint64_t most);
/* Cuts off what was copied, or ends a cut that failed halfway. Of the pieces the `keep` newest
 * stay, with 0 all. */
int rotate_cut(struct rotate *r, uint64_t piece, uint32_t keep);
void rotate_drop(const struct rotate *r); /* forgets a copy that was begun */
