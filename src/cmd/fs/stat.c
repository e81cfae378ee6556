/* stat.c - `ydl fs stat`: everything that is known of a file. */
#include "cmd/fs/fs_files.h"
#include "cmd/fs/fs_show.h"
#include "cmd/fs/mode.h"
#include "cmd/fs/verbs.h"

/* One line, "label  text". */
__attribute__((format(printf, 2, 3))) static void stat_line(const char *label, const char *fmt, ...)
{
    AUTO_FREE char *raw = NULL;
    char clean[4096];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&raw, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    str_clean(clean, sizeof(clean), raw);
    free(take(raw));
    printf("  %-13s%s\n", label, clean);
}

static void quota_line(const char *label, int64_t quota, uint64_t used)
{
    if (quota >= 0)
        stat_line(label, "%lld, %lld of it free", (long long)quota,
                  (long long)(quota - (int64_t)used));
}

static void print_summary(const struct fs_summary *s)
{
    char size[SHOW_SIZE], space[SHOW_SIZE];

    stat_line("content", "%llu files in %llu directories", (unsigned long long)s->files,
              (unsigned long long)s->dirs);
    stat_line("bytes", "%llu (%s)", (unsigned long long)s->length,
              show_size(s->length, true, size));
    stat_line("on disks", "%llu (%s)", (unsigned long long)s->space,
              show_size(s->space, true, space));
    quota_line("name quota", s->quota, s->files + s->dirs);
    quota_line("space quota", s->space_quota, s->space);
}

static void print_file(const struct fs_entry *e)
{
    char size[SHOW_SIZE];

    stat_line("size", "%llu (%s)", (unsigned long long)e->length, show_size(e->length, true, size));
    if (e->replication)
        stat_line("replicas", "%u", (unsigned)e->replication);
    if (e->block_size)
        stat_line("block size", "%llu (%s)", (unsigned long long)e->block_size,
                  show_size(e->block_size, true, size));
    if (e->erasure_coded)
        stat_line("coding", "erasure coded: its content cannot be read by ydl");
}

static void stat_print_text(const struct fs_entry *e, const char *uri, const struct fs_summary *s)
{
    char mode[MODE_TEXT], clean[4096], time[SHOW_TIME_LONG];

    str_clean(clean, sizeof(clean), uri);
    printf("%s\n", clean);
    stat_line("type", "%s%s%s", show_type(e->type), e->target ? " to " : "",
              e->target ? e->target : "");
    stat_line("mode", "%04o %s%s", (unsigned)e->mode, mode_text(e, mode),
              e->acl ? " (and an access list)" : "");
    stat_line("owner", "%s", e->owner);
    stat_line("group", "%s", e->group);
    if (e->type != FS_DIRECTORY)
        print_file(e);
    stat_line("modified", "%s", show_time_long(e->mtime, time));
    if (e->atime)
        stat_line("accessed", "%s", show_time_long(e->atime, time));
    stat_line("inode", "%llu", (unsigned long long)e->file_id);
    if (e->encrypted)
        stat_line("encrypted", "in an encryption zone: its content cannot be read by ydl");
    if (s)
        print_summary(s);
}

static int add_summary(json_t *v, const struct fs_summary *s, struct err *err)
{
    AUTO_JSON *more = NULL;
    int r = json_make(&more, err, "{s:I, s:I, s:I, s:I, s:o, s:o}", "files", (json_int_t)s->files,
                      "directories", (json_int_t)s->dirs, "bytes", (json_int_t)s->length, "space",
                      (json_int_t)s->space, "quota",
                      s->quota < 0 ? json_null() : json_integer(s->quota), "space_quota",
                      s->space_quota < 0 ? json_null() : json_integer(s->space_quota));

    if (r == 0 && json_object_update(v, more) < 0)
        r = err_oom(err);
    return r;
}

static int stat_print_json(struct files *f, const struct fs_entry *e, const char *uri,
                           const struct fs_summary *s, struct err *err)
{
    AUTO_JSON *v = show_entry(e);
    int r = 0;

    if (!v || json_object_set_new(v, "uri", json_text(uri)) < 0 ||
        json_object_set_new(v, "file_id", json_integer((json_int_t)e->file_id)) < 0)
        return err_oom(err);
    if (s)
        r = add_summary(v, s, err);
    return r < 0 ? r : doc_add(&f->doc, take(v), err);
}

static int stat_show(struct files *f, const struct files_item *item, struct err *err)
{
    AUTO_FREE char *uri = NULL;
    struct fs_summary s = { 0 };
    /* The NameNode has these numbers at hand; here the whole disk might have to be walked. */
    bool directory = item->entry->type == FS_DIRECTORY && !fs_is_local(item->fs);
    int r = fs_uri(item->fs, item->entry->path, &uri, err);

    if (r == 0 && directory)
        r = fs_summary(item->fs, item->entry->path, &s, err);
    if (r == -EACCES) { /* not everything below may be read: then without the sums */
        err_clear(err);
        directory = false;
        r = 0;
    }
    if (r < 0)
        return r;
    if (f->doc.on)
        return stat_print_json(f, item->entry, uri, directory ? &s : NULL, err);
    stat_print_text(item->entry, uri, directory ? &s : NULL);
    return 0;
}

static int stat_work(struct files *f, struct err *err)
{
    return files_each(f, f->x->cli->operands, f->x->cli->n_operands, stat_show, err);
}

/* clang-format off */
const struct cli_verb verb_fs_stat = {
    .name = "stat", .summary = "show everything about a file or directory", .operands = "PATH…",
    .least = 1, .most = CLI_ANY, .ask = "Which file?", FILES_VERB(stat_work, "entries"),
    CLI_EXAMPLES({ "ydl fs stat /data", "show owner, times, content and quotas of a directory" },
                 { "ydl fs stat --json model.bin | jq .entries[0].mtime_ms",
                   "print one value for a script" }),
};
/* clang-format on */
