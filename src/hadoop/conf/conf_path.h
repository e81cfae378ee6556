/* conf_path.h - where a file is: "hdfs://ns/a b", "/a", "a", "file:///x", "viewfs://…".
 *
 * As in Hadoop the text is not percent-decoded: %, #, ?, + and brackets mean themselves, and so
 * does every character but '/' and, in HDFS, ':'. Pure except for the working directory, to which a
 * relative local path belongs. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/conf/conf.h"

struct fs_path {
    char *scheme;    /* "hdfs" or "file" */
    char *authority; /* a name service or host[:port]; "" for files */
    char *path;      /* absolute, without ".", "..", "//" and a slash at the end */
};

void fs_path_done(struct fs_path *p); /* zero is fine */
#define AUTO_FS_PATH AUTO_DONE(fs_path_done) struct fs_path

/* Resolves what a person or a configuration wrote. Without a scheme it is on fs.defaultFS; a
 * relative one begins in the home directory of `user`, a local one in the working directory. A
 * path on viewfs is followed through its mount table to where it really is. *ret is the caller's:
 * fs_path_done(). -EINVAL when it is not a path, or not one that the NameNode accepts; -ENOENT when
 * no mount point covers it; -EOPNOTSUPP for other file systems. */
int conf_path(const struct conf *c, const char *text, const char *user, struct fs_path *ret,
              struct err *err);

/* What a mount table has below a directory of its own, as "/" of viewfs is: adds the names, each a
 * mount point or a directory on the way to one, and sets *ret_path to the path of `text` there, the
 * caller's. No names, and no path, when `text` is not on viewfs, or behind a mount point. */
int conf_mounts(const struct conf *c, const char *text, const char *user, struct strs *ret,
                char **ret_path, struct err *err);

/* Joins with a slash, then takes out ".", "..", "//" and the slash at the end. `base` is absolute;
 * an absolute `path` replaces it. *ret is the caller's. -EINVAL when ".." leads above the root,
 * -E2BIG past 64 KiB, -ENOMEM. */
int fs_path_join(const char *base, const char *path, char **ret);
