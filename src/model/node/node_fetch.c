/* node_fetch.c - see node_fetch.h. A file that could not be read goes on where it stopped. */
#include "model/node/node_fetch.h"
#include "base/path.h"
#include "model/layout.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define TELL_MS 200

struct node_copy {
    const struct node_fetch *f;
    const struct manifest_file *file;
    const char *path; /* here */
    int fd;
    struct sha256 *sha;
    uint64_t done; /* of this file */
    uint64_t *all; /* of all files */
    int64_t *told;
    bool local; /* what failed is ours to write, not theirs to read */
};

static void copy_tell(const struct node_copy *c)
{
    const struct node_fetch *f = c->f;
    int64_t now = loop_now(f->source->loop);

    if (now - *c->told < TELL_MS && *c->all < f->m->bytes)
        return;
    *c->told = now;
    f->on_progress(f->user, *c->all, f->m->bytes);
}

static int copy_take(struct node_copy *c, const void *p, size_t n, struct err *err)
{
    int r;

    if (n > c->file->size - c->done)
        return err_set(err, -EBADMSG, "it has more bytes than its manifest says");
    r = sha256_add(c->sha, p, n, err);
    if (r < 0)
        return r;
    r = path_write_fd(c->fd, p, n);
    c->local = r < 0;
    if (r < 0)
        return err_code(err, r, "write '%s'", c->path);
    c->done += n;
    *c->all += n;
    node_source_moved(c->f->source);
    copy_tell(c);
    return 0;
}

/* From where it stopped to the end.
 *
 * The hash goes on, too: bytes that came before the interruption are not read again. */
static int copy_on(struct node_copy *c, struct err *err)
{
    struct node_source *s = c->f->source;
    AUTO_FS_READER *reader = NULL;
    AUTO_FREE char *from = NULL;
    const void *p;
    ssize_t n = 1;
    int r = node_source_open(s, err);

    if (r == 0)
        r = models_path(&s->models, c->f->m->name, &from, err, LAYOUT_VERSIONS "/%lld/%s",
                        (long long)c->f->m->version, c->file->path);
    if (r == 0)
        r = models_open_file(&s->models, from, &reader, err);
    if (r == 0 && fs_length(reader) != c->file->size)
        r = err_set(err, -EBADMSG, "it has %llu bytes, and %llu in its manifest",
                    (unsigned long long)fs_length(reader), (unsigned long long)c->file->size);
    if (r < 0)
        return r;
    fs_seek(reader, c->done);
    while (r == 0 && (n = fs_read_next(reader, &p, 0, err)) > 0)
        r = copy_take(c, p, (size_t)n, err);
    return r < 0 ? r : (int)n;
}

static int copy_check(const struct node_copy *c, struct err *err)
{
    char text[SHA256_TEXT];
    int r = sha256_end(c->sha, text, err);

    if (r < 0 || (c->done == c->file->size && str_eq(text, c->file->sha256)))
        return r;
    return err_set(err, -EBADMSG, "its bytes do not match the manifest");
}

static int copy_bytes(struct node_copy *c, struct err *err)
{
    int r = copy_on(c, err);

    while (r < 0 && !c->local && (r = node_source_retry(c->f->source, r, err)) == 0)
        r = copy_on(c, err);
    return r < 0 ? r : copy_check(c, err);
}

static int copy_file(struct node_copy *c, struct err *err)
{
    AUTO_FREE char *path = path_join(c->f->part, c->file->path);
    AUTO_SHA256 *sha = NULL;
    AUTO_FREE char *dir = path ? path_dir(path) : NULL;
    AUTO_CLOSE int fd = -1;
    int r;

    r = dir ? path_mkdirs(dir, 0700, err) : err_oom(err);
    if (r == 0)
        r = sha256_new(&sha, err);
    if (r < 0)
        return r;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
              c->file->executable ? 0500 : 0400);
    if (fd < 0)
        return err_sys(err, "make '%s'", path);
    c->path = path;
    c->fd = fd;
    c->sha = sha;
    c->done = 0;
    c->local = false;
    return copy_bytes(c, err);
}

static int fetch_failed(const struct node_fetch *f, const char *path, int r, struct err *err)
{
    if (r == -EBADMSG)
        err_hint(err, "'ydl model verify %s:%lld' checks the registry's files", f->m->name,
                 (long long)f->m->version);
    return err_wrap(err, r, "fetch '%s' of %s:%lld", path, f->m->name, (long long)f->m->version);
}

int node_fetch(const struct node_fetch *f, struct err *err)
{
    AUTO_FREE char *manifest = path_join(f->part, LAYOUT_MANIFEST);
    uint64_t all = 0;
    int64_t told = 0;
    int r;

    if (!manifest)
        return err_oom(err);
    r = path_mkdirs(f->part, 0700, err);
    for (size_t i = 0; r == 0 && i < f->m->n; i++) {
        struct node_copy c = {
            .f = f, .file = &f->m->files[i], .fd = -1, .all = &all, .told = &told
        };

        r = copy_file(&c, err);
        if (r < 0)
            return fetch_failed(f, c.file->path, r, err);
    }
    return r < 0 ? r : path_write_new(manifest, f->text->data, f->text->len, 0400, err);
}
