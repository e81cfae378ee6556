/* engine_sim_drive_testing.h - plays one job: carries out what the engine wants, lets things
 * happen, and reads the log as it grows. */
#pragma once
#include "job/engine/engine_private.h"
#include "job/engine/engine_sim_log_testing.h"
#include "job/engine/engine_sim_obey_testing.h"

/* ---- what happens ---- */

static void ended(struct sim *w, const struct sim_message *m)
{
    struct sim_task *k = &w->tasks[m->id];
    const struct task *t = engine_task(w->e, m->id);
    bool bad = m->end.cls != FAIL_NONE && !(k->stopped && m->end.when >= k->stop_at);
    char line[96], name[ENGINE_NAME_MAX];
    size_t from = w->log.len;

    if (w->gaps && t->attempt != m->attempt)
        return; /* it is told again, and known by now */
    /* A person's wish to restart it makes its end no failure, whatever it was. */
    if (k->stopped && m->end.when < k->stop_at)
        bad = false;
    k->open = false;
    bad = bad && !(w->slots[t->slot].leaving && k->stopped); /* told with its container */
    bad = bad && !w->gaps;
    CHECK(w, engine_on_ended(w->e, m->id, &m->end, w->now, NULL) == 0);
    if (!bad || !engine_in_gang(w->e, m->id))
        return;
    snprintf(line, sizeof(line), "\"event\":\"failure\",\"task\":\"%s\"",
             engine_task_name(w->e, m->id, name));
    CHECK(w, engine_events(w->e, &w->log) == 0);
    CHECK(w, strstr(buf_text(&w->log) + from, line) != NULL);
}

static void prepared(struct sim *w, uint32_t id)
{
    static const enum fail_class bad[] = { FAIL_FILES, FAIL_PORT, FAIL_DISK, FAIL_NODE };
    struct sim_task *k = &w->tasks[id];
    struct engine_end end = { .cls = bad[draw(w, COUNT_OF(bad))], .when = w->now };

    if (chance(w, w->trouble / 4)) {
        k->place = SIM_NOTHING;
        CHECK(w, engine_on_ended(w->e, id, &end, w->now, NULL) == 0);
        return;
    }
    k->place = SIM_HELD;
    if (k->new_port)
        k->port = w->next_port++;
    CHECK(w, engine_on_prepared(w->e, id, &k->port, 1, w->now, NULL) == 0);
}

/* Its agent knows how it ended, and says so when there is somebody to be told. */
static void tell_end(struct sim *w, uint32_t id, const struct engine_end *end)
{
    struct sim_task *k = &w->tasks[id];

    k->life++;
    k->place = SIM_NOTHING;
    k->dead = true;
    k->end = *end;
    k->end.when = w->now;
    if (!w->alone && !engine_slot_is_away(w->e, engine_task(w->e, id)->slot))
        tell(w, SIM_ENDED, id, draw(w, 400) + sim_late(w))->end = k->end;
}

/* The process comes to life, and its end is already written; or it cannot be started. */
static void exec(struct sim *w, uint32_t id)
{
    static const enum fail_class bad[] = { FAIL_START, FAIL_FILES, FAIL_DISK, FAIL_PORT,
                                           FAIL_NODE };
    struct sim_task *k = &w->tasks[id];
    struct engine_end end = sim_fate(w);

    end.results = chance(w, 50);
    if (!w->calm && chance(w, w->trouble / 6)) {
        tell_end(w, id, &(struct engine_end){ .cls = bad[draw(w, COUNT_OF(bad))], .code = 126 });
        return;
    }
    k->place = SIM_ALIVE;
    if (!w->alone && !engine_slot_is_away(w->e, engine_task(w->e, id)->slot)) {
        tell(w, SIM_STARTED, id, draw(w, 5));
        if (chance(w, 80))
            tell(w, SIM_READY, id, draw(w, 50));
    }
    if (k->deaf && engine_task(w->e, id)->role != 1)
        return; /* it will neither end nor hear */
    post(w, SIM_DIES, id, draw(w, chance(w, 50) ? 1000 : 40000));
    w->queue[w->n_queue - 1].life = k->life;
    w->queue[w->n_queue - 1].end = end;
}

