/* table_test.c - aligned columns. */
#include "cli/table.h"
#include "test.h"

#include <errno.h>

static const struct table_column with_titles[] = { { "NAME", false },
                                                   { "SIZE", true },
                                                   { "WHERE", false } };
static const struct table_column plain[] = { { NULL, true }, { NULL, false } };

/* What the rows of `cells` (NULL-terminated) look like. *ret is the caller's. */
static int show(const struct table_column *columns, size_t n, const char *const *cells, char **ret)
{
    AUTO_TABLE t = { 0 };
    size_t len = 0;
    FILE *out = open_memstream(ret, &len);
    int r;

    if (!out)
        return -ENOMEM;
    table_begin(&t, out, columns, n);
    for (; *cells; cells++)
        table_cell(&t, "%s", *cells);
    r = table_end(&t, NULL);
    return fclose(out) == 0 ? r : -ENOMEM;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const char *const cells[] = { "a", "1", "here", "longer", "12345", "there", NULL };
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(show(with_titles, 3, cells, &text), 0);
    assert_string_equal(text, "NAME     SIZE  WHERE\n"
                              "a           1  here\n"
                              "longer  12345  there\n");
}

static void an_empty_table_still_has_its_header(void **state)
{
    static const char *const cells[] = { NULL };
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(show(with_titles, 3, cells, &text), 0);
    assert_string_equal(text, "NAME  SIZE  WHERE\n");
}

static void a_table_without_titles_has_no_header(void **state)
{
    static const char *const cells[] = { "5", "x", "10", "y", NULL };
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(show(plain, 2, cells, &text), 0);
    assert_string_equal(text, " 5  x\n10  y\n");
}

static void letters_of_two_bytes_count_once_and_control_characters_do_no_harm(void **state)
{
    static const char *const cells[] = { "1", "né", "2", "a\033[2Jb", "3", "\xff", NULL };
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_int_equal(show(plain, 2, cells, &text), 0);
    assert_string_equal(text, "1  né\n2  a\\x1b[2Jb\n3  \\xff\n");
    assert_int_equal(table_width("né"), 2);
}

static void rows_are_printed_in_batches(void **state)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0, lines = 0;
    AUTO_TABLE t = { 0 };
    FILE *out = open_memstream(&text, &len);

    (void)state;
    if (!out)
        return; /* no memory for the test itself */
    table_begin(&t, out, plain, 2);
    for (int i = 0; i < TABLE_BATCH + 5; i++) {
        table_cell(&t, "%d", i);
        table_cell(&t, "x");
    }
    assert_true(t.failed || t.cells.n == 10);
    (void)table_end(&t, NULL);
    if (fclose(out) != 0 || t.failed)
        return;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, TABLE_BATCH + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(an_empty_table_still_has_its_header),
        cmocka_unit_test(a_table_without_titles_has_no_header),
        cmocka_unit_test(letters_of_two_bytes_count_once_and_control_characters_do_no_harm),
        cmocka_unit_test(rows_are_printed_in_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
