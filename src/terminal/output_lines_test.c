/* output_lines_test.c - see output_lines.h */
#include "base/str.h"
#include "terminal/output_lines.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* What a show wrote: both streams, and both in the order they came. */
struct seen {
    struct buf to[2], all;
};

static int see(void *user, enum piece_stream stream, const void *p, size_t n)
{
    struct seen *s = user;

    if (buf_add(&s->to[stream], p, n) < 0 || buf_add(&s->all, p, n) < 0)
        return -ENOMEM;
    return 0;
}

static void seen_done(struct seen *s)
{
    buf_done(&s->to[0]);
    buf_done(&s->to[1]);
    buf_done(&s->all);
}
static void auto_seen_(struct seen *s)
{
    seen_done(s);
}
#define AUTO_SEEN AUTO(seen) struct seen
#define SEEN                                                                                       \
    {                                                                                              \
        { { .max = 8 * MIB }, { .max = 8 * MIB } },                                                \
        {                                                                                          \
            .max = 16 * MIB                                                                        \
        }                                                                                          \
    }

static struct show *show_of(struct show_options o, struct seen *seen)
{
    struct show *s = NULL;

    o.sink = see;
    o.user = seen;
    assert_int_equal(show_new(&o, &s), 0);
    return s;
}

static void put(struct show *s, const char *task, enum piece_stream stream, const char *text,
                int64_t now)
{
    struct piece p = { .kind = PIECE_OUTPUT, .task = task, .stream = stream };

    p.data = text;
    p.n = strlen(text);
    assert_int_equal(show_piece(s, &p, now), 0);
}

static void end_of(struct show *s, const char *task, enum piece_stream stream)
{
    struct piece p = { .kind = PIECE_END, .task = task, .stream = stream };

    assert_int_equal(show_piece(s, &p, 0), 0);
}

static void assert_seen(struct buf *b, const char *text)
{
    assert_non_null(buf_text(b));
    assert_string_equal(buf_text(b), text);
}

#define PREFIXED ((struct show_options){ .prefix = true })
#define TERMINAL                                                                                   \
    ((struct show_options){ .prefix = true, .to = { { true, false }, { true, false } } })

static void lines_carry_their_task_and_go_to_their_stream(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    assert_int_equal(show_task(s, "worker:10"), 0);
    put(s, "worker:1", PIECE_OUT, "one\n\ntwo\n", 0);
    put(s, "worker:10", PIECE_ERR, "oops\n", 0);
    put(s, "ps:0", PIECE_OUT, "three\n", 0);
    assert_int_equal(show_end(s, 0), 0);
    assert_seen(&seen.to[PIECE_OUT],
                "worker:1 │ one\nworker:1 │\nworker:1 │ two\nps:0     │ three\n");
    assert_seen(&seen.to[PIECE_ERR], "worker:10│ oops\n");
}

static void pieces_of_a_line_are_put_together_and_never_mixed(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "a", 0);
    put(s, "w:1", PIECE_OUT, "x", 0);
    put(s, "w:0", PIECE_OUT, "b", 0);
    put(s, "w:1", PIECE_OUT, "y\n", 0);
    put(s, "w:0", PIECE_OUT, "c\nd", 0);
    assert_seen(&seen.all, "w:1│ xy\nw:0│ abc\n");
    end_of(s, "w:0", PIECE_OUT);
    assert_int_equal(show_end(s, 0), 0);
    assert_seen(&seen.all, "w:1│ xy\nw:0│ abc\nw:0│ d\n");
}

static void an_unfinished_line_is_shown_after_a_second(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    assert_int_equal(show_deadline(s), INT64_MAX);
    put(s, "w:0", PIECE_OUT, "loading ", 100);
    assert_int_equal(show_deadline(s), 100 + SHOW_WAIT_MS);
    assert_int_equal(show_tick(s, 99 + SHOW_WAIT_MS), 0);
    assert_seen(&seen.all, "");
    assert_int_equal(show_tick(s, 100 + SHOW_WAIT_MS), 0);
    assert_seen(&seen.all, "w:0│ loading ");
    assert_int_equal(show_deadline(s), INT64_MAX);
    put(s, "w:0", PIECE_OUT, "done\n", 2000);
    assert_seen(&seen.all, "w:0│ loading done\n");
    put(s, "w:0", PIECE_OUT, "more ", 3000);
    assert_int_equal(show_tick(s, 5000), 0);
    put(s, "w:1", PIECE_OUT, "other\n", 5000);
    put(s, "w:0", PIECE_OUT, "rest\n", 5000);
    assert_seen(&seen.all, "w:0│ loading done\nw:0│ more \nw:1│ other\nw:0│ rest\n");
}

