/* get.c - `ydl fs get`: from the cluster to this machine. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/transfer.h"
#include "cmd/fs/verbs.h"

#include <string.h>

struct args {
    bool recursive, force;
    unsigned jobs;
};

#define AT(field) offsetof(struct args, field)

/* ---- to standard output ---- */

static int get_on_progress(void *arg, uint64_t done)
{
    progress_set(arg, done);
    return 0;
}

static int print_content(struct files *f, const struct files_item *item, struct err *err)
{
    AUTO_PROGRESS *progress = NULL;
    AUTO_FS_READER *r = NULL;
    int x = fs_open(item->fs, item->entry->path, &r, err);

    if (x == 0)
        x = progress_begin(item->entry->name, item->entry->length,
                           f->x->globals->quiet || isatty(STDOUT_FILENO), &progress, err);
    return x < 0 ? x : files_to_stdout(r, get_on_progress, progress, err);
}

/* ---- to files ---- */

static int get_operand(struct copy *c, const struct target *t, const char *operand, struct err *err)
{
    AUTO_FS_ENTRIES all = { 0 };
    int r = files_expand(c->files, operand, &c->from, &all, err);

    if (r == 0 && all.n > 1 && !t->directory)
        r = err_set(err, -ENOTDIR, "'%s' matches %zu files, but '%s' is not a directory", operand,
                    all.n, t->operand);
    for (size_t i = 0; r == 0 && i < all.n; i++)
        r = files_outcome(c->files, operand,
                          copy_operand(c, t, &all.v[i], target_name(operand, all.v[i].name), err),
                          err);
    return r;
}

static int get_files(struct files *f, char *const *sources, size_t n, const char *last,
                     struct err *err)
{
    const struct args *a = files_args(f);
    struct copy copy = {
        .files = f,
        .recursive = a->recursive,
        .force = a->force,
        .at_once = a->jobs ? a->jobs : 1,
        .options = { .mode = FS_MODE_DEFAULT },
    };
    AUTO_TARGET t = { 0 };
    int r = target_find(f, last, FS_ON_LOCAL, n > 1, &t, err);

    if (r == 0 && !fs_is_local(t.fs)) {
        r = err_set(err, -EINVAL, "'%s' is not on this machine", last);
        err_hint(err,
                 "get copies from the cluster to this machine; use put for the other direction");
    }
    if (r < 0)
        return files_failed(f, last, r, err);
    copy.to = t.fs;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = files_outcome(f, sources[i], get_operand(&copy, &t, sources[i], err), err);
    return r;
}

static int get_work(struct files *f, struct err *err)
{
    const struct cli *c = f->x->cli;
    size_t n = c->n_operands > 1 ? c->n_operands - 1 : 1;
    const char *last = c->n_operands > 1 ? c->operands[n] : ".";

    if (strcmp(last, "-") != 0)
        return get_files(f, c->operands, n, last, err);
    f->doc.on = false; /* standard output is the files' */
    return files_each(f, c->operands, n, print_content, err);
}

/* clang-format off */
const struct cli_verb verb_fs_get = {
    .name = "get", .summary = "copy files from the cluster to this machine",
    .operands = "SOURCE… [TARGET]", .least = 1, .most = CLI_ANY, .ask = "Which file?",
    FILES_VERB(get_work, "copies"),
    .text = "Copies files, and with -r directories, to this machine. If TARGET is a directory, "
            "they are copied into it under their own names; the default is the current directory. "
            "'-' is standard output.\n\n"
            "Files and new directories appear under their final names only when they are "
            "complete. A copy that fails or is interrupted leaves nothing behind.",
    CLI_OPTS(struct args,
        { "recursive", 'r', CLI_FLAG, AT(recursive), NULL, NULL, "copy directories recursively" },
        { "force", 'f', CLI_FLAG, AT(force), NULL, NULL, "replace existing files" },
        { "jobs", 'j', CLI_COUNT, AT(jobs), "16", "N", "copy up to N small files at a time" }),
    CLI_EXAMPLES({ "ydl fs get /models/best.bin", "copy a file to the current directory" },
                 { "ydl fs get -r '/out/run-*' results/", "copy all directories that match" },
                 { "ydl fs get /data/x.tar - | tar x", "unpack an archive while it arrives" }),
};
/* clang-format on */
