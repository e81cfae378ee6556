/* key_file_test.c - claims about files with keys. */
#include "base/path.h"
#include "serve/key_file.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of its own with `text` in it. */
static const char *file_of(const char *text, mode_t mode)
{
    static char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/tmp/ydl-key-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static int read_set(const char *text, mode_t mode, struct key_set *s, struct err *err)
{
    const char *path = file_of(text, mode);
    int r = key_set_read(path, s, err);

    assert_int_equal(unlink(path), 0);
    return r;
}

static void one_of_the_keys_has_to_be_shown(void **state)
{
    struct key_set s = { 0 };

    (void)state;
    assert_true(key_set_shown(&s, NULL)); /* nothing is asked for */
    assert_int_equal(read_set("# ours\nabcdefghijklmnop\r\n\nthe-second-key-of-it", 0600, &s, NULL),
                     0);
    assert_int_equal(s.n, 2);
    assert_true(key_set_shown(&s, "Bearer abcdefghijklmnop"));
    assert_true(key_set_shown(&s, "bearer  the-second-key-of-it"));
    assert_false(key_set_shown(&s, NULL));
    assert_false(key_set_shown(&s, ""));
    assert_false(key_set_shown(&s, "Bearer"));
    assert_false(key_set_shown(&s, "Bearer "));
    assert_false(key_set_shown(&s, "Bearer abcdefghijklmnoP"));
    assert_false(key_set_shown(&s, "Bearer abcdefghijklmnop "));
    assert_false(key_set_shown(&s, "Basic abcdefghijklmnop"));
    assert_false(key_set_shown(&s, "Bearer # ours"));
    key_set_done(&s);
}

static void a_file_that_is_not_right_is_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        int r;
        const char *says;
    } rows[] = {
        { "abcdefghijklmnop\n", 0640, -EPERM, "others can read" },
        { "abcdefghijklmnop\n", 0604, -EPERM, "others can read" },
        { "abcdefghijklmno\n", 0600, -EINVAL, "at least 16" },
        { "# nothing\n\n", 0600, -EINVAL, "has no key" },
        { "", 0600, -EINVAL, "has no key" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct key_set s = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(read_set(rows[i].text, rows[i].mode, &s, &err), rows[i].r);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_int_equal(s.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_the_keys_has_to_be_shown),
        cmocka_unit_test(a_file_that_is_not_right_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
