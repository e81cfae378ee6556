/* supervisor.c - the keeper and the guard, processes above an agent; supervisor.h draws them.
 *
 * Each waits for the one below it and is told by the kernel (PR_SET_PDEATHSIG) when the one above
 * is killed. Whichever is left ends what the agent's tasks have started, and the keeper's exit code
 * tells the NodeManager whether to start the container again. */
#include "agent/supervisor.h"
#include "agent/tasks/process_tree.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/proc.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINKS_DEPTH 16
#define MINDED_MS 5000
#define MINDED_PAUSE_MS 10
#define LOOK_MS 20
#define PATIENCE_MS 30000 /* for an agent that was told to end; it has a clock of its own */
#define ALONE_MS 1000     /* for an agent whose guard was killed */

/* ---- links ---- */

static bool is_real_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_link_to_dir(const char *path)
{
    struct stat link, to;

    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && stat(path, &to) == 0 &&
           S_ISDIR(to.st_mode);
}

/* Runs before anybody else has written here: all links are the launch script's.
 * The links are noted now and removed only if the container is to be started again: the launch
 * script that then runs a second time writes through them into the NodeManager's cache. */
static void find_links(const char *dir, int depth, struct strs *ret)
{
    AUTO_DIR DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        AUTO_FREE char *path = path_join(dir, e->d_name);

        if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") || !path)
            continue;
        if (is_link_to_dir(path))
            (void)strs_add(ret, path);
        else if (depth > 0 && is_real_dir(path))
            find_links(path, depth - 1, ret);
    }
}

static void remove_links(const struct strs *links)
{
    for (size_t i = 0; i < links->n; i++)
        if (is_link_to_dir(links->v[i]))
            (void)unlink(links->v[i]);
}

/* ---- life ---- */

static int64_t supervisor_now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000L };

    (void)nanosleep(&pause, NULL);
}

/* What the agent left behind. Those who end by themselves get a moment to do so; a zombie of them
 * has no environment any more. */
static void supervisor_end_rest(void)
{
    proc_kill_strays(proc_is_minded, NULL);
    for (int i = 0; i < MINDED_MS / MINDED_PAUSE_MS && proc_minded_left(); i++)
        sleep_ms(MINDED_PAUSE_MS);
    proc_kill_strays(NULL, NULL);
}

static bool is_frozen(pid_t pid)
{
    struct tree_proc p;

    return tree_look(pid, &p) && (p.state == 'T' || p.state == 't');
}

/* Takes the statuses that are there; true when `child` was among them. */
static bool supervisor_reap(pid_t child, int *status)
{
    int one = 0;
    pid_t pid;
    bool ended = false;

    while ((pid = waitpid(-1, &one, WNOHANG)) > 0)
        if (pid == child) {
            *status = one;
            ended = true;
        }
    return ended;
}

/* Waits for the child's end and returns its status. Signals, which are blocked, are forwarded; from
 * the first one on the child has limited time, and none when it is stopped: then it is killed.
 * SIGCHLD is among the signals, so that sigtimedwait() returns when a child ends; without a
 * deadline it sleeps for as long as nothing happens. */
static int mind(pid_t child, const sigset_t *signals)
{
    const struct timespec step = { .tv_nsec = LOOK_MS * 1000000L };
    int64_t until = 0;
    int status = 0;

    while (!supervisor_reap(child, &status)) {
        int got = sigtimedwait(signals, NULL, until ? &step : NULL);

        if (got > 0 && got != SIGCHLD) {
            (void)kill(child, got);
            until = until ? until : supervisor_now_ms() + PATIENCE_MS;
        } else if (got < 0 && until && (is_frozen(child) || supervisor_now_ms() >= until)) {
            (void)kill(child, SIGKILL);
        }
    }
    return status;
}

/* The guard is dead and its agent was told: it ends its tasks by itself if it can. */
static void await_agent(void)
{
    int64_t until = supervisor_now_ms() + ALONE_MS;
    siginfo_t info = { 0 };
    int status;

    while (supervisor_now_ms() < until &&
           waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        (void)supervisor_reap(-1, &status);
        sleep_ms(LOOK_MS);
    }
}

/* Forks a child that gets SIGTERM when its parent ends; 0 in the child. */
static pid_t fork_minded(struct err *err)
{
    pid_t parent = getpid(), child = fork();

    if (child < 0)
        return err_sys(err, "start the agent");
    if (child > 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    return getppid() == parent ? 0 : err_set(err, -ECHILD, "the keeper is gone");
}

/* Waits for the agent and ends what it left; its wait status. */
static int guard_agent(pid_t agent, const sigset_t *signals)
{
    int status = mind(agent, signals);

    supervisor_end_rest();
    return status;
}

/* In the agent: runs it. */
static int become_agent(int (*fn)(void *arg), void *arg)
{
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return fn(arg);
}

/* Returns in the guard with the exit code, and in the agent with fn's result. */
static int run_guard(int (*fn)(void *arg), void *arg, const sigset_t *signals, struct err *err)
{
    pid_t agent;
    int status;

    /* Not a session of its own: when a process group becomes orphaned, the kernel wakes its stopped
     * processes, so that the end of a frozen keeper reaches a frozen guard. */
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    agent = fork_minded(err);
    if (agent < 0)
        return agent;
    if (agent == 0)
        return become_agent(fn, arg);
    status = guard_agent(agent, signals);
    return WIFEXITED(status) ? WEXITSTATUS(status) : SUPERVISOR_AGAIN;
}

/* Signals stay blocked, and are taken by sigtimedwait() one at a time: there is no handler that
 * could run between a fork and what follows it. */
static void block_signals(sigset_t *ret)
{
    static const int minded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD };

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)signal(SIGCHLD, SIG_DFL); /* if it stayed ignored, as whoever started us may have left it,
                                       no child's end would be reported */
    sigemptyset(ret);
    for (size_t i = 0; i < COUNT_OF(minded); i++)
        (void)sigaddset(ret, minded[i]);
    (void)sigprocmask(SIG_BLOCK, ret, NULL);
}

/* The agent has a group of its own: a signal to ours is forwarded, and comes to it once. */
int supervisor_guard(int (*fn)(void *arg), void *arg, struct err *err)
{
    sigset_t signals;
    pid_t agent;
    int status;

    block_signals(&signals);
    agent = fork_minded(err);
    if (agent < 0)
        return agent;
    if (agent == 0) {
        (void)setpgid(0, 0);
        return become_agent(fn, arg);
    }
    status = guard_agent(agent, &signals);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*     keeper (the container's process group)     waits for the guard
 *       └─ guard (a group of its own)            waits for the agent
 *            └─ agent
 *
 * Both end the rest, since either may be the one that survives. */
int supervisor_run(int (*fn)(void *arg), void *arg, const char *links, struct err *err)
{
    AUTO_STRS found = { 0 };
    sigset_t signals;
    pid_t guard;
    int status, code;

    if (links)
        find_links(links, LINKS_DEPTH, &found);
    block_signals(&signals);
    guard = fork_minded(err);
    if (guard < 0)
        return guard;
    if (guard == 0)
        return run_guard(fn, arg, &signals, err);
    status = mind(guard, &signals);
    if (!WIFEXITED(status))
        await_agent();
    supervisor_end_rest();
    code = WIFEXITED(status) ? WEXITSTATUS(status) : SUPERVISOR_AGAIN;
    if (code == SUPERVISOR_AGAIN)
        remove_links(&found);
    return code;
}
