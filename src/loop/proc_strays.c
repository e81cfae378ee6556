/* proc_strays.c - after a job, children that nobody waits for are those that a killed process
 * left behind (we are a subreaper). They are listed by the kernel, killed and reaped until there
 * are none. See proc.h. */
#include "base/buf.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROUNDS_MAX 1000 /* generations of children that appear while their parents are killed */

/* Numbers of our children, separated by blanks. */
static int read_children(struct buf *ret)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", syscall(SYS_gettid));
    buf_reset(ret);
    return path_read(path, ret, NULL);
}

/* The mark stands in the environment, which can be read of any process of ours without its help,
 * and which its children have too. */
bool proc_is_minded(void *arg, pid_t pid)
{
    AUTO_BUF text = { .max = 16 * MIB };
    char path[64];

    (void)arg;
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    return path_read(path, &text, NULL) == 0 && text.len > 0 &&
           memmem(text.data, text.len, PROC_MINDED, sizeof(PROC_MINDED)) != NULL;
}

bool proc_minded_left(void)
{
    AUTO_BUF text = { .max = MIB };
    char *at, *end;

    if (read_children(&text) < 0 || !buf_text(&text))
        return false;
    for (at = (char *)text.data;; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            return false;
        if (proc_is_minded(NULL, (pid_t)pid))
            return true;
    }
}

/* A child's number is ours until we wait for it: it cannot be anybody else's. */
static void end_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Killing a child gives us its children, as we are the subreaper. So it takes a round for each
 * generation; a bound, because something may start processes faster than we end them. */
void proc_kill_strays(bool (*known)(void *arg, pid_t pid), void *arg)
{
    AUTO_BUF text = { .max = MIB };
    unsigned killed = 0;
    bool again = true;

    for (int i = 0; i < ROUNDS_MAX && again; i++) {
        char *at, *end;

        again = false;
        if (read_children(&text) < 0 || !buf_text(&text))
            return;
        for (at = (char *)text.data;; at = end) {
            long pid = strtol(at, &end, 10);

            if (end == at)
                break;
            if (pid <= 1 || (known && known(arg, (pid_t)pid)))
                continue;
            end_child((pid_t)pid);
            killed++;
            again = true;
        }
    }
    if (killed)
        trace(LOG_MAIN, "%u processes that were left behind killed", killed);
}