static void time_counts_from_the_beginning_of_the_line(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "a", 0);
    put(s, "w:0", PIECE_OUT, "\nb", 900);
    assert_int_equal(show_deadline(s), 900 + SHOW_WAIT_MS);
    put(s, "w:0", PIECE_OUT, "c", 1000);
    assert_int_equal(show_deadline(s), 900 + SHOW_WAIT_MS);
}

/* A byte for each of what the test writes; no pattern that a mistake could repeat. */
static char byte_at(size_t i)
{
    return (char)(i * 7919 % 251 + (i * 7919 % 251 >= 10));
}

static void without_prefixes_every_byte_is_as_it_was(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of((struct show_options){ 0 }, &seen);
    AUTO_FREE char *all = malloc(300 * KIB);
    size_t at = 0, n = 300 * KIB;

    (void)state;
    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        all[i] = i % 70000 == 69999 ? '\n' : byte_at(i);
    for (size_t step = 1; at < n; step = step * 3 + 1) {
        size_t some = n - at < step ? n - at : step;
        struct piece p = { .kind = PIECE_OUTPUT, .task = "w:0", .data = all + at, .n = some };

        assert_int_equal(show_piece(s, &p, (int64_t)at), 0);
        assert_int_equal(show_tick(s, (int64_t)at), 0);
        at += some;
    }
    end_of(s, "w:0", PIECE_OUT);
    assert_int_equal(show_end(s, (int64_t)n), 0);
    assert_int_equal(seen.to[PIECE_OUT].len, n);
    assert_memory_equal(seen.to[PIECE_OUT].data, all, n);
}

static void a_very_long_line_comes_in_parts(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);
    AUTO_FREE char *x = calloc(1, SHOW_LINE_MAX + 11);

    (void)state;
    assert_non_null(x);
    memset(x, 'x', SHOW_LINE_MAX + 10);
    put(s, "w:0", PIECE_OUT, x, 0);
    assert_int_equal(seen.all.len, SHOW_LINE_MAX + strlen("w:0│ "));
    put(s, "w:1", PIECE_OUT, "between\n", 0);
    put(s, "w:0", PIECE_OUT, "!\n", 0);
    buf_eat(&seen.all, SHOW_LINE_MAX + strlen("w:0│ "));
    assert_seen(&seen.all, "\nw:1│ between\nw:0│ xxxxxxxxxx!\n");
    assert_int_equal(s == NULL, 0);
}

static void a_cut_falls_between_characters(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(TERMINAL, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "gr\xc3", 0);
    assert_int_equal(show_tick(s, 1000), 0);
    assert_seen(&seen.all, "w:0│ gr\n");
    put(s, "w:0", PIECE_OUT, "\xbc\n", 1000);
    put(s, "w:0", PIECE_OUT, "end\xc3", 1000);
    end_of(s, "w:0", PIECE_OUT);
    assert_seen(&seen.all, "w:0│ gr\nw:0│ ü\nw:0│ end\\xc3\n");
}

static void on_a_terminal_bars_are_seen_as_they_are_last(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(TERMINAL, &seen);

    (void)state;
    put(s, "w:0", PIECE_ERR, "\r 10%\r 20%", 0);
    put(s, "w:0", PIECE_ERR, "\r 30%", 500);
    assert_int_equal(show_tick(s, SHOW_BAR_MS - 1), 0);
    assert_seen(&seen.all, "");
    assert_int_equal(show_tick(s, SHOW_BAR_MS), 0);
    assert_seen(&seen.all, "w:0│  30%\n");
    put(s, "w:0", PIECE_ERR, "\r 40%\r100%\n\033[2Jx\r\n", 6000);
    assert_seen(&seen.all, "w:0│  30%\nw:0│ 100%\nw:0│ x\n");
}

static void a_bar_of_any_length_needs_no_more_room(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(TERMINAL, &seen);

    (void)state;
    for (int i = 0; i < 20000; i++)
        put(s, "w:0", PIECE_ERR, "\rstep of very many steps", 0);
    put(s, "w:0", PIECE_ERR, "\rlast\n", 0);
    assert_seen(&seen.all, "w:0│ last\n");
}

static void elsewhere_a_bar_passes_as_it_is(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "\r10%\r20%\033[K\xff\n", 0);
    assert_seen(&seen.all, "w:0│ \r10%\r20%\033[K\xff\n");
}

