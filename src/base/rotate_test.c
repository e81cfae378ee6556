/* rotate_test.c - a file that is cut while it grows; see rotate.h */
#include "base/path.h"
#include "base/rotate.h"
#include "base/str.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PIECE ROTATE_STEP
#define LINE 16 /* bytes of "%015d\n" */
#define CHUNK 16384

struct bench {
    char dir[TEST_PATH];
    char *path;
    int fd; /* of who appends */
    unsigned lines;
    struct rotate r;
};

static int teardown(void **state)
{
    struct bench *b = *state;

    if (!b)
        return 0;
    if (b->fd >= 0)
        close(b->fd);
    (void)path_remove(b->dir, NULL);
    free(b->path);
    free(b);
    return 0;
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    int r = -1;

    *state = b;
    if (!b || !test_dir(b->dir, "rotate")) {
        free(b);
        return -1;
    }
    b->path = path_join(b->dir, "worker-0.out");
    b->fd = b->path ? open(b->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : -1;
    r = b->fd < 0 ? -1 : rotate_look(&b->r, b->path);
    if (r < 0)
        (void)teardown(state); /* nobody else does */
    return r;
}

static void grow(struct bench *b, uint64_t bytes)
{
    char text[LINE + 1];

    for (uint64_t n = 0; n < bytes; n += LINE) {
        snprintf(text, sizeof(text), "%015u\n", b->lines++);
        assert_int_equal(write(b->fd, text, LINE), LINE);
    }
}

/* Every line of the whole, from the first that is there, and no other. */
static void assert_whole(struct rotate *r, unsigned lines)
{
    uint64_t at = rotate_begin(r), end = (uint64_t)lines * LINE;
    char text[CHUNK], want[LINE + 1];

    assert_int_equal(rotate_size(r), end);
    while (at < end) {
        ssize_t n = rotate_read(r, at, text, sizeof(text));

        assert_true(n > 0 && n % LINE == 0);
        for (ssize_t i = 0; i < n; i += LINE, at += LINE) {
            snprintf(want, sizeof(want), "%015u\n", (unsigned)(at / LINE));
            assert_memory_equal(text + i, want, LINE);
        }
    }
    assert_int_equal(rotate_read(r, at, text, LINE), 0);
}

/* False where the file system cannot do it. */
static bool cut(struct bench *b, uint32_t keep)
{
    int r = 0;

    while (r == 0)
        r = rotate_copy(&b->r, PIECE, 10000);
    assert_int_equal(r, 1);
    assert_int_equal(rotate_cut(&b->r, PIECE, keep), 0);
    return !b->r.never;
}

#define needs_cut(b, keep)                                                                         \
    do {                                                                                           \
        if (!cut(b, keep))                                                                         \
            skip(); /* it stays whole here */                                                      \
    } while (0)

static void a_file_that_is_cut_is_read_as_before(void **state)
{
    struct bench *b = *state;
    struct rotate other;

    grow(b, PIECE);
    assert_false(rotate_due(&b->r, PIECE));
    grow(b, PIECE);
    assert_true(rotate_due(&b->r, PIECE));
    assert_false(rotate_due(&b->r, 0));
    needs_cut(b, 0);
    assert_whole(&b->r, b->lines);
    grow(b, 2 * PIECE);
    needs_cut(b, 0);
    needs_cut(b, 0);
    grow(b, LINE);
    assert_whole(&b->r, b->lines);
    assert_int_equal(b->r.last, 3);
    assert_int_equal(rotate_look(&other, b->path), 0);
    assert_whole(&other, b->lines);
    assert_int_equal(other.piece, PIECE);
}

static void of_many_pieces_the_newest_stay(void **state)
{
    struct bench *b = *state;
    char byte;

    grow(b, 6 * PIECE);
    for (int i = 0; i < 5; i++)
        needs_cut(b, 2);
    assert_int_equal(b->r.first, 4);
    assert_int_equal(rotate_begin(&b->r), 3 * PIECE);
    assert_int_equal(rotate_read(&b->r, 3 * PIECE - 1, &byte, 1), -ESTALE);
    assert_whole(&b->r, b->lines);
}

/* It has looked once; then the file is cut, by somebody else. */
static void a_reader_learns_of_cuts(void **state)
{
    struct bench *b = *state;
    struct rotate reader;

    grow(b, 3 * PIECE);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    assert_whole(&reader, b->lines);
    needs_cut(b, 0);
    needs_cut(b, 0);
    assert_whole(&reader, b->lines);
    assert_int_equal(reader.last, 2);
}

/* The line that is there, by a reader that has not looked since. */
static void assert_line(struct rotate *r, uint64_t at)
{
    char text[LINE], want[LINE + 1];

    snprintf(want, sizeof(want), "%015u\n", (unsigned)(at / LINE));
    assert_int_equal(rotate_read(r, at, text, LINE), LINE);
    assert_memory_equal(text, want, LINE);
}

static void reading_alone_learns_of_cuts(void **state)
{
    struct bench *b = *state;
    struct rotate reader;

    grow(b, 3 * PIECE);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    needs_cut(b, 0);
    assert_line(&reader, 2 * PIECE);
    needs_cut(b, 0);
    assert_line(&reader, PIECE);
    assert_line(&reader, 2 * PIECE);
}

/* The other half of a cut, a moment later. */
static void *settle(void *arg)
{
    const struct bench *b = arg;
    const struct timespec moment = { .tv_nsec = 20000000 };
    char from[TEST_PATH + 32], to[TEST_PATH + 32];

    test_spare_thread();
    snprintf(from, sizeof(from), "%s.cut", b->path);
    snprintf(to, sizeof(to), "%s.1", b->path);
    (void)nanosleep(&moment, NULL);
    (void)rename(from, to);
    return NULL;
}

static void who_reads_in_the_middle_of_a_cut_waits_for_its_end(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *cut_path = str_printf("%s.cut", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);
    struct rotate reader;
    pthread_t other;

    assert_true(cut_path && one);
    grow(b, 2 * PIECE);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    needs_cut(b, 0);
    assert_int_equal(rename(one, cut_path), 0);
    assert_int_equal(pthread_create(&other, NULL, settle, b), 0);
    assert_line(&reader, 0);
    assert_line(&reader, PIECE);
    assert_int_equal(pthread_join(other, NULL), 0);
}

/* Who cuts was stopped, or killed, before the piece had its name. */
static void a_piece_without_a_name_is_read(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *cut_path = str_printf("%s.cut", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);
    struct rotate reader, other;

    assert_true(cut_path && one);
    grow(b, 3 * PIECE);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    assert_int_equal(rotate_look(&other, b->path), 0);
    needs_cut(b, 0);
    assert_int_equal(rename(one, cut_path), 0);
    assert_line(&reader, 0);
    assert_whole(&reader, b->lines);
    assert_whole(&other, b->lines);
    grow(b, PIECE);
    assert_whole(&reader, b->lines);
    assert_int_equal(rename(cut_path, one), 0); /* it goes on */
    assert_whole(&reader, b->lines);
    needs_cut(b, 0);
    assert_whole(&reader, b->lines);
    needs_cut(b, 1);
    assert_int_equal(rotate_size(&other), (uint64_t)b->lines * LINE);
    assert_whole(&other, b->lines);
}

static void a_copy_that_was_not_taken_off_changes_nothing(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *cut_path = str_printf("%s.cut", b->path);
    AUTO_FREE char *part = str_printf("%s.part", b->path);

    assert_true(cut_path && part);
    grow(b, 2 * PIECE);
    assert_int_equal(rotate_copy(&b->r, PIECE, PIECE), 1);
    assert_int_equal(rename(part, cut_path), 0);
    assert_whole(&b->r, b->lines);
    assert_int_equal(b->r.last, 0);
}

/* A disk that is full does not take another name. */
static void a_piece_that_got_no_name_gets_it_with_the_next(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *cut_path = str_printf("%s.cut", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);

    assert_true(cut_path && one);
    for (int seen = 0; seen < 2; seen++) {
        struct rotate before = b->r;

        grow(b, 4 * PIECE);
        needs_cut(b, 0);
        free(one);
        one = str_printf("%s.%u", b->path, b->r.last);
        assert_true(one && rename(one, cut_path) == 0);
        b->r = before;
        if (seen)
            assert_whole(&b->r, b->lines);
        needs_cut(b, 0);
        assert_int_equal(access(cut_path, F_OK), -1);
        assert_int_equal(b->r.last, before.last + 1);
        needs_cut(b, 0);
        assert_int_equal(b->r.last, before.last + 2);
        assert_whole(&b->r, b->lines);
    }
}

/* A NodeManager that starts again removes the directory: what was written is not less. */
static void pieces_that_were_removed_still_count(void **state)
{
    struct bench *b = *state;
    struct rotate reader;
    char byte;

    grow(b, 3 * PIECE);
    needs_cut(b, 0);
    needs_cut(b, 0);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    assert_int_equal(path_remove(b->dir, NULL), 0);
    assert_int_equal(rotate_size(&reader), 2 * PIECE);
    assert_int_equal(reader.last, 2);
    assert_int_equal(rotate_read(&reader, 0, &byte, 1), -ESTALE);
    assert_int_equal(rotate_read(&reader, 2 * PIECE, &byte, 1), 0);
}

/* So long that the pieces between are gone. */
static void a_reader_that_slept_learns_of_cuts_too(void **state)
{
    struct bench *b = *state;
    struct rotate reader;

    grow(b, 7 * PIECE);
    needs_cut(b, 1);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    for (int i = 0; i < 4; i++)
        needs_cut(b, 1);
    assert_int_equal(rotate_size(&reader), (uint64_t)b->lines * LINE);
    assert_int_equal(rotate_begin(&reader), 4 * PIECE);
    assert_whole(&reader, b->lines);
}

/* The one who cuts is killed just before, and just after; NAME.cut is all that it leaves. */
static void what_was_begun_is_ended(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *left = str_printf("%s.cut", b->path);
    AUTO_FREE char *part = str_printf("%s.part", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);
    struct rotate next;

    assert_true(left && part && one);
    grow(b, 2 * PIECE);
    assert_int_equal(rotate_copy(&b->r, PIECE, PIECE), 1);
    assert_int_equal(rename(part, left), 0);
    assert_int_equal(rotate_look(&next, b->path), 0);
    assert_int_equal(rotate_mend(&next), 0);
    if (next.last == 0)
        skip();
    assert_whole(&next, b->lines);
    assert_int_equal(rename(one, left), 0);
    assert_int_equal(rotate_copy(&b->r, PIECE, 100), 0); /* and had begun another */
    assert_int_equal(rotate_look(&next, b->path), 0);
    assert_int_equal(rotate_mend(&next), 0);
    assert_whole(&next, b->lines);
    assert_int_equal(next.last, 1);
    assert_int_equal(access(part, F_OK), -1);
}

/* The rest begins with the same bytes as the piece. */
static void output_that_repeats_itself_is_cut_once(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *left = str_printf("%s.cut", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);
    struct rotate next;

    assert_true(left && one);
    for (uint64_t n = 0; n < 3 * PIECE; n += LINE)
        assert_int_equal(write(b->fd, "0123456789abcde\n", LINE), LINE);
    needs_cut(b, 0);
    assert_int_equal(rename(one, left), 0);
    assert_int_equal(rotate_look(&next, b->path), 0);
    assert_int_equal(rotate_size(&next), 3 * PIECE);
    assert_int_equal(rotate_look(&next, b->path), 0);
    assert_int_equal(rotate_mend(&next), 0);
    assert_int_equal(next.last, 1);
    assert_int_equal(rotate_size(&next), 3 * PIECE);
}

/* … and one who was killed before the cut has noted the size, too. */
static void what_was_noted_and_not_cut_is_cut(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *left = str_printf("%s.cut", b->path);
    AUTO_FREE char *one = str_printf("%s.1", b->path);
    AUTO_FREE char *whole = malloc(3 * PIECE);
    struct rotate next;

    assert_true(left && one && whole);
    grow(b, 3 * PIECE);
    assert_int_equal(rotate_read(&b->r, 0, whole, 3 * PIECE), 3 * PIECE);
    needs_cut(b, 0);
    assert_int_equal(rename(one, left), 0);
    assert_int_equal(ftruncate(b->fd, 0), 0);
    assert_int_equal(write(b->fd, whole, 3 * PIECE), 3 * PIECE);
    assert_int_equal(rotate_look(&next, b->path), 0);
    assert_whole(&next, b->lines);
    assert_int_equal(next.last, 0);
    assert_int_equal(rotate_mend(&next), 0);
    assert_int_equal(next.last, 1);
    assert_whole(&next, b->lines);
}

static void a_file_that_is_not_there_is_empty(void **state)
{
    struct bench *b = *state;
    AUTO_FREE char *none = path_join(b->dir, "none/worker-1.out");
    struct rotate r;
    char byte;

    assert_non_null(none);
    assert_int_equal(rotate_look(&r, none), 0);
    assert_int_equal(rotate_size(&r), 0);
    assert_int_equal(rotate_read(&r, 0, &byte, 1), 0);
    assert_false(rotate_due(&r, PIECE));
}

static void a_file_that_is_open_is_read_when_it_was_removed(void **state)
{
    struct bench *b = *state;
    struct rotate reader;
    char bytes[PIECE];

    grow(b, 3 * PIECE);
    needs_cut(b, 0);
    needs_cut(b, 0);
    assert_int_equal(rotate_look(&reader, b->path), 0);
    reader.kept = open(b->path, O_RDONLY | O_CLOEXEC);
    assert_true(reader.kept > 0);
    assert_int_equal(path_remove(b->dir, NULL), 0);
    grow(b, LINE);
    assert_int_equal(rotate_size(&reader), 3 * PIECE + LINE);
    assert_int_equal(rotate_read(&reader, 0, bytes, 1), -ESTALE);
    assert_int_equal(rotate_read(&reader, 2 * PIECE, bytes, PIECE), PIECE);
    assert_int_equal(rotate_read(&reader, 3 * PIECE, bytes, PIECE), LINE);
    assert_int_equal(rotate_read(&reader, 3 * PIECE + LINE, bytes, PIECE), 0);
    assert_false(rotate_due(&reader, PIECE));
    close(reader.kept);
}

/* Files of other names, and of other tasks, are none of its pieces. */
static void only_numbers_are_pieces(void **state)
{
    static const char *const names[] = { "worker-0.out.x",  "worker-0.out.01", "worker-0.out.",
                                         "worker-01.out.1", "worker-0.out.-1", "worker-0.out.1x" };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = path_join(b->dir, names[i]);

        assert_non_null(path);
        assert_int_equal(path_write_new(path, "x", 1, 0600, NULL), 0);
    }
    assert_int_equal(rotate_look(&b->r, b->path), 0);
    assert_int_equal(b->r.last, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_file_that_is_cut_is_read_as_before),
        T(of_many_pieces_the_newest_stay),
        T(a_reader_learns_of_cuts),
        T(reading_alone_learns_of_cuts),
        T(who_reads_in_the_middle_of_a_cut_waits_for_its_end),
        T(a_piece_without_a_name_is_read),
        T(a_copy_that_was_not_taken_off_changes_nothing),
        T(a_piece_that_got_no_name_gets_it_with_the_next),
        T(pieces_that_were_removed_still_count),
        T(a_reader_that_slept_learns_of_cuts_too),
        T(what_was_begun_is_ended),
        T(output_that_repeats_itself_is_cut_once),
        T(what_was_noted_and_not_cut_is_cut),
        T(a_file_that_is_not_there_is_empty),
        T(a_file_that_is_open_is_read_when_it_was_removed),
        T(only_numbers_are_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
