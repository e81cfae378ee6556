/* log_files.h - the files of a log that the masters of a job wrote: one, or segments
 * (job/segment.h); in HDFS, or on this machine. For the client and for a master that takes over.
 * Fibers only. */
#pragma once
#include "base/auto.h"
#include "hadoop/fs/fs.h"
#include "job/segment.h"

struct log_file {
    struct segment segment; /* zero: it is the only one */
    char *path;
};
struct log_files {
    struct fs *fs; /* borrowed */
    struct log_file *v;
    size_t n;
};
void log_files_done(struct log_files *l);
#define AUTO_LOG_FILES AUTO_DONE(log_files_done) struct log_files /* = { .fs = … } */

/* Segments DIR/HEAD-….TAIL; borrowed. */
struct log_name {
    const char *dir, *head, *tail;
};
/* Adds those of the masters before attempt `before`, in the order in which they were written.
 * -ENOENT when there is no such directory. */
int log_files_find(struct log_files *l, const struct log_name *name, int before, struct err *err);
/* Adds one file. */
int log_files_add(struct log_files *l, const struct segment *segment, const char *path,
                  struct err *err);

/* Where the records of the next master begin, after those of this file: from that number on they
 * do not count here. UINT64_MAX: nobody followed, or did not say. */
uint64_t log_files_end(const struct log_files *l, size_t file);
/* Does it begin with a whole summary of what happened before record `end`? */
bool log_files_has_summary(const struct log_files *l, size_t file, uint64_t end);
/* The last one that does; without one, the first. `look` (may be NULL) is called with each that is
 * read on the way, which is each from there on, the newest first. */
size_t log_files_first(const struct log_files *l, void (*look)(void *arg, const char *path),
                       void *arg);
