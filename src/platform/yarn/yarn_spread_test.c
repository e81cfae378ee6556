/* yarn_spread_test.c - which node each container is asked for on */
#include "platform/yarn/yarn_spread.h"
#include "test.h"

static const struct yarn_facts_node three[] = {
    { .host = (char *)"a", .memory = 4000 },
    { .host = (char *)"b", .memory = 8000 },
    { .host = (char *)"c", .memory = 1000, .gpus = 2, .rack = (char *)"/r2" },
};

static struct yarn_spread *spread_of(const struct yarn_facts_node *nodes, size_t n)
{
    struct yarn_spread *s = yarn_spread_new(nodes, n);

    assert_non_null(s);
    return s;
}

static const char *pick(struct yarn_spread *s, int64_t mb, int64_t gpus)
{
    const struct yarn_amount more = { YARN_GPU, gpus };
    const struct yarn_resource r = { mb, 1, gpus ? &more : NULL, gpus ? 1 : 0 };
    const struct yarn_spread_want w = { .size = &r };
    size_t at = yarn_spread_pick(s, &w);

    return at == YARN_SPREAD_ANYWHERE ? "*" : yarn_spread_host(s, at);
}

static const char *pick_as(struct yarn_spread *s, enum spec_spread how, const char *host)
{
    const struct yarn_resource r = { 1000, 1, NULL, 0 };
    char *names[] = { (char *)host };
    const struct strs hosts = { names, host ? 1 : 0 };
    const struct yarn_spread_want w = { .size = &r, .how = how, .hosts = &hosts };
    size_t at = yarn_spread_pick(s, &w);

    return at == YARN_SPREAD_ANYWHERE ? "*" : yarn_spread_host(s, at);
}

static void containers_go_evenly_to_nodes_with_room(void **state)
{
    struct yarn_spread *s = spread_of(three, 3);
    static const char *const want[] = { "b", "a", "c", "b", "a", "b", "a", "b", "a", "b", "b" };

    (void)state;
    assert_non_null(s);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(pick(s, 1000, 0), want[i]);
    s = yarn_spread_free(s);
}

/* A larger container of another role does not bring two of one role together. */
static void containers_of_a_role_stay_apart(void **state)
{
    static const struct yarn_facts_node nodes[] = {
        { .host = (char *)"a", .memory = 2000 },
        { .host = (char *)"b", .memory = 2000 },
        { .host = (char *)"c", .memory = 2000 },
    };
    static const struct {
        int64_t mb;
        size_t role;
        const char *host;
    } rows[] = {
        { 500, 0, "a" }, { 200, 1, "b" }, { 200, 1, "c" }, { 200, 1, "a" }, { 200, 1, "b" }
    };
    struct yarn_spread *s = spread_of(nodes, 3);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct yarn_resource r = { rows[i].mb, 1, NULL, 0 };
        const struct yarn_spread_want w = { .size = &r, .role = rows[i].role };

        assert_string_equal(yarn_spread_host(s, yarn_spread_pick(s, &w)), rows[i].host);
    }
    s = yarn_spread_free(s);
}

static void what_fits_nowhere_may_go_anywhere(void **state)
{
    struct yarn_spread *s = spread_of(three, 3);

    (void)state;
    assert_string_equal(pick(s, 9000, 0), "*");
    assert_string_equal(pick(s, 100, 3), "*");
    assert_string_equal(pick(s, 100, 2), "c");
    assert_string_equal(pick(s, 100, 1), "*");
    s = yarn_spread_free(s);
}

static void room_that_is_given_back_is_used_again(void **state)
{
    struct yarn_spread *s = spread_of(three, 1);
    const struct yarn_resource r = { 4000, 1, NULL, 0 };
    const struct yarn_spread_want w = { .size = &r };
    size_t at = yarn_spread_pick(s, &w);

    (void)state;
    assert_int_equal(at, 0);
    assert_string_equal(pick(s, 1, 0), "*");
    yarn_spread_back(s, at, &w);
    yarn_spread_back(s, YARN_SPREAD_ANYWHERE, &w);
    assert_string_equal(pick(s, 4000, 0), "a");
    s = yarn_spread_free(s);
}

static void nodes_come_and_go(void **state)
{
    const struct yarn_facts_node d = { .host = (char *)"d", .memory = 9000 };
    struct yarn_spread *s = spread_of(three, 2);

    (void)state;
    assert_int_equal(yarn_spread_set(s, &three[1], false), 0);
    assert_string_equal(pick(s, 1000, 0), "a");
    assert_int_equal(yarn_spread_set(s, &d, true), 0);
    assert_int_equal(yarn_spread_count(s, NULL), 2);
    assert_string_equal(pick(s, 1000, 0), "d");
    assert_string_equal(yarn_spread_rack(s, 0), "/default-rack");
    assert_int_equal(yarn_spread_set(s, &three[1], true), 0);
    assert_int_equal(yarn_spread_count(s, "gpu"), 0);
    s = yarn_spread_free(s);
}

