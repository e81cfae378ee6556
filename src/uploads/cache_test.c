/* cache_test.c - what was sent once is not sent again; see cache.h */
#include "uploads/cache_name.h"
#include "uploads/cache_testing.h"
#include "uploads/uploads_private.h"

#include <dirent.h>

/* SHA-256 of "hello\n". */
#define HELLO "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void second_put(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *dir = NULL;

    put(b->work, "env.tar.gz", "hello\n");
    assert_int_equal(put_one(b, "env.tar.gz", &first, NULL), 0);
    assert_int_equal(first.n, 1);
    assert_true(first.v[0].sent);
    assert_string_equal(first.v[0].key, HELLO "/env.tar.gz");
    assert_string_equal(first.v[0].to, "env.tar.gz");
    assert_int_equal(first.v[0].size, 6);
    path = path_of(b, &first.v[0]);
    dir = path_dir(path);
    assert_non_null(dir);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(dir), 0700);
    set_used(b, &first.v[0], 1000);
    assert_int_equal(put_one(b, "env.tar.gz", &second, NULL), 0);
    assert_false(second.v[0].sent);
    assert_string_equal(second.v[0].url, first.v[0].url);
    assert_int_equal(second.v[0].timestamp, first.v[0].timestamp);
    assert_true(cache_files_find(&second, "env.tar.gz") == &second.v[0]);
    assert_null(cache_files_find(&second, "x"));
}

static void the_second_put_sends_nothing(void **state)
{
    with_bench(state, second_put);
}

static void another_name(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };

    put(b->work, "a.txt", "hello\n");
    put(b->work, "b c$.txt", "hello\n");
    put(b->work, "d", "other");
    assert_int_equal(put_one(b, "a.txt", &first, NULL), 0);
    assert_int_equal(put_one(b, "b c$.txt", &second, NULL), 0);
    assert_false(second.v[0].sent);
    assert_string_equal(second.v[0].key, HELLO "/a.txt");
}

static void the_same_content_under_another_name_is_not_sent(void **state)
{
    with_bench(state, another_name);
}

static void damaged(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };
    AUTO_FREE char *path = NULL;
    AUTO_BUF text = { .max = KIB };

    put(b->work, "x", "hello\n");
    assert_int_equal(put_one(b, "x", &first, NULL), 0);
    path = path_of(b, &first.v[0]);
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(put_one(b, "x", &second, NULL), 0);
    assert_true(second.v[0].sent);
    assert_int_equal(path_read(path, &text, NULL), 0);
    assert_int_equal(text.len, 6);
}

static void a_damaged_file_is_sent_again(void **state)
{
    with_bench(state, damaged);
}

/* Of the right length, in the right place, and for others to write: as good as theirs. */
static void planted(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };
    AUTO_FREE char *path = NULL;
    AUTO_BUF text = { .max = KIB };

    put(b->work, "x", "hello\n");
    assert_int_equal(put_one(b, "x", &first, NULL), 0);
    path = path_of(b, &first.v[0]);
    assert_int_equal(path_write(path, "HELLO\n", 6, 0666, NULL), 0);
    assert_int_equal(put_one(b, "x", &second, NULL), 0);
    assert_true(second.v[0].sent);
    assert_int_equal(path_read(path, &text, NULL), 0);
    assert_string_equal(buf_text(&text), "hello\n");
    if (geteuid() == 0) { /* only root can make it another user's */
        AUTO_CACHE_FILES third = { 0 };

        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(put_one(b, "x", &third, NULL), 0);
        assert_true(third.v[0].sent);
    }
}

static void what_others_could_write_is_not_used(void **state)
{
    with_bench(state, planted);
}

static void open_cache(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };
    AUTO_FREE char *cache = in(b->base, "cache");
    struct err err = ERR_INIT;

    put(b->work, "x", "hello\n");
    assert_int_equal(put_one(b, "x", &first, NULL), 0);
    assert_int_equal(chmod(cache, 0777), 0);
    assert_int_equal(put_one(b, "x", &second, &err), -EPERM);
    assert_non_null(strstr(err.text, "the cache is not safe: others can write to"));
}

static void a_cache_that_others_can_write_to_is_refused(void **state)
{
    with_bench(state, open_cache);
}

static void changed(struct bench *b)
{
    AUTO_CACHE_FILES first = { 0 }, second = { 0 };

    put(b->work, "x", "one");
    age(b->work, "x");
    assert_int_equal(put_one(b, "x", &first, NULL), 0);
    put(b->work, "x", "two"); /* of the same length, with the same time */
    age(b->work, "x");
    assert_int_equal(put_one(b, "x", &second, NULL), 0);
    assert_true(second.v[0].sent);
    assert_string_not_equal(first.v[0].key, second.v[0].key);
}

static void a_changed_file_is_always_seen(void **state)
{
    with_bench(state, changed);
}

