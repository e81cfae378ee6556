/* whole.c - small files in one call; see fs.h. */
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"

#include <string.h>

int fs_put(struct fs *fs, const char *path, const struct fs_create *how, const void *p, size_t n,
           struct err *err)
{
    AUTO_FS_WRITER *w = NULL;
    int r = fs_create(fs, path, how, &w, err);

    if (r == 0 && n > 0)
        r = fs_write(w, p, n, err);
    return r < 0 ? r : fs_close(take(w), err);
}

/* Hidden, and in the same directory: a name that readers of the directory leave out. */
static char *whole_part_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash + 1 - path) : 0;

    return str_printf("%.*s.%s.part", dir, path, path + dir);
}

int fs_replace(struct fs *fs, const char *path, const struct fs_create *how, const void *p,
               size_t n, struct err *err)
{
    AUTO_FREE char *part = whole_part_of(path);
    struct fs_create beside = *how;
    int r;

    beside.overwrite = true; /* a process killed while writing may have left it */
    r = part ? fs_put(fs, part, &beside, p, n, err) : err_oom(err);
    if (r < 0)
        return r;
    r = fs_rename(fs, part, path, how->overwrite, err);
    if (r < 0)
        (void)fs_delete(fs, part, false, NULL);
    return r;
}
