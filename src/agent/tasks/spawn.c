/* spawn.c - starts a process without copying our memory.
 *
 * clone() with CLONE_VM and CLONE_VFORK and a stack of the child's own, as posix_spawn() does it;
 * posix_spawn() itself cannot set limits, the parent-death signal or the OOM score. Between clone
 * and exec the child may only make system calls: everything that allocates is done before. */
#include "agent/tasks/spawn.h"
#include "agent/tasks/spawn_reason.h"
#include "base/str.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILD_STACK (64 * KIB)
/* glibc reserves these two signals and lets nobody change them; whoever started us may have left
 * them ignored all the same, and then threads of a task could not be cancelled. */
#define GLIBC_FIRST 32
#define GLIBC_LAST 33
#define OOM_SCORE "500" /* the kernel ends a task before its agent, and never a bystander */

struct spawner {
    struct rlimit files; /* as it was */
    sigset_t ignored;    /* at exec these would stay ignored */
    int null;
    char *stack;
    struct {
        char *name, *path, *cwd, *program;
    } last; /* the last program that was found: usually the next one is the same */
};

/* What the child needs, in our memory, which it shares. */
struct child {
    const struct spawner *s;
    const struct spawn_spec *spec;
    const char *program;
    pid_t parent;
    volatile int code; /* errno of what failed */
    volatile enum spawn_step step;
};

/* ---- in the child ---- */

/* AddressSanitizer does not know the child's stack. */
#define IN_CHILD __attribute__((no_sanitize("address"), noinline))

IN_CHILD static int spawn_failed(struct child *c, enum spawn_step step)
{
    c->code = errno;
    c->step = step;
    return SPAWN_NOT_RUN;
}

/* exec resets handlers; but one that ran before exec would run in our memory. */
IN_CHILD static int reset_signals(const struct child *c)
{
    static const int caught[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    static const struct {
        unsigned long handler, flags, restorer, mask;
    } kernel_default; /* all zero: the default action */
    struct sigaction act = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (size_t i = 0; i < COUNT_OF(caught); i++)
        (void)sigaction(caught[i], &act, NULL);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&c->s->ignored, i) == 1)
            (void)sigaction(i, &act, NULL);
    for (int i = GLIBC_FIRST; i <= GLIBC_LAST; i++)
        (void)syscall(SYS_rt_sigaction, i, &kernel_default, NULL, sizeof(kernel_default.mask));
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

IN_CHILD static int place_fds(const struct child *c)
{
    const struct spawn_spec *spec = c->spec;

    if (dup2(c->s->null, 0) < 0 || dup2(spec->out, 1) < 0 || dup2(spec->err, 2) < 0)
        return -1;
    if (spec->extra == 3)
        return fcntl(3, F_SETFD, 0);
    return spec->extra >= 0 ? dup2(spec->extra, 3) : 0;
}

IN_CHILD static void offer_to_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, OOM_SCORE, sizeof(OOM_SCORE) - 1);
    close(fd);
}

/* The parent may have died before PR_SET_PDEATHSIG was set: getppid() tells. The control group is
 * joined before the limits and the OOM score, so that all memory of the program is counted there.
 */
IN_CHILD static int run_child(void *arg)
{
    struct child *c = arg;

    if (!c->spec->minded && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->parent))
        return spawn_failed(c, SPAWN_SESSION);
    if (setsid() < 0)
        return spawn_failed(c, SPAWN_SESSION);
    if (c->spec->cgroup >= 0 && write(c->spec->cgroup, "0", 1) < 0)
        return spawn_failed(c, SPAWN_CGROUP);
    if (setrlimit(RLIMIT_NOFILE, &c->s->files) < 0 || place_fds(c) < 0 || reset_signals(c) < 0)
        return spawn_failed(c, SPAWN_SESSION);
    offer_to_oom();
    if (c->spec->cwd && chdir(c->spec->cwd) < 0)
        return spawn_failed(c, SPAWN_CWD);
    execve(c->program, c->spec->argv, c->spec->envp);
    return spawn_failed(c, SPAWN_EXEC);
}

/* ---- in the parent ---- */

