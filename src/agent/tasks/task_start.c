/* task_start.c - Start: a task's process, with its output in files.
 *
 * The files are the process's own standard output and error, opened to append: no byte is lost
 * whoever dies, and the task never waits for a reader. Each Start is a fiber that yields now and
 * then, so that a thousand starts do not delay the answer to a Ping. */
#include "agent/tasks/task_start.h"
#include "agent/agent_private.h"
#include "agent/environ.h"
#include "agent/link/agent_report.h"
#include "agent/link/fence.h"
#include "agent/link/handshake.h"
#include "agent/link/resync.h"
#include "agent/output/logrotate.h"
#include "agent/output/output_files.h"
#include "agent/output/output_follow.h"
#include "agent/output/tensorboard_mirror.h"
#include "agent/socket/pmi.h"
#include "agent/tasks/activate.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/conda_activate.h"
#include "agent/tasks/docker.h"
#include "agent/tasks/finish.h"
#include "agent/tasks/limits.h"
#include "agent/tasks/ports.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/process_tree.h"
#include "agent/tasks/readiness.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/spawn.h"
#include "base/log.h"
#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TURN_MS 5

struct starting {
    struct agent *agent;
    Agent__ToAgent *m;
};

/* ---- what the process gets ---- */

static int set_path(struct env *e, const struct agent_task *t, const char *name, const char *file)
{
    AUTO_FREE char *path = prepare_path(t, file);

    return path ? env_set(e, name, path) : -ENOMEM;
}

static int set_number(struct env *e, const char *name, uint32_t n)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", n);
    return env_set(e, name, text);
}

static int set_ours(struct env *e, const struct agent_task *t, const char *spec, bool pmi)
{
    int r = env_set(e, "YDL_SOCKET", t->socket.path);

    if (r == 0)
        r = set_path(e, t, "YDL_STOP", "stop");
    if (r == 0)
        r = env_set(e, "TMPDIR", t->agent->dirs.tmp);
    if (r == 0)
        r = env_set(e, "PWD", t->prep.work);
    if (r == 0 && t->prep.out)
        r = env_set(e, "YDL_OUT", t->prep.out);
    if (r == 0 && !t->prep.gpus_unknown)
        r = env_set(e, "CUDA_VISIBLE_DEVICES", t->prep.gpus ? t->prep.gpus : "");
    if (r == 0 && spec)
        r = env_set(e, "YDL_SPEC", spec);
    if (r == 0 && t->start.wants_error_file)
        r = set_path(e, t, "TORCHELASTIC_ERROR_FILE", "error");
    if (r < 0 || !pmi)
        return r;
    r = env_set(e, "PMI_FD", "3");
    if (r == 0)
        r = set_number(e, "PMI_RANK", t->start.rank);
    return r == 0 ? set_number(e, "PMI_SIZE", t->start.world) : r;
}

/* The container's, the job's, then the task's, then ours. `weak` is the same as `e`, unless an
 * image has variables of its own. */
static int start_make_env(struct env *weak, struct env *e, const struct agent_task *t,
                          const Agent__StartTask *m, const char *spec, struct err *err)
{
    const Agent__JobFacts *f = t->agent->facts;
    int r = t->agent->platform->env(t, weak, e);

    for (size_t i = 0; i < f->n_env && r == 0; i++)
        r = env_lend(weak, f->env[i]);
    for (size_t i = 0; i < m->n_env && r == 0; i++)
        r = env_copy(e, m->env[i].data, m->env[i].len);
    if (r == 0)
        r = set_ours(e, t, spec, m->pmi);
    if (r == -EINVAL)
        return err_set(err, r, "one of its environment variables is not NAME=value");
    if (r < 0)
        return err_oom(err);
    r = activate_venv(e, t, err);
    return r < 0 ? r : activate_hadoop(e, t, m, err);
}

static int start_make_argv(struct strs *argv, const Agent__StartTask *m, struct err *err)
{
    for (size_t i = 0; i < m->n_argv; i++) {
        if (m->argv[i].len && memchr(m->argv[i].data, '\0', m->argv[i].len))
            return err_set(err, -EINVAL, "argument %zu has a NUL byte inside", i);
        if (strs_addn(argv, (const char *)m->argv[i].data, m->argv[i].len) < 0)
            return err_oom(err);
    }
    return m->n_argv ? 0 : err_set(err, -EINVAL, "it has no command");
}

