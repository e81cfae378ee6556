/* node_dir.c - a directory of the cache is made, or found, and trusted or not. See node_dir.h. */
#include "model/node/node_dir.h"
#include "base/path.h"
#include "base/str.h"
#include "model/manifest.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Links are not followed: whoever made one decides where it leads. */
static int dir_is_ours(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return err_sys(err, "look at '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "'%s' is not a directory", path);
    if (st.st_uid != geteuid())
        return err_set(err, -EPERM, "'%s' belongs to another user (uid %u)", path,
                       (unsigned)st.st_uid);
    if (st.st_mode & 077)
        return err_set(err, -EPERM, "others may look into '%s', or write to it", path);
    return 0;
}

int node_dir_find(const char *dir, char **ret, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, NODE_DIR_MODELS);
    int r = path ? path_trusted(dir, err) : err_oom(err);

    if (r == 0)
        r = dir_is_ours(path, err);
    if (r == 0)
        *ret = take(path);
    return r;
}

int node_dir_make(const char *dir, char **ret, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, NODE_DIR_MODELS);
    int r = path ? path_mkdirs(dir, 0700, err) : err_oom(err);

    if (r < 0)
        return r;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", path);
    return node_dir_find(dir, ret, err);
}

struct node_dir_disk node_dir_disk(const char *path)
{
    struct statvfs st;

    if (statvfs(path, &st) < 0)
        return (struct node_dir_disk){ .free = UINT64_MAX };
    return (struct node_dir_disk){ .free = (uint64_t)st.f_bavail * st.f_frsize,
                                   .total = (uint64_t)st.f_blocks * st.f_frsize };
}

bool node_dir_is_hash(const char *name, const char *end)
{
    return strspn(name, "0123456789abcdef") == SHA256_TEXT - 1 &&
           str_eq(name + SHA256_TEXT - 1, end);
}
