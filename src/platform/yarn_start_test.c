/* yarn_start_test.c - answers of NodeManagers that come when the slot has another container. */
#include "platform/yarn_private.h"
#include "test.h"

static void an_answer_is_about_the_container_that_was_to_be_started(void **state)
{
    struct yarn_seat seat = { .state = SEAT_STARTING, .container = { .id = 7 } };
    struct yarn_seat *list[] = { &seat };
    struct yarn_platform p = { .seats = list, .n_seats = 1 };
    struct yarn_container_id before = seat.container;
    struct err well = ERR_INIT, late = { .code = -ETIMEDOUT, .text = "no answer" };

    (void)state;
    before.id = 6; /* given back, and replaced by 7 on another node */
    yarn_start_answered(&p, 0, before, &late);
    assert_int_equal(seat.state, SEAT_STARTING);
    yarn_start_answered(&p, 0, before, &well);
    assert_int_equal(seat.state, SEAT_STARTING);
    yarn_start_answered(&p, 0, seat.container, &well);
    assert_int_equal(seat.state, SEAT_RUNNING);
    yarn_start_answered(&p, 0, seat.container, &late); /* said twice */
    assert_int_equal(seat.state, SEAT_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_about_the_container_that_was_to_be_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
