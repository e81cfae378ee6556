/* engine_sim_drive_testing.h - plays one job: carries out what the engine wants, lets things
 * happen, and reads the log as it grows. */
#pragma once
#include "job/engine_sim_testing.h"
#include "job/state.h"

/* ---- what the engine wants ---- */

static void do_release(struct sim *w, uint32_t id)
{
    struct sim_slot *s = &w->slots[id];
    uint32_t role, first, n;

    engine_slot(w->e, id, &role, &first, &n);
    for (uint32_t i = first; i < first + n; i++) {
        w->tasks[i].life++;
        w->tasks[i].place = SIM_NOTHING;
        w->tasks[i].open = false;
        w->tasks[i].port = 0;
    }
    s->asked = s->held = s->up = false;
    s->life++;
}

static void do_prepare(struct sim *w, uint32_t id)
{
    const struct task *t = engine_task(w->e, id);
    struct sim_task *k = &w->tasks[id];

    CHECK(w, w->slots[t->slot].up && !k->open && !t->retired);
    CHECK(w, k->place == SIM_NOTHING);
    CHECK(w, t->n_ports == 0 || t->port[0] == k->port); /* the same again */
    k->place = SIM_PREPARING;
    k->new_port = t->n_ports == 0 || chance(w, 2);
    tell(w, SIM_PREPARED, id, draw(w, 200));
}

static void check_form(struct sim *w)
{
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++) {
        const struct task *t = engine_task(w->e, i);

        CHECK(w, !w->tasks[i].open);
        if (!t->retired && !(t->role == 2 && t->state == TASK_WAITING)) /* given up */
            CHECK(w, task_has_ended(t->state) || w->tasks[i].place == SIM_HELD);
    }
}

/* The first worker of a generation starts when all it waits for have. */
static void check_order(struct sim *w, const struct task *t)
{
    if (t->role != 1 || w->roles[1].after.n == 0 || w->workers_since == t->generation + 1)
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

    CHECK(w, engine_state(w->e) == JOB_RUNNING);
    CHECK(w, k->place == SIM_HELD && !k->open && w->slots[t->slot].up);
    CHECK(w, t->attempt == k->starts && t->generation == engine_generation(w->e));
    if (k->starts > 0 && k->generation == t->generation && !w->opt.elastic && t->role != 2)
        CHECK(w, k->started_port == t->port[0]);
    CHECK(w, t->port[0] == k->port);
    check_order(w, t);
    k->place = SIM_STARTING;
    k->open = true;
    k->stopped = false;
    k->deaf = chance(w, 3);
    k->starts++;
    k->generation = t->generation;
    k->started_port = k->port;
    post(w, SIM_EXEC, id, draw(w, chance(w, 15) ? 8000 : 20));
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
    post(w, SIM_DIES, a->id, 25 + draw(w, (uint32_t)a->grace + 100));
    w->queue[w->n_queue - 1].life = k->life;
    w->queue[w->n_queue - 1].end =
        (struct engine_end){ .cls = FAIL_SIGNAL, .signal = a->grace ? 15 : 9 };
}

static void do_ask(struct sim *w, uint32_t id)
{
    struct sim_slot *s = &w->slots[id];

    CHECK(w, !s->asked && !s->held);
    s->asked = true;
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
            post(w, SIM_FORMED, 0, draw(w, 100));
        } else
            w->ended = true;
    }
}

/* ---- what the log says ---- */

static bool has(const char *line, const char *what)
{
    const char *found = strstr(line, what);

    return found && found < strchr(line, '\n');
}

static int64_t number(const char *line, const char *key)
{
    const char *found = strstr(line, key);
    int64_t v = 0;

    if (found)
        (void)sscanf(found + strlen(key), "%" SCNd64, &v);
    return v;
}

static uint32_t task_in(struct sim *w, const char *line)
{
    char name[32] = "";
    uint32_t id = 0;

    CHECK(w, sscanf(strstr(line, "\"task\":\"") + 8, "%31[^\"]", name) == 1);
    if (engine_find_task(w->e, name, &id, NULL) < 0)
        return UINT32_MAX; /* scaled away */
    return id;
}

