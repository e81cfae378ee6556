/* conda_prefix_env.c - writes an unpacked environment's path into its files. See conda_prefix.h. */
#include "base/path.h"
#include "pyenv/conda_prefix.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX (64 * MIB)
#define MARK_MAX (8 * KIB)
#define CHUNK (256 * KIB)

struct telling {
    const char *dir; /* the place */
    char *before;    /* what the files say; NULL: each its placeholder */
    size_t *changed;
    struct strs *stuck;
};

/* One line of the list. */
struct row {
    bool binary;
    char *holder, *name; /* within the list */
};

/* ---- one file ---- */

static int conda_prefix_env_copy(int from, int to, struct err *err)
{
    AUTO_FREE char *some = malloc(CHUNK);
    ssize_t n = 0;
    int r = some ? 0 : err_oom(err);

    while (r == 0 && (n = read(from, some, CHUNK)) != 0)
        if (n > 0)
            r = path_write_fd(to, some, (size_t)n);
        else if (errno != EINTR)
            return err_sys(err, "read a file of the environment");
    return r < 0 && r != -ENOMEM ? err_code(err, r, "write a file of the environment") : r;
}

static int write_patch(int fd, const struct conda_prefix_patch *p)
{
    return lseek(fd, (off_t)p->at, SEEK_SET) < 0 ? -errno : path_write_fd(fd, p->bytes, p->n);
}

/* These two do not wait for the disk, as little as YARN or tar did that unpacked it all. */
static int replace_binary(const struct conda_prefix_patches *p, const char *path, int from,
                          mode_t mode, struct err *err)
{
    AUTO_PATH_OUT o = PATH_OUT_INIT;
    int r = path_out_begin(&o, path, mode & 07777, err);

    if (r == 0)
        r = conda_prefix_env_copy(from, o.fd, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < p->n && r == 0; i++)
        r = write_patch(o.fd, &p->v[i]);
    return r < 0 ? err_code(err, r, "write '%s'", path) : path_out_rename(&o, err);
}

static int replace_text(const struct buf *text, const char *path, mode_t mode, struct err *err)
{
    AUTO_PATH_OUT o = PATH_OUT_INIT;
    int r = path_out_begin(&o, path, mode & 07777, err);

    if (r < 0)
        return r;
    r = path_write_fd(o.fd, text->data, text->len);
    return r < 0 ? err_code(err, r, "write '%s'", path) : path_out_rename(&o, err);
}

/* These two: 1 when it was changed, 0 when there was nothing to change, -ENOSPC when it cannot be.
 */
static int tell_text(const struct conda_prefix_move *m, const char *path, mode_t mode,
                     struct err *err)
{
    AUTO_BUF text = { .max = CONDA_PREFIX_TEXT_MAX }, out = { .max = 4 * CONDA_PREFIX_TEXT_MAX };
    int r = path_read(path, &text, err), n;

    if (r < 0)
        return r == -E2BIG ? -ENOSPC : r;
    n = text.len ? conda_prefix_text(m, (const char *)text.data, text.len, &out) : 0;
    if (n <= 0)
        return n == 0 ? 0 : n == -E2BIG ? -ENOSPC : err_oom(err);
    r = replace_text(&out, path, mode, err);
    return r < 0 ? r : 1;
}

static int tell_binary(const struct conda_prefix_move *m, const char *path, const struct stat *st,
                       struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_CONDA_PATCHES patches = { 0 };
    size_t stuck = 0;
    int r;

    if (fd < 0)
        return err_sys(err, "read '%s'", path);
    r = conda_prefix_binary(m, fd, (uint64_t)st->st_size, &patches, &stuck);
    if (r < 0)
        return err_code(err, r, "read '%s'", path);
    if (patches.n)
        r = replace_binary(&patches, path, fd, st->st_mode, err);
    return r < 0 ? r : stuck ? -ENOSPC : patches.n > 0;
}

