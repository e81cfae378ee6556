/* engine_sim_test.c - thousands of random jobs in a pretended world. Whatever happens: the engine
 * asks only for what can be done, everything ends, budgets hold, and the first failure is told. */
#include "job/engine/engine_sim_end_testing.h"
#include "job/history.h"

/* Counted restarts of one task, or of the gang, within any hour; all runs are shorter than that. */
static void check_budgets(struct sim *w)
{
    int64_t tasks[SIM_TASKS] = { 0 }, gang = 0;

    for (const char *line = (const char *)w->log.data; *line; line = strchr(line, '\n') + 1) {
        if (!has(line, "\"event\":\"restart\""))
            continue;
        if (has(line, "\"what\":\"gang\""))
            gang += has(line, "a task failed");
        else if (has(line, "it failed") && number(line, "\"used\":") > 0 && /* it has paid */
                 task_in(w, line) != UINT32_MAX)
            tasks[task_in(w, line)]++;
    }
    if (w->now - SIM_T0 > 3600000)
        return;
    /* Under `task` it is each task's budget that pays for a gang that its port makes necessary. */
    CHECK(w, w->spec.restart.policy != SPEC_RESTART_GANG || gang <= w->spec.restart.max);
    for (uint32_t i = 0; i < engine_n_tasks(w->e) && w->spec.restart.policy == SPEC_RESTART_TASK;
         i++)
        if (engine_task(w->e, i)->role != 2)
            CHECK(w, tasks[i] <= w->spec.restart.max);
}

static void check_end(struct sim *w)
{
    struct outcome o;

    engine_outcome(w->e, &o);
    CHECK(w, job_has_ended(o.state) && engine_deadline(w->e) == INT64_MAX);
    CHECK(w, (o.exit == 0) == (o.state == JOB_SUCCEEDED));
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++)
        CHECK(w, !w->tasks[i].open);
    if (o.task != UINT32_MAX) {
        CHECK(w, o.when == w->story);
        CHECK(w, o.exit == failure_exit(o.cls, o.code, o.signal));
    }
    check_budgets(w);
}

/* ---- the log tells it all ---- */

static void same_task(struct sim *w, const json_t *v, const struct task *t)
{
    const json_t *ports = json_object_get(v, "ports");
    const char *cls = json_string_value(json_object_get(v, "class"));

#define INT(key) json_integer_value(json_object_get(v, key))
    CHECK(w,
          strcmp(json_string_value(json_object_get(v, "state")), task_state_name(t->state)) == 0);
    CHECK(w, INT("rank") == t->rank && INT("attempt") == t->attempt);
    /* A start that is on its way is told when it has happened, progress only now and then. */
    CHECK(w, INT("generation") == t->generation || t->state == TASK_READY);
    CHECK(w, INT("pid") == t->pid && INT("code") == t->code);
    CHECK(w, (INT("step") == t->step && INT("total") == t->total) || t->state == TASK_RUNNING);
    CHECK(w, json_is_true(json_object_get(v, "ready")) == t->ready);
    CHECK(w, INT("since") == (t->since ? t->since : 0));
    CHECK(w, t->state == TASK_WAITING || t->agent == INT("agent"));
    if (t->state == TASK_READY || t->state == TASK_RUNNING)
        CHECK(w, json_integer_value(json_array_get(ports, 0)) == t->port[0]);
    CHECK(w, strcmp(cls ? cls : "none", fail_key(t->fail)) == 0);
#undef INT
}

static void same_outcome(struct sim *w, const json_t *doc)
{
    const json_t *story = json_object_get(doc, "story");
    char name[ENGINE_NAME_MAX];
    struct outcome o;

    engine_outcome(w->e, &o);
    CHECK(w,
          strcmp(json_string_value(json_object_get(doc, "state")), job_state_name(o.state)) == 0);
    CHECK(w, json_integer_value(json_object_get(doc, "generation")) == engine_generation(w->e));
    if (!job_has_ended(o.state))
        return;
    CHECK(w, json_integer_value(json_object_get(doc, "exit")) == o.exit);
    CHECK(w, json_is_object(story) == (o.task != UINT32_MAX));
    if (o.task == UINT32_MAX)
        return;
    engine_task_name(w->e, o.task, name);
    CHECK(w, strcmp(json_string_value(json_object_get(story, "task")), name) == 0);
    CHECK(w, strcmp(json_string_value(json_object_get(doc, "whose")), name) == 0);
    CHECK(w, json_integer_value(json_object_get(story, "when")) == o.when);
    CHECK(w, json_integer_value(json_object_get(story, "code")) == o.code);
    CHECK(w, strcmp(json_string_value(json_object_get(story, "text")), o.text) == 0);
}

static void check_history(struct sim *w)
{
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *doc = NULL;
    const json_t *tasks;
    size_t seen = 0;

    CHECK(w, history_new(&h, NULL) == 0);
    for (const char *line = (const char *)w->log.data; *line; line = strchr(line, '\n') + 1)
        CHECK(w, history_apply(h, line, (size_t)(strchr(line, '\n') - line), NULL) == 0);
    CHECK(w, history_json(h, 1, &doc, NULL) == 0);
    same_outcome(w, doc);
    tasks = json_object_get(doc, "tasks");
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *v = json_array_get(tasks, i);
        uint32_t id = 0;

        CHECK(w, engine_find_task(w->e, json_string_value(json_object_get(v, "task")), &id, NULL) ==
                     0);
        same_task(w, v, engine_task(w->e, id));
        seen++;
    }
    for (uint32_t i = 0; i < engine_n_tasks(w->e); i++)
        seen -= engine_in_gang(w->e, i);
    CHECK(w, seen == 0);
}

static void run_jobs(uint32_t first, uint32_t n, void (*check)(struct sim *w), bool cut_short)
{
    AUTO_FREE struct sim *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    if (ydl_torture_spare_thread)
        n = 3; /* each is run hundreds of times */
    for (uint32_t i = 0; i < n; i++) {
        invent(w, first + i);
        live(w, cut_short ? draw(w, 300) : UINT32_MAX);
        check(w);
        if (w->ended)
            outlive(w);
        w->e = engine_free(w->e);
        buf_done(&w->log);
    }
}

static void whatever_happens_the_rules_hold(void **state)
{
    (void)state;
    run_jobs(1, 5000, check_end, false);
}

static void the_log_tells_what_the_engine_knows(void **state)
{
    (void)state;
    run_jobs(100001, 300, check_history, false);
}

static void and_tells_it_at_any_time(void **state)
{
    (void)state;
    run_jobs(200001, 500, check_history, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_the_rules_hold),
        cmocka_unit_test(the_log_tells_what_the_engine_knows),
        cmocka_unit_test(and_tells_it_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
