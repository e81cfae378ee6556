/* doctor_report_test.c - what the doctor says, and the code it ends with. */
#include "cmd/doctor/doctor.h"
#include "test.h"

#include <string.h>

static const struct check row = { .name = "thing", .advice = "mend the thing" };

static void the_first_failure_gives_the_result(void **state)
{
    struct doctor d = { .check = &row };
    struct err err = ERR_INIT;

    (void)state;
    doctor_say(&d, LEVEL_OK, NULL, "fine");
    doctor_say(&d, LEVEL_WARNING, "look", "so so");
    assert_int_equal(d.failed, 0);
    err_set(&err, -ECONNREFUSED, "refused");
    doctor_error(&d, LEVEL_WARNING, -ECONNREFUSED, &err, NULL);
    assert_int_equal(d.failed, 0);
    doctor_error(&d, LEVEL_FAILED, -ECONNREFUSED, &err, NULL);
    doctor_error(&d, LEVEL_FAILED, -EACCES, &err, NULL);
    assert_int_equal(d.failed, -ECONNREFUSED);
    free(d.findings);
}

static void advice_comes_from_the_error_the_check_or_its_row(void **state)
{
    struct doctor d = { .check = &row };
    struct err plain = ERR_INIT, hinted = ERR_INIT;

    (void)state;
    err_set(&plain, -EIO, "broken");
    err_set(&hinted, -EIO, "broken");
    err_hint(&hinted, "try this");
    doctor_error(&d, LEVEL_FAILED, -EIO, &plain, NULL);
    doctor_error(&d, LEVEL_FAILED, -EIO, &plain, "do that");
    doctor_error(&d, LEVEL_FAILED, -EIO, &hinted, "do that");
    if (!d.out_of_memory) {
        assert_string_equal(d.findings[0].advice, "mend the thing");
        assert_string_equal(d.findings[1].advice, "do that");
        assert_string_equal(d.findings[2].advice, "try this");
    }
    free(d.findings);
}

/* Every need that a row has is met by a row before it, or it could never run. */
static void checks_stand_after_what_they_need(void **state)
{
    static const struct {
        const char *name;
        unsigned gives;
    } givers[] = { { "configuration", NEED_CONF },
                   { "ResourceManager", NEED_RM },
                   { "NameNode", NEED_NN | NEED_HDFS } };
    unsigned have = 0;

    (void)state;
    for (size_t i = 0; i < doctor_n_checks; i++) {
        assert_int_equal(doctor_checks[i].needs & ~have, 0);
        for (size_t j = 0; j < COUNT_OF(givers); j++)
            if (strcmp(givers[j].name, doctor_checks[i].name) == 0)
                have |= givers[j].gives;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_gives_the_result),
        cmocka_unit_test(advice_comes_from_the_error_the_check_or_its_row),
        cmocka_unit_test(checks_stand_after_what_they_need),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
