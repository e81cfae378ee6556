/* fs_lines.c - a file line by line, in bounded memory; see fs.h. */
#include "base/auto.h"
#include "base/buf.h"
#include "hadoop/fs/fs.h"

#include <string.h>

struct lines {
    struct buf part; /* the beginning of a line whose end has not been read */
    bool too_long;   /* it is being left out */
    fs_line_fn *fn;
    void *arg;
};

/* Keeps the beginning of a line. */
static int fs_lines_keep(struct lines *x, const char *p, size_t n)
{
    int r = x->too_long ? 0 : buf_add(&x->part, p, n);

    if (r == -E2BIG) {
        x->too_long = true;
        buf_reset(&x->part);
        r = 0;
    }
    return r;
}

static int fs_lines_hand_on(struct lines *x, const char *p, size_t n)
{
    int r = 0;

    if (x->too_long || x->part.len > 0) {
        r = fs_lines_keep(x, p, n);
        if (r == 0 && !x->too_long)
            r = x->fn(x->arg, (char *)x->part.data, x->part.len);
        buf_reset(&x->part);
        x->too_long = false;
        return r;
    }
    return n > FS_LINE_MAX ? 0 : x->fn(x->arg, p, n);
}

static int fs_lines_split(struct lines *x, const char *p, size_t n)
{
    const char *nl;
    int r = 0;

    while (r == 0 && n > 0 && (nl = memchr(p, '\n', n)) != NULL) {
        r = fs_lines_hand_on(x, p, (size_t)(nl - p));
        n -= (size_t)(nl - p) + 1;
        p = nl + 1;
    }
    return r != 0 || n == 0 ? r : fs_lines_keep(x, p, n);
}

int fs_lines(struct fs *fs, const char *path, fs_line_fn *fn, void *arg, struct err *err)
{
    AUTO_FS_READER *f = NULL;
    struct lines x = { .fn = fn, .arg = arg, .part = { .max = FS_LINE_MAX } };
    int r = fs_open(fs, path, &f, err);

    while (r == 0) {
        const void *p = NULL;
        ssize_t n = fs_read_next(f, &p, 0, err);

        if (n <= 0) {
            r = (int)n;
            break;
        }
        r = fs_lines_split(&x, p, (size_t)n);
    }
    buf_done(&x.part);
    return r == -ENOMEM ? err_oom(err) : r;
}
