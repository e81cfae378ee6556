/* export.c - output and results go where the job says when the agent leaves.
 *
 *     EXPORT_DIR/worker-3.out, .err     the task's output, see export_output.c
 *     TO                                results, see export_tree.c
 *
 * This includes an earlier agent of this container, whose tasks are known only by the names of
 * their files.
 *
 * One fiber saves while the main one watches the time. What is not saved after two minutes without
 * progress, or by the master's deadline, is reported as failed. If the container is being killed,
 * or the master is gone, only output is saved, with a short deadline. */
#include "agent/output/export.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/output/export_private.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/finish.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STUCK_MS 120000
#define HURRY_MS 20000 /* when our container is gone already */
#define LOOK_MS 500

int export_moved(struct export *x, struct err *err)
{
    x->moved = loop_now(x->agent->loop);
    return x->stop ? err_set(err, -ECANCELED, "out of time") : 0;
}

/* Only the first failure is told in words, the others are counted. When we gave up ourselves every
 * call fails with -ECANCELED, so the reason for giving up is told instead. */
void export_failed(const struct export *x, struct saved *s, const struct err *err)
{
    s->fails++;
    if (*s->fail)
        return;
    if (x->stop && x->hurry)
        snprintf(s->fail, sizeof(s->fail), "the container ended first");
    else if (x->stop && x->late)
        snprintf(s->fail, sizeof(s->fail), "save-time expired");
    else if (x->stop && err->code == -ECANCELED)
        snprintf(s->fail, sizeof(s->fail), "no progress for %d s", STUCK_MS / 1000);
    else
        snprintf(s->fail, sizeof(s->fail), "%s", err->text);
}

/* ---- what the master is told ---- */

/* `untold` when a failure could not even be reported: then our exit code must say it. */
void export_tell(struct export *x, struct saved *s, bool last)
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
    body.output_only = last && x->output_only;
    if (s->labels) {
        body.has_labels = true;
        body.labels = s->labels->v;
        body.n_labels = s->labels->n;
    }
    m.saved = &body;
    m.body_case = AGENT__TO_MASTER__BODY_SAVED;
    x->agent->leave.unsaved = x->agent->leave.unsaved || *s->fail;
    if (report_send(x->agent, &m) == 0)
        x->agent->leave.said = last;
    else if (*s->fail)
        x->agent->leave.untold = true;
}

/* ---- one file ---- */

static int export_on_progress(void *arg, uint64_t done)
{
    (void)done;
    return export_moved(arg, NULL);
}

int export_open(const char *path, int kept)
{
    char again[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 || errno != ENOENT || kept < 0)
        return fd;
    snprintf(again, sizeof(again), "/proc/self/fd/%d", kept);
    return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int export_copy_in(struct export *x, const char *from, int kept, struct fs_writer *w,
                   struct err *err)
{
    AUTO_CLOSE int fd = export_open(from, kept);

    return fd < 0 ? err_sys(err, "open '%s'", from) : fs_copy_in(w, fd, export_on_progress, x, err);
}

int export_close_copy(struct export *x, struct fs_writer *w, uint64_t *ret_bytes, struct err *err)
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
        r = export_copy_in(x, from, -1, w, err);
    return r < 0 ? r : export_close_copy(x, take(w), ret_bytes, err);
}

/* ---- results ---- */

/* Tasks that run in the same directory have the same results there. */
static bool export_named_before(const struct agent *a, size_t i, const char *from)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(a->tasks.v[k]->prep.work, a->tasks.v[i]->prep.work))
            return *from != '\0';
    return false;
}

/* What tasks of an earlier agent left. They ran in the same directory as ours; if we had no tasks,
 * it is saved for the first of theirs. */
static void save_found(struct export *x, const Agent__Result *m, struct saved *s)
{
    const struct agent *a = x->agent;
    AUTO_STRS labels = { 0 };

    if (export_found(a, &labels) < 0)
        snprintf(s->fail, sizeof(s->fail), "out of memory");
    for (size_t i = 0; i < labels.n && (!*m->from || (i == 0 && a->tasks.n == 0)); i++) {
        AUTO_FREE char *from =
            *m->from ? path_join(a->home.dir, m->from) : path_join(a->dirs.out, labels.v[i]);

        if (from)
            export_tree(x, from, labels.v[i], s);
    }
}

/* Of one task. If the container's directory is gone, a task that succeeded may have had results. */
static void save_result_of(struct export *x, const struct agent_task *t, const char *from,
                           struct saved *s)
{
    struct err err = ERR_INIT;
    uint64_t files = s->files;

