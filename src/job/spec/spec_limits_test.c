/* spec_limits_test.c - job files that are large on purpose; apart from the other tests, because
 * each makes many allocations */
#include "job/spec/spec.h"
#include "test.h"

#include <string.h>
#include <time.h>

/* Builds a text of `n` pieces. */
static void add_pieces(struct buf *b, const char *piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(buf_add_str(b, piece), 0);
}

/* The one line about a large text. */
static void expect_line(const void *text, size_t n, const char *line)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };

    spec_init(&s);
    assert_int_equal(spec_parse("job.yaml", text, n, &s, &f), -EINVAL);
    assert_true(f.lines.n >= 1);
    assert_string_equal(f.lines.v[0], line);
}

/* Processor time, as other people's programs may be running. */
static void a_bomb_of_10_mb_is_refused_at_once(void **state)
{
    AUTO_BUF b = { .max = 16 * MIB };
    clock_t start;

    (void)state;
    assert_int_equal(buf_add_str(&b, "a: &a [x, x]\n"), 0);
    add_pieces(&b, "b: &b [*a, *a, *a, *a]\n", 460000);
    assert_true(b.len > 10 * MIB);
    start = clock();
    expect_line(b.data, b.len,
                "job.yaml:1: too large: 10580013 bytes, a job file has at most 4194304");
    assert_true(clock() - start < CLOCKS_PER_SEC / 20);
}

static void limits_hold_against_bombs(void **state)
{
    static const struct {
        const char *head, *piece;
        size_t n;
        const char *line;
    } rows[] = {
        { "", "a: &x [*x, *x, *x, *x, *x]\n", 400000,
          "job.yaml:1: too large: 10800000 bytes, a job file has at most 4194304" },
        { "", "[", 33, "job.yaml:1: lists and maps are nested more than 32 deep" },
        { "", "[", 4000000, "job.yaml:1: lists and maps are nested more than 32 deep" },
        { "", "{a: ", 1000000, "job.yaml:1: lists and maps are nested more than 32 deep" },
        { "a: ", "- ", 2000000,
          "job.yaml:1: not YAML: block sequence entries are not allowed in "
          "this context (column 4)" },
        { "", "- ", 2000000, "job.yaml:1: lists and maps are nested more than 32 deep" },
        { "a: [", "x,", 2000000, "job.yaml:1: too large: more than 100,000 values" },
        { "a: [", "[],", 1000000, "job.yaml:1: too large: more than 100,000 values" },
        { "a: &x [", "y,", 1000000,
          "job.yaml:1: anchors (&name) are not supported: write the value out" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = 16 * MIB };

        assert_int_equal(buf_add_str(&b, rows[i].head), 0);
        add_pieces(&b, rows[i].piece, rows[i].n);
        expect_line(b.data, b.len, rows[i].line);
    }
}

static void long_lists_are_refused(void **state)
{
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    assert_int_equal(buf_add_str(&b, "tags: ["), 0);
    add_pieces(&b, "x,", 4097);
    assert_int_equal(buf_add_str(&b, "]"), 0);
    expect_line(b.data, b.len, "job.yaml:1: tags: 4097 entries; at most 4096 are allowed");
}

static void only_so_many_mistakes_are_shown(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    assert_int_equal(buf_add_str(&b, "env:\n"), 0);
    for (unsigned i = 0; i < 300; i++)
        assert_int_equal(buf_printf(&b, "  A%u: []\n", i), 0);
    spec_init(&s);
    assert_int_equal(spec_parse("job.yaml", b.data, b.len, &s, &f), -EINVAL);
    assert_int_equal(f.lines.n, SPEC_FAULTS_MAX);
    assert_string_equal(f.lines.v[98], "job.yaml:100: env.A98: expected text, found a list");
    assert_string_equal(f.lines.v[99], "… and more errors: fix these first");
    assert_int_equal(f.n, 300);
}

static void more_than_64_roles_are_refused(void **state)
{
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    assert_int_equal(buf_add_str(&b, "roles:\n"), 0);
    for (unsigned i = 0; i < 65; i++)
        assert_int_equal(buf_printf(&b, "  r%u: 1\n", i), 0);
    expect_line(b.data, b.len, "job.yaml:66: roles.r64: too many roles: a job has at most 64");
}

static void more_values_than_can_be_read_back_are_refused(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    assert_int_equal(buf_add_str(&b, "roles: {w: 1}\ncommand: x"), 0);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(buf_add_str(&b, " a"), 0);
    spec_init(&s);
    assert_int_equal(spec_parse("j", b.data, b.len, &s, &f), 0);
    assert_int_equal(spec_check(&s, &f), -EINVAL);
    assert_int_equal(f.lines.n, 1);
    assert_string_equal(f.lines.v[0], "j:2: command: all roles together have more than 100,000 "
                                      "command words, variables and files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bomb_of_10_mb_is_refused_at_once),
        cmocka_unit_test(limits_hold_against_bombs),
        cmocka_unit_test(long_lists_are_refused),
        cmocka_unit_test(only_so_many_mistakes_are_shown),
        cmocka_unit_test(more_than_64_roles_are_refused),
        cmocka_unit_test(more_values_than_can_be_read_back_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
