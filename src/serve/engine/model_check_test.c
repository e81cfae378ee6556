/* model_check_test.c - what of a version's files is noticed before a backend reads them. */
#include "base/path.h"
#include "base/str.h"
#include "serve/engine/model_check.h"
#include "test.h"

#include <string.h>

#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* of "hello" */

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path_dir(path);

    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write(path, text, strlen(text), 0600, NULL), 0);
}

static void a_file_that_is_not_the_manifest_s_is_named(void **state)
{
    static const struct {
        const char *files, *text;
    } rows[] = {
        { "[{\"path\":\"model/a/b\",\"size\":5,\"sha256\":\"" HELLO "\"}]", NULL },
        { "[]", NULL },
        { "[{\"path\":\"model/a/b\",\"size\":6,\"sha256\":\"" HELLO "\"}]", "5 bytes, and 6" },
        { "[{\"path\":\"model/a/b\",\"size\":5,\"sha256\":\"2cf2\"}]", "its SHA-256" },
        { "[{\"path\":\"model/a/c\",\"size\":5,\"sha256\":\"2cf2\"}]", "is missing" },
        { "[{\"path\":\"model/a\",\"size\":5,\"sha256\":\"2cf2\"}]", "is damaged" },
        { "[{\"path\":\"../v/model/a/b\",\"size\":5,\"sha256\":\"" HELLO "\"}]", "list of files" },
        { "[{\"path\":\"/etc/passwd\",\"size\":5,\"sha256\":\"" HELLO "\"}]", "list of files" },
        { "[{\"path\":\"model//a\",\"size\":5,\"sha256\":\"" HELLO "\"}]", "list of files" },
        { "[{\"size\":5,\"sha256\":\"" HELLO "\"}]", "list of files" },
        { "[{\"path\":\"model/a/b\",\"size\":-1,\"sha256\":\"" HELLO "\"}]", "list of files" },
    };
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "ydl-check"));
    put(dir, "model/a/b", "hello");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = str_printf("{\"files\": %s}", rows[i].files);
        struct err err = ERR_INIT;

        put(dir, "MANIFEST.json", text);
        assert_int_equal(model_check(dir, &err), rows[i].text ? -EBADMSG : 0);
        if (rows[i].text && !strstr(err.text, rows[i].text))
            fail_msg("%s", err.text);
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void without_a_manifest_there_is_nothing_to_check(void **state)
{
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "ydl-check"));
    assert_int_equal(model_check(dir, NULL), 0);
    put(dir, "MANIFEST.json", "{}");
    assert_int_equal(model_check(dir, NULL), 0);
    put(dir, "MANIFEST.json", "{");
    assert_int_equal(model_check(dir, NULL), -EINVAL);
    assert_int_equal(path_remove(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_the_manifest_s_is_named),
        cmocka_unit_test(without_a_manifest_there_is_nothing_to_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
