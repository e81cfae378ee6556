/* fetch.c - every byte that is read is hashed and compared with the manifest. See fetch.h. */
#include "model/fetch.h"
#include "base/array.h"
#include "base/path.h"
#include "cli/progress.h"
#include "loop/fiber.h"
#include "model/layout.h"
#include "model/store.h"
#include "uploads/cache_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one file ---- */

/* Reads all of it, into `w` too unless that is NULL. 1 when it is what the row says, else 0. */
static int fetch_read(struct fs_reader *from, const struct manifest_file *f, struct fs_writer *w,
                      struct progress *progress, struct err *err)
{
    AUTO_SHA256 *s = NULL;
    char text[SHA256_TEXT];
    uint64_t left = f->size;
    const void *p;
    int r = sha256_new(&s, err);
    ssize_t n;

    if (r < 0)
        return r;
    while ((n = fs_read_next(from, &p, 0, err)) > 0) {
        if ((uint64_t)n > left)
            return 0;
        left -= (uint64_t)n;
        r = sha256_add(s, p, (size_t)n, err);
        if (r == 0 && w)
            r = fs_write(w, p, (size_t)n, err);
        if (r < 0)
            return r;
        progress_add(progress, (uint64_t)n);
    }
    r = n < 0 ? (int)n : sha256_end(s, text, err);
    return r < 0 ? r : left == 0 && str_eq(text, f->sha256);
}

static int fetch_path(const struct models *r, const struct manifest *m, const char *file,
                      char **ret, struct err *err)
{
    return models_path(r, m->name, ret, err, LAYOUT_VERSIONS "/%lld%s%s", (long long)m->version,
                       *file ? "/" : "", file);
}

/* ---- out of the registry ---- */

struct fetching {
    const struct models *r;
    const struct manifest *m;
    struct fs *to;
    struct progress *progress;
};

static int fetch_changed(const struct manifest *m, const char *path, struct err *err)
{
    err_set(err, -EBADMSG, "'%s' of %s:%lld is damaged: its bytes do not match the manifest", path,
            m->name, (long long)m->version);
    err_hint(err, "'ydl model verify %s' checks all versions", m->name);
    return -EBADMSG;
}

static int fetch_file(const struct fetching *f, const struct manifest_file *file, const char *dir,
                      struct err *err)
{
    const struct fs_create how = { .mode = file->executable ? 0755 : FS_MODE_DEFAULT,
                                   .parents = true };
    AUTO_FREE char *to = path_join(dir, file->path + strlen(LAYOUT_MODEL "/"));
    AUTO_FREE char *from = NULL;
    AUTO_FS_READER *reader = NULL;
    AUTO_FS_WRITER *w = NULL;
    int r = to ? fetch_path(f->r, f->m, file->path, &from, err) : err_oom(err);

    progress_label(f->progress, file->path);
    if (r == 0)
        r = models_open_file(f->r, from, &reader, err);
    if (r == 0)
        r = fs_create(f->to, to, &how, &w, err);
    if (r == 0)
        r = fetch_read(reader, file, w, f->progress, err);
    if (r == 0)
        return fetch_changed(f->m, file->path, err);
    return r < 0 ? r : fs_close(take(w), err);
}

static int fetch_all(const struct fetching *f, const char *dir, struct err *err)
{
    int r = fs_mkdirs(f->to, dir, FS_MODE_DEFAULT, false, err);

    for (size_t i = 0; r == 0 && i < f->m->n; i++)
        if (str_starts(f->m->files[i].path, LAYOUT_MODEL "/"))
            r = fetch_file(f, &f->m->files[i], dir, err);
    return r;
}

static int fetch_in_the_way(const char *dir, struct err *err)
{
    err_set(err, -EEXIST, "'%s' exists already", dir);
    err_hint(err, "give another directory, or remove that one first");
    return -EEXIST;
}

/* A directory beside the destination, named after its writer, and one rename: who is killed leaves
 * nothing that looks like a model. */
int fetch_model(const struct models *r, const struct manifest *m, struct fs *to, const char *dir,
                struct progress *progress, struct err *err)
{
    struct fetching f = { r, m, to, progress };
    AUTO_FREE char *above = path_dir(dir);
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *tmp = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int x = above ? fs_exists(to, dir, &e, err) : err_oom(err);

