/* docker.c - a task in a container image: the agent runs it by the docker client.
 *
 *     docker run ... ydl-node init ... COMMAND
 *
 * The client is the task's process as the rest of the agent knows it: signals go to it, and it ends
 * when the container has ended and is removed. Process 1 of the container (container_init.h) opens
 * the output files itself and writes how the task ended to a file. Without that file no task ran,
 * or it is unknown: then the container, if there is one, is removed by force.
 *
 * Killing the client would not end the container. So a task is killed by closing the connection
 * that its process 1 holds, and a client is left alone when its agent dies: the container ends at
 * once for the same reason, and the client removes it. */
#include "agent/tasks/docker.h"
#include "agent/agent_private.h"
#include "agent/container_init.h"
#include "agent/environ.h"
#include "agent/output/last_lines.h"
#include "agent/platform/agent_container.h"
#include "agent/socket/kvsock.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/docker_args.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/spawn.h"
#include "agent/tasks/task_stop.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HANG_UP_MS 1000 /* for process 1 to end everything, before the client is killed */
#define REMOVE_MS 10000
#define GROUPS_MAX_ 256
#define PROGRAM_MAX 4096

/* ---- what Prepare said ---- */

void docker_done(struct agent_task *t)
{
    free(t->image.name);
    t->image.name = NULL;
    strs_done(&t->image.mounts);
    strs_done(&t->image.vars);
}

int docker_prepare(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    int r = 0;

    docker_done(t);
    if (!*m->image)
        return 0;
    t->image.name = strdup(m->image);
    t->image.cpus = m->cpus;
    for (size_t i = 0; i < m->n_mounts && r == 0; i++)
        r = strs_add(&t->image.mounts, m->mounts[i]);
    for (size_t i = 0; i < m->n_files && r == 0; i++)
        r = strs_add(&t->image.mounts, m->files[i]->from); /* beside the task are links to them */
    return r < 0 || !t->image.name ? err_oom(err) : 0;
}

/* ---- what the container sees ---- */

static bool short_sockets(const struct agent *a)
{
    return str_eq(a->dirs.sockets, a->dirs.tasks);
}

static int add_places(const struct agent_task *t, struct strs *to)
{
    const struct agent *a = t->agent;
    const char *const places[] = { t->prep.work, a->dirs.work, a->dirs.log, t->prep.out };
    int r = 0;

    for (size_t i = 0; i < t->image.mounts.n && r == 0; i++)
        r = strs_add(to, t->image.mounts.v[i]);
    for (size_t i = 0; i < COUNT_OF(places) && r == 0; i++)
        r = places[i] ? strs_add(to, places[i]) : 0;
    if (r == 0 && !short_sockets(a))
        r = strs_take(to, str_printf("%s:%s", a->dirs.tasks, DOCKER_TASKS));
    return r == 0 ? a->platform->mounts(a, to) : r;
}

static char *socket_inside(const struct agent_task *t)
{
    if (short_sockets(t->agent))
        return strdup(t->socket.path);
    return str_printf("%s/%s.sock", DOCKER_TASKS, t->label);
}

/* ---- the environment ---- */

/* What describes this machine or its user's shell means nothing in an image. */
static bool is_machines(const char *entry)
{
    static const char *const names[] = { "CONDA_",  "DOCKER_", "HOME=",        "LD_",    "OLDPWD=",
                                         "PATH=",   "PYTHON",  "SHELL=",       "SHLVL=", "SSH_",
                                         "TMPDIR=", "XDG_",    "VIRTUAL_ENV=", "_=" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_starts(entry, names[i]))
            return true;
    return false;
}

/* By a file and not by --env: a command line can be read by all users of the machine. Process 1
 * merges it with the image's own variables and removes it (container_init_files.c). */
static int docker_write_env(const struct agent_task *t, const struct env *weak, struct env *strong,
                            const char *path, struct err *err)
{
    AUTO_ENV lent = { 0 };
    AUTO_FREE char *gpus = NULL, *socket = socket_inside(t);
    int r = socket ? docker_gpus(t->prep.gpus, &gpus) : -ENOMEM;

    if (r == 0)
        r = env_set(strong, "CUDA_VISIBLE_DEVICES", gpus);
    if (r == 0)
        r = env_set(strong, "YDL_SOCKET", socket);
    for (size_t i = 0; i < weak->n && r == 0; i++)
        r = is_machines(weak->v[i]) ? 0 : env_lend(&lent, weak->v[i]);
    return r < 0 ? err_oom(err) : init_env_write(path, &lent, strong, err);
}

