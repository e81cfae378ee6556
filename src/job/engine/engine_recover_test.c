/* engine_recover_test.c - masters die at any moment, with what they wrote last lost or half
 * written; containers and processes go on. Whoever takes over brings the job to its end. */
#include "job/engine/engine_sim_end_testing.h"

/* ---- a master dies ---- */

static void write_out(struct sim *w)
{
    CHECK(w, buf_add(&w->disk, w->log.data + w->written, w->log.len - w->written) == 0);
    w->written = w->log.len;
}

/* The end of the last part is lost: anything down to where it began. */
static void lose_end(struct sim *w, size_t begin)
{
    size_t len = w->disk.len - draw(w, (uint32_t)(w->disk.len - begin + 1)) % 3000;

    if (len == w->disk.len)
        return;
    w->behind = true;
    w->disk.len = len;
    if (len > 0 && w->disk.data[len - 1] != '\n')
        CHECK(w, buf_add(&w->disk, "\n", 1) == 0);
}

/* What was on its way to it, or to its agents. */
static void lose_messages(struct sim *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->n_queue; i++) {
        enum sim_kind k = w->queue[i].kind;

        if (k == SIM_EXEC || k == SIM_DIES || k == SIM_LOST || k == SIM_LEAVING || k == SIM_AGAIN)
            w->queue[n++] = w->queue[i];
    }
    w->n_queue = n;
    w->forming = false;
    w->gaps = true;
    for (uint32_t i = 0; i < SIM_TASKS; i++) {
        w->slots[i].asked = false;
        lose_touch(w, i);
    }
}

/* The world goes on without one. */
static void be_alone(struct sim *w, int64_t until)
{
    w->alone = true;
    while (first_time(w) <= until) {
        struct sim_message m = take_first(w);

        w->now = m.at > w->now ? m.at : w->now;
        if (is_stale(w, &m))
            continue;
        if (m.kind == SIM_LOST)
            do_release(w, m.id);
        else if (m.kind == SIM_LEAVING) /* the next one will be told */
            w->queue[w->n_queue++] = (struct sim_message){
                .at = until + 1, .order = w->order++, .kind = m.kind, .id = m.id, .life = m.life
            };
        else
            happen(w, &m);
    }
    w->now = until;
    w->alone = false;
}

/* ---- and another one comes ---- */

static struct engine *read_disk(struct sim *w)
{
    const char *line, *end;
    struct engine *e = NULL;
    int r;

    CHECK(w, engine_new(&w->spec, &w->opt, &e, NULL) == 0);
    CHECK(w, buf_text(&w->disk) != NULL);
    for (line = (const char *)w->disk.data; *line; line = end + 1) {
        end = strchr(line, '\n');
        r = engine_restore(e, line, (size_t)(end - line), NULL);
        CHECK(w, r == 0 || (r == -EINVAL && w->behind));
    }
    if (w->behind) /* a wish that was not written down is forgotten */
        w->workers = engine_role_count(e, 1);
    return e;
}

static void take_over(struct sim *w, struct engine *e)
{
    struct event ev;

    engine_event(e, EVENT_MASTER, w->now, &ev);
    event_int(&ev, "attempt", ++w->masters);
    event_str(&ev, "address", "tcp:10.0.0.1:4711");
    CHECK(w, event_end(&ev) == 0);
    CHECK(w, engine_resume(e, w->now, NULL) == 0);
}

/* Every container is known to both, to the new master alone (it is gone), or to nobody. */
static void meet(struct sim *w, const struct engine *e, uint32_t id, bool give)
{
    struct sim_slot *s = &w->slots[id];
    bool known = engine_slot_agent(e, id) != ENGINE_NO_AGENT;
    bool same = known && s->held && engine_slot_agent(e, id) == sim_agent(w, id);

    if (s->held && !same && (known || !give || id >= engine_n_slots(e)))
        do_release(w, id);
    if (!known && !s->held)
        return;
    s->orphan = s->held && !known;
    if (s->orphan)
        return;
    post(w, same ? SIM_BACK : SIM_LOST, id, draw(w, same && w->calm ? 3000 : 8000));
    w->queue[w->n_queue - 1].life = s->life;
}

