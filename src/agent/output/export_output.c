/* export_output.c - tasks' output goes to HDFS when the agent leaves.
 *
 *     EXPORT_DIR/worker-3.out, .err     the task's output; what an earlier agent of the task left
 *                                       there becomes worker-3.1.out, …
 *
 * An agent that succeeds another one in its container has the same files, with more in them. So the
 * ids of the files in HDFS are kept (LOGS/.ydl-saved-worker-3.stdout), and those files are
 * replaced.
 *
 * We send the master the list of tasks whose output is in HDFS. It knows which tasks ran here: for
 * one that is not in the list the files were removed while we ran, and its output is lost. */
#include "agent/agent_private.h"
#include "agent/output/export.h"
#include "agent/output/export_private.h"
#include "agent/output/output_files.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define EARLIER_MAX 1000 /* agents that had the task before */

struct log {
    struct export *x;
    struct saved *saved;
    struct fs *fs;
    const char *dir, *end; /* end: "out" or "err" */
    const char *label;
    const struct stream_out *from;
    size_t task;    /* in logs.there; SIZE_MAX: not there, one of its files is missing */
    uint64_t bytes; /* that were saved */
    bool failed;    /* until it is there */
};

/* All pieces of it as one file. */
static int copy_log(const struct log *l, const char *to, uint64_t *ret_bytes, struct err *err)
{
    const struct rotate *from = &l->from->cut;
    const struct fs_create how = { .overwrite = true, .parents = true, .mode = FS_MODE_DEFAULT };
    AUTO_FS_WRITER *w = NULL;
    int r = fs_create(l->fs, to, &how, &w, err);

    for (uint32_t i = from->first; r == 0 && i > 0 && i <= from->last; i++) {
        AUTO_FREE char *piece = str_printf("%s.%u", from->path, i);

        r = piece ? export_copy_in(l->x, piece, -1, w, err) : err_oom(err);
    }
    if (r == 0)
        r = export_copy_in(l->x, from->path, l->from->kept, w, err);
    return r < 0 ? r : export_close_copy(l->x, take(w), ret_bytes, err);
}

/* ---- what this container has saved before ---- */

static char *name_mark(const struct agent *a, const char *label, const char *end)
{
    AUTO_FREE char *of = str_printf("%s.std%s", label, end);

    return of ? output_mark(a, "saved", of) : NULL;
}

uint64_t output_saved(const struct agent *a, const char *label, const char *end)
{
    AUTO_FREE char *path = name_mark(a, label, end);
    AUTO_BUF text = { .max = 64 };
    const char *number = path && path_read(path, &text, NULL) == 0 ? buf_text(&text) : NULL;
    int64_t id = 0;

    return number && str_to_i64(number, 1, INT64_MAX, &id) == 0 ? (uint64_t)id : 0;
}

/* Written before the file gets its final name: if we are killed in between, the mark names a file
 * that nobody reads. */
static void write_mark(const struct log *l, const char *part)
{
    AUTO_FREE char *path = name_mark(l->x->agent, l->label, l->end);
    AUTO_FS_ENTRY e = { 0 };
    struct err why = ERR_INIT;
    char text[32];
    int n;

    if (!path || fs_exists(l->fs, part, &e, NULL) <= 0)
        return;
    n = snprintf(text, sizeof(text), "%llu", (unsigned long long)e.file_id);
    if (path_write_unflushed(path, text, (size_t)n, 0600, &why) < 0)
        log_warn(LOG_AGENT, "%s, ignoring", why.text);
}

/* ---- one file ---- */

static char *name_earlier(const struct log *l, int i)
{
    return i == 0 ? str_printf("%s/%s.%s", l->dir, l->label, l->end)
                  : str_printf("%s/%s.%d.%s", l->dir, l->label, i, l->end);
}