static int conda_prefix_env_tell(struct telling *t, const struct row *row, struct err *err)
{
    AUTO_FREE char *path = path_join(t->dir, row->name);
    /* Those that could not be told before have the placeholder still. */
    char *const from[] = { row->holder, t->before };
    const struct strs both = { (char **)from, t->before ? 2 : 1 };
    const struct conda_prefix_move m = { &both, t->dir };
    struct stat st;
    int r;

    if (!path)
        return err_oom(err);
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0; /* somebody removed it */
    if (!row->binary)
        r = tell_text(&m, path, st.st_mode, err);
    else
        r = strlen(t->dir) > strlen(row->holder) ? -ENOSPC : tell_binary(&m, path, &st, err);
    *t->changed += r > 0;
    if (r == -ENOSPC)
        return strs_add(t->stuck, row->name) < 0 ? err_oom(err) : 0;
    return r < 0 ? r : 0;
}

/* ---- all of them ---- */

/* A name that stays in the environment. */
static bool stays_inside(const char *name)
{
    return *name && *name != '/' && strncmp(name, "../", 3) != 0 && !strstr(name, "/../") &&
           !str_ends(name, "/..") && !str_eq(name, "..");
}

/* Takes a line apart; false when it is not one. */
static bool conda_prefix_env_parse(char *line, struct row *ret)
{
    char *first = strchr(line, '\t'), *second = first ? strchr(first + 1, '\t') : NULL;

    if (!second)
        return false;
    *first = *second = '\0';
    *ret = (struct row){ str_eq(line, "binary"), first + 1, second + 1 };
    return (ret->binary || str_eq(line, "text")) && *ret->holder == '/' && ret->holder[1] &&
           stays_inside(ret->name);
}

static int conda_prefix_env_tell_all(struct telling *t, char *list, struct err *err)
{
    int r = 0;

    for (char *line = list, *next; line && *line && r == 0; line = next) {
        struct row row;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!conda_prefix_env_parse(line, &row))
            return err_set(err, -EINVAL, "'%s/" CONDA_PREFIX_LIST "' is damaged", t->dir);
        r = conda_prefix_env_tell(t, &row, err);
    }
    return r;
}

/* 1 with the text of a file of the environment, 0 when there is none. */
static int conda_prefix_env_load(const char *dir, const char *name, struct buf *ret,
                                 struct err *err)
{
    AUTO_FREE char *path = path_join(dir, name);
    int r;

    if (!path)
        return err_oom(err);
    if (access(path, F_OK) < 0)
        return 0;
    r = path_read(path, ret, err);
    if (r < 0)
        return r;
    return buf_text(ret) ? 1 : err_oom(err);
}

static int load_before(struct telling *t, struct err *err)
{
    AUTO_BUF mark = { .max = MARK_MAX };
    int r = conda_prefix_env_load(t->dir, CONDA_PREFIX_MARK, &mark, err);
    const char *text = r > 0 ? buf_text(&mark) : NULL;

    if (!text)
        return r > 0 ? err_oom(err) : r;
    if (*text != '/' || text[1] == '\n' || !text[1])
        return 0;
    t->before = strndup(text, strcspn(text, "\n"));
    return t->before ? 0 : err_oom(err);
}

static int conda_prefix_env_remember(const struct telling *t, struct err *err)
{
    AUTO_FREE char *path = path_join(t->dir, CONDA_PREFIX_MARK);
    AUTO_BUF text = { .max = MARK_MAX };

    if (!path || buf_printf(&text, "%s\n", t->dir) < 0)
        return err_oom(err);
    return replace_text(&text, path, 0644, err);
}

/* The mark is written last. A run that was interrupted is repeated from the list, and files that
 * were told already have neither the old path nor the placeholder any more. */
int conda_prefix_env(const char *dir, size_t *ret_changed, struct strs *stuck, struct err *err)
{
    struct telling t = { .dir = dir, .changed = ret_changed, .stuck = stuck };
    AUTO_BUF list = { .max = LIST_MAX };
    int r = conda_prefix_env_load(dir, CONDA_PREFIX_LIST, &list, err);

    *ret_changed = 0;
    if (r <= 0)
        return r;
    r = load_before(&t, err);
    if (r == 0 && !str_eq(t.before, dir)) {
        r = conda_prefix_env_tell_all(&t, (char *)list.data, err);
        if (r == 0)
            r = conda_prefix_env_remember(&t, err);
    }
    free(t.before);
    return r;
}
