/* mkdir.c - `ydl fs mkdir`: new directories. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/mode.h"
#include "cmd/fs/verbs.h"

struct args {
    bool parents;
    const char *mode;
};

static int mkdir_make(struct files *f, const char *operand, uint32_t mode, struct err *err)
{
    const struct args *a = files_args(f);
    AUTO_FREE char *path = NULL;
    json_t *v = NULL;
    struct fs *fs;
    int r = files_find(f, operand, FS_ON_CLUSTER, &fs, &path, err);

    if (r == 0)
        r = fs_mkdirs(fs, path, mode, a->parents, err);
    if (r < 0 || !f->doc.on)
        return r;
    (void)json_make(&v, NULL, "{s:o}", "path", json_text(path));
    return doc_add(&f->doc, v, err);
}

static int mkdir_work(struct files *f, struct err *err)
{
    const struct args *a = files_args(f);
    const struct cli *c = f->x->cli;
    uint32_t mode = FS_MODE_DEFAULT;
    struct mode_change change;
    int r = 0;

    if (a->mode) {
        if (mode_parse(a->mode, &change, err) < 0)
            return cli_bad(err, "--mode: '%s' is not a mode", a->mode);
        mode = mode_apply(&change, 0777, true);
    }
    for (size_t i = 0; r == 0 && i < c->n_operands; i++)
        r = files_outcome(f, c->operands[i], mkdir_make(f, c->operands[i], mode, err), err);
    return r;
}

/* clang-format off */
const struct cli_verb verb_fs_mkdir = {
    .name = "mkdir", .summary = "make directories", .operands = "PATH…", .least = 1,
    .most = CLI_ANY, .ask = "Which directory?", FILES_VERB(mkdir_work, "made"),
    CLI_OPTS(struct args,
        { "parents", 'p', CLI_FLAG, offsetof(struct args, parents), NULL, NULL,
          "make parent directories as needed; no error if it exists" },
        { "mode", 'm', CLI_TEXT, offsetof(struct args, mode), NULL, "MODE",
          "permissions, in octal or like a+rx", .fallback = "by the umask" }),
    CLI_EXAMPLES({ "ydl fs mkdir -p /data/mnist/raw", "make a directory and its parents" }),
};
/* clang-format on */
