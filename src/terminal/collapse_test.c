/* collapse_test.c - see collapse.h */
#include "base/buf.h"
#include "terminal/collapse.h"
#include "test.h"

#include <string.h>

static int note(void *user, const struct collapse_line *l)
{
    char label[COLLAPSE_LABEL];

    return buf_printf(user, "%s%s %.*s;", collapse_label(l, label),
                      l->stream == PIECE_ERR ? "!" : "", (int)l->len, l->text);
}

/* A line of the test's script: at which time which rank writes what. */
struct step {
    int64_t at;
    uint32_t rank;
    const char *text;
};

static void play(const struct step *steps, const char *expected)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO(collapse) struct collapse *c = NULL;
    uint64_t last[8] = { 0 };

    assert_int_equal(collapse_new(note, &out, &c), 0);
    for (; steps->text; steps++) {
        struct collapse_from from = { .role = "worker",
                                      .rank = steps->rank,
                                      .last = &last[steps->rank] };

        assert_int_equal(collapse_time(c, steps->at), 0);
        assert_int_equal(collapse_add(c, &from, steps->text, strlen(steps->text), steps->at), 0);
    }
    assert_int_equal(collapse_flush(c), 0);
    assert_int_equal(collapse_deadline(c), INT64_MAX);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), expected);
}

static void the_same_line_of_many_ranks_comes_once(void **state)
{
    (void)state;
    play((struct step[]){ { 0, 1, "a" }, { 1, 0, "a" }, { 2, 2, "a" }, { 3, 3, "b" }, { 0 } },
         "worker:0-2 a;worker:3 b;");
}

static void a_rank_that_says_it_twice_is_heard_twice(void **state)
{
    (void)state;
    play((struct step[]){ { 0, 0, "a" }, { 1, 0, "a" }, { 2, 1, "a" }, { 3, 1, "a" }, { 0 } },
         "worker:0,1 a;worker:0,1 a;");
}

static void the_lines_of_a_rank_stay_in_order(void **state)
{
    (void)state;
    play((struct step[]){ { 0, 0, "a" }, { 1, 0, "b" }, { 2, 1, "b" }, { 3, 1, "a" }, { 0 } },
         "worker:0 a;worker:0,1 b;worker:1 a;");
}

static void who_comes_too_late_stands_alone(void **state)
{
    (void)state;
    play((struct step[]){ { 0, 0, "a" }, { COLLAPSE_MS, 1, "a" }, { 0 } },
         "worker:0 a;worker:1 a;");
}

static void roles_and_streams_are_kept_apart(void **state)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO(collapse) struct collapse *c = NULL;
    uint64_t last[3] = { 0 };
    struct collapse_from from[] = {
        { "worker", 0, PIECE_OUT, &last[0] },
        { "worker", 1, PIECE_ERR, &last[1] },
        { "ps", 0, PIECE_OUT, &last[2] },
    };

    (void)state;
    assert_int_equal(collapse_new(note, &out, &c), 0);
    for (size_t i = 0; i < COUNT_OF(from); i++)
        assert_int_equal(collapse_add(c, &from[i], "x", 1, 7), 0);
    assert_int_equal(collapse_deadline(c), 7 + COLLAPSE_MS);
    assert_int_equal(collapse_flush(c), 0);
    assert_non_null(buf_text(&out));
    assert_string_equal(buf_text(&out), "worker:0 x;worker:1! x;ps:0 x;");
}

static void what_is_held_has_a_limit(void **state)
{
    AUTO_BUF out = { .max = 16 * MIB };
    AUTO(collapse) struct collapse *c = NULL;
    AUTO_FREE char *text = calloc(1, MIB);
    uint64_t last = 0;
    struct collapse_from from = { "worker", 0, PIECE_OUT, &last };

    (void)state;
    assert_non_null(text);
    memset(text, 'x', MIB);
    assert_int_equal(collapse_new(note, &out, &c), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(collapse_add(c, &from, text, MIB, 0), 0);
    assert_true(out.len > MIB && out.len < 2 * MIB);
}

static void labels_name_runs_and_count_what_does_not_fit(void **state)
{
    static uint32_t many[1000];
    static const struct {
        uint32_t ranks[6];
        size_t n;
        const char *label;
    } rows[] = {
        { { 3 }, 1, "worker:3" },
        { { 0, 1 }, 2, "worker:0,1" },
        { { 0, 1, 2 }, 3, "worker:0-2" },
        { { 0, 3 }, 2, "worker:0,3" },
        { { 0, 1, 2, 5, 7, 8 }, 6, "worker:0-2,5,7,8" },
    };
    char out[COLLAPSE_LABEL];
    struct collapse_line line = { .role = "worker" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        line.ranks = (uint32_t *)rows[i].ranks;
        line.n_ranks = rows[i].n;
        assert_string_equal(collapse_label(&line, out), rows[i].label);
    }
    for (uint32_t i = 0; i < COUNT_OF(many); i++)
        many[i] = 2 * i;
    line.ranks = many;
    line.n_ranks = COUNT_OF(many);
    assert_string_equal(collapse_label(&line, out),
                        "worker:0,2,4,6,8,10,12,14,16,18,20,22,24,26+986");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_line_of_many_ranks_comes_once),
        cmocka_unit_test(a_rank_that_says_it_twice_is_heard_twice),
        cmocka_unit_test(the_lines_of_a_rank_stay_in_order),
        cmocka_unit_test(who_comes_too_late_stands_alone),
        cmocka_unit_test(roles_and_streams_are_kept_apart),
        cmocka_unit_test(what_is_held_has_a_limit),
        cmocka_unit_test(labels_name_runs_and_count_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
