/* join_test.c - see join.h */
#include "agent/link/join.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

#define KEY "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

static int read_text(const char *text, mode_t mode, struct join *ret, struct err *err)
{
    char dir[TEST_PATH];
    AUTO_FREE char *file = NULL;
    int r;

    assert_true(test_dir(dir, "join"));
    file = path_join(dir, "join.json");
    r = file ? path_write(file, text, strlen(text), mode, err) : -ENOMEM;
    if (r == 0)
        r = join_read(file, ret, err);
    path_remove(dir, NULL);
    rmdir(dir); /* when memory ran out for that */
    return r;
}

static void the_file_says_where_and_with_which_key(void **state)
{
    AUTO_JOIN j = { 0 };
    AUTO_JOIN t = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read_text("{\"address\": \"unix:/run/a.sock\", \"job\": \"local-1\", "
                               "\"key\": \"" KEY "\", \"more\": 1}",
                               0600, &j, &err),
                     0);
    assert_string_equal(j.path, "/run/a.sock");
    assert_string_equal(j.key.identity, "local-1");
    assert_int_equal(j.key.key[31], 31);
    assert_int_equal(read_text("{\"address\": \"tcp:[::1]:77\", \"job\": \"j\", "
                               "\"key\": \"" KEY "\"}",
                               0600, &t, &err),
                     0);
    assert_null(t.path);
    assert_string_equal(t.host, "[::1]");
    assert_int_equal(t.port, 77);
}

static void a_bad_file_is_refused(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        int result;
        const char *says;
    } rows[] = {
        { "{}", 0640, -EACCES, "can be read by others" },
        { "{}", 0600, -EINVAL, "lacks its address, job or key" },
        { "nonsense", 0600, -EINVAL, "join.json" },
        { "{\"address\": \"unix:x\", \"job\": \"j\", \"key\": \"" KEY "\"}", 0600, -EINVAL,
          "is not an address" },
        { "{\"address\": \"tcp:x:0\", \"job\": \"j\", \"key\": \"" KEY "\"}", 0600, -EINVAL,
          "is not an address" },
        { "{\"address\": \"tcp:5\", \"job\": \"j\", \"key\": \"" KEY "\"}", 0600, -EINVAL,
          "is not an address" },
        { "{\"address\": \"unix:/x\", \"job\": \"j\", \"key\": \"AAAA\"}", 0600, -EINVAL,
          "not base64 of 32 bytes" },
        { "{\"address\": \"unix:/x\", \"job\": 1, \"key\": \"AAAA\"}", 0600, -EINVAL, "lacks" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JOIN j = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(read_text(rows[i].text, rows[i].mode, &j, &err), rows[i].result);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_null(strstr(err.text, "AAEC"));
    }
}

/* Without a number it is of version 1. */
static void the_number_is_looked_at(void **state)
{
    static const char golden[] = YDL_SOURCE_DIR "/test/golden/0.1.0-5c3a05b/join.json";
    AUTO_BUF text = { .max = 4 * KIB };
    AUTO_JOIN j = { 0 };
    AUTO_JOIN k = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(path_read(golden, &text, &err), 0);
    assert_non_null(buf_text(&text));
    assert_int_equal(read_text(buf_text(&text), 0600, &j, &err), 0);
    assert_string_equal(j.path, "/tmp/ydl-EmOJkg/agents.sock");
    assert_int_equal(read_text("{\"format\": 2, \"whatever\": 1}", 0600, &k, &err),
                     -EPROTONOSUPPORT);
    assert_string_equal(err.text, "join.json: version 2 is newer than this ydl understands (1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_says_where_and_with_which_key),
        cmocka_unit_test(a_bad_file_is_refused),
        cmocka_unit_test(the_number_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
