/* du.c - `ydl fs du`: how much room things take. */
#include "cli/table.h"
#include "cmd/fs/fs_files.h"
#include "cmd/fs/fs_show.h"
#include "cmd/fs/verbs.h"
#include "loop/fiber.h"

#include <string.h>

/* The NameNode counts a tree by itself; asking for several at a time hides the way there. */
#define AT_ONCE 16

struct args {
    bool summary, human;
};

/* clang-format off */
static const struct table_column columns[] = {
    { "SIZE", true }, { "ON DISKS", true }, { "FILES", true }, { "PATH", false },
};
/* clang-format on */

/* One thing that is being counted. */
struct count {
    struct fs *fs;
    char *path;
    struct fs_summary sum;
    int result;
    struct err err;
};

/* What has been asked for and not printed yet. */
struct batch {
    struct files *files;
    struct table *table;
    struct group group;
    struct count v[AT_ONCE];
    size_t n;
};

static int du_count(void *arg, struct err *err)
{
    struct count *c = arg;

    (void)err;
    c->result = fs_summary(c->fs, c->path, &c->sum, &c->err);
    return 0; /* a failure of one must not cancel the others */
}

static int du_print(struct batch *b, const struct count *c, struct err *err)
{
    const struct args *a = files_args(b->files);
    char size[SHOW_SIZE], space[SHOW_SIZE];
    json_t *v = NULL;

    if (b->files->doc.on) {
        (void)json_make(&v, NULL, "{s:o, s:I, s:I, s:I, s:I}", "path", json_text(c->path), "bytes",
                        (json_int_t)c->sum.length, "space", (json_int_t)c->sum.space, "files",
                        (json_int_t)c->sum.files, "directories", (json_int_t)c->sum.dirs);
        return doc_add(&b->files->doc, v, err);
    }
    table_cell(b->table, "%s", show_size(c->sum.length, a->human, size));
    table_cell(b->table, "%s", show_size(c->sum.space, a->human, space));
    table_cell(b->table, "%llu", (unsigned long long)c->sum.files);
    table_cell(b->table, "%s", c->path);
    return 0;
}

/* Waits for what was asked and prints it in the order it was asked for. */
static int flush(struct batch *b, struct err *err)
{
    int r = group_wait(&b->group, err);

    for (size_t i = 0; i < b->n; i++) {
        struct count *c = &b->v[i];

        if (r == 0 && c->result < 0)
            r = files_failed(b->files, c->path, c->result, &c->err);
        else if (r == 0)
            r = du_print(b, c, err);
        free(c->path);
    }
    b->n = 0;
    return r;
}

static int du_add(struct batch *b, struct fs *fs, const struct fs_entry *e, struct err *err)
{
    struct count *c = &b->v[b->n];
    int r = 0;

    *c = (struct count){ .fs = fs, .path = strdup(e->path) };
    if (!c->path)
        return err_oom(err);
    b->n++;
    c->sum = (struct fs_summary){ .length = e->length, .files = 1 };
    c->sum.space = e->length * (e->replication ? e->replication : 1);
    if (e->type == FS_DIRECTORY || e->erasure_coded) /* else it is known already */
        r = group_go(&b->group, du_count, c, err);
    return r == 0 && b->n == AT_ONCE ? flush(b, err) : r;
}

static int count_content(const struct files_item *item, struct batch *b, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(item->fs, item->entry->path, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0)
        r = du_add(b, item->fs, e, err);
    return r;
}

static int count_item(struct files *f, const struct files_item *item, struct err *err)
{
    const struct args *a = files_args(f);
    struct batch b = { .files = f };
    struct err late = ERR_INIT;
    AUTO_TABLE t = { 0 };
    int r, flushed;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    b.table = &t;
    group_init(&b.group, f->x->loop, 0);
    if (item->entry->type == FS_DIRECTORY && !a->summary)
        r = count_content(item, &b, err);
    else
        r = du_add(&b, item->fs, item->entry, err);
    flushed = flush(&b, r < 0 ? &late : err);
    r = r < 0 ? r : flushed;
    if (!f->doc.on && r == 0)
        r = table_end(&t, err);
    return r;
}

static int du_work(struct files *f, struct err *err)
{
    return files_each_or_home(f, count_item, err);
}

/* clang-format off */
const struct cli_verb verb_fs_du = {
    .name = "du", .summary = "show how much space files take", .operands = "[PATH…]",
    .most = CLI_ANY, FILES_VERB(du_work, "usage"),
    .text = "Shows the size of everything in a directory, or with -s of the directory itself: "
            "bytes, bytes on disk with all replicas, and the number of files. The default PATH is "
            "your home directory.",
    CLI_OPTS(struct args,
        { "summary", 's', CLI_FLAG, offsetof(struct args, summary), NULL, NULL,
          "print one line for each PATH, not for everything in it" },
        { "human", 'h', CLI_FLAG, offsetof(struct args, human), NULL, NULL,
          "print sizes like 1.5 GB instead of bytes" }),
    CLI_EXAMPLES({ "ydl fs du -h /user/me", "show what takes up space" },
                 { "ydl fs du -s -h '/data/*'", "print one line for each directory" }),
};
/* clang-format on */
