/* yarn_job_facts_test.c - what job.json carries to the master */
#include "platform/yarn/yarn_job_facts.h"
#include "test.h"

#include <string.h>

static const char full[] =
    "{\"program\": {\"to\": null, \"role\": null, \"url\": \"hdfs://n/p\", \"size\": 5, "
    "\"timestamp\": 7, \"archive\": false},"
    " \"files\": [{\"to\": \"d\", \"role\": \"worker\", \"url\": \"hdfs://n/d.tar\", \"size\": 1,"
    " \"timestamp\": 2, \"archive\": true}],"
    " \"nodes\": [{\"host\": \"h\", \"rack\": \"/r\", \"label\": \"\", \"memory\": 10,"
    " \"vcores\": 2, \"gpus\": 1}], \"heartbeat\": 100}";

static int read_text(const char *text, struct yarn_facts *ret)
{
    AUTO_JSON *v = NULL;

    assert_int_equal(json_parse("test", text, strlen(text), &v, NULL), 0);
    return yarn_facts_read(v, ret, NULL);
}

static void what_is_written_is_read_back(void **state)
{
    AUTO_YARN_FACTS a = { 0 };
    AUTO_YARN_FACTS b = { 0 };
    AUTO_JSON *v = json_object();

    (void)state;
    assert_int_equal(read_text(full, &a), 0);
    assert_int_equal(yarn_facts_write(&a, v, NULL), 0);
    assert_int_equal(yarn_facts_read(v, &b, NULL), 0);
    assert_string_equal(b.program.url, "hdfs://n/p");
    assert_int_equal(b.n_files, 1);
    assert_string_equal(b.files[0].role, "worker");
    assert_true(b.files[0].archive);
    assert_int_equal(b.files[0].timestamp, 2);
    assert_int_equal(b.n_nodes, 1);
    assert_string_equal(b.nodes[0].rack, "/r");
    assert_int_equal(b.nodes[0].gpus, 1);
    assert_int_equal(b.heartbeat, 100);
}

static void broken_facts_are_refused(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"program\": {\"url\": \"x\", \"size\": 5}}",
        "{\"program\": {\"url\": \"x\", \"size\": 5, \"timestamp\": 1}, \"nodes\": [{}]}",
        ("{\"program\": {\"url\": \"x\", \"size\": 5, \"timestamp\": 1},"
         " \"files\": [{\"url\": \"x\", \"size\": 5, \"timestamp\": 1}]}"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_YARN_FACTS f = { 0 };

        assert_int_equal(read_text(bad[i], &f), -EINVAL);
    }
}

static void a_role_without_sizes_gets_the_defaults(void **state)
{
    const struct spec_role plain = { 0 }, big = { .memory = 5 * MIB + 1, .cpus = 3, .gpus = 2 };
    struct yarn_role_room room;
    struct yarn_resource r;

    (void)state;
    yarn_role_resource(&plain, &room, &r);
    assert_int_equal(r.memory_mb, YARN_ROLE_MEMORY_MB);
    assert_int_equal(r.vcores, 1);
    assert_int_equal(r.n_more, 0);
    yarn_role_resource(&big, &room, &r);
    assert_int_equal(r.memory_mb, 6);
    assert_int_equal(r.vcores, 3);
    assert_string_equal(r.more[0].name, YARN_GPU);
    assert_int_equal(r.more[0].value, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(broken_facts_are_refused),
        cmocka_unit_test(a_role_without_sizes_gets_the_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
