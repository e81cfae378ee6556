/* grpc_status_test.c - claims about statuses and the notations of headers. */
#include "base/auto.h"
#include "test.h"
#include "wire/grpc/grpc_status.h"

static void an_errno_has_the_status_that_fits(void **state)
{
    (void)state;
    assert_int_equal(grpc_status_of(0), GRPC_OK);
    assert_int_equal(grpc_status_of(-ENOENT), GRPC_NOT_FOUND);
    assert_int_equal(grpc_status_of(-E2BIG), GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(grpc_status_of(-EBUSY), GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(grpc_status_of(-EINVAL), GRPC_INVALID_ARGUMENT);
    assert_int_equal(grpc_status_of(-EOPNOTSUPP), GRPC_UNIMPLEMENTED);
    assert_int_equal(grpc_status_of(-EIO), GRPC_INTERNAL);
    assert_int_equal(grpc_status_of(-EXDEV), GRPC_INTERNAL);
}

static void every_status_has_its_number_and_name(void **state)
{
    (void)state;
    for (int i = 0; i < GRPC_STATUSES_; i++) {
        char number[8];

        snprintf(number, sizeof(number), "%d", i);
        assert_string_equal(grpc_status_text((enum grpc_status)i), number);
        assert_non_null(grpc_status_name((enum grpc_status)i));
    }
    assert_string_equal(grpc_status_name(GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
}

static void what_is_not_printable_is_quoted(void **state)
{
    static const struct {
        const char *plain, *quoted;
    } rows[] = {
        { "", "" },
        { "no model 'x' ~", "no model 'x' ~" },
        { "100%", "100%25" },
        { "a\nb\x7f", "a%0Ab%7F" },
        { "\xc3\xa9", "%C3%A9" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = 100 };

        assert_int_equal(grpc_quote(&b, rows[i].plain), 0);
        assert_string_equal(buf_text(&b), rows[i].quoted);
    }
}

static void a_timeout_is_milliseconds_rounded_up(void **state)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: none */
    } rows[] = {
        { "1S", 1000 },       { "250m", 250 },
        { "1u", 1 },          { "1000001n", 2 },
        { "0n", 0 },          { "2M", 120000 },
        { "1H", 3600000 },    { "99999999H", INT64_C(359999996400000) },
        { "99999999n", 100 }, { "", -1 },
        { "S", -1 },          { "1", -1 },
        { "-1S", -1 },        { "+1S", -1 },
        { " 1S", -1 },        { "1s", -1 },
        { "1Sx", -1 },        { "123456789S", -1 },
        { "1.5S", -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ms = -1;
        int r = grpc_timeout(rows[i].text, &ms);

        assert_int_equal(r, rows[i].ms < 0 ? -EINVAL : 0);
        assert_int_equal(ms, rows[i].ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_errno_has_the_status_that_fits),
        cmocka_unit_test(every_status_has_its_number_and_name),
        cmocka_unit_test(what_is_not_printable_is_quoted),
        cmocka_unit_test(a_timeout_is_milliseconds_rounded_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
