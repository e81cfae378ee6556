/* fs_files.c - the frame of every verb of `ydl fs`: session and file systems, one operand after the
 * other, and one exit code for all of them.
 *
 *     operand ──► verb ── fails ──► told at once ──► the next operand
 *                                        └─ none could fare better: FILES_STOP
 *
 * "None could fare better" is an interruption, a cluster that is not there, no memory, or nobody
 * left who reads our output. A verb that is used on local files alone needs no cluster: the fault
 * of its configuration is kept until an operand asks for one. */
#include "cmd/fs/fs_files.h"
#include "cli/exit.h"
#include "loop/fiber.h"

#include <stdio.h>
#include <string.h>

/* ---- one verb ---- */

/* Whether other operands could fare better. */
static bool files_hopeless(struct loop *l, int r)
{
    int code = exit_code(r);

    return fiber_cancelled(l) || r == EXIT_OUTPUT_GONE || r == -ENOMEM ||
           code == EXIT_INTERRUPTED || code == EXIT_UNREACHABLE;
}

int files_failed(struct files *f, const char *operand, int r, struct err *err)
{
    bool stop = files_hopeless(f->x->loop, r);

    if (r == FILES_STOP)
        return r;
    if (loop_signal(f->x->loop)) { /* what an interrupted wait says is of no use to anybody */
        r = err_set(err, -ECANCELED, "interrupted");
        stop = true;
    }
    if (!f->failed)
        f->failed = r;
    exit_report(f->x->cli->program->name, r, err, false);
    doc_error(&f->doc, operand, r, err);
    err_clear(err);
    return stop ? FILES_STOP : 0;
}

int files_outcome(struct files *f, const char *operand, int r, struct err *err)
{
    return r < 0 ? files_failed(f, operand, r, err) : 0;
}

static int files_run_job(struct connection *x, void *arg, struct err *err)
{
    const struct cli_verb *v = x->cli->verb;
    struct files f = { .x = x };
    int r = connect_user(x, err);

    (void)arg;
    if (r == 0)
        r = fs_set_new(x->loop, x->session, &f.set, err);
    if (r < 0)
        return r;
    doc_begin(&f.doc, x->globals->json, v->list);
    r = ((files_fn *)v->work)(&f, err);
    if (r < 0)
        (void)files_failed(&f, NULL, r, err);
    r = doc_end(&f.doc, err);
    fs_set_free(f.set);
    return r < 0 ? r : f.failed ? exit_code(f.failed) : 0;
}

int files_run(struct cli *c, struct err *err)
{
    return connect_run(c, CONNECT_IF_CONFIGURED, files_run_job, NULL, err);
}

/* ---- operands ---- */

int files_find(struct files *f, const char *operand, enum fs_default where, struct fs **ret,
               char **ret_path, struct err *err)
{
    if (!*operand)
        return err_set(err, -EINVAL, "a path is empty");
    if (!f->x->session && !str_starts(operand, "file:") && where == FS_ON_CLUSTER) {
        *err = f->x->unconfigured;
        return err->code;
    }
    return fs_find(f->set, operand, where, ret, ret_path, err);
}

static int expand_pattern(struct fs *fs, const char *operand, const char *path,
                          struct fs_entries *ret, struct err *err)
{
    int r = fs_glob(fs, path, ret, err);

    if (r < 0 || ret->n > 0)
        return r;
    /* Nothing matches, but a file may really be called so. */
    ret->v = calloc(1, sizeof(*ret->v));
    if (!ret->v)
        return err_oom(err);
    r = fs_exists(fs, path, &ret->v[0], err);
    if (r == 0)
        return err_set(err, -ENOENT, "nothing matches '%s'", operand);
    ret->n = r > 0;
    return r < 0 ? r : 0;
}

int files_expand(struct files *f, const char *operand, struct fs **ret_fs, struct fs_entries *ret,
                 struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = files_find(f, operand, FS_ON_CLUSTER, ret_fs, &path, err);

    *ret = (struct fs_entries){ 0 };
    if (r < 0)
        return r;
    if (fs_has_glob(path))
        return expand_pattern(*ret_fs, operand, path, ret, err);
    ret->v = calloc(1, sizeof(*ret->v));
    if (!ret->v)
        return err_oom(err);
    r = fs_stat(*ret_fs, path, &ret->v[0], err);
    ret->n = r == 0;
    return r;
}

static int each_of(struct files *f, const char *operand, files_item_fn *fn, struct err *err)
{
    AUTO_FS_ENTRIES all = { 0 };
    struct files_item item = { .operand = operand };
    int r = files_expand(f, operand, &item.fs, &all, err);

    if (r == -ENOENT && f->missing_is_fine) {
        err_clear(err);
        return 0;
    }
    if (r < 0)
        return files_failed(f, operand, r, err);
    for (size_t i = 0; r == 0 && i < all.n; i++) {
        item.entry = &all.v[i];
        r = files_outcome(f, operand, fn(f, &item, err), err);
    }
    return r;
}

int files_each(struct files *f, char *const *operands, size_t n, files_item_fn *fn, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = each_of(f, operands[i], fn, err);
    return r;
}

int files_each_or_home(struct files *f, files_item_fn *fn, struct err *err)
{
    const struct cli *c = f->x->cli;
    char home[] = ".";
    char *const here[] = { home };

    if (c->n_operands == 0)
        return files_each(f, here, 1, fn, err);
    return files_each(f, c->operands, c->n_operands, fn, err);
}

/* ---- trees ---- */

/* One entry, and what is below it. */
static int files_walk_entry(struct files *f, struct fs *fs, const struct fs_entry *e,
                            files_walk_fn *fn, void *arg, struct err *err)
{
    AUTO_FREE char *path = strdup(e->path); /* `e` is lent until somebody reads on */
    bool directory = e->type == FS_DIRECTORY;
    int r;

    if (!path)
        return err_oom(err);
    r = fn(f, fs, e, arg, err);
    if (r < 0)
        return files_failed(f, path, r, err);
    return directory ? files_walk(f, fs, path, fn, arg, err) : 0;
}

int files_walk(struct files *f, struct fs *fs, const char *path, files_walk_fn *fn, void *arg,
               struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(fs, path, &list, err);

    while (r == 0) {
        r = fs_list_next(list, &e, err);
        if (r == 0)
            return 0;
        if (r > 0)
            r = files_walk_entry(f, fs, e, fn, arg, err);
    }
    return files_failed(f, path, r, err);
}

/* ---- standard output ---- */

int files_to_stdout(struct fs_reader *r, fs_progress_fn *on_progress, void *arg, struct err *err)
{
    int x;

    fflush(stdout); /* what was printed before comes first */
    x = fs_copy_out(r, STDOUT_FILENO, on_progress, arg, err);
    return x == -EPIPE && exit_reader_gone(STDOUT_FILENO) ? EXIT_OUTPUT_GONE : x;
}