    export_tree(x, from, t->label, s);
    if (s->files > files || t->process.when_ended == 0 || t->process.status != 0 ||
        t->stop.why != FAIL_NONE)
        return;
    if (finish_blame(x->agent, FAIL_FILES, &err) == FAIL_NODE)
        export_failed(x, s, &err);
}

/* An empty directory is no result. */
static bool has_any(const char *path)
{
    AUTO(dir) DIR *dir = opendir(path);
    const struct dirent *one;

    if (!dir)
        return access(path, F_OK) == 0;
    while ((one = readdir(dir)) != NULL)
        if (!str_eq(one->d_name, ".") && !str_eq(one->d_name, ".."))
            return true;
    return false;
}

bool export_has_results(const struct agent_task *t)
{
    const struct agent *a = t->agent;
    bool found = false;

    for (size_t i = 0; i < a->facts->n_results && !found; i++) {
        const char *from = a->facts->results[i]->from;
        AUTO_FREE char *path = NULL;

        if (*from == '/' || (!*from && !t->prep.out))
            continue; /* all tasks' together, or none */
        path = *from ? path_join(t->prep.work, from) : strdup(t->prep.out);
        found = path && has_any(path);
    }
    return found;
}

static void save_result(struct export *x, const Agent__Result *m)
{
    const struct agent *a = x->agent;
    struct saved s = { .to = m->to, .placed = json_object() };

    if (*m->from == '/' && !a->leave.spared)
        export_tree(x, m->from, NULL, &s);
    for (size_t i = 0; i < a->tasks.n && *m->from != '/'; i++) {
        const struct agent_task *t = a->tasks.v[i];
        AUTO_FREE char *from = NULL;

        if (export_named_before(a, i, m->from) || (!*m->from && !t->prep.out))
            continue;
        from = *m->from ? path_join(t->prep.work, m->from) : strdup(t->prep.out);
        if (from)
            save_result_of(x, t, from, &s);
        else
            snprintf(s.fail, sizeof(s.fail), "out of memory");
    }
    if (*m->from != '/')
        save_found(x, m, &s);
    if (s.files || *s.fail)
        export_tell(x, &s, false);
    json_decref(s.placed);
}

static void save_results(struct export *x)
{
    const struct agent *a = x->agent;

    for (size_t i = 0; i < a->facts->n_results; i++)
        if (!a->leave.job_failed || a->facts->results[i]->always)
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

struct finding {
    struct export *x;
    struct err *err;
};

static int export_find_own(void *arg)
{
    struct finding *f = arg;

    return export_own_find(f->x, f->err);
}

/* Output goes before results: it is small, and tells what happened if there is no time for the
 * rest. The last Saved comes whatever went wrong, since the master waits for it. */
static void export_run(void *arg)
{
    struct export *x = arg;
    const Agent__JobFacts *f = x->agent->facts;
    struct saved all = { .to = some_uri(f) };
    struct err err = ERR_INIT;
    struct finding own = { x, &err };

    if (work_run(x->agent->loop, export_find_own, &own) < 0 ||
        remote_open(x->agent, all.to, 0, &x->remote, &err) < 0) {
        export_failed(x, &all, &err);
    } else {
        if (*f->export_dir)
            export_output(x);
        if (!x->output_only)
            save_results(x);
    }
    remote_done(&x->remote);
    export_own_done(x);
    export_tell(x, &all, true);
    x->done = true;
    cond_wake_all(&x->changed);
}

/* Two clocks: `until` is absolute (the master's save_time, or a few seconds once a signal came),
 * `moved` starts again with every byte or directory entry. After a stop it goes on waiting, as the
 * fiber uses our stack; every call it makes ends at once by then. */
static void export_wait_for(struct export *x)
{
    struct agent *a = x->agent;

    while (!x->done) {
        if (a->life.signal && !x->hurry) {
            x->hurry = true;
            x->until = loop_in(a->loop, HURRY_MS);
        }
        (void)cond_wait(a->loop, &x->changed, loop_in(a->loop, LOOK_MS));
        if (x->seen != x->looked_at)
            x->moved = loop_now(a->loop);
        x->seen = x->looked_at;
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
                        .until =
                            a->leave.save_ms > 0 ? loop_in(a->loop, a->leave.save_ms) : LOOP_NEVER,
                        .hurry = output_only,
                        .output_only = output_only };
    struct err err = ERR_INIT;

    if (output_only)
        x.until = loop_in(a->loop, HURRY_MS);
    if (output_only && !*a->facts->export_dir)
        return;
    if (!a->platform->saves && !*a->facts->export_dir && !a->facts->n_results)
        return;
    report_flush(a);
    if (fiber_start(a->loop, export_run, &x, &x.fiber, &err) < 0)
        log_error(LOG_AGENT, "cannot save anything: %s", err.text);
    else
        export_wait_for(&x);
}
