/* name_test.c - see name.h */
#include "model/name.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static void references_come_apart(void **state)
{
    static const struct {
        const char *text, *name, *alias;
        int64_t version;
    } rows[] = {
        { "resnet", "resnet", "", 0 },
        { "resnet:3", "resnet", "", 3 },
        { "resnet@champion", "resnet", "champion", 0 },
        { "a.b_c-1:999999999999999", "a.b_c-1", "", INT64_C(999999999999999) },
        { "0", "0", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_ref ref;
        struct err err = ERR_INIT;

        assert_int_equal(model_ref_parse(rows[i].text, &ref, &err), 0);
        assert_string_equal(ref.name, rows[i].name);
        assert_string_equal(ref.alias, rows[i].alias);
        assert_int_equal(ref.version, rows[i].version);
    }
}

static void other_text_is_refused_with_a_sentence(void **state)
{
    static const char *const rows[] = {
        "",     ".",    "..",    ".a",    "-a",    "_a",       "a/b",
        "a b",  "a:",   "a:0",   "a:01x", "a:-1",  "a:+1",     "a:1000000000000000",
        "a@",   "a@.x", ":1",    "a@b:1", "a:1@b", "\xc3\xa4", "a\nb",
        "a:1 ", "a\\b", "a%2fb",
    };
    char long_name[131];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_ref ref;
        struct err err = ERR_INIT;

        assert_int_equal(model_ref_parse(rows[i], &ref, &err), -EINVAL);
        assert_true(strlen(err.text) > 0);
    }
    memset(long_name, 'a', 130);
    long_name[130] = '\0';
    assert_false(model_name_ok(long_name));
    assert_false(model_name_ok(long_name + 1));
    assert_true(model_name_ok(long_name + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_come_apart),
        cmocka_unit_test(other_text_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
