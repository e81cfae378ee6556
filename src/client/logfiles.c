/* logfiles.c - sorts file names by task, part and stream, and reads a task's parts as one stream,
 * forward or from its end. See logfiles.h. */
#include "client/logfiles.h"
#include "base/array.h"
#include "base/rotate.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define BLOCK (64 * KIB)

bool logfiles_wanted(const struct strs *wanted, const char *task)
{
    size_t role = strcspn(task, ":");

    if (!wanted || wanted->n == 0)
        return true;
    for (size_t i = 0; i < wanted->n; i++) {
        const char *w = wanted->v[i];

        if (str_eq(w, task) || (strlen(w) == role && strncmp(w, task, role) == 0))
            return true;
    }
    return false;
}

/* Role and rank of its task; false when that is no task's name. */
static bool logfiles_set_role(struct logfile *f)
{
    size_t role;

    if (!piece_task(f->task, &role, &f->rank))
        return false;
    memcpy(f->role, f->task, role);
    f->role[role] = '\0';
    return true;
}

/* The number between rank and stream of what an earlier agent of the task saved: "3.out". */
static bool parse_part(const char *text, uint32_t *ret)
{
    AUTO_FREE char *number = strndup(text, strcspn(text, "."));
    int64_t n = 0;

    if (!number || *number == '0' || strchr(text, '.') != strrchr(text, '.') ||
        str_to_i64(number, 1, UINT32_MAX - 1, &n) < 0)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/*     worker-0.out                 what the task's last agent saved
 *     worker-0.2.out               what its second agent saved
 *     worker-0.stdout              as it is in the logs of a container
 *     └─ role may have dashes: the last one counts */
bool logfiles_parse(const char *name, struct logfile *ret)
{
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
    const char *part = dash ? strchr(dash, '.') : NULL;

    bool out = dot && (str_eq(dot, ".out") || str_eq(dot, ".stdout"));
    bool err = dot && (str_eq(dot, ".err") || str_eq(dot, ".stderr"));

    if (!dash || !dot || dot < dash || (!out && !err) || strlen(name) >= sizeof(ret->task))
        return false;
    ret->stream = err ? PIECE_ERR : PIECE_OUT;
    ret->part = 0;
    if (part != dot && !parse_part(part + 1, &ret->part))
        return false;
    snprintf(ret->task, sizeof(ret->task), "%.*s:%.*s", (int)(dash - name), name,
             (int)(part - dash - 1), dash + 1);
    return logfiles_set_role(ret);
}

static int in_order(const void *a, const void *b)
{
    const struct logfile *x = a, *y = b;
    int r = strcmp(x->role, y->role);

    if (r == 0)
        r = (x->rank > y->rank) - (x->rank < y->rank);
    if (r == 0)
        r = (int)x->stream - (int)y->stream;
    return r ? r : (x->part - 1 > y->part - 1) - (x->part - 1 < y->part - 1); /* 0 is the last */
}

static int logfiles_add_file(struct logfiles *l, struct fs *fs, const struct fs_entry *e,
                             struct logfile *f)
{
    f->fs = fs;
    f->id = e->file_id;
    f->path = strdup(e->path);
    if (f->path && ARRAY_ADD(l->v, l->n, *f) == 0)
        return 0;
    free(f->path);
    return -ENOMEM;
}

static void sort(struct logfiles *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof(*l->v), in_order);
}

int logfiles_list(struct fs *fs, const char *dir, const struct strs *wanted, struct logfiles *ret,
                  struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int r = fs_list_open(fs, dir, &list, err);

    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    if (r < 0)
        return err_wrap(err, r, "look at the logs in '%s'", dir);
    while ((r = fs_list_next(list, &e, err)) == 1) {
        struct logfile f = { 0 };

        if (logfiles_parse(e->name, &f) && logfiles_wanted(wanted, f.task) &&
            logfiles_add_file(ret, fs, e, &f) < 0)
            return err_oom(err);
    }
    sort(ret);
    return r;
}

bool logfiles_has(const struct logfiles *l, const struct logfile *f)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].stream == f->stream && str_eq(l->v[i].task, f->task))
            return true;
    return false;
}

static bool has_task(const struct logfiles *l, const char *task)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].task, task))
            return true;
    return false;
}

static bool logfiles_is_killed(const json_t *task)
{
    return str_eq(format_text(task, "state"), "LOST") &&
           str_eq(format_text(task, "class"), "person");
}

bool logfiles_killed(const json_t *status)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (logfiles_is_killed(t))
            return true;
    }
    return false;
}

int logfiles_lacking(const struct logfiles *l, const json_t *status, struct strs *ret)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    bool lost = json_is_true(json_object_get(status, "lost"));
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        const char *name = format_text(t, "task");

        if ((lost || logfiles_is_killed(t)) && json_int_or(t, "pid", 0) > 0 && !has_task(l, name) &&
            strs_add(ret, name) < 0)
            return -ENOMEM;
    }
    return 0;
}

int logfiles_add(const struct spool *s, const struct strs *wanted, struct logfiles *ret,
                 struct err *err)
{
    enum piece_stream stream;
    const char *task;

