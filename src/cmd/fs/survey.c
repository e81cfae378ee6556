/* survey.c - a look at what is to be copied, and the frame around one copy; see transfer.h. */
#include "cmd/fs/fs_show.h"
#include "cmd/fs/transfer_private.h"

#include <string.h>
#include <unistd.h>

static int survey_file(void *arg, const struct tree_item *e, struct err *err)
{
    uint64_t *bytes = arg;

    if (e->type == FS_OTHER)
        return err_set(err, -EINVAL, "'%s' is not a file: a device, a socket or a pipe", e->path);
    if (e->type == FS_SYMLINK)
        return err_set(err, -ENOENT, "'%s' is a broken symbolic link", e->path);
    if (access(e->path, R_OK) < 0)
        return err_sys(err, "read '%s'", e->path);
    *bytes += e->length;
    return 0;
}

/* How much there is to copy: adds to *bytes. On this machine it also looks whether everything can
 * be read and is a file, so that this is known before the first byte is sent. */
static int copy_survey(struct copy *c, const struct fs_entry *source, uint64_t *bytes,
                       struct err *err)
{
    const struct tree_walk walk = { .root = source->path,
                                    .links = TREE_LINKS_FOLLOW,
                                    .depth = COPY_DEPTH_MOST,
                                    .arg = bytes,
                                    .on_file = survey_file };
    struct fs_summary sum = { 0 };

    if (source->type != FS_DIRECTORY) {
        *bytes += source->length;
        return 0;
    }
    if (fs_is_local(c->from))
        return tree_walk_local(&walk, err);
    /* Only for the progress line: whoever may not count it may still read it. */
    if (c->progress && fs_summary(c->from, source->path, &sum, NULL) == 0)
        *bytes += sum.length;
    return 0;
}

static int copy_tell(struct copy *c, const struct fs_entry *source, const char *to, int64_t ms,
                     struct err *err)
{
    const char *from = source ? source->path : "-";
    char size[SHOW_SIZE], clean[2][1024];
    json_t *v = NULL;

    if (c->files->doc.on) {
        (void)json_make(&v, NULL, "{s:o, s:o, s:I, s:I, s:I}", "source", json_text(from), "target",
                        json_text(to), "files", (json_int_t)c->n_files, "bytes",
                        (json_int_t)c->bytes, "ms", (json_int_t)ms);
        return doc_add(&c->files->doc, v, err);
    }
    if (c->files->x->globals->verbose) {
        str_clean(clean[0], sizeof(clean[0]), from);
        str_clean(clean[1], sizeof(clean[1]), to);
        printf("'%s' -> '%s', %llu files, %s\n", clean[0], clean[1], (unsigned long long)c->n_files,
               show_size(c->bytes, true, size));
    }
    return 0;
}

static int transfer(struct copy *c, const struct fs_entry *source, const struct place *to,
                    struct err *err)
{
    const struct globals *g = c->files->x->globals;
    uint64_t total = 0;
    int r = progress_begin(source ? source->name : "-", source ? source->length : 0,
                           g->quiet || g->json, &c->progress, err);

    if (r == 0 && source)
        r = copy_survey(c, source, &total, err);
    if (r == 0 && source) {
        progress_total(c->progress, total);
        r = copy_entry(c, source, to, err);
    } else if (r == 0) {
        r = copy_stream(c, STDIN_FILENO, to, err);
    }
    c->progress = progress_end(c->progress);
    return r;
}

int copy_operand(struct copy *c, const struct target *t, const struct fs_entry *source,
                 const char *name, struct err *err)
{
    struct loop *l = c->files->x->loop;
    int64_t begin = loop_now(l);
    struct place to = { 0 };
    AUTO_FREE char *path = NULL;
    int r = target_place(t, name, &to, err);

    path = to.path;
    c->bytes = c->n_files = 0;
    if (r == 0)
        r = transfer(c, source, &to, err);
    return r < 0 ? r : copy_tell(c, source, path, loop_now(l) - begin, err);
}
