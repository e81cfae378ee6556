/* conda_prefix.h - files of a conda environment that say where it is.
 *
 * A conda package is made with a placeholder, a path of 255 bytes that no machine has; the
 * installer replaces it by the path of the environment. A text becomes shorter by that. In a
 * program or a library each string keeps its room: what is left over is filled with NULs, by which
 * it can become longer again, as long as the placeholder was.
 *
 * An archive of `ydl pack` has the placeholders again, so that it is the same wherever it was made
 * and can be told any place that is not longer. It names the files:
 *
 *     conda-meta/ydl-places    a line for each: "text" or "binary", placeholder, name; tabs between
 *     conda-meta/ydl-prefix    the place that they say, once they have been told one
 *
 * Everything blocks on the local disk; any thread. File names and contents are hostile. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

#define CONDA_PREFIX_LIST "conda-meta/ydl-places"
#define CONDA_PREFIX_MARK "conda-meta/ydl-prefix"
#define CONDA_PREFIX_FROM_MAX 4          /* paths that are looked for; more are not */
#define CONDA_PREFIX_TEXT_MAX (16 * MIB) /* a longer text stays as it is */

/* Bytes that are to be written at a position of a file. */
struct conda_prefix_patch {
    uint64_t at;
    char *bytes;
    size_t n;
};

struct conda_prefix_patches {
    struct conda_prefix_patch *v;
    size_t n;
};
void conda_prefix_patches_done(struct conda_prefix_patches *p); /* zero is a valid start */

#define AUTO_CONDA_PATCHES                                                                         \
    AUTO_DONE(conda_prefix_patches_done) struct conda_prefix_patches /* = { 0 } */

/* From one of these paths to another one. A path counts where it ends like one: "/e" is in "/e/x"
 * and "-L/e:", and not in "/etc". */
struct conda_prefix_move {
    const struct strs *from;
    const char *to;
};

/* Adds the text with the paths changed to `out`. The number of changes, -ENOMEM, -E2BIG. */
int conda_prefix_text(const struct conda_prefix_move *m, const char *text, size_t n,
                      struct buf *out);

/* Finds what is to be changed in a program or a library of `size` bytes. A string that cannot
 * become longer, because no NULs are behind it, is left as it is and counted in *ret_stuck. Uses
 * 1 MiB of memory, however large the file is. 0, -ENOMEM or what read(2) says. */
int conda_prefix_binary(const struct conda_prefix_move *m, int fd, uint64_t size,
                        struct conda_prefix_patches *ret, size_t *ret_stuck);

/* Tells an environment that was unpacked in `dir` where it is; without a list, or when it knows,
 * nothing is done. Each file is replaced as a whole: programs that run have the old one, and
 * others may do the same at the same time. Files that cannot be told are added to `stuck`. -EROFS,
 * -EACCES and so on when nothing can be changed there. */
int conda_prefix_env(const char *dir, size_t *ret_changed, struct strs *stuck, struct err *err);
