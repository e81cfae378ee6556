/* policy_test.c - which failure leads to what, how it is told, and what may be used up. */
#include "job/engine/budget.h"
#include "job/engine/outcome.h"
#include "job/engine/policy.h"
#include "test.h"

#include <string.h>

static void without_a_policy_everything_fails_the_job(void **state)
{
    (void)state;
    for (int c = FAIL_EXIT; c < FAIL_CLASSES_; c++)
        assert_int_equal(policy_verdict(SPEC_RESTART_NEVER, (enum fail_class)c, 1).action,
                         POLICY_FAIL);
}

static void each_class_has_its_row(void **state)
{
    static const struct {
        enum fail_class cls;
        int code;
        enum policy_action task, gang;
        bool counted;
    } rows[] = {
        { FAIL_EXIT, 1, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_EXIT, 125, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_EXIT, 126, POLICY_FAIL, POLICY_FAIL, false },
        { FAIL_EXIT, 127, POLICY_FAIL, POLICY_FAIL, false },
        { FAIL_EXIT, 137, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_SIGNAL, 139, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_MEMORY, 137, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_START, 0, POLICY_FAIL, POLICY_FAIL, false },
        { FAIL_FILES, 0, POLICY_AGAIN, POLICY_AGAIN, true },
        { FAIL_PORT, 0, POLICY_PORTS, POLICY_PORTS, true },
        { FAIL_DISK, 0, POLICY_MOVE, POLICY_MOVE, true },
        { FAIL_NOT_READY, 0, POLICY_AGAIN, POLICY_GANG, true },
        { FAIL_LOG_LIMIT, 0, POLICY_FAIL, POLICY_FAIL, false },
        { FAIL_IMAGE, 0, POLICY_FAIL, POLICY_FAIL, false },
        { FAIL_NODE, 0, POLICY_MOVE, POLICY_MOVE, false },
        { FAIL_PREEMPTED, 0, POLICY_MOVE, POLICY_MOVE, false },
        { FAIL_PERSON, 0, POLICY_AGAIN, POLICY_GANG, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct policy_verdict t, g;

        t = policy_verdict(SPEC_RESTART_TASK, rows[i].cls, rows[i].code);
        g = policy_verdict(SPEC_RESTART_GANG, rows[i].cls, rows[i].code);
        assert_int_equal(t.action, rows[i].task);
        assert_int_equal(g.action, rows[i].gang);
        assert_int_equal(t.counted, rows[i].counted);
        assert_int_equal(g.counted, rows[i].counted);
    }
}

#define D SPEC_RESTART_DEFAULT
#define N SPEC_RESTART_NEVER
#define T SPEC_RESTART_TASK
#define G SPEC_RESTART_GANG

static void the_role_has_the_last_word(void **state)
{
    static const struct {
        struct spec_restart job, role;
        int side;
        enum spec_policy suits;
        struct policy_restart want;
    } rows[] = {
        { { D, -1, 0 }, { D, -1, 0 }, 0, G, { N, 3, 3600000 } }, /* nobody said a word */
        { { D, 5, 0 }, { D, -1, 0 }, 0, G, { G, 5, 3600000 } },  /* a number: as suits it */
        { { D, 5, 0 }, { D, -1, 0 }, 0, D, { T, 5, 3600000 } },
        { { D, 0, 0 }, { D, -1, 0 }, 0, G, { N, 0, 3600000 } },
        { { T, -1, 9 }, { D, -1, 0 }, 0, G, { T, 3, 9 } },
        { { T, 2, 9 }, { G, 7, 8 }, 0, N, { G, 7, 8 } },
        { { G, 2, 9 }, { D, 7, 0 }, -1, T, { G, 7, 9 } },
        { { G, 2, 9 }, { N, -1, 0 }, 0, T, { N, 2, 9 } },
        { { G, 2, 9 }, { D, -1, 0 }, 1, G, { N, 3, 3600000 } }, /* the job's word is not for it */
        { { G, 2, 9 }, { G, 4, 5 }, 1, G, { T, 4, 5 } },
        { { N, -1, 0 }, { D, 4, 0 }, 1, G, { T, 4, 3600000 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct spec s = { .restart = rows[i].job };
        struct spec_role r = { .restart = rows[i].role, .side = rows[i].side };
        struct policy_restart p = policy_of_role(&s, &r, rows[i].suits);

        assert_int_equal(p.policy, rows[i].want.policy);
        assert_int_equal(p.max, rows[i].want.max);
        assert_int_equal(p.window, rows[i].want.window);
    }
}

static void only_named_codes_of_a_tasks_own_are_covered(void **state)
{
    char *words[] = { (char *)"7", (char *)"139" };
    struct strs some = { .v = words, .n = 2 }, none = { 0 };
    static const struct {
        enum fail_class cls;
        int code;
        bool covered;
    } rows[] = {
        { FAIL_EXIT, 7, true },      { FAIL_EXIT, 1, false }, { FAIL_SIGNAL, 139, true },
        { FAIL_SIGNAL, 137, false }, { FAIL_NODE, 0, true },  { FAIL_PREEMPTED, 143, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct policy_restart p = { .policy = SPEC_RESTART_TASK, .codes = &some };

        assert_int_equal(policy_covers(&p, rows[i].cls, rows[i].code), rows[i].covered);
        p.codes = &none;
        assert_true(policy_covers(&p, rows[i].cls, rows[i].code));
    }
}

static void a_budget_is_for_any_window_of_time(void **state)
{
    struct budget b = { 0 };

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(budget_use(&b, 10, 1000, 100 * i), 1);
    assert_int_equal(budget_use(&b, 10, 1000, 999), 0);
    assert_int_equal(budget_use(&b, 10, 1000, 1000), 1); /* the first is forgotten */
    assert_int_equal(budget_use(&b, 10, 1000, 1001), 0);
    assert_int_equal(budget_use(&b, 10, 1000, 99999), 1);
    assert_int_equal(b.n, 1);
    budget_done(&b);
    assert_int_equal(budget_use(&b, 0, 1000, 1), 0);
    budget_done(&b);
}

static void waits_grow_and_start_afresh(void **state)
{
    static const int64_t want[] = { 0, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000 };
    uint8_t young = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(budget_delay(&young, BUDGET_SETTLED_MS - 1), want[i]);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(budget_delay(&young, 0), BUDGET_DELAY_MAX_MS);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(budget_delay(&young, i % 2 ? BUDGET_SETTLED_MS : 9999), 1000);
    assert_int_equal(budget_delay(&young, 0), BUDGET_DELAY_MAX_MS); /* it does not start any more */
    assert_int_equal(budget_delay(&young, 10000), 0);
    assert_int_equal(budget_delay(&young, 5), 1000);
}

static void jitter_stays_in_its_half_and_differs(void **state)
{
    uint32_t seed = 0, other = 1;
    int same = 0;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        int64_t whole = i % 10 >= 6 ? 60000 : INT64_C(1000) << (i % 10);
        int64_t a = budget_backoff(i % 10, 1000, 60000, &seed);

        assert_in_range(a, whole / 2, whole);
        same += a == budget_backoff(i % 10, 1000, 60000, &other);
    }
    assert_true(same < 50);
    assert_in_range(budget_backoff(UINT32_MAX, 1000, 60000, &seed), 30000, 60000);
}

static void failures_come_with_a_sentence_and_a_hint(void **state)
{
    static const struct {
        struct failure f;
        const char *text, *hint;
    } rows[] = {
        { { .cls = FAIL_EXIT, .code = 3 }, "w:1 ended with exit code 3", NULL },
        { { .cls = FAIL_EXIT, .code = 127 }, "w:1 ended with exit code 127", "was not found" },
        { { .cls = FAIL_EXIT, .code = 126 }, "w:1 ended with exit code 126", "chmod" },
        { { .cls = FAIL_EXIT, .code = 137 }, "w:1 ended with exit code 137", "--mem" },
        { { .cls = FAIL_SIGNAL, .signal = 9 }, "w:1 was ended by signal 9 (SIGKILL)", "--mem" },
        { { .cls = FAIL_SIGNAL, .signal = 11 }, "w:1 was ended by signal 11 (SIGSEGV)", "crash" },
        { { .cls = FAIL_SIGNAL, .signal = 63 }, "w:1 was ended by signal 63 (a signal)", NULL },
        { { .cls = FAIL_MEMORY }, "w:1: out of memory", "--mem" },
        { { .cls = FAIL_START, .code = 126 }, "w:1: could not be started", "chmod" },
        { { .cls = FAIL_START, .code = 78 },
          "w:1: could not be started",
          "does not have what the job requires" },
        { { .cls = FAIL_START, .code = 127, .text = (char *)"no x" }, "no x", "was not found" },
        { { .cls = FAIL_NOT_READY }, "w:1: not ready in time", "timeout" },
        { { .cls = FAIL_PORT }, "w:1: port could not be reserved", "port" },
        { { .cls = FAIL_NODE }, "w:1: node lost", "--restart" },
    };
    struct failure f = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct failure *in = &rows[i].f;
        const char *hint = failure_hint(in->cls, in->code, in->signal);

        assert_int_equal(failure_set(&f, in, "w:1"), 0);
        assert_string_equal(f.text, rows[i].text);
        assert_null(f.lines);
        assert_int_equal(hint != NULL, rows[i].hint != NULL);
        if (hint)
            assert_non_null(strstr(hint, rows[i].hint));
    }
    failure_done(&f);
}

static void long_output_keeps_its_end(void **state)
{
    AUTO_FREE char *lines = calloc(1, FAILURE_LINES_MAX + 100);
    struct failure f = { 0 }, in = { .cls = FAIL_EXIT, .code = 1, .lines = lines };

    (void)state;
    assert_non_null(lines);
    memset(lines, 'x', FAILURE_LINES_MAX + 98);
    lines[FAILURE_LINES_MAX + 98] = '!';
    assert_int_equal(failure_set(&f, &in, "w:1"), 0);
    assert_int_equal(strlen(f.lines), FAILURE_LINES_MAX);
    assert_int_equal(f.lines[FAILURE_LINES_MAX - 1], '!');
    failure_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_policy_everything_fails_the_job),
        cmocka_unit_test(each_class_has_its_row),
        cmocka_unit_test(the_role_has_the_last_word),
        cmocka_unit_test(only_named_codes_of_a_tasks_own_are_covered),
        cmocka_unit_test(a_budget_is_for_any_window_of_time),
        cmocka_unit_test(waits_grow_and_start_afresh),
        cmocka_unit_test(jitter_stays_in_its_half_and_differs),
        cmocka_unit_test(failures_come_with_a_sentence_and_a_hint),
        cmocka_unit_test(long_output_keeps_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
