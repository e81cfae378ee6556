/* entry.c - an entry and its texts are one allocation: they are copied behind the struct and freed
 * with it.
 *
 *     DIR / NAME 0 owner 0 group 0 target 0
 *           └─ name points here, into the path
 *
 * See entry.h. */
#include "hadoop/hdfs/entry.h"

#include <string.h>

/* Puts `t` and a NUL at *at and moves behind them. */
static char *fs_entry_put(char **at, struct fs_text t)
{
    char *start = *at;

    if (t.n > 0)
        memcpy(start, t.p, t.n);
    start[t.n] = '\0';
    *at += t.n + 1;
    return start;
}

int fs_entry_text(struct fs_entry *e, const char *dir, struct fs_text name, struct fs_text owner,
                  struct fs_text group, struct fs_text target)
{
    size_t dir_len = strlen(dir);
    const char *slash;
    char *all, *at;

    if (name.n > 0 && dir_len > 0 && dir[dir_len - 1] == '/')
        dir_len--;
    all = malloc(dir_len + 1 + name.n + 1 + owner.n + 1 + group.n + 1 + target.n + 1);
    if (!all)
        return -ENOMEM;
    at = all;
    (void)fs_entry_put(&at, (struct fs_text){ dir, dir_len });
    at--; /* the path goes on where its directory ends */
    if (name.n > 0)
        *at++ = '/';
    (void)fs_entry_put(&at, name);
    e->owner = fs_entry_put(&at, owner);
    e->group = fs_entry_put(&at, group);
    e->target = target.p ? fs_entry_put(&at, target) : NULL;
    slash = strrchr(all, '/');
    e->name = slash ? slash + 1 : all;
    e->path = all;
    return 0;
}

int fs_entry_copy(struct fs_entry *to, const struct fs_entry *from)
{
    const struct fs_text none = { 0 };
    struct fs_text owner = { from->owner, strlen(from->owner) };
    struct fs_text group = { from->group, strlen(from->group) };
    struct fs_text target = { from->target, from->target ? strlen(from->target) : 0 };

    *to = *from;
    to->path = NULL;
    return fs_entry_text(to, from->path, none, owner, group, target);
}

void fs_entry_done(struct fs_entry *e)
{
    free(e->path);
    *e = (struct fs_entry){ 0 };
}