static void colours_follow_the_task(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .prefix = true, .to = { { true, true }, { false, false } } };
    AUTO(show) struct show *s = show_of(o, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "a\n", 0);
    put(s, "w:1", PIECE_OUT, "b\n", 0);
    put(s, "w:1", PIECE_ERR, "c\n", 0);
    assert_seen(&seen.to[PIECE_OUT], "\033[36mw:0│\033[0m a\n\033[33mw:1│\033[0m b\n");
    assert_seen(&seen.to[PIECE_ERR], "w:1│ c\n");
}

static void a_terminal_without_utf8_gets_ascii(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .prefix = true, .ascii = true, .to = { { true, false } } };
    AUTO(show) struct show *s = show_of(o, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "a\n", 0);
    assert_seen(&seen.all, "w:0| a\n");
}

static void timestamps_are_the_time_of_day(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .prefix = true, .timestamps = true, .wall = 1763274830000 };
    AUTO(show) struct show *s = NULL;

    (void)state;
    setenv("TZ", "UTC", 1);
    s = show_of(o, &seen);
    put(s, "w:0", PIECE_OUT, "a\n", 123);
    assert_seen(&seen.all, "06:33:50.123 w:0│ a\n");
}

static void order_between_the_streams_is_kept(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .prefix = true, .joined = true };
    AUTO(show) struct show *s = show_of(o, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "1\n", 0);
    put(s, "w:0", PIECE_ERR, "2\n", 0);
    put(s, "w:0", PIECE_OUT, "3 ", 0);
    assert_int_equal(show_tick(s, 1000), 0);
    put(s, "w:0", PIECE_ERR, "4\n", 1000);
    assert_seen(&seen.all, "w:0│ 1\nw:0│ 2\nw:0│ 3 \nw:0│ 4\n");
}

static void two_files_do_not_disturb_each_other(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of((struct show_options){ 0 }, &seen);

    (void)state;
    put(s, "w:0", PIECE_OUT, "no end", 0);
    end_of(s, "w:0", PIECE_OUT);
    put(s, "w:0", PIECE_ERR, "err", 0);
    end_of(s, "w:0", PIECE_ERR);
    assert_int_equal(show_end(s, 0), 0);
    assert_seen(&seen.to[PIECE_OUT], "no end");
    assert_seen(&seen.to[PIECE_ERR], "err");
}

static void collapsed_lines_come_once(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .prefix = true, .collapse = true };
    AUTO(show) struct show *s = show_of(o, &seen);

    (void)state;
    for (int i = 0; i < 8; i++) {
        char task[16];

        snprintf(task, sizeof(task), "worker:%d", i);
        put(s, task, PIECE_OUT, "hello\n", i);
    }
    put(s, "worker:3", PIECE_OUT, "alone\nunfinished", 10);
    assert_seen(&seen.all, "");
    assert_int_equal(show_deadline(s), 200);
    assert_int_equal(show_tick(s, 200), 0);
    assert_seen(&seen.all, "worker:0-7│ hello\n");
    assert_int_equal(show_end(s, 300), 0);
    assert_seen(&seen.all, "worker:0-7│ hello\nworker:3│ alone\nworker:3│ unfinished\n");
}

static void json_lines_carry_any_bytes(void **state)
{
    AUTO_SEEN seen = SEEN;
    struct show_options o = { .json = true };
    AUTO(show) struct show *s = show_of(o, &seen);
    struct piece nul = { .kind = PIECE_OUTPUT, .task = "w:0", .data = "a\0b\xff\n", .n = 5 };

    (void)state;
    assert_int_equal(show_piece(s, &nul, 0), 0);
    put(s, "w:1", PIECE_ERR, "cut", 0);
    end_of(s, "w:1", PIECE_ERR);
    assert_seen(&seen.to[PIECE_OUT],
                "{\"output\":{\"task\":\"w:0\",\"stream\":\"out\",\"text\":\"a\xef\xbf\xbd"
                "b\xef\xbf\xbd\",\"whole\":true}}\n"
                "{\"output\":{\"task\":\"w:1\",\"stream\":\"err\",\"text\":\"cut\","
                "\"whole\":false}}\n");
    assert_seen(&seen.to[PIECE_ERR], "");
}

static void many_tasks_are_told_apart(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);
    char task[32], wanted[64];

    (void)state;
    for (int i = 0; i < 2000; i++) {
        snprintf(task, sizeof(task), "worker:%d", i);
        put(s, task, PIECE_OUT, "x", 0);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(task, sizeof(task), "worker:%d", i);
        put(s, task, PIECE_OUT, "y\n", 0);
        snprintf(wanted, sizeof(wanted), "worker:%-4d│ xy\n", i);
        assert_seen(&seen.all, wanted);
        buf_reset(&seen.all);
    }
    assert_int_equal(show_task(s, "no task"), -EINVAL);
}