static void set_down(struct sim *w, uint32_t id, bool on)
{
    w->n_down += (uint32_t)on - (uint32_t)w->tasks[id].down;
    w->tasks[id].down = on;
    if (w->n_down == 0)
        w->story = INT64_MAX;
}

/* Keeps the story as a reader of the log would. */
static void read_line(struct sim *w, const char *line)
{
    uint32_t id;

    if (has(line, "\"event\":\"job\"") && has(line, "\"FINISHING\""))
        w->finishing = true;
    for (id = 0; has(line, "\"scale\"") && id < engine_n_tasks(w->e); id++)
        if (engine_task(w->e, id)->retired)
            set_down(w, id, false);
    if (!has(line, "\"event\":\"failure\"") && !has(line, "\"state\":\"RUNNING\",\"gen"))
        return;
    if (has(line, "\"event\":\"job\""))
        return;
    id = task_in(w, line);
    if (id == UINT32_MAX || engine_task(w->e, id)->role == 2)
        return;
    if (has(line, "\"event\":\"failure\"")) {
        int64_t when = number(line, "\"when\":");

        w->story = when < w->story ? when : w->story;
        if (!w->finishing)
            set_down(w, id, true);
    } else if (!w->finishing && !engine_task(w->e, id)->stopping) {
        set_down(w, id, false);
    }
}

static void read_log(struct sim *w)
{
    const char *line, *end;

    CHECK(w, engine_events(w->e, &w->log) == 0);
    CHECK(w, buf_text(&w->log) != NULL);
    for (line = (const char *)w->log.data + w->read; *line; line = end + 1) {
        end = strchr(line, '\n');
        read_line(w, line);
        w->read = (size_t)(end + 1 - (const char *)w->log.data);
    }
}

/* ---- what happens ---- */

static void ended(struct sim *w, const struct sim_message *m)
{
    struct sim_task *k = &w->tasks[m->id];
    const struct task *t = engine_task(w->e, m->id);
    bool bad = m->end.cls != FAIL_NONE && !(k->stopped && m->end.when >= k->stop_at);
    char line[96], name[ENGINE_NAME_MAX];
    size_t from = w->log.len;

    /* A person's wish to restart it makes its end no failure, whatever it was. */
    if (k->stopped && m->end.when < k->stop_at)
        bad = false;
    k->open = false;
    CHECK(w, engine_on_ended(w->e, m->id, &m->end, w->now, NULL) == 0);
    if (!bad || t->retired)
        return;
    snprintf(line, sizeof(line), "\"event\":\"failure\",\"task\":\"%s\"",
             engine_task_name(w->e, m->id, name));
    CHECK(w, engine_events(w->e, &w->log) == 0);
    CHECK(w, strstr(buf_text(&w->log) + from, line) != NULL);
}

