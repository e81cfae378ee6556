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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_its_list_and_its_errors),
        cmocka_unit_test(an_empty_list_is_a_document_too),
        cmocka_unit_test(nothing_is_written_unless_it_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
