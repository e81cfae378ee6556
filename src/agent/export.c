/* export.c - output and results go where the job says when the agent leaves.
 *
 *     EXPORT_DIR/worker-3.out, .err     the task's output; what an earlier agent of the task left
 *                                       there becomes worker-3.1.out, …
 *     TO                                results, see export_tree.c
 *
 * Of an earlier agent of this container too, whose tasks we know by the names of their files only.
 *
 * A fiber does it, while we go on answering the master, which waits for us, and look at the clock:
 * two minutes without anything moving, or when the time that the master gave us is over, what is
 * not saved is told as a failure. When our
 * container is being ended, or there is no master any more, output alone is saved, in a hurry. */
#include "agent/export_private.h"
#include "base/log.h"
#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STUCK_MS 120000
#define HURRY_MS 20000 /* when our container is gone already */
#define LOOK_MS 500
#define EARLIER_MAX 1000 /* agents that had the task before */

int export_moved(struct export *x, struct err *err)
{
    x->moved = loop_now(x->agent->loop);
    return x->stop ? err_set(err, -ECANCELED, "it is too late") : 0;
}

void export_failed(const struct export *x, struct saved *s, const struct err *err)
{
    s->fails++;
    if (*s->fail)
        return;
    if (x->stop && x->hurry)
        snprintf(s->fail, sizeof(s->fail), "the container was ended before");
    else if (x->stop && x->late)
        snprintf(s->fail, sizeof(s->fail), "there was no more time (save-time)");
    else if (x->stop)
        snprintf(s->fail, sizeof(s->fail), "nothing moved for %d s", STUCK_MS / 1000);
    else
        snprintf(s->fail, sizeof(s->fail), "%s", err->text);
}

/* ---- what the master is told ---- */

static void tell(struct export *x, struct saved *s, bool last)
{
    size_t n = strlen(s->fail);
    Agent__Saved body = AGENT__SAVED__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    if (s->fails > 1)
        snprintf(s->fail + n, sizeof(s->fail) - n, " (and %u more)", s->fails - 1);
    if (*s->fail)
        log_warn(LOG_AGENT, "save to '%s': %s", s->to, s->fail);
    body.to = (char *)s->to;
    body.files = s->files;
    body.bytes = s->bytes;
    body.fail = (char *)s->fail;
    body.last = last;
    m.saved = &body;
    m.body_case = AGENT__TO_MASTER__BODY_SAVED;
    x->agent->unsaved = x->agent->unsaved || *s->fail;
    if (report_send(x->agent, &m) < 0 && *s->fail)
        x->agent->untold = true;
}

/* ---- one file ---- */

static int on_progress(void *arg, uint64_t done)
{
    (void)done;
    return export_moved(arg, NULL);
}

static int copy_in(struct export *x, const char *from, struct fs_writer *w, struct err *err)
{
    AUTO_CLOSE int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? err_sys(err, "open '%s'", from) : fs_copy_in(w, fd, on_progress, x, err);
}

/* Takes `w` over. */
static int close_copy(struct export *x, struct fs_writer *w, uint64_t *ret_bytes, struct err *err)
{
    uint64_t bytes = fs_written(w);
    int r = fs_close(w, err);

    if (r == 0)
        r = export_moved(x, err);
    if (r == 0)
        *ret_bytes = bytes;
    return r;
}

int export_copy(struct export *x, const char *from, struct fs *fs, const char *to,
                uint64_t *ret_bytes, struct err *err)
{
    const struct fs_create how = { .overwrite = true, .parents = true, .mode = FS_MODE_DEFAULT };
    AUTO_FS_WRITER *w = NULL;
    int r = fs_create(fs, to, &how, &w, err);

    if (r == 0)
        r = copy_in(x, from, w, err);
    return r < 0 ? r : close_copy(x, take(w), ret_bytes, err);
}

/* ---- output ---- */

struct log {
    struct export *x;
    struct saved *saved;
    struct fs *fs;
    const char *dir, *end; /* end: "out" or "err" */
    const char *label;
    const struct rotate *from;
    uint64_t bytes; /* that were saved */
};

/* All pieces of it as one file. */
static int copy_log(const struct log *l, const char *to, uint64_t *ret_bytes, struct err *err)
{
    const struct rotate *from = l->from;
    const struct fs_create how = { .overwrite = true, .parents = true, .mode = FS_MODE_DEFAULT };
    AUTO_FS_WRITER *w = NULL;
    int r = fs_create(l->fs, to, &how, &w, err);

    for (uint32_t i = from->first; r == 0 && i > 0 && i <= from->last; i++) {
        AUTO_FREE char *piece = str_printf("%s.%u", from->path, i);

        r = piece ? copy_in(l->x, piece, w, err) : err_oom(err);
    }
    if (r == 0)
        r = copy_in(l->x, from->path, w, err);
    return r < 0 ? r : close_copy(l->x, take(w), ret_bytes, err);
}