/* What we saved before is part of what is there now. */
static void remove_ours(const struct log *l, uint64_t id)
{
    struct err err = ERR_INIT;
    int r = id ? 1 : 0;

    for (int i = 0; r > 0 && i < EARLIER_MAX; i++) {
        AUTO_FREE char *name = name_earlier(l, i);
        AUTO_FS_ENTRY old = { 0 };

        r = name ? fs_exists(l->fs, name, &old, &err) : err_oom(&err);
        if (r > 0 && old.file_id == id)
            r = fs_delete(l->fs, name, false, &err);
    }
    if (r < 0)
        log_warn(LOG_AGENT, "%s; its lines are saved twice", err.text);
}

/* Output of a task that ran elsewhere before is kept, beside ours. */
static int keep_earlier(const struct log *l, const char *to, struct err *err)
{
    AUTO_FS_ENTRY old = { 0 };
    int r = fs_exists(l->fs, to, &old, err);

    for (int i = 1; r > 0 && i < EARLIER_MAX; i++) {
        AUTO_FREE char *other = name_earlier(l, i);

        r = other ? fs_rename(l->fs, to, other, false, err) : err_oom(err);
        r = r == -EEXIST ? 1 : r;
    }
    return r < 0 ? r : 0;
}

/* A name of our own: an agent that was cut off may be saving the same task right now. */
static char *name_part(const struct log *l)
{
    const struct agent *a = l->x->agent;
    AUTO_FREE char *own = a->home.id ? strdup(a->home.id) : str_printf("%u", a->opt->number);

    return own ? str_printf("%s/.%s.%s.%s.part", l->dir, l->label, l->end, own) : NULL;
}

/* Written under another name first: a reader sees all of it or nothing.
 * Two agents may save the same task: one that was cut off and comes late, and its replacement. Each
 * writes a part of its own, moves the other's file aside and renames without overwriting; whoever
 * loses the race (-EEXIST) looks again. So neither output is ever lost. */
static int put_log(void *arg, struct err *err)
{
    struct log *l = arg;
    AUTO_FREE char *to = name_earlier(l, 0);
    AUTO_FREE char *part = name_part(l);
    uint64_t before = output_saved(l->x->agent, l->label, l->end);
    int r = to && part ? copy_log(l, part, &l->bytes, err) : err_oom(err);

    if (r < 0)
        return r;
    write_mark(l, part);
    for (int i = 0; i < EARLIER_MAX; i++) {
        r = keep_earlier(l, to, err);
        if (r == 0)
            r = export_rename(l->x, &(struct export_move){ l->fs, part, to, false }, err);
        if (r == 0)
            remove_ours(l, before);
        if (r != -EEXIST) /* another agent's has come between */
            return r;
        err_clear(err);
    }
    return err_set(err, -EEXIST, "'%s' already exists", to);
}

static int save_log(void *arg, struct err *err)
{
    struct log *l = arg;
    struct err own = ERR_INIT;

    (void)err; /* a failure of one must not end the others */
    if (export_try(l->x, l->fs, put_log, l, &own) < 0) {
        AUTO_FREE char *part = name_part(l);

        export_failed(l->x, l->saved, &own);
        if (part && !l->x->stop)
            (void)fs_delete(l->fs, part, false, NULL);
    } else {
        l->failed = false;
        l->saved->files++;
        l->saved->bytes += l->bytes;
    }
    return 0;
}

/* All that is to be saved, with paths and labels for what an earlier agent left. */
struct logs {
    struct log *v;
    size_t n;
    struct strs paths, labels; /* of earlier agents' */
    struct strs there;         /* labels of tasks both of whose files are there */
    struct stream_out *found;  /* … two for each */
};

static void logs_done(struct logs *l)
{
    free(l->v);
    free(l->found);
    strs_done(&l->paths);
    strs_done(&l->labels);
    strs_done(&l->there);
}

static const char *const ends[] = { "out", "err" };

/* One of a task's two files; an empty one needs no copy. False when not all of it is there. */
static bool add_log(struct logs *all, const struct log *one, int stream)
{
    const struct stream_out *from = one->from;
    AUTO_CLOSE int fd = export_open(from->cut.path, from->kept);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (st.st_size > 0 || from->cut.last > 0) {
        all->v[all->n] = *one;
        all->v[all->n++].end = ends[stream];
    }
    return !from->gone;
}

