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
static int path_above_is_safe(char *path, struct err *err)
{
    struct stat st;

    for (char *p = path + strlen(path); p > path; p--) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (stat(*path ? path : "/", &st) < 0)
            return err_sys(err, "look at '%s'", path);
        if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
            return err_set(err, -EPERM, "anyone can replace the files in '%s'", path);
    }
    return 0;
}

/* Finds the line of /etc/passwd or /etc/group whose third field is `id`, and its first and fourth
 * field, in `text`. */
static bool find_account(const char *file, unsigned id, struct buf *text, char *ret[2])
{
    char number[16], *rest, *line;

    if (path_read(file, text, NULL) < 0 || !buf_text(text))
        return false;
    (void)snprintf(number, sizeof(number), "%u", id);
    rest = (char *)text->data;
    while ((line = strsep(&rest, "\n"))) {
        char *field[4];

        for (size_t i = 0; i < COUNT_OF(field); i++)
            field[i] = strsep(&line, ":");
        ret[0] = field[0];
        ret[1] = field[3];
        if (field[3] && str_eq(field[2], number))
            return true;
    }
    return false;
}

bool path_group_is_private(const char *passwd, const char *group, uid_t uid, gid_t gid)
{
    AUTO_BUF users = { .max = MIB };
    AUTO_BUF groups = { .max = MIB };
    char *user[2] = { NULL }, *of[2] = { NULL }; /* the second of a group: its members */
    bool known = find_account(passwd, uid, &users, user);

    if (!find_account(group, gid, &groups, of))
        return uid == gid; /* as adduser and useradd number them, and directories of accounts */
    if (*of[1] && !(known && str_eq(of[1], user[0])))
        return false; /* others have been added to it */
    return uid == gid || (known && str_eq(user[0], of[0]));
}

/* Many systems give each user a group of the same name and let it write: then it is nobody else's.
 * In a group like "users" are all of them. */
static bool group_writes(const struct stat *st)
{
    return (st->st_mode & S_IWGRP) &&
           (st->st_gid != getegid() ||
            !path_group_is_private("/etc/passwd", "/etc/group", geteuid(), st->st_gid));
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
    if (!(st.st_mode & S_ISVTX) && ((st.st_mode & S_IWOTH) || group_writes(&st)))
        return err_set(err, -EPERM, "others can write to '%s'", dir);
    return str_eq(real, "/") ? 0 : path_above_is_safe(real, err);
}
