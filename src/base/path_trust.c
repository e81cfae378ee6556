/* path_trust.c - whether others can put something in the place of what we make in a directory; see
 * path.h. */
#include "base/path.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NOBODY 65534 /* the kernel's name for a user that a user namespace does not know */

/* In a user namespace without a root of its own, what is root's belongs to nobody. */
static bool is_roots(uid_t uid)
{
    static const char all[] = " 4294967295\n";
    AUTO_BUF map = { .max = KIB };

    if (uid != NOBODY)
        return uid == 0;
    return path_read("/proc/self/uid_map", &map, NULL) == 0 && buf_text(&map) &&
           !str_ends(buf_text(&map), all);
}

/* The directories above it may be anybody's whom the person chose, but nobody may be able to
 * exchange what is in them. */
static int above_is_safe(char *path, struct err *err)
{
    struct stat st;

    for (char *p = path + strlen(path); p > path; p--) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (stat(*path ? path : "/", &st) < 0)
            return err_sys(err, "look at '%s'", path);
        if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
            return err_set(err, -EPERM, "everybody can exchange what is in '%s'", path);
    }
    return 0;
}

int path_trusted(const char *dir, struct err *err)
{
    AUTO_FREE char *real = realpath(dir, NULL);
    struct stat st;
    bool mine;

    if (!real || lstat(real, &st) < 0)
        return err_sys(err, "look at '%s'", dir);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "'%s' is not a directory", dir);
    mine = st.st_uid == geteuid();
    if (!mine && !is_roots(st.st_uid))
        return err_set(err, -EPERM, "'%s' belongs to another user (uid %u)", dir,
                       (unsigned)st.st_uid);
    if (!(st.st_mode & S_ISVTX) &&
        ((st.st_mode & S_IWOTH) || ((st.st_mode & S_IWGRP) && st.st_gid != getegid())))
        return err_set(err, -EPERM, "others can write to '%s'", dir);
    return str_eq(real, "/") ? 0 : above_is_safe(real, err);
}
