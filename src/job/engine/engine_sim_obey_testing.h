/* engine_sim_obey_testing.h - what the engine wants of the pretended world: done, and looked at
 * whether it can be done at all. */
#pragma once
#include "job/engine/engine_sim_testing.h"
#include "job/engine/state.h"

static void do_release(struct sim *w, uint32_t id)
{
    struct sim_slot *s = &w->slots[id];
    uint32_t role, first, n;

    engine_slot(w->e, id, &role, &first, &n);
    for (uint32_t i = first; i < first + n; i++) {
        w->tasks[i].life++;
        w->tasks[i].place = SIM_NOTHING;
        w->tasks[i].open = w->tasks[i].dead = false;
        w->tasks[i].lost_port = w->tasks[i].port ? w->tasks[i].port : w->tasks[i].lost_port;
        w->tasks[i].port = 0;
    }
    s->asked = s->held = s->up = s->leaving = s->orphan = s->fresh = false;
    s->life++;
    s->container++;
}

/* It cannot even be told to its agent, as outbox_fail() says: while the actions are carried out. */
static bool is_refused(struct sim *w, uint32_t id)
{
    struct engine_end end = { .cls = FAIL_START, .code = 126, .when = w->now, .text = "no" };

    if (w->calm || !chance(w, w->trouble / 8))
        return false;
    CHECK(w, engine_on_ended(w->e, id, &end, w->now, NULL) == 0);
    return true;
}

static void do_prepare(struct sim *w, uint32_t id)
{
    const struct task *t = engine_task(w->e, id);
    struct sim_task *k = &w->tasks[id];

    CHECK(w, w->slots[t->slot].up && !k->open && engine_in_gang(w->e, id));
    CHECK(w, k->place == SIM_NOTHING || (w->gaps && k->place == SIM_HELD));
    CHECK(w, t->n_ports == 0 || t->port[0] == k->port || w->gaps ||         /* the same again */
                 (w->named && k->port == 0 && t->port[0] == k->lost_port)); /* … elsewhere */
    if (t->n_ports > 0)
        k->port = t->port[0];
    k->place = SIM_NOTHING;
    if (is_refused(w, id))
        return;
    k->place = SIM_PREPARING;
    k->new_port = t->n_ports == 0 || (!w->calm && chance(w, 2));
    tell(w, SIM_PREPARED, id, draw(w, 200) + sim_late(w));
}

static void check_form(struct sim *w)
{
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++) {
        const struct task *t = engine_task(w->e, i);

        CHECK(w, !w->tasks[i].open);
        if (engine_in_gang(w->e, i) && !(t->role == 2 && t->state == TASK_WAITING)) /* given up */
            CHECK(w, task_has_ended(t->state) || w->tasks[i].place == SIM_HELD);
    }
}

/* The first worker of a generation starts when all it waits for have. */
static void check_order(struct sim *w, const struct task *t)
{
    if (t->role != 1 || w->roles[1].after.n == 0 || w->gaps ||
        w->workers_since == t->generation + 1)
        return;
    w->workers_since = t->generation + 1;
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++) {
        const struct task *ps = engine_task(w->e, i);

        CHECK(w, ps->role != 0 || ps->state == TASK_RUNNING || ps->state == TASK_DONE);
    }
}

static void do_start(struct sim *w, uint32_t id)
{
    const struct task *t = engine_task(w->e, id);
    struct sim_task *k = &w->tasks[id];

    CHECK(w, engine_state(w->e) == JOB_RUNNING || t->stopping); /* its stop is on the way */
    CHECK(w, k->place == SIM_HELD && !k->open && w->slots[t->slot].up);
    CHECK(w, t->attempt >= k->starts || w->behind);
    CHECK(w, t->attempt == k->starts || w->gaps);
    CHECK(w, t->generation == engine_generation(w->e) || t->stopping);
    if (k->starts > 0 && k->generation == t->generation && !w->opt.elastic && !w->opt.rejoins &&
        t->role != 2)
        CHECK(w, k->started_port == t->port[0] || w->behind);
    CHECK(w, t->port[0] == k->port);
    check_order(w, t);
    k->place = SIM_STARTING;
    k->open = true;
    k->stopped = false;
    k->deaf = chance(w, 3);
    k->starts++;
    k->dead = false;
    k->attempt = t->attempt;
    k->generation = t->generation;
    k->started_port = k->port;
    if (is_refused(w, id)) {
        k->open = false;
        k->place = SIM_NOTHING;
        return;
    }
    post(w, SIM_EXEC, id, draw(w, chance(w, 15) ? 8000 : 20) + sim_late(w));
    w->queue[w->n_queue - 1].life = k->life;
}

static void do_stop(struct sim *w, const struct action *a)
{
    struct sim_task *k = &w->tasks[a->id];

    CHECK(w, k->open && engine_task(w->e, a->id)->stopping);
    if (!k->stopped)
        k->stop_at = w->now;
    k->stopped = true;
    if (k->deaf)
        return;
    post(w, SIM_DIES, a->id, 25 + draw(w, (uint32_t)a->grace + 100) + sim_late(w));
    w->queue[w->n_queue - 1].life = k->life;
    w->queue[w->n_queue - 1].end =
        (struct engine_end){ .cls = FAIL_SIGNAL, .signal = a->grace ? 15 : 9 };
}

static void do_ask(struct sim *w, uint32_t id)
{
    struct sim_slot *s = &w->slots[id];

    CHECK(w, !s->asked && (!s->held || s->orphan));
    s->asked = true;
    if (s->orphan) /* and there it is */
        post(w, SIM_BACK, id, draw(w, 100));
    else if (chance(w, w->trouble))
        post(w, SIM_REFUSED, id, draw(w, 2000));
    else
        post(w, SIM_GRANTED, id, chance(w, 4) ? 60000 + draw(w, 60000) : draw(w, 2000));
    w->queue[w->n_queue - 1].life = s->life;
}

static void obey(struct sim *w)
{
    struct action a;

    while (engine_next_action(w->e, &a)) {
        CHECK(w, !w->ended); /* nothing after the end */
        if (a.kind == ACTION_ASK)
            do_ask(w, a.id);
        else if (a.kind == ACTION_RELEASE)
            do_release(w, a.id);
        else if (a.kind == ACTION_PREPARE)
            do_prepare(w, a.id);
        else if (a.kind == ACTION_START)
            do_start(w, a.id);
        else if (a.kind == ACTION_STOP)
            do_stop(w, &a);
        else if (a.kind == ACTION_FORM) {
            CHECK(w, !w->forming);
            w->forming = true;
            check_form(w);
            post(w, SIM_FORMED, 0, draw(w, 100) + sim_late(w));
        } else {
            w->ended = true;
            engine_close(w->e, w->now);
        }
    }
}
