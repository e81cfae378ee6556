/* fence_clock_test.c - tasks stand still before the master gives the agent up, whatever is lost or
 * late, and not a look too early. */
#include "agent/link/fence_clock.h"
#include "base/auto.h"
#include "test.h"

#define SILENCE 9000 /* as the master says it: AGENTS_SILENCE_MS */
#define BEAT 2000

/* Pings at 2, 4, … s, each answered at once, and each naming the pong before it. */
static void hear_pings(struct fence_clock *c, uint64_t n)
{
    for (uint64_t seq = 1; seq <= n; seq++) {
        fence_clock_answered(c, seq - 1);
        fence_clock_pong(c, seq, (int64_t)seq * BEAT);
    }
}

static void tasks_stand_still_before_the_master_gives_the_agent_up(void **state)
{
    struct fence_clock c;
    int64_t last_ping = 10 * BEAT, last_heard = 9 * BEAT; /* the last pong may be lost */

    (void)state;
    fence_clock_start(&c, SILENCE, 0, 0);
    hear_pings(&c, 10);
    assert_int_equal(c.heard, last_heard);
    assert_true(fence_freeze_at(&c, fence_look_at(&c)) < last_heard + SILENCE);
    assert_int_equal(fence_freeze_at(&c, fence_look_at(&c)), last_ping + 6000);
    assert_true(fence_look_at(&c) >= last_ping + BEAT + 1000); /* not while the next one may come */
}

static void what_counts_is_what_the_master_has_read(void **state)
{
    static const struct {
        const char *what;
        uint64_t answered; /* in a ping at 40 s, after ten that were answered in time */
        int64_t heard;
    } rows[] = {
        { "the pong before", 10, 10 * BEAT },
        { "an old one: the newer ones are lost or late", 9, 9 * BEAT },
        { "one that was named already, by a ping that is late", 3, 9 * BEAT },
        { "none: of a master that does not say", 0, 9 * BEAT },
        { "one that was never sent", 11, 9 * BEAT },
        { "one of a hostile master", UINT64_MAX, 9 * BEAT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fence_clock c;

        fence_clock_start(&c, SILENCE, 0, 0);
        hear_pings(&c, 10);
        fence_clock_answered(&c, rows[i].answered);
        if (c.heard != rows[i].heard)
            fail_msg("%s: %lld", rows[i].what, (long long)c.heard);
    }
}

static void pings_that_waited_in_the_socket_prove_nothing(void **state)
{
    struct fence_clock c;

    (void)state;
    fence_clock_start(&c, SILENCE, 0, 0);
    for (uint64_t seq = 1; seq <= 4; seq++) /* read at once, at 8 s, after the agent stood still */
        fence_clock_pong(&c, seq, 8000);
    assert_int_equal(c.heard, 0);
    assert_true(fence_look_at(&c) < 8000);
}

static void who_reaches_somebody_looks_again_soon(void **state)
{
    struct fence_clock c;
    int64_t at;

    (void)state;
    fence_clock_start(&c, SILENCE, 0, 0);
    at = fence_look_at(&c);
    assert_true(at > 0 && at < SILENCE - 3000);
    c.reached = at + 10;
    assert_true(fence_look_at(&c) > at + 1000 && fence_look_at(&c) < at + 3000);
}

static void a_late_look_gets_time_for_a_lost_packet(void **state)
{
    struct fence_clock c;

    (void)state;
    fence_clock_start(&c, SILENCE, 0, 0);
    assert_true(fence_freeze_at(&c, 60000) > 60000 + 1000);
    assert_true(fence_freeze_at(&c, 60000) <= 60000 + 2000);
}

static void a_new_welcome_starts_anew(void **state)
{
    struct fence_clock c;

    (void)state;
    fence_clock_start(&c, SILENCE, 0, 0);
    hear_pings(&c, 10);
    fence_clock_start(&c, SILENCE, 50000, 50000);
    fence_clock_answered(&c, 10); /* of the connection before */
    assert_int_equal(c.heard, 50000);
}

/* The directories of a job may be on a slow disk, and are made when the Welcome is there. */
static void the_master_counts_from_the_hello(void **state)
{
    struct fence_clock c;

    (void)state;
    fence_clock_start(&c, SILENCE, 1000, 4000);
    assert_true(fence_freeze_at(&c, fence_look_at(&c)) < 1000 + SILENCE);
    assert_true(fence_look_at(&c) >= 4000 + 2000); /* who was just there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_stand_still_before_the_master_gives_the_agent_up),
        cmocka_unit_test(what_counts_is_what_the_master_has_read),
        cmocka_unit_test(pings_that_waited_in_the_socket_prove_nothing),
        cmocka_unit_test(who_reaches_somebody_looks_again_soon),
        cmocka_unit_test(a_late_look_gets_time_for_a_lost_packet),
        cmocka_unit_test(a_new_welcome_starts_anew),
        cmocka_unit_test(the_master_counts_from_the_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
