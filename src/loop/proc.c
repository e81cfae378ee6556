/* proc.c - a child process: started, watched by its pidfd, ended with its whole group. See proc.h.
 *
 * posix_spawn() shares our memory with the child until exec, like vfork, so that starting costs the
 * same however large we are, and it reports a failed exec as its own result. */
#include "loop/proc.h"
#include "loop/fiber.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <uv.h>

struct proc {
    struct loop *loop;
    pid_t pid;
    int pidfd;
    uv_poll_t poll; /* readable when the child has ended */
    bool polling, freed;
    int refs; /* the open handle, and every call that is inside */
    struct cond ended;
    void (*on_end)(void *user); /* NULL: nobody is called */
    void *user;
};

/* ---- starting ---- */

/* Descriptors 0 to 2 of ours that are to become another of 0 to 2 would overwrite each other. */
static int lift(const int from[3], int to[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] = from[i];
        if (from[i] < 0 || from[i] > 2 || from[i] == i)
            continue;
        to[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 3);
        if (to[i] < 0)
            return -errno;
    }
    return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct proc_spec *spec,
                       const int fds[3])
{
    int r = 0;

    for (int i = 0; i < 3 && r == 0; i++) {
        if (fds[i] >= 0)
            r = posix_spawn_file_actions_adddup2(actions, fds[i], i);
        else
            r = posix_spawn_file_actions_addopen(actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY,
                                                 0);
    }
    if (spec->cwd && r == 0)
        r = posix_spawn_file_actions_addchdir_np(actions, spec->cwd);
    /* Our descriptors are close-on-exec; those inherited from our parent may not be. */
    return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, 3) : r;
}

