/* backend_find_test.c - see backend_find.h: with files that only look like libraries. */
#include "base/path.h"
#include "native/backend_find.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "libxgboost.so"
#define PACKAGE "lib/python3.11/site-packages/xgboost/lib/" FILE_NAME

static void put(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path ? path_dir(path) : NULL;

    assert_non_null(above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, "x", 1, 0700, NULL), 0);
}

/* ENV/ has it, old/ and new/ are environments that were made, root/ is a system. */
static int make_tree(void **state)
{
    char name[TEST_PATH];
    char *dir = test_dir(name, "backend") ? strdup(name) : NULL;

    if (!dir)
        return -1;
    put(dir, "env/bin/python");
    put(dir, "env/" PACKAGE);
    put(dir, "bare/bin/python3");
    put(dir, "new/" PACKAGE);
    put(dir, "root/usr/lib/" FILE_NAME ".0");
    put(dir, "conf/opt/x/" FILE_NAME ".0.1");
    put(dir, "conf/opt/x/" FILE_NAME ".0.2");
    put(dir, "conf/etc/ld.so.conf.d/x");
    put(dir, "nothing/x");
    *state = dir;
    return 0;
}

static int remove_tree(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static char *in(void **state, const char *rest)
{
    char *path = path_join(*state, rest);

    assert_non_null(path);
    return path;
}

static void assert_found(void **state, const struct backend_places *p, const char *wanted)
{
    AUTO_FREE char *path = in(state, wanted);
    AUTO_FREE char *got = NULL;
    struct err err = ERR_INIT;

    if (backend_find(&find_xgboost, p, &got, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(got, path);
}

static void a_named_place_counts_and_no_other(void **state)
{
    AUTO_FREE char *env = in(state, "env");
    AUTO_FREE char *bare = in(state, "bare");
    struct backend_places p = { .named = env, .manifest = bare };
    struct err err = ERR_INIT;
    char *got = NULL;

    assert_found(state, &p, "env/" PACKAGE);
    p.named = bare;
    p.manifest = env;
    assert_int_equal(backend_find(&find_xgboost, &p, &got, &err), -ENOENT);
    assert_non_null(strstr(err.text, "there is no libxgboost.so in"));
    assert_non_null(strstr(err.text, "which --backend names"));
}

static void a_manifest_names_only_what_nobody_else_can_exchange(void **state)
{
    AUTO_FREE char *env = in(state, "env");
    AUTO_FREE char *file = in(state, "env/" PACKAGE);
    AUTO_FREE char *dir = path_dir(file);
    const struct backend_places p = { .manifest = env }, relative = { .manifest = "env" };
    struct err err = ERR_INIT;
    char *got = NULL;

    assert_found(state, &p, "env/" PACKAGE);
    assert_int_equal(chmod(file, 0702), 0);
    assert_int_equal(backend_find(&find_xgboost, &p, &got, &err), -EPERM);
    assert_non_null(strstr(err.text, "the model's manifest names"));
    assert_non_null(strstr(err.hint, "name it yourself with --backend"));
    err_clear(&err);
    assert_int_equal(chmod(file, 0700), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(backend_find(&find_xgboost, &p, &got, &err), -EPERM);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(backend_find(&find_xgboost, &relative, &got, NULL), -ENOENT);
}

static void then_pythons_then_what_was_made_then_the_system(void **state)
{
    AUTO_FREE char *env = in(state, "env");
    AUTO_FREE char *bare = in(state, "bare");
    AUTO_FREE char *new = in(state, "new");
    AUTO_FREE char *root = in(state, "root");
    AUTO_FREE char *bin = in(state, "bare/bin");
    AUTO_STRS made = { 0 };
    struct backend_places p = { .python = env, .made = &made, .system = root };

    assert_int_equal(setenv("PATH", bin, 1), 0);
    assert_int_equal(strs_add(&made, bare), 0);
    assert_int_equal(strs_add(&made, new), 0);
    assert_found(state, &p, "env/" PACKAGE);
    p.python = bare; /* for handlers alone */
    assert_found(state, &p, "new/" PACKAGE);
    p.made = NULL;
    assert_found(state, &p, "root/usr/lib/" FILE_NAME ".0");
}

static void what_is_no_file_is_passed_over(void **state)
{
    AUTO_FREE char *root = in(state, "conf");
    AUTO_FREE char *said = in(state, "conf/opt/x");
    AUTO_FREE char *broken = in(state, "conf/opt/x/" FILE_NAME ".0.3");
    AUTO_FREE char *directory = in(state, "conf/opt/x/" FILE_NAME ".d");
    AUTO_FREE char *bin = in(state, "bare/bin");
    const struct backend_places p = { .system = root };

    assert_int_equal(setenv("PATH", bin, 1), 0);
    assert_int_equal(setenv("LD_LIBRARY_PATH", said, 1), 0);
    assert_int_equal(symlink("removed.so", broken), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_found(state, &p, "conf/opt/x/" FILE_NAME ".0.2");
    assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
}

static void the_loaders_directories_are_read(void **state)
{
    AUTO_FREE char *root = in(state, "conf");
    AUTO_FREE char *conf = in(state, "conf/etc/ld.so.conf.d/x.conf");
    AUTO_FREE char *said = in(state, "conf/opt/x");
    AUTO_FREE char *bin = in(state, "bare/bin");
    const struct backend_places p = { .system = root };
    struct err err = ERR_INIT;
    char *got = NULL;

    assert_int_equal(setenv("PATH", bin, 1), 0);
    assert_int_equal(backend_find(&find_xgboost, &p, &got, &err), -ENOENT);
    assert_non_null(
        strstr(err.text, "XGBoost (libxgboost.so) was not found: looked in the Python"));
    assert_non_null(strstr(err.text, "bare/bin/python3"));
    assert_non_null(strstr(err.hint, "pip install xgboost"));
    assert_non_null(strstr(err.hint, "--backend or $XGBOOST_LIBRARY_PATH"));
    assert_int_equal(setenv("LD_LIBRARY_PATH", said, 1), 0);
    assert_found(state, &p, "conf/opt/x/" FILE_NAME ".0.2");
    assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
    assert_int_equal(path_write_new(conf, "# x\n/opt/x\n", 10, 0600, NULL), 0);
    assert_found(state, &p, "conf/opt/x/" FILE_NAME ".0.2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_named_place_counts_and_no_other, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_manifest_names_only_what_nobody_else_can_exchange,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(then_pythons_then_what_was_made_then_the_system, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_passed_over, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(the_loaders_directories_are_read, make_tree, remove_tree),
    };

    (void)unsetenv("XGBOOST_LIBRARY_PATH");
    (void)unsetenv("LD_LIBRARY_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
