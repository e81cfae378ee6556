/* signal_forward.c - user-defined signals, forwarded from the launcher to the tasks. The first
 * process of a task gets them; it may forward them to its children.
 */
#include "agent/tasks/signal_forward.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"

#include <signal.h>

void signal_forward(struct agent *a, const Agent__Signal *m)
{
    if (m->number != SIGUSR1 && m->number != SIGUSR2) {
        log_warn(LOG_AGENT, "signal %u is not forwarded to tasks, ignoring", m->number);
        return;
    }
    for (size_t i = 0; i < a->tasks.n; i++) {
        const struct agent_task *t = a->tasks.v[i];

        if (t->phase == PHASE_RUNNING &&
            t->process.pid > 0) /* not reaped yet: its pid is still its own */
            (void)kill(t->process.pid, (int)m->number);
    }
}
