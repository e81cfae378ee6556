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
#include "loop/work.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 100
#define FILES_MAX 1000000

/* A tree being copied. Names are relative to both ends. */
struct copy {
    struct export *x;
    struct saved *saved;
    struct fs *fs;
    const char *from;
    char *to, *tmp; /* the target, and the name for now */
    struct strs files, dirs;
};

static void copy_done(struct copy *c)
{
    free(c->to);
    free(c->tmp);
    strs_done(&c->files);
    strs_done(&c->dirs);
}

/* ---- what there is: by another thread, since there may be a million files ---- */

static int export_tree_list(struct copy *c, const char *dir, int depth, struct err *err);

/* A directory that the task did not make is saved only for what is in it. */
static bool is_yarns_tmp(const struct copy *c, const struct stat *st)
{
    return st->st_ino == c->x->yarns_tmp.ino && st->st_dev == c->x->yarns_tmp.dev;
}

/* A link to a file is saved as the file; a link to a directory may lead anywhere and is skipped. */
static int list_one(struct copy *c, const char *name, int depth, struct err *err)
{
    AUTO_FREE char *path = path_join(c->from, name);
    struct stat link, st;
    int r = 0;

    if (!path)
        return err_oom(err);
    if (c->x->stop)
        return err_set(err, -ECANCELED, "out of time");
    c->x->looked_at++;
    if (lstat(path, &link) < 0 || stat(path, &st) < 0)
        return 0; /* it has gone, or leads nowhere */
    if (export_is_own(c->x, &st))
        return 0;
    if (S_ISREG(st.st_mode))
        r = strs_add(&c->files, name);
    else if (S_ISDIR(link.st_mode) && !is_yarns_tmp(c, &link))
        r = strs_add(&c->dirs, name);
    if (r < 0)
        return err_oom(err);
    if (c->files.n > FILES_MAX)
        return err_set(err, -E2BIG, "'%s' has more than %d files", c->from, FILES_MAX);
    return S_ISDIR(link.st_mode) ? export_tree_list(c, name, depth + 1, err) : 0;
}

static int export_tree_list(struct copy *c, const char *dir, int depth, struct err *err)
{
    AUTO_FREE char *path = *dir ? path_join(c->from, dir) : strdup(c->from);
    AUTO_DIR DIR *d = path ? opendir(path) : NULL;
    struct dirent *e;
    int r = 0;

    if (!path)
        return err_oom(err);
    if (!d)
        return err_sys(err, "read '%s'", path);
    if (depth > DEPTH_MAX)
        return err_set(err, -ELOOP, "'%s': more than %d directories deep", path, DEPTH_MAX);
    while (r == 0 && (e = readdir(d))) {
        AUTO_FREE char *name = NULL;

        if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
            continue;
        name = path_join(dir, e->d_name);
        r = name ? list_one(c, name, depth, err) : err_oom(err);
    }
    return r;
}

struct listing {
    struct copy *copy;
    struct err *err;
};

static int export_tree_list_all(void *arg)
{
    struct listing *l = arg;
    struct copy *c = l->copy;
    struct stat st;

    if (stat(c->from, &st) == 0 && export_is_own(c->x, &st))
        return err_set(l->err, -EPERM, "'%s' belongs to ydl and is not saved", c->from);
    return export_tree_list(c, "", 0, l->err);
}

/* ---- copying ---- */

struct one {
    struct copy *copy;
    const char *name;
    uint64_t bytes;
};

static int copy_one_now(void *arg, struct err *err)
{
    struct one *o = arg;
    struct copy *c = o->copy;
    AUTO_FREE char *from = path_join(c->from, o->name), *to = path_join(c->tmp, o->name);

    return from && to ? export_copy(c->x, from, c->fs, to, &o->bytes, err) : err_oom(err);
}

static int export_tree_copy_one(void *arg, struct err *err)
{
    struct one *o = arg;

    return export_try(o->copy->x, o->copy->fs, copy_one_now, o, err);
}

static int copy_files(struct copy *c, uint64_t *ret_bytes, struct err *err)
{
    AUTO_FREE struct one *all = calloc(c->files.n + 1, sizeof(*all));
    struct group g;
    int r = all ? 0 : err_oom(err);

    group_init(&g, c->x->agent->loop, EXPORT_AT_ONCE);
    for (size_t i = 0; r == 0 && i < c->files.n; i++) {
        all[i] = (struct one){ .copy = c, .name = c->files.v[i] };
        r = group_go(&g, export_tree_copy_one, &all[i], err);
    }
    if (r < 0)
        group_cancel(&g);
    if (group_wait(&g, r < 0 ? NULL : err) < 0 && r == 0)
        r = g.result < 0 ? g.result : -ECANCELED;
    for (size_t i = 0; r == 0 && i < c->files.n; i++)
        *ret_bytes += all[i].bytes;
    return r;
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

static int copy_all(struct copy *c, uint64_t *ret_bytes, struct err *err)
{
    int r = export_try(c->x, c->fs, export_tree_make_dirs, c, err);

    return r == 0 ? copy_files(c, ret_bytes, err) : r;
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

static int export_tree_copy(struct copy *c, const char *label, uint64_t *ret_bytes, struct err *err)
{
    struct listing l = { c, err };
    int r = work_run(c->x->agent->loop, export_tree_list_all, &l);

    if (r == -ENOENT || (r == 0 && c->files.n == 0))
        return 0; /* the task has left nothing */
    if (r == 0)
        r = name_target(c, label, err);
    if (r < 0)
        return r;
    r = copy_all(c, ret_bytes, err);
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
    uint64_t bytes = 0;

    if (export_tree_copy(&c, label, &bytes, &err) < 0) {
        export_failed(x, s, &err);
    } else {
        s->files += c.files.n;
        s->bytes += bytes;
    }
    copy_done(&c);
}