static void dies(struct sim *w, const struct sim_message *m)
{
    const struct sim_task *k = &w->tasks[m->id];

    if (k->life == m->life && k->place == SIM_ALIVE)
        tell_end(w, m->id, &m->end);
}

static void granted(struct sim *w, const struct sim_message *m)
{
    struct sim_slot *s = &w->slots[m->id];

    if (s->life != m->life && (s->asked || s->held || !chance(w, 30)))
        return;
    CHECK(w, engine_on_granted(w->e, m->id, sim_agent(w, m->id), w->now, NULL) == 0);
    if (engine_slot_agent(w->e, m->id) != sim_agent(w, m->id))
        return; /* it crosses with our giving up; but what was refused before may be welcome */
    s->asked = false;
    s->held = true;
    post(w, SIM_UP, m->id, draw(w, 100));
    w->queue[w->n_queue - 1].life = s->life;
    if (chance(w, w->trouble / 3)) {
        post(w, (enum sim_kind[]){ SIM_LOST, SIM_LEAVING, SIM_AGAIN, SIM_AWAY }[draw(w, 4)], m->id,
             draw(w, 30000));
        w->queue[w->n_queue - 1].life = s->life;
    }
}

/* It may come twice, or when nothing is asked for any more. */
static void refused(struct sim *w, const struct sim_message *m)
{
    struct sim_slot *s = &w->slots[m->id];

    if (s->life != m->life && (s->asked || s->held))
        return;
    s->asked = false;
    for (uint32_t i = 0; i < 1 + draw(w, 2); i++)
        CHECK(w, engine_on_refused(w->e, m->id, w->seed0 % 3 == 0, "no", w->now, NULL) == 0);
}

/* Sometimes the platform does not wait for us. */
static void leaving(struct sim *w, uint32_t id)
{
    if (!w->slots[id].held)
        return;
    w->slots[id].leaving = true;
    if (chance(w, 50)) {
        post(w, SIM_LOST, id, draw(w, 4000));
        w->queue[w->n_queue - 1].life = w->slots[id].life;
    }
    CHECK(w, engine_on_leaving(w->e, id, w->now, NULL) == 0);
}

/* With the agent all that it had is gone, except for the ports that are to be held again. */
static void agent_again(struct sim *w, uint32_t id)
{
    uint32_t role, first, n;

    if (!w->slots[id].up)
        return;
    engine_slot(w->e, id, &role, &first, &n);
    w->slots[id].life++;
    for (uint32_t i = first; i < first + n; i++) {
        w->tasks[i].life++;
        w->tasks[i].place = SIM_NOTHING;
        w->tasks[i].open = w->tasks[i].dead = false;
    }
    w->slots[id].fresh = w->alone || engine_slot_is_away(w->e, id);
    if (w->slots[id].fresh && !w->alone) { /* it would have come back; its successor does */
        post(w, SIM_BACK, id, draw(w, 3000));
        w->queue[w->n_queue - 1].life = w->slots[id].life;
    }
    if (w->slots[id].fresh)
        return;
    CHECK(w, engine_on_agent_again(w->e, id, w->now, NULL) == 0);
}

static void slot_lost(struct sim *w, uint32_t id)
{
    static const enum fail_class why[] = { FAIL_NODE, FAIL_PREEMPTED, FAIL_START, FAIL_MEMORY,
                                           FAIL_PERSON };

    do_release(w, id);
    CHECK(w, engine_on_lost(w->e, id, why[draw(w, 5)], "gone", w->now, NULL) == 0);
}

/* ---- an agent that comes back ---- */

/* What was on its way there is lost, and it has done what it could. */
static void lose_touch(struct sim *w, uint32_t id)
{
    struct sim_task *k = &w->tasks[id];

    if (k->place == SIM_STARTING && chance(w, 30)) {
        k->place = SIM_HELD;
        k->starts--;
        k->life++;
    }
    if (k->place != SIM_PREPARING)
        return;
    k->place = chance(w, 50) ? SIM_HELD : SIM_NOTHING;
    if (k->place == SIM_HELD && k->new_port)
        k->port = w->next_port++;
}