/* The job's settings for the docker client. */
static int keep_docker_vars(struct agent_task *t, const struct env *job)
{
    int r = 0;

    strs_done(&t->image.vars);
    for (size_t i = 0; i < job->n && r == 0; i++)
        if (str_starts(job->v[i], "DOCKER_"))
            r = strs_add(&t->image.vars, job->v[i]);
    return r;
}

/* The client's own. */
static int client_env(const struct agent_task *t, struct env *e)
{
    int r = 0;

    for (char **p = environ; *p && r == 0; p++) {
        r = env_lend(e, *p);
        r = r == -EINVAL ? 0 : r;
    }
    for (size_t i = 0; i < t->image.vars.n && r == 0; i++)
        r = env_lend(e, t->image.vars.v[i]);
    return r == 0 ? env_lend(e, (char *)PROC_MINDED) : r;
}

/* ---- the words ---- */

static char *container_name(const struct agent_task *t)
{
    const struct agent *a = t->agent;

    return str_printf("ydl-%s-%s-%u-%d", a->home.id ? a->home.id : a->facts->job, t->label,
                      t->start.attempt, (int)getpid());
}

static int init_words(const struct agent_task *t, const char *env_file, const struct strs *command,
                      struct strs *ret)
{
    AUTO_FREE char *socket = socket_inside(t), *end = prepare_path(t, "end");
    const char *const words[] = {
        "--socket", socket,
        "--env",    env_file,
        "--out",    t->output.streams[0].path,
        "--err",    t->output.streams[1].path,
        "--cwd",    t->prep.work,
        "--end",    end,
        "--",
    };
    int r = socket && end ? 0 : -ENOMEM;

    for (size_t i = 0; i < COUNT_OF(words) && r == 0; i++)
        r = strs_add(ret, words[i]);
    for (size_t i = 0; i < command->n && r == 0; i++)
        r = strs_add(ret, command->v[i]);
    return r;
}

/* Process 1 is our own program, mounted from /proc/self/exe, so nothing has to be in the image. The
 * mark goes into the environment of all that runs there: by it a later agent of the same YARN
 * container finds what is left (predecessor.c). */
static int docker_make_words(const struct agent_task *t, const char *env_file,
                             const struct strs *command, struct strs *ret, struct err *err)
{
    AUTO_STRS init = { 0 }, places = { 0 };
    AUTO_FREE char *name = container_name(t), *mark = NULL;
    AUTO_FREE char *program = calloc(1, PROGRAM_MAX);
    AUTO_FREE gid_t *groups = calloc(GROUPS_MAX_, sizeof(*groups));
    struct docker_args d = { .image = t->image.name, .task = t->name, .gpus = t->prep.gpus };
    const char *id = t->agent->home.id;
    int n, r;

    if (id)
        mark = str_printf("%s=%s", AGENT_CONTAINER_MARK, id);
    if (!name || !program || !groups || (id && !mark) ||
        init_words(t, env_file, command, &init) < 0 || add_places(t, &places) < 0)
        return err_oom(err);
    if (readlink("/proc/self/exe", program, PROGRAM_MAX - 1) < 0)
        return err_sys(err, "find our own program");
    n = getgroups(GROUPS_MAX_, groups);
    d.name = name;
    d.job = t->agent->facts->job;
    d.mark = mark;
    d.program = program;
    d.user = geteuid();
    d.group = getegid();
    d.groups = groups;
    d.n_groups = n > 0 ? (size_t)n : 0;
    d.memory = t->memory.limit;
    d.cpus = t->image.cpus;
    d.mounts = &places;
    d.init = &init;
    r = docker_args(&d, ret);
    return r < 0 ? err_oom(err) : 0;
}

/* ---- the start ---- */

static int open_said(const struct agent_task *t, struct err *err)
{
    AUTO_FREE char *path = prepare_path(t, "docker");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

    if (!path)
        return err_oom(err);
    return fd < 0 ? err_sys(err, "open '%s'", path) : fd;
}

static void remove_file(const struct agent_task *t, const char *what)
{
    AUTO_FREE char *path = prepare_path(t, what);

    if (path)
        (void)unlink(path);
}

int docker_launch(struct agent_task *t, const struct strs *command, const struct docker_envs *envs,
                  struct docker_launch *ret, struct err *err)
{
    AUTO_FREE char *env_file = prepare_path(t, "env");
    int r;

