/* engine_end.c - the end: everybody is stopped, and when nobody runs any more the job has ended. */
#include "job/engine/engine_private.h"

#include <string.h>

static void engine_end_stop_all(struct engine *e, int64_t grace, int64_t now)
{
    for (uint32_t i = 0; i < e->n_units; i++) {
        timer_set(e, TIMER_RESTART, &e->units[i], NEVER);
        again_stop(e, &e->units[i], grace, now);
    }
}

void end_kill_rest(struct engine *e, int64_t now)
{
    engine_end_stop_all(e, 0, now);
}

void end_begin(struct engine *e, const struct ending *how, int64_t now)
{
    e->final = how->final;
    e->by_task = how->by_task;
    e->exit = how->exit;
    if (how->by_task)
        e->exit = failure_exit(e->story.cls, e->story.code, e->story.signal);
    e->end_text = how->text ? strdup(how->text) : NULL;
    if (how->text && !e->end_text)
        engine_oom(e);
    e->reforming = e->backing_off = false;
    for (int i = 0; i < TIMER_JOB_; i++)
        timer_set(e, (enum timer)i, NULL, NEVER);
    job_do(e, JOB_EV_FINISH, how->by_task ? e->story.text : how->text, now);
    /* Where no agent is there yet, none is needed any more. The others are asked for what their
     * tasks leave behind. */
    for (uint32_t i = 0; i < e->n_slots; i++)
        if (e->slots[i].state == SLOT_ASKED || e->slots[i].state == SLOT_GRANTED)
            slot_release(e, &e->slots[i], now);
    engine_end_stop_all(e, e->grace, now);
    end_look(e, now);
}

/* The sentence of the last record: the story, and why there was no way on. */
static void engine_end_tell(struct engine *e)
{
    char *text;

    if (!e->by_task)
        return;
    text = str_printf("%s%s%s", e->story.text, e->end_text ? "; " : "",
                      e->end_text ? e->end_text : "");
    if (!text)
        engine_oom(e);
    free(e->end_text);
    e->end_text = text;
}

void end_look(struct engine *e, int64_t now)
{
    static const enum job_event last[JOB_STATES_] = {
        [JOB_SUCCEEDED] = JOB_EV_SUCCEED, [JOB_FAILED] = JOB_EV_FAIL, [JOB_KILLED] = JOB_EV_KILL
    };

    if (e->state != JOB_FINISHING || e->n_live > 0 || e->bad < 0)
        return;
    engine_end_tell(e);
    if (e->by_task)
        say_story(e, now);
    job_do(e, last[e->final], e->end_text, now);
    e->n_heap = 0;
    action_add(e, ACTION_END, 0, 0);
}

void engine_set_unsaved(struct engine *e)
{
    e->unsaved = true;
}

void engine_close(struct engine *e, int64_t now)
{
    if (job_has_ended(e->state) && !e->closed)
        say_end(e, now);
    e->closed = true;
}

void fail_or_not(struct engine *e, int64_t now)
{
    static const struct ending how = { .final = JOB_SUCCEEDED };

    if (e->state == JOB_RUNNING && e->n_undecided == 0)
        end_begin(e, &how, now);
}
