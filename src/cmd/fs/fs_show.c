/* fs_show.c - times, sizes and types of files, the same in every verb of `ydl fs`, and the JSON
 * object of one file that --json prints. */
#include "cmd/fs/fs_show.h"
#include "base/str.h"

#include <stdio.h>
#include <time.h>

static const char *format_time(int64_t ms, bool exact, char *out, size_t n)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;

    if (ms <= 0 || !localtime_r(&seconds, &tm) ||
        strftime(out, n, exact ? "%Y-%m-%d %H:%M:%S %z" : "%Y-%m-%d %H:%M", &tm) == 0)
        snprintf(out, n, "-");
    return out;
}

const char *show_time(int64_t ms, char out[SHOW_TIME])
{
    return format_time(ms, false, out, SHOW_TIME);
}

const char *show_time_long(int64_t ms, char out[SHOW_TIME_LONG])
{
    return format_time(ms, true, out, SHOW_TIME_LONG);
}

const char *show_size(uint64_t bytes, bool human, char out[SHOW_SIZE])
{
    char text[STR_SIZE_MAX];

    if (human)
        snprintf(out, SHOW_SIZE, "%s", str_size(bytes, text));
    else
        snprintf(out, SHOW_SIZE, "%llu", (unsigned long long)bytes);
    return out;
}

const char *show_type(enum fs_type type)
{
    static const char *const names[] = { [FS_FILE] = "file",
                                         [FS_DIRECTORY] = "directory",
                                         [FS_SYMLINK] = "symlink",
                                         [FS_OTHER] = "other" };

    return names[type];
}

json_t *show_entry(const struct fs_entry *e)
{
    json_t *v = NULL;
    char mode[8];

    snprintf(mode, sizeof(mode), "%04o", (unsigned)(e->mode & 07777));
    (void)json_make(
        &v, NULL, "{s:o, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o}", "path",
        json_text(e->path), "type", show_type(e->type), "mode", mode, "owner", json_text(e->owner),
        "group", json_text(e->group), "size", (json_int_t)e->length, "replication",
        (json_int_t)e->replication, "block_size", (json_int_t)e->block_size, "mtime_ms",
        (json_int_t)e->mtime, "atime_ms", (json_int_t)e->atime, "acl", (int)e->acl, "encrypted",
        (int)e->encrypted, "erasure_coded", (int)e->erasure_coded, "target", json_text(e->target));
    return v;
}
