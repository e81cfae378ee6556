/* engine_task_notes.c - sentences that tasks write into the job's events, and how many they may. */
#include "job/engine/engine_private.h"

/* So many in a row, and then one in so many ms: of a task, and of all together. A job whose tasks
 * write as much as they can adds 6 MB a day to its log. */
static const struct pace {
    unsigned row;
    int64_t each;
} of_task = { 50, 60 * 1000 }, of_job = { 500, 15 * 1000 };

/* How long until the next one may be written; `paid`: the time until which they are paid for. */
static int64_t pace_wait(const struct pace *p, int64_t paid, int64_t now)
{
    int64_t least = now + ((int64_t)p->row - 1) * p->each;

    return paid > least ? paid - least : 0;
}

static void pace_pay(const struct pace *p, int64_t *paid, int64_t now)
{
    *paid = (*paid > now ? *paid : now) + p->each;
}

/* One that does not run any more may have written this before it ended. */
int engine_on_task_note(struct engine *e, uint32_t task, const char *text, int64_t now,
                        struct err *err)
{
    char name[ENGINE_NAME_MAX];
    struct unit *u;
    struct event ev;
    int64_t wait, all;
    int r = engine_enter(e, err);

    if (r == 0)
        r = engine_unit_of(e, task, &u, err);
    if (r < 0)
        return r;
    wait = pace_wait(&of_task, u->notes_paid, now);
    all = pace_wait(&of_job, e->notes_paid, now);
    if (wait > 0 || all > 0)
        return err_set(err, -EAGAIN, "%s too many notes; the next one may come in %lld s",
                       all > wait ? "the job writes" : "the task writes",
                       (long long)((wait > all ? wait : all) + 999) / 1000);
    pace_pay(&of_task, &u->notes_paid, now);
    pace_pay(&of_job, &e->notes_paid, now);
    engine_event(e, EVENT_TASK_NOTE, now, &ev);
    event_str(&ev, "task", engine_task_name(e, task, name));
    event_str(&ev, "text", text);
    if (event_end(&ev) < 0)
        engine_oom(e);
    return engine_leave(e, err);
}
