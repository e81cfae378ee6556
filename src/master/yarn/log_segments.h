/* log_segments.h - files of a log in HDFS, as log_mirror.c writes them. See log_segments.c. */
#pragma once
#include "base/buf.h"
#include "hadoop/fs/fs.h"

struct master;

struct parts { /* files of one log in a directory of HDFS; borrowed */
    const char *dir, *head, *tail;
};
char *parts_name(const struct parts *p, int attempt, unsigned number); /* NULL: out of memory */
/* Calls `fn` for each file that is not empty of the masters before us, in their order, with all
 * that is in it. Fibers only. */
typedef int parts_fn(void *arg, const struct buf *part, struct err *err);
int parts_read(struct master *m, const struct parts *p, parts_fn *fn, void *arg, struct err *err);
/* The same of events line by line, reading as it goes (fs_lines() in hadoop/fs/fs.h), from the last
 * file on that begins with a whole summary, without what a master wrote after it was replaced. */
int parts_lines(struct master *m, const struct parts *p, fs_line_fn *fn, void *arg,
                struct err *err);
