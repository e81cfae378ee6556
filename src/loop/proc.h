/* proc.h - child processes, each with a pidfd and a session of its own.
 *
 * A child's process id stays ours until proc_free(): its end is seen without reaping it, so a
 * signal to its group can never hit a stranger that got the number later, and what a leader left
 * behind in its group can be ended after it. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "loop/loop.h"
#include <stdbool.h>
#include <sys/types.h>

struct proc; /* opaque */

/* What to start. Everything is borrowed and only until proc_start() returns. */
struct proc_spec {
    const char *program; /* a path, or a name that is looked for in our PATH */
    char *const *argv;   /* NULL-terminated, with argv[0] */
    char *const *envp;   /* NULL for our own environment */
    const char *cwd;     /* NULL for our own directory */
    int fds[3];          /* become 0, 1 and 2; -1 for /dev/null */
};

/* Starts a child as leader of a new session and process group, with default signal actions and an
 * empty signal mask. It inherits no descriptor but the three. When the program cannot be executed
 * the error names it and nothing is left behind. Blocks until exec. -ENOSYS on a kernel before 5.4,
 * with a sentence. *ret is the caller's: proc_free(). */
int proc_start(struct loop *l, const struct proc_spec *spec, struct proc **ret, struct err *err);

/* Waits for the child's end: 0 and the status as waitpid(2) gives it, -ETIMEDOUT, or -ECANCELED.
 * Can be called again, also after the end, and by several fibers. Fibers only. */
int proc_wait(struct proc *p, int64_t deadline, int *ret_status);

/* The same without a fiber that waits: calls `fn` once, on the loop thread and never inside this
 * call, when the child has ended; not after proc_free(). Can be called again, also after the end.
 */
int proc_on_end(struct proc *p, void (*fn)(void *user), void *user);

/* Has it ended? Never waits. */
bool proc_ended(struct proc *p, int *ret_status);

/* Sends a signal to every process of the child's group. One that has ended is there until
 * proc_free(). */
int proc_signal_group(struct proc *p, int signum);

/* Asks the group to end with SIGTERM, and after `grace` milliseconds with SIGKILL. Returns once
 * the leader has ended; goes on when the fiber is cancelled, only without the grace. */
int proc_end(struct proc *p, int64_t grace, int *ret_status);

/* Kills what is left of the group, reaps the child and frees. Blocks only for as long as the kernel
 * takes to end a killed process. A fiber inside proc_wait() gets -ECANCELED. NULL is fine; always
 * NULL. */
struct proc *proc_free(struct proc *p);

/* Lets the child go its own way: frees without ending it. It will not be reaped by us. */
void proc_detach(struct proc *p);

pid_t proc_pid(const struct proc *p); /* also its group and session */

/* The exit code that a shell would show: the program's own, or 128 + signal. */
int proc_exit_code(int status);

AUTO_DEFINE(proc, struct proc *, proc_free);
#define AUTO_PROC AUTO(proc) struct proc

/* Kills every child of ours that is not `known` (NULL: none is), until there is none. In a
 * subreaper what they leave behind comes to us in turn, and is ended too. Need not be on a fiber.
 */
void proc_kill_strays(bool (*known)(void *arg, pid_t pid), void *arg);

/* A process with this in its environment ends by itself when whoever started it is gone, and is
 * better not killed before: a docker client sees its container to the end. */
#define PROC_MINDED "YDL_MINDED=1"
bool proc_is_minded(void *arg, pid_t pid); /* for `known` above; `arg` is not used */
bool proc_minded_left(void);               /* is there such a child of ours? */
