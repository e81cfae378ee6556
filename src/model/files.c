/* files.c - what belongs to a model, found without following anything out of its directory. See
 * files.h.
 *
 * Directories wait in a list and are read one after the other: fibers have small stacks. */
#include "model/files.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "model/manifest.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

struct files_walk {
    struct model_files *to;
    struct strs dirs; /* below the root; "" is the root */
    char *real;       /* the root with its links resolved; local */
};

static char *files_join(const char *dir, const char *name)
{
    return *dir ? str_printf("%s/%s", dir, name) : strdup(name);
}

/* ---- one file ---- */

/* Names go into the manifest, and into HDFS: what cannot stand there is refused here. */
static int files_check_name(const struct model_files *m, const char *path, struct err *err)
{
    AUTO_FREE char *in = str_printf("model/%s", path);
    char shown[300];

    if (!in)
        return err_oom(err);
    if (manifest_path_ok(in) && !strchr(path, ':'))
        return 0;
    str_clean(shown, sizeof(shown), path);
    err_set(err, -EINVAL, "the name of '%s' in '%s' cannot be stored", shown, m->root);
    err_hint(err, "names must be UTF-8 without control characters and colons");
    return -EINVAL;
}

static int files_add(struct model_files *m, const struct model_file *f, const char *path,
                     const char *from, struct err *err)
{
    struct model_file one = *f;
    int r = files_check_name(m, path, err);

    if (r == 0 && m->n == MODEL_FILES_MOST)
        r = err_set(err, -E2BIG, "'%s' has more than %d files", m->root, MODEL_FILES_MOST);
    if (r < 0)
        return r;
    one.path = strdup(path);
    one.from = strdup(from);
    if (!one.path || !one.from || ARRAY_ADD(m->v, m->n, one) < 0) {
        free(one.path);
        free(one.from);
        return err_oom(err);
    }
    m->bytes += one.size;
    return 0;
}

/* ---- on this machine ---- */

static int files_refuse(const char *path, const char *why, struct err *err)
{
    err_set(err, -EINVAL, "'%s' is %s: it cannot be part of a model", path, why);
    return -EINVAL;
}

static int files_add_plain(struct model_files *m, const char *path, const char *from,
                           const struct stat *st, struct err *err)
{
    struct model_file f = {
        .size = (uint64_t)st->st_size,
        .stamp = pack_stamp_of(st),
        .executable = (st->st_mode & 0100) != 0,
    };

    return files_add(m, &f, path, from, err);
}

/* Of links only those to files within the model are followed, and what they point to is stored as a
 * file: a registry has no links. What realpath() returned is opened later without following
 * anything (files_read.c), so that a link that is changed in between leads nowhere else. */
static int files_add_link(struct files_walk *w, const char *path, const char *full, struct err *err)
{
    char real[PATH_MAX];
    size_t n = strlen(w->real);
    struct stat st;

    if (!realpath(full, real) || lstat(real, &st) < 0)
        return err_sys(err, "follow the link '%s'", full);
    if (strncmp(real, w->real, n) != 0 || real[n] != '/') {
        files_refuse(full, "a link to a place outside of its directory", err);
        err_hint(err, "'cp -rL' makes a copy in which links are files");
        return -EINVAL;
    }
    if (!S_ISREG(st.st_mode))
        return files_refuse(full, "a link to something that is not a file", err);
    return files_add_plain(w->to, path, real, &st, err);
}

static int files_add_local(struct files_walk *w, const char *path, const char *full,
                           struct err *err)
{
    struct stat st;

    if (lstat(full, &st) < 0)
        return err_sys(err, "look at '%s'", full);
    if (S_ISREG(st.st_mode))
        return files_add_plain(w->to, path, full, &st, err);
    if (S_ISDIR(st.st_mode))
        return strs_add(&w->dirs, path) < 0 ? err_oom(err) : 0;
    if (S_ISLNK(st.st_mode))
        return files_add_link(w, path, full, err);
    return files_refuse(full,
                        S_ISFIFO(st.st_mode)   ? "a pipe"
                        : S_ISSOCK(st.st_mode) ? "a socket"
                                               : "a device",
                        err);
}

static int files_read_local(struct files_walk *w, const char *dir, struct err *err)
{
    AUTO_FREE char *full = *dir ? path_join(w->to->root, dir) : strdup(w->to->root);
    AUTO_DIR DIR *d = full ? opendir(full) : NULL;
    struct dirent *e;
    int r = 0;

    if (!full)
        return err_oom(err);
    if (!d)
        return err_sys(err, "list '%s'", full);
    for (errno = 0; r == 0 && (e = readdir(d)); errno = 0) {
        AUTO_FREE char *path = files_join(dir, e->d_name);
        AUTO_FREE char *one = path_join(full, e->d_name);

        if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
            continue;
        r = path && one ? files_add_local(w, path, one, err) : err_oom(err);
    }
    return r == 0 && errno != 0 ? err_sys(err, "list '%s'", full) : r;
}

