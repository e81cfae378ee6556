/* output_spool_test.c - see output_spool.h */
#include "client/logfiles.h"
#include "client/output_spool.h"
#include "test.h"

#include <string.h>

static void add(struct spool *s, const char *task, enum piece_stream stream, uint64_t offset,
                const char *text)
{
    struct piece p = { .kind = PIECE_OUTPUT,
                       .task = task,
                       .stream = stream,
                       .offset = offset,
                       .data = text,
                       .n = strlen(text) };
    struct err err = ERR_INIT;

    assert_int_equal(spool_add(s, &p, &err), 0);
}

static void is(const struct spool *s, size_t i, const char *text)
{
    char all[64] = "";
    uint64_t at = 0;
    size_t n = 0;
    ssize_t got;

    while ((got = spool_read(s, i, &at, all + n, 2)) > 0) {
        n += (size_t)got;
        at += (uint64_t)got;
    }
    assert_int_equal(got, 0);
    all[n] = '\0';
    assert_string_equal(all, text);
    assert_int_equal(spool_size(s, i), at);
}

static void what_is_missing_is_named_once_for_each_task(void **state)
{
    AUTO(spool) struct spool *s = NULL;
    struct piece p = { .kind = PIECE_END, .task = "w:1" };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(spool_new(&s, &err), 0);
    assert_int_equal(spool_add(s, &p, &err), 0);
    assert_int_equal(spool_missing(s)->n, 0);
    p.missing = "too late";
    assert_int_equal(spool_add(s, &p, &err), 0);
    p.stream = PIECE_ERR;
    assert_int_equal(spool_add(s, &p, &err), 0);
    p.task = "w:2";
    assert_int_equal(spool_add(s, &p, &err), 0);
    assert_int_equal(spool_missing(s)->n, 2);
    assert_string_equal(spool_missing(s)->v[0], "w:1: too late");
    assert_string_equal(spool_missing(s)->v[1], "w:2: too late");
}

static void streams_that_came_mixed_are_read_apart(void **state)
{
    AUTO(spool) struct spool *s = NULL;
    struct err err = ERR_INIT;
    enum piece_stream stream;
    const char *task;

    (void)state;
    assert_int_equal(spool_new(&s, &err), 0);
    add(s, "w:1", PIECE_OUT, 0, "one ");
    add(s, "w:0", PIECE_OUT, 0, "a");
    add(s, "w:1", PIECE_OUT, 4, "two ");
    add(s, "w:1", PIECE_OUT, 8, "three");
    add(s, "w:1", PIECE_ERR, 0, "bad");
    add(s, "w:0", PIECE_OUT, 0, "ab"); /* sent again, and more */
    add(s, "w:0", PIECE_OUT, 0, "a");
    is(s, 0, "one two three");
    is(s, 1, "ab");
    is(s, 2, "bad");
    assert_true(spool_stream(s, 2, &task, &stream));
    assert_string_equal(task, "w:1");
    assert_int_equal(stream, PIECE_ERR);
    assert_false(spool_stream(s, 3, &task, &stream));
}

static void bytes_that_never_came_are_passed_over(void **state)
{
    AUTO(spool) struct spool *s = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(spool_new(&s, &err), 0);
    add(s, "w:1", PIECE_OUT, 10, "x");
    add(s, "w:1", PIECE_OUT, 20, "y");
    is(s, 0, "xy");
}

static void a_spool_is_read_like_files(void **state)
{
    static const char *const wanted[] = { "ps:0", "w:0", "w:0", "w:10" };
    AUTO(spool) struct spool *s = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;
    AUTO_LOGREADER *r = NULL;
    uint64_t at = 7, few = 2, many = 9;

    (void)state;
    assert_int_equal(spool_new(&s, &err), 0);
    add(s, "w:10", PIECE_OUT, 0, "1\n2\n");
    add(s, "w:0", PIECE_ERR, 0, "e");
    add(s, "ps:0", PIECE_OUT, 0, "p");
    add(s, "w:10", PIECE_OUT, 4, "3\n4");
    add(s, "w:0", PIECE_OUT, 0, "o");
    assert_int_equal(logfiles_add(s, NULL, &files, &err), 0);
    assert_int_equal(logfiles_add(s, NULL, &files, &err), 0); /* none twice */
    assert_int_equal(files.n, COUNT_OF(wanted));
    for (size_t i = 0; i < files.n; i++)
        assert_string_equal(files.v[i].task, wanted[i]);
    assert_int_equal(logreader_open(&files.v[3], &r, &err), 0);
    assert_int_equal(logreader_size(r), 7);
    assert_int_equal(logreader_tail(r, &few, &at, &err), 0);
    assert_int_equal(at, 4);
    assert_int_equal(logreader_tail(r, &many, &at, &err), 0);
    assert_int_equal(at, 0);
}

/* Of a task that has moved, the first bytes are elsewhere. */
static void the_last_lines_of_what_came_are_found(void **state)
{
    static const struct {
        uint64_t lines, at, left;
    } rows[] = { { 0, 1006, 0 }, { 1, 1004, 0 }, { 2, 1002, 0 }, { 3, 0, 0 }, { 5, 0, 2 } };
    AUTO(spool) struct spool *s = NULL;
    AUTO_LOGFILES files = { 0 };
    AUTO_LOGREADER *r = NULL;

    (void)state;
    assert_int_equal(spool_new(&s, NULL), 0);
    add(s, "w:0", PIECE_OUT, 1000, "1\n2\n3\n");
    assert_int_equal(logfiles_add(s, NULL, &files, NULL), 0);
    assert_int_equal(logreader_open(&files.v[0], &r, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t at = 7, left = rows[i].lines;

        assert_int_equal(logreader_tail(r, &left, &at, NULL), 0);
        assert_int_equal(at, rows[i].at);
        assert_int_equal(left, rows[i].left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_named_once_for_each_task),
        cmocka_unit_test(streams_that_came_mixed_are_read_apart),
        cmocka_unit_test(bytes_that_never_came_are_passed_over),
        cmocka_unit_test(the_last_lines_of_what_came_are_found),
        cmocka_unit_test(a_spool_is_read_like_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
