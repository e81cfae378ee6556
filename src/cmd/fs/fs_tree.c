/* fs_tree.c - a directory and everything in it; see transfer.h.
 *
 * Into a directory that exists, files that are complete stay when the copy fails; directories that
 * it made and that are empty then do not. */
#include "base/path.h"
#include "cmd/fs/guard.h"
#include "cmd/fs/transfer_private.h"
#include "loop/fiber.h"

static int check_free(struct copy *c, const char *path, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = c->force ? 0 : fs_exists(c->to, path, &e, err);

    if (r <= 0)
        return r;
    err_set(err, -EEXIST, "'%s' exists already", path);
    err_hint(err, "use -f to replace it");
    return -EEXIST;
}

static int fs_tree_merge_one(void *arg, const char *from, const char *to, struct err *err)
{
    struct copy *c = arg;
    int r = check_free(c, to, err);

    return r < 0 ? r : copy_atomic(c, from, to, true, err);
}

/* A directory of the target that is walked into. Below one that is not there, nothing is; and all
 * that is in a directory is walked before anything else. */
static int fs_tree_meet(void *arg, const char *to, struct err *err)
{
    struct copy *c = arg;
    AUTO_FS_ENTRY e = { 0 };
    int r;

    if (c->made.n && guard_within(to, c->made.v[c->made.n - 1]))
        return 0;
    r = fs_exists(c->to, to, &e, err);
    if (r == 0)
        return strs_add(&c->made, to) < 0 ? err_oom(err) : 0;
    if (r > 0)
        copy_remove_stale(c, to);
    return r < 0 ? r : 0;
}

static int fs_tree_put_one(void *arg, const char *from, const char *to, struct err *err)
{
    return copy_plain(arg, from, to, true, err);
}

static int fs_tree_fill(struct copy *c, const char *from, const char *to, struct err *err)
{
    struct tree_copy how = copy_how(c);

    how.put = fs_tree_put_one;
    return tree_copy(&how, from, to, err);
}

static int fs_tree_merge(struct copy *c, const char *from, const char *to, struct err *err)
{
    struct tree_copy how = copy_how(c);
    int r;

    how.put = fs_tree_merge_one;
    how.on_dir = fs_tree_meet;
    r = tree_copy(&how, from, to, err);
    if (r < 0)
        copy_prune(c, &c->made);
    strs_done(&c->made);
    return r;
}

static int fs_tree_check(const struct copy *c, const struct fs_entry *source,
                         const struct place *to, struct err *err)
{
    if (!c->recursive) {
        err_set(err, -EISDIR, "'%s' is a directory", source->path);
        err_hint(err, "use -r to copy directories");
        return -EISDIR;
    }
    if (to->exists && !to->directory)
        return err_set(err, -ENOTDIR, "'%s' is a file: a directory cannot replace it", to->path);
    return 0;
}

/* Shielded for the same reason as the making of a file. */
static int make_root(struct copy *c, const char *path, struct err *err)
{
    struct loop *l = c->files->x->loop;
    int r;

    fiber_shield(l, true);
    r = fs_mkdirs(c->to, path, FS_MODE_DEFAULT, false, err);
    fiber_shield(l, false);
    return r;
}

int copy_tree(struct copy *c, const struct fs_entry *source, const struct place *to,
              struct err *err)
{
    AUTO_FREE char *tmp = NULL;
    int r = fs_tree_check(c, source, to, err);

    if (r < 0)
        return r;
    if (to->directory)
        return fs_tree_merge(c, source->path, to->path, err);
    r = target_temporary(to->path, &tmp, err);
    if (r < 0)
        return r;
    r = make_root(c, tmp, err);
    if (r == 0) {
        r = fs_tree_fill(c, source->path, tmp, err);
        if (r == 0)
            r = copy_commit(c, tmp, to->path, false, err);
        else
            copy_clean(c, tmp, true);
    }
    if (r < 0)
        copy_name_target(err, tmp, to->path);
    return r;
}
