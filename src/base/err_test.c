/* err_test.c - claims about errors. */
#include "base/err.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static void an_error_has_its_code_and_sentence(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_set(&err, -EINVAL, "'%s' is not a %s", "x", "number"), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.text, "'x' is not a number");
    assert_string_equal(err.hint, "");
}

static void wrapping_puts_the_outer_step_first(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    err_set(&err, -EDQUOT, "quota exceeded");
    err_hint(&err, "delete something");
    err.detail = 7;
    assert_int_equal(err_wrap(&err, -EDQUOT, "create '%s'", "/a"), -EDQUOT);
    assert_int_equal(err_wrap(&err, -EIO, "stage"), -EIO);
    assert_string_equal(err.text, "stage: create '/a': quota exceeded");
    assert_string_equal(err.hint, "delete something");
    assert_int_equal(err.detail, 7);
    assert_int_equal(err.code, -EIO);
}

static void errno_and_foreign_codes_get_their_text(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    errno = ENOENT;
    assert_int_equal(err_sys(&err, "open '%s'", "f"), -ENOENT);
    assert_string_equal(err.text, "open 'f': No such file or directory");
    assert_int_equal(err_code(&err, -ECONNREFUSED, "connect"), -ECONNREFUSED);
    assert_string_equal(err.text, "connect: Connection refused");
}

static void the_hint_nearest_to_the_cause_stays(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    err_set(&err, -EIO, "x");
    err_hint(&err, "first");
    err_hint(&err, "second");
    assert_string_equal(err.hint, "first");
    err_set(&err, -EIO, "y"); /* a new error, a new hint */
    assert_string_equal(err.hint, "");
}

static void too_much_text_is_cut_not_overrun(void **state)
{
    struct err err = ERR_INIT;
    char big[2000];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    err_set(&err, -EIO, "%s", big);
    err_wrap(&err, -EIO, "%s", big);
    err_hint(&err, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
    assert_int_equal(err_wrap(NULL, -EIO, "x"), -EIO);
    assert_int_equal(err_oom(NULL), -ENOMEM);
    err_hint(NULL, "x");
    err_clear(NULL);
}

static void one_failure_is_forgiven_and_no_other(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_forgive(&err, err_set(&err, -EACCES, "no"), -ENOENT), -EACCES);
    assert_string_equal(err.text, "no");
    assert_int_equal(err_forgive(&err, err_set(&err, -ENOENT, "none"), -ENOENT), 0);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.text, "");
    assert_int_equal(err_forgive(NULL, 1, -ENOENT), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_its_code_and_sentence),
        cmocka_unit_test(wrapping_puts_the_outer_step_first),
        cmocka_unit_test(errno_and_foreign_codes_get_their_text),
        cmocka_unit_test(the_hint_nearest_to_the_cause_stays),
        cmocka_unit_test(too_much_text_is_cut_not_overrun),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(one_failure_is_forgiven_and_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
