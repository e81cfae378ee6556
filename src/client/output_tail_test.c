/* output_tail_test.c - see output_tail.h */
#include "client/client_files_testing.h"
#include "client/output_tail.h"

static const bool both[2] = { true, true };

/* A task that was on three machines, and another. */
static void list_parts(const char *dir, struct fs *fs, struct logfiles *ret)
{
    put(dir, "worker-0.1.out", "one\ntwo\n");
    put(dir, "worker-0.2.out", "three\n");
    put(dir, "worker-0.out", "four\nfive\n");
    put(dir, "worker-0.err", "bad\nworse\n");
    put(dir, "worker-1.out", "six\nseven\n");
    assert_int_equal(logfiles_list(fs, dir, NULL, ret, NULL), 0);
    assert_int_equal(ret->n, 5);
}

static const struct {
    int64_t lines;
    uint64_t begins[5]; /* worker:0's parts 1, 2 and the last, its errors, worker:1 */
} rows[] = {
    { -1, { 0, 0, 0, 0, 0 } },  { 0, { 8, 6, 10, 10, 10 } }, { 1, { 8, 6, 5, 4, 4 } },
    { 2, { 8, 6, 0, 0, 0 } },   { 3, { 8, 0, 0, 0, 0 } },    { 4, { 4, 0, 0, 0, 0 } },
    { 100, { 0, 0, 0, 0, 0 } },
};

static void the_last_lines_may_be_in_several_parts(void **state)
{
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    list_parts(*state, local_files(&set), &files);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t begins[5] = { 77, 77, 77, 77, 77 };

        assert_int_equal(tail_begins(&files, both, rows[i].lines, begins, &err), 0);
        assert_memory_equal(begins, rows[i].begins, sizeof(begins));
    }
}

/* Who follows them counts all that a stream has, whichever file it is in. */
static void bytes_before_the_last_lines_count_in_all_parts(void **state)
{
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    list_parts(*state, local_files(&set), &files);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const uint64_t *b = rows[i].begins;
        AUTO_JSON *skips = json_object();

        assert_int_equal(tail_skips(&files, both, rows[i].lines, skips, &err), 0);
        assert_int_equal(tail_skip(skips, "worker:0", PIECE_OUT), b[0] + b[1] + b[2]);
        assert_int_equal(tail_skip(skips, "worker:0", PIECE_ERR), b[3]);
        assert_int_equal(tail_skip(skips, "worker:1", PIECE_OUT), b[4]);
        assert_int_equal(tail_skip(skips, "worker:1", PIECE_ERR), 0);
    }
}

/* Those that no stream brings are counted by themselves. */
static void bytes_of_earlier_files_count_apart(void **state)
{
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    list_parts(*state, local_files(&set), &files);
    files.v[0].earlier = files.v[1].earlier = true;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const uint64_t *b = rows[i].begins;
        AUTO_JSON *skips = json_object();

        assert_int_equal(tail_skips(&files, both, rows[i].lines, skips, &err), 0);
        assert_int_equal(tail_skip(skips, "worker:0", PIECE_OUT), b[2]);
        assert_int_equal(tail_skip_earlier(skips, "worker:0", PIECE_OUT), b[0] + b[1]);
        assert_int_equal(tail_skip_earlier(skips, "worker:0", PIECE_ERR), 0);
    }
}

static void what_cannot_be_read_takes_nothing_from_others(void **state)
{
    static const bool out[2] = { true, false };
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES files = { 0 };
    AUTO_JSON *skips = json_object();
    struct err err = ERR_INIT;

    list_parts(*state, local_files(&set), &files);
    free(files.v[1].path);
    files.v[1].path = path_join(files.v[0].path, "below-a-file");
    assert_non_null(files.v[1].path);
    assert_int_equal(tail_skips(&files, out, 1, skips, &err), 0);
    assert_int_equal(tail_skip(skips, "worker:0", PIECE_OUT), 0);
    assert_int_equal(tail_skip(skips, "worker:0", PIECE_ERR), 0); /* not asked for */
    assert_int_equal(tail_skip(skips, "worker:1", PIECE_OUT), 4);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(the_last_lines_may_be_in_several_parts),
        CLAIM(bytes_before_the_last_lines_count_in_all_parts),
        CLAIM(bytes_of_earlier_files_count_apart),
        CLAIM(what_cannot_be_read_takes_nothing_from_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
