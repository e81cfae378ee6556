/* leave_pings.c - an agent that leaves still answers its master.
 *
 * Ending what tasks left behind takes seconds and saving takes minutes. A master that hears nothing
 * meanwhile takes the agent for lost and does not wait for what it saves. So a fiber goes on
 * reading: the master's pings are answered, and what tasks wrote can be read. Whatever else it says
 * is too late. */
#include "agent/agent_private.h"
#include "base/log.h"

/* False when there is nobody to listen to any more. */
static bool attend_once(struct agent *a)
{
    Agent__ToAgent *m = NULL;
    int r = handshake_next(a, LOOP_NEVER, &m, NULL);

    if (r == -ECANCELED)
        return false;
    if (r <= 0) {
        a->channel = channel_close(a->channel); /* it is gone: we save all the same */
        return false;
    }
    if (m->body_case == AGENT__TO_AGENT__BODY_PING)
        agent_pong(a, m->ping);
    else if (m->body_case == AGENT__TO_AGENT__BODY_FOLLOW)
        (void)follow_begin(a, m->follow);
    agent__to_agent__free_unpacked(m, NULL);
    return true;
}

static void attend_master(void *arg)
{
    struct agent *a = arg;

    while (a->channel && attend_once(a))
        ;
    a->attending = NULL;
    cond_wake_all(&a->attended);
}

void attend_begin(struct agent *a)
{
    struct err err = ERR_INIT;

    if (a->channel && fiber_start(a->loop, attend_master, a, &a->attending, &err) < 0)
        log_warn(LOG_AGENT, "the master may take us for lost: %s", err.text);
}

void attend_end(struct agent *a)
{
    if (a->attending)
        fiber_cancel(a->attending);
    while (a->attending)
        (void)cond_wait(a->loop, &a->attended, LOOP_NEVER);
}
