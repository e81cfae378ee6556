/* rm.c - `ydl fs rm`: deleting, for good. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/guard.h"
#include "cmd/fs/verbs.h"

struct args {
    bool recursive, force, even_home;
};

#define AT(field) offsetof(struct args, field)

static int rm_check(const struct args *a, const struct files_item *item, struct err *err)
{
    struct guard g = { .home = fs_home(item->fs),
                       .homes_beside = !fs_is_local(item->fs),
                       .even_home = a->even_home };
    const char *path = item->entry->path;

    if (item->entry->type == FS_DIRECTORY && !a->recursive) {
        err_set(err, -EISDIR, "'%s' is a directory", path);
        err_hint(err, "use -r to delete directories");
        return -EISDIR;
    }
    return guard_delete(&g, path, err);
}

static int rm_delete(struct files *f, const struct files_item *item, struct err *err)
{
    const struct args *a = files_args(f);
    json_t *v = NULL;
    int r = rm_check(a, item, err);

    if (r == 0)
        r = fs_delete(item->fs, item->entry->path, a->recursive, err);
    if (r == -ENOENT && a->force) { /* somebody was quicker */
        err_clear(err);
        return 0;
    }
    if (r < 0 || !f->doc.on)
        return r;
    (void)json_make(&v, NULL, "{s:o}", "path", json_text(item->entry->path));
    return doc_add(&f->doc, v, err);
}

static int rm_work(struct files *f, struct err *err)
{
    const struct args *a = files_args(f);

    f->missing_is_fine = a->force;
    return files_each(f, f->x->cli->operands, f->x->cli->n_operands, rm_delete, err);
}

/* clang-format off */
const struct cli_verb verb_fs_rm = {
    .name = "rm", .summary = "delete files and directories", .operands = "PATH…", .least = 1,
    .most = CLI_ANY, .ask = "Which file?", FILES_VERB(rm_work, "removed"),
    .text = "Deletes files, and with -r directories, at once: nothing is moved to a trash "
            "directory. The root directory is never deleted; your home directory, those of other "
            "users, and directories above them only with --even-home.",
    CLI_OPTS(struct args,
        { "recursive", 'r', CLI_FLAG, AT(recursive), NULL, NULL, "delete directories recursively" },
        { "force", 'f', CLI_FLAG, AT(force), NULL, NULL, "ignore files that do not exist" },
        { "even-home", 0, CLI_FLAG, AT(even_home), NULL, NULL,
          "delete even home directories and those above them" }),
    CLI_EXAMPLES({ "ydl fs rm -r /tmp/scratch '/out/_temporary*'",
                   "delete a directory, and everything that matches" }),
};
/* clang-format on */
