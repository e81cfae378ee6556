/* viewfs.h - mount tables. Private to this directory. */
#pragma once
#include "base/err.h"
#include "hadoop/conf/conf.h"

/* Where `path` of the mount table `table` really is: *ret_target is the URI of the link that covers
 * it (the caller's), *ret_rest what is left of `path` behind the link (borrowed from it). -ENOENT,
 * -EOPNOTSUPP for merge, nfly and regex links. */
int viewfs_resolve(const struct conf *c, const char *table, const char *path, char **ret_target,
                   const char **ret_rest, struct err *err);

/* Adds the names that the table itself has directly below `path`, each once, in the order of the
 * configuration; none when `path` is no directory of the table's own. */
int viewfs_children(const struct conf *c, const char *table, const char *path, struct strs *ret,
                    struct err *err);