/* Descriptors left open by whoever started us are not for tasks. */
static void close_on_exec(void)
{
#ifdef CLOSE_RANGE_CLOEXEC
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
#endif
    for (int fd = 3; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* A log file that got descriptor 1 would be inherited by every task. */
static int fill_standard(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd < 3);
    if (fd >= 0)
        close(fd);
    return fd;
}

static void note_signals(struct spawner *s)
{
    struct sigaction act;

    sigemptyset(&s->ignored);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &act) == 0 && act.sa_handler == SIG_IGN)
            sigaddset(&s->ignored, i);
    sigaddset(&s->ignored, SIGPIPE); /* the loop will */
    sigaddset(&s->ignored, SIGXFSZ);
}

int spawner_new(struct spawner **ret, struct err *err)
{
    AUTO(spawner) struct spawner *s = calloc(1, sizeof(*s));
    struct rlimit most;

    if (!s)
        return err_oom(err);
    s->stack = MAP_FAILED;
    s->null = fill_standard() < 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (s->null < 0)
        return err_sys(err, "open '/dev/null'");
    s->stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (s->stack == MAP_FAILED)
        return err_oom(err);
    if (getrlimit(RLIMIT_NOFILE, &s->files) < 0)
        return err_sys(err, "ask for the limit of open files");
    most = s->files;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most); /* the old one may do */
    note_signals(s);
    close_on_exec();
    *ret = take(s);
    return 0;
}

static void forget_last(struct spawner *s)
{
    free(s->last.name);
    free(s->last.path);
    free(s->last.cwd);
    free(s->last.program);
    memset(&s->last, 0, sizeof(s->last));
}

struct spawner *spawner_free(struct spawner *s)
{
    if (!s)
        return NULL;
    if (s->stack != MAP_FAILED)
        munmap(s->stack, CHILD_STACK);
    if (s->null >= 0)
        close(s->null);
    forget_last(s);
    free(s);
    return NULL;
}

/* Without memory for the cache it is searched for each time. */
static void spawn_remember(struct spawner *s, const struct spawn_spec *spec, const char *path,
                           const char *program)
{
    forget_last(s);
    s->last.name = strdup(spec->argv[0]);
    s->last.path = strdup(path);
    s->last.cwd = strdup(spec->cwd ? spec->cwd : "");
    s->last.program = strdup(program);
    if (!s->last.name || !s->last.path || !s->last.cwd || !s->last.program)
        forget_last(s);
}

static const char *spawn_path_of(const struct spawn_spec *spec)
{
    for (char *const *e = spec->envp; e && *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0)
            return *e;
    return "";
}

/* A thousand tasks of one command search PATH only once. */
static int spawn_do_find(struct spawner *s, const struct spawn_spec *spec, char **ret,
                         struct err *err)
{
    const char *path = spawn_path_of(spec);
    int r;

    if (s->last.name && str_eq(s->last.name, spec->argv[0]) && str_eq(s->last.path, path) &&
        str_eq(s->last.cwd, spec->cwd ? spec->cwd : "") && access(s->last.program, X_OK) == 0) {
        *ret = strdup(s->last.program);
        return *ret ? 0 : err_oom(err);
    }
    r = spawn_find(spec, ret, err);
    if (r == 0 && !strchr(spec->argv[0], '/'))
        spawn_remember(s, spec, path, *ret);
    return r;
}

/* All signals are blocked across clone(): the child shares our memory, and a handler that ran in it
 * would change our state. CLONE_VFORK suspends us until exec or exit, so that `c` on our stack
 * holds by then what failed, and in which step. */
int spawn_start(struct spawner *s, const struct spawn_spec *spec, pid_t *ret, struct err *err)
{
    AUTO_FREE char *program = NULL;
    struct child c = { .s = s, .spec = spec, .parent = getpid() };
    sigset_t all, before;
    pid_t pid;
    int r = spawn_do_find(s, spec, &program, err);

    if (r < 0)
        return r;
    c.program = program;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(run_child, s->stack + CHILD_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
    r = -errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        err_code(err, r, "start '%s'", program);
        err_hint(err, "the limit of processes may be reached: ulimit -u");
        if (err)
            err->detail = SPAWN_NOT_RUN;
        return r;
    }
    if (c.step == SPAWN_FINE) {
        *ret = pid;
        return 0;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return spawn_why(spec, program, c.step, c.code, err);
}