    for (size_t i = 0; spool_stream(s, i, &task, &stream); i++) {
        struct logfile f = { .stream = stream, .id = spool_saved(s, i), .spool = s, .lane = i };

        memcpy(f.task, task, strlen(task) + 1);
        if (logfiles_set_role(&f) && logfiles_wanted(wanted, task) && !logfiles_has(ret, &f) &&
            ARRAY_ADD(ret->v, ret->n, f) < 0)
            return err_oom(err);
    }
    sort(ret);
    return 0;
}

int logfiles_move(struct logfiles *from, struct logfiles *ret)
{
    int r = 0;

    while (r == 0 && from->n > 0) {
        r = ARRAY_ADD(ret->v, ret->n, from->v[from->n - 1]);
        from->n -= r == 0;
    }
    sort(ret);
    return r;
}

void logfiles_done(struct logfiles *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct logfiles){ 0 };
}

/* ---- reading one ---- */

struct logreader {
    const struct logfile *file;
    struct fs_reader *fs; /* on a cluster; … */
    uint64_t at;          /* … its position */
    struct rotate local;  /* with a path: on this machine */
};

int logreader_open(const struct logfile *f, struct logreader **ret, struct err *err)
{
    AUTO_LOGREADER *r = calloc(1, sizeof(*r));
    int code = r ? 0 : err_oom(err);

    if (code == 0 && !f->spool && fs_is_local(f->fs)) {
        code = rotate_look(&r->local, f->path);
        if (code < 0)
            return err_code(err, code, "look at '%s'", f->path);
    } else if (code == 0 && !f->spool) {
        code = fs_open(f->fs, f->path, &r->fs, err);
    }
    if (code < 0)
        return code;
    r->file = f;
    *ret = take(r);
    return 0;
}

struct logreader *logreader_close(struct logreader *r)
{
    if (r)
        fs_reader_close(r->fs);
    free(r);
    return NULL;
}

uint64_t logreader_size(const struct logreader *r)
{
    struct rotate now = r->local;

    if (r->local.path)
        return rotate_size(&now);
    return r->fs ? fs_length(r->fs) : spool_size(r->file->spool, r->file->lane);
}

uint64_t logreader_begin(const struct logreader *r)
{
    return r->file->spool ? spool_begin(r->file->spool, r->file->lane) : 0;
}

/* A job that runs may cut it and remove the oldest pieces at any time. */
static ssize_t read_local(struct logreader *r, uint64_t *offset, void *p, size_t n, struct err *err)
{
    ssize_t got = -ESTALE;

    while (got == -ESTALE) {
        if (*offset < rotate_begin(&r->local))
            *offset = rotate_begin(&r->local);
        got = rotate_read(&r->local, *offset, p, n);
        if (got == -ESTALE && rotate_look(&r->local, r->file->path) < 0)
            break;
    }
    return got < 0 ? err_code(err, (int)got, "read '%s'", r->file->path) : got;
}

ssize_t logreader_read(struct logreader *r, uint64_t *offset, void *p, size_t n, struct err *err)
{
    ssize_t got;

    if (r->local.path)
        return read_local(r, offset, p, n, err);
    if (!r->fs) {
        got = spool_read(r->file->spool, r->file->lane, offset, p, n);
        return got < 0 ? err_code(err, (int)got, "read kept output") : got;
    }
    if (r->at != *offset)
        fs_seek(r->fs, *offset);
    got = fs_read(r->fs, p, n, err);
    r->at = *offset + (uint64_t)(got > 0 ? got : 0);
    return got;
}

/* Exactly `n` bytes, or fewer at the end. */
static ssize_t logfiles_read_block(struct logreader *r, uint64_t offset, char *p, size_t n,
                                   struct err *err)
{
    size_t have = 0;
    ssize_t got = 1;

    while (have < n && got > 0) {
        uint64_t at = offset + have;

        got = logreader_read(r, &at, p + have, n - have, err);
        if (at != offset + have)
            return 0; /* there is a hole: nothing before it counts */
        have += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? got : (ssize_t)have;
}

/* Backwards block by block, counting newlines; what is at most read is what is shown and one block
 * more. */
int logreader_tail(struct logreader *r, uint64_t *lines, uint64_t *ret, struct err *err)
{
    AUTO_FREE char *p = malloc(BLOCK);
    uint64_t size = logreader_size(r), begin = logreader_begin(r);
    uint64_t end = size > begin ? size - 1 : begin;

    *ret = *lines > 0 ? 0 : size;
    if (size == begin || *lines == 0)
        return 0;
    if (!p)
        return err_oom(err);
    while (end > begin) { /* the newline at the very end ends the last line and begins none */
        size_t some = end - begin < BLOCK ? (size_t)(end - begin) : BLOCK;
        ssize_t n = logfiles_read_block(r, end - some, p, some, err);

        if (n < 0)
            return (int)n;
        if ((size_t)n < some)
            return 0; /* became shorter: show all of it */
        for (size_t i = some; i > 0; i--)
            if (p[i - 1] == '\n' && --*lines == 0) {
                *ret = end - some + i;
                return 0;
            }
        end -= some;
    }
    --*lines; /* the first line, which no newline is before */
    return 0;
}
