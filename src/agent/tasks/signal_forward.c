/* signal_forward.c - signals with a meaning of the user's own, on their way from the launcher to
 * the tasks. The first process of a task gets them: a program that wants its children to have them
 * tells them.
 */
#include "agent/agent_private.h"
#include "base/log.h"

#include <signal.h>

void signal_forward(struct agent *a, const Agent__Signal *m)
{
    if (m->number != SIGUSR1 && m->number != SIGUSR2) {
        log_warn(LOG_AGENT, "signal %u is not one to be passed on, ignoring", m->number);
        return;
    }
    for (size_t i = 0; i < a->n_tasks; i++) {
        const struct agent_task *t = a->tasks[i];

        if (t->phase == PHASE_RUNNING && t->pid > 0) /* not reaped yet: its number is its own */
            (void)kill(t->pid, (int)m->number);
    }
}
