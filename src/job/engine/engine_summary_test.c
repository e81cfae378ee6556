/* engine_summary_test.c - a new engine that reads a summary knows what the one that wrote it knew,
 * at any moment of thousands of random jobs; so does a history. See engine_summary.c. */
#include "job/engine/engine_same_testing.h"
#include "job/engine/engine_sim_drive_testing.h"
#include "job/history.h"

static const struct engine_facts facts = { .job = "sim" };

static void each_line(struct sim *w, const struct buf *lines,
                      int (*fn)(void *, const char *, size_t), void *arg)
{
    const char *line = (const char *)lines->data, *stop = line + lines->len, *end;

    for (; line < stop; line = end + 1) {
        end = memchr(line, '\n', (size_t)(stop - line));
        CHECK(w, end && fn(arg, line, (size_t)(end - line)) == 0);
    }
}

static int into_engine(void *arg, const char *line, size_t n)
{
    return engine_restore(arg, line, n, NULL);
}

static int into_history(void *arg, const char *line, size_t n)
{
    return history_apply(arg, line, n, NULL);
}

static void summarise(struct sim *w, struct buf *ret)
{
    CHECK(w, engine_summary(w->e, &facts, w->now, ret) == 0);
    CHECK(w, engine_summary_end(ret, w->now) == 0);
}

/* Without what the engine does not know: why the job is in its state, when a task first reported,
 * and which ports a task had before it gave them up. */
static json_t *document(struct sim *w, const struct buf *lines)
{
    AUTO(history) struct history *h = NULL;
    json_t *doc = NULL, *task;
    size_t i;

    CHECK(w, history_new(&h, NULL) == 0);
    each_line(w, lines, into_history, h);
    CHECK(w, history_json(h, 1, &doc, NULL) == 0);
    (void)json_object_del(doc, "reason");
    (void)json_object_del(json_object_get(doc, "progress"), "eta_ms");
    json_array_foreach(json_object_get(doc, "tasks"), i,
                       task) if (!str_eq(json_string_value(json_object_get(task, "state")),
                                         "RUNNING"))(void) json_object_del(task, "ports");
    return doc;
}

/* Reports that the log does not have are in a summary. */
static bool all_told(const struct engine *e)
{
    for (uint32_t i = 0; i < e->n_units; i++)
        if (e->units[i].untold || e->units[i].t.state == TASK_READY)
            return false;
    return true;
}

static void check_summary(struct sim *w)
{
    AUTO_BUF lines = { .max = 4 * MIB };
    AUTO(engine) struct engine *e = NULL;
    const char *what;

    if (engine_state(w->e) >= JOB_FINISHING)
        return;
    summarise(w, &lines);
    /* Who begins here reads no other record that says in which form the log is. */
    CHECK(w, memmem(lines.data, 200, "\"format\":", strlen("\"format\":")));
    CHECK(w, engine_new(&w->spec, &w->opt, &e, NULL) == 0);
    each_line(w, &lines, into_engine, e);
    what = engines_differ(w->e, e);
    if (what)
        fprintf(stderr, "seed %u: '%s' differs\n", w->seed0, what);
    CHECK(w, !what && w->e->restarts == e->restarts && w->e->ran == e->ran &&
                 w->e->created == e->created && w->e->last_agent == e->last_agent);
    if (all_told(w->e)) {
        AUTO_JSON *a = document(w, &w->log);
        AUTO_JSON *b = document(w, &lines);

        CHECK(w, json_equal(a, b));
    }
    /* In the middle of a log it says nothing new. */
    each_line(w, &lines, into_engine, e);
    CHECK(w, !engines_differ(w->e, e));
}

static void summarise_life(struct sim *w, uint32_t seed)
{
    invent(w, seed);
    live(w, draw(w, 300));
    check_summary(w);
    w->e = engine_free(w->e);
    buf_done(&w->log);
}

static void a_summary_tells_what_the_engine_knows(void **state)
{
    static const uint32_t rare[] = { 939267 /* a side task was given up before it began */ };
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    uint32_t n = ydl_torture_spare_thread ? 3 : 3000;

    (void)state;
    assert_non_null(w);
    for (uint32_t i = 0; i < n; i++)
        summarise_life(w, 900001 + i);
    for (size_t i = 0; i < COUNT_OF(rare); i++)
        summarise_life(w, rare[i]);
}

/* Its lines may be cut off, missing or twice: whatever is made of it ends when it is killed. */
static void a_damaged_summary_does_no_harm(void **state)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));
    uint32_t n = ydl_torture_spare_thread ? 1 : 500;

    (void)state;
    assert_non_null(w);
    for (uint32_t seed = 950001; seed < 950001 + n; seed++) {
        AUTO_BUF lines = { .max = 4 * MIB };
        AUTO(engine) struct engine *e = NULL;
        const char *line, *end;

        invent(w, seed);
        live(w, draw(w, 300));
        if (engine_state(w->e) < JOB_FINISHING)
            summarise(w, &lines);
        CHECK(w, engine_new(&w->spec, &w->opt, &e, NULL) == 0);
        for (line = (const char *)lines.data; line && line < (const char *)lines.data + lines.len;
             line = end + 1) {
            end = memchr(line, '\n', lines.len);
            for (uint32_t k = chance(w, 20) ? 0 : chance(w, 20) ? 2 : 1; k > 0; k--)
                CHECK(w, engine_restore(e, line, (size_t)(end - line), NULL) == 0);
        }
        CHECK(w, engine_resume(e, w->now, NULL) == 0);
        CHECK(w, engine_fault(e, NULL) == 0);
        w->e = engine_free(w->e);
        buf_done(&w->log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_tells_what_the_engine_knows),
        cmocka_unit_test(a_damaged_summary_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
