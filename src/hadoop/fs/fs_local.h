/* fs_local.h - files of this machine with the interface of fs.h. Private to this directory.
 *
 * Plain system calls: they block for as long as the disk takes. Users and groups are looked up in
 * /etc/passwd and /etc/group, without NSS, which the static program must not load. */
#pragma once
#include "hadoop/hdfs/entry.h"
#include <sys/types.h>

/* The last names looked up; most files of a directory have the same owner. Zero is a fine start. */
struct local_names {
    uid_t uid;
    gid_t gid;
    char user[64], group[64]; /* "" when nothing was looked up */
};

/* 1 and the entry, or 0 when there is nothing. A link that leads nowhere is shown as a link. */
int local_stat(struct local_names *names, const char *path, struct fs_entry *ret, struct err *err);
int local_mkdirs(const char *path, uint32_t mode, bool parents, struct err *err);
int local_delete(const char *path, bool recursive, struct err *err);
int local_rename(const char *from, const char *to, bool overwrite, struct err *err);
int local_chmod(const char *path, uint32_t mode, struct err *err);
int local_set_times(const char *path, int64_t mtime, int64_t atime, struct err *err);
int local_summary(const char *path, struct fs_summary *ret, struct err *err);

/* The names in a directory, sorted; of a file: itself. */
struct local_list; /* opaque */
int local_list_open(struct local_names *names, const char *path, struct local_list **ret,
                    struct err *err);
int local_list_next(struct local_list *l, const struct fs_entry **ret, struct err *err);
struct local_list *local_list_close(struct local_list *l); /* NULL is fine; always NULL */

/* ---- content (fs_local_io.c) ---- */

struct local_file; /* opaque: one that is read or written */

int local_create(const char *path, const struct fs_create *options, struct local_file **ret,
                 struct err *err);
int local_write_room(struct local_file *f, void **ret, size_t *ret_n, struct err *err);
int local_write(struct local_file *f, const void *p, size_t n, struct err *err);
int local_sync(struct local_file *f, struct err *err);
int local_close(struct local_file *f, struct err *err); /* frees; failed: as aborted */
struct local_file *local_abort(struct local_file *f);   /* removes it unless it is kept */

int local_open(const char *path, struct local_file **ret, struct err *err);
ssize_t local_read(struct local_file *f, void *p, size_t n, struct err *err);
ssize_t local_read_next(struct local_file *f, const void **ret, size_t max, struct err *err);
ssize_t local_pread(struct local_file *f, uint64_t offset, void *p, size_t n, struct err *err);
void local_seek(struct local_file *f, uint64_t offset);
uint64_t local_length(const struct local_file *f);
struct local_file *local_reader_close(struct local_file *f); /* NULL is fine; always NULL */
