/* container_init.c - process 1 of a container image: starts the task, hands signals on, reaps.
 *
 * Process 1 must end when the agent does and must not take memory from the task. So there is no
 * loop and there are no fibers: one poll() on a signalfd and on the connection to the agent. */
#include "agent/container_init.h"
#include "agent/tasks/spawn.h"
#include "base/path.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ENV_FILE_MAX (16 * MIB)

struct init {
    const struct init_options *o;
    int agent;   /* the connection whose end is ours */
    int signals; /* all of them, as a descriptor */
    pid_t task;  /* 0: none any more */
    int status;
    uint64_t peak;
};

/* ---- the agent ---- */

static int connect_agent(struct init *x, struct err *err)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    if (strlen(x->o->socket) >= sizeof(to.sun_path))
        return err_set(err, -ENAMETOOLONG, "the socket's name '%s' is too long", x->o->socket);
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", x->o->socket);
    x->agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (x->agent < 0 || connect(x->agent, (struct sockaddr *)&to, sizeof(to)) < 0)
        return err_sys(err, "reach the agent by '%s'", x->o->socket);
    return 0;
}

/* The agent sends nothing: anything to read means that the connection has ended. */
static bool container_init_agent_gone(const struct init *x)
{
    char byte;
    ssize_t n = recv(x->agent, &byte, 1, MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- memory ---- */

/* The number after `word` (or the first number) in whichever of two files exists: one per version
 * of cgroups. */
static uint64_t cgroup_number(const char *newer, const char *older, const char *word)
{
    AUTO_BUF text = { .max = 4 * KIB };
    const char *at;

    if (path_read(newer, &text, NULL) < 0) {
        buf_reset(&text);
        if (path_read(older, &text, NULL) < 0)
            return 0;
    }
    at = buf_text(&text);
    if (at && *word)
        at = strstr(at, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static void container_init_measure(struct init *x, struct init_end *ret)
{
    ret->peak = cgroup_number("/sys/fs/cgroup/memory.peak",
                              "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "");
    ret->oom = cgroup_number("/sys/fs/cgroup/memory.events",
                             "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill ");
    if (ret->peak == 0)
        ret->peak = x->peak;
}

/* ---- the task ---- */

static int container_init_read_env(const struct init *x, struct buf *text, struct env *ret,
                                   struct err *err)
{
    int r = path_read(x->o->env, text, err);

    if (r < 0)
        return r;
    (void)unlink(x->o->env);
    r = init_env_merge((char *)text->data, text->len, environ, ret);
    return r < 0 ? err_code(err, r, "take over the environment") : 0;
}

static int container_init_open_output(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    return fd < 0 ? err_sys(err, "open '%s'", path) : fd;
}

static int container_init_start(struct init *x, struct err *err)
{
    AUTO(spawner) struct spawner *s = NULL;
    AUTO_BUF text = { .max = ENV_FILE_MAX };
    AUTO_ENV env = { 0 };
    AUTO_CLOSE int out = container_init_open_output(x->o->out, err);
    AUTO_CLOSE int errors = out < 0 ? -1 : container_init_open_output(x->o->err, err);
    struct spawn_spec spec = {
        .argv = x->o->words, .cwd = x->o->cwd, .out = out, .err = errors, .extra = -1, .cgroup = -1
    };
    int r;

    if (errors < 0)
        return out < 0 ? out : errors;
    r = container_init_read_env(x, &text, &env, err);
    if (r == 0)
        r = spawner_new(&s, err);
    if (r < 0)
        return r;
    spec.envp = env.v;
    return spawn_start(s, &spec, &x->task, err);
}

static void container_init_reap(struct init *x)
{
    struct rusage use = { 0 };
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
        if (pid != x->task)
            continue;
        x->task = 0;
        x->status = status;
        x->peak = (uint64_t)use.ru_maxrss * 1024;
    }
}

/* Sent by process 1, this reaches every process of the container and no other. */
static void container_init_kill_all(int signum)
{
    (void)kill(-1, signum);
}

static void on_signals(struct init *x)
{
    struct signalfd_siginfo s;

    while (read(x->signals, &s, sizeof(s)) == sizeof(s)) {
        if (s.ssi_signo == SIGCHLD)
            container_init_reap(x);
        else
            container_init_kill_all((int)s.ssi_signo);
    }
}

/* Until the task has ended, by itself or by us.
 * When the agent is gone everything is killed, and its descriptor is taken out of the poll, which
 * would otherwise return at once for ever. The loop goes on until the task's own end has been
 * reaped. */
static void container_init_watch(struct init *x)
{
    struct pollfd fds[] = { { .fd = x->signals, .events = POLLIN },
                            { .fd = x->agent, .events = POLLIN } };

    while (x->task) {
        if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
            container_init_kill_all(SIGKILL);
        if (fds[1].revents && container_init_agent_gone(x)) {
            container_init_kill_all(SIGKILL);
            fds[1].fd = -1;
        }
        if (fds[0].revents)
            on_signals(x);
        container_init_reap(x);
    }
    container_init_kill_all(SIGKILL); /* what it left behind */
}

static int container_init_tell(struct init *x, const struct err *failed, struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct init_end end = { 0 };

    container_init_measure(x, &end);
    if (failed->code) {
        text = str_printf("%s%s%s", failed->text, failed->hint[0] ? ": " : "", failed->hint);
        end.not_started = text;
        end.code = failed->detail ? failed->detail : SPAWN_NOT_RUN;
    } else {
        end.signal = WIFSIGNALED(x->status) ? WTERMSIG(x->status) : 0;
        end.code = end.signal ? 128 + end.signal : WEXITSTATUS(x->status);
    }
    (void)init_end_write(x->o->end, &end, err);
    return end.code;
}

/* All signals are blocked before the first thing that could fail: process 1 has no default actions,
 * and one that arrives early is read from the descriptor later. A start that fails is reported in
 * the same file as an end, because the agent reads nothing else. */
int init_run(const struct init_options *o, struct err *err)
{
    struct init x = { .o = o, .agent = -1, .signals = -1 };
    struct err failed = ERR_INIT;
    sigset_t all;
    int r;

    if (getpid() != 1)
        return err_set(err, -EPERM, "this is for process 1 of a container");
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    x.signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    if (x.signals < 0)
        return err_sys(err, "watch for signals");
    r = connect_agent(&x, err);
    if (r < 0)
        return r; /* nobody is there to be told */
    if (container_init_start(&x, &failed) == 0)
        container_init_watch(&x);
    return container_init_tell(&x, &failed, err);
}
