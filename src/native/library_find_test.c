/* library_find_test.c - see library_find.h and python.h: with files that only look like libraries
 * and Pythons. */
#include "base/path.h"
#include "base/str.h"
#include "native/library_find.h"
#include "native/python.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path ? path_dir(path) : NULL;

    assert_non_null(above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    (void)unlink(path);
    assert_int_equal(path_write_new(path, text, strlen(text), mode, NULL), 0);
}

#define SITE "lib/python3.11/site-packages/mxnet/libmxnet.so"

/* ENV/ a virtual environment; bare/ one without the package; shims/ Pythons that must be asked. */
static int make_tree(void **state)
{
    char name[TEST_PATH];
    AUTO_FREE char *dir = test_dir(name, "find") ? strdup(name) : NULL;
    AUTO_FREE char *shim = dir ? str_printf("#!/bin/sh\necho %s/asked/mxnet\n", dir) : NULL;

    if (!shim)
        return -1;
    put(dir, "env/bin/python", "", 0700);
    put(dir, "env/" SITE, "", 0600);
    put(dir, "bare/bin/python3", "#!/bin/sh\nexit 1\n", 0700);
    put(dir, "bare/lib/python3.11/site-packages/x", "", 0600);
    put(dir, "shims/python3", shim, 0700);
    put(dir, "asked/mxnet/libmxnet.so", "", 0600);
    put(dir, "cwd/archive/" SITE, "", 0600);
    put(dir, "cwd/run.py", "#!/usr/bin/env -S python3 -u\n", 0700);
    put(dir, "cwd/tool", "#!/bin/bash\n", 0700);
    put(dir, "plain/libmxnet.so", "", 0600);
    put(dir, "self/lib/libmxnet.so", "", 0600);
    put(dir, "env/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.9.0", "", 0600);
    put(dir, "env/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1", "",
        0600);
    put(dir, "env/lib/python3.11/site-packages/xgboost/lib/libxgboost.so", "", 0600);
    put(dir, "env/lib/python3.11/site-packages/lightgbm/lib/lib_lightgbm.so", "", 0600);
    put(dir, "ort/libonnxruntime.so", "", 0600);
    put(dir, "ort/libonnxruntime.so.1.31.1", "", 0600);
    put(dir, "self/bin/ydl-native", "", 0700);
    *state = take(dir);
    return 0;
}