/* ---- on HDFS ---- */

static int files_add_far(struct files_walk *w, const char *path, const struct fs_entry *e,
                         struct err *err)
{
    struct model_file f = { .size = e->length,
                            .mtime = e->mtime,
                            .executable = (e->mode & 0100) != 0 };

    if (e->type == FS_DIRECTORY)
        return strs_add(&w->dirs, path) < 0 ? err_oom(err) : 0;
    if (e->type != FS_FILE)
        return files_refuse(e->path, "not a file", err);
    return files_add(w->to, &f, path, e->path, err);
}

static int files_read_far(struct files_walk *w, const char *dir, struct err *err)
{
    AUTO_FREE char *full = *dir ? path_join(w->to->root, dir) : strdup(w->to->root);
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = full ? fs_list_open(w->to->fs, full, &list, err) : err_oom(err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        AUTO_FREE char *path = files_join(dir, e->name);

        r = path ? files_add_far(w, path, e, err) : err_oom(err);
    }
    return r;
}

/* ---- all ---- */

static size_t files_depth(const char *path)
{
    size_t n = 1;

    for (const char *p = path; (p = strchr(p, '/')); p++)
        n++;
    return n;
}

/* Both limits end a tree that never ends: one that grows while it is read, or that a mount has led
 * into itself. */
static int files_walk_all(struct files_walk *w, struct err *err)
{
    bool local = fs_is_local(w->to->fs);
    int r = strs_add(&w->dirs, "") < 0 ? err_oom(err) : 0;

    for (size_t i = 0; r == 0 && i < w->dirs.n; i++) {
        AUTO_FREE char *dir = strdup(w->dirs.v[i]);

        if (!dir)
            return err_oom(err);
        if (files_depth(dir) > MODEL_DEPTH_MOST || w->dirs.n > MODEL_FILES_MOST)
            return err_set(err, -E2BIG, "'%s' has too many directories inside each other",
                           w->to->root);
        r = local ? files_read_local(w, dir, err) : files_read_far(w, dir, err);
    }
    return r;
}

static int files_by_path(const void *a, const void *b)
{
    return strcmp(((const struct model_file *)a)->path, ((const struct model_file *)b)->path);
}

static int files_look_tree(struct model_files *m, struct err *err)
{
    char real[PATH_MAX];
    struct files_walk w = { .to = m };
    int r = 0;

    m->directory = true;
    if (fs_is_local(m->fs) && !realpath(m->root, real))
        return err_sys(err, "'%s'", m->root);
    w.real = fs_is_local(m->fs) ? real : NULL;
    r = files_walk_all(&w, err);
    strs_done(&w.dirs);
    if (r == 0 && m->n == 0)
        r = err_set(err, -EINVAL, "'%s' has no files", m->root);
    if (m->n > 1)
        qsort(m->v, m->n, sizeof(m->v[0]), files_by_path);
    return r;
}

/* A single file: a link to it is followed, because it was named by the user. */
static int files_look_file(struct model_files *m, const struct fs_entry *e, struct err *err)
{
    char real[PATH_MAX];
    struct model_file f = { .size = e->length, .mtime = e->mtime };
    struct stat st;

    if (!fs_is_local(m->fs))
        return files_add(m, &f, e->name, e->path, err);
    if (!realpath(m->root, real) || lstat(real, &st) < 0)
        return err_sys(err, "look at '%s'", m->root);
    if (!S_ISREG(st.st_mode))
        return files_refuse(m->root, "not a file", err);
    return files_add_plain(m, e->name, real, &st, err);
}

int model_files_of(struct fs *fs, const char *path, struct model_files *ret, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_stat(fs, path, &e, err);

    *ret = (struct model_files){ .fs = fs };
    if (r < 0)
        return r;
    ret->root = strdup(path);
    if (!ret->root)
        return err_oom(err);
    if (e.type == FS_DIRECTORY)
        r = files_look_tree(ret, err);
    else if (e.type == FS_FILE)
        r = files_look_file(ret, &e, err);
    else
        r = files_refuse(path, "not a file or directory", err);
    if (r < 0)
        model_files_done(ret);
    return r;
}

int model_files_find(struct fs_set *set, const char *text, struct model_files *ret, struct err *err)
{
    AUTO_FREE char *path = NULL;
    struct fs *fs;
    int r = fs_find(set, text, FS_ON_LOCAL, &fs, &path, err);

    *ret = (struct model_files){ 0 };
    return r < 0 ? r : model_files_of(fs, path, ret, err);
}

void model_files_done(struct model_files *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->v[i].path);
        free(m->v[i].from);
    }
    free(m->v);
    free(m->root);
    *m = (struct model_files){ 0 };
}
