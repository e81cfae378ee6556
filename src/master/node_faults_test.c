/* node_faults_test.c - nodes that are avoided, and let off, as the platform and the log hear of it.
 */
#include "master/local/master_local_private.h"
#include "test.h"

#include <string.h>

#define T0 INT64_C(1763274830000)

/* A platform that writes down what it is told: "+a -a ". */
struct fake {
    struct platform base;
    unsigned n_nodes;
    struct buf told;
};

static void told(struct platform *p, const char *node, bool on)
{
    assert_int_equal(buf_printf(&((struct fake *)p)->told, "%c%s ", on ? '+' : '-', node), 0);
}

static unsigned nodes(struct platform *p)
{
    return ((struct fake *)p)->n_nodes;
}

static const struct platform_ops choosy = { .name = "fake", .avoid = told, .nodes = nodes };
static const struct platform_ops alone = { .name = "fake" };

struct bench {
    struct fake fake;
    struct spec_role role;
    struct slot_info slots[2];
    struct master m;
};

static int teardown(void **state)
{
    struct bench *b = *state;

    if (!b)
        return 0;
    blacklist_free(b->m.avoid);
    engine_free(b->m.engine);
    if (b->m.loop)
        loop_free(b->m.loop);
    buf_done(&b->fake.told);
    free(b);
    return 0;
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct engine_options o = { 0 };

    *state = b;
    if (!b)
        return -1;
    b->fake = (struct fake){ .base.ops = &choosy, .n_nodes = 3, .told.max = KIB };
    b->role = (struct spec_role){ .name = (char *)"worker", .count = 2, .procs = 1, .ports = 1 };
    b->m = (struct master){ .ops = &master_local_ops,
                            .platform = &b->fake.base,
                            .slots = { .v = b->slots, .n = 2 },
                            .spec = { .roles = &b->role, .n_roles = 1 } };
    b->m.wall = T0;
    b->m.mono = loop_now(b->m.loop);
    if (loop_new(&b->m.loop, NULL) == 0 && engine_new(&b->m.spec, &o, &b->m.engine, NULL) == 0 &&
        blacklist_new(BLACKLIST_NODES_FAULT, 0, &b->m.avoid, NULL) == 0)
        return 0;
    (void)teardown(state); /* nobody else does */
    return -1;
}

static void blame_twice(struct bench *b, const char *node)
{
    node_faults_node(&b->m, node, FAIL_DISK);
    node_faults_node(&b->m, node, FAIL_DISK);
}

static void the_platform_hears_who_is_avoided_and_who_no_more(void **state)
{
    struct bench *b = *state;

    blame_twice(b, "a");
    assert_int_equal(node_faults_deadline(&b->m), INT64_MAX); /* nobody waits for anything */
    b->slots[1].asked = T0 - 10;
    assert_int_equal(node_faults_deadline(&b->m), T0 - 10 + BLACKLIST_FIRST_MS);
    node_faults_on_time(&b->m);
    assert_string_equal(buf_text(&b->fake.told), "+a ");
    b->slots[0].asked = T0 - BLACKLIST_FIRST_MS; /* the oldest counts */
    node_faults_on_time(&b->m);
    assert_string_equal(buf_text(&b->fake.told), "+a -a ");
    assert_int_equal(node_faults_deadline(&b->m), INT64_MAX);
    node_faults_node(&b->m, "a", FAIL_DISK);
    assert_string_equal(buf_text(&b->fake.told), "+a -a +a ");
}

static void when_the_others_have_gone_the_last_ones_are_let_off_at_once(void **state)
{
    struct bench *b = *state;

    blame_twice(b, "a");
    blame_twice(b, "b");
    b->slots[0].asked = master_now(&b->m);
    node_faults_on_time(&b->m);
    assert_string_equal(buf_text(&b->fake.told), "+a +b ");
    b->fake.n_nodes = 1;
    node_faults_on_time(&b->m);
    assert_string_equal(buf_text(&b->fake.told), "+a +b -a -b ");
}

static void where_there_is_no_choice_nobody_is_avoided(void **state)
{
    struct bench *b = *state;

    b->fake.base.ops = &alone;
    blame_twice(b, "a");
    b->slots[0].asked = T0 - BLACKLIST_MOST_MS;
    node_faults_on_time(&b->m);
    node_faults_resume(&b->m);
    assert_int_equal(b->fake.told.len, 0);
}

/* What one master writes, the next one knows. */
static void the_next_master_avoids_the_same_nodes(void **state)
{
    struct bench *b = *state;
    AUTO_BUF lines = { .max = MIB };
    struct blacklist *old = b->m.avoid;
    const char *at, *end;

    blame_twice(b, "a");
    blame_twice(b, "b");
    b->slots[0].asked = T0 - BLACKLIST_FIRST_MS;
    node_faults_on_time(&b->m);
    assert_int_equal(engine_events(b->m.engine, &lines), 0);
    blacklist_free(old);
    assert_int_equal(blacklist_new(BLACKLIST_NODES_FAULT, 0, &b->m.avoid, NULL), 0);
    for (at = buf_text(&lines); (end = strchr(at, '\n')); at = end + 1) {
        AUTO_JSON *v = NULL;

        assert_int_equal(json_parse("a line", at, (size_t)(end - at), &v, NULL), 0);
        assert_int_equal(node_faults_restore(&b->m, v), 0);
    }
    buf_reset(&b->fake.told);
    node_faults_resume(&b->m);
    assert_string_equal(buf_text(&b->fake.told), "+b ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_platform_hears_who_is_avoided_and_who_no_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(when_the_others_have_gone_the_last_ones_are_let_off_at_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(where_there_is_no_choice_nobody_is_avoided, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_master_avoids_the_same_nodes, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
