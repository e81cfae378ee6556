/* prepare.c - Prepare and Drop: a task's directory, its ports, its socket and its files.
 *
 *     WORK_DIR/tasks/          0700
 *         worker-3.sock        YDL_SOCKET
 *         worker-3.stop        YDL_STOP, once it is to end
 *         worker-3.error       TORCHELASTIC_ERROR_FILE
 *         worker-3.env, .end, .docker    of a task in a container image: docker.c
 *         worker-3.work/       files that were asked for; where it runs, unless the job says where
 *         spec-1-0.json        YDL_SPEC, for all tasks of agent 1 that were started with it
 *         tmp-1/               TMPDIR of all tasks of agent 1
 *
 * No directory for each task: to make and remove one costs more than to start a process.
 * Each Prepare is a fiber, because unpacking an archive may take long. */
#include "agent/tasks/prepare.h"
#include "agent/agent_private.h"
#include "agent/container_gpus.h"
#include "agent/dirs.h"
#include "agent/link/agent_report.h"
#include "agent/link/resync.h"
#include "agent/output/output_files.h"
#include "agent/socket/kvsock.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/conda_activate.h"
#include "agent/tasks/docker.h"
#include "agent/tasks/finish.h"
#include "agent/tasks/ports.h"
#include "agent/tasks/task_files.h"
#include "agent/tree_remove.h"
#include "base/path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TURN 32 /* tasks prepared before the fiber yields */

struct preparing {
    struct agent *agent;
    Agent__ToAgent *m;
};

/* ---- names ---- */

char *prepare_path(const struct agent_task *t, const char *what)
{
    return str_printf("%s.%s", t->prep.scratch, what);
}

/* Where its files are, and where it runs. */
int prepare_name(struct agent_task *t, struct err *err)
{
    const struct agent *a = t->agent;

    t->prep.scratch = path_join(a->dirs.tasks, t->label);
    t->socket.path = str_printf("%s/%s.sock", a->dirs.sockets, t->label);
    if (*a->facts->cwd)
        t->prep.work = strdup(a->facts->cwd);
    else if (a->home.dir)
        t->prep.work = strdup(a->home.dir);
    else
        t->prep.work = t->prep.scratch ? prepare_path(t, "work") : NULL;
    return t->prep.scratch && t->socket.path && t->prep.work ? 0 : err_oom(err);
}

/* ---- its parts ---- */

static int prepare_make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", path);
    return 0;
}

/* Created only for a task that has files of its own or nowhere else to run. */
static int make_work(struct agent_task *t, bool with_files, struct err *err)
{
    AUTO_FREE char *work = prepare_path(t, "work");

    if (!work)
        return err_oom(err);
    if (!with_files && !str_eq(work, t->prep.work))
        return 0;
    t->prep.has_work = true;
    return prepare_make_dir(work, err);
}

/* Are there results that must be saved elsewhere? Then tasks get a directory for them. */
static bool results_are_taken(const struct agent *a)
{
    bool taken = a->platform->saves;

    for (size_t i = 0; i < a->facts->n_results; i++)
        taken = taken || !*a->facts->results[i]->from;
    return taken;
}

static int make_out(struct agent_task *t, struct err *err)
{
    const struct agent *a = t->agent;

    if (t->prep.out || !results_are_taken(a))
        return 0;
    t->prep.out = path_join(a->dirs.out, t->label);
    return t->prep.out ? path_mkdirs(t->prep.out, 0755, err) : err_oom(err);
}

/* Holds one port: the one it had, the one requested (unless 0), or any. */
static int hold_port(struct agent_task *t, size_t i, unsigned number, struct err *err)
{
    struct port *p = &t->prep.ports[i];

    if (i < t->prep.n_ports && (number == 0 || p->number == number))
        return ports_hold_again(p, err);
    if (i < t->prep.n_ports)
        ports_drop(p);
    *p = (struct port){ .bound = -1, .lock = -1 };
    return number ? ports_one(number, p, err) : ports_any(&t->agent->ports, p, err);
}

/* A restarted task keeps its ports, because others know them by the specification: the master names
 * them (`ports`). A first Prepare only says how many (`ports_wanted`). n_ports grows with each one
 * that is held, so that a failure in between drops what there is and nothing else. */
static int hold_ports(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    size_t want = m->n_ports ? m->n_ports : m->ports_wanted;
    int r = 0;

    if (want > AGENT_PORTS_MAX)
        return err_set(err, -EPROTO, "a task may have %d ports", AGENT_PORTS_MAX);
    for (size_t i = 0; i < want && r == 0; i++) {
        r = hold_port(t, i, m->n_ports ? m->ports[i] : 0, err);
        if (i >= t->prep.n_ports && r == 0)
            t->prep.n_ports = i + 1;
    }
    while (t->prep.n_ports > want)
        ports_drop(&t->prep.ports[--t->prep.n_ports]);
    return r;
}

/* On one machine the master has chosen the devices; on YARN it knows only how many, and the
 * container settles which. "Unknown" leaves CUDA_VISIBLE_DEVICES alone: an empty one would hide
 * all. */
static int set_gpus(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    AUTO_BUF text = { .max = 4 * KIB };
    const char *own = NULL;
    int r = gpus_of_container(t->agent, m->gpu_count, &own, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < m->n_gpus && r == 0; i++)
        r = buf_printf(&text, "%s%u", i ? "," : "", m->gpus[i]);
    if (r == 0 && own)
        r = buf_add_str(&text, own);
    if (r < 0 || !buf_text(&text))
        return err_oom(err);
    t->prep.gpus_unknown = m->gpu_count > 0 && text.len == 0;
    free(t->prep.gpus);
    t->prep.gpus = (char *)take(text.data);
    return 0;
}

