/* pack.h - files and directories as one tar archive that is the same wherever and whenever it is
 * made.
 *
 * Entries are sorted by name and carry nothing of this machine: no owner, one fixed time, and of
 * the mode only whether it may be executed. A name of more than 100 bytes and a file of 8 GB or
 * more get a pax header. The archive is never compressed: gzip's bytes depend on the version of
 * the library that makes them, so that two clients would not agree on the hash, and one core
 * compresses more slowly than a cluster's network carries.
 *
 * It is never held in memory or on a disk either: its bytes are read from a pack, once for the hash
 * and once for the upload. A file that has changed since it was added is detected
 * (-ESTALE).
 *
 * Everything blocks on the local disk; any thread, one at a time per list or pack. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "pyenv/conda_prefix.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* 1980-01-02, the same for all: a zip file, which a task may make of them, has no earlier time. */
#define PACK_TIME 315619200
#define PACK_DEPTH_MAX 64 /* directories within each other */
#define PACK_ENTRIES_MAX 1000000

enum pack_type { PACK_FILE, PACK_DIRECTORY, PACK_LINK };

/* What tells a file from itself at another time. */
struct pack_stamp {
    uint64_t dev, ino, size;
    int64_t mtime, ctime; /* nanoseconds */
};

struct pack_entry {
    char *path; /* on this machine */
    char *name; /* in the archive, relative; no slash at its end */
    char *link; /* what a symbolic link says, else NULL */
    char *data; /* of a file: these bytes stand in the archive instead of its own; else NULL */
    size_t n_data;
    struct conda_prefix_patches patches; /* of a file without `data`: these over its own bytes */
    enum pack_type type;
    bool executable;
    struct pack_stamp stamp;
};
uint64_t pack_entry_size(const struct pack_entry *e); /* bytes of it in the archive */

struct pack_list {
    struct pack_entry *v;
    size_t n, cap;
    uint64_t bytes;   /* of the files */
    uint64_t n_files; /* entries that are no directories */
    bool sorted;
};

/* How a tree is walked. */
struct pack_rules {
    /* Symbolic links are followed to what is at or below this directory (a real path); other ones,
     * loops, and what is neither a file nor a directory are left out. NULL: such things are errors,
     * and links are followed wherever they lead, but those that stay within the tree, and those
     * that lead nowhere, are kept as links. */
    const char *inside;
    const char *const
        *skip;      /* names of directories that are left out; NULL-terminated, or NULL … */
    bool into_envs; /* … and with it Python environments, unless this is set */
    const char *const *without; /* names in the archive that are left out, with all below them */
    uint64_t most;              /* stop with -E2BIG past so many bytes in the list; 0: no limit */
};

/* Adds what `path` is under `name`, and everything in it when it is a directory; with the name ""
 * only what is in it. An existing name is left unchanged. -EACCES and so on for what
 * cannot be read, -EINVAL for what is neither a file nor a directory, -ELOOP for a directory within
 * itself, -E2BIG. */
int pack_add(struct pack_list *l, const char *path, const char *name, const struct pack_rules *r,
             struct err *err);
/* Adds a file that is not on the disk. `data` is taken over, also when it fails; NULL is -ENOMEM.
 */
int pack_add_data(struct pack_list *l, const char *name, char *data, size_t n, bool executable);
void pack_list_done(struct pack_list *l); /* zero is a valid start */

#define AUTO_PACK_LIST AUTO_DONE(pack_list_done) struct pack_list /* = { 0 } */

/* Bytes that the archive will have; 0 when out of memory. Sorts the list. */
uint64_t pack_size(struct pack_list *l);

/* The stamp of an open or a named file. */
struct pack_stamp pack_stamp_of(const struct stat *st);
bool pack_stamp_eq(const struct pack_stamp *a, const struct pack_stamp *b);
/* Opens a file to be read from its beginning to its end. -ESTALE when it is not what the stamp was
 * taken of; so says pack_stamp_check() of an open one. *ret_fd is the caller's. */
int pack_stamp_open(const char *path, const struct pack_stamp *stamp, int *ret_fd, struct err *err);
int pack_stamp_check(int fd, const char *path, const struct pack_stamp *stamp, struct err *err);
int pack_stamp_changed(const char *path, struct err *err); /* -ESTALE, with its words */

/* ---- its bytes ---- */

struct pack; /* opaque */

/* Sorts the list, which is borrowed. *ret is the caller's: pack_close(). */
int pack_open(struct pack_list *l, struct pack **ret, struct err *err);
/* Fills `p` as far as there is something to fill it with; 0 at the end. */
ssize_t pack_read(struct pack *k, void *p, size_t n, struct err *err);
struct pack *pack_close(struct pack *k); /* NULL is fine; always NULL */

AUTO_DEFINE(pack, struct pack *, pack_close);
#define AUTO_PACK AUTO(pack) struct pack

/* ---- tar's own format, for tests ---- */

#define PACK_BLOCK 512
/* Appends the header of an entry, with a pax header before it when it needs one. */
int pack_header(const struct pack_entry *e, struct buf *out);
