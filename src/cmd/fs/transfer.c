/* transfer.c - one file from one file system to another, whole or not at all.
 *
 *     create a temporary file ──► bytes ──► rename; or, on any failure, delete
 *
 * Creating and renaming are shielded from an interruption: a call that was cut off might still be
 * carried out, and leave a file that nobody knows of. Trees are in fs_tree.c. See transfer.h. */
#include "cmd/fs/transfer.h"
#include "cmd/fs/transfer_private.h"
#include "loop/fiber.h"

#include <stdio.h>
#include <string.h>

/* A server keeps what is not confirmed yet, and so do we: as much as a few large files have. */
#define MEMORY (12 * MIB)

static int copy_on_bytes(void *arg, uint64_t n)
{
    struct copy *c = arg;

    c->bytes += n;
    progress_add(c->progress, n);
    return 0;
}

struct tree_copy copy_how(struct copy *c)
{
    return (struct tree_copy){ .loop = c->files->x->loop,
                               .from = c->from,
                               .to = c->to,
                               .how = c->options,
                               .most = { .at_once = c->at_once, .memory = MEMORY },
                               .depth = COPY_DEPTH_MOST,
                               .whole_calls = true,
                               .arg = c,
                               .on_bytes = copy_on_bytes };
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

static int copy_create(struct tree_copy *t, const char *path, bool parents, struct fs_writer **ret,
                       struct err *err)
{
    int r;

    t->how.parents = parents;
    r = tree_create(t, path, ret, err);
    if (r == -ENOENT && !parents)
        err_hint(err, "make the directory first: %smkdir -p", fs_is_local(t->to) ? "" : "ydl fs ");
    return r;
}

int copy_plain(struct copy *c, const char *from, const char *to, bool parents, struct err *err)
{
    struct tree_copy t = copy_how(c);
    AUTO_FS_WRITER *w = NULL;
    int r = copy_create(&t, to, parents, &w, err);

    if (r == 0)
        r = tree_copy_content(&t, from, w, err);
    if (r < 0)
        return r;
    r = fs_close(take(w), err);
    c->n_files += r == 0;
    return r;
}

int copy_atomic(struct copy *c, const char *from, const char *to, bool parents, struct err *err)
{
    AUTO_FREE char *tmp = NULL;
    int r = target_temporary(to, &tmp, err);

    if (r < 0)
        return r;
    r = copy_plain(c, from, tmp, parents, err);
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
    return r < 0 ? r : copy_atomic(c, source->path, to->path, false, err);
}

static int stream_in(struct copy *c, int fd, const char *tmp, struct err *err)
{
    struct tree_copy t = copy_how(c);
    AUTO_FS_WRITER *w = NULL;
    int r = copy_create(&t, tmp, false, &w, err);

    if (r == 0)
        r = tree_copy_fd(&t, fd, w, err);
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
