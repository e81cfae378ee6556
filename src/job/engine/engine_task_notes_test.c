/* engine_task_notes_test.c - claims about sentences that tasks write into the job's events. */
#include "job/engine/engine_testing.h"

static int note(struct bench *b, uint32_t task, const char *text, struct err *err)
{
    return engine_on_task_note(b->e, task, text, b->now, err);
}

static void a_note_names_its_task_and_the_next_master_reads_on(void **state)
{
    struct bench *b = *state;
    AUTO(engine) struct engine *next = NULL;
    const char *line, *end;
    uint64_t seq = 0;

    bench_init(b, SPEC_RESTART_TASK, 3);
    role(b, "worker", 2);
    run_all(b);
    assert_int_equal(note(b, 1, "\"hostile\",\"unsaved\":true \\", NULL), 0);
    work(b);
    assert_true(logged(b, "\"event\":\"task-note\",\"task\":\"worker:1\",",
                       "\"text\":\"\\\"hostile\\\",\\\"unsaved\\\":true \\\\\""));
    assert_int_equal(engine_new(&b->spec, &b->opt, &next, NULL), 0);
    for (line = buf_text(&b->log); line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        assert_int_equal(engine_restore(next, line, (size_t)(end - line), NULL), 0);
        assert_true(event_number(line, (size_t)(end - line), &seq));
    }
    assert_int_equal(engine_task(next, 1)->state, TASK_RUNNING);
    assert_int_equal(note(b, 99, "nobody's", NULL), -EINVAL);
}

/* Tasks that write as much as they can, for a month. */
static void the_log_of_a_month_of_notes_is_bounded(void **state)
{
    struct bench *b = *state;
    struct err err = ERR_INIT;
    uint32_t taken[20] = { 0 }, all = 0;

    bench_init(b, SPEC_RESTART_NEVER, -1);
    role(b, "worker", COUNT_OF(taken));
    run_all(b);
    for (int i = 0; i < 51; i++)
        assert_int_equal(note(b, 0, "x", &err), i < 50 ? 0 : -EAGAIN);
    assert_string_equal(err.text, "the task writes too many notes; the next one may come in 60 s");
    assert_int_equal(note(b, 1, "x", NULL), 0); /* the others may */
    for (int i = 0; i < 30 * 24 * 60; i++) {
        for (uint32_t k = 0; k < COUNT_OF(taken); k++)
            taken[k] += note(b, k, "x", NULL) == 0;
        pass(b, 60000);
        buf_reset(&b->log);
    }
    for (uint32_t k = 0; k < COUNT_OF(taken); k++)
        all += taken[k];
    assert_in_range(all, 30 * 24 * 60 * 4, 30 * 24 * 60 * 4 + 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_note_names_its_task_and_the_next_master_reads_on),
        TEST(the_log_of_a_month_of_notes_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