static int start_open_output(struct agent_task *t, int i, struct err *err)
{
    const char *path = t->output.streams[i].path;
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);

    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    t->output.start[i] = rotate_size(&t->output.streams[i].cut);
    if (t->agent->platform->successors)
        output_keep(&t->output.streams[i]);
    if (t->agent->dirs.umask & 0640) /* who collects logs is in our group */
        (void)fchmod(fd, 0640);
    return take_fd(fd);
}

/* ---- one task ---- */

/* A task's struct lives for all of its attempts. What belongs to the last one is cleared before the
 * first report about this one; `began` is kept, since the output files go on from attempt to
 * attempt. */
static void reset(struct agent_task *t, const Agent__StartTask *m)
{
    t->start.generation = m->generation;
    t->start.attempt = m->attempt;
    if (t->output.began == 0) {
        t->output.began = m->attempt + 1;
        output_base_keep(t);
    }
    t->start.rank = m->rank;
    t->start.world = m->world;
    t->start.wants_error_file = m->error_file;
    t->stop.why = FAIL_NONE;
    t->stop.abort_code = 0;
    free(t->stop.why_text);
    t->stop.why_text = NULL;
    t->stop.killed = t->readiness.ready = false;
    resync_forget(t);
    t->memory.peak = 0;
    t->stop.kill_at = LOOP_NEVER;
    t->process.when_ended = 0;
}

/* Either our socket stays open with sharing allowed, and the program binds beside it, or it is
 * closed just before exec, for programs that set neither SO_REUSEADDR nor SO_REUSEPORT. */
static enum fail_class place_ports(struct agent_task *t, struct err *err)
{
    for (size_t i = 0; i < t->prep.n_ports; i++) {
        /* Another program may have taken it since its last owner ended. */
        if (ports_hold_again(&t->prep.ports[i], err) < 0)
            return FAIL_PORT;
        if (!t->prep.share_ports)
            ports_let_go(&t->prep.ports[i]);
        else if (ports_share(&t->prep.ports[i], true, err) < 0)
            return FAIL_PORT;
    }
    return FAIL_NONE;
}

/* A group of its own where the task has a limit for itself alone: not where it shares one with the
 * role's other tasks, nor for an image, whose container has it. Where no group can be made,
 * limits.c measures and kills instead. */
static void join_cgroup(struct agent_task *t, struct spawn_spec *spec)
{
    struct agent *a = t->agent;
    AUTO_FREE char *name = NULL, *self = NULL;

    if (!t->memory.limit || t->memory.shared || t->memory.cgroup.path || t->image.name)
        return;
    self = a->limits.cgroups.looked ? NULL : cgroup_self();
    name = str_printf("ydl-%s-%s", a->facts->job, t->label);
    if (name && cgroup_make(&a->limits.cgroups, "/sys/fs/cgroup", self, name, t->memory.limit,
                            &t->memory.cgroup))
        spec->cgroup = cgroup_procs(&t->memory.cgroup);
}

/* Everything is there: starts it. */
static enum fail_class start_run(struct agent_task *t, struct spawn_spec *spec, struct err *err)
{
    enum fail_class fail = place_ports(t, err);
    int r;

    if (fail != FAIL_NONE)
        return fail;
    join_cgroup(t, spec);
    t->process.began = tree_now();
    t->process.started = t->process.ended = loop_now(t->agent->loop);
    r = spawn_start(t->agent->spawner, spec, &t->process.pid, err);
    if (spec->cgroup >= 0)
        close(spec->cgroup);
    if (r < 0) {
        cgroup_remove(&t->memory.cgroup);
        return FAIL_START;
    }
    t->phase = PHASE_RUNNING;
    if (reap_watch(t) < 0)
        agent_break(t->agent, -ENOMEM, "watch a process"); /* it ends with everything else */
    return FAIL_NONE;
}

/* Its descriptor cannot be passed into a container. */
static int no_pmi(struct err *err)
{
    return err_set(err, -EOPNOTSUPP,
                   "MPI's process manager does not reach into an image that the "
                   "agent runs");
}

/* The same by the docker client. */
static enum fail_class run_image(struct agent_task *t, const struct strs *argv,
                                 const struct docker_envs *envs, struct err *err)
{
    struct docker_launch l = { .said = -1 };
    int r = docker_launch(t, argv, envs, &l, err);
    enum fail_class fail = FAIL_START;

    if (r == 0) {
        struct spawn_spec spec = { .argv = l.words.v,
                                   .envp = l.env.v,
                                   .cwd = "/",
                                   .out = l.said,
                                   .err = l.said,
                                   .extra = -1,
                                   .cgroup = -1,
                                   .minded = true };

        fail = start_run(t, &spec, err);
    }
    if (fail == FAIL_START)
        err_wrap(err, err->code, "image '%s'", t->image.name);
    docker_launch_done(&l);
    return fail;
}