static void away(struct sim *w, uint32_t id)
{
    uint32_t role, first, n;

    if (!w->slots[id].up)
        return;
    w->gaps = true;
    w->slots[id].life++;
    engine_slot(w->e, id, &role, &first, &n);
    for (uint32_t i = first; i < first + n; i++)
        lose_touch(w, i);
    post(w, SIM_BACK, id, draw(w, 5000));
    w->queue[w->n_queue - 1].life = w->slots[id].life;
    CHECK(w, engine_on_agent_away(w->e, id, w->now, NULL) == 0);
}

/* What it got and had not begun, it has begun by now. */
static void settle_task(struct sim *w, uint32_t id)
{
    if (w->tasks[id].place != SIM_STARTING)
        return;
    w->tasks[id].life++;
    exec(w, id);
}

static void hold_out(struct sim *w, uint32_t id)
{
    const struct sim_task *k = &w->tasks[id];
    struct engine_held h = { .task = id,
                             .generation = k->generation,
                             .attempt = k->attempt,
                             .pid = k->place == SIM_ALIVE ? 7 : 0,
                             .ports = &k->port,
                             .n_ports = k->port > 0,
                             .ready = k->place == SIM_ALIVE && chance(w, 80),
                             .ended = k->dead };

    if (k->place == SIM_HELD || k->place == SIM_ALIVE || k->dead)
        CHECK(w, engine_on_held(w->e, &h, w->now, NULL) == 0);
}

/* Prepared only: whatever it was before, it has been told. */
static bool is_to_start(const struct sim *w, uint32_t id)
{
    const struct sim_task *k = &w->tasks[id];

    return k->place == SIM_HELD && !(k->dead && k->attempt == engine_task(w->e, id)->attempt);
}

static void back(struct sim *w, uint32_t id)
{
    struct sim_slot *s = &w->slots[id];
    uint32_t role, first, n;

    engine_slot(w->e, id, &role, &first, &n);
    for (uint32_t i = first; i < first + n; i++)
        settle_task(w, i);
    if (s->orphan)
        CHECK(w, engine_on_granted(w->e, id, sim_agent(w, id), w->now, NULL) == 0);
    s->asked = s->orphan = false;
    s->up = true;
    for (uint32_t i = first; i < first + n && !s->fresh; i++)
        hold_out(w, i);
    if (s->fresh)
        CHECK(w, engine_on_agent_again(w->e, id, w->now, NULL) == 0);
    else
        CHECK(w, engine_on_agent_up(w->e, id, w->now, NULL) == 0);
    s->fresh = false;
    for (uint32_t i = first; i < first + n; i++) {
        w->tasks[i].open = unit_live(&w->e->units[i]) && !is_to_start(w, i);
        if (w->tasks[i].dead)
            tell(w, SIM_ENDED, i, draw(w, 100))->end = w->tasks[i].end;
    }
}

static bool is_stale(const struct sim *w, const struct sim_message *m)
{
    switch (m->kind) {
    case SIM_UP:
    case SIM_LOST:
    case SIM_LEAVING:
    case SIM_AGAIN:
    case SIM_AWAY:
    case SIM_BACK:
        return w->slots[m->id].life != m->life;
    case SIM_PREPARED:
    case SIM_STARTED:
    case SIM_READY:
    case SIM_ENDED:
        return w->slots[engine_task(w->e, m->id)->slot].life != m->life;
    case SIM_EXEC:
        return w->tasks[m->id].life != m->life;
    default:
        return false;
    }
}

/* What the master makes of a report that it has had already; see inbox.c. */
static bool is_known(const struct sim *w, const struct sim_message *m)
{
    const struct task *t = engine_task(w->e, m->id);

    return m->again &&
           (t->state == TASK_WAITING || t->state == TASK_LOST || t->attempt != m->attempt ||
            m->kind == SIM_PREPARED || (m->kind == SIM_READY && t->state != TASK_RUNNING) ||
            (m->kind == SIM_ENDED && task_has_ended(t->state)));
}

