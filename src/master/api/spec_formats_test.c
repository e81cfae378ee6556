/* spec_formats_test.c - the cluster specification in the formats that frameworks know. */
#include "master/master_private.h"
#include "test.h"

#include <string.h>

static struct cluster_task ps[] = { { .host = "10.0.0.1", .port = { 2222 }, .n_ports = 1 } };
static struct cluster_task workers[] = {
    { .host = "10.0.0.1", .port = { 2223 }, .n_ports = 1 },
    { .host = "10.0.0.2", .port = { 2222 }, .n_ports = 1 },
};
static struct cluster_task evaluators[] = { { .host = "10.0.0.2", .port = { 1 }, .n_ports = 1 } };
static struct cluster_role roles[] = {
    { "ps", ps, 1 },
    { "worker", workers, 2 },
    { "evaluator", evaluators, 1 },
};
static const struct cluster cluster = { roles, 3, 0 };

static void every_format_lists_every_task(void **state)
{
    static const char *const rows[][2] = {
        { "hosts", "ps=10.0.0.1:2222\nworker=10.0.0.1:2223,10.0.0.2:2222\nevaluator=10.0.0.2:1\n" },
        { "env", "PS_HOSTS=10.0.0.1:2222\nWORKER_HOSTS=10.0.0.1:2223,10.0.0.2:2222\n"
                 "EVALUATOR_HOSTS=10.0.0.2:1\n" },
        { "tf", "{\"cluster\": {\"ps\": [\"10.0.0.1:2222\"], "
                "\"worker\": [\"10.0.0.1:2223\", \"10.0.0.2:2222\"]}}\n" },
        { "clusterspec", "ClusterSpec: {\"ps\":[\"10.0.0.1:2222\"],"
                         "\"worker\":[\"10.0.0.1:2223\",\"10.0.0.2:2222\"]}\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF text = { .max = 4096 };
        struct err err = ERR_INIT;

        assert_int_equal(specs_render(&cluster, rows[i][0], &text, &err), 0);
        assert_string_equal(buf_text(&text), rows[i][1]);
    }
}

static void a_misspelt_format_gets_the_nearest_one(void **state)
{
    AUTO_BUF text = { .max = 4096 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(specs_render(&cluster, "host", &text, &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'hosts'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_lists_every_task),
        cmocka_unit_test(a_misspelt_format_gets_the_nearest_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
