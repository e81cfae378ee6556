/* chmod.c - `ydl fs chmod`: permissions. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/mode.h"
#include "cmd/fs/verbs.h"

struct args {
    bool recursive;
};

static int chmod_change(struct files *f, struct fs *fs, const struct fs_entry *e,
                        const struct mode_change *how, struct err *err)
{
    uint32_t mode = mode_apply(how, e->mode, e->type == FS_DIRECTORY);
    json_t *v = NULL;
    char text[8];
    int r = mode == e->mode ? 0 : fs_chmod(fs, e->path, mode, err);

    if (r < 0 || !f->doc.on || mode == e->mode)
        return r;
    snprintf(text, sizeof(text), "%04o", (unsigned)mode);
    (void)json_make(&v, NULL, "{s:o, s:s}", "path", json_text(e->path), "mode", text);
    return doc_add(&f->doc, v, err);
}

static int change_tree(struct files *f, struct fs *fs, const char *path,
                       const struct mode_change *how, struct err *err);

/* One entry with all that is below it. A directory that we could not look into afterwards is
 * changed last. */
static int change_all(struct files *f, struct fs *fs, const struct fs_entry *borrowed,
                      const struct mode_change *how, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    bool last;
    int r;

    if (borrowed->type != FS_DIRECTORY)
        return chmod_change(f, fs, borrowed, how, err);
    if (fs_entry_copy(&e, borrowed) < 0)
        return err_oom(err);
    last = (mode_apply(how, e.mode, true) & 0500) != 0500;
    r = last ? 0 : chmod_change(f, fs, &e, how, err);
    if (r == 0)
        r = change_tree(f, fs, e.path, how, err);
    return r == 0 && last ? chmod_change(f, fs, &e, how, err) : r;
}

static int change_tree(struct files *f, struct fs *fs, const char *path,
                       const struct mode_change *how, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(fs, path, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        r = files_outcome(f, path, change_all(f, fs, e, how, err), err);
    }
    return r;
}

static int change_item(struct files *f, const struct files_item *item, struct err *err)
{
    const struct args *a = files_args(f);
    struct mode_change how;
    int r = mode_parse(f->x->cli->operands[0], &how, err);

    if (r < 0)
        return r;
    if (a->recursive)
        return change_all(f, item->fs, item->entry, &how, err);
    return chmod_change(f, item->fs, item->entry, &how, err);
}

static int chmod_work(struct files *f, struct err *err)
{
    return files_each(f, f->x->cli->operands + 1, f->x->cli->n_operands - 1, change_item, err);
}

static int chmod_run(struct cli *c, struct err *err)
{
    struct mode_change how;

    if (mode_parse(c->operands[0], &how, err) < 0) {
        cli_bad(err, "'%s' is not a mode", c->operands[0]);
        err_hint(err, "write it in octal (644, 1777) or like u+x,go-w or a=rX");
        return CLI_USAGE;
    }
    return files_run(c, err);
}

/* clang-format off */
const struct cli_verb verb_fs_chmod = {
    .name = "chmod", .summary = "change permissions", .operands = "MODE PATH…", .least = 2,
    .most = CLI_ANY, .ask = "Which mode and files?", .run = chmod_run,
    .work = CLI_WORK(files_fn, chmod_work), .list = "changed",
    .text = "Changes permissions. MODE is octal, or like u+x,go-w: for the owner (u), the group "
            "(g), others (o) or all (a, the default), add (+), remove (-) or set (=) the "
            "permissions to read (r), write (w) and execute (x; X: only directories and files "
            "that somebody may execute already), setuid and setgid (s), the sticky bit (t), or "
            "those of another class (g=u).\n\n"
            "Put '--' before a MODE that begins with a minus.",
    CLI_OPTS(struct args,
        { "recursive", 'R', CLI_FLAG, offsetof(struct args, recursive), NULL, NULL,
          "change directories recursively" }),
    CLI_EXAMPLES({ "ydl fs chmod 750 /data/private", "set a mode in octal" },
                 { "ydl fs chmod -R go+rX /models",
                   "let everybody read files and enter directories" }),
};
/* clang-format on */