/* A report comes once more, before or after others. */
static void repeat(struct sim *w, const struct sim_message *m)
{
    bool report = m->kind == SIM_STARTED || m->kind == SIM_READY || m->kind == SIM_ENDED;

    if (w->calm || !report || !chance(w, w->trouble / 3))
        return;
    post(w, m->kind, m->id, draw(w, 3000));
    w->queue[w->n_queue - 1].life = m->life;
    w->queue[w->n_queue - 1].attempt = m->attempt;
    w->queue[w->n_queue - 1].end = m->end;
    w->queue[w->n_queue - 1].again = true;
}

static void happen(struct sim *w, const struct sim_message *m)
{
    if (is_stale(w, m) || is_known(w, m))
        return;
    repeat(w, m);
    if (m->kind == SIM_GRANTED) {
        granted(w, m);
    } else if (m->kind == SIM_REFUSED) {
        refused(w, m);
    } else if (m->kind == SIM_UP) {
        w->slots[m->id].up = true;
        CHECK(w, engine_on_agent_up(w->e, m->id, w->now, NULL) == 0);
    } else if (m->kind == SIM_PREPARED) {
        prepared(w, m->id);
    } else if (m->kind == SIM_EXEC) {
        exec(w, m->id);
    } else if (m->kind == SIM_AWAY) {
        away(w, m->id);
    } else if (m->kind == SIM_BACK) {
        back(w, m->id);
    } else if (m->kind == SIM_STARTED) {
        CHECK(w, engine_on_started(w->e, m->id, 7, w->now, NULL) == 0);
    } else if (m->kind == SIM_READY) {
        CHECK(w, engine_on_ready(w->e, m->id, w->now, NULL) == 0);
        engine_on_progress(w->e, m->id, draw(w, 100), 100, "{\"a\": 1}", w->now);
    } else if (m->kind == SIM_DIES) {
        dies(w, m);
    } else if (m->kind == SIM_ENDED) {
        ended(w, m);
    } else if (m->kind == SIM_LOST) {
        slot_lost(w, m->id);
    } else if (m->kind == SIM_LEAVING) {
        leaving(w, m->id);
    } else if (m->kind == SIM_AGAIN) {
        agent_again(w, m->id);
    } else if (m->kind == SIM_FORMED && !w->calm && chance(w, w->trouble / 15)) {
        w->forming = false; /* no server can be started */
        CHECK(w, engine_abort(w->e, 70, "no", w->now, NULL) ==
                     (job_has_ended(engine_state(w->e)) && w->ended ? -EALREADY : 0));
    } else if (m->kind == SIM_FORMED) {
        w->forming = false;
        CHECK(w, engine_set_names(w->e, w->named ? "job.me.test" : NULL, NULL) == 0);
        CHECK(w, engine_on_formed(w->e, w->now, NULL) == 0);
    }
}

/* Now and then a person wants something; a refusal is an answer, too. */
static void person(struct sim *w)
{
    uint32_t what = draw(w, 1500), n = engine_n_tasks(w->e), count = 1 + draw(w, 6);
    struct err err = ERR_INIT;
    int r = 0;

    if (what == 0)
        r = engine_stop(w->e, "me", w->now, &err);
    else if (what == 1)
        r = engine_kill(w->e, "me", w->now, &err);
    else if (what < 6)
        r = engine_restart(w->e, draw(w, n), "me", w->now, &err);
    else if (what < 8)
        r = engine_restart(w->e, UINT32_MAX, "me", w->now, &err);
    else if (what < 14)
        r = engine_scale(w->e, "worker", count, "me", w->now, &err);
    if (what >= 8 && what < 14 && r == 0)
        w->workers = count;
    if (what >= 14 && what < 60) {
        uint32_t id = draw(w, n);

        r = engine_move(w->e, id, engine_task(w->e, id)->attempt, "me", w->now, &err);
    }
    CHECK(w, r == 0 || r == -EBUSY || r == -EALREADY || r == -EOPNOTSUPP || r == -ENOENT);
}

