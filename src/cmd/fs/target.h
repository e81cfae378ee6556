/* target.h - where a copied or moved file ends up, by the rules of cp and mv. Fibers only, but for
 * the names, which are pure. */
#pragma once
#include "cmd/fs/fs_files.h"

/* The last operand of put, get and mv. */
struct target {
    struct fs *fs;
    char *path;
    const char *operand; /* as it was written */
    bool exists, directory;
};

/* Looks at it. With `several` sources, or a slash at the end, it must be a directory. */
int target_find(struct files *f, const char *operand, enum fs_default where, bool several,
                struct target *ret, struct err *err);
void target_done(struct target *t);

#define AUTO_TARGET AUTO_DONE(target_done) struct target

/* The path that `name` gets: inside the target when that is a directory and `name` is not "", else
 * the target itself. *ret is the caller's. *ret_exists and *ret_directory tell what is there now.
 */
struct place {
    char *path;
    bool exists, directory;
};
int target_place(const struct target *t, const char *name, struct place *ret, struct err *err);

/* The name of a source inside a target directory; "" for ".", ".." and the root, whose content goes
 * into the target itself, as with `cp -r . DIR`. `entry_name` is the source's own last part. */
const char *target_name(const char *operand, const char *entry_name);

/* A temporary name beside `path`: "/a/.b.ydl-3f9c02d41b77a8e5.tmp", at most 255 bytes for the last
 * part, however long b is. *ret is the caller's. */
int target_temporary(const char *path, char **ret, struct err *err);
/* Whether a name, the last part of a path, is one of those. */
bool target_is_temporary(const char *name);
