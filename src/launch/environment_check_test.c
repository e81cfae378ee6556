/* environment_check_test.c - see environment_check.h */
#include "base/path.h"
#include "launch/environment_check.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int make(void **state)
{
    char *dir = calloc(1, TEST_PATH);

    *state = dir;
    return dir && test_dir(dir, "env") ? 0 : -1;
}

static int unmake(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static void put(const char *dir, const char *name, mode_t mode)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path ? path_dir(path) : NULL;

    assert_true(path && above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, "", 0, mode, NULL), 0);
}

/* A job with one task, here or beside the client. */
static void job(struct spec *s, enum spec_place place)
{
    struct spec_role *role = NULL;

    spec_init(s);
    assert_int_equal(spec_add_role(s, "worker", &role), 0);
    role->place = place;
}

static void an_environment_has_to_be_one(void **state)
{
    static const struct {
        const char *name, *fault;
    } rows[] = { { "none", "there is no environment" },
                 { "file", "is not a directory" },
                 { "empty", "no executable bin/python" },
                 { "good", NULL } };

    put(*state, "file", 0600);
    put(*state, "empty/x", 0600);
    put(*state, "good/bin/python", 0700);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SPEC_FAULTS f = { 0 }, none = { 0 };
        AUTO_SPEC s = { 0 };

        job(&s, SPEC_PLACE_CLUSTER);
        s.venv = path_join(*state, rows[i].name);
        assert_non_null(s.venv);
        assert_int_equal(check_env(&s, false, &f), rows[i].fault ? -EINVAL : 0);
        assert_int_equal(f.lines.n, rows[i].fault ? 1 : 0);
        if (rows[i].fault)
            assert_non_null(strstr(f.lines.v[0], rows[i].fault));
        assert_int_equal(check_env(&s, true, &none), 0); /* who sends it looks at it */
    }
}

static void packages_and_an_environment_are_one_too_many(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };

    (void)state;
    job(&s, SPEC_PLACE_CLUSTER);
    assert_int_equal(strs_add(&s.pip, "six"), 0);
    assert_int_equal(check_env(&s, true, &f), 0);
    s.venv = strdup("/env");
    assert_non_null(s.venv);
    assert_int_equal(check_env(&s, true, &f), -EINVAL);
    assert_non_null(strstr(f.lines.v[0], "either venv or pip"));
}

static void hadoop_is_looked_for_where_tasks_run_here(void **state)
{
    static const struct {
        enum spec_hadoop how;
        enum spec_place place;
        bool on_yarn;
        int result;
    } rows[] = { { SPEC_HADOOP_YES, SPEC_PLACE_CLUSTER, false, -EINVAL },
                 { SPEC_HADOOP_YES, SPEC_PLACE_CLIENT, true, -EINVAL },
                 { SPEC_HADOOP_YES, SPEC_PLACE_CLUSTER, true, 0 },
                 { SPEC_HADOOP_AUTO, SPEC_PLACE_CLUSTER, false, 0 },
                 { SPEC_HADOOP_NO, SPEC_PLACE_CLUSTER, false, 0 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SPEC_FAULTS f = { 0 };
        AUTO_SPEC s = { 0 };

        job(&s, rows[i].place);
        s.hadoop = rows[i].how;
        assert_int_equal(check_env(&s, rows[i].on_yarn, &f), rows[i].result);
        assert_int_equal(f.lines.n, rows[i].result ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_environment_has_to_be_one, make, unmake),
        cmocka_unit_test(packages_and_an_environment_are_one_too_many),
        cmocka_unit_test(hadoop_is_looked_for_where_tasks_run_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