static void a_role_fills_nodes_or_has_each_for_one_container(void **state)
{
    static const struct {
        enum spec_spread how;
        const char *host, *want[4];
    } rows[] = {
        { SPEC_SPREAD_PACK, NULL, { "b", "b", "b", "b" } },
        { SPEC_SPREAD_NODE, NULL, { "b", "a", "c", "*" } },
        { SPEC_SPREAD_ANY, "a", { "a", "a", "a", "a" } },
        { SPEC_SPREAD_ANY, "c", { "c", "b", "a", "b" } },
        { SPEC_SPREAD_ANY, "/r2", { "c", "b", "a", "b" } },
        { SPEC_SPREAD_NODE, "a", { "a", "b", "c", "*" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct yarn_spread *s = spread_of(three, 3);

        for (size_t k = 0; k < COUNT_OF(rows[i].want); k++)
            assert_string_equal(pick_as(s, rows[i].how, rows[i].host), rows[i].want[k]);
        s = yarn_spread_free(s);
    }
}

static void labels_choose_nodes(void **state)
{
    static const struct yarn_facts_node two[] = {
        { .host = (char *)"a", .memory = 4000 },
        { .host = (char *)"g", .memory = 8000, .label = (char *)"gpu" },
    };
    const struct yarn_resource r = { 1000, 1, NULL, 0 };
    const struct yarn_spread_want plain = { .size = &r }, gpu = { .size = &r, .label = "gpu" };
    struct yarn_spread *s = spread_of(two, 2);
    size_t nodes[2];

    (void)state;
    assert_int_equal(yarn_spread_pick(s, &plain), 0);
    assert_int_equal(yarn_spread_pick(s, &gpu), 1);
    assert_int_equal(yarn_spread_choice(s, &gpu, 0, nodes, 2), 1);
    assert_int_equal(nodes[0], 1);
    assert_int_equal(yarn_spread_choice(s, &plain, 1, nodes, 2), 2);
    assert_int_equal(nodes[0], 1);
    s = yarn_spread_free(s);
}

static void what_is_granted_elsewhere_counts_there(void **state)
{
    const struct yarn_resource r = { 1000, 1, NULL, 0 };
    const struct yarn_spread_want w = { .size = &r, .how = SPEC_SPREAD_NODE };
    struct yarn_spread *s = spread_of(three, 3);
    size_t at = yarn_spread_pick(s, &w), nodes[4];

    (void)state;
    assert_string_equal(yarn_spread_host(s, at), "b");
    assert_true(yarn_spread_allows(s, at, "b", &w));
    assert_false(yarn_spread_allows(s, YARN_SPREAD_ANYWHERE, "b", &w));
    at = yarn_spread_move(s, at, "new", &w);
    assert_true(at != YARN_SPREAD_ANYWHERE);
    assert_string_equal(yarn_spread_host(s, at), "new");
    assert_true(yarn_spread_allows(s, YARN_SPREAD_ANYWHERE, "b", &w));
    assert_false(yarn_spread_allows(s, YARN_SPREAD_ANYWHERE, "new", &w));
    assert_int_equal(yarn_spread_choice(s, &w, 0, nodes, 4), 3);
    yarn_spread_back(s, at, &w);
    assert_int_equal(yarn_spread_choice(s, &w, 0, nodes, 4), 4);
    s = yarn_spread_free(s);
}

static void an_avoided_node_is_not_picked_whatever_the_cluster_says_of_it(void **state)
{
    const struct yarn_resource r = { 1000, 1, NULL, 0 };
    const struct yarn_spread_want w = { .size = &r };
    struct yarn_spread *s = spread_of(three, 2);
    size_t nodes[4];

    (void)state;
    yarn_spread_avoid(s, "b", true);
    yarn_spread_avoid(s, "nobody", true);
    assert_int_equal(yarn_spread_set(s, &three[1], true), 0); /* a report of it */
    assert_string_equal(pick(s, 1000, 0), "a");
    assert_int_equal(yarn_spread_choice(s, &w, 0, nodes, 4), 1);
    assert_int_equal(yarn_spread_count(s, NULL), 2);
    yarn_spread_avoid(s, "b", false);
    assert_string_equal(pick(s, 1000, 0), "b");
    s = yarn_spread_free(s);
}

static void nodes_that_share_a_name_are_one_to_be_avoided(void **state)
{
    const struct yarn_facts_node nodes[] = { { .host = (char *)"localhost", .memory = 4000 },
                                             { .host = (char *)"a", .memory = 4000 },
                                             { .host = (char *)"localhost", .memory = 4000 },
                                             { .host = (char *)"localhost", .memory = 4000 } };
    struct yarn_spread *s = spread_of(nodes, 4);

    (void)state;
    assert_int_equal(yarn_spread_count(s, NULL), 2);
    assert_int_equal(yarn_spread_set(s, &nodes[1], false), 0);
    assert_int_equal(yarn_spread_count(s, NULL), 1);
    s = yarn_spread_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_go_evenly_to_nodes_with_room),
        cmocka_unit_test(containers_of_a_role_stay_apart),
        cmocka_unit_test(what_fits_nowhere_may_go_anywhere),
        cmocka_unit_test(room_that_is_given_back_is_used_again),
        cmocka_unit_test(nodes_come_and_go),
        cmocka_unit_test(nodes_that_share_a_name_are_one_to_be_avoided),
        cmocka_unit_test(an_avoided_node_is_not_picked_whatever_the_cluster_says_of_it),
        cmocka_unit_test(a_role_fills_nodes_or_has_each_for_one_container),
        cmocka_unit_test(labels_choose_nodes),
        cmocka_unit_test(what_is_granted_elsewhere_counts_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
