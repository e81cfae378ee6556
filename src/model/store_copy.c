/* store_copy.c - the files of a model into a directory, hashed on their way. See store.h. */
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/progress.h"
#include "loop/fiber.h"
#include "model/store.h"

void model_store_rows_done(struct model_store_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        free((char *)rows->v[i].path);
    free(rows->v);
    *rows = (struct model_store_rows){ 0 };
}

static int model_store_copy_bytes(const struct model_store_copy *c, struct model_reader *from,
                                  struct fs_writer *w, struct sha256 *s, struct err *err)
{
    for (;;) {
        const void *p;
        ssize_t n = model_reader_next(from, &p, err);
        int r;

        if (n <= 0)
            return (int)n;
        r = sha256_add(s, p, (size_t)n, err);
        if (r == 0)
            r = fs_write(w, p, (size_t)n, err);
        if (r < 0)
            return r;
        progress_add(c->progress, (uint64_t)n);
        r = fiber_yield(c->loop); /* a local disk lets nobody else run */
        if (r < 0)
            return err_set(err, r, "interrupted");
    }
}

static int model_store_copy_file(const struct model_store_copy *c, const struct model_files *from,
                                 const struct model_file *f, struct manifest_file *row,
                                 struct err *err)
{
    const struct fs_create how = { .mode = f->executable ? 0555 : 0444, .parents = true };
    AUTO(model_reader) struct model_reader *reader = NULL;
    AUTO_FREE char *path = path_join(c->dir, row->path);
    AUTO_FS_WRITER *w = NULL;
    AUTO_SHA256 *s = NULL;
    int r = path ? sha256_new(&s, err) : err_oom(err);

    progress_label(c->progress, f->path);
    if (r == 0)
        r = model_reader_open(from, f, &reader, err);
    if (r == 0)
        r = fs_create(c->to, path, &how, &w, err);
    if (r == 0)
        r = model_store_copy_bytes(c, reader, w, s, err);
    if (r == 0)
        r = fs_hflush(w, err);
    if (r == 0)
        r = sha256_end(s, row->sha256, err);
    return r < 0 ? r : fs_close(take(w), err);
}

int model_store_copy(const struct model_store_copy *c, const struct model_files *from,
                     struct model_store_rows *ret, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n; i++) {
        const struct model_file *f = &from->v[i];
        struct manifest_file row = { .size = f->size, .executable = f->executable };
        AUTO_FREE char *path = str_printf("%s/%s", c->prefix, f->path);

        row.path = path;
        if (!path)
            return err_oom(err);
        r = model_store_copy_file(c, from, f, &row, err);
        if (r == 0) {
            r = ARRAY_ADD(ret->v, ret->n, row) < 0 ? err_oom(err) : 0;
            if (r == 0)
                path = NULL;
        }
    }
    return r;
}