/* Both files of a task. A piece that has no name yet is named now: rotation has ended.
 * A task counts as saved when both files were there and both were copied. With one of them missing,
 * the other is still copied, but its task is not named to the master. */
static int export_output_add_logs(struct logs *all, struct log one, struct stream_out from[2])
{
    size_t before = all->n;
    int have = 0;

    one.task = all->there.n;
    for (int i = 0; i < 2; i++) {
        if (from[i].cut.path && !from[i].gone)
            (void)rotate_mend(&from[i].cut);
        one.from = &from[i];
        have += add_log(all, &one, i);
    }
    if (have == 2)
        return strs_add(&all->there, one.label);
    for (size_t i = before; i < all->n; i++)
        all->v[i].task = SIZE_MAX;
    return 0;
}

/* The labels of tasks whose output is complete. */
static int name_saved(const struct logs *all, struct strs *ret)
{
    AUTO_FREE bool *failed = calloc(all->there.n + 1, sizeof(*failed));
    int r = failed ? 0 : -ENOMEM;

    for (size_t i = 0; i < all->n && r == 0; i++)
        if (all->v[i].failed && all->v[i].task != SIZE_MAX)
            failed[all->v[i].task] = true;
    for (size_t i = 0; i < all->there.n && r == 0; i++)
        if (!failed[i])
            r = strs_add(ret, all->there.v[i]);
    return r;
}

static int add_found(struct export *x, struct logs *all, const struct log *like)
{
    int r = 0;

    for (size_t i = 0; i < all->labels.n && r == 0; i++) {
        struct stream_out *from = &all->found[2 * i];
        struct log one = *like;

        one.label = all->labels.v[i];
        for (size_t k = 0; k < 2; k++) {
            if (strs_take(&all->paths,
                          str_printf("%s/%s.std%s", x->agent->dirs.log, one.label, ends[k])) < 0)
                return -ENOMEM;
            from[k].kept = -1;
            from[k].gone = rotate_look(&from[k].cut, all->paths.v[all->paths.n - 1]) < 0;
        }
        r = export_output_add_logs(all, one, from);
    }
    return r;
}

static int list_logs(struct export *x, struct logs *all, const struct log *like, struct err *err)
{
    const struct agent *a = x->agent;

    if (export_found(a, &all->labels) < 0)
        return err_oom(err);
    all->v = calloc(2 * (a->tasks.n + all->labels.n) + 1, sizeof(*all->v));
    all->found = calloc(2 * all->labels.n + 1, sizeof(*all->found));
    if (!all->v || !all->found)
        return err_oom(err);
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct log one = *like;

        one.label = a->tasks.v[i]->label;
        if (export_output_add_logs(all, one, a->tasks.v[i]->output.streams) < 0)
            return err_oom(err);
    }
    return add_found(x, all, like) < 0 ? err_oom(err) : 0;
}

/* A few files at a time (EXPORT_AT_ONCE). The labels are sent even when some failed: the master
 * then knows which tasks' output is complete. */
void export_output(struct export *x)
{
    struct saved s = { .to = x->agent->facts->export_dir };
    struct logs all = { 0 };
    AUTO_FREE char *dir = NULL;
    struct log like = { .x = x, .saved = &s, .failed = true };
    AUTO_STRS labels = { 0 };
    struct err err = ERR_INIT;
    struct group g;
    int r = remote_find(&x->remote, s.to, &like.fs, &dir, &err);

    group_init(&g, x->agent->loop, EXPORT_AT_ONCE);
    like.dir = dir;
    if (r == 0)
        r = list_logs(x, &all, &like, &err);
    for (size_t i = 0; i < all.n && r == 0; i++)
        r = group_go(&g, save_log, &all.v[i], &err);
    if (group_wait(&g, &err) < 0 || r < 0)
        export_failed(x, &s, &err);
    if (name_saved(&all, &labels) < 0 && !*s.fail)
        snprintf(s.fail, sizeof(s.fail), "out of memory");
    s.labels = &labels;
    export_tell(x, &s, false);
    logs_done(&all);
}