/* A task that was elsewhere before has left its output there: it stays, beside ours. */
static int keep_earlier(const struct log *l, const char *to, struct err *err)
{
    AUTO_FS_ENTRY old = { 0 };
    int r = fs_exists(l->fs, to, &old, err);

    for (int i = 1; r > 0 && i < EARLIER_MAX; i++) {
        AUTO_FREE char *other = str_printf("%s/%s.%d.%s", l->dir, l->label, i, l->end);

        r = other ? fs_rename(l->fs, to, other, false, err) : err_oom(err);
        r = r == -EEXIST ? 1 : r;
    }
    return r < 0 ? r : 0;
}

/* Under another name first: a reader sees all of it or nothing. */
static int put_log(void *arg, struct err *err)
{
    struct log *l = arg;
    AUTO_FREE char *to = str_printf("%s/%s.%s", l->dir, l->label, l->end);
    AUTO_FREE char *tmp = str_printf("%s/.%s.%s.part", l->dir, l->label, l->end);
    int r = to && tmp ? copy_log(l, tmp, &l->bytes, err) : err_oom(err);

    if (r == 0)
        r = keep_earlier(l, to, err);
    return r < 0 ? r : export_rename(l->x, &(struct export_move){ l->fs, tmp, to, true }, err);
}

static int save_log(void *arg, struct err *err)
{
    struct log *l = arg;
    struct err own = ERR_INIT;

    (void)err; /* a failure of one must not end the others */
    if (export_try(l->x, put_log, l, &own) < 0) {
        export_failed(l->x, l->saved, &own);
    } else {
        l->saved->files++;
        l->saved->bytes += l->bytes;
    }
    return 0;
}

/* All that there is to save. What is an earlier agent's is ours to name. */
struct logs {
    struct log *v;
    size_t n;
    struct strs paths, labels;
    struct rotate *cuts;
};

static void logs_done(struct logs *l)
{
    free(l->v);
    free(l->cuts);
    strs_done(&l->paths);
    strs_done(&l->labels);
}

static const char *const ends[] = { "out", "err" };

static void add_log(struct logs *all, const struct log *like, const char *label, int stream,
                    const struct rotate *from)
{
    struct stat st;

    if (stat(from->path, &st) < 0 || (st.st_size == 0 && from->last == 0))
        return;
    all->v[all->n] = *like;
    all->v[all->n].from = from;
    all->v[all->n].end = ends[stream];
    all->v[all->n++].label = label;
}

static int add_found(struct export *x, struct logs *all, const struct log *like)
{
    for (size_t i = 0; i < 2 * all->labels.n; i++) {
        const char *label = all->labels.v[i / 2];
        struct rotate *cut = &all->cuts[i];

        if (strs_take(&all->paths,
                      str_printf("%s/%s.std%s", x->agent->log_dir, label, ends[i % 2])) < 0)
            return -ENOMEM;
        cut->path = all->paths.v[all->paths.n - 1];
        if (rotate_look(cut, cut->path) == 0)
            (void)rotate_mend(cut);
        add_log(all, like, label, (int)(i % 2), cut);
    }
    return 0;
}

static int list_logs(struct export *x, struct logs *all, const struct log *like, struct err *err)
{
    const struct agent *a = x->agent;

    if (export_found(a, &all->labels) < 0)
        return err_oom(err);
    all->v = calloc(2 * (a->n_tasks + all->labels.n) + 1, sizeof(*all->v));
    all->cuts = calloc(2 * all->labels.n + 1, sizeof(*all->cuts));
    if (!all->v || !all->cuts)
        return err_oom(err);
    for (size_t i = 0; i < 2 * a->n_tasks; i++) {
        const struct task *t = a->tasks[i / 2];

        add_log(all, like, t->label, (int)(i % 2), &t->streams[i % 2].cut);
    }
    return add_found(x, all, like) < 0 ? err_oom(err) : 0;
}

static void save_logs(struct export *x)
{
    struct saved s = { .to = x->agent->facts->export_dir };
    struct logs all = { 0 };
    AUTO_FREE char *dir = NULL;
    struct log like = { .x = x, .saved = &s };
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
    tell(x, &s, false);
    logs_done(&all);
}

/* ---- results ---- */

/* Tasks that run in the same directory have the same results there. */
static bool seen_before(const struct agent *a, size_t i, const char *from)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(a->tasks[k]->work, a->tasks[i]->work))
            return *from != '\0';
    return false;
}

/* What tasks of an earlier agent left. They ran in the directory that ours do; where we have none,
 * it is looked at for the first of theirs. */