/* The log begins again, with everything that the one before it said. */
static bool summarise(struct sim *w)
{
    static const struct engine_facts facts = { .job = "sim" };

    if (!w->summaries || engine_state(w->e) >= JOB_FINISHING || chance(w, 30))
        return false;
    w->disk.len = 0;
    CHECK(w, engine_summary(w->e, &facts, w->now, &w->disk) == 0);
    CHECK(w, engine_summary_end(&w->disk, w->now) == 0);
    return true;
}

static void recover(struct sim *w)
{
    size_t begin = w->disk.len;
    struct engine *e;

    write_out(w);
    if (!summarise(w) && chance(w, 50) && !w->calm)
        lose_end(w, begin < w->disk.len ? begin : w->disk.len);
    lose_messages(w);
    be_alone(w, w->now + draw(w, chance(w, 50) ? 100 : 20000));
    e = read_disk(w);
    take_over(w, e);
    for (uint32_t i = 0; i < SIM_TASKS && i < engine_n_slots(w->e); i++)
        meet(w, e, i, chance(w, 50));
    for (uint32_t i = engine_n_tasks(e); i < SIM_TASKS; i++)
        w->tasks[i] = (struct sim_task){ .life = w->tasks[i].life };
    engine_free(w->e);
    w->e = e;
    read_log(w);
    obey(w);
    for (uint32_t i = 0; i < engine_n_slots(e); i++)
        if (w->slots[i].orphan && !w->slots[i].asked)
            do_release(w, i);
}

/* ---- how it ends ---- */

static void check_end(struct sim *w)
{
    struct outcome o;

    engine_outcome(w->e, &o);
    CHECK(w, job_has_ended(o.state) && engine_deadline(w->e) == INT64_MAX);
    CHECK(w, (o.exit == 0) == (o.state == JOB_SUCCEEDED));
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++)
        CHECK(w, !w->tasks[i].open || engine_slot_is_away(w->e, engine_task(w->e, i)->slot));
    if (o.task != UINT32_MAX)
        CHECK(w, o.exit == failure_exit(o.cls, o.code, o.signal));
    if (o.task != UINT32_MAX && !w->behind)
        CHECK(w, o.when == w->story);
}

static void done(struct sim *w)
{
    w->e = engine_free(w->e);
    buf_done(&w->log);
    buf_done(&w->disk);
}

static void run_jobs(uint32_t first, uint32_t n, bool calm, void (*check)(struct sim *w))
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    if (ydl_torture_spare_thread)
        n = 3; /* each is run hundreds of times */
    for (uint32_t i = 0; i < n; i++) {
        invent(w, first + i);
        w->calm = calm;
        w->summaries = i % 2 == 1;
        if (calm) {
            w->trouble = 0;
            w->spec.timeout = 0;
            w->spec.gang_retry = SPEC_FOREVER;
        }
        buf_init(&w->disk, 64 * MIB);
        live(w, draw(w, 250));
        for (uint32_t k = draw(w, 4); k > 0 && !w->ended; k--) {
            recover(w);
            live_on(w, w->steps + draw(w, 200));
        }
        if (!w->ended)
            recover(w);
        live_on(w, UINT32_MAX);
        check(w);
        if (w->ended)
            outlive(w);
        done(w);
    }
}

static void whoever_takes_over_brings_it_to_an_end(void **state)
{
    (void)state;
    run_jobs(400001, 1500, false, check_end);
    run_jobs(5013241, 1, false, check_end); /* some are of a generation that the log has not */
    run_jobs(5052394, 1, false, check_end); /* one ends well while its container is taken back */
}

/* Nothing was lost and nothing went wrong: it ends as if there had been one master only. */
static void check_calm(struct sim *w)
{
    check_end(w);
    CHECK(w, engine_state(w->e) == JOB_SUCCEEDED && engine_generation(w->e) == 0);
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++) {
        const struct task *t = engine_task(w->e, i);

        CHECK(w, w->tasks[i].starts == 1 || t->role != 1);
        CHECK(w, w->tasks[i].starts <= 1 && t->attempt == 0);
        CHECK(w, t->role != 1 || w->tasks[i].started_port == t->port[0]);
    }
}

