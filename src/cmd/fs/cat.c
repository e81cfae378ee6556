/* cat.c - `ydl fs cat`: the content of files, one after the other. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/verbs.h"

static int cat_show(struct files *f, const struct files_item *item, struct err *err)
{
    AUTO_FS_READER *r = NULL;
    int x = fs_open(item->fs, item->entry->path, &r, err);

    (void)f;
    return x < 0 ? x : files_to_stdout(r, NULL, NULL, err);
}

static int cat_work(struct files *f, struct err *err)
{
    f->doc.on = false; /* standard output is the files' */
    return files_each(f, f->x->cli->operands, f->x->cli->n_operands, cat_show, err);
}

/* clang-format off */
const struct cli_verb verb_fs_cat = {
    .name = "cat", .summary = "print files", .operands = "PATH…", .least = 1, .most = CLI_ANY,
    .ask = "Which file?", FILES_VERB(cat_work, ""),
    .text = "Writes the content of files to standard output. A file that is still being written "
            "is printed up to where its writer last flushed it.",
    CLI_EXAMPLES({ "ydl fs cat /logs/today.txt | tail", "print the end of a file" },
                 { "ydl fs cat '/out/part-*' > all.csv", "concatenate files" }),
};
/* clang-format on */