enum fail_class prepare_file_class(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EIO ? FAIL_DISK : FAIL_FILES;
}

/* Returns the class of the failure, or FAIL_NONE.
 * What is cheap and certain comes first, and the files last, since unpacking may take minutes.
 * Whatever a failed try has made is found and used again by the next one. */
static enum fail_class prepare_task(struct agent_task *t, const Agent__PrepareTask *m,
                                    struct err *err)
{
    int r;

    if (t->phase != PHASE_IDLE) {
        err_set(err, -EBUSY, "the task is still running");
        return FAIL_START;
    }
    t->prep.share_ports = m->share_ports;
    t->memory.limit = m->memory;
    t->memory.shared = m->memory_shared;
    t->prep.slot = m->slot;
    t->output.base[0] = m->out_base;
    t->output.base[1] = m->err_base;
    t->output.began = m->log_began;
    output_base_find(t);
    if (set_gpus(t, m, err) < 0)
        return FAIL_START;
    r = docker_prepare(t, m, err);
    if (r == 0)
        r = make_work(t, m->n_files > 0, err);
    if (r == 0)
        r = make_out(t, err);
    if (r < 0)
        return prepare_file_class(r);
    if (hold_ports(t, m, err) < 0)
        return FAIL_PORT;
    r = kvsock_open(t, err);
    if (r == 0)
        r = files_place(t, m, err);
    if (r < 0)
        return prepare_file_class(r);
    t->prep.done = true;
    return FAIL_NONE;
}

/* ---- a message ---- */

/* A task without a valid name cannot be reported either.
 * The last life's directory may still be on its way out (tree_remove.c): it is waited for, or the
 * new one would be removed with it. */
static int prepare_one(struct agent *a, const Agent__PrepareTask *m)
{
    struct err err = ERR_INIT;
    struct agent_task *t = NULL;
    enum fail_class fail;
    int r = agent_task_get(a, m, &t, &err);

    if (r < 0 || !t) {
        agent_break(a, r, err.text);
        return r;
    }
    if (remove_wait(t) < 0 || a->leave.begun)
        return 0;
    fail = finish_directory_gone(a) ? FAIL_NODE : prepare_task(t, m, &err);
    fail = finish_blame(a, fail, &err); /* it may be removed at any moment */
    if (!a->leave.begun)
        report_prepared(t, fail, err.text);
    return 0;
}

static void prepare_fiber(void *arg)
{
    struct preparing *p = arg;
    struct agent *a = p->agent;
    const Agent__Prepare *m = p->m->prepare;
    struct err err = ERR_INIT;
    int r = dirs_place_files(a, &err);

    if (r < 0)
        agent_break(a, r, err.text);
    else
        conda_place(a);
    if (access(a->dirs.tmp, F_OK) < 0 && /* a cleaner of temporary files was here */
        !finish_directory_gone(a))
        (void)path_mkdirs(a->dirs.tmp, 0700, NULL);
    for (size_t i = 0; i < m->n_tasks && r == 0 && !a->leave.begun; i++) {
        r = prepare_one(a, m->tasks[i]);
        if (i % TURN == TURN - 1)
            (void)fiber_yield(a->loop);
    }
    agent__to_agent__free_unpacked(p->m, NULL);
    free(p);
    agent_tasks_idle(a);
}

int prepare_begin(struct agent *a, Agent__ToAgent *m, struct err *err)
{
    struct preparing *p = calloc(1, sizeof(*p));
    int r;

    if (p)
        *p = (struct preparing){ .agent = a, .m = m };
    r = p ? fiber_start(a->loop, prepare_fiber, p, NULL, err) : err_oom(err);
    if (r < 0) {
        free(p);
        agent__to_agent__free_unpacked(m, NULL);
        return r;
    }
    agent_tasks_busy(a);
    return 0;
}

/* ---- the end ---- */

static int clear_file(const struct agent_task *t, const char *what, struct err *err)
{
    AUTO_FREE char *path = prepare_path(t, what);

    if (!path)
        return err_oom(err);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    return 0;
}

int prepare_clear(struct agent_task *t, struct err *err)
{
    int r = t->stop.has_file ? clear_file(t, "stop", err) : 0;

    if (r == 0 && t->start.wants_error_file)
        r = clear_file(t, "error", err);
    t->stop.has_file = false;
    return r;
}

/* Its directory stays while there may be results in it.
 * The struct stays in the table, as the master may prepare the same task here again; only what is
 * held outside of it goes. */
void prepare_drop(struct agent_task *t)
{
    struct err err = ERR_INIT;

    if (t->phase != PHASE_IDLE)
        return;
    while (t->prep.n_ports > 0)
        ports_drop(&t->prep.ports[--t->prep.n_ports]);
    kvsock_close(t);
    (void)prepare_clear(t, &err);
    docker_clear(t);
    if (t->prep.has_work && (t->agent->leave.cleaning || !t->agent->facts->n_results)) {
        t->prep.has_work = false;
        remove_begin(t);
    }
    resync_forget(t);
    t->prep.done = false;
}

void prepare_done(struct agent_task *t)
{
    for (size_t i = 0; i < t->prep.n_ports; i++)
        ports_drop(&t->prep.ports[i]);
    free(t->prep.gpus);
    free(t->prep.scratch);
    free(t->prep.work);
    free(t->prep.out);
}
