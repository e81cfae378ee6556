/* agents_save_test.c - the end of a job, at random: agents say late, twice, in any order or not at
 * all what they saved, hang up, come back, and their containers end. A model beside the master
 * knows what is to be said of it. See agents_save.c and missing_output.c. */
#include "master/agents_testing.h"

#define AGENTS_MAX 4
#define PROCS_MAX 2
#define TASKS_MAX (AGENTS_MAX * PROCS_MAX)
#define LOGS "hdfs://cluster/logs"

/* Assertions name the run that they failed in. */
#define CHECK(w, cond)                                                                             \
    do {                                                                                           \
        if (!(cond))                                                                               \
            fail_msg("seed %u, step %u: %s", (w)->seed0, (w)->step, #cond);                        \
    } while (0)

/* What a task wrote on its agent. */
struct world_task {
    bool owed, failed; /* nobody has said that it is saved; somebody that it is not */
    uint32_t first, last;
};

struct world_agent {
    struct channel *c; /* its side; NULL: it is not connected */
    bool gone;         /* its container has ended */
    bool output_saved; /* it has said so */
    bool done;         /* it has nothing more to say */
    struct world_task tasks[PROCS_MAX];
};

struct world {
    struct desk *d;
    uint32_t seed0, seed, step;
    uint32_t n, procs;
    struct world_agent agents[AGENTS_MAX];
    bool ending;  /* the job has ended, and its agents save */
    bool unsaved; /* something is to be told that is not there */
    bool done;    /* with all that happens */
};

static uint32_t draw(struct world *w, uint32_t n)
{
    w->seed = w->seed * 1664525 + 1013904223;
    return (w->seed >> 8) % n;
}

static bool chance(struct world *w, unsigned percent)
{
    return draw(w, 100) < percent;
}

static void wait_a_turn(struct world *w)
{
    assert_int_equal(fiber_yield(w->d->loop), 0);
}

/* ---- what an agent says ---- */

/* Returns when the master has read it. */
static void say(struct world *w, uint32_t i, Agent__ToMaster *msg)
{
    struct agent_conn *a = agents_get(&w->d->m, i + 1);

    a->heard = -1;
    CHECK(w, channel_send(w->agents[i].c, &msg->base, NULL) == 0);
    CHECK(w, channel_flush(w->agents[i].c, loop_in(w->d->loop, ENOUGH), NULL) == 0);
    while (a->heard < 0)
        wait_a_turn(w);
}

static void say_started(struct world *w, uint32_t i)
{
    struct world_agent *g = &w->agents[i];
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__Started body = AGENT__STARTED__INIT;
    Agent__StartedTask one = AGENT__STARTED_TASK__INIT, *list[] = { &one };
    uint32_t k = draw(w, w->procs);
    struct world_task *t = &g->tasks[k];

    one.task = i * w->procs + k;
    one.attempt = 1 + draw(w, 3); /* the engine knows of none of them */
    body.tasks = list;
    body.n_tasks = 1;
    msg.started = &body;
    msg.body_case = AGENT__TO_MASTER__BODY_STARTED;
    say(w, i, &msg);
    if (g->output_saved)
        return; /* it was told late, or twice: what is saved is saved */
    if (!t->owed)
        *t = (struct world_task){ .owed = true, .first = one.attempt, .last = one.attempt };
    t->last = one.attempt > t->last ? one.attempt : t->last;
}

static void mark_failed(struct world_agent *g)
{
    for (uint32_t k = 0; k < PROCS_MAX; k++)
        g->tasks[k].failed = true;
}

/* The tasks whose output is there, by their names: what is not named is not. */
static void name_saved(struct world *w, uint32_t i, Agent__Saved *body,
                       char labels[][ENGINE_NAME_MAX])
{
    struct world_agent *g = &w->agents[i];

    body->has_labels = true;
    for (uint32_t k = 0; k < w->procs; k++) {
        char *label = labels[body->n_labels];

        if (draw(w, 3) == 0) {
            g->tasks[k].failed = true;
            continue;
        }
        (void)engine_task_name(w->d->m.engine, i * w->procs + k, label);
        *strrchr(label, ':') = '-';
        body->labels[body->n_labels++] = label;
        g->tasks[k] = (struct world_task){ 0 };
    }
    g->output_saved = true;
}

static void say_saved(struct world *w, uint32_t i, const char *to, const char *fail, bool last)
{
    struct world_agent *g = &w->agents[i];
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__Saved body = AGENT__SAVED__INIT;
    char labels[PROCS_MAX][ENGINE_NAME_MAX], *list[PROCS_MAX];
    bool output = str_eq(to, LOGS) && !last, named = output && draw(w, 2);

    body.labels = list;
    if (named)
        name_saved(w, i, &body, labels);

    body.to = (char *)to;
    body.fail = (char *)fail;
    body.last = last;
    msg.saved = &body;
    msg.body_case = AGENT__TO_MASTER__BODY_SAVED;
    say(w, i, &msg);
    if (*fail && (output || last) && !named)
        mark_failed(g);
    if (output && !*fail && !named) {
        memset(g->tasks, 0, sizeof(g->tasks));
        g->output_saved = true;
    }
    w->unsaved = w->unsaved || (*fail && !output);
    g->done = g->done || last;
}

/* ---- what else happens to it ---- */

static void hang_up(struct world *w, uint32_t i)
{
    w->agents[i].c = channel_close(w->agents[i].c);
    while (agents_get(&w->d->m, i + 1)->channel)
        wait_a_turn(w);
}

/* The same one, or one that its container has started after it died. */
static void return_one(struct world *w, uint32_t i, bool same)
{
    struct channel *old = w->agents[i].c;

    if (!same && old)
        hang_up(w, i);
    if (!same) /* what it starts is its own */
        w->agents[i].output_saved = false;
    w->agents[i].c = come(w->d, i + 1, same);
    if (same)
        (void)channel_close(old);
}

static void end_container(struct world *w, uint32_t i, bool well)
{
    struct world_agent *g = &w->agents[i];

    if (well)
        drive_platform_events.on_left(&w->d->m, i);
    if (well) {
        for (uint32_t k = 0; k < PROCS_MAX; k++)
            g->tasks[k].owed = g->tasks[k].owed && g->tasks[k].failed;
        g->done = true;
    }
    drive_platform_events.on_lost(&w->d->m, i, FAIL_NODE, "its node is gone");
    w->unsaved = w->unsaved || (w->ending && !g->done);
    g->gone = g->done = true;
    wait_a_turn(w);
}

static void happen(struct world *w)
{
    uint32_t i = draw(w, w->n), what = draw(w, 20);
    struct world_agent *g = &w->agents[i];

    if (what < 3 && !g->gone)
        return_one(w, i, what < 2 || chance(w, 50));
    else if (what < 5)
        end_container(w, i, chance(w, 60) && !g->gone);
    else if (!g->c)
        return;
    else if (what < 6)
        hang_up(w, i);
    else if (what < 9)
        say_started(w, i);
    else if (what < 13)
        say_saved(w, i, LOGS, chance(w, 30) ? "quota exceeded" : "", false);
    else if (what < 15)
        say_saved(w, i, "hdfs://cluster/results", chance(w, 30) ? "no room" : "", false);
    else if (what < 18 && w->ending)
        say_saved(w, i, LOGS, chance(w, 20) ? "no more time" : "", true);
}

/* ---- the end ---- */

static bool all_done(const struct world *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (!w->agents[i].done)
            return false;
    return true;
}

static void begin_end(struct world *w)
{
    struct master *m = &w->d->m;

    CHECK(w, engine_kill(m->engine, "me", master_now(m), NULL) == 0);
    w->ending = true;
    for (uint32_t i = 0; i < w->n; i++) /* whose container is gone is not waited for */
        w->agents[i].done = w->agents[i].gone;
    master_wake(m);
    while (!m->save.until || m->save.ask_by)
        wait_a_turn(w);
}

/* What has not been said when there is no more time is not waited for. */
static void await_end(struct world *w)
{
    struct master *m = &w->d->m;
    int64_t until = loop_in(m->loop, ENOUGH);

    if (!all_done(w)) {
        CHECK(w, !m->ended);
        w->unsaved = true;
        m->save.until = loop_now(m->loop);
        master_wake(m);
    }
    while (!m->ended && loop_now(m->loop) < until)
        wait_a_turn(w);
    CHECK(w, m->ended);
}

/* What still comes when the last record is written changes nothing. */
static void come_too_late(struct world *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        struct world_agent before = w->agents[i];

        if (before.c)
            say_saved(w, i, LOGS, chance(w, 50) ? "too late" : "", false);
        if (before.c && chance(w, 50))
            say_started(w, i);
        if (before.c)
            say_saved(w, i, LOGS, "", true);
        w->agents[i] = before;
        w->agents[i].c = channel_close(before.c);
    }
}

