/* engine_time.c - what is to be done: at once (the queue of actions), or later (the timers).
 *
 * The timers are a heap of times. Unsetting or moving one leaves its entry where it is: an entry
 * counts only while it says the same time as its owner. */
#include "base/array.h"
#include "job/engine/engine_private.h"

/* ---- actions ---- */

static int grow_queue(struct engine *e)
{
    uint32_t cap = e->cap_queue ? e->cap_queue * 2 : 64;
    struct action *bigger = calloc(cap, sizeof(*bigger));

    if (!bigger)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->n_queue; i++)
        bigger[i] = e->queue[(e->first_queue + i) % e->cap_queue];
    free(e->queue);
    e->queue = bigger;
    e->cap_queue = cap;
    e->first_queue = 0;
    return 0;
}

/* Whose agent is not back yet cannot be told anything; when it is, resume_slot() does. */
static bool is_out_of_reach(const struct engine *e, enum action_kind kind, uint32_t id)
{
    return (kind == ACTION_PREPARE || kind == ACTION_START || kind == ACTION_STOP) &&
           e->slots[e->units[id].t.slot].away;
}

void action_add(struct engine *e, enum action_kind kind, uint32_t id, int64_t grace)
{
    uint32_t at;

    if (is_out_of_reach(e, kind, id))
        return;
    if (e->n_queue == e->cap_queue && grow_queue(e) < 0) {
        engine_oom(e);
        return;
    }
    at = (e->first_queue + e->n_queue++) % e->cap_queue;
    e->queue[at] = (struct action){ .kind = kind, .id = id, .grace = grace };
}

/* Actions that have become pointless in the queue are left out. */
static bool still_wanted(const struct engine *e, const struct action *a)
{
    switch (a->kind) {
    case ACTION_PREPARE:
        return e->units[a->id].t.state == TASK_PREPARING;
    case ACTION_START:
        return e->units[a->id].starting;
    case ACTION_STOP:
        return unit_live(&e->units[a->id]);
    case ACTION_ASK:
        return e->slots[a->id].state == SLOT_ASKED;
    case ACTION_FORM:
        return e->forming;
    case ACTION_RELEASE:
    case ACTION_END:
        break;
    }
    return true;
}

bool engine_next_action(struct engine *e, struct action *ret)
{
    while (e->n_queue > 0) {
        *ret = e->queue[e->first_queue];
        e->first_queue = (e->first_queue + 1) % e->cap_queue;
        e->n_queue--;
        if (still_wanted(e, ret))
            return true;
    }
    return false;
}

/* ---- timers ---- */

static int64_t *owner(struct engine *e, enum timer kind, uint32_t unit)
{
    return kind < TIMER_JOB_ ? &e->at[kind] : &e->units[unit].at[kind - TIMER_JOB_];
}

static void engine_time_sift_up(struct timer_entry *h, uint32_t i)
{
    struct timer_entry x = h[i];

    for (; i > 0 && x.at < h[(i - 1) / 2].at; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = x;
}

static void drop_top(struct engine *e)
{
    struct timer_entry *h = e->heap, x = h[--e->n_heap];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < e->n_heap) {
        if (child + 1 < e->n_heap && h[child + 1].at < h[child].at)
            child++;
        if (x.at <= h[child].at)
            break;
        h[i] = h[child];
        i = child;
    }
    h[i] = x;
}

static void drop_stale(struct engine *e)
{
    while (e->n_heap > 0 && *owner(e, e->heap[0].kind, e->heap[0].unit) != e->heap[0].at)
        drop_top(e);
}

void timer_set(struct engine *e, enum timer kind, struct unit *u, int64_t at)
{
    uint32_t unit = u ? u->t.id : 0;
    int64_t *own = owner(e, kind, unit);

    if (*own == at)
        return;
    *own = at;
    if (at == NEVER) {
        drop_stale(e);
        return;
    }
    if (ARRAY_ROOM(e->heap, e->n_heap) < 0) {
        engine_oom(e);
        return;
    }
    e->heap[e->n_heap] = (struct timer_entry){ .at = at, .unit = unit, .kind = kind };
    engine_time_sift_up(e->heap, e->n_heap++);
    drop_stale(e);
}

int64_t engine_deadline(const struct engine *e)
{
    return e->n_heap > 0 ? e->heap[0].at : NEVER;
}

static void on_limit(struct engine *e, int64_t now)
{
    static const struct ending how = { .final = JOB_FAILED,
                                       .exit = TIME_LIMIT_EXIT,
                                       .text = "the job's time limit was reached" };

    if (e->state != JOB_FINISHING && !job_has_ended(e->state))
        end_begin(e, &how, now);
}

static void on_stop(struct engine *e, struct unit *u, int64_t now)
{
    struct slot *s = &e->slots[u->t.slot];

    if (!unit_live(u))
        return;
    /* Its agent should have killed it by now: it cannot be saved, and neither can its container. */
    action_add(e, ACTION_RELEASE, u->t.slot, 0);
    fail_slot(e, s, FAIL_NODE, "it did not stop when told to, and its agent did not stop it", now);
}

static void fire(struct engine *e, enum timer kind, struct unit *u, int64_t now)
{
    switch (kind) {
    case TIMER_HOLD:
        gang_on_hold_over(e, now);
        break;
    case TIMER_ASK:
        gang_on_ask(e, now);
        break;
    case TIMER_LIMIT:
        on_limit(e, now);
        break;
    case TIMER_REFORM:
        again_look(e, now);
        break;
    case TIMER_REFUSED:
        gang_on_refused_time(e, now);
        break;
    case TIMER_STOP:
        on_stop(e, u, now);
        break;
    case TIMER_RESTART:
        again_unit(e, u, now);
        break;
    case TIMER_PROGRESS:
        progress_due(e, u, now);
        break;
    case TIMERS_:
        break;
    }
}

static const struct timer_entry *engine_time_due(struct engine *e, int64_t now)
{
    drop_stale(e);
    return e->heap && e->n_heap > 0 && e->heap->at <= now ? e->heap : NULL;
}

/* Each entry is taken off before it fires, because firing may set the same timer again. */
int engine_on_time(struct engine *e, int64_t now, struct err *err)
{
    const struct timer_entry *next;
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    while (e->bad == 0 && (next = engine_time_due(e, now))) {
        struct timer_entry top = *next;

        drop_top(e);
        *owner(e, top.kind, top.unit) = NEVER;
        fire(e, top.kind, &e->units[top.unit], now);
    }
    drop_stale(e);
    return engine_leave(e, err);
}
