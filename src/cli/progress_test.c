/* progress_test.c - see progress.h */
#include "cli/progress.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define MB (1024 * 1024ULL)

static void a_line_says_how_far_how_fast_how_long(void **state)
{
    static const struct {
        struct progress_view v;
        const char *line;
    } rows[] = {
        { { "a.tar", 31 * MB, 50 * MB, 2.0 * MB, 80, false, false },
          "a.tar  =================-----------   62 %  31 MB of 50 MB  2.0 MB/s  0:10 left" },
        { { "a.tar", 0, 50 * MB, 0, 80, false, false },
          "a.tar  ------------------------------    0 %  0 B of 50 MB" },
        { { "a.tar", 50 * MB, 50 * MB, 2.0 * MB, 80, false, false },
          "a.tar  ==============================  100 %  50 MB of 50 MB  2.0 MB/s" },
        { { "a.tar", 50 * MB - 1, 50 * MB, 0, 80, false, false },
          "a.tar  =============================-   99 %  50 MB of 50 MB" },
        { { "-", 5 * MB, 0, 1.0 * MB, 80, false, false }, "-  5.0 MB  1.0 MB/s" },
        { { "a.tar", 31 * MB, 50 * MB, 2.0 * MB, 40, false, false },
          "a.tar   62 %  2.0 MB/s  0:10 left" },
        { { "a.tar", 31 * MB, 50 * MB, 2.0 * MB, 20, false, false }, "a.tar   62 %" },
        { { "a.tar", 31 * MB, 50 * MB, 2.0 * MB, 10, false, false }, "a.tar" },
        { { "a.tar", 31 * MB, 50 * MB, 2.0 * MB, 8, false, false }, "" },
        { { "a.tar", 9 * MB, 5 * MB, 0, 60, false, false }, /* the file grew */
          "a.tar  ===========================  100 %  9.0 MB of 9.0 MB" },
        { { "a-long-file-name-that-goes-on-and-on-and-on.tar", MB, 4 * MB, 0, 60, false, false },
          "a-long-file-name-that-goes-on-an..   25 %  1.0 MB of 4.0 MB" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[PROGRESS_LINE_MAX];
        size_t n = progress_line(&rows[i].v, line);

        assert_string_equal(line, rows[i].line);
        assert_int_equal(n, strlen(line));
    }
}

static void no_line_is_as_wide_as_the_terminal(void **state)
{
    char line[PROGRESS_LINE_MAX];

    (void)state;
    for (unsigned width = 0; width < 400; width++)
        for (uint64_t done = 0; done <= 64; done++) {
            struct progress_view v = {
                .label = "gr\xc3\xbc\xc3\x9f"
                         "e-aus-einem-langen-namen-mit-\x1b[2J.tar.gz",
                .done = done * 3 * MB,
                .total = 192 * MB,
                .rate = (double)(done * done * 1000),
                .width = width,
                .utf8 = width & 1,
                .colour = width & 2,
            };
            size_t columns = progress_line(&v, line), counted = 0;

            assert_true(columns == 0 || columns < width);
            for (const char *s = line; *s; s++) {
                if (*s == '\033') /* one of our two colour sequences */
                    s += 3;
                else
                    counted += (*s & 0xc0) != 0x80;
            }
            assert_int_equal(counted, columns);
        }
}

static void colour_and_utf8_are_used_when_they_are_there(void **state)
{
    struct progress_view v = { "a", 1, 4, 0, 31, true, true };
    char line[PROGRESS_LINE_MAX];

    (void)state;
    progress_line(&v, line);
    assert_string_equal(line, "a  ━━\033[2m──────\033[0m   25 %  1 B of 4 B");
}

static void times_are_short(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } rows[] = {
        { 0, "0:00" },        { 7, "0:07" },          { 750, "12:30" }, { 3600, "1:00:00" },
        { 11100, "3:05:00" }, { 359999, "99:59:59" }, { 360000, "" },   { UINT64_MAX, "" },
    };
    char out[PROGRESS_TIME_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(progress_time(rows[i].seconds, out), rows[i].text);
}

/* Runs with a pseudo-terminal as standard error; what was drawn is read back. */
static size_t drawn(void (*fn)(void), char *text, size_t cap)
{
    AUTO_CLOSE int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    AUTO_CLOSE int saved = dup(STDERR_FILENO);
    AUTO_CLOSE int slave = -1;
    struct winsize w = { .ws_row = 25, .ws_col = 50 };
    size_t all = 0;
    ssize_t n;

    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &w), 0);
    assert_true(dup2(slave, STDERR_FILENO) >= 0);
    fn();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(take_fd(slave)); /* the last one: reading ends with EIO behind what was written */
    while (all < cap - 1 && (n = read(master, text + all, cap - 1 - all)) > 0)
        all += (size_t)n;
    text[all] = '\0';
    return all;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void copy_quickly(void)
{
    AUTO_PROGRESS *p = NULL;

    assert_int_equal(progress_begin("x", 1000, false, &p, NULL), 0);
    assert_non_null(p);
    for (int i = 0; i < 1000; i++)
        progress_add(p, 1);
    progress_wipe(p);
    progress_label(p, "y");
    progress_total(p, 2000);
    progress_set(p, 1000);
}

static void copy_quietly(void)
{
    struct progress *p = NULL;

    assert_int_equal(progress_begin("x", 1000, true, &p, NULL), 0);
    assert_null(p);
    progress_set(p, 1);
    progress_add(p, 1);
    progress_total(p, 1);
    progress_label(p, "");
    progress_wipe(p);
    assert_null(progress_end(p));
}

static void it_is_redrawn_seldom_and_wiped_at_the_end(void **state)
{
    char text[4096];
    int64_t lines = 0, began = now_ms();

    (void)state;
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1);
    setenv("NO_COLOR", "1", 1);
    drawn(copy_quickly, text, sizeof(text));
    for (const char *s = text; (s = strstr(s, "\rx ")) != NULL; s++)
        lines++;
    assert_true(lines >= 1 && lines <= 1 + (now_ms() - began) / 100);
    assert_int_equal(strncmp(text, "\rx  -", 5), 0);
    assert_non_null(strstr(text, "\r\033[K\ry  "));
    assert_string_equal(text + strlen(text) - 4, "\r\033[K");
    assert_null(strstr(text, "\033[2m"));
}

static void nothing_is_drawn_when_quiet_or_on_a_dumb_terminal(void **state)
{
    char text[256];
    struct progress *p = NULL;

    (void)state;
    setenv("TERM", "xterm", 1);
    assert_int_equal(drawn(copy_quietly, text, sizeof(text)), 0);
    setenv("TERM", "dumb", 1);
    assert_int_equal(progress_begin("x", 1, false, &p, NULL), 0);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_how_far_how_fast_how_long),
        cmocka_unit_test(no_line_is_as_wide_as_the_terminal),
        cmocka_unit_test(colour_and_utf8_are_used_when_they_are_there),
        cmocka_unit_test(times_are_short),
        cmocka_unit_test(it_is_redrawn_seldom_and_wiped_at_the_end),
        cmocka_unit_test(nothing_is_drawn_when_quiet_or_on_a_dumb_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
