/* link_tree.c - a tree of directories with links in place of files, made by walking the original.
 * Two agents may do so at once in one directory: what is there already is left as it is. */
#include "agent/tasks/link_tree.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 100 /* directories in each other */

static int spread(const char *from, const char *to, int depth, struct err *err);

/* Enters only real directories: a link of another archive leads into the cache. */
static int spread_dir(const char *from, const char *to, int depth, struct err *err)
{
    struct stat st;

    if (mkdir(to, 0755) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", to);
    if (lstat(to, &st) < 0)
        return err_sys(err, "look at '%s'", to);
    return S_ISDIR(st.st_mode) ? spread(from, to, depth + 1, err) : 0;
}

static int spread_one(const char *from, const char *to, int depth, struct err *err)
{
    struct stat st;

    if (lstat(from, &st) < 0)
        return err_sys(err, "look at '%s'", from);
    if (S_ISDIR(st.st_mode))
        return spread_dir(from, to, depth, err);
    if (symlink(from, to) < 0 && errno != EEXIST)
        return err_sys(err, "put '%s' in place", to);
    return 0;
}

static int spread(const char *from, const char *to, int depth, struct err *err)
{
    AUTO_DIR DIR *d = opendir(from);
    struct dirent *e;
    int r = 0;

    if (!d)
        return err_sys(err, "read '%s'", from);
    if (depth > DEPTH_MAX)
        return err_set(err, -ELOOP, "'%s': more than %d directories deep", from, DEPTH_MAX);
    while (r == 0 && (e = readdir(d))) {
        AUTO_FREE char *source = NULL, *target = NULL;

        if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
            continue;
        source = path_join(from, e->d_name);
        target = path_join(to, e->d_name);
        r = source && target ? spread_one(source, target, depth, err) : err_oom(err);
    }
    return r;
}

int spread_tree(const char *from, const char *to, struct err *err)
{
    AUTO_FREE char *real = realpath(from, NULL); /* links must not go through one of ours */

    if (!real)
        return err_sys(err, "find '%s'", from);
    return spread(real, to, 0, err);
}
