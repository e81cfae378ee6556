/* library_version_test.c - see library_version.h: with files that only look like libraries. */
#include "base/path.h"
#include "base/str.h"
#include "native/library_version.h"
#include "test.h"

#include <string.h>
#include <unistd.h>

#define SITE "env/lib/python3.11/site-packages/"

static const char *const files[][2] = {
    { SITE "onnxruntime/capi/libonnxruntime.so.1.31.1", "" },
    { SITE "tensorflow/libtensorflow_cc.so.2", "" },
    { SITE "tensorflow_estimator-2.12.0.dist-info/RECORD",
      "tensorflow_estimator/tensorflow/libtensorflow_cc.so.2,,\n" },
    { SITE "tensorflow_cpu-2.13.1.dist-info/RECORD",
      "tensorflow/a.py,sha256=x,1\ntensorflow/libtensorflow_cc.so.2,sha256=y,2\n" },
    { SITE "xgboost/lib/libxgboost.so", "" },
    { SITE "xgboost-3.0.0+cu12.dist-info/RECORD", "xgboost/lib/libxgboost.so,,\n" },
    { SITE "lightgbm/lib/lib_lightgbm.so", "" },
    { SITE "lightgbm-\x1b[31m.dist-info/RECORD", "lightgbm/lib/lib_lightgbm.so,,\n" },
    { SITE "mxnet/libmxnet.so", "" },
    { "ort/libonnxruntime.so.1.9.0", "" },
    { "ort/libx.so.1", "" },
};

static int make_libraries(void **state)
{
    char name[TEST_PATH];

    if (!test_dir(name, "version") || !(*state = strdup(name)))
        return -1;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_FREE char *path = path_join(name, files[i][0]);
        AUTO_FREE char *above = path ? path_dir(path) : NULL;

        if (!above || path_mkdirs(above, 0700, NULL) < 0 ||
            path_write_new(path, files[i][1], strlen(files[i][1]), 0600, NULL) < 0)
            return -1;
    }
    return 0;
}

static int remove_libraries(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static void a_library_s_version_is_in_its_name_or_its_package(void **state)
{
    static const struct {
        const struct find_library *library;
        const char *file, *version;
    } rows[] = {
        { &find_onnxruntime, SITE "onnxruntime/capi/libonnxruntime.so.1.31.1", "1.31.1" },
        { &find_onnxruntime, "ort/libonnxruntime.so", "1.9.0" }, /* a link */
        { &find_onnxruntime, "ort/libx.so.1", NULL },
        { &find_tensorflow, SITE "tensorflow/libtensorflow_cc.so.2", "2.13.1" },
        { &find_xgboost, SITE "xgboost/lib/libxgboost.so", "3.0.0+cu12" },
        { &find_lightgbm, SITE "lightgbm/lib/lib_lightgbm.so", NULL },
        { &find_mxnet, SITE "mxnet/libmxnet.so", NULL },
        { &find_mxnet, "nowhere/mxnet/libmxnet.so", NULL },
    };
    AUTO_FREE char *link = path_join(*state, "ort/libonnxruntime.so");

    assert_non_null(link);
    assert_int_equal(symlink("libonnxruntime.so.1.9.0", link), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = path_join(*state, rows[i].file);
        AUTO_FREE char *version = path ? library_version(rows[i].library, path) : NULL;

        assert_int_equal(version != NULL, rows[i].version != NULL);
        if (version)
            assert_string_equal(version, rows[i].version);
    }
}

static void nobody_knows_the_version_of_what_the_loader_finds(void **state)
{
    (void)state;
    assert_null(library_version(&find_mxnet, "libmxnet.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_s_version_is_in_its_name_or_its_package),
        cmocka_unit_test(nobody_knows_the_version_of_what_the_loader_finds),
    };

    return cmocka_run_group_tests(tests, make_libraries, remove_libraries);
}
