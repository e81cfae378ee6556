/* file_status.h - the NameNode's FileStatus as an entry. Pure. */
#pragma once
#include "hadoop/hdfs.pb-c.h"
#include "hadoop/hdfs/entry.h"

/* Fills `ret`. With `whole` the entry is `path` itself, else a name in the directory `path` (or, if
 * the NameNode gives no name of a file, `path` itself). -EBADMSG for a name that would lead out of
 * the directory or into another one, -ENOMEM. */
int status_entry(const Hdfs__FileStatus *s, const char *path, bool whole, struct fs_entry *ret);
