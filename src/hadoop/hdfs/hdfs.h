/* hdfs.h - one name service of HDFS: its NameNodes' calls and its files.
 *
 * Paths are absolute and clean ("/a/b"), in UTF-8. Fibers only; any number of them may use one
 * hdfs, a writer or a reader belongs to one at a time. Errors are those of fs/fs.h, which is what
 * programs use; this is what stands behind it for hdfs:// names. */
#pragma once
#include "base/str.h"
#include "hadoop/hdfs/entry.h"
#include "hadoop/session/session.h"
#include <sys/types.h>

struct hdfs; /* opaque */

/* For the authority of an hdfs:// name: a name service or host[:port]. Authenticates with the
 * session's delegation token for it, if there is one. Contacts nobody yet. *ret is the caller's:
 * hdfs_close(); `session` is borrowed. */
int hdfs_open(struct session *session, const char *authority, struct hdfs **ret, struct err *err);
/* No reader or writer may be left. Waits for the lease renewer. NULL is fine; always NULL. */
struct hdfs *hdfs_close(struct hdfs *fs);

const char *hdfs_authority(const struct hdfs *fs);
struct rpc_service *hdfs_namenode(struct hdfs *fs); /* borrowed, for `ydl doctor` */

/* ---- names ---- */

/* 1 and the entry, or 0 when there is nothing. */
int hdfs_stat(struct hdfs *fs, const char *path, struct fs_entry *ret, struct err *err);
int hdfs_mkdirs(struct hdfs *fs, const char *path, uint32_t mode, bool parents, struct err *err);
int hdfs_delete(struct hdfs *fs, const char *path, bool recursive, struct err *err);
int hdfs_rename(struct hdfs *fs, const char *from, const char *to, bool overwrite, struct err *err);
int hdfs_chmod(struct hdfs *fs, const char *path, uint32_t mode, struct err *err);
int hdfs_set_times(struct hdfs *fs, const char *path, int64_t mtime, int64_t atime,
                   struct err *err);
int hdfs_summary(struct hdfs *fs, const char *path, struct fs_summary *ret, struct err *err);
/* Waits until the file is closed. */
int hdfs_recover_lease(struct hdfs *fs, const char *path, int64_t deadline, struct err *err);

struct hdfs_list; /* opaque */
int hdfs_list_open(struct hdfs *fs, const char *path, const char *after, struct hdfs_list **ret,
                   struct err *err);
/* 1 and a borrowed entry, or 0 at the end. */
int hdfs_list_next(struct hdfs_list *l, const struct fs_entry **ret, struct err *err);
struct hdfs_list *hdfs_list_close(struct hdfs_list *l); /* NULL is fine; always NULL */

/* ---- writing ---- */

struct hdfs_writer; /* opaque */
int hdfs_create(struct hdfs *fs, const char *path, const struct fs_create *options,
                struct hdfs_writer **ret, struct err *err);
/* Room in the packet that is being filled; how much of it was used. */
int hdfs_write_room(struct hdfs_writer *w, void **ret, size_t *ret_n, struct err *err);
int hdfs_write_commit(struct hdfs_writer *w, size_t n, struct err *err);
int hdfs_hflush(struct hdfs_writer *w, struct err *err);
/* Both free the writer, see fs_close() and fs_abort(). */
int hdfs_writer_close(struct hdfs_writer *w, struct err *err);
struct hdfs_writer *hdfs_writer_abort(struct hdfs_writer *w);
AUTO_DEFINE(hdfs_writer, struct hdfs_writer *, hdfs_writer_abort);

/* ---- reading ---- */

struct hdfs_reader; /* opaque */
int hdfs_reader_open(struct hdfs *fs, const char *path, struct hdfs_reader **ret, struct err *err);
/* At least one byte, borrowed until the next call on the reader; 0 at the end. */
ssize_t hdfs_read_next(struct hdfs_reader *r, const void **ret, size_t max, struct err *err);
ssize_t hdfs_pread(struct hdfs_reader *r, uint64_t offset, void *p, size_t n, struct err *err);
void hdfs_seek(struct hdfs_reader *r, uint64_t offset);
uint64_t hdfs_length(const struct hdfs_reader *r);
bool hdfs_growing(const struct hdfs_reader *r);
struct hdfs_reader *hdfs_reader_close(struct hdfs_reader *r); /* NULL is fine; always NULL */
AUTO_DEFINE(hdfs_reader, struct hdfs_reader *, hdfs_reader_close);

/* ---- delegation tokens ---- */

/* A token with which others can act for us here, renewable by `renewer` (a principal or a short
 * name), its service filled in as Java programs look it up. Needs Kerberos; a NameNode without
 * security gives none: returns 0 then, else 1. `ret` is the caller's: token_done(). */
int hdfs_get_token(struct hdfs *fs, const char *renewer, struct token *ret, struct err *err);
/* *ret_expiry is in milliseconds since 1970. */
int hdfs_renew_token(struct hdfs *fs, const struct token *t, int64_t *ret_expiry, struct err *err);
int hdfs_cancel_token(struct hdfs *fs, const struct token *t, struct err *err);
/* The session holds a newer token: the next connection signs in with it. Without one nothing
 * changes. */
int hdfs_take_token(struct hdfs *fs, struct err *err);
/* The token of the session that is for this one; NULL: there is none. */
int hdfs_find_token(struct hdfs *fs, const struct token **ret, struct err *err);

/* ---- the whole ---- */

/* Adds the groups that a user is in, as the NameNode has it; of one that it does not know, none. */
int hdfs_groups(struct hdfs *fs, const char *user, struct strs *ret, struct err *err);
