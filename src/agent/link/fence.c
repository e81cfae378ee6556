/* fence.c - see fence.h. A fiber for each agent that a cluster may replace; it sleeps as long as
 * pings come. */
#include "agent/link/fence.h"
#include "agent/agent_private.h"
#include "agent/link/handshake.h"
#include "agent/tasks/freeze.h"
#include "base/log.h"

#include <sys/socket.h>

/* The connection is closed: after the cut, any master sends a new Welcome. One may have come while
 * processes were being stopped, which can wait for a disk, and even its ping. */
static void fence_freeze(struct agent *a)
{
    struct agent_fence *f = &a->fence;

    log_warn(LOG_AGENT,
             "this node is cut off: no master, ResourceManager or HDFS for %lld s; tasks stand "
             "still until the job's master says that it has kept this node",
             (long long)(loop_now(a->loop) - f->clock.heard) / 1000);
    f->frozen = true;
    f->welcomed = false;
    f->frozen_at = loop_now(a->loop);
    freeze_tasks(a);
    if (f->frozen && !f->welcomed && a->link.channel && !a->leave.begun)
        (void)shutdown(sock_fd(stream_sock(channel_stream(a->link.channel))), SHUT_RDWR);
}

static void fence_thaw(struct agent *a)
{
    struct agent_fence *f = &a->fence;
    int64_t stood = loop_now(a->loop) - f->frozen_at;

    f->frozen = false;
    f->stood += stood;
    thaw_tasks(a);
    cond_wake_all(&f->changed);
    log_warn(LOG_AGENT, "tasks go on; they stood still for %lld.%lld s", (long long)stood / 1000,
             (long long)stood % 1000 / 100);
}

/* One look at who is there. A ping that came meanwhile decides, too. */
static void fence_look(struct agent *a)
{
    struct agent_fence *f = &a->fence;
    int64_t heard = f->clock.heard;
    bool reached =
        fence_targets_reach(a, &f->targets, fence_freeze_at(&f->clock, loop_now(a->loop)));

    if (fiber_cancelled(a->loop))
        return;
    if (reached)
        f->clock.reached = loop_now(a->loop);
    else if (f->clock.heard == heard)
        fence_freeze(a);
}

static void fence_run(void *arg)
{
    struct agent *a = arg;
    struct agent_fence *f = &a->fence;

    while (!fiber_cancelled(a->loop)) {
        if (f->frozen) {
            (void)cond_wait(a->loop, &f->changed, LOOP_NEVER);
        } else if (f->welcomed) {
            f->welcomed = false;
            fence_targets_find(a, &f->targets);
            handshake_forget_code();
        } else if (loop_now(a->loop) < fence_look_at(&f->clock)) {
            (void)cond_wait(a->loop, &f->changed, fence_look_at(&f->clock));
        } else {
            fence_look(a);
        }
    }
    f->fiber = NULL;
    cond_wake_all(&f->changed);
}

/* A platform whose nodes nobody gives up, and a master that does not say when it would, need none
 * of this. */
int fence_on_welcome(struct agent *a, const Agent__Welcome *m, struct err *err)
{
    struct agent_fence *f = &a->fence;

    fence_clock_start(&f->clock, m->silence_ms, a->link.said_hello, a->link.last_ping);
    f->welcomed = true;
    cond_wake_all(&f->changed);
    if (f->fiber || !a->platform->cut_off || !m->silence_ms)
        return 0;
    return fiber_start(a->loop, fence_run, a, &f->fiber, err);
}

/* What a master has to say to one that it has kept, it says before its first ping. */
void fence_on_ping(struct agent *a, const Agent__Ping *ping)
{
    struct agent_fence *f = &a->fence;

    fence_clock_answered(&f->clock, ping->answered);
    fence_clock_pong(&f->clock, ping->seq, a->link.last_ping);
    if (f->frozen && f->welcomed && !a->leave.begun)
        fence_thaw(a);
}

void fence_end(struct agent *a)
{
    if (a->fence.fiber)
        fiber_cancel(a->fence.fiber);
    cond_wake_all(&a->fence.changed);
}

int fence_wait(struct agent *a)
{
    int r = 0;

    while (r == 0 && a->fence.frozen && !a->leave.begun)
        r = cond_wait(a->loop, &a->fence.changed, LOOP_NEVER);
    return r;
}
