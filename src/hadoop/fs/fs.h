/* fs.h - files on HDFS and on this machine behind one interface.
 *
 * A *set* belongs to one session and opens one *fs* per name service (and one for local files),
 * when a path first needs it. A path as the user writes it ("hdfs://ns/a", "viewfs://c/a",
 * "file:///a", "/a", "a") is turned by fs_find() into the fs it lies on and its absolute path
 * there; all other calls take those two.
 *
 * Fibers only, unless said otherwise: calls to HDFS wait, calls for local files block for as long
 * as the disk takes (deleting a tree waits). Any number of fibers may use one fs, a writer or a
 * reader belongs to one fiber at a time.
 *
 * Errors are errnos with a sentence that names the path: -ENOENT, -EEXIST, -EISDIR, -ENOTDIR,
 * -ENOTEMPTY, -EACCES, -EDQUOT (quota), -ENOSPC (no DataNode can take a block), -EROFS (safe mode),
 * -EBUSY (another writer holds it), -EOPNOTSUPP (erasure coded, encrypted, or not on this kind of
 * fs), -ECANCELED, -EIO (all replicas failed), and those of rpc.h when the server is not reached.
 */
#pragma once
#include "base/str.h"
#include "hadoop/hdfs/entry.h"
#include "loop/loop.h"
#include <sys/types.h>

struct session;
struct token;
struct fs_set; /* opaque */
struct fs;     /* opaque, owned by its set */

/* Without a session (NULL) there are local files only, and paths without a scheme are local.
 * Contacts nobody. `session` is borrowed. *ret is the caller's: fs_set_free(). */
int fs_set_new(struct loop *l, struct session *session, struct fs_set **ret, struct err *err);
/* Readers and writers must be gone before. On a fiber: it may wait for the lease renewer to end.
 * NULL is fine; always NULL. */
struct fs_set *fs_set_free(struct fs_set *set);
/* The session's tokens are newer ones: connections that are made from now on sign in with them.
 * Fibers only. */
int fs_set_take_tokens(struct fs_set *set, struct err *err);
/* Cancels a token of a file system that was found in this set and signs in with tokens; -ENOENT
 * when there is none that it is for. Fibers only. */
int fs_set_cancel_token(struct fs_set *set, const struct token *t, struct err *err);

enum fs_default {
    FS_ON_CLUSTER, /* a path without a scheme is on fs.defaultFS, "x" in the user's home there */
    FS_ON_LOCAL,   /* a path without a scheme is on this machine, "x" in the current directory */
};

/* Where `text` lies: *ret is borrowed from the set, *ret_path (absolute, no "//", "." or "..", no
 * slash at the end) is the caller's: free(). `text` may hold glob characters; they stay. Viewfs
 * mount points are followed. Contacts nobody. */
int fs_find(struct fs_set *set, const char *text, enum fs_default where, struct fs **ret,
            char **ret_path, struct err *err);
/* The path with scheme and authority, as other programs of the cluster need it: "hdfs://ns/a",
 * "file:///a". *ret is the caller's. */
int fs_uri(const struct fs *fs, const char *path, char **ret, struct err *err);
bool fs_is_local(const struct fs *fs);
/* "/user/alice", or $HOME; borrowed until session_find_user() finds somebody else. */
const char *fs_home(struct fs *fs);

/* Adds the groups that a user is in, as the cluster has it; none when it does not know him. Not
 * supported for local files: -EOPNOTSUPP. */
int fs_groups(struct fs *fs, const char *user, struct strs *ret, struct err *err);

/* ---- looking ---- */

/* -ENOENT when there is nothing. Symbolic links on local disks are followed. */
int fs_stat(struct fs *fs, const char *path, struct fs_entry *ret, struct err *err);
/* The same, but nothing there is no error: returns 1 when it is there, 0 when not. */
int fs_exists(struct fs *fs, const char *path, struct fs_entry *ret, struct err *err);

