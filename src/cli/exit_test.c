/* exit_test.c - see exit.h */
#include "cli/exit.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void results_have_the_exit_codes_that_scripts_rely_on(void **state)
{
    static const struct {
        int result, code;
    } rows[] = {
        { 0, 0 },
        { 3, 3 },
        { CLI_USAGE, 2 },
        { -ECONNREFUSED, 69 },
        { -ETIMEDOUT, 69 },
        { -ENXIO, 69 },
        { -EPROTO, 70 },
        { -ENOMEM, 70 },
        { -EEXIST, 73 },
        { -ENOSPC, 73 },
        { -EDQUOT, 73 },
        { -EROFS, 73 },
        { -EAGAIN, 75 },
        { -EBUSY, 75 },
        { -EPROTONOSUPPORT, 76 },
        { -EACCES, 77 },
        { -EPERM, 77 },
        { -EKEYEXPIRED, 77 },
        { -ENOKEY, 77 },
        { -ETIME, 124 },
        { -ECANCELED, 130 },
        { EXIT_OUTPUT_GONE, 141 },
        { EXIT_NOT_MADE, 73 },
        { -ENOENT, 1 },
        { -EINVAL, 1 },
        { -EDOM, 1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(exit_code(rows[i].result), rows[i].code);
}

/* Both streams while exit_report_more() runs. */
static int reported_more(int result, const struct err *err, bool json, const struct exit_more *more,
                         char text[2][1024])
{
    FILE *f[2] = { tmpfile(), tmpfile() };
    int saved[2], code;

    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        assert_non_null(f[i]);
        saved[i] = dup(1 + i);
        assert_true(dup2(fileno(f[i]), 1 + i) >= 0);
    }
    code =
        more ? exit_report_more("t", result, err, json, more) : exit_report("t", result, err, json);
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        ssize_t n = pread(fileno(f[i]), text[i], 1023, 0);

        text[i][n > 0 ? n : 0] = '\0';
        (void)dup2(saved[i], 1 + i);
        close(saved[i]);
        (void)fclose(f[i]);
    }
    return code;
}

static int reported(int result, const struct err *err, bool json, char text[2][1024])
{
    return reported_more(result, err, json, NULL, text);
}

static void an_error_is_a_line_and_a_hint_and_an_object(void **state)
{
    struct err err = ERR_INIT;
    char text[2][1024];

    (void)state;
    err_set(&err, -ECONNREFUSED, "connect to 'h\n:1'");
    err_hint(&err, "is it up?");
    assert_int_equal(reported(-ECONNREFUSED, &err, false, text), 69);
    assert_string_equal(text[0], "");
    assert_string_equal(text[1], "t: connect to 'h\\n:1'\n  hint: is it up?\n");
    assert_int_equal(reported(-ECONNREFUSED, &err, true, text), 69);
    assert_string_equal(text[0], "{\"error\":{\"code\":\"ECONNREFUSED\",\"errno\":111,\"text\":"
                                 "\"connect to 'h\\n:1'\",\"hint\":\"is it up?\",\"exit\":69}}\n");
}

static void an_error_may_have_lines_and_members_of_its_own(void **state)
{
    AUTO_JSON *members = json_pack("{s:s, s:s}", "cause", "rain", "code", "not the error's");
    const struct exit_more more = { .lines = "    it rains\n", .members = members };
    struct err err = ERR_INIT;
    char text[2][1024];

    (void)state;
    err_set(&err, -EIO, "no picnic");
    err_hint(&err, "tomorrow");
    assert_int_equal(reported_more(-EIO, &err, true, &more, text), 1);
    assert_string_equal(text[1], "t: no picnic\n    it rains\n  hint: tomorrow\n");
    assert_non_null(strstr(text[0], "\"cause\":\"rain\""));
    assert_null(strstr(text[0], "not the error's"));
}

static void a_reader_that_has_gone_is_not_told(void **state)
{
    struct err err = ERR_INIT;
    char text[2][1024];

    (void)state;
    assert_int_equal(reported(EXIT_OUTPUT_GONE, &err, true, text), 141);
    assert_string_equal(text[0], "");
    assert_string_equal(text[1], "");
    assert_int_equal(reported(-EDOM, &err, true, text), 1);
    assert_string_equal(text[1], "t: failed without saying why\n");
    assert_non_null(strstr(text[0], "\"code\":\"OTHER\",\"errno\":33"));
    assert_non_null(strstr(text[0], "\"hint\":null"));
}

static void only_what_was_named_wrongly_is_the_users_fault(void **state)
{
    static const int theirs[] = { CLI_USAGE, -ENOENT, -ENOTDIR, -EISDIR,
                                  -EEXIST,   -EACCES, -EPERM,   -EINVAL };
    static const int others[] = { 0,        -ECONNREFUSED, -ETIMEDOUT, -EHOSTDOWN,   -EHOSTUNREACH,
                                  -ENODATA, -EROFS,        -EDQUOT,    -ENOSPC,      -EIO,
                                  -EAGAIN,  -EBUSY,        -ENOMEM,    -EKEYEXPIRED, -ECANCELED,
                                  -EPROTO,  -EMFILE };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(theirs); i++) {
        assert_true(exit_users_fault(theirs[i]));
        (void)err_set(&err, theirs[i], "x");
        assert_int_equal(exit_named_file(theirs[i], &err), CLI_USAGE);
        assert_int_equal(err.code, CLI_USAGE);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(exit_users_fault(others[i]));
        assert_int_equal(exit_named_file(others[i], &err), others[i]);
    }
    assert_int_equal(exit_named_file(-ENXIO, &err), CLI_USAGE); /* of a socket */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_the_exit_codes_that_scripts_rely_on),
        cmocka_unit_test(an_error_is_a_line_and_a_hint_and_an_object),
        cmocka_unit_test(an_error_may_have_lines_and_members_of_its_own),
        cmocka_unit_test(a_reader_that_has_gone_is_not_told),
        cmocka_unit_test(only_what_was_named_wrongly_is_the_users_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
