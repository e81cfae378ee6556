/* model_source_test.c - names and versions of what is served. */
#include "base/path.h"
#include "base/str.h"
#include "serve/engine/model_source.h"
#include "test.h"

#include <string.h>

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path_dir(path);

    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, text, strlen(text), 0600, NULL), 0);
}

static void names_come_from_the_manifest_or_the_path(void **state)
{
    static const struct {
        const char *open, *manifest, *name;
        int64_t version;
    } rows[] = {
        { "file/cat.onnx", NULL, "cat", 1 },
        { "plain/model.onnx", NULL, "plain", 1 },
        { "file/dog-symbol.json", NULL, "dog", 1 },
        { "reg", "{\"name\": \"resnet\", \"version\": 7}", "resnet", 7 },
        { "named", "{\"name\": \"cat\", \"format\": \"onnx\", \"entry\": \"net.onnx\"}", "cat", 1 },
        { "out", "{\"format\": \"onnx\", \"entry\": \"../model/net.onnx\"}", NULL, 0 },
        { "bare", "{}", "bare", 1 },
        { "wrong", "{\"version\": 0}", NULL, 0 },
        { "broken", "{", NULL, 0 },
    };
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "ydl-source"));
    put(dir, "file/cat.onnx", "");
    put(dir, "plain/model.onnx", "");
    put(dir, "file/dog-symbol.json", "{\n \"nodes\": [");
    for (size_t i = 3; i < COUNT_OF(rows); i++) {
        const char *entry = strstr(rows[i].manifest, "entry") ? "net" : "model";
        AUTO_FREE char *model = str_printf("%s/model/%s.onnx", rows[i].open, entry);
        AUTO_FREE char *manifest = str_printf("%s/MANIFEST.json", rows[i].open);

        put(dir, model, "");
        put(dir, manifest, rows[i].manifest);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = path_join(dir, rows[i].open);
        AUTO_MODEL_SOURCE s = { 0 };
        int r = model_source_open(path, &s, NULL);

        assert_int_equal(r, rows[i].name ? 0 : -EINVAL);
        if (r < 0)
            continue;
        assert_string_equal(s.name, rows[i].name);
        assert_int_equal(s.version, rows[i].version);
        assert_int_equal(s.dir != NULL, rows[i].manifest != NULL);
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void a_manifest_says_which_file_is_the_model(void **state)
{
    static const struct {
        const char *manifest, *file, *backend;
        int result;
    } rows[] = {
        { "{\"format\": \"onnx\", \"entry\": \"r.bin\"}", "r.bin", "onnxruntime", 0 },
        { "{\"format\": \"xgboost\", \"entry\": \"trees\"}", "trees", "xgboost", 0 },
        { "{\"format\": \"mxnet\", \"entry\": \"a-symbol.json\"}", "a-symbol.json", "mxnet", 0 },
        { "{\"format\": \"tensorflow\", \"entry\": \"\"}", "", "tensorflow", 0 },
        { "{\"format\": \"caffe\", \"entry\": \"m\"}", NULL, NULL, -EOPNOTSUPP },
        { "{\"format\": \"mxnet\", \"entry\": \"\"}", NULL, NULL, -EINVAL },
        { "{\"format\": \"onnx\", \"entry\": \"\"}", NULL, NULL, -EINVAL },
        { "{\"format\": \"onnx\", \"entry\": \"../../m.onnx\"}", NULL, NULL, -EINVAL },
        { "{\"format\": \"onnx\", \"entry\": \"..\"}", NULL, NULL, -EINVAL },
        { "{\"format\": \"onnx\"}", NULL, NULL, -EINVAL },
    };
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "ydl-source"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *name = str_printf("v%zu", i);
        AUTO_FREE char *manifest = str_printf("%s/MANIFEST.json", name);
        AUTO_FREE char *model = str_printf("%s/model/model.onnx", name);
        AUTO_FREE char *path = path_join(dir, name);
        AUTO_MODEL_SOURCE s = { 0 };

        put(dir, manifest, rows[i].manifest);
        put(dir, model, "");
        assert_int_equal(model_source_open(path, &s, NULL), rows[i].result);
        if (rows[i].result == 0) {
            AUTO_FREE char *found =
                str_printf(*rows[i].file ? "%s/model/%s" : "%s/model%s", path, rows[i].file);

            assert_string_equal(s.path, found);
            assert_string_equal(s.ops->name, rows[i].backend);
        }
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_the_manifest_or_the_path),
        cmocka_unit_test(a_manifest_says_which_file_is_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
