/* pack_list.c - walks directory trees and lists what goes into an archive. Links that stay inside
 * are kept as links, others are followed, and a directory that contains itself is refused. See
 * pack.h. */
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "pyenv/pack_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

/* A directory that is being walked, and its parents: a symbolic link may lead back. */
struct level {
    const struct level *above;
    const char *path, *name;
    uint64_t dev, ino;
    size_t depth;
};

struct walk {
    struct pack_list *list;
    const struct pack_rules *rules;
};

/* ---- the list ---- */

struct pack_stamp pack_stamp_of(const struct stat *st)
{
    return (struct pack_stamp){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

bool pack_stamp_eq(const struct pack_stamp *a, const struct pack_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime == b->mtime &&
           a->ctime == b->ctime;
}

int pack_stamp_changed(const char *path, struct err *err)
{
    err_set(err, -ESTALE, "'%s' changed while it was read", path);
    err_hint(err, "try again when nobody writes to it");
    return -ESTALE;
}

int pack_stamp_check(int fd, const char *path, const struct pack_stamp *stamp, struct err *err)
{
    struct pack_stamp now;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, "look at '%s'", path);
    now = pack_stamp_of(&st);
    return S_ISREG(st.st_mode) && pack_stamp_eq(&now, stamp) ? 0 : pack_stamp_changed(path, err);
}

int pack_stamp_open(const char *path, const struct pack_stamp *stamp, int *ret_fd, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int r;

    if (fd < 0)
        return errno == ENOENT ? pack_stamp_changed(path, err) : err_sys(err, "read '%s'", path);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    r = pack_stamp_check(fd, path, stamp, err);
    if (r == 0)
        *ret_fd = take_fd(fd);
    return r;
}

static void pack_entry_done(struct pack_entry *e)
{
    free(e->path);
    free(e->name);
    free(e->link);
    free(e->data);
    conda_prefix_patches_done(&e->patches);
}

void pack_list_done(struct pack_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        pack_entry_done(&l->v[i]);
    free(l->v);
    *l = (struct pack_list){ 0 };
}

static int pack_grow(struct pack_list *l, struct err *err)
{
    if (l->n >= PACK_ENTRIES_MAX)
        return err_set(err, -E2BIG, "more than %d files", PACK_ENTRIES_MAX);
    return ARRAY_FIT(l->v, l->cap, l->n + 1) < 0 ? err_oom(err) : 0;
}

uint64_t pack_entry_size(const struct pack_entry *e)
{
    if (e->type != PACK_FILE)
        return 0;
    return e->data ? e->n_data : e->stamp.size;
}

/* The address breaks ties, so that of two entries of one name the one added first comes first. */
static int pack_by_name(const void *a, const void *b)
{
    const struct pack_entry *x = *(const struct pack_entry *const *)a;
    const struct pack_entry *y = *(const struct pack_entry *const *)b;
    int d = strcmp(x->name, y->name);

    return d ? d : (x > y) - (x < y);
}

/* Sorts and takes out what stands twice. */
static int pack_list_settle(struct pack_list *l)
{
    AUTO_FREE const struct pack_entry **order = NULL;
    struct pack_entry *v;
    size_t n = 0;

    if (l->sorted || l->n == 0)
        return 0;
    order = malloc(l->n * sizeof(*order));
    v = malloc(l->n * sizeof(*v));
    if (!order || !v) {
        free(v);
        return -ENOMEM;
    }
    for (size_t i = 0; i < l->n; i++)
        order[i] = &l->v[i];
    qsort(order, l->n, sizeof(*order), pack_by_name);
    l->bytes = l->n_files = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct pack_entry e = *order[i];

        if (n > 0 && strcmp(v[n - 1].name, e.name) == 0) {
            pack_entry_done(&e);
            continue;
        }
        v[n++] = e;
        l->bytes += pack_entry_size(&e);
        l->n_files += e.type != PACK_DIRECTORY;
    }
    free(l->v);
    l->v = v;
    l->cap = l->n;
    l->n = n;
    l->sorted = true;
    return 0;
}

int pack_settle(struct pack_list *l, struct err *err)
{
    return pack_list_settle(l) < 0 ? err_oom(err) : 0;
}

