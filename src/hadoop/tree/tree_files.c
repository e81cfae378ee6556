/* tree_files.c - a group of fibers that is held back by bytes as well as by number. See
 * tree_files.h. */
#include "hadoop/tree/tree_files.h"
#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

/* A writer holds what its DataNodes have not confirmed yet, a reader what it has not handed on:
 * at most WINDOW bytes of a file, and EACH whatever its size. */
#define WINDOW (4 * MIB)
#define EACH (192 * KIB)

struct tree_file {
    struct tree_files *of;
    size_t held;
    char name[];
};

static void tree_file_free(struct tree_file *one)
{
    one->of->held -= one->held;
    cond_wake_all(&one->of->room);
    free(one);
}

static int tree_file_run(void *arg, struct err *err)
{
    struct tree_file *one = arg;
    int r = one->of->fn(one->of->arg, one->name, err);

    tree_file_free(one);
    return r;
}

/* One file is always let through (held > 0), or a limit below the size of one would wait for
 * ever. */
static int tree_files_room(struct tree_files *f, uint64_t length, size_t *ret, struct err *err)
{
    size_t wanted = EACH + (length < WINDOW ? (size_t)length : WINDOW);

    while (f->most.memory && f->held > 0 && f->held + wanted > f->most.memory) {
        int r = cond_wait(f->loop, &f->room, LOOP_NEVER);

        if (r < 0)
            return err_set(err, r, "interrupted");
    }
    f->held += wanted;
    *ret = wanted;
    return 0;
}

void tree_files_init(struct tree_files *f, struct loop *l, struct tree_limits most,
                     tree_file_fn *fn, void *arg)
{
    *f = (struct tree_files){ .loop = l, .most = most, .fn = fn, .arg = arg };
    group_init(&f->group, l, most.at_once ? most.at_once : 1);
}

/* The name is copied into the fiber's own argument: the walk reuses its memory. */
int tree_files_add(struct tree_files *f, const char *name, uint64_t length, struct err *err)
{
    size_t n = strlen(name) + 1;
    struct tree_file *one = calloc(1, sizeof(*one) + n);
    int r;

    if (!one)
        return err_oom(err);
    one->of = f;
    memcpy(one->name, name, n);
    r = tree_files_room(f, length, &one->held, err);
    if (r == 0)
        r = group_go(&f->group, tree_file_run, one, err);
    if (r < 0)
        tree_file_free(one);
    return r;
}

/* Files that are cancelled here fail, too, but only because of `r`. */
int tree_files_end(struct tree_files *f, int r, struct err *err)
{
    int failed = f->group.result;

    if (r == 0)
        return group_wait(&f->group, err);
    group_cancel(&f->group);
    if (failed < 0 && err)
        *err = f->group.err;
    (void)group_wait(&f->group, NULL);
    return failed < 0 ? failed : r;
}
