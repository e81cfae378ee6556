/* user.c - being the user of an application, for a while or for good. */
#include "ce.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *name;
    uid_t uid;
    gid_t gid;
} user;

/* As the real one says it, on standard output: that is what a NodeManager quotes. */
__attribute__((noreturn)) static void refuse(const char *format, const char *name)
{
    printf(format, name); /* NOLINT(clang-diagnostic-format-nonliteral) */
    exit(CE_BAD_USER);
}

void ce_user(const char *name)
{
    static const char *const banned[] = { "yarn", "mapred", "hdfs", "bin" }; /* its default */
    static char room[16384];
    struct passwd entry, *found = NULL;

    if (getpwnam_r(name, &entry, room, sizeof(room), &found) != 0 || !found)
        refuse("User %s not found\n", name);
    for (size_t i = 0; i < sizeof(banned) / sizeof(banned[0]); i++)
        if (strcmp(name, banned[i]) == 0)
            refuse("Requested user %s is banned\n", name);
    user.name = name;
    user.uid = entry.pw_uid;
    user.gid = entry.pw_gid;
}

uid_t ce_uid(void)
{
    return user.uid;
}

void ce_act_as_user(void)
{
    if (setegid(user.gid) != 0 || seteuid(user.uid) != 0)
        ce_die(CE_BAD_USER, "act as '%s': %m", user.name);
}

void ce_act_as_manager(void)
{
    if (seteuid(getuid()) != 0 || setegid(getgid()) != 0)
        ce_die(CE_BAD_USER, "act as the NodeManager again: %m");
}

void ce_become_user(void)
{
    ce_act_as_manager();
    if (initgroups(user.name, user.gid) != 0 || setresgid(user.gid, user.gid, user.gid) != 0 ||
        setresuid(user.uid, user.uid, user.uid) != 0)
        ce_die(CE_BAD_USER, "become '%s': %m", user.name);
}