static void many(struct bench *b)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_FREE char *one = in(b->work, "d");
    AUTO_FREE char *two = in(b->work, "two.tar");
    AUTO_FREE char *found = in(b->work, "train.py");
    AUTO_CACHE_FILES files = { 0 };
    AUTO_UPLOADS l = { 0 };
    struct err err = ERR_INIT;

    put(b->work, "d/x", "1");
    put(b->work, "two.tar", "hello\n");
    put(b->work, "train.py", "2");
    assert_int_equal(uploads_add(&l, two, "first", NULL), 0);
    assert_int_equal(uploads_add(&l, two, "again", NULL), 0);
    assert_int_equal(
        uploads_push(&l, (struct uploads_item){ strdup(one), strdup("d"), .directory = true }), 0);
    assert_int_equal(
        uploads_push(&l, (struct uploads_item){ strdup(found), strdup("train.py"), .found = true }),
        0);
    assert_int_equal(pack_add(&l.bundle, found, "train.py", NULL, NULL), 0);
    assert_int_equal(cache_put(c, &l, true, &files, &err), 0);
    assert_int_equal(files.n, 4);
    assert_true(files.v[0].sent != files.v[1].sent); /* one content, one upload */
    assert_string_equal(files.v[0].url, files.v[1].url);
    assert_true(!files.v[0].archive && files.v[2].archive && files.v[3].archive);
    assert_true(str_ends(files.v[2].url, "/d.tar"));
    assert_string_equal(files.v[3].to, UPLOADS_BUNDLE);
    assert_true(str_ends(files.v[3].url, "/ydl-ship.tar"));
}

static void directories_and_what_is_found_become_archives(void **state)
{
    with_bench(state, many);
}

static void gone(struct bench *b)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_FREE char *path = in(b->work, "x");
    AUTO_FREE char *cache = in(b->base, "cache");
    AUTO_CACHE_FILES files = { 0 };
    AUTO_UPLOADS l = { 0 };
    struct err err = ERR_INIT;

    put(b->work, "x", "1");
    put(b->work, "y", "1");
    assert_int_equal(pack_add(&l.bundle, path, "x", NULL, NULL), 0);
    put(b->work, "x", "another");
    assert_int_equal(cache_put(c, &l, true, &files, &err), -ESTALE);
    assert_non_null(strstr(err.text, "changed"));
    assert_int_equal(access(cache, F_OK), -1);
}

static void a_file_that_changes_meanwhile_is_not_sent(void **state)
{
    with_bench(state, gone);
}

static void leftovers(struct bench *b)
{
    AUTO_CACHE_FILES files = { 0 };
    AUTO_FREE char *cache = in(b->base, "cache");
    AUTO_FREE char *mine = NULL;
    AUTO_FREE char *dead = NULL;

    assert_int_equal(cache_temp(&mine, NULL), 0);
    assert_int_equal(cache_temp_maker(mine), CACHE_TEMP_LIVES);
    *strrchr(mine, '-') = '\0';
    *strrchr(mine, '-') = '\0';
    dead = str_printf("%s-1-0123456789abcdef", mine); /* that process, started at another time */
    assert_non_null(dead);
    assert_int_equal(cache_temp_maker(dead), CACHE_TEMP_DEAD);
    put(cache, dead, "half");
    put(cache, ".put-aaaaaaaaaaaaaaaa-1-1-0123456789abcdef", "another machine's");
    put(cache, ".put-bbbbbbbbbbbbbbbb-1-1-0123456789abcdef", "another machine's, old");
    age(cache, ".put-bbbbbbbbbbbbbbbb-1-1-0123456789abcdef");
    put(cache, ".somebody", "else");
    age(cache, ".somebody");
    put(b->work, "x", "hello\n");
    assert_int_equal(put_one(b, "x", &files, NULL), 0);
    assert_int_equal(entries(cache), 3); /* the hash, the other machine's and somebody else's */
}

static void what_a_killed_client_left_is_removed(void **state)
{
    with_bench(state, leftovers);
}

static void names_keep_what_yarn_looks_at(void **state)
{
    static const struct {
        const char *path;
        bool packed;
        const char *name, *ending;
    } rows[] = {
        { "/a/env.tar.gz", false, "env.tar.gz", ".tar.gz" },
        { "/a/Env.TGZ", false, "Env.tgz", ".tgz" },
        { "a b$`\".zip", false, "a_b___.zip", ".zip" },
        { "/a/dir/", true, "dir.tar", ".tar" },
        { "x.tar.gz", true, "x.tar.gz.tar", ".tar" },
        { ".hidden", false, "_hidden", "" },
        { ".tar", false, "_tar", "" },
        { "\xc3\xa4.py", false, "__.py", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *name = cache_name(rows[i].path, rows[i].packed);

        assert_non_null(name);
        assert_string_equal(name, rows[i].name);
        assert_string_equal(cache_ending(name), rows[i].ending);
    }
}

static void only_names_of_ours_are_temporary(void **state)
{
    static const char *const names[] = {
        ".put-", ".put-x-1-1-0", ".put-aaaa-1-1-0123456789abcdefx", "put-a-1-1-0", ".gone-x", "",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(cache_temp_maker(names[i]), CACHE_TEMP_NONE);
    assert_int_equal(cache_temp_maker(".put-0-1-1-0123456789abcdef"), CACHE_TEMP_FAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_second_put_sends_nothing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_same_content_under_another_name_is_not_sent, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_sent_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_others_could_write_is_not_used, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_cache_that_others_can_write_to_is_refused, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_changed_file_is_always_seen, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(directories_and_what_is_found_become_archives, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_file_that_changes_meanwhile_is_not_sent, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_a_killed_client_left_is_removed, make_dir, remove_dir),
        cmocka_unit_test(names_keep_what_yarn_looks_at),
        cmocka_unit_test(only_names_of_ours_are_temporary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
