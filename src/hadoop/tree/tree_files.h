/* tree_files.h - files that are being copied: at most so many at a time, and at most so many bytes
 * of memory. Fibers only. */
#pragma once
#include "loop/fiber.h"

/* Copies the file called `name`, each on a fiber of its own. */
typedef int tree_file_fn(void *arg, const char *name, struct err *err);

struct tree_limits {
    unsigned at_once; /* files */
    size_t memory;    /* bytes; 0 for no limit. One file is copied whatever it is */
};

struct tree_files {
    struct loop *loop;
    struct group group;
    struct tree_limits most;
    size_t held;      /* bytes of memory under way */
    struct cond room; /* `held` went down */
    tree_file_fn *fn;
    void *arg;
};

/* `arg` is borrowed. */
void tree_files_init(struct tree_files *f, struct loop *l, struct tree_limits most,
                     tree_file_fn *fn, void *arg);

/* Starts fn(arg, name) when there is room for a file of that length. `name` is copied. Fails when
 * a file has failed already. */
int tree_files_add(struct tree_files *f, const char *name, uint64_t length, struct err *err);

/* Waits for all that was started, whatever happens; `r` and `err` are how the caller fared, and a
 * failure of it cancels them. Returns what came first: the failure of a file, or the caller's. To
 * be called on every path. */
int tree_files_end(struct tree_files *f, int r, struct err *err);
