/* export_tree.c - the results of one task, a whole directory, to one target.
 *
 * Everything is copied to a temporary directory beside the target first and then renamed: nobody
 * ever sees half a file, or half a target that did not exist before. If the target exists, our
 * files go into it. Of two tasks that leave a file of one name, the later one's goes into
 * TARGET/worker-3/; what an earlier job left under it is replaced. So is everything by a directory
 * that is all tasks' together. */
#include "agent/agent_private.h"
#include "agent/output/export_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/path.h"
#include "hadoop/tree/tree_files.h"
#include "hadoop/tree/tree_walk.h"
#include "loop/work.h"

#define DEPTH_MAX 100
#define NAMES_MAX 1000000

/* A tree being copied. Names are relative to both ends. */
struct copy {
    struct export *x;
    struct saved *saved;
    struct fs *fs;
    const char *from;
    char *to, *tmp; /* the target, and the name for now */
    struct strs files, dirs;
    uint64_t bytes; /* of files that are copied */
};

static void copy_done(struct copy *c)
{
    free(c->to);
    free(c->tmp);
    strs_done(&c->files);
    strs_done(&c->dirs);
}

/* ---- what there is: by another thread, since there may be a million files ---- */

static int export_tree_add(struct copy *c, struct strs *to, const char *name, struct err *err)
{
    if (c->x->stop)
        return err_set(err, -ECANCELED, "out of time");
    c->x->looked_at++;
    return strs_add(to, name) < 0 ? err_oom(err) : 0;
}

static int export_tree_file(void *arg, const struct tree_item *e, struct err *err)
{
    struct copy *c = arg;

    return export_is_own(c->x, e->stat) ? 0 : export_tree_add(c, &c->files, e->name, err);
}

/* Our own are left out with all that is in them. A directory that the task did not make is saved
 * only for what is in it. */
static int export_tree_dir(void *arg, const struct tree_item *e, struct err *err)
{
    struct copy *c = arg;
    const struct own_file *tmp = &c->x->yarns_tmp;

    if (!*e->name)
        return export_is_own(c->x, e->stat)
                   ? err_set(err, -EPERM, "'%s' belongs to ydl and is not saved", c->from)
                   : 0;
    if (export_is_own(c->x, e->stat))
        return 1;
    if (e->stat->st_ino == tmp->ino && e->stat->st_dev == tmp->dev)
        return 0;
    return export_tree_add(c, &c->dirs, e->name, err);
}

struct listing {
    struct copy *copy;
    struct err *err;
};

static int export_tree_list(void *arg)
{
    struct listing *l = arg;
    const struct tree_walk walk = {
        .root = l->copy->from,
        .links = TREE_LINKS_FILES,
        .depth = DEPTH_MAX,
        .names = NAMES_MAX,
        .arg = l->copy,
        .on_dir = export_tree_dir,
        .on_file = export_tree_file,
    };

    return tree_walk_local(&walk, l->err);
}

/* ---- copying ---- */

struct one {
    struct copy *copy;
    const char *name;
    uint64_t bytes;
};

static int export_tree_copy_now(void *arg, struct err *err)
{
    struct one *o = arg;
    struct copy *c = o->copy;
    AUTO_FREE char *from = path_join(c->from, o->name), *to = path_join(c->tmp, o->name);

    return from && to ? export_copy(c->x, from, c->fs, to, &o->bytes, err) : err_oom(err);
}

static int export_tree_copy_one(void *arg, const char *name, struct err *err)
{
    struct copy *c = arg;
    struct one one = { .copy = c, .name = name };
    int r = export_try(c->x, c->fs, export_tree_copy_now, &one, err);

    c->bytes += r == 0 ? one.bytes : 0;
    return r;
}

static int copy_files(struct copy *c, struct err *err)
{
    const struct tree_limits most = { .at_once = EXPORT_AT_ONCE };
    struct tree_files files;
    int r = 0;

    tree_files_init(&files, c->x->agent->loop, most, export_tree_copy_one, c);
    for (size_t i = 0; r == 0 && i < c->files.n; i++)
        r = tree_files_add(&files, c->files.v[i], 0, err);
    return tree_files_end(&files, r, err);
}

/* The temporary name is made of the job and the task, so a part that an agent left when it was
 * killed is found and removed by the next one that saves the same. */
static int export_tree_make_dirs(void *arg, struct err *err)
{
    struct copy *c = arg;
    AUTO_FS_ENTRY old = { 0 };
    int r = fs_exists(c->fs, c->tmp, &old, err); /* of one that was killed */

    if (r > 0)
        r = fs_delete(c->fs, c->tmp, true, err);
    if (r == 0)
        r = fs_mkdirs(c->fs, c->tmp, FS_MODE_DEFAULT, true, err);
    for (size_t i = 0; r == 0 && i < c->dirs.n; i++) {
        AUTO_FREE char *dir = path_join(c->tmp, c->dirs.v[i]);

        r = dir ? fs_mkdirs(c->fs, dir, FS_MODE_DEFAULT, true, err) : err_oom(err);
        if (r == 0)
            r = export_moved(c->x, err);
    }
    return r;
}

static int copy_all(struct copy *c, struct err *err)
{
    int r = export_try(c->x, c->fs, export_tree_make_dirs, c, err);

    return r == 0 ? copy_files(c, err) : r;
}

/* ---- putting it in place ---- */

/* Was the existing file saved by another task of this job? */
static bool placed(const struct copy *c, const char *to)
{
    return json_object_get(c->saved->placed, to) != NULL;
}

