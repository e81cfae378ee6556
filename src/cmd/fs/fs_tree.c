/* fs_tree.c - a directory and everything in it; see transfer.h.
 *
 * One fiber walks the source and hands each file to a fiber of its own, as long as there is room:
 *
 *     walk ──► start ──► copy_one     (fibers, at most `at_once`, at most BUDGET bytes)
 *          └─► fs_mkdirs              (only for a directory with nothing in it)
 *
 * Into a directory that exists, files that are complete stay when the copy fails; directories that
 * it made and that are empty then do not. */
#include "base/path.h"
#include "cmd/fs/transfer_private.h"
#include "loop/fiber.h"

#include <string.h>

/* A writer holds what its DataNodes have not confirmed yet, a reader what it has not handed on:
 * at most WINDOW bytes of a file, and EACH whatever its size. */
#define BUDGET (12 * MIB)
#define WINDOW (4 * MIB)
#define EACH (192 * KIB)

#define DEPTH_MOST 1000 /* of directories: as deep as HDFS allows */

struct tree {
    struct copy *copy;
    const char *root; /* in the target: the temporary directory, or the one that exists */
    bool merge;       /* the target exists: files are renamed one by one */
    bool in_existing; /* … and so does the directory of it that is being walked */
    struct group group;
    size_t held;      /* bytes of BUDGET */
    struct cond room; /* `held` went down */
    size_t depth;
    struct strs made; /* when merging: directories that were not there, without those below them */
};

/* One file on its way; owns its entry and the path. */
struct job {
    struct tree *tree;
    struct fs_entry source;
    char *to;
    size_t cost;
};

static void job_free(struct job *j)
{
    j->tree->held -= j->cost;
    cond_wake_all(&j->tree->room);
    fs_entry_done(&j->source);
    free(j->to);
    free(j);
}

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

static int fs_tree_copy_one(void *arg, struct err *err)
{
    struct job *j = arg;
    struct copy *c = j->tree->copy;
    int r;

    if (!j->tree->merge) {
        r = copy_plain(c, &j->source, j->to, true, err);
    } else {
        r = check_free(c, j->to, err);
        if (r == 0)
            r = copy_atomic(c, &j->source, j->to, true, err);
    }
    job_free(j);
    return r;
}

static size_t cost_of(const struct fs_entry *e)
{
    return EACH + (e->length < WINDOW ? (size_t)e->length : WINDOW);
}

static int fs_tree_wait_for_room(struct tree *t, size_t cost, struct err *err)
{
    while (t->held > 0 && t->held + cost > BUDGET) {
        int r = cond_wait(t->copy->files->x->loop, &t->room, LOOP_NEVER);

        if (r < 0)
            return err_set(err, r, "interrupted");
    }
    t->held += cost;
    return 0;
}

static int fs_tree_start(struct tree *t, const struct fs_entry *e, const char *to, struct err *err)
{
    struct job *j = calloc(1, sizeof(*j));
    int r;

    if (!j)
        return err_oom(err);
    j->tree = t;
    j->to = strdup(to);
    r = !j->to || fs_entry_copy(&j->source, e) < 0 ? err_oom(err) : 0;
    if (r == 0) {
        r = fs_tree_wait_for_room(t, cost_of(e), err);
        j->cost = r == 0 ? cost_of(e) : 0;
    }
    if (r == 0)
        r = group_go(&t->group, fs_tree_copy_one, j, err);
    if (r < 0)
        job_free(j);
    return r;
}

static int fs_tree_walk(struct tree *t, const char *from, const char *to, struct err *err);

/* A directory of the target that is walked into. `*ret` is whether it is there: below one that is
 * not, nothing is. */
static int fs_tree_meet(struct tree *t, const char *to, bool *ret, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_exists(t->copy->to, to, &e, err);

    *ret = r > 0;
    if (r == 0)
        return strs_add(&t->made, to) < 0 ? err_oom(err) : 0;
    if (r > 0)
        copy_remove_stale(t->copy, to);
    return r < 0 ? r : 0;
}

static int walk_into(struct tree *t, const char *from, const char *to, struct err *err)
{
    bool merge = t->in_existing, exists = false;
    int r = merge ? fs_tree_meet(t, to, &exists, err) : 0;

    if (r < 0)
        return r;
    t->in_existing = merge && exists;
    r = fs_tree_walk(t, from, to, err);
    t->in_existing = merge;
    return r;
}

static int fs_tree_walk_entry(struct tree *t, const struct fs_entry *e, const char *to,
                              struct err *err)
{
    AUTO_FREE char *path = path_join(to, e->name);
    AUTO_FREE char *below = NULL;
    int r;

    if (!path)
        return err_oom(err);
    if (e->type != FS_DIRECTORY)
        return fs_tree_start(t, e, path, err);
    below = strdup(e->path); /* `e` is lent until the list is read on */
    if (!below)
        return err_oom(err);
    if (++t->depth > DEPTH_MOST)
        return err_set(err, -ELOOP, "'%s' is nested too deeply: is there a loop of symbolic links?",
                       below);
    r = walk_into(t, below, path, err);
    t->depth--;
    return r;
}

static int fs_tree_walk(struct tree *t, const char *from, const char *to, struct err *err)
{
    struct copy *c = t->copy;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    bool empty = true;
    int r = fs_list_open(c->from, from, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        empty = false;
        r = fs_tree_walk_entry(t, e, to, err);
    }
    if (r == 0 && empty)
        r = fs_mkdirs(c->to, to, FS_MODE_DEFAULT, true, err);
    return r;
}

static int fs_tree_fill(struct copy *c, const struct fs_entry *source, const char *root, bool merge,
                        struct err *err)
{
    struct tree t = { .copy = c, .root = root, .merge = merge, .in_existing = merge };
    struct err late = ERR_INIT;
    int r, waited;

    group_init(&t.group, c->files->x->loop, c->at_once);
    r = fs_tree_walk(&t, source->path, root, err);
    if (r < 0)
        group_cancel(&t.group);
    waited = group_wait(&t.group, r < 0 ? &late : err);
    /* When a file failed, what stopped the walk is only that it was told so. */
    if (r < 0 && t.group.result < 0)
        *err = t.group.err;
    r = t.group.result < 0 ? t.group.result : r < 0 ? r : waited;
    if (r < 0)
        copy_prune(c, &t.made);
    strs_done(&t.made);
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
        return fs_tree_fill(c, source, to->path, true, err);
    r = target_temporary(to->path, &tmp, err);
    if (r < 0)
        return r;
    r = make_root(c, tmp, err);
    if (r == 0) {
        r = fs_tree_fill(c, source, tmp, false, err);
        if (r == 0)
            r = copy_commit(c, tmp, to->path, false, err);
        else
            copy_clean(c, tmp, true);
    }
    if (r < 0)
        copy_name_target(err, tmp, to->path);
    return r;
}
