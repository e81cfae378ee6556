/* backend_test.c - what is taken for a model, and what is said when there is none or no library. */
#include "base/path.h"
#include "base/str.h"
#include "serve/backend/backend.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

static void make(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path_dir(path);

    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, "", 0, 0600, NULL), 0);
}

static void a_model_is_found_where_it_may_be(void **state)
{
    static const struct {
        const char *make, *named, *found;
    } rows[] = {
        { "a/model.onnx", "a", "a/model.onnx" },
        { "b/model/model.onnx", "b", "b/model/model.onnx" },
        { "c.onnx", "c.onnx", "c.onnx" },
        { "d/net.onnx", "d", NULL },
        { "e.txt", "e.txt", NULL },
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

        make(dir, rows[i].make);
        r = backend_locate(named, &ops, &path, NULL);
        assert_int_equal(r, found ? 0 : -ENOENT);
        if (found) {
            assert_string_equal(path, found);
            assert_string_equal(ops->name, "onnxruntime");
        }
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void what_is_no_library_is_a_sentence(void **state)
{
    static const struct {
        const char *path, *text;
    } rows[] = {
        { "/nowhere/libonnxruntime.so", "cannot open shared object file" },
        { YDL_SOURCE_DIR "/VERSION", "invalid ELF header" },
        { "libm.so.6", "no OrtGetApiBase" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        const char *version = NULL;
        void *library = NULL;

        assert_int_equal(backend_onnxruntime.open(rows[i].path, &library, &version, &err),
                         -EOPNOTSUPP);
        assert_non_null(strstr(err.text, "load ONNX Runtime: "));
        if (!strstr(err.text, rows[i].text) && !strstr(err.text, "file too short"))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_found_where_it_may_be),
        cmocka_unit_test(what_is_no_library_is_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
