/* path.h - file names, and files that appear whole or not at all.
 *
 * Names are taken apart without being changed and never looked up; a `/` separates, whatever the
 * file system, so that the first group serves HDFS paths too. The rest blocks on the local disk.
 * Any thread. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

/* "dir/name", with one slash between; `name` alone when `dir` is "" or when `name` is absolute.
 * A new string, or NULL when out of memory; so for the next two. */
char *path_join(const char *dir, const char *name);
char *path_base(const char *path); /* "c" of "a/b/c/"; "/" of "/"; "." of "" */
char *path_dir(const char *path);  /* "a/b" of "a/b/c/"; "/" of "/a"; "." of "a" */

/* Whether these bytes name one thing in a directory: not empty, "." or "..", no slash, no NUL.
 * Check a name from outside with this before it becomes part of a path. */
bool path_is_name(const char *name, size_t n);

/* Is there a `name` in `dir`? Yes (1), no (0) or -ENOMEM. */
int path_has(const char *dir, const char *name);

/* Makes the directory and those above it that are missing, all with `mode` (less the umask). A
 * directory that is there already is fine, anything else in the way is -ENOTDIR. */
int path_mkdirs(const char *path, mode_t mode, struct err *err);

/* A hint to the file system: directories made in this one have nothing to do with each other. ext4
 * then puts each where there is room, instead of beside its parent, where every new file may cost a
 * search through full tables (measured: 0.45 ms instead of 0.01 ms). Where it is not known, nothing
 * happens. */
void path_spread(const char *dir);

/* Reads a whole file into `ret`, after what is in it; -E2BIG past the buffer's ceiling. */
int path_read(const char *path, struct buf *ret, struct err *err);

/* A file being written under a temporary name in the same directory. It gets its own name in
 * path_out_commit(), flushed to the disk and with exactly `mode`; whatever had that name before is
 * replaced at that instant (a symbolic link itself, not what it points to). */
struct path_out {
    int fd; /* to write to; not to be closed by the caller */
    char *tmp, *path;
};

int path_out_begin(struct path_out *o, const char *path, mode_t mode, struct err *err);
int path_out_commit(struct path_out *o, struct err *err);
/* The same without a flush: for what is worth nothing after a power failure. */
int path_out_rename(struct path_out *o, struct err *err);
/* Removes what was not committed. To be called on every path, also when begin failed. */
void path_out_done(struct path_out *o);

#define PATH_OUT_INIT                                                                              \
    {                                                                                              \
        .fd = -1                                                                                   \
    }
#define AUTO_PATH_OUT AUTO_DONE(path_out_done) struct path_out /* = PATH_OUT_INIT */

/* The same in one call. */
int path_write(const char *path, const void *p, size_t n, mode_t mode, struct err *err);

/* The same without a flush to the disk, which can take seconds where others write much: for what is
 * worth nothing after a power failure, and in a loop that must not stand still. */
int path_write_unflushed(const char *path, const void *p, size_t n, mode_t mode, struct err *err);

/* Writes a file that must not be there yet, without a flush to the disk: for what is worth nothing
 * after a power failure. */
int path_write_new(const char *path, const void *p, size_t n, mode_t mode, struct err *err);

/* Removes a file, or a directory with all that is in it; follows no symbolic link, also when
 * somebody puts one in the way meanwhile. A missing path is no error. */
int path_remove(const char *path, struct err *err);

/* Whether only we (and root) can exchange what we make in `dir`: 0 when it is ours or root's and
 * nobody else can write to it, or root's or ours with the sticky bit as /tmp is, and everybody
 * cannot exchange what leads to it either. Else -EPERM with a sentence, or why it cannot be known.
 * Whatever lies in a directory that cannot be trusted is not to be used. */
int path_trusted(const char *dir, struct err *err);
/* Whether the group is the user's own, of nobody else: by its number, or by its name in these files
 * (without NSS, which the static program cannot use; of a group that is unknown to them the number
 * alone counts). One that the files give to others as well is not. */
bool path_group_is_private(const char *passwd, const char *group, uid_t uid, gid_t gid);

/* All of it to a descriptor, however often the system takes only a part. */
int path_write_fd(int fd, const void *p, size_t n);

/* Where a person's files of one kind belong by the XDG rules: a directory name ending in `app`,
 * not made here. The variable counts when it is an absolute path, else the place under $HOME.
 * Fails with -ENOENT when neither is set. *ret is the caller's. */
enum path_kind { PATH_CONFIG, PATH_CACHE, PATH_DATA, PATH_STATE, PATH_KINDS_ };
int path_xdg(enum path_kind kind, const char *app, char **ret, struct err *err);