static void play(void *arg)
{
    struct world *w = arg;
    uint32_t n = draw(w, 12), more = draw(w, 25);

    for (uint32_t i = 0; i < w->n; i++) {
        assert_int_equal(agents_expect(&w->d->m, i + 1, NULL), 0);
        drive_platform_events.on_granted(&w->d->m, i, i + 1, NULL, 0);
        w->agents[i].c = come(w->d, i + 1, false);
    }
    for (; w->step < n; w->step++)
        happen(w);
    begin_end(w);
    for (; w->step < n + more && !all_done(w); w->step++) {
        CHECK(w, !w->d->m.ended);
        happen(w);
    }
    await_end(w);
    come_too_late(w);
    w->done = true;
}

/* ---- what was told ---- */

static void check_note(struct world *w, const json_t *v, unsigned *missing)
{
    const char *text = json_string_value(json_object_get(v, "text"));

    for (uint32_t i = 0; i < w->n * w->procs; i++) {
        const struct world_task *t = &w->agents[i / w->procs].tasks[i % w->procs];
        char name[96], attempts[40];
        bool named;

        (void)snprintf(attempts, sizeof(attempts), t->first == t->last ? " %u" : "s %u to %u",
                       t->first, t->last);
        (void)snprintf(name, sizeof(name), "w:%u (attempt%s on 'n%u')", i, attempts,
                       i / w->procs + 1);
        named = text && strstr(text, name) != NULL;
        CHECK(w, !named || t->owed);
        *missing += named;
    }
}

