/* agents_table_test.c - what is known of an agent, also when its container is gone. */
#include "master/agents_testing.h"

/* What the platform says when it is asked for the container of any agent. */
static const char *container_now = "";

static const char *say_container(struct platform *p, uint32_t agent)
{
    (void)p;
    (void)agent;
    return container_now;
}

/* The last record; takes all that was told. */
static void assert_told(struct desk *d, const char *state, const char *container)
{
    AUTO_BUF text = { .max = MIB };
    AUTO_FREE char *first = str_printf("\"state\":\"%s\"", state);
    AUTO_FREE char *second = str_printf("\"container\":\"%s\"", container);
    const char *at;

    assert_true(first && second);
    assert_int_equal(engine_events(d->m.engine, &text), 0);
    assert_non_null(buf_text(&text));
    at = strstr((char *)text.data, first);
    assert_non_null(at);
    assert_non_null(strstr(at, second));
}

static void lost_and_saved(struct desk *d)
{
    struct platform_ops ops = nobody;
    struct agent_conn *a;

    ops.container = say_container;
    d->m.platform->ops = &ops;
    container_now = "container_1_0001_01_000002";
    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    a = agents_get(&d->m, 1);
    agents_tell(a, "up");
    assert_told(d, "up", container_now);
    container_now = "";
    agents_tell(a, "lost");
    assert_told(d, "lost", "container_1_0001_01_000002");
    agents_tell_saved(a, true);
    assert_told(d, "saved", "container_1_0001_01_000002");
}

static void an_agent_is_told_with_its_container_when_that_is_gone(void **state)
{
    (void)state;
    with_desk(lost_and_saved);
}

/* It was granted, and lost before its agent said a word. */
static void lost_at_once(struct desk *d)
{
    struct platform_ops ops = nobody;
    struct err err = ERR_INIT;

    ops.container = say_container;
    d->m.platform->ops = &ops;
    container_now = "container_1_0001_01_000003";
    assert_int_equal(engine_start(d->m.engine, master_now(&d->m), &err), 0);
    assert_int_equal(drive_set_slot(&d->m, 0, 0, NULL), 0);
    drive_platform_events.on_granted(&d->m, 0, 1, NULL, 0);
    container_now = "";
    drive_platform_events.on_lost(&d->m, 0, FAIL_NODE, "its node is gone");
    assert_told(d, "lost", "container_1_0001_01_000003");
}

static void an_agent_that_never_came_is_told_with_its_container(void **state)
{
    (void)state;
    with_desk(lost_at_once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_told_with_its_container_when_that_is_gone),
        cmocka_unit_test(an_agent_that_never_came_is_told_with_its_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