static void prepared(struct sim *w, uint32_t id)
{
    static const enum fail_class bad[] = { FAIL_FILES, FAIL_PORT, FAIL_DISK };
    struct sim_task *k = &w->tasks[id];
    struct engine_end end = { .cls = bad[draw(w, 3)], .when = w->now };

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

/* The process comes to life, and its end is already written. */
static void exec(struct sim *w, uint32_t id)
{
    struct sim_task *k = &w->tasks[id];
    struct engine_end end = sim_fate(w);

    k->place = SIM_ALIVE;
    tell(w, SIM_STARTED, id, draw(w, 5));
    if (chance(w, 80))
        tell(w, SIM_READY, id, draw(w, 50));
    if (k->deaf && engine_task(w->e, id)->role != 1)
        return; /* it will neither end nor hear */
    post(w, SIM_DIES, id, draw(w, chance(w, 50) ? 1000 : 40000));
    w->queue[w->n_queue - 1].life = k->life;
    w->queue[w->n_queue - 1].end = end;
}

static void dies(struct sim *w, const struct sim_message *m)
{
    struct sim_task *k = &w->tasks[m->id];
    struct sim_message *told;

    if (k->life != m->life || k->place != SIM_ALIVE)
        return;
    k->life++;
    k->place = SIM_NOTHING;
    told = tell(w, SIM_ENDED, m->id, draw(w, 400));
    told->end = m->end;
    told->end.when = w->now;
}

static void granted(struct sim *w, const struct sim_message *m)
{
    struct sim_slot *s = &w->slots[m->id];

    if (s->life != m->life) {
        if (!s->asked && !s->held && chance(w, 30)) /* it crosses with our giving up */
            CHECK(w, engine_on_granted(w->e, m->id, m->id, w->now, NULL) == 0);
        return;
    }
    s->asked = false;
    s->held = true;
    CHECK(w, engine_on_granted(w->e, m->id, m->id, w->now, NULL) == 0);
    post(w, SIM_UP, m->id, draw(w, 100));
    w->queue[w->n_queue - 1].life = s->life;
    if (chance(w, w->trouble / 3)) {
        post(w, SIM_LOST, m->id, draw(w, 30000));
        w->queue[w->n_queue - 1].life = s->life;
    }
}

static void slot_lost(struct sim *w, uint32_t id)
{
    static const enum fail_class why[] = { FAIL_NODE, FAIL_PREEMPTED, FAIL_START, FAIL_MEMORY,
                                           FAIL_PERSON };

    do_release(w, id);
    CHECK(w, engine_on_lost(w->e, id, why[draw(w, 5)], "gone", w->now, NULL) == 0);
}

static bool is_stale(const struct sim *w, const struct sim_message *m)
{
    switch (m->kind) {
    case SIM_UP:
    case SIM_LOST:
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

static void happen(struct sim *w, const struct sim_message *m)
{
    if (is_stale(w, m))
        return;
    if (m->kind == SIM_GRANTED) {
        granted(w, m);
    } else if (m->kind == SIM_UP) {
        w->slots[m->id].up = true;
        CHECK(w, engine_on_agent_up(w->e, m->id, w->now, NULL) == 0);
    } else if (m->kind == SIM_PREPARED) {
        prepared(w, m->id);
    } else if (m->kind == SIM_EXEC) {
        exec(w, m->id);
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
    } else if (m->kind == SIM_FORMED) {
        w->forming = false;
        CHECK(w, engine_on_formed(w->e, w->now, NULL) == 0);
    }
}

/* Now and then a person wants something; a refusal is an answer, too. */
static void person(struct sim *w)
{
    uint32_t what = draw(w, 1500), n = engine_n_tasks(w->e);
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
        r = engine_scale(w->e, "worker", 1 + draw(w, 6), "me", w->now, &err);
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
    w->roles[1].count++;
    w->roles[2].name = (char *)"board";
    if (chance(w, 30))
        w->roles[2].restart = (struct spec_restart){ SPEC_RESTART_TASK, 2, 0 };
    w->after = (struct spec_after){ (char *)"ps", (enum spec_when)draw(w, 2) };
    if (w->roles[0].ready.kind == SPEC_READY_NONE && chance(w, 60))
        w->roles[1].after = (struct spec_afters){ &w->after, 1 };
    w->opt = (struct engine_options){ .seed = seed, .elastic = chance(w, 25) };
}

/* To its end, or for so many steps. */
static void live(struct sim *w, uint32_t until)
{
    static const struct engine_facts facts = { .job = "sim" };

    CHECK(w, engine_new(&w->spec, &w->opt, &w->e, NULL) == 0);
    CHECK(w, engine_created(w->e, &facts, w->now, NULL) == 0);
    CHECK(w, engine_start(w->e, w->now, NULL) == 0);
    obey(w);
    for (w->steps = 0; !w->ended && w->steps < until; w->steps++) {
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
        if (!w->ended)
            person(w);
        read_log(w);
        obey(w);
    }
    read_log(w);
}