/* ---- a job ---- */

static void invent(struct sim *w, uint32_t seed)
{
    *w = (struct sim){ .seed0 = seed, .seed = seed * 2654435761u, .now = SIM_T0, .next_port = 1 };
    w->story = INT64_MAX;
    buf_init(&w->log, 16 * MIB);
    w->trouble = draw(w, 3) * 15;
    w->spec =
        (struct spec){ .roles = w->roles,
                       .n_roles = 3,
                       .restart = { (enum spec_policy)(1 + draw(w, 3)), (int64_t)draw(w, 5), 0 },
                       .gang_hold = 20000,
                       .gang_retry = chance(w, 50) ? SPEC_FOREVER : (int64_t)draw(w, 4),
                       .grace = (int64_t)draw(w, 2000),
                       .timeout = chance(w, 10) ? 30000 : 0 };
    for (int i = 0; i < 3; i++)
        w->roles[i] = (struct spec_role){ .count = draw(w, 4),
                                          .procs = 1 + draw(w, 2),
                                          .restart = { .max = -1 },
                                          .decides = i == 1,
                                          .side = i == 2,
                                          .ready = { .kind = (enum spec_ready_kind)draw(w, 2) } };
    w->roles[0].name = (char *)"ps";
    w->roles[1].name = (char *)"worker";
    w->workers = ++w->roles[1].count;
    w->roles[2].name = (char *)"board";
    if (chance(w, 30))
        w->roles[2].restart = (struct spec_restart){ SPEC_RESTART_TASK, 2, 0 };
    w->after = (struct spec_after){ (char *)"ps", (enum spec_when)draw(w, 2) };
    if (w->roles[0].ready.kind == SPEC_READY_NONE && chance(w, 60))
        w->roles[1].after = (struct spec_afters){ &w->after, 1 };
    w->opt = (struct engine_options){ .seed = seed, .elastic = chance(w, 25) };
    w->opt.rejoins = seed % 7 == 0;
    w->named = seed % 5 < 2;
}

/* Who is in the gang: as many as were wanted last, without holes, and nobody else. */
static void check_gang(const struct sim *w)
{
    uint32_t ranks[3] = { 0 };
    const struct task *t = NULL;

    while ((t = engine_next_in_gang(w->e, t))) {
        CHECK(w, engine_in_gang(w->e, t->id) && t->rank < engine_role_tasks(w->e, t->role));
        ranks[t->role]++;
    }
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t count = i == 1 ? w->workers : w->roles[i].count;

        CHECK(w, ranks[i] == count * w->roles[i].procs);
        CHECK(w, ranks[i] == engine_role_tasks(w->e, i) && count == engine_role_count(w->e, i));
    }
}

/* To its end, or till so many steps were taken. */
static void live_on(struct sim *w, uint32_t until)
{
    for (; !w->ended && w->steps < until; w->steps++) {
        int64_t next = first_time(w), alarm = engine_deadline(w->e);

        CHECK(w, w->steps < 100000); /* every run ends */
        CHECK(w, next < INT64_MAX || alarm < INT64_MAX);
        w->now = next < alarm ? next : alarm > w->now ? alarm : w->now;
        if (next < alarm) {
            struct sim_message m = take_first(w);

            happen(w, &m);
        } else {
            CHECK(w, engine_on_time(w->e, w->now, NULL) == 0);
        }
        read_log(w);
        obey(w);
        if (!w->ended && !w->calm)
            person(w);
        read_log(w);
        obey(w);
        check_gang(w);
    }
    read_log(w);
}

static void live(struct sim *w, uint32_t until)
{
    static const struct engine_facts facts = { .job = "sim" };

    CHECK(w, engine_new(&w->spec, &w->opt, &w->e, NULL) == 0);
    CHECK(w, engine_created(w->e, &facts, w->now, NULL) == 0);
    CHECK(w, engine_start(w->e, w->now, NULL) == 0);
    obey(w);
    live_on(w, until);
}