static int export_tree_remember(struct copy *c, const char *to, struct err *err)
{
    if (!c->saved->placed || json_object_set_new_nocheck(c->saved->placed, to, json_true()) < 0)
        return err_oom(err);
    return 0;
}

static int remember_all(struct copy *c, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < c->files.n && r == 0; i++) {
        AUTO_FREE char *to = path_join(c->to, c->files.v[i]);

        r = to ? export_tree_remember(c, to, err) : err_oom(err);
    }
    return r;
}

/* Another task of this job has saved a file of this name: ours goes into a directory of its own. */
static int place_beside(struct copy *c, const char *label, const char *name, struct err *err)
{
    AUTO_FREE char *from = path_join(c->tmp, name), *own = path_join(c->to, label);
    AUTO_FREE char *to = own ? path_join(own, name) : NULL;
    AUTO_FREE char *dir = to ? path_dir(to) : NULL;
    int r = from && dir ? fs_mkdirs(c->fs, dir, FS_MODE_DEFAULT, true, err) : err_oom(err);

    return r < 0 ? r : export_rename(c->x, &(struct export_move){ c->fs, from, to, true }, err);
}

/* One file. What an earlier job left under that name is replaced.
 * The name is taken: by another task of this job (newer than the job, or placed by us), and then
 * ours goes beside it; or by an earlier job, and then it is replaced. Without a label there is no
 * other task. */
static int place_file(struct copy *c, const char *label, const char *name, int64_t began,
                      struct err *err)
{
    AUTO_FREE char *from = path_join(c->tmp, name), *to = path_join(c->to, name);
    AUTO_FS_ENTRY there = { 0 };
    struct export_move move = { c->fs, from, to, false };
    int r = from && to ? export_rename(c->x, &move, err) : err_oom(err);

    if (r == -EEXIST) {
        err_clear(err);
        r = fs_exists(c->fs, to, &there, err);
        if (r < 0)
            return r;
        if (label && (r == 0 || there.type != FS_FILE || there.mtime >= began || placed(c, to)))
            return place_beside(c, label, name, err);
        move.overwrite = true;
        r = export_rename(c->x, &move, err);
    }
    return r < 0 ? r : export_tree_remember(c, to, err);
}

static int export_tree_merge(struct copy *c, const char *label, struct err *err)
{
    const struct agent *a = c->x->agent;
    int64_t began = a->platform->job_began(a, &c->x->remote);
    int r = 0;

    for (size_t i = 0; i < c->dirs.n && r == 0; i++) {
        AUTO_FREE char *dir = path_join(c->to, c->dirs.v[i]);

        r = dir ? fs_mkdirs(c->fs, dir, FS_MODE_DEFAULT, true, err) : err_oom(err);
    }
    for (size_t i = 0; i < c->files.n && r == 0; i++) {
        r = place_file(c, label, c->files.v[i], began, err);
        if (r == 0)
            r = export_moved(c->x, err);
    }
    return r < 0 ? r : fs_delete(c->fs, c->tmp, true, err);
}

/*     rename the whole tree ── the target is there ──► a directory: file by file into it
 *                                                  └─ anything else: failed, with the first reason
 */
static int export_tree_place(struct copy *c, const char *label, struct err *err)
{
    AUTO_FS_ENTRY there = { 0 };
    struct err first = ERR_INIT;
    int r = export_rename(c->x, &(struct export_move){ c->fs, c->tmp, c->to, false }, &first);

    if (r == 0)
        return remember_all(c, err);
    if (fs_exists(c->fs, c->to, &there, NULL) <= 0 || there.type != FS_DIRECTORY) {
        if (err)
            *err = first;
        return r;
    }
    return export_tree_merge(c, label, err);
}

static int name_target(struct copy *c, const char *label, struct err *err)
{
    AUTO_FREE char *dir = NULL, *base = NULL;
    int r = remote_find(&c->x->remote, c->saved->to, &c->fs, &c->to, err);

    if (r < 0)
        return r;
    dir = path_dir(c->to);
    base = path_base(c->to);
    if (dir && base)
        c->tmp = str_printf("%s/.%s.%s.%s", str_eq(dir, "/") ? "" : dir, base,
                            c->x->agent->facts->job, label ? label : "all");
    return c->tmp ? 0 : err_oom(err);
}

/* Removes the incomplete copy, unless time is up. */
static void export_tree_give_up(struct copy *c)
{
    if (!c->x->stop)
        (void)fs_delete(c->fs, c->tmp, true, NULL);
}

static int export_tree_copy(struct copy *c, const char *label, struct err *err)
{
    struct listing l = { c, err };
    int r = work_run(c->x->agent->loop, export_tree_list, &l);

    if (r == -ENOENT || (r == 0 && c->files.n == 0))
        return 0; /* the task has left nothing */
    if (r == 0)
        r = name_target(c, label, err);
    if (r < 0)
        return r;
    r = copy_all(c, err);
    if (r == 0)
        r = export_tree_place(c, label, err);
    if (r < 0)
        export_tree_give_up(c);
    return r;
}

void export_tree(struct export *x, const char *from, const char *label, struct saved *s)
{
    struct copy c = { .x = x, .from = from, .saved = s };
    struct err err = ERR_INIT;

    if (export_tree_copy(&c, label, &err) < 0) {
        export_failed(x, s, &err);
    } else {
        s->files += c.files.n;
        s->bytes += c.bytes;
    }
    copy_done(&c);
}
