/* leavers_test.c - agents that were told to leave by a master that died while they saved: the next
 * one hears how their containers end. See recover.c. */
#include "master/master_private.h"
#include "master/yarn/recover_testing.h"
#include "platform/yarn/yarn_platform_private.h"

#include <stdio.h>
#include <string.h>

static const char *no_container(struct platform *p, uint32_t agent)
{
    (void)p;
    (void)agent;
    return "";
}

static const struct platform_ops with_containers = { .name = "test",
                                                     .apart = true,
                                                     .container = no_container };

/* Told to leave, in container `number` of the application. */
static void say_leaving(struct desk *d, uint32_t number, const char *task)
{
    struct agent_conn *a = agent_with(d, number, task, 1);

    a->container = str_printf("container_1700000000000_0001_01_%06u", number);
    assert_non_null(a->container);
    agents_tell(a, "leaving");
}

/* A master that takes over, with a platform of which only the leaving containers are looked at. */
static void take_over(struct desk *d, struct yarn_platform *p, const char *const *said)
{
    *p = (struct yarn_platform){ .base = { .ops = &with_containers }, .loop = d->loop };
    open_master(d);
    d->m.platform = &p->base;
    assert_int_equal(recover_job(&d->m, NULL), 1);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    if (said)
        assert_missing(d, said);
}

static void kill_taken_over(struct desk *d, struct yarn_platform *p)
{
    keep_events(d);
    kill_master(d);
    free(take(d->m.save.unsaved));
    while (p->leavers)
        yarn_leaver_ended(p, p->leavers->container);
}

static void leave_without_a_master(struct desk *d)
{
    static const char *const said[] = {
        "output of w:2 (attempt 1 on 'n13') is not known to be saved: its agent could not save "
        "everything\",\"missing\":1",
        "output of w:0 (attempt 1 on 'n14') is not known to be saved: its node is lost\""
        ",\"missing\":1",
        NULL
    };
    struct platform platform = { .ops = &with_containers };
    struct yarn_platform p;

    open_master(d);
    assert_int_equal(engine_start(d->b.e, d->b.now, NULL), 0);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    d->m.platform = &platform;
    say_leaving(d, 12, "w:1");
    say_leaving(d, 13, "w:2");
    say_leaving(d, 14, "w:0");
    keep_events(d);
    kill_master(d);
    take_over(d, &p, NULL);
    for (uint32_t i = 12; i <= 14; i++)
        assert_true(agents_will_be_heard(agents_get(&d->m, i)));
    agents_forget(&d->m);
    drive_platform_events.on_leaver(&d->m, 12, PLATFORM_LEFT_SAVED, "");
    drive_platform_events.on_leaver(&d->m, 12, PLATFORM_LEFT_LOST, "told twice");
    assert_null(d->m.save.unsaved);
    drive_platform_events.on_leaver(&d->m, 13, PLATFORM_LEFT_UNSAVED,
                                    "its agent could not save everything");
    drive_platform_events.on_leaver(&d->m, 14, PLATFORM_LEFT_LOST, "its node is lost");
    assert_string_equal(
        d->m.save.unsaved,
        "not everything could be saved that is on 'n13': its agent could not save everything");
    keep_events(d);
    assert_missing(d, said);
    kill_taken_over(d, &p);
    take_over(d, &p, said); /* the one after it knows the same, and waits for nobody */
    assert_null(p.leavers);
    kill_taken_over(d, &p);
}

static void what_agents_save_without_a_master_is_known_to_the_next_one(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, leave_without_a_master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_agents_save_without_a_master_is_known_to_the_next_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
