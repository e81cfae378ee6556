/* worker_process.c - starting a worker. Its program is given as a descriptor, so that it needs no
 * file on the disk and no place in the command line. See worker_process.h. */
#include "serve/worker/worker_process.h"
#include "base/path.h"
#include "base/str.h"
#include "serve/worker/handler_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What a worker is started as, and what it finds at its descriptors:
 *
 *     python -c START FILE MAX PARENT     FILE: model.py; MAX: bytes of a region; PARENT: our pid
 *
 *     1, 2  a pipe to us    3  socket    4  region we write    5  region it writes    6  program
 *
 * The program is read with pread(2): the position of the descriptor is shared by all workers.
 * PARENT tells a worker whether we died before it asked the kernel to be killed with us. */
#define START "import os; exec(compile(os.pread(6, 1 << 20, 0), 'handler_worker.py', 'exec'))"

enum { FD_SOCKET = 3, FD_IN, FD_OUT, FD_PROGRAM, FD_END };

int worker_program(int *ret, struct err *err)
{
    const struct handler_worker_file *f = &handler_worker_files[0];
    AUTO_CLOSE int fd = memfd_create("handler_worker.py", MFD_CLOEXEC);

    if (fd < 0 || path_write_fd(fd, f->data, f->size) < 0)
        return err_sys(err, "make the worker's program");
    *ret = take_fd(fd);
    return 0;
}

/* ---- what it is started with ---- */

/* So many threads compute as the worker has processors, unless the user has said otherwise. */
static int add_environment(struct strs *l, unsigned threads)
{
    static const char *const names[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                         "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS" };
    int r = strs_add(l, "PYTHONUNBUFFERED=1");

    for (char **e = environ; *e && r == 0; e++)
        r = strs_add(l, *e);
    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++)
        if (!getenv(names[i]))
            r = strs_printf(l, "%s=%u", names[i], threads);
    return r;
}

static int add_words(struct strs *l, const struct worker_spec *s)
{
    int r = strs_add(l, s->python);

    if (r == 0)
        r = strs_add(l, "-c");
    if (r == 0)
        r = strs_add(l, START);
    if (r == 0)
        r = strs_add(l, s->file);
    if (r == 0)
        r = strs_printf(l, "%zu", s->max);
    return r == 0 ? strs_printf(l, "%d", (int)getpid()) : r;
}

/* Descriptors of ours that the worker's are made of. */
struct ends {
    int output, socket, in, out, program;
};

static int add_fds(posix_spawn_file_actions_t *actions, const struct ends *e)
{
    const int pairs[][2] = { { e->output, 1 }, { e->output, 2 },   { e->socket, FD_SOCKET },
                             { e->in, FD_IN }, { e->out, FD_OUT }, { e->program, FD_PROGRAM } };
    int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

    for (size_t i = 0; i < COUNT_OF(pairs) && r == 0; i++)
        r = posix_spawn_file_actions_adddup2(actions, pairs[i][0], pairs[i][1]);
    return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, FD_END) : r;
}

/* A process group of its own, so that what a handler forks is killed with it; and signals as a
 * fresh program has them, since ours are blocked in the thread that starts it. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t all, none;
    int r;

    sigfillset(&all);
    sigemptyset(&none);
    r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETSIGMASK);
    if (r == 0)
        r = posix_spawnattr_setpgroup(attr, 0);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attr, &all);
    return r == 0 ? posix_spawnattr_setsigmask(attr, &none) : r;
}

static int worker_spawn(const struct ends *e, char *const *argv, char *const *envp, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attr);
    if (r == 0) {
        r = add_fds(&actions, e);
        if (r == 0)
            r = set_attributes(&attr);
        if (r == 0)
            r = posix_spawnp(ret, argv[0], &actions, &attr, argv, envp);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* Above those that it will have, so that none overwrites another. */
static int lift_fd(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, FD_END);
}

static int worker_run_python(const struct worker_spec *s, int output, int socket, pid_t *ret,
                             struct err *err)
{
    AUTO_CLOSE int a = lift_fd(output), b = lift_fd(socket), c = lift_fd(s->in);
    AUTO_CLOSE int d = lift_fd(s->out), f = lift_fd(s->program);
    const struct ends e = { a, b, c, d, f };
    AUTO_STRS argv = { 0 }, envp = { 0 };
    int r;

    if (a < 0 || b < 0 || c < 0 || d < 0 || f < 0)
        return err_sys(err, "start a worker");
    if (add_words(&argv, s) < 0 || add_environment(&envp, s->threads) < 0)
        return err_oom(err);
    r = worker_spawn(&e, argv.v, envp.v, ret);
    if (r == 0)
        return 0;
    (void)err_code(err, -r, "start '%s'", s->python);
    err_hint(err, "the handler needs a Python: activate an environment, or name one with --python");
    return -r;
}

/* SOCK_SEQPACKET keeps the bounds of messages, as a datagram, and tells of the other end, as a
 * stream. The pipe's end that we read does not block: the keeper waits for all workers at once. */
int worker_process_start(const struct worker_spec *s, struct worker_process *ret, struct err *err)
{
    int pair[2] = { -1, -1 }, ends[2] = { -1, -1 };
    struct worker_process p = WORKER_PROCESS_INIT;
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
        pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        r = err_sys(err, "start a worker");
    p.socket = pair[0];
    p.output = ends[0];
    if (r == 0)
        r = worker_run_python(s, ends[1], pair[1], &p.pid, err);
    if (pair[1] >= 0)
        close(pair[1]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (r == 0) {
        p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
        if (p.pidfd < 0)
            r = err_sys(err, "watch a worker");
    }
    if (r < 0)
        worker_process_done(&p);
    else
        *ret = p;
    return r;
}

/* ---- its end ---- */

void worker_process_kill(const struct worker_process *p)
{
    if (p->pid > 0)
        (void)kill(-p->pid, SIGKILL);
}

/* Looks with WNOWAIT first: as long as it is a zombie, no other process or group can get its
 * number, and what is left of its group can be killed without hitting a stranger. */
bool worker_process_reap(struct worker_process *p, int *ret_status)
{
    siginfo_t info = { 0 };

    if (p->pid <= 0 || waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return false;
    worker_process_kill(p); /* what it left behind; its number is still its own */
    while (waitpid(p->pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    return true;
}

static void close_it(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void worker_process_done(struct worker_process *p)
{
    int status;

    worker_process_kill(p);
    while (p->pid > 0 && waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    close_it(&p->pidfd);
    close_it(&p->socket);
    close_it(&p->output);
}

const char *worker_process_end_text(int status, char out[64])
{
    if (WIFSIGNALED(status))
        (void)snprintf(out, 64, "was killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(out, 64, "ended with exit status %d", WEXITSTATUS(status));
    return out;
}
