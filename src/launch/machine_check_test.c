/* machine_check_test.c - see machine_check.h */
#include "base/path.h"
#include "launch/machine_check.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

static void put(const char *dir, const char *name, mode_t mode)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct err err = ERR_INIT;

    assert_non_null(path);
    assert_int_equal(path_write(path, "", 0, mode, &err), 0);
}

static int make_dir(void **state)
{
    char name[TEST_PATH];
    AUTO_FREE char *dir = test_dir(name, "check") ? strdup(name) : NULL;
    AUTO_FREE char *sub = NULL;

    if (!dir)
        return -1;
    sub = path_join(dir, "sub");
    if (!sub || mkdir(sub, 0700) < 0)
        return -1;
    put(dir, "prog", 0755);
    put(dir, "python3", 0755);
    put(dir, "bash", 0755);
    put(dir, "train.py", 0644);
    *state = take(dir);
    return 0;
}

static int remove_dir(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

/* The faults for a job of one role with this command, one on each line. */
static void check(const char *dir, const char *command, const struct spec_role *ask,
                  const char *expected)
{
    struct check_machine m = { .cwd = dir, .path = dir, .memory = 4 * 1024 * MIB, .gpus = 1 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF all = { .max = 64 * KIB };
    struct spec_faults f = { 0 };
    struct spec_role *role = NULL;
    int r;

    spec_init(&s);
    assert_int_equal(spec_words(command, &s.command, NULL), 0);
    assert_int_equal(spec_add_role(&s, "worker", &role), 0);
    role->count = ask ? ask->count : 1;
    role->memory = ask ? ask->memory : 0;
    role->gpus = ask ? ask->gpus : 0;
    r = check_local(&s, &m, &f);
    for (size_t i = 0; i < f.lines.n; i++)
        assert_int_equal(buf_printf(&all, "%s%s", i ? "\n" : "", f.lines.v[i]), 0);
    assert_int_equal(r, f.lines.n ? -EINVAL : 0);
    assert_non_null(buf_text(&all));
    assert_string_equal(buf_text(&all), expected);
    spec_faults_done(&f);
}

static void programs_and_scripts_must_be_there(void **state)
{
    static const struct {
        const char *command, *fault;
    } rows[] = {
        { "prog a b", "" },
        { "./prog", "" },
        { "python3 train.py --x", "" },
        { "python3 -u train.py", "" },
        { "python3 -m train", "" },
        { "python3 -c 'print(1)'", "" },
        { "bash -ex train.py", "" },
        { "bash -c 'nothing here'", "" },
        { "python3 {rank}.py", "" },
        { "{role} x", "" },
        { "nothing", "command: there is no program 'nothing' in PATH" },
        { "./nothing", "command: there is no program './nothing'" },
        { "./train.py", "command: './train.py' is not executable" },
        { "train.py", "command: 'train.py' is not executable" },
        { "./sub", "command: './sub' is a directory" },
        { "sub", "command: there is no program 'sub' in PATH" },
        { "python3 tarin.py", "command: there is no script 'tarin.py'" },
        { "python3 -u sub/x.py", "command: there is no script 'sub/x.py'" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(*state, rows[i].command, NULL, rows[i].fault);
}

static void the_machine_must_be_large_enough(void **state)
{
    static const struct {
        struct spec_role ask;
        const char *fault;
    } rows[] = {
        { { .count = 2, .memory = 2048 * MIB }, "" },
        { { .count = 1, .memory = 8192 * MIB },
          "roles.worker.memory: 8.0 GB, more than this machine has (4.0 GB)" },
        { { .count = 3, .memory = 2048 * MIB },
          "roles: 6.0 GB of memory for all tasks together, more than this machine has (4.0 GB)" },
        { { .count = 1, .gpus = 1 }, "" },
        { { .count = 1, .gpus = 2 }, "roles.worker.gpus: 2 GPUs, more than this machine has (1)" },
        { { .count = 2, .gpus = 1 },
          "roles: 2 GPUs for all tasks together, more than this machine has (1)" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(*state, "prog", &rows[i].ask, rows[i].fault);
}

static void what_a_job_brings_along_counts_as_there(void **state)
{
    struct check_machine m = { .cwd = *state, .path = *state };
    AUTO_SPEC s = { 0 };
    struct spec_faults f = { 0 };
    struct spec_role *role = NULL;

    spec_init(&s);
    assert_int_equal(spec_words("python3 pkg/run.py", &s.command, NULL), 0);
    assert_int_equal(spec_flag(&s, "files", "/usr#pkg", &f), 0);
    assert_int_equal(spec_add_role(&s, "worker", &role), 0);
    assert_int_equal(check_local(&s, &m, &f), 0);
    assert_int_equal(f.lines.n, 0);
    spec_faults_done(&f);
}

static void files_and_targets_elsewhere_are_known_by_their_scheme(void **state)
{
    static const struct {
        const char *key, *value, *fault;
    } rows[] = {
        { "files", "hdfs:///a/b", "" },
        { "archives", "viewfs://c/a.tar", "" },
        { "files", "file:///usr", "" },
        { "files", "nothing", "files: there is no file 'nothing'" },
        { "files", "s3://b/x",
          "files: 's3://b/x': files can be local, or on hdfs:// or viewfs://" },
        { "output", "hdfs://ns/a", "" },
        { "output", "out=made/below", "" },
        { "output", "s3://b/x",
          "output: 's3://b/x': results can go to a local directory, hdfs:// or viewfs://" },
        { "output", "file://host/x",
          "output: 'file://host/x': results can go to a local directory, hdfs:// or viewfs://" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct check_machine m = { .cwd = *state, .path = *state };
        AUTO_SPEC s = { 0 };
        AUTO_SPEC_FAULTS f = { 0 };

        spec_init(&s);
        assert_int_equal(spec_flag(&s, rows[i].key, rows[i].value, &f), 0);
        assert_int_equal(check_local(&s, &m, &f), *rows[i].fault ? -EINVAL : 0);
        assert_string_equal(f.lines.n ? f.lines.v[0] : "", rows[i].fault);
    }
}

static void a_target_needs_a_directory(void **state)
{
    struct check_machine m = { .cwd = *state, .path = *state };
    AUTO_SPEC s = { 0 };
    AUTO_SPEC_FAULTS f = { 0 };

    spec_init(&s);
    assert_int_equal(spec_flag(&s, "output", "prog/below/it", &f), 0);
    assert_int_equal(check_local(&s, &m, &f), -EINVAL);
    assert_non_null(strstr(f.lines.v[0], "results cannot go to 'prog/below/it'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_and_scripts_must_be_there, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_machine_must_be_large_enough, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(files_and_targets_elsewhere_are_known_by_their_scheme,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_target_needs_a_directory, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_job_brings_along_counts_as_there, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
