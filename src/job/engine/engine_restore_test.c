/* engine_restore_test.c - an engine that has read the log knows what the one that wrote it knew. */
#include "job/engine/engine_same_testing.h"
#include "job/engine/engine_sim_drive_testing.h"

static struct engine *read_back(struct sim *w, size_t len)
{
    const char *log = (const char *)w->log.data, *line = log, *end;
    struct engine *e = NULL;

    CHECK(w, engine_new(&w->spec, &w->opt, &e, NULL) == 0);
    for (; line < log + len; line = end + 1) {
        end = memchr(line, '\n', (size_t)(log + len - line));
        if (!end)
            break;
        CHECK(w, engine_restore(e, line, (size_t)(end - line), NULL) == 0);
    }
    return e;
}

static void check_same(struct sim *w)
{
    AUTO(engine) struct engine *e = read_back(w, w->log.len);
    const char *what = engines_differ(w->e, e);

    if (what) {
        fprintf(stderr, "%s\n", (const char *)w->log.data);
        fail_msg("seed %u, step %u: %s is not the same", w->seed0, w->steps, what);
    }
}

static void run_jobs(uint32_t first, uint32_t n, bool cut_short)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    if (ydl_torture_spare_thread)
        n = 3; /* each is run hundreds of times */
    for (uint32_t i = 0; i < n; i++) {
        invent(w, first + i);
        live(w, cut_short ? draw(w, 300) : UINT32_MAX);
        check_same(w);
        w->e = engine_free(w->e);
        buf_done(&w->log);
    }
}

static void the_log_of_a_whole_life_is_that_life(void **state)
{
    (void)state;
    run_jobs(1, 300, false);
}

static void and_at_any_time_what_there_was_till_then(void **state)
{
    (void)state;
    run_jobs(300001, 2000, true);
}

/* ---- hostile bytes ---- */

static void scribble(struct sim *w)
{
    static const char bytes[] = "0123456789-\"{}[]:,eE.x";

    for (uint32_t n = 1 + draw(w, 40); n > 0 && w->log.len > 0; n--) {
        uint8_t *p = &w->log.data[draw(w, (uint32_t)w->log.len)];

        if (*p != '\n')
            *p = (uint8_t)bytes[draw(w, sizeof(bytes) - 1)];
    }
}

static void survive(struct sim *w)
{
    const char *line = (const char *)w->log.data, *end;
    AUTO(engine) struct engine *e = NULL;
    struct action a;
    int r;

    CHECK(w, engine_new(&w->spec, &w->opt, &e, NULL) == 0);
    for (; *line; line = end + 1) {
        end = strchr(line, '\n');
        r = engine_restore(e, line, (size_t)(end - line), NULL);
        CHECK(w, r == 0 || r == -EINVAL);
    }
    CHECK(w, engine_resume(e, w->now, NULL) == 0);
    for (uint32_t i = 0; i < engine_n_slots(e); i++) {
        struct engine_held h = { .task = draw(w, engine_n_tasks(e)), .pid = (int)draw(w, 2) };

        CHECK(w, engine_on_held(e, &h, w->now, NULL) == 0);
        if (engine_slot_is_away(e, i) && chance(w, 50))
            CHECK(w, engine_on_agent_up(e, i, w->now, NULL) == 0);
        CHECK(w, engine_on_lost(e, i, FAIL_NODE, NULL, w->now, NULL) == 0);
    }
    CHECK(w, engine_on_time(e, w->now + 1000000, NULL) == 0);
    while (engine_next_action(e, &a))
        CHECK(w, a.kind != ACTION_PREPARE || a.id < engine_n_tasks(e));
}

static void any_bytes_do_no_harm(void **state)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    uint32_t n = ydl_torture_spare_thread ? 2 : 500;

    (void)state;
    assert_non_null(w);
    for (uint32_t seed = 900001; seed < 900001 + n; seed++) {
        invent(w, seed);
        live(w, draw(w, 300));
        w->behind = true;
        scribble(w);
        survive(w);
        w->e = engine_free(w->e);
        buf_done(&w->log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_of_a_whole_life_is_that_life),
        cmocka_unit_test(and_at_any_time_what_there_was_till_then),
        cmocka_unit_test(any_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
