/* yarn_ask_test.c - claims about how long a container is asked for on the node that was chosen. */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

static void tasks_that_stand_in_for_each_other_wait_longer_for_a_node(void **state)
{
    static const struct {
        enum yarn_asked asked;
        bool apart;
        int64_t heartbeat, wait;
    } rows[] = {
        { ASKED_NODE, false, 200, 300 },   { ASKED_NODE, true, 200, 3000 },
        { ASKED_NODE, true, 4000, 6000 },  { ASKED_NOTHING, true, 200, 300 },
        { ASKED_CHOICE, true, 200, 5000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct yarn_seat seat = { .state = SEAT_ASKED, .asked = rows[i].asked };
        struct yarn_seat *list[] = { &seat };
        struct yarn_platform p = {
            .seats = list,
            .n_seats = 1,
            .heartbeat = rows[i].heartbeat,
            .opt.apart = rows[i].apart,
            .registered = true,
        };

        assert_int_equal(loop_new(&p.loop, NULL), 0);
        seat.asked_at = loop_now(p.loop);
        assert_int_equal(yarn_ask_relax(&p) - seat.asked_at, rows[i].wait);
        loop_free(p.loop);
    }
}

/* The ResourceManager has not heard of it before: that takes seconds where it is busy. */
static void time_counts_from_when_the_master_is_registered(void **state)
{
    struct yarn_seat seat = { .state = SEAT_ASKED, .asked = ASKED_NODE };
    struct yarn_seat *list[] = { &seat };
    struct yarn_platform p = { .seats = list, .n_seats = 1, .heartbeat = 200 };
    int64_t now;

    (void)state;
    assert_int_equal(loop_new(&p.loop, NULL), 0);
    now = loop_now(p.loop);
    seat.asked_at = now - 4000;
    assert_int_equal(yarn_ask_relax(&p), now + 300);
    assert_int_equal(seat.asked, ASKED_NODE);
    p.registered = true;
    p.registered_at = now - 100;
    assert_int_equal(yarn_ask_relax(&p), now + 200);
    assert_int_equal(seat.asked, ASKED_NODE);
    loop_free(p.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_counts_from_when_the_master_is_registered),
        cmocka_unit_test(tasks_that_stand_in_for_each_other_wait_longer_for_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
