/* path_remove.c - takes away a whole tree; see path.h.
 *
 * Every name is looked up in the directory that was opened for it and never followed, so that
 * nobody who can write somewhere in the tree can lead us out of it. Only so many directories are
 * open at once: what lies deeper is moved to the top and found there. */
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LEVELS_MAX 64

struct level {
    DIR *dir;
    char *name; /* in the level above; of the first, the path that was asked for */
};

struct removal {
    struct level v[LEVELS_MAX];
    size_t n;
    unsigned moved; /* directories that were moved to the top … */
    bool again;     /* … where they are still to be removed */
    int first;      /* the first failure: we go on, the less is left behind the better */
    struct err *err;
};

static int above(const struct removal *x, size_t level)
{
    return level == 0 ? AT_FDCWD : dirfd(x->v[level - 1].dir);
}

/* errno says what went wrong with `name` in the innermost level. */
static void path_remove_note_failure(struct removal *x, const char *what, const char *name)
{
    AUTO_BUF path = { .max = 64 * KIB };
    int code = errno, r = 0;

    if (code == ENOENT || x->first < 0)
        return; /* gone is what it is meant to be */
    x->first = -code;
    for (size_t i = 0; i < x->n && r == 0; i++)
        r = buf_printf(&path, "%s/", x->v[i].name);
    (void)err_code(x->err, -code, "%s '%s%s'", what,
                   r == 0 && path.len && buf_text(&path) ? buf_text(&path) : "", name);
}

/* Out of memory counts as a failure like others. O_NOFOLLOW: an entry that was exchanged for a link
 * since it was read is an error, and never a way out of the tree. */
static void path_remove_enter(struct removal *x, const char *name)
{
    int fd = openat(above(x, x->n), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct level l = { .dir = fd >= 0 ? fdopendir(fd) : NULL };

    if (!l.dir && fd >= 0)
        close(fd);
    if (!l.dir) { /* cannot be read, but perhaps it is empty */
        if (unlinkat(above(x, x->n), name, AT_REMOVEDIR) < 0)
            path_remove_note_failure(x, "remove", name);
        return;
    }
    l.name = strdup(name);
    if (!l.name) {
        path_remove_note_failure(x, "remove", name);
        (void)closedir(l.dir);
        return;
    }
    x->v[x->n++] = l;
}

static void path_remove_leave(struct removal *x)
{
    struct level l = x->v[--x->n];

    (void)closedir(l.dir);
    if (unlinkat(above(x, x->n), l.name, AT_REMOVEDIR) < 0)
        path_remove_note_failure(x, "remove", l.name);
    free(l.name);
}

/* A tree deeper than 64 would need as many open directories. A directory at that depth is renamed
 * to one at the top, where it is found when the top is read again. */
static void move_to_top(struct removal *x, const char *name)
{
    char other[32];

    (void)snprintf(other, sizeof(other), ".ydl-removed-%u", x->moved++);
    if (renameat(dirfd(x->v[x->n - 1].dir), name, dirfd(x->v[0].dir), other) < 0)
        path_remove_note_failure(x, "move", name);
    else
        x->again = true;
}

/* d_type may be unknown on some file systems: then unlinking is tried first, and EISDIR tells. */
static void remove_entry(struct removal *x, const struct dirent *e)
{
    if (e->d_type != DT_DIR) {
        if (unlinkat(dirfd(x->v[x->n - 1].dir), e->d_name, 0) == 0)
            return;
        if (errno != EISDIR) {
            path_remove_note_failure(x, "remove", e->d_name);
            return;
        }
    }
    if (x->n == LEVELS_MAX)
        move_to_top(x, e->d_name);
    else
        path_remove_enter(x, e->d_name);
}

/* The directories that are open are the stack. readdir() goes on in each where it stopped; removing
 * what it has returned does not disturb it. */
static void remove_all(struct removal *x)
{
    while (x->n > 0) {
        const struct dirent *e = readdir(x->v[x->n - 1].dir);

        if (e && (str_eq(e->d_name, ".") || str_eq(e->d_name, "..")))
            continue;
        if (e) {
            remove_entry(x, e);
        } else if (x->n == 1 && x->again) {
            x->again = false;
            rewinddir(x->v[0].dir);
        } else {
            path_remove_leave(x);
        }
    }
}

int path_remove(const char *path, struct err *err)
{
    AUTO_FREE char *name = strdup(path);
    AUTO_FREE struct removal *x = calloc(1, sizeof(*x));
    size_t n = strlen(path);

    if (!name || !x)
        return err_oom(err);
    while (n > 1 && name[n - 1] == '/')
        name[--n] = '\0'; /* with a slash at its end a link would be followed */
    x->err = err;
    if (unlinkat(AT_FDCWD, name, 0) == 0)
        return 0;
    if (errno != EISDIR) {
        path_remove_note_failure(x, "remove", name);
        return x->first;
    }
    path_remove_enter(x, name);
    remove_all(x);
    return x->first;
}
