/* publish_same.c - see publish_same.h. Names and sizes first, which costs nothing; then bytes, up
 * to the first file that differs. */
#include "model/publish_same.h"
#include "base/str.h"
#include "cli/progress.h"
#include "loop/fiber.h"
#include "model/layout.h"

#include <stdio.h>
#include <string.h>

struct same {
    struct loop *loop;
    const struct manifest *m;
    struct progress *progress;
};

/* Have the files those names and sizes from the manifest's file `at` on? */
static bool same_names(const struct manifest *m, size_t at, const char *prefix,
                       const struct model_files *files)
{
    size_t n = strlen(prefix);

    if (files->n > m->n - at)
        return false;
    for (size_t i = 0; i < files->n; i++) {
        const struct manifest_file *f = &m->files[at + i];

        if (f->size != files->v[i].size || !str_starts(f->path, prefix) || f->path[n] != '/' ||
            !str_eq(f->path + n + 1, files->v[i].path))
            return false;
    }
    return true;
}

static int same_hash(const struct same *s, struct model_reader *from, char ret[SHA256_TEXT],
                     struct err *err)
{
    AUTO_SHA256 *sha = NULL;
    int r = sha256_new(&sha, err);

    while (r == 0) {
        const void *p;
        ssize_t n = model_reader_next(from, &p, err);

        if (n <= 0)
            return n < 0 ? (int)n : sha256_end(sha, ret, err);
        r = sha256_add(sha, p, (size_t)n, err);
        progress_add(s->progress, (uint64_t)n);
        if (r == 0 && fiber_yield(s->loop) < 0) /* a local disk lets nobody else run */
            r = err_set(err, -ECANCELED, "interrupted");
    }
    return r;
}

/* 1: they are the same bytes. */
static int same_bytes(const struct same *s, size_t at, const struct model_files *files,
                      struct err *err)
{
    int r = 1;

    for (size_t i = 0; r == 1 && i < files->n; i++) {
        AUTO(model_reader) struct model_reader *reader = NULL;
        char hash[SHA256_TEXT];

        progress_label(s->progress, files->v[i].path);
        r = model_reader_open(files, &files->v[i], &reader, err);
        if (r == 0)
            r = same_hash(s, reader, hash, err);
        if (r == 0)
            r = str_eq(hash, s->m->files[at + i].sha256);
    }
    return r;
}

static int same_files(const struct models *r, const struct model_publish *what,
                      const struct model_files *files, const struct manifest *m, struct err *err)
{
    AUTO_MODEL_FILES warmup = { 0 };
    AUTO_PROGRESS *progress = NULL;
    struct same s = { .loop = r->loop, .m = m };
    int x = 0;

    if (!same_names(m, 0, LAYOUT_MODEL, files))
        return 0;
    if (what->warmup)
        x = model_files_find(r->set, what->warmup, &warmup, err);
    if (x < 0 || files->n + warmup.n != m->n || !same_names(m, files->n, LAYOUT_WARMUP, &warmup))
        return x;
    x = progress_begin(what->name, m->bytes, what->quiet, &progress, err);
    s.progress = progress;
    if (x == 0)
        x = same_bytes(&s, 0, files, err);
    return x == 1 ? same_bytes(&s, files->n, &warmup, err) : x;
}

int publish_same(const struct models *r, const struct model_publish *what,
                 const struct model_files *files, struct manifest *ret, struct err *err)
{
    struct model_ref ref = { .version = what->version };
    AUTO_MANIFEST m = { 0 };
    int x;

    (void)snprintf(ref.name, sizeof(ref.name), "%s", what->name);
    x = models_find(r, &ref, &m, err);
    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    if (x == 0)
        x = same_files(r, what, files, &m, err);
    if (x == 1) {
        *ret = m;
        m = (struct manifest){ 0 };
    }
    return x;
}
