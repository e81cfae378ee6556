/* missing_output_test.c - what the master keeps of output that nobody has saved, when it is much;
 * see missing_output.c. */
#include "master/yarn/missing_output.h"
#include "test.h"

#include <malloc.h>
#include <stdio.h>

#define RECORDS 65536u /* as many as are kept */
#define NODES 1000u
#define MOST (4 * MIB)

static size_t memory_used(void)
{
    return mallinfo2().uordblks;
}

/* Each of so many agents has had a task, and says why what that wrote is not saved. */
static void owe_output(struct master *m, uint32_t n, uint32_t reasons)
{
    for (uint32_t i = 0; i < n; i++) {
        struct agent_conn a = { .master = m, .number = i + 1 };
        char why[160];

        (void)snprintf(a.node, sizeof(a.node), "a-node-of-the-cluster-%u.example.com:8041",
                       i % NODES);
        (void)snprintf(why, sizeof(why),
                       "container_e01_1700000000000_0001_01_%06u was lost when its node had been "
                       "silent for too long",
                       i % reasons);
        outputs_started(m, &a, 0, 0);
        outputs_unsaved(m, a.number, why);
    }
}

static void owe_much(uint32_t reasons)
{
    struct master_container container = { 0 };
    struct master_yarn side = MASTER_YARN_INIT(&container);
    struct master m = { .side = &side };
    uint32_t n = ydl_torture_spare_thread ? 10 : RECORDS;
    size_t before = memory_used();

    owe_output(&m, n, reasons);
    assert_in_range(memory_used() - before, 0, MOST);
    for (uint32_t i = 1; i <= n; i++) { /* whatever became of its reason, it failed */
        outputs_left(&m, i);
        assert_true(outputs_owed(&m, i));
    }
    for (uint32_t i = 1; i <= n; i++)
        outputs_saved(&m, i);
    assert_false(outputs_owed(&m, 1));
    assert_in_range(memory_used() - before, 0, 64 * KIB);
    outputs_done(&m);
}

static void much_output_that_is_missing_needs_little_memory(void **state)
{
    (void)state;
    owe_much(100);
    owe_much(RECORDS); /* no two have the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_output_that_is_missing_needs_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
