/* transfer.h - files and whole trees from one file system to another, each whole or not at all.
 *
 * A file is written under a temporary name beside its target and renamed when it is complete. A
 * tree whose target does not exist yet is built under one temporary directory and renamed once;
 * one that exists gets its new files one by one. Whatever ends a copy, an error or a signal, takes
 * away what is not complete.
 *
 * Several files are on their way at a time, as many as fit into a fixed amount of memory.
 * Directories are made only where no file makes them. Fibers only. */
#pragma once
#include "cli/progress.h"
#include "cmd/fs/fs_files.h"
#include "cmd/fs/target.h"

struct copy {
    struct files *files;
    struct fs *from, *to;
    bool recursive, force;
    unsigned at_once;         /* files on their way at a time */
    struct fs_create options; /* of new files: replication and block size */
    struct progress *progress;
    uint64_t bytes, n_files; /* copied so far; counts up */
    struct strs made;        /* while a tree is merged into another one: directories that were not
                              * there, without those below them */
};

/* Copies what `source` is to exactly `to->path`. */
int copy_entry(struct copy *c, const struct fs_entry *source, const struct place *to,
               struct err *err);

/* From an open descriptor (standard input, a pipe) to the file `to->path`. */
int copy_stream(struct copy *c, int fd, const struct place *to, struct err *err);

/* On the cluster, removes from the directory `dir` temporary files and trees of ours that copies
 * left which were killed: those that are older than a day and that nobody writes to. Costs one
 * call when there are none. What goes wrong is ignored. */
void copy_remove_stale(struct copy *c, const char *dir);

/* The whole of one operand: its place in the target, the progress line, the copy, and what is said
 * of it afterwards. `source` NULL is standard input; `name` is its name inside a directory. */
int copy_operand(struct copy *c, const struct target *t, const struct fs_entry *source,
                 const char *name, struct err *err);