static void piece_at(struct show *s, uint64_t offset, const char *text)
{
    struct piece p = { .kind = PIECE_OUTPUT, .task = "w:0", .offset = offset, .data = text };

    p.n = strlen(text);
    assert_int_equal(show_piece(s, &p, 0), 0);
}

/* Another sender begins at the beginning, in pieces of its own. */
static void what_was_shown_does_not_come_again(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    piece_at(s, 0, "one\ntwo\nthr");
    show_resume(s);
    piece_at(s, 0, "one\n");
    piece_at(s, 4, "two\nthree\nfo");
    show_resume(s);
    piece_at(s, 0, "one\ntwo\nthree\nfo");
    piece_at(s, 16, "ur\n");
    assert_seen(&seen.all, "w:0│ one\nw:0│ two\nw:0│ three\nw:0│ four\n");
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 19);
    /* Without a new sender offsets are taken as they come. */
    piece_at(s, 0, "five\n");
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 5);
    assert_true(str_ends(buf_text(&seen.all), "five\n"));
}

/* A master that knows nothing of the one before it starts every task again. */
static void a_job_that_begins_anew_is_shown_from_its_beginning(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);

    (void)state;
    piece_at(s, 0, "one\ntwo\nthr");
    show_resume(s);
    assert_int_equal(show_begin_anew(s, 0), 0);
    piece_at(s, 0, "one\n");
    piece_at(s, 4, "two\nthree\n");
    assert_seen(&seen.all, "w:0│ one\nw:0│ two\nw:0│ thr\nw:0│ one\nw:0│ two\nw:0│ three\n");
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 14);
    assert_int_equal(show_file(s, "w:0", PIECE_OUT), 0);
}

/* A new master that starts a task again, on another machine, counts its output from 0. */
static void a_file_that_begins_later_is_shown_from_its_beginning(void **state)
{
    AUTO_SEEN seen = SEEN;
    AUTO(show) struct show *s = show_of(PREFIXED, &seen);
    struct piece p = { .kind = PIECE_OUTPUT, .task = "w:0", .data = "one\ntwo\n", .n = 8 };

    (void)state;
    piece_at(s, 0, "one\n");
    show_resume(s);
    p.began = 2;
    assert_int_equal(show_piece(s, &p, 0), 0);
    assert_seen(&seen.all, "w:0│ one\nw:0│ one\nw:0│ two\n");
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 12);
    assert_int_equal(show_file(s, "w:0", PIECE_OUT), 4);
    buf_reset(&seen.all);
    show_resume(s); /* the same file from a third */
    p.data = "one\ntwo\nfour\n";
    p.n = 13;
    assert_int_equal(show_piece(s, &p, 0), 0);
    assert_seen(&seen.all, "w:0│ four\n");
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 17);
    assert_int_equal(show_file(s, "w:0", PIECE_OUT), 4);
    p.began = 3; /* the same master counts on, and knows of more than it has sent */
    p.offset = 20;
    assert_int_equal(show_piece(s, &p, 0), 0);
    assert_int_equal(show_offset(s, "w:0", PIECE_OUT), 37);
    assert_int_equal(show_file(s, "w:0", PIECE_OUT), 24);
    assert_int_equal(show_file(s, "w:1", PIECE_OUT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_carry_their_task_and_go_to_their_stream),
        cmocka_unit_test(pieces_of_a_line_are_put_together_and_never_mixed),
        cmocka_unit_test(an_unfinished_line_is_shown_after_a_second),
        cmocka_unit_test(time_counts_from_the_beginning_of_the_line),
        cmocka_unit_test(without_prefixes_every_byte_is_as_it_was),
        cmocka_unit_test(a_very_long_line_comes_in_parts),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(on_a_terminal_bars_are_seen_as_they_are_last),
        cmocka_unit_test(a_bar_of_any_length_needs_no_more_room),
        cmocka_unit_test(elsewhere_a_bar_passes_as_it_is),
        cmocka_unit_test(colours_follow_the_task),
        cmocka_unit_test(a_terminal_without_utf8_gets_ascii),
        cmocka_unit_test(timestamps_are_the_time_of_day),
        cmocka_unit_test(order_between_the_streams_is_kept),
        cmocka_unit_test(two_files_do_not_disturb_each_other),
        cmocka_unit_test(collapsed_lines_come_once),
        cmocka_unit_test(json_lines_carry_any_bytes),
        cmocka_unit_test(many_tasks_are_told_apart),
        cmocka_unit_test(what_was_shown_does_not_come_again),
        cmocka_unit_test(a_job_that_begins_anew_is_shown_from_its_beginning),
        cmocka_unit_test(a_file_that_begins_later_is_shown_from_its_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
