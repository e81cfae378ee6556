/* journal_test.c - see journal.c. A file that may not grow is as good as a disk that is full. */
#include "base/path.h"
#include "master/master_private.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LINE 1000

struct desk {
    char dir[TEST_PATH];
    char *path;
    struct journal j;
    struct buf want;
};

static void limit_files(rlim_t most)
{
    struct rlimit r;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = most < r.rlim_max ? most : r.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static int set_up(void **state)
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    (void)signal(SIGXFSZ, SIG_IGN); /* as the loop does */
    assert_non_null(test_dir(d->dir, "journal"));
    d->path = path_join(d->dir, "events.jsonl");
    assert_non_null(d->path);
    buf_init(&d->want, 64 * MIB);
    assert_int_equal(journal_open(&d->j, d->path, NULL), 0);
    *state = d;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *d = *state;

    limit_files(RLIM_INFINITY);
    journal_done(&d->j);
    buf_done(&d->want);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d->path);
    free(d);
    return 0;
}

/* A record of LINE bytes. */
static int append(struct desk *d, unsigned number)
{
    char line[LINE + 1];
    int r;

    memset(line, 'x', sizeof(line));
    (void)snprintf(line, 16, "%-15u", number);
    line[15] = 'x';
    line[LINE - 1] = '\n';
    r = journal_append(&d->j, line, LINE);
    if (r == 0)
        assert_int_equal(buf_add(&d->want, line, LINE), 0);
    return r;
}

static void assert_readers_see_all(struct desk *d)
{
    AUTO_BUF got = { .max = 64 * MIB };
    char piece[7777];
    ssize_t n;

    while ((n = journal_read(&d->j, got.len, piece, sizeof(piece))) > 0)
        assert_int_equal(buf_add(&got, piece, (size_t)n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(got.len, d->want.len);
    assert_memory_equal(got.data, d->want.data, got.len);
}

static void assert_file(struct desk *d, const void *p, size_t n)
{
    AUTO_BUF got = { .max = 64 * MIB };

    assert_int_equal(path_read(d->path, &got, NULL), 0);
    assert_int_equal(got.len, n);
    assert_memory_equal(got.data, p, n);
}

static void a_full_disk_loses_no_record(void **state)
{
    struct desk *d = *state;

    limit_files(200 * LINE + 300);
    for (unsigned i = 0; i < 500; i++)
        assert_int_equal(append(d, i), 0);
    assert_true(d->j.failed < 0);
    assert_true(d->j.in_file < 200 * LINE);
    assert_readers_see_all(d);
    assert_file(d, d->want.data, d->j.in_file); /* whole records only */
    assert_true(journal_retry(&d->j) < 0);
    limit_files(RLIM_INFINITY);
    assert_int_equal(append(d, 500), 0);
    assert_int_equal(d->j.failed, 0);
    assert_readers_see_all(d);
    assert_file(d, d->want.data, d->want.len);
}

static void what_is_held_has_a_limit_but_the_end_is_there(void **state)
{
    static const char end[] = "{\"event\":\"end\"}\n";
    struct desk *d = *state;
    unsigned i = 0;

    limit_files(200 * LINE + 300);
    while (append(d, i) == 0)
        assert_true(++i < 100000);
    assert_true(d->j.held.len > 10 * MIB);
    assert_int_equal(append(d, i), -ENOSPC);
    while (journal_append(&d->j, "\n", 1) == 0) /* not a byte is left */
        assert_int_equal(buf_add(&d->want, "\n", 1), 0);
    assert_int_equal(d->j.lost, 3);
    journal_last(&d->j);
    assert_int_equal(journal_append(&d->j, end, sizeof(end) - 1), 0);
    assert_int_equal(buf_add(&d->want, end, sizeof(end) - 1), 0);
    assert_readers_see_all(d);
    i = (unsigned)d->j.in_file;
    journal_close(&d->j);
    {
        AUTO_BUF want = { .max = MIB };

        assert_int_equal(buf_add(&want, d->want.data, i), 0);
        assert_int_equal(buf_add(&want, end, sizeof(end) - 1), 0);
        assert_file(d, want.data, want.len); /* nothing of a record that had no room */
        journal_done(&d->j);
        assert_file(d, want.data, want.len);
    }
}

static void the_reserve_is_given_back(void **state)
{
    struct desk *d = *state;
    struct stat st;

    assert_int_equal(append(d, 1), 0);
    journal_done(&d->j);
    assert_int_equal(stat(d->path, &st), 0);
    assert_int_equal(st.st_size, LINE);
    assert_true(st.st_blocks * 512 < 64 * 1024);
    assert_int_equal(journal_open(&d->j, d->path, NULL), 0);
    assert_int_equal(append(d, 2), 0);
    assert_file(d, d->want.data, 2 * LINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_disk_loses_no_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_held_has_a_limit_but_the_end_is_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_reserve_is_given_back, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
