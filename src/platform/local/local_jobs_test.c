/* local_jobs_test.c - jobs as directories: made, found, told dead from alive, removed. */
#include "platform/local/local_jobs.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make_state(void **state)
{
    char name[TEST_PATH];

    *state = test_dir(name, "jobs") ? strdup(name) : NULL;
    return *state ? 0 : -1;
}

static int remove_state(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static void add_job(const char *state, const char *name, struct job_dir *d)
{
    struct err err = ERR_INIT;
    AUTO_JSON *facts = NULL;

    assert_int_equal(jobs_create(state, d, &err), 0);
    assert_int_equal(json_make(&facts, &err, "{s:s}", "name", name), 0);
    assert_int_equal(jobs_write_facts(d, facts, &err), 0);
}

static void a_new_job_is_private_and_alive(void **state)
{
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    struct stat st;

    add_job(*state, "a", &d);
    assert_int_equal(stat(d.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(d.run, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_true(jobs_alive(&d));
    assert_int_equal(jobs_remove(&d, NULL), 0);
}

static void a_dead_job_loses_its_run_directory_and_nothing_else(void **state)
{
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    AUTO_FREE char *run = NULL;
    struct stat st;

    add_job(*state, "a", &d);
    run = strdup(d.run);
    close(take_fd(d.lock));
    assert_false(jobs_alive(&d));
    assert_null(d.run);
    assert_int_equal(stat(run, &st), -1);
    assert_int_equal(stat(d.path, &st), 0);
    assert_int_equal(jobs_remove(&d, NULL), 0);
}

static void a_job_is_found_by_id_by_name_and_as_the_last(void **state)
{
    AUTO_JOB_DIR a = JOB_DIR_INIT;
    AUTO_JOB_DIR b = JOB_DIR_INIT;
    const char *asked[][2] = { { "mnist", NULL }, { NULL, NULL }, { "last", NULL } };

    add_job(*state, "mnist", &a);
    add_job(*state, "cifar", &b);
    asked[1][0] = a.id;
    asked[0][1] = asked[1][1] = a.id;
    asked[2][1] = strcmp(a.id, b.id) > 0 ? a.id : b.id; /* made in the same millisecond: either */
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        AUTO_JOB_DIR found = JOB_DIR_INIT;
        struct err err = ERR_INIT;

        assert_int_equal(jobs_find(*state, asked[i][0], &found, &err), 0);
        assert_string_equal(found.id, asked[i][1]);
    }
    assert_int_equal(jobs_remove(&a, NULL), 0);
    assert_int_equal(jobs_remove(&b, NULL), 0);
}

static void a_name_of_two_jobs_is_refused_with_their_ids(void **state)
{
    AUTO_JOB_DIR a = JOB_DIR_INIT;
    AUTO_JOB_DIR b = JOB_DIR_INIT;
    AUTO_JOB_DIR found = JOB_DIR_INIT;
    struct err err = ERR_INIT;

    add_job(*state, "twin", &a);
    add_job(*state, "twin", &b);
    assert_int_equal(jobs_find(*state, "twin", &found, &err), -EINVAL);
    assert_non_null(strstr(err.text, a.id));
    assert_non_null(strstr(err.text, b.id));
    assert_int_equal(jobs_find(*state, "nobody", &found, &err), -ENOENT);
    assert_int_equal(jobs_remove(&a, NULL), 0);
    assert_int_equal(jobs_remove(&b, NULL), 0);
}

/* The note in the job's directory says what to remove: it must not be able to name anything. */
static void a_forged_run_directory_is_left_alone(void **state)
{
    static const char *const forged[] = { "/tmp", "/tmp/", "relative/ydl-abcdef",
                                          "",     "/",     "/tmp/ydl-abcdefgh/../x" };

    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        AUTO_JOB_DIR d = JOB_DIR_INIT;
        AUTO_JOB_DIR again = JOB_DIR_INIT;
        AUTO_FREE char *note = NULL;
        AUTO_CLOSE int fd = -1;

        add_job(*state, "a", &d);
        note = path_join(d.path, "run");
        assert_non_null(note);
        fd = open(note, O_WRONLY | O_TRUNC);
        assert_int_equal(path_write_fd(fd, forged[i], strlen(forged[i])), 0);
        assert_int_equal(jobs_open(d.path, &again, NULL), 0);
        assert_null(again.run);
        assert_int_equal(jobs_remove(&d, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_job_is_private_and_alive, make_state, remove_state),
        cmocka_unit_test_setup_teardown(a_dead_job_loses_its_run_directory_and_nothing_else,
                                        make_state, remove_state),
        cmocka_unit_test_setup_teardown(a_job_is_found_by_id_by_name_and_as_the_last, make_state,
                                        remove_state),
        cmocka_unit_test_setup_teardown(a_name_of_two_jobs_is_refused_with_their_ids, make_state,
                                        remove_state),
        cmocka_unit_test_setup_teardown(a_forged_run_directory_is_left_alone, make_state,
                                        remove_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
