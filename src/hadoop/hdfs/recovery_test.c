/* recovery_test.c - what is done about a broken pipeline, case by case. */
#include "base/auto.h"
#include "hadoop/hdfs/recovery.h"
#include "test.h"

static void a_node_is_added_where_the_policy_wants_one(void **state)
{
    static const struct {
        enum replace_when when;
        uint32_t wanted;
        size_t left;
        bool flushed, want;
    } rows[] = {
        { REPLACE_DEFAULT, 1, 0, false, false }, /* nobody is left to copy from */
        { REPLACE_DEFAULT, 2, 1, false, false }, /* two replicas: go on with one */
        { REPLACE_DEFAULT, 2, 1, true, false },
        { REPLACE_DEFAULT, 3, 2, false, false }, /* most are still there */
        { REPLACE_DEFAULT, 3, 1, false, true },  /* half are lost */
        { REPLACE_DEFAULT, 3, 2, true, true },   /* a reader may have seen it */
        { REPLACE_DEFAULT, 3, 3, true, false },  /* nothing is missing */
        { REPLACE_DEFAULT, 10, 5, false, true },
        { REPLACE_DEFAULT, 10, 6, false, false },
        { REPLACE_ALWAYS, 2, 1, false, true },
        { REPLACE_ALWAYS, 2, 2, false, false },
        { REPLACE_NEVER, 3, 1, true, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct replace_policy p = { .when = rows[i].when };

        assert_int_equal(recovery_replace(&p, rows[i].wanted, rows[i].left, rows[i].flushed),
                         rows[i].want);
    }
}

static void a_write_goes_on_with_fewer_unless_told_not_to(void **state)
{
    static const struct {
        struct replace_policy p;
        size_t left;
        bool want;
    } rows[] = {
        { { REPLACE_DEFAULT, false, 0 }, 1, true }, { { REPLACE_DEFAULT, false, 0 }, 0, false },
        { { REPLACE_ALWAYS, false, 0 }, 2, false }, { { REPLACE_ALWAYS, true, 0 }, 1, true },
        { { REPLACE_ALWAYS, false, 2 }, 2, true },  { { REPLACE_ALWAYS, false, 2 }, 1, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(recovery_go_on(&rows[i].p, rows[i].left), rows[i].want);
}

static void every_breakage_has_its_remedy(void **state)
{
    static const struct {
        struct breakage b;
        enum remedy want;
    } rows[] = {
        /* stage, fault, nodes, unacked, local, waited long */
        { { STAGE_SETUP, FAULT_FIRST, 1, false, false, false }, REMEDY_ABANDON },
        { { STAGE_SETUP, FAULT_NODE, 3, false, false, false }, REMEDY_ABANDON },
        { { STAGE_STREAM, FAULT_FIRST, 2, false, false, false }, REMEDY_REBUILD },
        { { STAGE_STREAM, FAULT_NODE, 3, true, true, false }, REMEDY_REBUILD },
        { { STAGE_STREAM, FAULT_FIRST, 1, false, false, false }, REMEDY_FAIL },
        { { STAGE_STREAM, FAULT_FIRST, 1, true, false, false }, REMEDY_ABANDON },
        { { STAGE_CLOSE, FAULT_FIRST, 2, false, false, false }, REMEDY_REBUILD },
        { { STAGE_CLOSE, FAULT_FIRST, 1, false, false, false }, REMEDY_FAIL },
        { { STAGE_STREAM, FAULT_RESTART, 1, false, false, false }, REMEDY_WAIT },
        { { STAGE_STREAM, FAULT_RESTART, 2, false, true, false }, REMEDY_WAIT },
        { { STAGE_STREAM, FAULT_RESTART, 2, false, false, false }, REMEDY_REBUILD },
        { { STAGE_STREAM, FAULT_RESTART, 2, false, true, true }, REMEDY_REBUILD },
        { { STAGE_STREAM, FAULT_RESTART, 1, false, false, true }, REMEDY_FAIL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(recovery_choose(&rows[i].b), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_added_where_the_policy_wants_one),
        cmocka_unit_test(a_write_goes_on_with_fewer_unless_told_not_to),
        cmocka_unit_test(every_breakage_has_its_remedy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
