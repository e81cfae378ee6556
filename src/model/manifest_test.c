/* manifest_test.c - see manifest.h */
#include "base/str.h"
#include "model/manifest.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char *text_of(const struct manifest_file *files, size_t n)
{
    const struct manifest_facts f = {
        .id = "id",
        .name = "m",
        .version = 3,
        .format = "onnx",
        .entry = strcmp(files[0].path, "model/a") == 0 ? "a" : "",
        .created_by = "ada",
        .created_ms = 5,
        .files = files,
        .n = n,
    };
    struct err err = ERR_INIT;
    char *text = NULL;

    if (manifest_text(&f, &text, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void what_is_written_is_read_back(void **state)
{
    const struct manifest_file files[] = {
        { "model/a", 5, HASH_A, true },
        { "model/b/c", 7, HASH_B, false },
        { "warmup/r", 0, HASH_A, false },
    };
    AUTO_FREE char *text = text_of(files, 3);
    struct err err = ERR_INIT;
    AUTO_MANIFEST m = { 0 };

    (void)state;
    assert_int_equal(manifest_parse("x", text, strlen(text), &m, &err), 0);
    assert_string_equal(m.name, "m");
    assert_int_equal(m.version, 3);
    assert_int_equal(m.bytes, 12);
    assert_int_equal(m.n, 3);
    assert_string_equal(m.files[1].path, "model/b/c");
    assert_true(m.files[0].executable);
    assert_false(m.files[1].executable);
}

static void paths_stay_below_the_version(void **state)
{
    static const char *const bad[] = {
        "",           "a",          "model",    "model/",     "/model/a",      "model//a",
        "model/../a", "model/./a",  "model/a/", "model/a/..", "MANIFEST.json", "../model/a",
        "model/a\n",  "model/\xff", "models/a",
    };
    static const char *const good[] = { "model/a", "warmup/a", "model/..a", "model/a/b.c",
                                        "model/\xc3\xa4" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(manifest_path_ok(bad[i]));
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(manifest_path_ok(good[i]));
}

/* The tree's hash is right in all of these: only the names are wrong. */
static void nothing_is_a_file_and_a_directory(void **state)
{
    static const struct {
        const char *a, *b, *c, *says;
    } rows[] = {
        { "model/a", "model/a-b", "model/a/c", "both a file and a directory" },
        { "model/a", "model/a.b", "model/a/c/d", "both a file and a directory" },
        { "model/a", "model/a", "model/b", "stands there twice" },
        { "model/a", "model/a.b", "model/b/c", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct manifest_file files[] = {
            { rows[i].a, 1, HASH_A, false },
            { rows[i].b, 1, HASH_A, false },
            { rows[i].c, 1, HASH_A, false },
        };
        AUTO_FREE char *text = text_of(files, 3);
        struct err err = ERR_INIT;
        AUTO_MANIFEST m = { 0 };
        int r = manifest_parse("x", text, strlen(text), &m, &err);

        assert_int_equal(r, rows[i].says ? -EBADMSG : 0);
        if (rows[i].says)
            assert_non_null(strstr(err.text, rows[i].says));
    }
}

/* One word of a good manifest is replaced. */
static void a_damaged_one_is_refused(void **state)
{
    static const struct {
        const char *from, *to;
        int code;
    } rows[] = {
        { "\"manifest\": 1", "\"manifest\": 2", -EPROTONOSUPPORT },
        { "\"manifest\": 1", "\"manifest\": \"1\"", -EBADMSG },
        { "\"version\": 3", "\"version\": 0", -EBADMSG },
        { "\"version\": 3", "\"version\": 3.5", -EBADMSG },
        { "\"name\": \"m\"", "\"name\": \"../m\"", -EBADMSG },
        { "\"size\": 5", "\"size\": 6", 0 }, /* found when the bytes are read */
        { "\"size\": 5", "\"size\": -1", -EBADMSG },
        { "aaaa", "aaab", -EBADMSG },
        { "aaaa", "AAAA", -EBADMSG },
        { "model/a", "model/b", -EBADMSG },
        { "\"id\"", "\"jd\"", -EBADMSG },
        { "\"files\"", "\"fules\"", -EBADMSG },
        { "\"tree_sha256\"", "\"tree\"", -EBADMSG },
        { "\"entry\": \"a\"", "\"entry\": \"\"", 0 },
        { "\"entry\": \"a\"", "\"entry\": \"b\"", -EBADMSG },
        { "\"entry\": \"a\"", "\"entry\": \"../model/a\"", -EBADMSG },
        { "{", "[", -EBADMSG },
    };
    const struct manifest_file files[] = { { "model/a", 5, HASH_A, false } };
    AUTO_FREE char *text = text_of(files, 1);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *at = strstr(text, rows[i].from);
        AUTO_FREE char *other = at ? str_printf("%.*s%s%s", (int)(at - text), text, rows[i].to,
                                                at + strlen(rows[i].from))
                                   : NULL;
        struct err err = ERR_INIT;
        AUTO_MANIFEST m = { 0 };

        assert_non_null(other);
        assert_int_equal(manifest_parse("x", other, strlen(other), &m, &err), rows[i].code);
    }
    for (size_t n = 0; n < strlen(text) - 2; n++) { /* cut off anywhere */
        struct err err = ERR_INIT;
        AUTO_MANIFEST m = { 0 };

        assert_int_equal(manifest_parse("x", text, n, &m, &err), -EBADMSG);
    }
}

/* Nobody could read such a version back. */
static void one_that_is_too_large_is_not_made(void **state)
{
    enum { FILES = 9000, PATH = 4000 };
    AUTO_FREE struct manifest_file *files = calloc(FILES, sizeof(*files));
    AUTO_FREE char *paths = calloc(FILES, PATH);
    struct manifest_facts f = { .id = "id",
                                .name = "m",
                                .version = 1,
                                .format = "x",
                                .entry = "",
                                .created_by = "ada",
                                .files = files,
                                .n = FILES };
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_true(files && paths);
    for (size_t i = 0; i < FILES; i++) {
        char *path = paths + i * PATH;

        memset(path, 'x', PATH - 1);
        memcpy(path, "model/", 6);
        files[i] = (struct manifest_file){ path, 1, HASH_A, false };
    }
    assert_int_equal(manifest_text(&f, &text, &err), -E2BIG);
    assert_null(text);
    f.n = 10;
    assert_int_equal(manifest_text(&f, &text, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(paths_stay_below_the_version),
        cmocka_unit_test(nothing_is_a_file_and_a_directory),
        cmocka_unit_test(a_damaged_one_is_refused),
        cmocka_unit_test(one_that_is_too_large_is_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