    t->image.hung_up = 0;
    remove_file(t, "end");
    if (!env_file)
        return err_oom(err);
    r = docker_make_words(t, env_file, command, &ret->words, err);
    if (r == 0)
        r = docker_write_env(t, envs->weak, envs->strong, env_file, err);
    if (r == 0 && (keep_docker_vars(t, envs->strong) < 0 || client_env(t, &ret->env) < 0))
        r = err_oom(err);
    if (r == 0)
        r = ret->said = open_said(t, err);
    return r < 0 ? r : 0;
}

void docker_launch_done(struct docker_launch *l)
{
    strs_done(&l->words);
    env_done(&l->env);
    if (l->said >= 0)
        close(l->said);
}

/* ---- the end ---- */

/* True for as long as hanging up may still do it: for HANG_UP_MS the client is spared, since it is
 * what removes the container; after that it is killed like any process. */
bool docker_hang_up(struct agent_task *t)
{
    int64_t now = loop_now(t->agent->loop);

    if (!t->image.name || (t->image.hung_up && now >= t->image.hung_up + HANG_UP_MS))
        return false;
    if (!t->image.hung_up)
        t->image.hung_up = now;
    kvsock_hang_up(t);
    return true;
}

static int start_remover(struct agent_task *t, struct helper *h, struct err *err)
{
    AUTO_FREE char *name = container_name(t);
    AUTO_ENV env = { 0 };
    AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *argv[] = { (char *)"docker", (char *)"rm", (char *)"--force", name, NULL };
    struct spawn_spec spec = {
        .argv = argv, .cwd = "/", .out = null, .err = null, .extra = -1, .cgroup = -1
    };

    if (!name || null < 0 || client_env(t, &env) < 0)
        return err_oom(err);
    spec.envp = env.v;
    return spawn_start(t->agent->spawner, &spec, &h->pid, err);
}

static void run_remover(void *arg)
{
    struct agent_task *t = arg;
    struct agent *a = t->agent;
    struct helper h = { 0 };
    struct err err = ERR_INIT;

    if (start_remover(t, &h, &err) == 0)
        (void)helper_wait(a, &h, loop_in(a->loop, REMOVE_MS));
    else
        log_warn(LOG_AGENT, "%s: remove its container: %s, ignoring", t->name, err.text);
    t->image.removing = false;
    agent_tasks_idle(a);
    reap_sweep_soon(a);
}

static void remove_container(struct agent_task *t)
{
    t->image.removing = true;
    agent_tasks_busy(t->agent);
    if (fiber_start(t->agent->loop, run_remover, t, NULL, NULL) == 0)
        return;
    t->image.removing = false;
    agent_tasks_idle(t->agent);
}

/* Process 1 wrote nothing: docker's message says why.
 * The container may exist and still run, as nobody knows: it is removed by name before the task
 * counts as ended. */
static void no_word(struct agent_task *t)
{
    AUTO_FREE char *path = prepare_path(t, "docker");
    AUTO_BUF said = { .max = 8 * KIB };
    char reason[400], text[480];

    remove_container(t);
    if (WIFSIGNALED(t->process.status) || t->stop.stopping)
        return;
    (void)(path && lines_last(path, 20, &said));
    docker_reason(said.len && buf_text(&said) ? (const char *)said.data : "", reason,
                  sizeof(reason));
    (void)snprintf(text, sizeof(text), "image '%s': %s", t->image.name, reason);
    if (t->process.status == 0)
        t->process.status = SPAWN_NOT_RUN << 8;
    stop_blame(t, FAIL_START, text);
}

void docker_ended(struct agent_task *t)
{
    AUTO_FREE char *path = prepare_path(t, "end");
    char text[64], limit[STR_SIZE_MAX];
    struct init_end end = { 0 };
    struct err err = ERR_INIT;

    t->memory.peak = 0; /* was the client's */
    if (!path || init_end_read(path, &end, &err) < 0) {
        no_word(t);
        return;
    }
    t->memory.peak = end.peak;
    t->process.status = end.signal ? end.signal : end.code << 8;
    if (end.not_started) {
        stop_blame(t, FAIL_START, end.not_started);
    } else if (end.oom && t->memory.limit && t->process.status != 0 && !t->stop.killed) {
        (void)snprintf(text, sizeof(text), "killed by the kernel for using more than %s",
                       str_size(t->memory.limit, limit));
        stop_blame(t, FAIL_MEMORY, text);
    }
    free(end.not_started);
}

void docker_clear(struct agent_task *t)
{
    static const char *const files[] = { "end", "env", "docker" };

    for (size_t i = 0; t->image.name && i < COUNT_OF(files); i++)
        remove_file(t, files[i]);
}
