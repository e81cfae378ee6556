/* logrotate.c - output of long tasks in pieces (base/rotate.h), one file after the other.
 *
 * Another thread copies; the cut itself, which takes no time, is made on the loop's thread, between
 * two reads by output_follow.c. */
#include "agent/output/logrotate.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"
#include "loop/work.h"

#define LOOK_MS 2000   /* between looks at everything */
#define AGAIN_MS 60000 /* after a failure: most likely the disk is full */

struct copying {
    const struct rotate *of;
    uint64_t piece;
};

static uint64_t piece_of(const struct agent *a)
{
    uint64_t n = a->facts->log_piece;

    return n > UINT64_MAX - ROTATE_STEP ? 0 : (n + ROTATE_STEP - 1) / ROTATE_STEP * ROTATE_STEP;
}

static int logrotate_copy(void *arg)
{
    const struct copying *c = arg;

    return rotate_copy(c->of, c->piece, UINT64_MAX);
}

static bool is_due(const struct agent_task *t, int i)
{
    const struct stream_out *s = &t->output.streams[i];

    return t->phase == PHASE_RUNNING && loop_now(t->agent->loop) >= s->cut_after &&
           rotate_due(&s->cut, piece_of(t->agent));
}

/* Cuts off one piece; false when no other is to be tried now.
 *
 *     copy the first piece (a thread) ──► is it still due? ──► cut it off the file
 *                                                    └─ no ──► drop the copy */
static bool logrotate_cut(struct agent_task *t, int i)
{
    struct agent *a = t->agent;
    struct stream_out *s = &t->output.streams[i];
    struct copying c = { &s->cut, piece_of(a) };
    int r = work_run(a->loop, logrotate_copy, &c);

    /* The output of a task that has ended meanwhile stays as it is: it may be being read to its
     * end. */
    if (r == 1 && is_due(t, i))
        r = rotate_cut(&s->cut, c.piece, a->facts->log_keep);
    else
        rotate_drop(&s->cut);
    if (s->cut.never)
        trace(LOG_AGENT, "'%s' is not rotated: its file system cannot cut files", s->path);
    if (r >= 0)
        return true;
    trace(LOG_AGENT, "'%s' was not cut (code %d)", s->path, r);
    s->cut_after = loop_in(a->loop, AGAIN_MS);
    return false;
}

static void logrotate_run(void *arg)
{
    struct agent *a = arg;
    int r = 0;

    while (r == 0 && !a->leave.begun && a->tasks.living > 0) {
        for (size_t i = 0; i < a->tasks.n && !a->leave.begun; i++)
            for (int k = 0; k < 2; k++)
                while (!a->leave.begun && is_due(a->tasks.v[i], k) &&
                       logrotate_cut(a->tasks.v[i], k))
                    ;
        r = fiber_sleep(a->loop, LOOK_MS);
    }
    a->logrotate.fiber = NULL;
    cond_wake_all(&a->logrotate.ended);
}

void logrotate_begin(struct agent *a)
{
    if (!a->logrotate.fiber && !a->leave.begun && piece_of(a) > 0)
        (void)fiber_start(a->loop, logrotate_run, a, &a->logrotate.fiber, NULL);
}

void logrotate_end(struct agent *a)
{
    if (a->logrotate.fiber)
        fiber_cancel(a->logrotate.fiber);
    while (a->logrotate.fiber)
        (void)cond_wait(a->loop, &a->logrotate.ended, LOOP_NEVER);
}
