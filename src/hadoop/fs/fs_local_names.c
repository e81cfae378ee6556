/* fs_local_names.c - owners of local files. See fs_local.h. */
#include "hadoop/fs/fs_local_names.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* The name of an id in a file of lines "name:password:id:…"; the number where it has none. */
static void name_of_id(const char *path, uint32_t id, char *ret, size_t cap)
{
    FILE *f = fopen(path, "re");
    char line[1024], *name = NULL;
    bool begins = true, found = false;
    int64_t value;

    while (f && !found && fgets(line, sizeof(line), f)) {
        bool whole = strchr(line, '\n') != NULL;
        char *rest = line, *number;

        name = strsep(&rest, ":");
        (void)strsep(&rest, ":");
        number = strsep(&rest, ":");
        found = begins && number && str_to_i64(number, 0, UINT32_MAX, &value) == 0 && value == id;
        begins = whole;
    }
    if (f)
        fclose(f);
    if (found)
        snprintf(ret, cap, "%s", name);
    else
        snprintf(ret, cap, "%u", id);
}

void local_names_of(struct local_names *n, uid_t uid, gid_t gid)
{
    if (!n->user[0] || n->uid != uid)
        name_of_id("/etc/passwd", uid, n->user, sizeof(n->user));
    if (!n->group[0] || n->gid != gid)
        name_of_id("/etc/group", gid, n->group, sizeof(n->group));
    n->uid = uid;
    n->gid = gid;
}
