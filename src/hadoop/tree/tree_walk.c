/* tree_walk.c - see tree_walk.h. Two sources of names: a local directory by its descriptor, and a
 * list of pages from HDFS. Directories wait in a list of names, not on the stack, so a deep tree
 * costs memory only and each is opened when its turn comes:
 *
 *     take the last of `dirs` ──► on_dir ──► its names ──► on_left
 *             ▲                                  ├─ file: on_file
 *             │                                  └─ directory: to the end of `dirs`
 *             └── these are turned round, so that they are taken in the order of their names
 *
 * Files and directories may come and go while the walk is under way. What is gone when its turn
 * comes is left out; only the root must be there. */
#include "hadoop/tree/tree_walk.h"
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

struct tree_state {
    const struct tree_walk *walk;
    struct strs dirs; /* that wait; the next one is the last */
    size_t names;     /* so far */
    bool empty;       /* the directory that is being read, so far */
};

static char *tree_join(const char *dir, const char *name)
{
    return *dir ? path_join(dir, name) : strdup(name);
}

/* "" is 0, "a" is 1, "a/b" is 2. */
static unsigned tree_depth(const char *name)
{
    unsigned n = *name ? 1 : 0;

    for (; *name; name++)
        n += *name == '/';
    return n;
}

static int tree_too_deep(const struct tree_walk *w, const char *path, struct err *err)
{
    if (w->links == TREE_LINKS_FOLLOW)
        return err_set(err, -ELOOP, "'%s' is nested too deeply: is there a loop of symbolic links?",
                       path);
    return err_set(err, -ELOOP, "'%s': more than %u directories deep", path, w->depth);
}

static int tree_too_many(const struct tree_walk *w, struct err *err)
{
    return err_set(err, -E2BIG, "'%s' has more than %zu files and directories", w->root, w->names);
}

/* One thing that a directory has. */
static int tree_found(struct tree_state *s, const struct tree_item *e, struct err *err)
{
    const struct tree_walk *w = s->walk;

    s->empty = false;
    if (w->names && ++s->names > w->names)
        return tree_too_many(w, err);
    if (e->type != FS_DIRECTORY)
        return w->on_file(w->arg, e, err);
    if (tree_depth(e->name) > w->depth)
        return tree_too_deep(w, e->path, err);
    return strs_add(&s->dirs, e->name) < 0 ? err_oom(err) : 0;
}

/* ---- on this machine ---- */

static enum fs_type tree_type_of(mode_t mode)
{
    return S_ISDIR(mode)   ? FS_DIRECTORY
           : S_ISREG(mode) ? FS_FILE
           : S_ISLNK(mode) ? FS_SYMLINK
                           : FS_OTHER;
}

/* What an item stands for: 1 and *ret; 0 when it is left out or has gone. With TREE_LINKS_FILES a
 * link counts as the file that it leads to, and a link to a directory is left out: that could lead
 * out of the tree or round in it. FOLLOW goes anywhere, with the depth as its only bound. */
static int tree_look(const struct tree_walk *w, int dir, const char *name, struct stat *ret)
{
    struct stat link;

    if (fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || w->links == TREE_LINKS_FILES ? 0 : -errno;
    *ret = link;
    if (!S_ISLNK(link.st_mode))
        return 1;
    if (fstatat(dir, name, ret, 0) < 0) {
        *ret = link; /* one that leads nowhere is told as a link */
        return w->links == TREE_LINKS_FILES ? 0 : errno == ENOENT ? 1 : -errno;
    }
    return w->links == TREE_LINKS_FOLLOW || S_ISREG(ret->st_mode);
}

static int tree_local_found(struct tree_state *s, int dir, const char *in, const char *name,
                            struct err *err)
{
    const struct tree_walk *w = s->walk;
    AUTO_FREE char *below = tree_join(in, name);
    AUTO_FREE char *path = below ? path_join(w->root, below) : NULL;
    struct stat st = { 0 };
    int r = tree_look(w, dir, name, &st);

    if (!path)
        return err_oom(err);
    if (r <= 0)
        return r < 0 ? err_code(err, r, "look at '%s'", path) : 0;
    if (w->links == TREE_LINKS_FILES && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return 0;
    return tree_found(s,
                      &(struct tree_item){ .name = below,
                                           .path = path,
                                           .type = tree_type_of(st.st_mode),
                                           .length = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
                                           .stat = &st },
                      err);
}

static int tree_local_names(const struct tree_walk *w, DIR *d, const char *path, struct strs *ret,
                            struct err *err)
{
    struct dirent *e;

    for (errno = 0; (e = readdir(d)); errno = 0) {
        if (w->names && ret->n > w->names)
            return tree_too_many(w, err);
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, "..") && strs_add(ret, e->d_name) < 0)
            return err_oom(err);
    }
    if (errno != 0)
        return err_sys(err, "list '%s'", path);
    strs_sort(ret);
    return 0;
}

/* A directory below the root that was exchanged for a link since it was found is not followed,
 * unless links are. */