/* A session of its own, so that one signal reaches the child and all that it starts. Handlers and
 * masks are ours: a child would inherit ignored and blocked signals, and could not be ended. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t all, none;
    int r;

    sigfillset(&all);
    sigemptyset(&none);
    r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETSIGMASK);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attr, &all);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attr, &none);
    return r;
}

/* 0 or a positive errno, as posix_spawn gives it. */
static int spawn(const struct proc_spec *spec, const int fds[3], pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attr);
    if (r == 0) {
        r = add_actions(&actions, spec, fds);
        if (r == 0)
            r = set_attributes(&attr);
        if (r == 0)
            r = posix_spawnp(ret, spec->program, &actions, &attr, spec->argv,
                             spec->envp ? spec->envp : environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int spawn_error(const struct proc_spec *spec, int code, struct err *err)
{
    /* One code for two causes: the directory is tried first, as the child does. */
    if (spec->cwd && access(spec->cwd, X_OK) < 0) {
        code = errno;
        return err_code(err, -code, "start '%s' in '%s'", spec->program, spec->cwd);
    }
    err_code(err, -code, "start '%s'", spec->program);
    if (code == ENOENT && !strchr(spec->program, '/'))
        err_hint(err, "no directory of PATH has a program of that name");
    return -code;
}

/* Ends the group and takes the leader's status, after which its number is anybody's. */
static void proc_reap(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Gets the pidfd and puts it under the loop's eyes. On failure the child is gone. It is not reaped
 * before proc_free(): until then its number, and its group's, are its own; WNOWAIT looks without
 * reaping. Linux has pidfd_open() since 5.3 and waits for a pidfd since 5.4: a kernel between the
 * two is refused here, not when the first child ends. */
static int proc_adopt(struct proc *p, struct err *err)
{
    siginfo_t info;
    int r;

    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0); /* close-on-exec by nature */
    if (p->pidfd < 0 ||
        (waitid((idtype_t)P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
         errno == EINVAL)) {
        r = p->pidfd >= 0 || errno == ENOSYS ? -ENOSYS : -errno;
        proc_reap(p->pid);
        if (r == -ENOSYS)
            return err_set(err, r,
                           "this kernel cannot watch a process by a descriptor: Linux 5.4 "
                           "or newer is needed");
        return err_code(err, r, "watch process %d", (int)p->pid);
    }
    r = uv_poll_init(loop_uv(p->loop), &p->poll, p->pidfd);
    if (r < 0) {
        proc_reap(p->pid);
        return err_code(err, r, "watch process %d", (int)p->pid);
    }
    p->poll.data = p;
    return 0;
}

int proc_start(struct loop *l, const struct proc_spec *spec, struct proc **ret, struct err *err)
{
    AUTO_FREE struct proc *p = calloc(1, sizeof(*p));
    int fds[3] = { -1, -1, -1 }, r;

    if (!p)
        return err_oom(err);
    p->loop = l;
    p->refs = 1;
    p->pidfd = -1;
    r = -lift(spec->fds, fds);
    if (r == 0)
        r = spawn(spec, fds, &p->pid);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && fds[i] != spec->fds[i])
            close(fds[i]);
    if (r != 0)
        return spawn_error(spec, r, err);
    r = proc_adopt(p, err);
    if (r < 0) {
        if (p->pidfd >= 0)
            close(p->pidfd);
        return r;
    }
    *ret = take(p);
    return 0;
}

/* ---- waiting ---- */

bool proc_ended(struct proc *p, int *ret_status)
{
    siginfo_t info = { 0 };

    if (waitid((idtype_t)P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return false;
    if (info.si_code == CLD_EXITED)
        *ret_status = W_EXITCODE(info.si_status & 0xff, 0);
    else
        *ret_status = info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
    return true;
}

static void proc_unref(struct proc *p)
{
    if (--p->refs == 0)
        free(p);
}

static void on_ended(uv_poll_t *h, int status, int events)
{
    struct proc *p = h->data;

    (void)status;
    (void)events;
    p->polling = false;
    uv_poll_stop(&p->poll); /* it stays readable forever */
    cond_wake_all(&p->ended);
    if (p->on_end)
        take(p->on_end)(p->user);
}

static int proc_look_for_end(struct proc *p)
{
    int r = p->polling ? 0 : uv_poll_start(&p->poll, UV_READABLE, on_ended);

    p->polling = p->polling || r == 0;
    return r;
}

/* The pidfd is readable already when the child has ended before: then the call comes in the next
 * turn, not from here. */
int proc_on_end(struct proc *p, void (*fn)(void *user), void *user)
{
    p->on_end = fn;
    p->user = user;
    return proc_look_for_end(p);
}

static int wait_once(struct proc *p, int64_t deadline)
{
    int r = proc_look_for_end(p);

    return r < 0 ? r : cond_wait(p->loop, &p->ended, deadline);
}

/* The owner may free it while we wait (`freed`), which ends the wait. */
int proc_wait(struct proc *p, int64_t deadline, int *ret_status)
{
    int r = 0;

    p->refs++;
    while (r == 0 && !p->freed && !proc_ended(p, ret_status))
        r = wait_once(p, deadline);
    if (p->freed)
        r = -ECANCELED;
    else if (r < 0 && proc_ended(p, ret_status))
        r = 0; /* both at once: the end is what matters */
    proc_unref(p);
    return r;
}

/* SIGTERM first, for the program to save what it has, and SIGKILL after the grace. The second wait
 * is shielded and has no deadline: a killed process ends, and who left before would leave it
 * behind. */
int proc_end(struct proc *p, int64_t grace, int *ret_status)
{
    int r;

    (void)proc_signal_group(p, SIGTERM);
    r = proc_wait(p, loop_in(p->loop, grace), ret_status);
    if (r == 0)
        return 0;
    fiber_shield(p->loop, true);
    (void)proc_signal_group(p, SIGKILL);
    r = proc_wait(p, LOOP_NEVER, ret_status);
    fiber_shield(p->loop, false);
    return r;
}

/* ---- signals and the end ---- */

int proc_signal_group(struct proc *p, int signum)
{
    /* The group has the child's number, which nobody else can get before the child is reaped. */
    return kill(-p->pid, signum) < 0 ? -errno : 0;
}

static void proc_on_closed(uv_handle_t *h)
{
    proc_unref(h->data);
}

void proc_detach(struct proc *p)
{
    p->freed = true;
    uv_poll_stop(&p->poll);
    uv_close((uv_handle_t *)&p->poll, proc_on_closed);
    close(p->pidfd);
    cond_wake_all(&p->ended);
}

struct proc *proc_free(struct proc *p)
{
    if (!p)
        return NULL;
    /* By number: libuv has made the pidfd non-blocking, and the number is still the child's. */
    proc_reap(p->pid);
    proc_detach(p);
    return NULL;
}

pid_t proc_pid(const struct proc *p)
{
    return p->pid;
}

int proc_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