static void check_log(struct world *w)
{
    AUTO_FREE char *path = path_join(w->d->dir, "events.jsonl");
    AUTO_BUF text = { .max = MIB };
    unsigned owed = 0, named = 0, missing = 0;
    bool unsaved = false, end = false;
    char *line, *next;

    for (uint32_t i = 0; i < w->n * w->procs; i++)
        owed += w->agents[i / w->procs].tasks[i % w->procs].owed;
    assert_non_null(path);
    assert_int_equal(path_read(path, &text, NULL), 0);
    for (line = (char *)buf_text(&text); (next = strchr(line, '\n')); line = next + 1) {
        AUTO_JSON *v = json_loadb(line, (size_t)(next - line), 0, NULL);
        const json_t *n = json_object_get(v, "missing");

        CHECK(w, v && !end); /* it is the last */
        end = str_eq(json_string_value(json_object_get(v, "event")), "end");
        missing += (unsigned)json_integer_value(n);
        unsaved = unsaved || json_is_true(json_object_get(v, "unsaved"));
        if (n)
            check_note(w, v, &named);
    }
    CHECK(w, end);
    CHECK(w, missing == owed && named == owed);
    CHECK(w, unsaved == w->unsaved && unsaved == (w->d->m.save.unsaved != NULL));
}

/* ---- a job ---- */

static void drive_to_the_end(struct desk *d)
{
    struct world *w = d->arg;
    struct master_container container = { .attempt = 1, .logs_uri = (char *)LOGS };
    struct err err = ERR_INIT;

    w->d = d;
    be_on_yarn(d, &container);
    d->m.spec.save_time = 600000;
    assert_int_equal(engine_start(d->m.engine, master_now(&d->m), NULL), 0);
    assert_int_equal(fiber_start(d->loop, play, w, NULL, NULL), 0);
    CHECK(w, drive_job(&d->m, true, &err) == 0);
    while (!w->done)
        wait_a_turn(w);
    check_log(w);
    agents_hang_up(&d->m);
}

static void run_ends(uint32_t first, uint32_t n)
{
    AUTO_FREE struct desk *d = malloc(sizeof(*d));
    AUTO_FREE struct world *w = malloc(sizeof(*w));

    assert_non_null(d);
    assert_non_null(w);
    if (ydl_torture_spare_thread)
        n = 1; /* each is run hundreds of times */
    for (uint32_t i = 0; i < n; i++) {
        *w = (struct world){ .seed0 = first + i, .seed = (first + i) * 2654435761u };
        w->n = 1 + draw(w, AGENTS_MAX);
        w->procs = 1 + draw(w, PROCS_MAX);
        *d = (struct desk){ .body = drive_to_the_end, .arg = w };
        d->role = (struct spec_role){ .count = w->n, .procs = w->procs };
        run_desk(d);
    }
}

static void what_is_not_saved_is_told_once_and_the_end_is_reached(void **state)
{
    (void)state;
    run_ends(1, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_saved_is_told_once_and_the_end_is_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
