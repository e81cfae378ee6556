/* yarn_spread_test.c - which node each container is asked for on */
#include "platform/yarn_spread.h"
#include "test.h"

static const struct yarn_facts_node three[] = {
    { .host = (char *)"a", .memory = 4000 },
    { .host = (char *)"b", .memory = 8000 },
    { .host = (char *)"c", .memory = 1000, .gpus = 2, .rack = (char *)"/r2" },
};

static const char *pick(struct yarn_spread *s, int64_t mb, int64_t gpus)
{
    const struct yarn_amount more = { YARN_GPU, gpus };
    const struct yarn_resource r = { mb, 1, gpus ? &more : NULL, gpus ? 1 : 0 };
    size_t at = yarn_spread_pick(s, &r);

    return at == YARN_SPREAD_ANYWHERE ? "*" : yarn_spread_host(s, at);
}

static void containers_go_evenly_to_nodes_with_room(void **state)
{
    struct yarn_spread *s = yarn_spread_new(three, 3);
    static const char *const want[] = { "b", "a", "c", "b", "a", "b", "a", "b", "a", "b", "b" };

    (void)state;
    assert_non_null(s);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(pick(s, 1000, 0), want[i]);
    s = yarn_spread_free(s);
}

static void what_fits_nowhere_may_go_anywhere(void **state)
{
    struct yarn_spread *s = yarn_spread_new(three, 3);

    (void)state;
    assert_string_equal(pick(s, 9000, 0), "*");
    assert_string_equal(pick(s, 100, 3), "*");
    assert_string_equal(pick(s, 100, 2), "c");
    assert_string_equal(pick(s, 100, 1), "*");
    s = yarn_spread_free(s);
}

static void room_that_is_given_back_is_used_again(void **state)
{
    struct yarn_spread *s = yarn_spread_new(three, 1);
    const struct yarn_resource r = { 4000, 1, NULL, 0 };
    size_t at = yarn_spread_pick(s, &r);

    (void)state;
    assert_int_equal(at, 0);
    assert_string_equal(pick(s, 1, 0), "*");
    yarn_spread_back(s, at, &r);
    yarn_spread_back(s, YARN_SPREAD_ANYWHERE, &r);
    assert_string_equal(pick(s, 4000, 0), "a");
    s = yarn_spread_free(s);
}

static void nodes_come_and_go(void **state)
{
    const struct yarn_facts_node d = { .host = (char *)"d", .memory = 9000 };
    struct yarn_spread *s = yarn_spread_new(three, 2);

    (void)state;
    assert_int_equal(yarn_spread_set(s, &three[1], false), 0);
    assert_string_equal(pick(s, 1000, 0), "a");
    assert_int_equal(yarn_spread_set(s, &d, true), 0);
    assert_int_equal(yarn_spread_usable(s), 2);
    assert_string_equal(pick(s, 1000, 0), "d");
    assert_string_equal(yarn_spread_rack(s, 0), "/default-rack");
    assert_int_equal(yarn_spread_set(s, &three[1], true), 0);
    assert_int_equal(yarn_spread_usable(s), 3);
    s = yarn_spread_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_go_evenly_to_nodes_with_room),
        cmocka_unit_test(what_fits_nowhere_may_go_anywhere),
        cmocka_unit_test(room_that_is_given_back_is_used_again),
        cmocka_unit_test(nodes_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