/* Takes `path`, `name` and `link` of `e` over, also when it fails. Over the limit the list is
 * settled first and looked at again: the same file may have been added by several words of a
 * command, and counts once. */
static int pack_put(const struct walk *w, struct pack_entry e, struct err *err)
{
    struct pack_list *l = w->list;
    int r = e.path && e.name ? pack_grow(l, err) : err_oom(err);

    if (r < 0) {
        pack_entry_done(&e);
        return r;
    }
    l->v[l->n++] = e;
    l->bytes += pack_entry_size(&e);
    l->n_files += e.type != PACK_DIRECTORY;
    l->sorted = false;
    if (!w->rules->most || l->bytes <= w->rules->most)
        return 0;
    if (pack_settle(l, err) < 0)
        return -ENOMEM;
    return l->bytes <= w->rules->most ? 0
                                      : err_set(err, -E2BIG, "'%s' exceeds the size limit", e.path);
}

int pack_add_data(struct pack_list *l, const char *name, char *data, size_t n, bool executable)
{
    static const struct pack_rules plain;
    const struct walk w = { .list = l, .rules = &plain };

    if (!data)
        return -ENOMEM;
    return pack_put(&w,
                    (struct pack_entry){ .path = strdup(""),
                                         .name = strdup(name),
                                         .data = data,
                                         .n_data = n,
                                         .type = PACK_FILE,
                                         .executable = executable },
                    NULL);
}

/* ---- walking ---- */

/* With `inside` the tree was found and not named by anybody: what cannot go along is left out. A
 * tree that somebody has named goes as a whole or is an error. */
static bool lenient(const struct walk *w)
{
    return w->rules->inside != NULL;
}

static bool pack_within(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return str_starts(path, dir) && (path[n] == '/' || path[n] == '\0' || str_eq(dir, "/"));
}

/* Whether what a link in `dir` of the archive says stays in the archive. By the text alone, as the
 * one who unpacks it will read it: a link that goes up and comes down again by another name counts
 * as leaving. */
static bool pack_stays(const char *dir, const char *text)
{
    long depth = *dir ? 1 : 0;

    if (*text == '/')
        return false;
    for (const char *p = dir; *p; p++)
        depth += *p == '/';
    for (const char *p = text; *p && depth >= 0;) {
        size_t n = strcspn(p, "/");

        if (n == 2 && strncmp(p, "..", 2) == 0)
            depth--;
        else if (n > 0 && !(n == 1 && *p == '.'))
            depth++;
        p += n + (p[n] == '/');
    }
    return depth >= 0;
}

static char *link_text(const char *path)
{
    char text[4096];
    ssize_t n = readlink(path, text, sizeof(text));

    return n < 0 || (size_t)n == sizeof(text) ? NULL : strndup(text, (size_t)n);
}

/* These say yes (1), no (0) or -ENOMEM. */
static int leads_inside(const char *path, const char *inside)
{
    AUTO_FREE char *real = realpath(path, NULL);

    return real ? pack_within(real, inside) : errno == ENOMEM ? -ENOMEM : 0;
}

static int skipped(const struct walk *w, const char *path, const char *base)
{
    for (const char *const *p = w->rules->skip; p && *p; p++)
        if (str_eq(*p, base))
            return 1;
    if (!w->rules->skip || w->rules->into_envs)
        return 0;
    return path_has(path, "pyvenv.cfg"); /* every Python environment has one */
}

static int add_directory(const struct walk *w, const struct level *above, const char *path,
                         const char *name, const struct stat *st, struct err *err);

static int pack_add_plain(const struct walk *w, const char *path, const char *name,
                          const struct stat *st, struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return lenient(w) ? 0
                          : err_set(err, -EINVAL, "'%s' is neither a file nor a directory", path);
    if (access(path, R_OK) < 0)
        return err_sys(err, "'%s' cannot be read", path);
    return pack_put(w,
                    (struct pack_entry){ .path = strdup(path),
                                         .name = strdup(name),
                                         .type = PACK_FILE,
                                         .executable = (st->st_mode & 0111) != 0,
                                         .stamp = pack_stamp_of(st) },
                    err);
}

