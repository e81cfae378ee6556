/* doc_test.c - one JSON document, written piece by piece. */
#include "cli/doc.h"
#include "cli/exit.h"
#include "test.h"

#include <string.h>

/* What is written to standard output while `fn` runs; */
static void capture(void (*fn)(void), char *out, size_t cap)
{
    FILE *f = tmpfile();
    int saved = dup(STDOUT_FILENO);
    ssize_t n;

    fflush(stdout);
    assert_true(f && saved >= 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
    fn();
    fflush(stdout);
    n = pread(fileno(f), out, cap - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    (void)dup2(saved, STDOUT_FILENO);
    close(saved);
    (void)fclose(f);
}

static void write_two_and_an_error(void)
{
    struct doc d;
    struct err err = ERR_INIT;

    doc_begin(&d, true, "things");
    (void)doc_add(&d, json_integer(1), NULL);
    (void)doc_add(&d, json_text("b\xff"), NULL);
    err_set(&err, -ENOENT, "'x' is not there");
    doc_error(&d, "x", -ENOENT, &err);
    (void)doc_end(&d, NULL);
}

static void a_document_has_its_list_and_its_errors(void **state)
{
    char text[1024];
    AUTO_JSON *v = NULL;

    (void)state;
    capture(write_two_and_an_error, text, sizeof(text));
    if (json_parse("output", text, strlen(text), &v, NULL) < 0)
        fail_msg("not JSON: %s", text);
    assert_int_equal(json_array_size(json_object_get(v, "things")), 2);
    assert_int_equal(json_array_size(json_object_get(v, "errors")), 1);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(v, "errors"), 0), "operand")),
                        "x");
}

static void write_nothing(void)
{
    struct doc d;

    doc_begin(&d, true, "things");
    (void)doc_end(&d, NULL);
}

static void an_empty_list_is_a_document_too(void **state)
{
    char text[256];

    (void)state;
    capture(write_nothing, text, sizeof(text));
    assert_string_equal(text, "{\"things\":[],\"errors\":[]}\n");
}

static void write_without_json(void)
{
    struct doc d;
    struct err err = ERR_INIT;

    doc_begin(&d, false, "things");
    err_set(&err, -EIO, "no");
    doc_error(&d, NULL, -EIO, &err);
    (void)doc_end(&d, NULL);
}

static void nothing_is_written_unless_it_is_asked_for(void **state)
{
    char text[256];

    (void)state;
    capture(write_without_json, text, sizeof(text));
    assert_string_equal(text, "");
}

static void a_template_shows_values_by_their_form(void **state)
{
    static const struct {
        const char *template, *text; /* text NULL: there is nothing to show */
    } rows[] = {
        { "{name}", "a" },
        { "{at.host}:{at.port}", "h:8032" },
        { "{mb|mb} of {bytes|size}", "1.5 GB of 2.0 KB" },
        { "{state|lower}", "running" },
        { "{labels}", "gpu,fast" },
        { "{ports}", "1,2" },
        { "{part|percent}, {part|share}", "0.5 %, 50 %" },
        { "{zero} left", "0 left" },
        { "{unknown|known}", NULL },
        { "{name|known}", "a" },
        { "{none}", NULL },
        { "{empty}", NULL },
        { "{null}", NULL },
        { "{null|when}", NULL },
        { "{name} and {missing.more} more", NULL },
        { "{neither}", NULL },
        { "plain", "plain" },
    };
    AUTO_JSON *v = NULL;

    (void)state;
    if (json_make(&v, NULL,
                  "{s:s, s:{s:s, s:i}, s:i, s:i, s:s, s:[s, s], s:[i, i], s:f, s:i, s:s, s:[], "
                  "s:s, s:n}",
                  "name", "a", "at", "host", "h", "port", 8032, "mb", 1536, "bytes", 2048, "state",
                  "RUNNING", "labels", "gpu", "fast", "ports", 1, 2, "part", 0.5, "zero", 0,
                  "unknown", "N/A", "neither", "empty", "", "null") < 0)
        return;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = KIB };
        int r = doc_text(v, rows[i].template, &out);

        if (r < 0)
            return; /* out of memory */
        assert_int_equal(r, rows[i].text != NULL);
        if (rows[i].text && buf_text(&out))
            assert_string_equal(buf_text(&out), rows[i].text);
    }
}

static void a_time_that_is_none_is_a_dash(void **state)
{
    char out[DOC_WHEN];

    (void)state;
    assert_string_equal(doc_when(0, out), "-");
    assert_string_equal(doc_when(-1, out), "-");
    assert_int_equal(strlen(doc_when(1794718682665, out)), 16);
}

static int put_twice(const json_t *v, struct buf *out)
{
    return buf_printf(out, "%lld", 2 * (long long)json_int_or(v, "n", 0));
}

static const struct table_column columns[] = {
    { "NAME", .text = "{name}" },
    { "TWICE", true, .put = put_twice },
};

static int shown;

static void print_a_table_and_a_sheet(void)
{
    static const struct doc_layout layout = { 2, 6 };
    AUTO_JSON *list = json_pack("[{s:s, s:i}, {s:i}]", "name", "a\nb", "n", 1, "n", 50);

    shown = list ? doc_table(list, columns, COUNT_OF(columns), NULL) : -ENOMEM;
    for (size_t i = 0; shown == 0 && i < json_array_size(list); i++)
        shown = doc_sheet(json_array_get(list, i), &layout, columns, COUNT_OF(columns), NULL);
}

static void what_has_no_value_is_a_dash_in_a_table_and_no_line_in_a_sheet(void **state)
{
    char out[KIB] = "";

    (void)state;
    capture(print_a_table_and_a_sheet, out, sizeof(out));
    if (shown == 0)
        assert_string_equal(out, "NAME  TWICE\n"
                                 "a\\nb      2\n"
                                 "-       100\n"
                                 "  NAME   a\n"
                                 "         b\n"
                                 "  TWICE  2\n"
                                 "  TWICE  100\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_its_list_and_its_errors),
        cmocka_unit_test(an_empty_list_is_a_document_too),
        cmocka_unit_test(nothing_is_written_unless_it_is_asked_for),
        cmocka_unit_test(a_template_shows_values_by_their_form),
        cmocka_unit_test(a_time_that_is_none_is_a_dash),
        cmocka_unit_test(what_has_no_value_is_a_dash_in_a_table_and_no_line_in_a_sheet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
