/* live_block_test.c - see live_block.h */
#include "terminal/live_block.h"
#include "test.h"

#include <string.h>

static const char document[] =
    "{\"job\":\"local-1\",\"name\":\"mnist\",\"state\":\"RUNNING\",\"created\":1000000,"
    "\"restarts\":1,\"waiting\":\"have 1 of 2 workers\","
    "\"progress\":{\"step\":120,\"total\":1000,\"eta_ms\":310000},"
    "\"roles\":[{\"name\":\"ps\",\"count\":1,\"states\":{\"RUNNING\":1}},"
    "{\"name\":\"worker\",\"count\":2,\"states\":{\"WAITING\":1,\"RUNNING\":1},\"step\":120,"
    "\"total\":1000}],"
    "\"tasks\":[{\"task\":\"ps:0\",\"role\":\"ps\",\"metrics\":null},"
    "{\"task\":\"worker:0\",\"role\":\"worker\",\"metrics\":{\"loss\":0.3125,\"acc\":1}}]}";

static json_t *status_of(const char *text)
{
    struct err err = ERR_INIT;
    json_t *v = NULL;

    if (json_parse("test", text, strlen(text), &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

static void check(const struct live_view *v, const char *expected)
{
    AUTO_BUF out = { .max = 64 * KIB };
    struct live l = { 0 };

    assert_int_equal(live_draw(&l, v, &out), 0);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), expected);
}

static void the_block_says_what_runs_and_how_far_it_is(void **state)
{
    AUTO_JSON *status = status_of(document);
    struct live_view v = { .status = status, .now = 1042000, .width = 80, .rows = 24 };

    (void)state;
    check(&v, "mnist  running  42 s  120/1000 12 %  5:10 left  1 restart\n"
              "  ps      1 running\n"
              "  worker  1 running, 1 waiting  120/1000 12 %  loss 0.3125  acc 1\n"
              "  have 1 of 2 workers");
    v.colour = true;
    v.rows = 4; /* two lines: the head and one for the roles */
    check(&v, "\033[1mmnist  running  42 s  120/1000 12 %  5:10 left  1 restart\033[0m\n"
              "\033[2m  and 2 more roles\033[0m");
}

static void no_line_is_as_wide_as_the_terminal(void **state)
{
    AUTO_JSON *status = status_of(document);

    (void)state;
    for (unsigned width = 0; width < 100; width++) {
        AUTO_BUF out = { .max = 64 * KIB };
        struct live_view v = {
            .status = status, .now = 1042000, .width = width, .rows = 24, .utf8 = width & 1
        };
        struct live l = { 0 };
        unsigned columns = 0;

        assert_int_equal(live_draw(&l, &v, &out), 0);
        assert_int_equal(l.n, 4);
        for (size_t i = 0; i < out.len; i++) {
            if (out.data[i] == '\n')
                columns = 0;
            else
                columns += (out.data[i] & 0xc0) != 0x80;
            assert_true(columns < width || (width <= 2 && columns <= 1));
        }
    }
}

static void wiping_takes_away_what_was_drawn(void **state)
{
    static const struct {
        struct live l;
        unsigned width;
        const char *bytes;
    } rows[] = {
        { { 0 }, 80, "" },
        { { 1, { 10 } }, 80, "\r\033[J" },
        { { 3, { 10, 20, 30 } }, 80, "\r\033[2A\033[J" },
        { { 2, { 70, 79 } }, 40, "\r\033[3A\033[J" }, /* the window became narrower */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = 4096 };
        struct live l = rows[i].l;

        assert_int_equal(live_wipe(&l, rows[i].width, &out), 0);
        assert_int_equal(l.n, 0);
        assert_non_null(buf_text(&out));
        assert_string_equal(buf_text(&out), rows[i].bytes);
    }
}

static void a_document_with_nothing_in_it_is_fine(void **state)
{
    AUTO_JSON *status = status_of("{\"roles\":[{}],\"tasks\":[{}],\"name\":\"a\\u001b[Hb\"}");
    struct live_view v = { .status = status, .now = 5, .width = 80, .rows = 24 };

    (void)state;
    check(&v, "a\\x1b[Hb    0 ms\n    -");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_says_what_runs_and_how_far_it_is),
        cmocka_unit_test(no_line_is_as_wide_as_the_terminal),
        cmocka_unit_test(wiping_takes_away_what_was_drawn),
        cmocka_unit_test(a_document_with_nothing_in_it_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