static int tree_local_open(const struct tree_walk *w, const char *name, const char *path, DIR **ret,
                           struct err *err)
{
    bool follow = !*name || w->links == TREE_LINKS_FOLLOW;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));

    *ret = NULL;
    if (fd < 0 && *name && (errno == ENOENT || errno == ENOTDIR || (errno == ELOOP && !follow)))
        return 0;
    if (fd < 0)
        return err_sys(err, "list '%s'", path);
    *ret = fdopendir(fd);
    if (!*ret)
        return err_sys(err, "list '%s'", path);
    (void)take_fd(fd);
    return 0;
}

static int tree_local_dir(struct tree_state *s, const char *name, const char *path, struct err *err)
{
    const struct tree_walk *w = s->walk;
    AUTO_DIR DIR *d = NULL;
    AUTO_STRS names = { 0 };
    struct stat st;
    int r = tree_local_open(w, name, path, &d, err);

    if (r < 0 || !d)
        return r;
    if (fstat(dirfd(d), &st) < 0)
        return err_sys(err, "look at '%s'", path);
    if (w->on_dir)
        r = w->on_dir(w->arg, &(struct tree_item){ name, path, FS_DIRECTORY, 0, &st }, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = tree_local_names(w, d, path, &names, err);
    for (size_t i = 0; r == 0 && i < names.n; i++)
        r = tree_local_found(s, dirfd(d), name, names.v[i], err);
    return r == 0 && w->on_left ? w->on_left(w->arg, name, s->empty, err) : r;
}

/* ---- on HDFS ---- */

static int tree_far_found(struct tree_state *s, const char *in, const struct fs_entry *e,
                          struct err *err)
{
    AUTO_FREE char *below = tree_join(in, e->name);

    if (!below)
        return err_oom(err);
    if (!path_is_name(e->name, strlen(e->name)))
        return err_set(err, -EBADMSG, "'%s' has something without a name", s->walk->root);
    return tree_found(s, &(struct tree_item){ below, e->path, e->type, e->length, NULL }, err);
}

/* How a call went for a directory: one below the root that is there no more has nothing (more) in
 * it, which is 0. */
static int tree_far_gone(const char *name, int r, const struct err *why, struct err *err)
{
    if (r == -ENOENT && *name)
        return 0;
    if (r < 0 && err)
        *err = *why;
    return r;
}

static int tree_far_next(struct fs_list *list, const char *name, const struct fs_entry **ret,
                         struct err *err)
{
    struct err why = ERR_INIT;

    return tree_far_gone(name, fs_list_next(list, ret, &why), &why, err);
}

/* The first name in a directory is fetched before the directory is reported: it may have gone since
 * it was found. 1 and *ret; 0: it is empty, or *ret_list is NULL as it has gone. */
static int tree_far_first(struct fs *fs, const char *name, const char *path,
                          struct fs_list **ret_list, const struct fs_entry **ret, struct err *err)
{
    struct err why = ERR_INIT;
    int r = fs_list_open(fs, path, ret_list, &why);

    if (r == 0)
        r = fs_list_next(*ret_list, ret, &why);
    if (r == -ENOENT)
        *ret_list = fs_list_close(*ret_list);
    return tree_far_gone(name, r, &why, err);
}

static int tree_far_dir(struct tree_state *s, struct fs *fs, const char *name, const char *path,
                        struct err *err)
{
    const struct tree_walk *w = s->walk;
    const struct tree_item at = { name, path, FS_DIRECTORY, 0, NULL };
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int more = tree_far_first(fs, name, path, &list, &e, err), r = 0;

    if (more < 0 || !list)
        return more;
    if (w->on_dir)
        r = w->on_dir(w->arg, &at, err);
    if (r != 0)
        return r < 0 ? r : 0;
    while (r == 0 && more > 0) {
        r = tree_far_found(s, name, e, err);
        if (r == 0)
            more = tree_far_next(list, name, &e, err);
    }
    if (r == 0)
        r = more;
    return r == 0 && w->on_left ? w->on_left(w->arg, name, s->empty, err) : r;
}

/* ---- all ---- */

/* Directories that were found last are read first, in the order of their names. */
static void tree_turn(struct strs *l, size_t from)
{
    for (size_t to = l->n; from + 1 < to; from++) {
        char *one = l->v[from];

        l->v[from] = l->v[--to];
        l->v[to] = one;
    }
}

static int tree_walk_all(struct tree_state *s, struct fs *fs, struct err *err)
{
    int r = strs_add(&s->dirs, "") < 0 ? err_oom(err) : 0;

    while (r == 0 && s->dirs.n > 0) {
        size_t before = s->dirs.n - 1;
        AUTO_FREE char *name = s->dirs.v[before];
        AUTO_FREE char *path = *name ? path_join(s->walk->root, name) : strdup(s->walk->root);

        s->dirs.n = before;
        s->empty = true;
        if (!path)
            return err_oom(err);
        r = fs ? tree_far_dir(s, fs, name, path, err) : tree_local_dir(s, name, path, err);
        tree_turn(&s->dirs, before);
    }
    return r;
}

int tree_walk(const struct tree_walk *w, struct fs *fs, struct err *err)
{
    struct tree_state s = { .walk = w };
    int r = tree_walk_all(&s, fs_is_local(fs) ? NULL : fs, err);

    strs_done(&s.dirs);
    return r;
}

int tree_walk_local(const struct tree_walk *w, struct err *err)
{
    struct tree_state s = { .walk = w };
    int r = tree_walk_all(&s, NULL, err);

    strs_done(&s.dirs);
    return r;
}