static void what_runs_on_is_never_started_again(void **state)
{
    (void)state;
    run_jobs(500001, 400, true, check_calm);
}

/* ---- every moment, every line ---- */

static void prepare_world(struct sim *w, uint32_t seed)
{
    invent(w, seed);
    buf_init(&w->disk, 64 * MIB);
}

static void it_may_die_at_any_step(void **state)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    bool more = true;

    (void)state;
    assert_non_null(w);
    for (uint32_t seed = 600001; seed < (ydl_torture_spare_thread ? 600002 : 600007);
         seed++, more = true)
        for (uint32_t step = 0; more && step < (ydl_torture_spare_thread ? 2 : 400); step++) {
            prepare_world(w, seed);
            live(w, step);
            more = !w->ended;
            if (more)
                recover(w);
            live_on(w, UINT32_MAX);
            check_end(w);
            done(w);
        }
}

/* The log ends after `len` bytes, and of all containers none is left. */
static void begin_anew(struct sim *w, const struct buf *log, size_t len)
{
    struct engine *e;

    w->behind = w->gaps = true;
    CHECK(w, buf_add(&w->disk, log->data, len) == 0 && buf_add(&w->disk, "\n", 1) == 0);
    e = read_disk(w);
    w->now = SIM_T0 + 1000000;
    take_over(w, e);
    w->e = e;
    for (uint32_t i = 0; i < engine_n_slots(e); i++)
        if (engine_slot_is_away(e, i)) {
            w->slots[i].held = true;
            post(w, SIM_LOST, i, draw(w, 3000));
        }
    read_log(w);
    obey(w);
    live_on(w, UINT32_MAX);
}

static void the_log_may_end_anywhere(void **state)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    uint32_t n = ydl_torture_spare_thread ? 1 : 5;

    (void)state;
    assert_non_null(w);
    for (uint32_t seed = 700001; seed < 700001 + n; seed++) {
        struct buf log;

        prepare_world(w, seed);
        live(w, UINT32_MAX);
        log = w->log;
        buf_init(&w->log, 16 * MIB);
        done(w);
        for (size_t at = 0; at < log.len; at += ydl_torture_spare_thread ? 4001 : 101) {
            prepare_world(w, seed);
            begin_anew(w, &log, at);
            check_end(w);
            done(w);
        }
        buf_done(&log);
    }
}

/* Lines are missing, stand twice, or in the wrong order. */
static void damage(struct sim *w, const struct buf *log, struct buf *ret)
{
    const char *line = (const char *)log->data, *end;

    for (; line < (const char *)log->data + log->len; line = end + 1) {
        end = memchr(line, '\n', log->len);
        for (uint32_t n = chance(w, 5) ? 0 : chance(w, 5) ? 2 : 1; n > 0; n--)
            CHECK(w, buf_add(ret, line, (size_t)(end + 1 - line)) == 0);
    }
}

static void a_damaged_log_does_no_harm(void **state)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    uint32_t n = ydl_torture_spare_thread ? 1 : 500;

    (void)state;
    assert_non_null(w);
    for (uint32_t seed = 800001; seed < 800001 + n; seed++) {
        AUTO_BUF damaged = { .max = 16 * MIB };
        struct buf log;

        prepare_world(w, seed);
        live(w, draw(w, 300));
        log = w->log;
        buf_init(&w->log, 16 * MIB);
        damage(w, &log, &damaged);
        buf_done(&log);
        done(w);
        prepare_world(w, seed);
        begin_anew(w, &damaged, damaged.len);
        CHECK(w, job_has_ended(engine_state(w->e))); /* somehow */
        done(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_takes_over_brings_it_to_an_end),
        cmocka_unit_test(what_runs_on_is_never_started_again),
        cmocka_unit_test(it_may_die_at_any_step),
        cmocka_unit_test(the_log_may_end_anywhere),
        cmocka_unit_test(a_damaged_log_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
