/* cluster_spec_test.c - see cluster_spec.h */
#include "base/str.h"
#include "job/cluster_spec.h"
#include "test.h"

static struct cluster_task ps[] = {
    { .host = "127.0.0.1", .node = "here", .port = { 10001, 10002 }, .n_ports = 2 },
};
static struct cluster_task worker[] = {
    { .host = "127.0.0.1", .node = "here" },
    { .host = "10.0.0.7", .node = "there", .slot = 1 },
};
static struct cluster_role roles[] = { { "ps", ps, 1 }, { "worker", worker, 2 } };
static const struct cluster cluster = { roles, 2, 3 };

static void roles_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(cluster_role(&cluster, "worker"), &roles[1]);
    assert_null(cluster_role(&cluster, "work"));
}

static void the_json_is_what_tasks_read(void **state)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(cluster_json(&cluster, &v, &err), 0);
    text = json_dumps(v, JSON_COMPACT);
    assert_non_null(text);
    assert_string_equal(
        text, "{\"generation\":3,\"roles\":{"
              "\"ps\":[{\"rank\":0,\"host\":\"127.0.0.1\",\"node\":\"here\","
              "\"ports\":[10001,10002]}],"
              "\"worker\":[{\"rank\":0,\"host\":\"127.0.0.1\",\"node\":\"here\",\"ports\":[]},"
              "{\"rank\":1,\"host\":\"10.0.0.7\",\"node\":\"there\",\"ports\":[]}]}}");
}

static void tasks_know_which_roles_share_their_machine(void **state)
{
    struct cluster_task chief[] = { { .node = "a" } };
    struct cluster_task many[] = {
        { .node = "b" }, { .node = "a" }, { .node = "b" }, { .node = "c", .neighbours = 7 }
    };
    struct cluster_role both[] = { { "chief", chief, 1 },
                                   { "many", many, 4 },
                                   { "none", NULL, 0 } };
    struct cluster c = { both, 3, 0 };

    (void)state;
    assert_int_equal(cluster_find_neighbours(&c), 0);
    assert_int_equal(chief[0].neighbours, 2); /* a task of "many", and no second chief */
    assert_int_equal(many[0].neighbours, 2);
    assert_int_equal(many[1].neighbours, 1);
    assert_int_equal(many[2].neighbours, 2);
    assert_int_equal(many[3].neighbours, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_know_which_roles_share_their_machine),
        cmocka_unit_test(roles_are_found_by_name),
        cmocka_unit_test(the_json_is_what_tasks_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
