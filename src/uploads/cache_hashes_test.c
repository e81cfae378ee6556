/* cache_hashes_test.c - hashes that are remembered, and sources that have them; see
 * cache_hashes.h and cache_source.h */
#include "pyenv/archive_files_testing.h"
#include "uploads/cache_hashes.h"
#include "uploads/cache_source.h"

#include <time.h>

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

static char *file_in(void **state)
{
    char *path = in(*state, "sub/hashes");

    assert_non_null(path);
    return path;
}

static void what_was_added_is_found_again(void **state)
{
    AUTO_FREE char *path = file_in(state);
    char got[SHA256_TEXT];
    struct hashes *h = hashes_open(path);

    assert_non_null(h);
    assert_false(hashes_find(h, DIGITS "1", got));
    hashes_add(h, DIGITS "1", DIGITS "a");
    hashes_close(h);
    h = hashes_open(path);
    assert_non_null(h);
    assert_true(hashes_find(h, DIGITS "1", got));
    assert_string_equal(got, DIGITS "a");
    assert_false(hashes_find(h, DIGITS "2", got));
    hashes_close(h);
}

static void two_that_write_at_once_keep_both(void **state)
{
    AUTO_FREE char *path = file_in(state);
    char got[SHA256_TEXT];
    struct hashes *a = hashes_open(path), *b = hashes_open(path);

    assert_true(a && b);
    hashes_add(a, DIGITS "1", DIGITS "a");
    hashes_add(b, DIGITS "2", DIGITS "b");
    hashes_close(a);
    hashes_close(b);
    a = hashes_open(path);
    assert_non_null(a);
    assert_true(hashes_find(a, DIGITS "1", got) && hashes_find(a, DIGITS "2", got));
    hashes_close(a);
}

static void nonsense_in_the_file_is_passed_over(void **state)
{
    static const char *const texts[] = {
        "",
        "something else\n" DIGITS "1 " DIGITS "a 1\n",
        "ydl-hashes 1\n" DIGITS "1 " DIGITS "a\n",
        "ydl-hashes 1\n" DIGITS "1 " DIGITS "a -1\n",
        "ydl-hashes 1\n" DIGITS "1 " DIGITS "A 1\n",
        "ydl-hashes 1\n" DIGITS "1x" DIGITS "a 1\n",
        "ydl-hashes 1\nx\n\n\x01\n",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_FREE char *path = file_in(state);
        AUTO_HASHES *h = NULL;
        char got[SHA256_TEXT];

        put(*state, "sub/hashes", texts[i]);
        h = hashes_open(path);
        assert_non_null(h);
        assert_false(hashes_find(h, DIGITS "1", got));
    }
}

static void the_oldest_are_forgotten(void **state)
{
    AUTO_FREE char *path = file_in(state);
    AUTO_BUF text = { .max = MIB };
    char key[SHA256_TEXT], got[SHA256_TEXT];
    struct hashes *h;

    assert_int_equal(buf_add_str(&text, "ydl-hashes 1\n"), 0);
    for (unsigned i = 0; i < HASHES_MOST; i++)
        assert_int_equal(buf_printf(&text, "%064x %064x %u\n", i, i, i + 1), 0);
    put(*state, "sub/hashes", buf_text(&text));
    h = hashes_open(path);
    assert_non_null(h);
    hashes_add(h, DIGITS "1", DIGITS "a");
    hashes_close(h);
    h = hashes_open(path);
    assert_non_null(h);
    assert_true(hashes_find(h, DIGITS "1", got));
    snprintf(key, sizeof(key), "%064x", 0);
    assert_false(hashes_find(h, key, got));
    snprintf(key, sizeof(key), "%064x", 1);
    assert_true(hashes_find(h, key, got));
    hashes_close(h);
}

/* ---- sources ---- */

static int hash_of(struct source *s, char ret[SHA256_TEXT], struct err *err)
{
    char some[100];
    ssize_t n = source_begin(s, err);

    if (n == 0)
        do
            n = source_read(s, some, sizeof(some), err);
        while (n > 0);
    return n < 0 ? (int)n : source_end(s, ret, err);
}

static void a_source_can_be_read_twice(void **state)
{
    AUTO_FREE char *path = in(*state, "x");
    AUTO_FREE char *name = strdup("x");
    struct uploads_item item = { .from = path, .to = name };
    AUTO_UPLOADS l = { 0 };
    AUTO_SOURCE *s = NULL;
    char one[SHA256_TEXT], two[SHA256_TEXT];
    struct err err = ERR_INIT;

    put(*state, "x", "hello\n");
    assert_int_equal(source_new(&l, &item, &s, &err), 0);
    assert_int_equal(source_size(s), 6);
    assert_int_equal(hash_of(s, one, &err), 0);
    assert_string_equal(one, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    assert_int_equal(hash_of(s, two, &err), 0);
    assert_string_equal(one, two);
    put(*state, "x", "hallo\n");
    assert_int_equal(hash_of(s, two, &err), -ESTALE);
    assert_false(source_key(s, one)); /* it was written just before it was looked at */
}

static void a_file_is_known_again_until_it_changes(void **state)
{
    AUTO_FREE char *path = in(*state, "x");
    struct pack_entry entry = { .path = path, .name = path, .stamp = { 1, 2, 3, 4, 5 } };
    struct uploads_list l = { .bundle = { .v = &entry, .n = 1, .sorted = true } };
    char first[SHA256_TEXT], key[SHA256_TEXT];
    AUTO_SOURCE *s = NULL;
    uint64_t *const fields[] = { &entry.stamp.dev, &entry.stamp.ino, &entry.stamp.size,
                                 (uint64_t *)&entry.stamp.mtime, (uint64_t *)&entry.stamp.ctime };

    assert_int_equal(source_new(&l, NULL, &s, NULL), 0);
    assert_true(source_key(s, first) && source_key(s, key));
    assert_string_equal(first, key);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        ++*fields[i];
        assert_true(source_key(s, key));
        assert_string_not_equal(first, key);
        --*fields[i];
    }
    entry.executable = true;
    assert_true(source_key(s, key));
    assert_string_not_equal(first, key);
    entry.stamp.ctime = (int64_t)time(NULL) * 1000000000;
    assert_false(source_key(s, key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_added_is_found_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(two_that_write_at_once_keep_both, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(nonsense_in_the_file_is_passed_over, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_oldest_are_forgotten, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_source_can_be_read_twice, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_is_known_again_until_it_changes, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
