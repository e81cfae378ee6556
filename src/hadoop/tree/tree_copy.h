/* tree_copy.h - one file, or a directory with all that is in it, from one file system to another.
 *
 * Nothing is replaced or renamed here, and nothing is cleaned up: whoever copies does so under a
 * name of its own, and gives the copy its final name when all of it is there. What differs between
 * copiers are fields. Fibers only. */
#pragma once
#include "hadoop/tree/tree_files.h"
#include "hadoop/tree/tree_walk.h"

struct tree_copy {
    struct loop *loop;
    struct fs *from, *to;
    struct fs_create how; /* new files; its `parents` is set for files of a tree */
    struct tree_limits most;
    unsigned depth; /* of directories; see tree_walk.h */
    /* A call that makes a file is not cut off by a cancellation: the server might carry it out all
     * the same, and leave a file that nobody knows of. */
    bool whole_calls;
    void *arg;
    /* `n` more bytes went over; a negative result ends the copy of the file. Or NULL. */
    int (*on_bytes)(void *arg, uint64_t n);
    /* A directory of the target that will be filled, before it is; or NULL. */
    int (*on_dir)(void *arg, const char *to, struct err *err);
    /* Instead of tree_copy_file() for each file of a tree; or NULL. */
    int (*put)(void *arg, const char *from, const char *to, struct err *err);
};

/* The steps of one file: a new one, and the whole content of `from`, or of a descriptor, for it. */
int tree_create(const struct tree_copy *c, const char *to, struct fs_writer **ret, struct err *err);
int tree_copy_content(const struct tree_copy *c, const char *from, struct fs_writer *w,
                      struct err *err);
int tree_copy_fd(const struct tree_copy *c, int fd, struct fs_writer *w, struct err *err);

/* The file `from` to `to`. After a failure there is no new file. */
int tree_copy_file(const struct tree_copy *c, const char *from, const char *to, struct err *err);

/* What is in the directory `from` into the directory `to`. Links of this machine are followed, and
 * what is neither a directory nor a file is given to put(), or left out. Directories are made by
 * the files in them, and by themselves only where there is none. After a failure, files that are
 * complete stay. */
int tree_copy(const struct tree_copy *c, const char *from, const char *to, struct err *err);
