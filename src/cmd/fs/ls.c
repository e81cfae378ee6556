/* ls.c - `ydl fs ls`: what is in directories. */
#include "cli/table.h"
#include "cmd/fs/fs_files.h"
#include "cmd/fs/fs_show.h"
#include "cmd/fs/mode.h"
#include "cmd/fs/mounts.h"
#include "cmd/fs/verbs.h"

struct args {
    bool recursive, directory, human;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct table_column columns[] = {
    { NULL, false }, { NULL, true  }, { NULL, false }, { NULL, false },
    { NULL, true  }, { NULL, false }, { NULL, false },
};
/* clang-format on */

static void ls_add_row(struct table *t, const struct fs_entry *e, bool human)
{
    char mode[MODE_TEXT], size[SHOW_SIZE], time[SHOW_TIME];

    table_cell(t, "%s", mode_text(e, mode));
    if (e->replication)
        table_cell(t, "%u", (unsigned)e->replication);
    else
        table_cell(t, "-");
    table_cell(t, "%s", e->owner);
    table_cell(t, "%s", e->group);
    table_cell(t, "%s", show_size(e->length, human, size));
    table_cell(t, "%s", show_time(e->mtime, time));
    table_cell(t, "%s%s%s", e->path, e->target ? " -> " : "", e->target ? e->target : "");
}

static int show_listed(struct files *f, struct fs *fs, const struct fs_entry *e, void *arg,
                       struct err *err)
{
    const struct args *a = files_args(f);

    (void)fs;
    if (f->doc.on)
        return doc_add(&f->doc, show_entry(e), err);
    ls_add_row(arg, e, a->human);
    return 0;
}

static int list_directory(struct files *f, const struct files_item *item, struct table *t,
                          struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(item->fs, item->entry->path, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0)
        r = show_listed(f, item->fs, e, t, err);
    return r;
}

static int list_item(struct files *f, const struct files_item *item, struct err *err)
{
    const struct args *a = files_args(f);
    AUTO_TABLE t = { 0 };
    int r;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    if (item->entry->type != FS_DIRECTORY || a->directory)
        r = show_listed(f, item->fs, item->entry, &t, err);
    else if (a->recursive)
        r = files_walk(f, item->fs, item->entry->path, show_listed, &t, err);
    else
        r = list_directory(f, item, &t, err);
    if (!f->doc.on) {
        struct err ignored = ERR_INIT;
        int ended = table_end(&t, r < 0 ? &ignored : err);

        r = r < 0 ? r : ended;
    }
    return r;
}

/* A directory that only the mount table has. 0: it is none. */
static int list_mounts(struct files *f, const char *operand, struct err *err)
{
    const struct args *a = files_args(f);
    AUTO_FS_ENTRIES all = { 0 };
    AUTO_TABLE t = { 0 };
    int found, r = 0;

    if (a->directory) {
        all.v = calloc(1, sizeof(*all.v));
        if (!all.v)
            return err_oom(err);
        found = mounts_stat(f, operand, all.v, err);
        all.n = found > 0;
    } else {
        found = mounts_list(f, operand, &all, err);
    }
    if (found <= 0)
        return found;
    table_begin(&t, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; r == 0 && i < all.n; i++)
        r = show_listed(f, NULL, &all.v[i], &t, err);
    if (r == 0 && !f->doc.on)
        r = table_end(&t, err);
    return r < 0 ? r : 1;
}

static int ls_work(struct files *f, struct err *err)
{
    const struct cli *c = f->x->cli;
    int r = 0;

    if (c->n_operands == 0)
        return files_each_or_home(f, list_item, err);
    for (size_t i = 0; r == 0 && i < c->n_operands; i++) {
        r = list_mounts(f, c->operands[i], err);
        if (r == 0)
            r = files_each(f, &c->operands[i], 1, list_item, err);
        else if (r < 0)
            r = files_failed(f, c->operands[i], r, err);
        else
            r = 0;
    }
    return r;
}

/* clang-format off */
const struct cli_verb verb_fs_ls = {
    .name = "ls", .summary = "list files", .operands = "[PATH…]", .most = CLI_ANY,
    FILES_VERB(ls_work, "entries"),
    .text = "Lists the content of directories, sorted by name: permissions, replicas, owner, "
            "group, size, modification time and path. The default PATH is your home directory.",
    CLI_OPTS(struct args,
        { "recursive", 'R', CLI_FLAG, AT(recursive), NULL, NULL, "list directories recursively" },
        { "directory", 'd', CLI_FLAG, AT(directory), NULL, NULL,
          "list directories themselves, not their content" },
        { "human", 'h', CLI_FLAG, AT(human), NULL, NULL,
          "print sizes like 1.5 GB instead of bytes" }),
    CLI_EXAMPLES({ "ydl fs ls -h /data", "list /data, with readable sizes" },
                 { "ydl fs ls '/logs/2026-*/*.gz'",
                   "list files that match a pattern on the cluster" },
                 { "ydl fs ls -R --json . | jq -r '.entries[].path'",
                   "print every path below the home directory" }),
};
/* clang-format on */