/* Whether only we can exchange what we put into `dir`: 0 when it is ours, nobody else can write to
 * it, and everybody cannot write to a directory above it without its sticky bit. Else -EPERM with a
 * sentence, or why it cannot be known. On local disks as path_trusted(). Files in a directory that
 * cannot be trusted are never used: programs that others put there would run as this user. */
int fs_trusted(struct fs *fs, const char *dir, struct err *err);
/* 1 for what belongs to us and nobody else can write to, else 0; or why that cannot be known. */
int fs_is_ours(struct fs *fs, const struct fs_entry *e, struct err *err);

/* What is in a directory, sorted by name, fetched page by page; of a file: itself. */
struct fs_list; /* opaque */
int fs_list_open(struct fs *fs, const char *path, struct fs_list **ret, struct err *err);
/* The same from the first name on that sorts behind `after`: a large directory is not read whole
 * for the few names that begin alike. */
int fs_list_open_after(struct fs *fs, const char *path, const char *after, struct fs_list **ret,
                       struct err *err);
/* Returns 1 and the next entry (borrowed until the next call), 0 at the end. */
int fs_list_next(struct fs_list *list, const struct fs_entry **ret, struct err *err);
/* NULL is fine; always NULL. */
struct fs_list *fs_list_close(struct fs_list *list);

int fs_summary(struct fs *fs, const char *path, struct fs_summary *ret, struct err *err);

/* Entries that a glob found, sorted by path. */
struct fs_entries {
    struct fs_entry *v;
    size_t n;
};
void fs_entries_done(struct fs_entries *e);

/* Everything that matches `pattern`, an absolute path with Hadoop's globs: * ? [a-z] [^a-z] {a,b},
 * also nested, and \ before a character that means itself; none of them matches a slash, and a {}
 * with slashes inside stands for several patterns. A path without globs gives itself if it exists.
 * Nothing found is not an error: ret->n is 0. `ret` is the caller's: fs_entries_done(). */
int fs_glob(struct fs *fs, const char *pattern, struct fs_entries *ret, struct err *err);
/* Whether the path has glob characters. Any thread. */
bool fs_has_glob(const char *pattern);

/* ---- changing names and attributes ---- */

/* `mode` is exact, or FS_MODE_DEFAULT. With `parents` those above are made too (with the default
 * mode) and a directory that is there already is fine. */
int fs_mkdirs(struct fs *fs, const char *path, uint32_t mode, bool parents, struct err *err);
/* -ENOENT when there is nothing, -ENOTEMPTY for a full directory without `recursive`. The root is
 * never deleted. */
int fs_delete(struct fs *fs, const char *path, bool recursive, struct err *err);
/* Both on `fs`. With `overwrite` a file or an empty directory at `to` is replaced, at once for
 * other readers; else that is -EEXIST. `to` is the new path itself, never a directory to move into.
 */
int fs_rename(struct fs *fs, const char *from, const char *to, bool overwrite, struct err *err);
int fs_chmod(struct fs *fs, const char *path, uint32_t mode, struct err *err);
/* -1 leaves one as it is; milliseconds since 1970. */
int fs_set_times(struct fs *fs, const char *path, int64_t mtime, int64_t atime, struct err *err);
/* Takes a file from a writer that died and waits until it is closed. Local: does nothing. */
int fs_recover_lease(struct fs *fs, const char *path, int64_t deadline, struct err *err);

/* ---- writing ---- */

struct fs_writer; /* opaque */
int fs_create(struct fs *fs, const char *path, const struct fs_create *options,
              struct fs_writer **ret, struct err *err);
int fs_write(struct fs_writer *w, const void *p, size_t n, struct err *err);
/* The same without a copy: room for at least one byte in the writer's own buffer; the caller fills
 * some of it and says how much. */
int fs_write_room(struct fs_writer *w, void **ret, size_t *ret_n, struct err *err);
int fs_write_commit(struct fs_writer *w, size_t n, struct err *err);
/* Everything so far is at all DataNodes: a reader that opens the file now sees it, and it outlives
 * this process. Local: fdatasync. */
