/* tf_cluster_test.c - see tf_cluster.h */
#include "native/tf_cluster.h"
#include "test.h"

#include <string.h>

/* "ps:h:1 worker:h:2,-,h:3" */
static char *shown(const struct tf_cluster *c)
{
    AUTO_BUF b = { .max = 4096 };

    for (size_t i = 0; i < c->n; i++) {
        assert_int_equal(buf_printf(&b, "%s%s:", i ? " " : "", c->jobs[i].name), 0);
        for (size_t k = 0; k < c->jobs[i].tasks.n; k++) {
            const char *address = c->jobs[i].tasks.v[k];

            assert_int_equal(buf_printf(&b, "%s%s", k ? "," : "", *address ? address : "-"), 0);
        }
    }
    assert_non_null(buf_text(&b));
    return strdup((char *)b.data);
}

static void three_ways_to_say_a_cluster(void **state)
{
    /* clang-format off */
    static const struct { int (*fn)(const char *, struct tf_cluster *, struct err *);
                          const char *text, *cluster; } rows[] = {
        { tf_cluster_spec, "worker|h:1;h:2,ps|h:3", "ps:h:3 worker:h:1,h:2" },
        { tf_cluster_spec, " {\"worker\": [\"h:1\"], \"ps\": []}", "ps: worker:h:1" },
        { tf_cluster_spec, "{\"worker\": {\"0\": \"h:1\", \"2\": \"h:3\"}}", "worker:h:1,-,h:3" },
        { tf_cluster_spec, "a|[::1]:1", "a:[::1]:1" },
        { tf_cluster_job, "ps=h:1,h:2", "ps:h:1,h:2" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_TF_CLUSTER c = { 0 };
        AUTO_FREE char *text = NULL;

        assert_int_equal(rows[i].fn(rows[i].text, &c, NULL), 0);
        text = shown(&c);
        assert_string_equal(text, rows[i].cluster);
    }
}

static void what_is_no_cluster_is_refused(void **state)
{
    /* clang-format off */
    static const struct { const char *text, *says; } rows[] = {
        { "", "the cluster is empty" },
        { "worker", "'worker' is no job|list of addresses" },
        { "wo rker|h:1", "'wo rker' is no name of a job" },
        { "|h:1", "'' is no name of a job" },
        { "a|h:1,a|h:2", "job 'a' is there twice" },
        { "a|h", "'h' of job 'a' is no host:port" },
        { "a|h:0", "'h:0' of job 'a' is no host:port" },
        { "a|:5", "':5' of job 'a' is no host:port" },
        { "{\"a\": 1}", "job 'a' is no list of addresses" },
        { "{\"a\": [1]}", "'' of job 'a' is no host:port" },
        { "{\"a\": {\"x\": \"h:1\"}}", "job 'a': an index is no number below 20000" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_TF_CLUSTER c = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(tf_cluster_spec(rows[i].text, &c, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
    }
}

static void tf_config_names_cluster_and_task(void **state)
{
    /* clang-format off */
    static const struct { const char *text; int r; const char *name; int64_t index; } rows[] = {
        { "{\"cluster\":{\"ps\":[\"h:1\"]},\"task\":{\"type\":\"ps\",\"index\":0}}", 0, "ps", 0 },
        { "{\"cluster\":{\"ps\":[\"h:1\"]},\"task\":{\"type\":\"ps\",\"index\":\"3\"}}", 0, "ps", 3 },
        { "{\"cluster\":{\"ps\":[\"h:1\"]}}", 0, "", -1 },
        { "{\"task\":{}}", -EINVAL, NULL, 0 }, { "[]", -EINVAL, NULL, 0 }, { "{", -EINVAL, NULL, 0 },
        { "{\"cluster\":{},\"task\":{\"type\":\"a b\",\"index\":0}}", -EINVAL, NULL, 0 },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_TF_CLUSTER c = { 0 };
        struct tf_task t = { .index = -1 };
        struct err err = ERR_INIT;

        assert_int_equal(tf_cluster_config(rows[i].text, &c, &t, &err), rows[i].r);
        if (rows[i].r < 0) {
            assert_true(str_starts(err.text, "TF_CONFIG"));
            continue;
        }
        assert_string_equal(t.name, rows[i].name);
        assert_int_equal(t.index, rows[i].index);
    }
}

static void a_task_must_be_in_the_cluster(void **state)
{
    /* clang-format off */
    static const struct { struct tf_task t; const char *says; } rows[] = {
        { { "", 0 }, "which task of the cluster this is was not said" },
        { { "a", -1 }, "which task of the cluster this is was not said" },
        { { "evaluator", 0 }, "there is no job 'evaluator' in the cluster" },
        { { "a", 3 }, "job 'a' has no task 3, only 3 of them" },
        { { "a", 1 }, "job 'a' has no task 1, only 3 of them" },
    };
    /* clang-format on */
    AUTO_TF_CLUSTER c = { 0 }, empty = { 0 };

    (void)state;
    assert_int_equal(tf_cluster_spec("{\"a\": {\"0\": \"h:1\", \"2\": \"h:3\"}}", &c, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(tf_cluster_check(&c, &rows[i].t, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
    }
    assert_int_equal(tf_cluster_check(&c, &(struct tf_task){ "a", 2 }, NULL), 0);
    assert_int_equal(tf_cluster_check(&empty, &(struct tf_task){ "a", 0 }, NULL), -EINVAL);
}

/* Read back by TensorFlow's own Python it is ServerDef(cluster={ps: {0: "h:1"}, worker: {1:
 * "h:2"}}, job_name="worker", task_index=1, default_session_config={intra 3, inter 2},
 * protocol="grpc"). */
static void the_bytes_are_those_of_a_server_def(void **state)
{
    static const char wanted[] = "\x0a\x20"
                                 "\x0a\x0b\x0a\x02ps\x12\x05\x12\x03h:1"
                                 "\x0a\x11\x0a\x06worker\x12\x07\x08\x01\x12\x03h:2"
                                 "\x12\x06worker\x18\x01\x22\x04\x10\x03\x28\x02\x2a\x04grpc";
    const struct tf_threads threads = { .inter = 1, .intra = 3 }; /* 1 would wait for ever */
    AUTO_TF_CLUSTER c = { 0 };
    AUTO_BUF out = { .max = 4096 };

    (void)state;
    assert_int_equal(tf_cluster_spec("{\"worker\":{\"1\":\"h:2\"},\"ps\":[\"h:1\"]}", &c, NULL), 0);
    assert_int_equal(tf_cluster_encode(&c, &(struct tf_task){ "worker", 1 }, &threads, &out, NULL),
                     0);
    assert_int_equal(out.len, sizeof(wanted) - 1);
    assert_memory_equal(out.data, wanted, sizeof(wanted) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_ways_to_say_a_cluster),
        cmocka_unit_test(what_is_no_cluster_is_refused),
        cmocka_unit_test(tf_config_names_cluster_and_task),
        cmocka_unit_test(a_task_must_be_in_the_cluster),
        cmocka_unit_test(the_bytes_are_those_of_a_server_def),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
