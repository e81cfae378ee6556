/* tree_copy.c - see tree_copy.h. One fiber walks the source and hands each file to a fiber of its
 * own, as long as there is room:
 *
 *     walk ──► tree_files_add ──► one file     (at most `at_once`, at most `memory` bytes)
 *          └─► fs_mkdirs                       (only for a directory with nothing in it) */
#include "hadoop/tree/tree_copy.h"
#include "base/path.h"

#include <fcntl.h>
#include <string.h>

/* ---- one file ---- */

struct tree_meter {
    const struct tree_copy *copy;
    uint64_t done;
};

static int tree_on_progress(void *arg, uint64_t done)
{
    struct tree_meter *m = arg;
    uint64_t more = done - m->done;

    m->done = done;
    return m->copy->on_bytes ? m->copy->on_bytes(m->copy->arg, more) : 0;
}

static int tree_read_on(struct tree_meter *m, struct fs_reader *r, struct fs_writer *w,
                        struct err *err)
{
    const void *p;
    ssize_t n;
    int x = 0;

    while (x == 0 && (n = fs_read_next(r, &p, 0, err)) != 0) {
        if (n < 0)
            return (int)n;
        x = fs_write(w, p, (size_t)n, err);
        if (x == 0 && tree_on_progress(m, m->done + (uint64_t)n) < 0)
            x = err_set(err, -ECANCELED, "stopped");
    }
    return x;
}

int tree_copy_fd(const struct tree_copy *c, int fd, struct fs_writer *w, struct err *err)
{
    struct tree_meter m = { .copy = c };

    return fs_copy_in(w, fd, tree_on_progress, &m, err);
}

static int tree_copy_local(const struct tree_copy *c, const char *path, struct fs_writer *w,
                           struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? err_sys(err, "open '%s'", path) : tree_copy_fd(c, fd, w, err);
}

int tree_copy_content(const struct tree_copy *c, const char *from, struct fs_writer *w,
                      struct err *err)
{
    struct tree_meter m = { .copy = c };
    AUTO_FS_READER *r = NULL;
    int x;

    if (fs_is_local(c->from))
        return tree_copy_local(c, from, w, err);
    x = fs_open(c->from, from, &r, err);
    return x < 0 ? x : tree_read_on(&m, r, w, err);
}

/* `whole_calls`: a create that is interrupted may have made the file or not. Where the caller has
 * to know, the call is carried through and cancellation comes before or after it. */
int tree_create(const struct tree_copy *c, const char *to, struct fs_writer **ret, struct err *err)
{
    int r;

    if (!c->whole_calls)
        return fs_create(c->to, to, &c->how, ret, err);
    if (fiber_cancelled(c->loop))
        return err_set(err, -ECANCELED, "interrupted");
    fiber_shield(c->loop, true);
    r = fs_create(c->to, to, &c->how, ret, err);
    fiber_shield(c->loop, false);
    return r;
}

int tree_copy_file(const struct tree_copy *c, const char *from, const char *to, struct err *err)
{
    AUTO_FS_WRITER *w = NULL;
    int r = tree_create(c, to, &w, err);

    if (r == 0)
        r = tree_copy_content(c, from, w, err);
    return r < 0 ? r : fs_close(take(w), err);
}

/* ---- all files ---- */

struct tree_copying {
    struct tree_copy copy;
    const char *from, *to;
    struct tree_files files;
};

static int tree_copy_one(void *arg, const char *name, struct err *err)
{
    struct tree_copying *t = arg;
    AUTO_FREE char *from = path_join(t->from, name), *to = path_join(t->to, name);

    if (!from || !to)
        return err_oom(err);
    if (t->copy.put)
        return t->copy.put(t->copy.arg, from, to, err);
    return tree_copy_file(&t->copy, from, to, err);
}

static int tree_copy_found(void *arg, const struct tree_item *e, struct err *err)
{
    struct tree_copying *t = arg;

    if (e->type != FS_FILE && !t->copy.put)
        return 0;
    return tree_files_add(&t->files, e->name, e->length, err);
}

static int tree_copy_dir(void *arg, const struct tree_item *e, struct err *err)
{
    struct tree_copying *t = arg;
    AUTO_FREE char *to = NULL;

    if (!t->copy.on_dir || !*e->name)
        return 0;
    to = path_join(t->to, e->name);
    return to ? t->copy.on_dir(t->copy.arg, to, err) : err_oom(err);
}

/* Directories that have something in them are made along with their files (how.parents), which
 * saves a call for each. */
static int tree_copy_left(void *arg, const char *name, bool empty, struct err *err)
{
    struct tree_copying *t = arg;
    AUTO_FREE char *to = *name ? path_join(t->to, name) : strdup(t->to);

    if (!to)
        return err_oom(err);
    return empty ? fs_mkdirs(t->copy.to, to, FS_MODE_DEFAULT, true, err) : 0;
}

int tree_copy(const struct tree_copy *c, const char *from, const char *to, struct err *err)
{
    struct tree_copying t = { .copy = *c, .from = from, .to = to };
    const struct tree_walk walk = {
        .root = from,
        .links = TREE_LINKS_FOLLOW,
        .depth = c->depth,
        .arg = &t,
        .on_dir = tree_copy_dir,
        .on_file = tree_copy_found,
        .on_left = tree_copy_left,
    };
    int r;

    t.copy.how.parents = true;
    tree_files_init(&t.files, c->loop, c->most, tree_copy_one, &t);
    r = tree_walk(&walk, c->from, err);
    return tree_files_end(&t.files, r, err);
}