static int remove_tree(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

/* Names are below the test's directory; `found` too, "" is the loader's, NULL not there. */
struct row {
    const char *lib, *variable, *command, *path, *cwd, *self;
    bool only_command;
    const char *found;
};

static char *below(const char *dir, const char *name)
{
    char *path = name ? path_join(dir, name) : NULL;

    assert_true(path || !name);
    return path;
}

static void check(const char *dir, const struct row *row)
{
    AUTO_FREE char *lib = below(dir, row->lib), *variable = below(dir, row->variable);
    AUTO_FREE char *word = row->command && strchr(row->command, '/') ? below(dir, row->command)
                           : row->command                            ? strdup(row->command)
                                                                     : NULL;
    AUTO_FREE char *path = below(dir, row->path), *cwd = below(dir, row->cwd);
    AUTO_FREE char *self = below(dir, row->self), *found = NULL;
    AUTO_FREE char *wanted = row->found && *row->found ? below(dir, row->found) : NULL;
    char *command[] = { word, NULL };
    const struct find_places p = { lib, variable, word ? command : NULL, path,
                                   cwd, self,     row->only_command };
    struct err err = ERR_INIT;
    int r = find_library(&find_mxnet, &p, &found, &err);

    assert_int_equal(r, row->found ? 0 : -ENOENT);
    if (row->found)
        assert_string_equal(found, *row->found ? wanted : "libmxnet.so");
    else
        assert_true(*err.text);
}

static void a_library_is_found_in_the_first_place_that_has_it(void **state)
{
    /* clang-format off */
    static const struct row rows[] = {
        { .lib = "plain/libmxnet.so", .variable = "env", .found = "plain/libmxnet.so" },
        { .lib = "plain", .found = "plain/libmxnet.so" },
        { .lib = "env", .found = "env/" SITE },
        { .lib = "asked/mxnet", .found = "asked/mxnet/libmxnet.so" },
        { .lib = "bare", .variable = "env" }, /* named and not there is a mistake */
        { .variable = "env", .path = "shims", .found = "env/" SITE },
        { .variable = "bare", .path = "env/bin" },
        /* the command's Python, then PATH's */
        { .command = "python", .path = "env/bin", .found = "env/" SITE },
        { .command = "env/bin/python", .path = "shims", .found = "env/" SITE },
        { .command = "cwd/run.py", .path = "shims", .found = "asked/mxnet/libmxnet.so" },
        { .command = "cwd/tool", .path = "env/bin", .found = "env/" SITE },
        { .command = "cwd/tool", .path = "env/bin", .only_command = true },
        { .path = "env/bin", .found = "env/" SITE },
        { .path = "shims", .found = "asked/mxnet/libmxnet.so" },
        { .path = "bare/bin", .found = "" },
        { .command = "bare/bin/python3", .path = "env/bin", .only_command = true },
        /* beside the task, beside us, the loader */
        { .path = "bare/bin", .cwd = "cwd", .found = "cwd/archive/" SITE },
        { .cwd = "plain", .found = "plain/libmxnet.so" },
        { .cwd = "bare", .self = "self/bin", .found = "self/lib/libmxnet.so" },
        { .found = "" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(*state, &rows[i]);
}

#define CAPI "env/lib/python3.11/site-packages/onnxruntime/capi/"

static void a_library_whose_name_ends_in_a_version_is_found_too(void **state)
{
    static const char *const rows[][2] = {
        { "env", CAPI "libonnxruntime.so.1.31.1" },
        { CAPI, CAPI "libonnxruntime.so.1.31.1" },
        { "env/lib/python3.11/site-packages/onnxruntime", CAPI "libonnxruntime.so.1.31.1" },
        { "ort", "ort/libonnxruntime.so" },
        { "plain", NULL },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *dir = below(*state, rows[i][0]), *wanted = below(*state, rows[i][1]);
        AUTO_FREE char *found = find_below(&find_onnxruntime, dir);

        assert_int_equal(found != NULL, wanted != NULL);
        if (wanted)
            assert_string_equal(found, wanted);
    }
}

static void a_library_in_a_package_s_lib_is_found(void **state)
{
    static const struct {
        const struct find_library *library;
        const char *dir, *found;
    } rows[] = {
        { &find_xgboost, "env", "xgboost/lib/libxgboost.so" },
        { &find_xgboost, "env/lib/python3.11/site-packages/xgboost", "xgboost/lib/libxgboost.so" },
        { &find_lightgbm, "env", "lightgbm/lib/lib_lightgbm.so" },
        { &find_lightgbm, "plain", NULL },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *dir = below(*state, rows[i].dir);
        AUTO_FREE char *site = below(*state, "env/lib/python3.11/site-packages");
        AUTO_FREE char *wanted = rows[i].found ? path_join(site, rows[i].found) : NULL;
        AUTO_FREE char *found = find_below(rows[i].library, dir);

        assert_int_equal(found != NULL, wanted != NULL);
        if (wanted)
            assert_string_equal(found, wanted);
    }
}

static void what_is_nowhere_is_said_with_the_ways_to_name_it(void **state)
{
    const struct find_places p = { .only_command = true };
    struct err err = ERR_INIT;
    char *found = NULL;

    (void)state;
    assert_int_equal(find_library(&find_tensorflow, &p, &found, &err), -ENOENT);
    assert_string_equal(err.text, "libtensorflow_cc.so.2 is nowhere to be found");
    assert_non_null(strstr(err.hint, "--lib or $TENSORFLOW_LIBRARY_PATH"));
}

static void a_python_that_does_not_answer_is_not_waited_for(void **state)
{
    AUTO_FREE char *slow = below(*state, "slow/python3");
    AUTO_FREE char *found = NULL;
    struct err err = ERR_INIT;

    put(*state, "slow/python3", "#!/bin/sh\nexec sleep 30\n", 0700);
    assert_int_equal(python_ask(slow, "mxnet", 50, &found, &err), -ETIMEDOUT);
    assert_null(found);
}

/* A module of the working directory would be run by every question, whoever put it there. */
static void what_lies_in_the_working_directory_is_not_asked(void **state)
{
    static const char evil[] = "import os\nopen(os.environ['YDL_TEST_RAN'], 'w')\n";
    AUTO_FREE char *ran = below(*state, "ran");
    AUTO_FREE char *named = below(*state, "named");
    AUTO_FREE char *work = below(*state, "work");
    AUTO_FREE char *found = NULL;
    struct err err = ERR_INIT;
    char *was = getcwd(NULL, 0);

    put(*state, "work/importlib/__init__.py", evil, 0600);
    put(*state, "work/importlib/util.py", evil, 0600);
    put(*state, "named/package/__init__.py", "", 0600);
    assert_true(was && ran && named && work);
    assert_int_equal(setenv("YDL_TEST_RAN", ran, 1), 0);
    assert_int_equal(setenv("PYTHONPATH", named, 1), 0); /* what the person names is asked */
    assert_int_equal(chdir(work), 0);
    assert_int_equal(python_ask("/usr/bin/python3", "package", 60000, &found, &err), 0);
    assert_int_equal(chdir(was), 0);
    free(was);
    assert_non_null(found);
    assert_non_null(strstr(found, "/named/package"));
    assert_int_equal(access(ran, F_OK), -1);
    assert_int_equal(unsetenv("PYTHONPATH"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_library_is_found_in_the_first_place_that_has_it,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_library_whose_name_ends_in_a_version_is_found_too,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(a_library_in_a_package_s_lib_is_found, make_tree,
                                        remove_tree),
        cmocka_unit_test(what_is_nowhere_is_said_with_the_ways_to_name_it),
        cmocka_unit_test_setup_teardown(what_lies_in_the_working_directory_is_not_asked, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(a_python_that_does_not_answer_is_not_waited_for, make_tree,
                                        remove_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