static void save_found(struct export *x, const Agent__Result *m, struct saved *s)
{
    const struct agent *a = x->agent;
    AUTO_STRS labels = { 0 };

    if (export_found(a, &labels) < 0)
        snprintf(s->fail, sizeof(s->fail), "out of memory");
    for (size_t i = 0; i < labels.n && (!*m->from || (i == 0 && a->n_tasks == 0)); i++) {
        AUTO_FREE char *from =
            *m->from ? path_join(a->container->dir, m->from) : path_join(a->out_dir, labels.v[i]);

        if (from)
            export_tree(x, from, labels.v[i], s);
    }
}

static void save_result(struct export *x, const Agent__Result *m)
{
    const struct agent *a = x->agent;
    struct saved s = { .to = m->to, .placed = json_object() };

    if (*m->from == '/' && !a->spared)
        export_tree(x, m->from, NULL, &s);
    for (size_t i = 0; i < a->n_tasks && *m->from != '/'; i++) {
        const struct task *t = a->tasks[i];
        AUTO_FREE char *from = NULL;

        if (seen_before(a, i, m->from) || (!*m->from && !t->out))
            continue;
        from = *m->from ? path_join(t->work, m->from) : strdup(t->out);
        if (from)
            export_tree(x, from, t->label, &s);
        else
            snprintf(s.fail, sizeof(s.fail), "out of memory");
    }
    if (*m->from != '/')
        save_found(x, m, &s);
    if (s.files || *s.fail)
        tell(x, &s, false);
    json_decref(s.placed);
}

static void save_results(struct export *x)
{
    const struct agent *a = x->agent;

    for (size_t i = 0; i < a->facts->n_results; i++)
        if (!a->job_failed || a->facts->results[i]->always)
            save_result(x, a->facts->results[i]);
}

/* ---- all of it ---- */

/* Whether a cluster is needed at all. */
static const char *some_uri(const Agent__JobFacts *f)
{
    if (*f->export_dir)
        return f->export_dir;
    for (size_t i = 0; i < f->n_results; i++)
        if (!str_starts(f->results[i]->to, "file:") && *f->results[i]->to != '/')
            return f->results[i]->to;
    return "";
}

static void run(void *arg)
{
    struct export *x = arg;
    const Agent__JobFacts *f = x->agent->facts;
    struct saved all = { .to = some_uri(f) };
    struct err err = ERR_INIT;

    if (export_own_find(x, &err) < 0 || remote_open(x->agent, all.to, 0, &x->remote, &err) < 0) {
        export_failed(x, &all, &err);
    } else {
        if (*f->export_dir)
            save_logs(x);
        if (!x->output_only)
            save_results(x);
    }
    remote_done(&x->remote);
    export_own_done(x);
    tell(x, &all, true);
    x->done = true;
    cond_wake_all(&x->changed);
}

/* The master must hear that we are there, and may still read what tasks wrote; whatever else it
 * says is too late. */
static void answer_master(struct agent *a)
{
    Agent__ToAgent *m = NULL;
    int r = meet_next(a, loop_in(a->loop, LOOK_MS), &m, NULL);

    if (r == 0 || (r < 0 && r != -ETIMEDOUT))
        a->channel = channel_close(a->channel); /* it is gone: we save all the same */
    if (r <= 0)
        return;
    if (m->body_case == AGENT__TO_AGENT__BODY_PING)
        agent_pong(a, m->ping);
    else if (m->body_case == AGENT__TO_AGENT__BODY_FOLLOW)
        (void)follow_begin(a, m->follow);
    agent__to_agent__free_unpacked(m, NULL);
}

static void wait_for(struct export *x)
{
    struct agent *a = x->agent;

    while (!x->done) {
        if (a->signal && !x->hurry) {
            x->hurry = true;
            x->until = loop_in(a->loop, HURRY_MS);
        }
        if (a->channel)
            answer_master(a);
        else
            (void)cond_wait(a->loop, &x->changed, loop_in(a->loop, LOOK_MS));
        if (!x->stop && (loop_now(a->loop) > x->until || loop_now(a->loop) > x->moved + STUCK_MS)) {
            x->stop = true;
            x->late = loop_now(a->loop) > x->until;
            if (!x->done)
                fiber_cancel(x->fiber);
        }
    }
}

void export_all(struct agent *a, bool output_only)
{
    struct export x = { .agent = a,
                        .moved = loop_now(a->loop),
                        .until = a->save_ms > 0 ? loop_in(a->loop, a->save_ms) : LOOP_NEVER,
                        .hurry = output_only,
                        .output_only = output_only };
    struct err err = ERR_INIT;

    if (output_only)
        x.until = loop_in(a->loop, HURRY_MS);
    if (output_only && !*a->facts->export_dir)
        return;
    if (!a->container && !*a->facts->export_dir && !a->facts->n_results)
        return;
    report_flush(a);
    if (fiber_start(a->loop, run, &x, &x.fiber, &err) < 0)
        log_error(LOG_AGENT, "cannot save anything: %s", err.text);
    else
        wait_for(&x);
}
