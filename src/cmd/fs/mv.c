/* mv.c - `ydl fs mv`: other names for files and directories. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/guard.h"
#include "cmd/fs/target.h"
#include "cmd/fs/verbs.h"

#include <string.h>

struct args {
    bool force;
};

static int mv_check(const char *from, const struct place *to, bool force, struct err *err)
{
    if (strcmp(from, to->path) == 0)
        return err_set(err, -EINVAL, "'%s' already has that name", from);
    if (guard_within(to->path, from))
        return err_set(err, -EINVAL, "'%s' cannot be moved into itself, to '%s'", from, to->path);
    if (to->directory)
        return err_set(err, -EEXIST, "the directory '%s' exists already", to->path);
    if (to->exists && !force) {
        err_set(err, -EEXIST, "'%s' exists already", to->path);
        err_hint(err, "use -f to replace it");
        return -EEXIST;
    }
    return 0;
}

static int move_entry(struct files *f, const struct target *t, const struct files_item *item,
                      struct err *err)
{
    const struct args *a = files_args(f);
    const char *from = item->entry->path;
    struct place to = { 0 };
    AUTO_FREE char *path = NULL;
    json_t *v = NULL;
    int r;

    if (item->fs != t->fs) {
        err_set(err, -EXDEV, "'%s' and '%s' are on different file systems", item->operand,
                t->operand);
        err_hint(err, "copy it with put or get, then delete it");
        return -EXDEV;
    }
    r = target_place(t, item->entry->name, &to, err);
    path = to.path;
    if (r == 0)
        r = mv_check(from, &to, a->force, err);
    if (r == 0)
        r = fs_rename(t->fs, from, path, a->force, err);
    if (r < 0 || !f->doc.on)
        return r;
    (void)json_make(&v, NULL, "{s:o, s:o}", "source", json_text(from), "target", json_text(path));
    return doc_add(&f->doc, v, err);
}

static int move_operand(struct files *f, const struct target *t, const char *operand,
                        struct err *err)
{
    AUTO_FS_ENTRIES all = { 0 };
    struct files_item item = { .operand = operand };
    int r = files_expand(f, operand, &item.fs, &all, err);

    if (r == 0 && all.n > 1 && !t->directory)
        r = err_set(err, -ENOTDIR, "'%s' matches %zu files, but '%s' is not a directory", operand,
                    all.n, t->operand);
    if (r < 0)
        return files_failed(f, operand, r, err);
    for (size_t i = 0; r == 0 && i < all.n; i++) {
        item.entry = &all.v[i];
        r = files_outcome(f, operand, move_entry(f, t, &item, err), err);
    }
    return r;
}

static int mv_work(struct files *f, struct err *err)
{
    const struct cli *c = f->x->cli;
    size_t n = c->n_operands - 1;
    AUTO_TARGET t = { 0 };
    int r = target_find(f, c->operands[n], FS_ON_CLUSTER, n > 1, &t, err);

    if (r < 0)
        return files_failed(f, c->operands[n], r, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = move_operand(f, &t, c->operands[i], err);
    return r;
}

/* clang-format off */
const struct cli_verb verb_fs_mv = {
    .name = "mv", .summary = "move or rename files and directories", .operands = "SOURCE… TARGET",
    .least = 2, .most = CLI_ANY, FILES_VERB(mv_work, "moved"),
    .text = "Moves files and directories within one file system. If TARGET is a directory, they "
            "are moved into it under their own names. With -f, an existing file is replaced "
            "atomically.",
    CLI_OPTS(struct args,
        { "force", 'f', CLI_FLAG, offsetof(struct args, force), NULL, NULL,
          "replace an existing file" }),
    CLI_EXAMPLES({ "ydl fs mv /out/new.bin /models/best.bin -f", "replace a file atomically" },
                 { "ydl fs mv '/in/*.csv' /done",
                   "move everything that matches into a directory" }),
};
/* clang-format on */
