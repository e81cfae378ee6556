/* pip_key_test.c - what is the same environment, and what is not; see pip.h */
#include "pyenv/archive_files_testing.h"
#include "pyenv/pip_private.h"

/* The key of one word, or of two. */
static void key_of(const char *word, const char *other, char ret[PIP_KEY_TEXT])
{
    AUTO_STRS words = { 0 };

    assert_int_equal(strs_add(&words, word), 0);
    if (other)
        assert_int_equal(strs_add(&words, other), 0);
    assert_int_equal(pip_key(&words, "python 3.11", ret, NULL), 0);
    assert_int_equal(strlen(ret), PIP_KEY_TEXT - 1);
}

static void other_words_are_another_environment(void **state)
{
    static const char *const rows[][2] = {
        { "a", NULL }, { "b", NULL }, { "ab", NULL }, { "a", "b" }, { "b", "a" }, { "a", "" },
    };
    char keys[COUNT_OF(rows)][PIP_KEY_TEXT], again[PIP_KEY_TEXT];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        key_of(rows[i][0], rows[i][1], keys[i]);
        key_of(rows[i][0], rows[i][1], again);
        assert_string_equal(keys[i], again);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    }
}

static void what_is_in_files_counts_and_not_their_names(void **state)
{
    AUTO_FREE char *a = in(*state, "a.txt"), *b = in(*state, "deep/b.txt");
    AUTO_FREE char *option = str_printf("-r %s", b);
    char first[PIP_KEY_TEXT], second[PIP_KEY_TEXT];

    assert_non_null(option);
    put(*state, "a.txt", "six\n");
    put(*state, "deep/b.txt", "six\n");
    key_of(a, NULL, first);
    key_of(option, NULL, second);
    assert_string_equal(first, second);
    put(*state, "deep/b.txt",
        "six\n-r c.txt \t # what others need\n#-r gone.txt\n"
        "-c https://example.invalid/limits.txt\n");
    put(*state, "deep/c.txt", "x==1");
    key_of(b, NULL, first);
    put(*state, "deep/c.txt", "x==2");
    key_of(b, NULL, second);
    assert_string_not_equal(first, second);
}

static void what_cannot_be_read_or_known_is_an_error(void **state)
{
    AUTO_FREE char *loop = in(*state, "loop.txt"), *gone = in(*state, "gone.txt");
    AUTO_FREE char *dir = in(*state, "pkg/");
    const struct {
        const char *word;
        int result;
    } rows[] = { { loop, -ELOOP }, { gone, -ENOENT }, { dir, -EINVAL } };
    char key[PIP_KEY_TEXT];

    put(*state, "loop.txt", "-r loop.txt");
    put(*state, "gone.txt", "--requirement=other.txt\r\n");
    put(*state, "pkg/setup.py", "");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS words = { 0 };

        assert_int_equal(strs_add(&words, rows[i].word), 0);
        assert_int_equal(pip_key(&words, "", key, NULL), rows[i].result);
    }
}

static void a_package_is_no_file(void **state)
{
    (void)state;
    assert_null(pip_requirements("six"));
    assert_null(pip_requirements("no-such-file.txt"));
    assert_null(pip_requirements("-r no-such-file.txt"));
    assert_null(pip_requirements("--no-deps"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_words_are_another_environment),
        cmocka_unit_test_setup_teardown(what_is_in_files_counts_and_not_their_names, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_or_known_is_an_error, make_dir,
                                        remove_dir),
        cmocka_unit_test(a_package_is_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