int fs_hflush(struct fs_writer *w, struct err *err);
uint64_t fs_written(const struct fs_writer *w); /* bytes given to it */
/* Completes the file. The writer is freed whatever happens; after a failure the file is gone, as
 * after an abort. NULL is fine. */
int fs_close(struct fs_writer *w, struct err *err);
/* Leaves nothing behind (but see fs_create.keep), also when the fiber was cancelled. NULL is fine;
 * always NULL. */
struct fs_writer *fs_abort(struct fs_writer *w);

/* A small file in one call. When it fails there is no new file. */
int fs_put(struct fs *fs, const char *path, const struct fs_create *how, const void *p, size_t n,
           struct err *err);
/* The same, but a reader sees all of it or nothing, and an old one until then: it is written as
 * ".NAME.part" beside its place. With how->overwrite false a file that is there is -EEXIST. */
int fs_replace(struct fs *fs, const char *path, const struct fs_create *how, const void *p,
               size_t n, struct err *err);

/* ---- reading ---- */

struct fs_reader; /* opaque */
/* Refuses directories, erasure-coded and encrypted files. */
int fs_open(struct fs *fs, const char *path, struct fs_reader **ret, struct err *err);
/* At least one byte and at most `n` from the present position; 0 at the end. */
ssize_t fs_read(struct fs_reader *r, void *p, size_t n, struct err *err);
/* The same without a copy: *ret points to the bytes, borrowed until the next call on the reader;
 * at most `max` of them (0: as many as there are). */
ssize_t fs_read_next(struct fs_reader *r, const void **ret, size_t max, struct err *err);
/* Exactly `n` bytes from `offset`, or up to the end; the position stays. */
ssize_t fs_pread(struct fs_reader *r, uint64_t offset, void *p, size_t n, struct err *err);
/* The next read is from here; past the end it gives 0. Waits for nothing. */
void fs_seek(struct fs_reader *r, uint64_t offset);
/* Bytes that can be read. A file that is still being written may have more when it is opened again.
 */
uint64_t fs_length(const struct fs_reader *r);
bool fs_growing(const struct fs_reader *r); /* somebody was writing it when last looked at */
/* NULL is fine; always NULL. */
struct fs_reader *fs_reader_close(struct fs_reader *r);

/* ---- whole files ---- */

/* Calls `fn` for each line of a file, without its newline, reading as it goes; not 0 ends it and is
 * returned. Text after the last newline is left out, and so is a line of more than FS_LINE_MAX
 * bytes. */
#define FS_LINE_MAX ((size_t)1024 * 1024)
typedef int fs_line_fn(void *arg, const char *line, size_t n);
int fs_lines(struct fs *fs, const char *path, fs_line_fn *fn, void *arg, struct err *err);

/* Told how many bytes went over so far; a negative result stops the copy with that code. */
typedef int fs_progress_fn(void *arg, uint64_t done);

/* From a descriptor until its end: a file, or a pipe or terminal that may be slow (it is waited
 * for without blocking the loop; its flags are not changed). */
int fs_copy_in(struct fs_writer *w, int fd, fs_progress_fn *on_progress, void *arg,
               struct err *err);
/* From the reader's position to its end, into a descriptor of any kind. */
int fs_copy_out(struct fs_reader *r, int fd, fs_progress_fn *on_progress, void *arg,
                struct err *err);

AUTO_DEFINE(fs_set, struct fs_set *, fs_set_free);
AUTO_DEFINE(fs_list, struct fs_list *, fs_list_close);
AUTO_DEFINE(fs_writer, struct fs_writer *, fs_abort);
AUTO_DEFINE(fs_reader, struct fs_reader *, fs_reader_close);
#define AUTO_FS_SET AUTO(fs_set) struct fs_set
#define AUTO_FS_LIST AUTO(fs_list) struct fs_list
#define AUTO_FS_WRITER AUTO(fs_writer) struct fs_writer
#define AUTO_FS_READER AUTO(fs_reader) struct fs_reader

#define AUTO_FS_ENTRIES AUTO_DONE(fs_entries_done) struct fs_entries
