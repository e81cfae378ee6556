/* transfer.c - one file from one file system to another, whole or not at all.
 *
 *     create a temporary file ──► bytes ──► rename; or, on any failure, delete
 *
 * Creating and renaming are shielded from an interruption: a call that was cut off might still be
 * carried out, and leave a file that nobody knows of. Trees are in fs_tree.c. See transfer.h. */
#include "cmd/fs/transfer.h"
#include "cmd/fs/transfer_private.h"
#include "loop/fiber.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ---- bytes ---- */

struct meter {
    struct copy *copy;
    uint64_t done;
};

static int copy_on_progress(void *arg, uint64_t done)
{
    struct meter *m = arg;

    m->copy->bytes += done - m->done;
    progress_add(m->copy->progress, done - m->done);
    m->done = done;
    return 0;
}

static int copy_reader(struct meter *m, struct fs_reader *r, struct fs_writer *w, struct err *err)
{
    const void *p;
    ssize_t n;
    int x;

    for (;;) {
        n = fs_read_next(r, &p, 0, err);
        if (n <= 0)
            return (int)n;
        x = fs_write(w, p, (size_t)n, err);
        if (x < 0)
            return x;
        copy_on_progress(m, m->done + (uint64_t)n);
    }
}

static int copy_local(struct meter *m, const char *path, struct fs_writer *w, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    return fs_copy_in(w, fd, copy_on_progress, m, err);
}

static int copy_content(struct copy *c, const struct fs_entry *source, struct fs_writer *w,
                        struct err *err)
{
    struct meter m = { .copy = c };
    AUTO_FS_READER *r = NULL;
    int x;

    if (fs_is_local(c->from))
        return copy_local(&m, source->path, w, err);
    x = fs_open(c->from, source->path, &r, err);
    return x < 0 ? x : copy_reader(&m, r, w, err);
}

/* ---- names ---- */

int copy_commit(struct copy *c, const char *from, const char *to, bool replace, struct err *err)
{
    struct loop *l = c->files->x->loop;
    int r = fiber_cancelled(l) ? err_set(err, -ECANCELED, "interrupted") : 0;

    fiber_shield(l, true);
    if (r == 0)
        r = fs_rename(c->to, from, to, replace, err);
    if (r < 0)
        (void)fs_delete(c->to, from, true, NULL);
    fiber_shield(l, false);
    return r;
}

/* The user knows the target, not the temporary name that stands for it in `err`. */
void copy_name_target(struct err *err, const char *tmp, const char *target)
{
    char text[sizeof(err->text)];
    char *at = strstr(err->text, tmp);

    if (!at)
        return;
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - err->text), err->text, target,
             at + strlen(tmp));
    memcpy(err->text, text, sizeof(text));
}

/* Shielded: a call that is cut off may still be carried out by the server, and then nobody would
 * know of the file. It is short, and the next wait notices the cancellation. */
static int copy_create(struct copy *c, const char *path, bool parents, struct fs_writer **ret,
                       struct err *err)
{
    struct loop *l = c->files->x->loop;
    struct fs_create options = c->options;
    int r;

    if (fiber_cancelled(l))
        return err_set(err, -ECANCELED, "interrupted");
    options.parents = parents;
    fiber_shield(l, true);
    r = fs_create(c->to, path, &options, ret, err);
    fiber_shield(l, false);
    if (r == -ENOENT && !parents)
        err_hint(err, "make the directory first: %smkdir -p", fs_is_local(c->to) ? "" : "ydl fs ");
    return r;
}

int copy_plain(struct copy *c, const struct fs_entry *source, const char *to, bool parents,
               struct err *err)
{
    AUTO_FS_WRITER *w = NULL;
    int r = copy_create(c, to, parents, &w, err);

    if (r == 0)
        r = copy_content(c, source, w, err);
    if (r < 0)
        return r;
    r = fs_close(take(w), err);
    c->n_files += r == 0;
    return r;
}

int copy_atomic(struct copy *c, const struct fs_entry *source, const char *to, bool parents,
                struct err *err)
{
    AUTO_FREE char *tmp = NULL;
    int r = target_temporary(to, &tmp, err);

    if (r < 0)
        return r;
    r = copy_plain(c, source, tmp, parents, err);
    if (r == 0)
        r = copy_commit(c, tmp, to, c->force, err);
    if (r < 0)
        copy_name_target(err, tmp, to);
    return r;
}

/* ---- the interface ---- */

static int copy_in_the_way(const struct copy *c, const struct place *to, struct err *err)
{
    if (to->directory)
        return err_set(err, -EISDIR, "'%s' is a directory: a file cannot replace it", to->path);
    if (!to->exists || c->force)
        return 0;
    err_set(err, -EEXIST, "'%s' exists already", to->path);
    err_hint(err, "use -f to replace it");
    return -EEXIST;
}

int copy_entry(struct copy *c, const struct fs_entry *source, const struct place *to,
               struct err *err)
{
    int r;

    if (source->type == FS_DIRECTORY)
        return copy_tree(c, source, to, err);
    r = copy_in_the_way(c, to, err);
    return r < 0 ? r : copy_atomic(c, source, to->path, false, err);
}

static int stream_in(struct copy *c, int fd, const char *tmp, struct err *err)
{
    struct meter m = { .copy = c };
    AUTO_FS_WRITER *w = NULL;
    int r = copy_create(c, tmp, false, &w, err);

    if (r == 0)
        r = fs_copy_in(w, fd, copy_on_progress, &m, err);
    /* Ctrl-C ends the program before the pipe as well. Its end must not be taken for the end of the
     * data: the loop gets a turn to notice our own signal. */
    if (r == 0 && fiber_yield(c->files->x->loop) < 0)
        r = err_set(err, -ECANCELED, "interrupted");
    return r < 0 ? r : fs_close(take(w), err);
}

int copy_stream(struct copy *c, int fd, const struct place *to, struct err *err)
{
    AUTO_FREE char *tmp = NULL;
    int r = copy_in_the_way(c, to, err);

    if (r < 0)
        return r;
    r = target_temporary(to->path, &tmp, err);
    if (r < 0)
        return r;
    r = stream_in(c, fd, tmp, err);
    c->n_files += r == 0;
    if (r == 0)
        r = copy_commit(c, tmp, to->path, c->force, err);
    if (r < 0)
        copy_name_target(err, tmp, to->path);
    return r;
}
