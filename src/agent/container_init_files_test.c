/* container_init_files_test.c - the two files between an agent and process 1 of a container:
 * container_init.h */
#include "agent/container_init.h"
#include "base/path.h"
#include "test.h"

#include <string.h>

static const char *value(const struct env *e, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->v[i], name, n) == 0 && e->v[i][n] == '=')
            return e->v[i] + n + 1;
    return NULL;
}

static void the_image_stands_between_weak_and_strong(void **state)
{
    static char *const image[] = { (char *)"PATH=/image", (char *)"BOTH=image", (char *)"ALL=image",
                                   (char *)"noise", NULL };
    AUTO_ENV weak = { 0 }, strong = { 0 }, all = { 0 };
    AUTO_BUF text = { .max = 4096 };
    AUTO_FREE char *path = NULL;
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "init"));
    path = path_join(dir, "env");
    assert_non_null(path);
    assert_int_equal(env_set(&weak, "PATH", "/host"), 0);
    assert_int_equal(env_set(&weak, "ONLY", "weak"), 0);
    assert_int_equal(env_set(&weak, "ALL", "weak"), 0);
    assert_int_equal(env_set(&strong, "ALL", "strong"), 0);
    assert_int_equal(env_set(&strong, "ODD", "a\nb ='\" "), 0);
    assert_int_equal(env_set(&strong, "EMPTY", ""), 0);
    assert_int_equal(init_env_write(path, &weak, &strong, NULL), 0);
    assert_int_equal(path_read(path, &text, NULL), 0);
    assert_int_equal(init_env_merge((char *)text.data, text.len, image, &all), 0);
    assert_string_equal(value(&all, "PATH"), "/image");
    assert_string_equal(value(&all, "BOTH"), "image");
    assert_string_equal(value(&all, "ONLY"), "weak");
    assert_string_equal(value(&all, "ALL"), "strong");
    assert_string_equal(value(&all, "ODD"), "a\nb ='\" ");
    assert_string_equal(value(&all, "EMPTY"), "");
    assert_int_equal(all.n, 6);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void a_broken_environment_is_seen(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } rows[] = { { "", 0 },      { "A=1", 3 },   { "A=1\0", 4 }, { "A=1\0\0B=2", 8 },
                 { "x\0\0", 3 }, { "\0x\0", 3 }, { "\0\0", 2 } };
    static char *const none[] = { NULL };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_ENV all = { 0 };
        AUTO_FREE char *copy = malloc(rows[i].n + 1);

        memcpy(copy, rows[i].text, rows[i].n);
        assert_int_equal(init_env_merge(copy, rows[i].n, none, &all), -EBADMSG);
    }
}

static void an_end_is_read_as_it_was_written(void **state)
{
    static const struct init_end rows[] = {
        { .code = 0 },
        { .code = 7, .peak = 123456789, .oom = 2 },
        { .code = 137, .signal = 9 },
        { .code = 127, .not_started = (char *)"there is no command 'x\xff'" },
    };
    AUTO_FREE char *path = NULL;
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "init"));
    path = path_join(dir, "end");
    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct init_end got = { 0 };

        assert_int_equal(init_end_write(path, &rows[i], NULL), 0);
        assert_int_equal(init_end_read(path, &got, NULL), 0);
        assert_int_equal(got.code, rows[i].code);
        assert_int_equal(got.signal, rows[i].signal);
        assert_int_equal(got.peak, rows[i].peak);
        assert_int_equal(got.oom, rows[i].oom);
        assert_int_equal(!got.not_started, !rows[i].not_started);
        free(got.not_started);
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void an_end_that_says_nothing_is_refused(void **state)
{
    static const struct {
        const char *text;
        int r;
    } rows[] = { { "", -EINVAL },
                 { "{}", -EBADMSG },
                 { "{\"code\":1}", -EBADMSG },
                 { "{\"code\":256,\"signal\":0}", -EBADMSG },
                 { "{\"code\":0,\"signal\":65}", -EBADMSG },
                 { "{\"code\":0,\"signal\":0,\"peak\":-1}", -EBADMSG } };
    AUTO_FREE char *path = NULL;
    char dir[TEST_PATH];

    (void)state;
    assert_true(test_dir(dir, "init"));
    path = path_join(dir, "end");
    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct init_end got = { 0 };

        assert_int_equal(path_write(path, rows[i].text, strlen(rows[i].text), 0600, NULL), 0);
        assert_int_equal(init_end_read(path, &got, NULL), rows[i].r);
    }
    assert_int_equal(path_remove(dir, NULL), 0);
    assert_int_equal(init_end_read(path, &(struct init_end){ 0 }, NULL), -ENOENT);
}

static void nobody_but_process_1_may_be_it(void **state)
{
    const struct init_options o = { 0 };

    (void)state;
    assert_int_equal(init_run(&o, NULL), -EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_image_stands_between_weak_and_strong),
        cmocka_unit_test(a_broken_environment_is_seen),
        cmocka_unit_test(an_end_is_read_as_it_was_written),
        cmocka_unit_test(an_end_that_says_nothing_is_refused),
        cmocka_unit_test(nobody_but_process_1_may_be_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
