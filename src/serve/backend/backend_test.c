/* backend_test.c - what is taken for a model, and what is said when there is none or no library. */
#include "base/path.h"
#include "base/str.h"
#include "serve/backend/backend.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

#define NO_LIBRARY YDL_SOURCE_DIR "/VERSION"

static void make(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path_dir(path);

    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, text, strlen(text), 0600, NULL), 0);
}

static void a_model_is_found_where_it_may_be(void **state)
{
    static const struct {
        const char *make, *text, *named, *found, *backend;
    } rows[] = {
        { "a/model.onnx", "", "a", "a/model.onnx", "onnxruntime" },
        { "b/model/model.onnx", "", "b", "b/model/model.onnx", "onnxruntime" },
        { "c.onnx", "", "c.onnx", "c.onnx", "onnxruntime" },
        { "d/net.onnx", "", "d", NULL, NULL },
        { "e.text", "", "e.text", NULL, NULL },
        { "f.json", " {\n \"learner\": {", "f.json", "f.json", "xgboost" },
        { "g.json", "{\"modelTopology\": {", "g.json", NULL, NULL },
        { "h/model.json", "{\"version\":[3", "h", "h/model.json", "xgboost" },
        { "i/model/model.ubj", "{L\1learner", "i", "i/model/model.ubj", "xgboost" },
        { "j/model.bst", "binf", "j", "j/model.bst", "xgboost" },
        { "l/model.txt", "tree\nversion=v4\n", "l", "l/model.txt", "lightgbm" },
        { "m.txt", "tree\r\n", "m.txt", "m.txt", "lightgbm" },
        { "n.txt", "treetop\n", "n.txt", NULL, NULL },
        { "o/saved_model.pb", "", "o", "o/saved_model.pb", "tensorflow" },
        { "p/model/saved_model.pb", "", "p", "p/model/saved_model.pb", "tensorflow" },
        { "q/net-symbol.json", "{\n  \"nodes\": [", "q", "q/net-symbol.json", "mxnet" },
        { "r/model/net-symbol.json", "{\"nodes\":", "r", "r/model/net-symbol.json", "mxnet" },
        { "s-symbol.json", "{\"nodes\":", "s-symbol.json", "s-symbol.json", "mxnet" },
        { "t/net-symbol.json", "{\"learner\":", "t", NULL, NULL },
        { "k/model.json", "{\"modelTopology\": {", "k", NULL, NULL },
    };
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "ydl-backend"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *named = path_join(dir, rows[i].named);
        AUTO_FREE char *found = rows[i].found ? path_join(dir, rows[i].found) : NULL;
        const struct backend_ops *ops = NULL;
        AUTO_FREE char *path = NULL;
        int r;

        make(dir, rows[i].make, rows[i].text);
        r = backend_locate(named, &ops, &path, NULL);
        assert_int_equal(r, found ? 0 : -ENOENT);
        if (found) {
            assert_string_equal(path, found);
            assert_string_equal(ops->name, rows[i].backend);
        }
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void of_several_models_one_is_to_be_named(void **state)
{
    const struct backend_ops *ops = NULL;
    struct err err = ERR_INIT;
    char dir[TEST_PATH], *path = NULL;

    (void)state;
    assert_true(test_dir(dir, "ydl-backend"));
    make(dir, "a-symbol.json", "{\"nodes\":");
    make(dir, "b-symbol.json", "{\"nodes\":");
    assert_int_equal(backend_locate(dir, &ops, &path, &err), -EINVAL);
    assert_non_null(strstr(err.text, "several models"));
    assert_null(path);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void what_is_no_library_is_a_sentence(void **state)
{
    static const struct {
        const struct backend_ops *ops;
        const char *path, *what, *text;
    } rows[] = {
        { &backend_onnxruntime, "/nowhere/x.so",
          "load ONNX Runtime: ", "cannot open shared object" },
        { &backend_onnxruntime, NO_LIBRARY, "load ONNX Runtime: ", "invalid ELF header" },
        { &backend_onnxruntime, "libm.so.6", "load ONNX Runtime: ", "no OrtGetApiBase" },
        { &backend_xgboost, NO_LIBRARY, "load XGBoost: ", "invalid ELF header" },
        { &backend_lightgbm, NO_LIBRARY, "load LightGBM: ", "invalid ELF header" },
        { &backend_lightgbm, "libm.so.6", "load LightGBM: ", "no LGBM_GetLastError" },
        { &backend_mxnet, NO_LIBRARY, "load MXNet: ", "invalid ELF header" },
        { &backend_mxnet, "libm.so.6", "load MXNet: ", "no MXGetLastError" },
        { &backend_tensorflow, NO_LIBRARY, "load TensorFlow: ", "invalid ELF header" },
        { &backend_tensorflow, "libm.so.6", "load TensorFlow: ", "no TF_Version" },
        { &backend_xgboost, "libm.so.6", "load XGBoost: ", "no XGBoostVersion" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        const char *version = NULL;
        void *library = NULL;

        assert_int_equal(rows[i].ops->open(rows[i].path, &library, &version, &err), -EOPNOTSUPP);
        assert_non_null(strstr(err.text, rows[i].what));
        if (!strstr(err.text, rows[i].text) && !strstr(err.text, "file too short"))
            fail_msg("%s", err.text);
    }
}

static void a_file_that_is_no_model_is_answered_with_what_is_one(void **state)
{
    const struct backend_ops *ops = NULL;
    struct err err = ERR_INIT;
    char *path = NULL;

    (void)state;
    assert_int_equal(backend_locate(NO_LIBRARY, &ops, &path, &err), -ENOENT);
    assert_non_null(strstr(err.hint, "LightGBM (model.txt)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_found_where_it_may_be),
        cmocka_unit_test(of_several_models_one_is_to_be_named),
        cmocka_unit_test(what_is_no_library_is_a_sentence),
        cmocka_unit_test(a_file_that_is_no_model_is_answered_with_what_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