    if (x > 0)
        return fetch_in_the_way(dir, err);
    if (x == 0)
        x = cache_temp(&name, err);
    if (x < 0)
        return x;
    tmp = path_join(above, name);
    x = tmp ? fetch_all(&f, tmp, err) : err_oom(err);
    fiber_shield(r->loop, true);
    if (x == 0)
        x = fs_rename(to, tmp, dir, false, err);
    if (x < 0 && tmp)
        (void)fs_delete(to, tmp, true, NULL);
    fiber_shield(r->loop, false);
    return x == -EEXIST ? fetch_in_the_way(dir, err) : x;
}

/* ---- checking ---- */

void fetch_problems_done(struct fetch_problems *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].path);
    free(p->v);
    *p = (struct fetch_problems){ 0 };
}

static int fetch_complain(struct fetch_problems *to, const char *path, const char *what,
                          struct err *err)
{
    struct fetch_problem one = { strdup(path), what };

    if (one.path && ARRAY_ADD(to->v, to->n, one) == 0)
        return 0;
    free(one.path);
    return err_oom(err);
}

static int fetch_check_file(const struct models *r, const struct manifest *m, size_t i,
                            struct progress *progress, struct err *err)
{
    AUTO_FS_READER *reader = NULL;
    AUTO_FREE char *path = NULL;
    int x = fetch_path(r, m, m->files[i].path, &path, err);

    if (x == 0)
        x = models_open_file(r, path, &reader, err);
    return x < 0 ? x : fetch_read(reader, &m->files[i], NULL, progress, err);
}

static int fetch_by_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct manifest_file *)file)->path);
}

static bool fetch_knows(const struct manifest *m, const char *path)
{
    return str_eq(path, LAYOUT_MANIFEST) ||
           bsearch(path, m->files, m->n, sizeof(m->files[0]), fetch_by_path);
}

/* Files that nobody pushed: somebody put them there. */
static int fetch_check_strays(const struct models *r, const struct manifest *m,
                              struct fetch_problems *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_STRS dirs = { 0 };
    int x = fetch_path(r, m, "", &dir, err);

    if (x == 0 && strs_add(&dirs, dir) < 0)
        x = err_oom(err);
    for (size_t i = 0; x == 0 && i < dirs.n; i++) {
        AUTO_FS_LIST *list = NULL;
        const struct fs_entry *e;

        x = fs_list_open(r->fs, dirs.v[i], &list, err);
        while (x == 0 && (x = fs_list_next(list, &e, err)) > 0) {
            const char *path = e->path + strlen(dir) + 1;

            x = 0;
            if (e->type == FS_DIRECTORY && !model_store_is_link(r->fs, e->path))
                x = strs_add(&dirs, e->path) < 0 ? err_oom(err) : 0;
            else if (!fetch_knows(m, path))
                x = fetch_complain(ret, path, "not in the manifest", err);
        }
    }
    return x;
}

/* What is wrong with one file is noted, and the next one is read; only what would fail for all of
 * them (memory, a signal, a cluster that is away) ends it. */
int fetch_verify(const struct models *r, const struct manifest *m, struct progress *progress,
                 struct fetch_problems *ret, struct err *err)
{
    int x = 0;

    for (size_t i = 0; x == 0 && i < m->n; i++) {
        struct err one = ERR_INIT;
        int is = fetch_check_file(r, m, i, progress, &one);

        if (is == -ENOENT)
            x = fetch_complain(ret, m->files[i].path, "missing", err);
        else if (is == -EBADMSG)
            x = fetch_complain(ret, m->files[i].path, "not a file", err);
        else if (is == -EIO)
            x = fetch_complain(ret, m->files[i].path, "cannot be read", err);
        else if (is == 0)
            x = fetch_complain(ret, m->files[i].path, "changed", err);
        else if (is < 0) {
            x = is;
            if (err)
                *err = one;
        }
    }
    return x < 0 ? x : fetch_check_strays(r, m, ret, err);
}
