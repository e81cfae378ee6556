/* tree_walk.h - everything below a directory, on HDFS or on this machine.
 *
 *     on_dir("") ──► on_file("b") ──► on_left("")   then each directory in it: on_dir("a") …
 *
 * Each directory is told before what is in it, and all that is in it before its next neighbour;
 * names are sorted. Nothing is recursive, and only the names of directories that wait are kept: a
 * million files cost no memory. What disappears meanwhile is passed over. */
#pragma once
#include "hadoop/fs/fs.h"

#include <sys/stat.h>

/* What symbolic links of this machine stand for. (HDFS has none that a client could follow: there
 * a link is an item of type FS_SYMLINK.) */
enum tree_links {
    TREE_LINKS_FOLLOW, /* for what they lead to; a circle ends at `depth` */
    TREE_LINKS_FILES, /* for a file they lead to; links to directories or to nothing are left out */
};

struct tree_item {
    const char *name; /* below the root: "a/b"; "" is the root */
    const char *path; /* absolute */
    enum fs_type type;
    uint64_t length;
    const struct stat *stat; /* on this machine: of what a link leads to; else NULL */
};

/* All borrowed. A negative result of a function ends the walk with that code. */
struct tree_walk {
    const char *root;
    enum tree_links links;
    unsigned depth; /* of directories below the root: deeper ones are -ELOOP */
    size_t names;   /* most files and directories: more are -E2BIG; 0 for no limit */
    void *arg;
    int (*on_dir)(void *arg, const struct tree_item *e,
                  struct err *err); /* 1: leave it out; or NULL */
    int (*on_file)(void *arg, const struct tree_item *e, struct err *err); /* all but directories */
    int (*on_left)(void *arg, const char *name, bool empty, struct err *err); /* or NULL */
};

/* A root that is not there is -ENOENT. Fibers only; local directories block. */
int tree_walk(const struct tree_walk *w, struct fs *fs, struct err *err);

/* The same on this machine, from any thread; its functions are called there. Blocks. */
int tree_walk_local(const struct tree_walk *w, struct err *err);
