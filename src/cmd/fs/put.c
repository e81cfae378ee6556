/* put.c - `ydl fs put`: from this machine to the cluster. */
#include "base/path.h"
#include "cmd/fs/transfer.h"
#include "cmd/fs/verbs.h"

#include <string.h>

struct args {
    bool recursive, force;
    unsigned jobs;
    unsigned replication;
    uint64_t block_size;
};

#define AT(field) offsetof(struct args, field)

static int put_stdin(struct copy *c, const struct target *t, struct err *err)
{
    if (t->directory) {
        err_set(err, -EISDIR, "'%s' is a directory", t->operand);
        err_hint(err, "standard input has no name: give the path of the new file");
        return -EISDIR;
    }
    return copy_operand(c, t, NULL, "", err);
}

static int put_operand(struct copy *c, const struct target *t, const char *operand, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int r;

    if (strcmp(operand, "-") == 0)
        return put_stdin(c, t, err);
    r = files_find(c->files, operand, FS_ON_LOCAL, &c->from, &path, err);
    if (r < 0)
        return r;
    if (!fs_is_local(c->from)) {
        err_set(err, -EINVAL, "'%s' is not on this machine", operand);
        err_hint(err,
                 "put copies from this machine to the cluster; use get for the other direction");
        return -EINVAL;
    }
    r = fs_stat(c->from, path, &e, err);
    return r < 0 ? r : copy_operand(c, t, &e, target_name(operand, e.name), err);
}

/* Where the temporary names of this copy will be. */
static void remove_stale(struct copy *c, const struct target *t)
{
    AUTO_FREE char *above = t->directory ? NULL : path_dir(t->path);

    if (t->directory || above)
        copy_remove_stale(c, t->directory ? t->path : above);
}

static int put_work(struct files *f, struct err *err)
{
    const struct args *a = files_args(f);
    const struct cli *c = f->x->cli;
    size_t n = c->n_operands > 1 ? c->n_operands - 1 : 1;
    const char *last = c->n_operands > 1 ? c->operands[n] : ".";
    struct copy copy = {
        .files = f,
        .recursive = a->recursive,
        .force = a->force,
        .at_once = a->jobs ? a->jobs : 1,
        .options = { .mode = FS_MODE_DEFAULT,
                     .replication = a->replication,
                     .block_size = a->block_size },
    };
    AUTO_TARGET t = { 0 };
    int r = target_find(f, last, FS_ON_CLUSTER, n > 1, &t, err);

    if (r < 0)
        return files_failed(f, last, r, err);
    copy.to = t.fs;
    remove_stale(&copy, &t);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = files_outcome(f, c->operands[i], put_operand(&copy, &t, c->operands[i], err), err);
    return r;
}

/* clang-format off */
const struct cli_verb verb_fs_put = {
    .name = "put", .summary = "copy files from this machine to the cluster",
    .operands = "SOURCE… [TARGET]", .least = 1, .most = CLI_ANY, .complete = CLI_FILES,
    .ask = "Which file?", FILES_VERB(put_work, "copies"),
    .text = "Copies files, and with -r directories, from this machine. If TARGET is a directory, "
            "they are copied into it under their own names; the default is your home directory. "
            "'-' is standard input.\n\n"
            "Files and new directories appear under their final names only when they are "
            "complete. A copy that fails or is interrupted leaves nothing behind. A copy that is "
            "killed leaves .NAME.ydl-….tmp, which the next put to that directory removes after a "
            "day.",
    CLI_OPTS(struct args,
        { "recursive", 'r', CLI_FLAG, AT(recursive), NULL, NULL, "copy directories recursively" },
        { "force", 'f', CLI_FLAG, AT(force), NULL, NULL, "replace existing files" },
        { "jobs", 'j', CLI_COUNT, AT(jobs), "16", "N", "copy up to N small files at a time" },
        { "replication", 0, CLI_COUNT, AT(replication), NULL, "N", "number of replicas",
          .fallback = "as the cluster is configured" },
        { "block-size", 0, CLI_SIZE, AT(block_size), NULL, "SIZE", "block size",
          .fallback = "as the cluster is configured" }),
    CLI_EXAMPLES({ "ydl fs put train.py data.csv /jobs/7/", "copy two files into a directory" },
                 { "ydl fs put -r mnist /data/mnist", "copy a directory" },
                 { "zcat log.gz | ydl fs put - /logs/log", "copy from a pipe" }),
};
/* clang-format on */