/* Everything that can fail does so before the process exists, and with a class: a full disk is not
 * a wrong command. The output files are opened first, so that even a command that is missing leaves
 * them behind for `ydl logs`. */
static enum fail_class prepare_and_run(struct agent_task *t, const Agent__StartTask *m,
                                       const char *file, struct err *err)
{
    AUTO_ENV env = { 0 }, weak = { 0 };
    AUTO_STRS argv = { 0 };
    AUTO_CLOSE int out = -1, errors = -1, pmi = -1;
    struct spawn_spec spec = { .cwd = t->prep.work, .cgroup = -1 };
    int r = t->start.tried ? prepare_clear(t, err) : 0;

    if (r == 0)
        r = out = start_open_output(t, 0, err);
    if (r >= 0)
        r = errors = start_open_output(t, 1, err);
    if (r < 0)
        return prepare_file_class(r);
    r = start_make_argv(&argv, m, err);
    if (r == 0)
        r = start_make_env(t->image.name ? &weak : &env, &env, t, m, file, err);
    if (r == 0)
        r = activate_mxnet(&env, t, argv.v[0], err);
    if (r == 0)
        r = conda_command(&argv, &env, t, err);
    if (r == 0 && m->pmi)
        r = t->image.name ? no_pmi(err) : pmi_begin(t, &pmi, err);
    if (r < 0) {
        err->detail = err->detail ? err->detail : SPAWN_NOT_RUN;
        return FAIL_START;
    }
    if (t->image.name)
        return run_image(t, &argv, &(struct docker_envs){ &weak, &env }, err);
    spec.argv = argv.v;
    spec.envp = env.v;
    spec.out = out;
    spec.err = errors;
    spec.extra = pmi;
    return start_run(t, &spec, err);
}

/* A Stop may come while the task waits for its turn in this fiber: then it is never started, and
 * ends with 143 as a process that got SIGTERM would. Whoever looks at a started task (followers,
 * limits, rotation, the probe) is told after the master is. */
static void start_task(struct agent_task *t, const Agent__StartTask *m, const char *file)
{
    struct err err = ERR_INIT;
    enum fail_class fail;

    if (t->stop.stopping) {
        err_set(&err, -ECANCELED, "stopped before it was started");
        err.detail = 143;
        finish_unstarted(t, FAIL_PERSON, &err);
        return;
    }
    fail = prepare_and_run(t, m, file, &err);
    t->start.tried = true;
    if (fail != FAIL_NONE) {
        pmi_end(t);
        finish_unstarted(t, finish_blame(t->agent, fail, &err), &err);
        return;
    }
    trace(LOG_AGENT, "%s: process %d, attempt %u", t->name, (int)t->process.pid, t->start.attempt);
    report_started(t);
    follow_task_changed(t);
    limits_watch(t->agent);
    logrotate_begin(t->agent);
    if (*m->mirror_from && tensorboard_mirror_begin(t, m->mirror_from, m->mirror_to, &err) < 0)
        agent_break(t->agent, err.code, err.text);
    if (m->ready && m->ready->kind && probe_begin(t, m->ready, &err) < 0)
        agent_break(t->agent, err.code, err.text);
}

/* ---- a message ---- */

/* An empty specification means that nothing has changed. */
static int keep_spec(struct agent *a, const ProtobufCBinaryData *spec, struct err *err)
{
    uint8_t *copy;

    if (!spec->len || (a->spec.bytes && spec->len == a->spec.len &&
                       memcmp(spec->data, a->spec.bytes, spec->len) == 0))
        return 0;
    copy = malloc(spec->len);
    if (!copy)
        return err_oom(err);
    memcpy(copy, spec->data, spec->len);
    free(a->spec.bytes);
    free(a->spec.path);
    a->spec.bytes = copy;
    a->spec.len = spec->len;
    a->spec.path = NULL;
    return 0;
}

/* One file for all tasks that are started with the same specification. Earlier ones stay: their
 * readers are alive. A file that a full disk prevented is written at the next start, since the
 * master does not send it again; so is one that was removed, even with its directory. */
