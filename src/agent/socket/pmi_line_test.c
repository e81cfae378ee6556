/* pmi_line_test.c - see pmi_line.h */
#include "agent/socket/pmi_line.h"
#include "base/auto.h"
#include "test.h"

static void fields_are_found_by_name(void **state)
{
    static const struct {
        const char *line, *name, *wanted; /* NULL: none */
    } rows[] = {
        { "cmd=init pmi_version=1 pmi_subversion=2", "cmd", "init" },
        { "cmd=init pmi_version=1 pmi_subversion=2", "pmi_version", "1" },
        { "cmd=init pmi_version=1 pmi_subversion=2", "version", NULL },
        { "cmd=put kvsname=k key=a value=x y key=z", "value", "x y key=z" },
        { "cmd=put kvsname=k key=a value=x y key=z", "key", "a" },
        { "cmd=put value=", "value", "" },
        { "cmd=put  key=a", "key", "a" },
        { "key=12345678", "key", NULL }, /* does not fit */
        { "", "cmd", NULL },
        { "cmd", "cmd", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[32];
        size_t cap = i == 7 ? 8 : sizeof(out);

        assert_int_equal(pmi_field(rows[i].line, rows[i].name, out, cap), rows[i].wanted != NULL);
        if (rows[i].wanted)
            assert_string_equal(out, rows[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(fields_are_found_by_name) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
