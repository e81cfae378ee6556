/* leftover.c - what copies leave behind, and who takes it away; see transfer_private.h.
 *
 * A copy that ends, in whatever way, cleans up after itself. One that is killed cannot: its
 * temporary file or directory stays, ".NAME.ydl-3f9c02d41b77a8e5.tmp". The next copy into that
 * directory removes it when nobody can be at work on it any more. */
#include "base/log.h"
#include "cmd/fs/transfer_private.h"
#include "loop/fiber.h"
#include "loop/loop.h"

#include <string.h>

#define STALE_MS ((int64_t)24 * 3600 * 1000)

/* ---- of those that were killed ---- */

/* Whether somebody writes it. A writer that is alive keeps its lease and so its file open, for days
 * if it must; one that died loses both within the hour. What cannot be told counts as yes. */
static bool is_open(struct fs *fs, const struct fs_entry *e)
{
    AUTO_FS_READER *r = NULL;

    return fs_open(fs, e->path, &r, NULL) < 0 || fs_growing(r);
}

static bool is_dead(struct fs *fs, const struct fs_entry *e, int64_t now, size_t depth);

/* Everything in it, too: a directory does not change when a file below it grows. */
static bool all_dead(struct fs *fs, const char *path, int64_t now, size_t depth)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(fs, path, &list, NULL);

    while (r == 0) {
        r = fs_list_next(list, &e, NULL);
        if (r <= 0)
            break;
        r = is_dead(fs, e, now, depth) ? 0 : -EBUSY;
    }
    return r == 0;
}

static bool is_dead(struct fs *fs, const struct fs_entry *e, int64_t now, size_t depth)
{
    AUTO_FREE char *path = NULL;

    if (now - e->mtime < STALE_MS)
        return false;
    if (e->type != FS_DIRECTORY)
        return !is_open(fs, e);
    path = strdup(e->path); /* `e` is lent by the list above */
    return path && depth < COPY_DEPTH_MOST && all_dead(fs, path, now, depth + 1);
}

void copy_remove_stale(struct copy *c, const char *dir)
{
    const struct session *s = c->files->x->session;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int64_t now = loop_wall();

    if (fs_is_local(c->to) || !s || fs_list_open_after(c->to, dir, ".", &list, NULL) < 0)
        return;
    while (fs_list_next(list, &e, NULL) > 0 && e->name[0] == '.') {
        AUTO_FREE char *path = NULL;

        if (!target_is_temporary(e->name) || !str_eq(e->owner, session_user(s)) ||
            !is_dead(c->to, e, now, 0))
            continue;
        path = strdup(e->path);
        if (!path || fs_delete(c->to, path, true, NULL) < 0)
            return;
        trace(LOG_HDFS, "removed '%s', which a copy that was killed left behind", path);
    }
}

/* ---- of this one ---- */

void copy_clean(struct copy *c, const char *path, bool recursive)
{
    struct loop *l = c->files->x->loop;

    if (!path)
        return;
    fiber_shield(l, true);
    (void)fs_delete(c->to, path, recursive, NULL);
    fiber_shield(l, false);
}

static void leftover_prune(struct fs *fs, const char *path, size_t depth)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;

    if (depth > COPY_DEPTH_MOST || fs_list_open(fs, path, &list, NULL) < 0)
        return;
    while (fs_list_next(list, &e, NULL) > 0) {
        AUTO_FREE char *below = e->type == FS_DIRECTORY ? strdup(e->path) : NULL;

        if (below)
            leftover_prune(fs, below, depth + 1);
    }
    (void)fs_delete(fs, path, false, NULL); /* refused when something is in it */
}

void copy_prune(struct copy *c, const struct strs *dirs)
{
    struct loop *l = c->files->x->loop;

    fiber_shield(l, true);
    for (size_t i = 0; i < dirs->n; i++)
        leftover_prune(c->to, dirs->v[i], 0);
    fiber_shield(l, false);
}
