/* export_own.c - files that are never results, wherever they are: our own, with tokens and
 * environments, and those that YARN uses to start the container.
 *
 * Identified by device and inode, not by name: a hard or symbolic link to one is one too. */
#include "agent/agent_private.h"
#include "agent/output/export_private.h"
#include "base/path.h"
#include "platform/yarn/yarn_keytab.h"

#include <dirent.h>
#include <string.h>

/* In the directory of a container. */
static const char *const beside[] = {
    "ydl-node",
    YARN_KEYTAB_FILE,
    YARN_KEYTAB_HELPER,
    "container_tokens",
    ".container_tokens.crc",
    "launch_container.sh",
    ".launch_container.sh.crc",
    "default_container_executor.sh",
    ".default_container_executor.sh.crc",
    "default_container_executor_session.sh",
    ".default_container_executor_session.sh.crc",
    "docker_container_executor.sh",
    ".docker_container_executor.sh.crc",
    "docker_container_executor_session.sh",
    ".docker_container_executor_session.sh.crc",
};

static int by_inode(const void *a, const void *b)
{
    const struct own_file *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

/* A file that cannot be examined counts as missing. */
static int export_add(struct own_files *own, const char *path, struct err *err)
{
    struct own_file *v;
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    v = reallocarray(own->v, own->n + 1, sizeof(*v));
    if (!v)
        return err_oom(err);
    own->v = v;
    v[own->n++] = (struct own_file){ st.st_dev, st.st_ino };
    return 0;
}

static void find_tmp(struct export *x, const char *dir)
{
    AUTO_FREE char *path = path_join(dir, "tmp");
    struct stat st;

    if (path && lstat(path, &st) == 0)
        x->yarns_tmp = (struct own_file){ st.st_dev, st.st_ino };
}

/* These lie in the directory where tasks run, which may be named as a result as a whole: the launch
 * script and the token file must not end up in a directory that others can read. */
static int add_beside(struct own_files *own, const char *dir, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(beside) && r == 0; i++) {
        AUTO_FREE char *path = path_join(dir, beside[i]);

        r = path ? export_add(own, path, err) : err_oom(err);
    }
    return r;
}

/* The directory and the files in it. Subdirectories may belong to tasks: a file in TMPDIR can be a
 * result that something links to. */
static int add_all_in(struct own_files *own, const char *dir, struct err *err)
{
    AUTO_DIR DIR *d = opendir(dir);
    struct dirent *e;
    int r = d ? export_add(own, dir, err) : 0;

    while (d && r == 0 && (e = readdir(d))) {
        AUTO_FREE char *path = NULL;

        if (e->d_type == DT_DIR)
            continue;
        path = path_join(dir, e->d_name);
        r = path ? export_add(own, path, err) : err_oom(err);
    }
    return r;
}

int export_own_find(struct export *x, struct err *err)
{
    const struct agent *a = x->agent;
    int r = a->home.dir ? add_beside(&x->own, a->home.dir, err) : 0;

    if (a->home.dir)
        find_tmp(x, a->home.dir);
    if (r == 0)
        r = add_all_in(&x->own, a->home.own, err);
    if (r == 0)
        r = add_all_in(&x->own, a->dirs.work, err);
    if (r == 0)
        r = add_all_in(&x->own, a->dirs.tasks, err);
    if (x->own.n)
        qsort(x->own.v, x->own.n, sizeof(*x->own.v), by_inode);
    return r;
}

bool export_is_own(const struct export *x, const struct stat *st)
{
    const struct own_file one = { st->st_dev, st->st_ino };

    return x->own.n && bsearch(&one, x->own.v, x->own.n, sizeof(one), by_inode);
}

void export_own_done(struct export *x)
{
    free(x->own.v);
    x->own = (struct own_files){ 0 };
}
