/* agent_log_test.c - claims about the agents of a log; see agent_log.h */
#include "job/agent_log.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void add(struct agent_log *l, int number, const char *state, const char *container)
{
    AUTO_JSON *v = json_pack("{s:i, s:s, s:s, s:s, s:s}", "agent", number, "state", state, "node",
                             "n", "host", "10.0.0.1", "container", container);

    assert_non_null(v);
    assert_int_equal(agent_log_add(l, v), 0);
}

static void an_agent_is_where_its_last_record_says(void **state)
{
    struct agent_log l = { 0 };
    AUTO_JSON *bad = json_pack("{s:I, s:s}", "agent", (json_int_t)1 << 40, "state", "up");
    const struct logged_agent *a;

    (void)state;
    add(&l, 9, "up", "c9");
    add(&l, 3, "up", "c3");
    add(&l, 5, "up", "c5");
    add(&l, 3, "saved", "");
    add(&l, 5, "lost", "c5");
    add(&l, 9, "up", "c9b");
    assert_int_equal(agent_log_add(&l, bad), 0);
    assert_int_equal(l.n, 3);
    a = agent_log_find(&l, 3);
    assert_true(a && a->saved && !a->lost);
    assert_string_equal(a->container, "c3");
    assert_string_equal(a->node, "n");
    assert_true(agent_log_find(&l, 5)->lost);
    assert_string_equal(agent_log_find(&l, 9)->container, "c9b");
    assert_null(agent_log_find(&l, 4));
    assert_null(agent_log_find(&l, -1));
    agent_log_done(&l);
}

/* Each of four slots loses its agent 25,000 times; sometimes it only lets it go. */
static void what_nothing_speaks_of_is_forgotten(void **state)
{
    struct agent_log l = { 0 };
    int slots[4] = { 0 };
    uint32_t most = 0;
    char name[16];

    (void)state;
    for (int i = 1; i <= 100000; i++) {
        int *slot = &slots[i % 4];

        if (*slot && i % 3)
            add(&l, *slot, "lost", "");
        if (agent_log_is_long(&l)) { /* before the slot is known to have it */
            for (int k = 0; k < 4; k++)
                if (agent_log_find(&l, slots[k]))
                    agent_log_find(&l, slots[k])->used = true;
            agent_log_forget(&l);
        }
        *slot = i;
        (void)snprintf(name, sizeof(name), "c%d", i);
        add(&l, i, "up", name);
        most = l.n > most ? l.n : most;
    }
    assert_in_range(most, 4, 256);
    for (int k = 0; k < 4; k++) {
        const struct logged_agent *a = agent_log_find(&l, slots[k]);

        (void)snprintf(name, sizeof(name), "c%d", slots[k]);
        assert_non_null(a);
        assert_string_equal(a->container, name);
    }
    agent_log_done(&l);
}

/* The engine knows of a slot's agent only once it has come to rest. */
static void what_was_not_lost_is_asked_about_twice(void **state)
{
    struct agent_log l = { 0 };

    (void)state;
    add(&l, 1, "up", "c1");
    agent_log_forget(&l);
    assert_non_null(agent_log_find(&l, 1));
    agent_log_find(&l, 1)->used = true;
    agent_log_forget(&l);
    agent_log_forget(&l);
    assert_non_null(agent_log_find(&l, 1));
    agent_log_forget(&l);
    assert_null(agent_log_find(&l, 1));
    agent_log_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_where_its_last_record_says),
        cmocka_unit_test(what_nothing_speaks_of_is_forgotten),
        cmocka_unit_test(what_was_not_lost_is_asked_about_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