static int start_write_spec(struct agent *a, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r;

    if (!a->spec.bytes || (a->spec.path && access(a->spec.path, F_OK) == 0))
        return 0;
    free(a->spec.path);
    a->spec.path = NULL;
    path = str_printf("%s/spec-%u-%u.json", a->dirs.tasks, a->opt->number, a->spec.n_files);
    if (!path)
        return err_oom(err);
    r = path_write_new(path, a->spec.bytes, a->spec.len, 0600, err);
    if (r == -ENOENT && path_mkdirs(a->dirs.tasks, 0700, NULL) == 0) {
        err_clear(err);
        r = path_write_new(path, a->spec.bytes, a->spec.len, 0600, err);
    }
    if (r < 0)
        return r;
    a->spec.n_files++;
    a->spec.path = take(path);
    return 0;
}

/* *ret is the path for tasks that start now; NULL: there is no specification. */
static int settle_spec(struct agent *a, const ProtobufCBinaryData *spec, char **ret,
                       struct err *err)
{
    int r = keep_spec(a, spec, err);

    if (r == 0)
        r = start_write_spec(a, err);
    if (r < 0 || !a->spec.path)
        return r;
    *ret = strdup(a->spec.path); /* a later message may bring another while these start */
    return *ret ? 0 : err_oom(err);
}

void start_done(struct agent *a)
{
    for (uint32_t i = 0; i < a->spec.n_files; i++) {
        AUTO_FREE char *path = str_printf("%s/spec-%u-%u.json", a->dirs.tasks, a->opt->number, i);

        if (path)
            (void)unlink(path);
    }
    free(a->spec.path);
    free(a->spec.bytes);
}

static void starting_free(struct starting *s)
{
    agent__to_agent__free_unpacked(s->m, NULL);
    free(s);
}

static void start_fiber(void *arg)
{
    struct starting *s = arg;
    struct agent *a = s->agent;
    const Agent__Start *m = s->m->start;
    int64_t turn = loop_in(a->loop, TURN_MS);
    struct err err = ERR_INIT;
    AUTO_FREE char *spec = NULL;
    bool no_spec = finish_directory_gone(a) || settle_spec(a, &m->spec, &spec, &err) < 0;

    for (size_t i = 0; i < m->n_tasks; i++) {
        struct agent_task *t = agent_task_find(a, m->tasks[i]->task);

        if (t->phase != PHASE_STARTING)
            continue;          /* named twice */
        reset(t, m->tasks[i]); /* reports from now on are about this attempt */
        (void)fence_wait(a);
        if (a->leave.begun)
            t->phase = PHASE_IDLE;
        else if (no_spec)
            finish_unstarted(t, finish_blame(a, FAIL_DISK, &err), &err);
        else
            start_task(t, m->tasks[i], spec);
        if (loop_now(a->loop) >= turn) {
            (void)fiber_yield(a->loop);
            turn = loop_in(a->loop, TURN_MS);
        }
    }
    starting_free(s);
    agent_tasks_idle(a);
    if (!a->link.join.path)
        handshake_forget_code();
}

/* All of them must be prepared and not started: anything else is a fault of the master. */
static int start_check(const struct agent *a, const Agent__Start *m, struct err *err)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        const struct agent_task *t = agent_task_find(a, m->tasks[i]->task);

        if (!t || !t->prep.done || t->phase != PHASE_IDLE)
            return err_set(err, -EPROTO, "start of task %u, which is not prepared",
                           m->tasks[i]->task);
    }
    return 0;
}

/* The phase of each task changes here, before the fiber runs: a Stop or a second Start that is read
 * in between finds tasks that are being started. */
int start_begin(struct agent *a, Agent__ToAgent *m, struct err *err)
{
    struct starting *s = NULL;
    int r = start_check(a, m->start, err);

    if (r < 0) {
        agent__to_agent__free_unpacked(m, NULL);
        return r;
    }
    s = calloc(1, sizeof(*s));
    if (!s) {
        agent__to_agent__free_unpacked(m, NULL);
        return err_oom(err);
    }
    *s = (struct starting){ .agent = a, .m = m };
    r = fiber_start(a->loop, start_fiber, s, NULL, err);
    if (r < 0) {
        starting_free(s);
        return r;
    }
    for (size_t i = 0; i < m->start->n_tasks; i++) {
        struct agent_task *t = agent_task_find(a, m->start->tasks[i]->task);

        t->phase = PHASE_STARTING;
        t->stop.stopping = false;
    }
    agent_tasks_busy(a);
    return 0;
}