/* A symbolic link: 1 when it is dealt with, 0 when what it leads to is to be added, into *st.
 *
 *     lenient     never packed as a link: its target goes, if it lies inside
 *     else        it stays a link where that works in the archive; if not, its target goes */
static int pack_follow(const struct walk *w, const struct level *above, const char *path,
                       const char *name, struct stat *st, struct err *err)
{
    AUTO_FREE char *text = NULL;
    bool dangling = stat(path, st) < 0;
    int r;

    if (lenient(w)) {
        r = dangling ? 0 : leads_inside(path, w->rules->inside);
        return r < 0 ? err_oom(err) : r == 0;
    }
    text = link_text(path);
    if (!text)
        return err_sys(err, "read the link '%s'", path);
    if (!dangling && !pack_stays(above ? above->name : "", text))
        return 0;
    r = pack_put(
        w,
        (struct pack_entry){
            .path = strdup(path), .name = strdup(name), .link = take(text), .type = PACK_LINK },
        err);
    return r < 0 ? r : 1;
}

static bool left_out(const struct walk *w, const char *name)
{
    for (const char *const *p = w->rules->without; p && *p; p++)
        if (str_eq(*p, name))
            return true;
    return false;
}

/* The entry `base` of the directory `above`. Gone between readdir() and here is no error: a
 * directory in use is packed as it is found. */
static int pack_add_child(const struct walk *w, const struct level *above, const char *base,
                          struct err *err)
{
    AUTO_FREE char *path = path_join(above->path, base);
    AUTO_FREE char *name = path_join(above->name, base);
    struct stat st;
    int r;

    if (!path || !name)
        return err_oom(err);
    if (left_out(w, name))
        return 0;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", path);
    if (S_ISLNK(st.st_mode)) {
        r = pack_follow(w, above, path, name, &st, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (!S_ISDIR(st.st_mode))
        return pack_add_plain(w, path, name, &st, err);
    r = skipped(w, path, base);
    if (r != 0)
        return r < 0 ? err_oom(err) : 0;
    return add_directory(w, above, path, name, &st, err);
}

static int add_content(const struct walk *w, const struct level *here, struct err *err)
{
    AUTO_DIR DIR *d = opendir(here->path);
    struct dirent *e;
    int r = 0;

    if (!d)
        return err_sys(err, "'%s' cannot be read", here->path);
    for (errno = 0; r == 0 && (e = readdir(d)) != NULL; errno = 0)
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            r = pack_add_child(w, here, e->d_name, err);
    return r == 0 && errno ? err_sys(err, "read '%s'", here->path) : r;
}

static int add_directory(const struct walk *w, const struct level *above, const char *path,
                         const char *name, const struct stat *st, struct err *err)
{
    struct level here = { .above = above,
                          .path = path,
                          .name = name,
                          .dev = st->st_dev,
                          .ino = st->st_ino,
                          .depth = above ? above->depth + 1 : 0 };
    int r = 0;

    for (const struct level *l = above; l; l = l->above)
        if (l->dev == here.dev && l->ino == here.ino)
            return lenient(w) ? 0 : err_set(err, -ELOOP, "'%s' contains itself", path);
    if (here.depth > PACK_DEPTH_MAX)
        return err_set(err, -E2BIG, "'%s' is more than %d directories deep", path, PACK_DEPTH_MAX);
    if (*name)
        r = pack_put(w,
                     (struct pack_entry){
                         .path = strdup(path), .name = strdup(name), .type = PACK_DIRECTORY },
                     err);
    return r < 0 ? r : add_content(w, &here, err);
}

int pack_add(struct pack_list *l, const char *path, const char *name, const struct pack_rules *r,
             struct err *err)
{
    static const struct pack_rules plain;
    struct walk w = { .list = l, .rules = r ? r : &plain };
    struct stat st;
    int inside;

    if (stat(path, &st) < 0)
        return err_sys(err, "'%s' cannot be read", path);
    inside = lenient(&w) ? leads_inside(path, w.rules->inside) : 1;
    if (inside <= 0)
        return inside < 0 ? err_oom(err) : 0;
    if (S_ISDIR(st.st_mode))
        return add_directory(&w, NULL, path, name, &st, err);
    return pack_add_plain(&w, path, name, &st, err);
}
