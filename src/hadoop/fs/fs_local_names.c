/* fs_local_names.c - owners of local files. See fs_local.h. */
#include "hadoop/fs/fs_local_names.h"
#include "base/str.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES (64 * KIB)

/* Looks for a user (of `name`, or when that is NULL of `id`) and gives both. */
static bool local_find_user(const char *name, uid_t id, char *ret_name, size_t cap, uid_t *ret_id)
{
    FILE *f = fopen("/etc/passwd", "re");
    AUTO_FREE char *line = malloc(LINE_MAX_BYTES);
    struct passwd entry, *e = NULL;
    bool found = false;

    while (f && line && !found && fgetpwent_r(f, &entry, line, LINE_MAX_BYTES, &e) == 0) {
        found = name ? str_eq(name, e->pw_name) : e->pw_uid == id;
        if (found) {
            snprintf(ret_name, cap, "%s", e->pw_name);
            *ret_id = e->pw_uid;
        }
    }
    if (f)
        fclose(f);
    return found;
}

static bool find_group(const char *name, gid_t id, char *ret_name, size_t cap, gid_t *ret_id)
{
    FILE *f = fopen("/etc/group", "re");
    AUTO_FREE char *line = malloc(LINE_MAX_BYTES);
    struct group entry, *e = NULL;
    bool found = false;

    while (f && line && !found && fgetgrent_r(f, &entry, line, LINE_MAX_BYTES, &e) == 0) {
        found = name ? str_eq(name, e->gr_name) : e->gr_gid == id;
        if (found) {
            snprintf(ret_name, cap, "%s", e->gr_name);
            *ret_id = e->gr_gid;
        }
    }
    if (f)
        fclose(f);
    return found;
}

void local_names_of(struct local_names *n, uid_t uid, gid_t gid)
{
    uid_t user;
    gid_t group;

    if (!n->user[0] || n->uid != uid) {
        if (!local_find_user(NULL, uid, n->user, sizeof(n->user), &user))
            snprintf(n->user, sizeof(n->user), "%u", (unsigned)uid);
        n->uid = uid;
    }
    if (!n->group[0] || n->gid != gid) {
        if (!find_group(NULL, gid, n->group, sizeof(n->group), &group))
            snprintf(n->group, sizeof(n->group), "%u", (unsigned)gid);
        n->gid = gid;
    }
}

int local_user_id(const char *name, uid_t *ret)
{
    char found[64];
    int64_t number;

    if (local_find_user(name, 0, found, sizeof(found), ret))
        return 0;
    if (str_to_i64(name, 0, UINT32_MAX - 1, &number) < 0)
        return -ENOENT;
    *ret = (uid_t)number;
    return 0;
}

int local_group_id(const char *name, gid_t *ret)
{
    char found[64];
    int64_t number;

    if (find_group(name, 0, found, sizeof(found), ret))
        return 0;
    if (str_to_i64(name, 0, UINT32_MAX - 1, &number) < 0)
        return -ENOENT;
    *ret = (gid_t)number;
    return 0;
}
