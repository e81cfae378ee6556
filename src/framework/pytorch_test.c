/* pytorch_test.c - the error file that torch's @record leaves; what tasks get is in
 * framework_test.c. */
#include "framework/framework.h"
#include "test.h"

#include <string.h>

static void a_recorded_error_is_read_whatever_its_form(void **state)
{
    /* clang-format off */
    static const struct { const char *file; int r; const char *text; int64_t time; } rows[] = {
        { "{\"message\": {\"message\": \"ValueError: x\", \"extraInfo\": {\"py_callstack\": \"…\", "
          "\"timestamp\": \"1763274830\"}}}", 0, "ValueError: x", 1763274830000 },
        { "{\"message\": {\"message\": \"E\", \"extraInfo\": {\"timestamp\": 7}}}", 0, "E", 7000 },
        { "{\"message\": \"just text\"}", 0, "just text", 0 },
        { "{\"message\": {\"message\": \"E\", \"extraInfo\": {\"timestamp\": \"soon\"}}}",
          0, "E", 0 },
        { "{\"message\": {\"message\": \"E\", \"extraInfo\": {\"timestamp\": 1e300}}}", 0, "E", 0 },
        { "{\"message\": 5}", -EINVAL, NULL, 0 },
        { "[1]", -EINVAL, NULL, 0 },
        { "", -EINVAL, NULL, 0 },
        { "{\"message\"", -EINVAL, NULL, 0 },
    };
    /* clang-format on */
    const struct framework *fw = NULL;

    (void)state;
    assert_int_equal(framework_find("pytorch", &fw, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = NULL;
        int64_t when = -1;

        assert_int_equal(fw->error(rows[i].file, strlen(rows[i].file), &text, &when), rows[i].r);
        if (rows[i].r == 0) {
            assert_string_equal(text, rows[i].text);
            assert_int_equal(when, rows[i].time);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_error_is_read_whatever_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
