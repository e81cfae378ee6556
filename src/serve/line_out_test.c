/* line_out_test.c - a pipe that nobody reads, and then somebody does; see line_out.h */
#include "base/str.h"
#include "serve/line_out.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LINE "123456789012345678901234567890123456789012345678901234567890123\n" /* 64 bytes */

struct bench {
    int ends[2];
    struct line_out out;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    *state = b;
    (void)signal(SIGPIPE, SIG_IGN);
    if (!b || pipe(b->ends) < 0)
        return -1;
    line_out_open(&b->out, b->ends[1]);
    return b->out.fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    line_out_done(&b->out);
    for (int i = 0; i < 2; i++)
        if (b->ends[i] >= 0)
            close(b->ends[i]);
    free(b);
    return 0;
}

/* All that there is to read now, after what `ret` has. */
static void drain(struct bench *b, struct buf *ret)
{
    char piece[4096];
    ssize_t n;

    (void)fcntl(b->ends[0], F_SETFL, O_NONBLOCK);
    do {
        n = read(b->ends[0], piece, sizeof(piece));
        if (n > 0)
            assert_int_equal(buf_add(ret, piece, (size_t)n), 0);
        line_out_go(&b->out);
    } while (n > 0);
}

static void lines_come_as_they_were_written(void **state)
{
    struct bench *b = *state;
    AUTO_BUF got = { .max = MIB };

    line_out_add(&b->out, "one\ntw", 6);
    line_out_add(&b->out, "o\n", 2);
    assert_false(line_out_waits(&b->out));
    drain(b, &got);
    assert_string_equal(buf_text(&got), "one\ntwo\n");
}

/* The descriptor that was given waits as it did: others may have it too. */
static void who_does_not_read_holds_nobody_up(void **state)
{
    struct bench *b = *state;
    AUTO_BUF got = { .max = 4 * MIB };
    unsigned long long kept = 0;
    const char *note;

    for (int i = 0; i < 20000;
         i++) /* 1.3 MB: a pipe has 64 KB, and as much again four times waits */
        line_out_add(&b->out, LINE, strlen(LINE));
    assert_true(line_out_waits(&b->out));
    assert_true(b->out.lost > 10000);
    assert_int_equal(fcntl(b->ends[1], F_GETFL) & O_NONBLOCK, 0);
    drain(b, &got);
    assert_false(line_out_waits(&b->out));
    line_out_add(&b->out, "last\n", 5);
    drain(b, &got);
    note = strchr(buf_text(&got), '[');
    assert_non_null(note);
    kept = (unsigned long long)(note - buf_text(&got)) / strlen(LINE);
    for (unsigned long long i = 0; i < kept; i++)
        assert_memory_equal(got.data + i * strlen(LINE), LINE, strlen(LINE));
    assert_int_equal(kept + b->out.lost, 20000);
    assert_int_equal(strtoull(note + 1, NULL, 10), b->out.lost);
    assert_true(str_ends(buf_text(&got), "has read what came before]\nlast\n"));
}

static void a_reader_that_is_gone_is_forgotten(void **state)
{
    struct bench *b = *state;

    for (int i = 0; i < 2000; i++)
        line_out_add(&b->out, LINE, strlen(LINE));
    assert_true(line_out_waits(&b->out));
    close(take_fd(b->ends[0]));
    line_out_go(&b->out);
    assert_false(line_out_waits(&b->out));
    line_out_add(&b->out, LINE, strlen(LINE));
    assert_false(line_out_waits(&b->out));
}

static void a_descriptor_can_be_told_not_to_wait(void **state)
{
    struct bench *b = *state;
    int copy = dup(b->ends[1]);

    line_out_never_wait(copy);
    assert_int_not_equal(fcntl(copy, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(b->ends[1], F_GETFL) & O_NONBLOCK, 0);
    close(copy);
    line_out_never_wait(-1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(lines_come_as_they_were_written),
        T(who_does_not_read_holds_nobody_up),
        T(a_reader_that_is_gone_is_forgotten),
        T(a_descriptor_can_be_told_not_to_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
