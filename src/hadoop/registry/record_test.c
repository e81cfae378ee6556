/* record_test.c - records as Hadoop's programs read and write them. */
#include "base/str.h"
#include "hadoop/registry/record.h"
#include "test.h"

#include <string.h>

/* What is made, as text; NULL when it failed. */
static char *made(const struct registry_record *r, struct err *err)
{
    AUTO_JSON *v = NULL;
    char *text;

    if (registry_record_make(r, &v, err) < 0)
        return NULL;
    text = json_dumps(v, JSON_COMPACT);
    assert_non_null(text);
    return text;
}

static void a_container_has_what_registry_dns_reads(void **state)
{
    const struct registry_attribute more = { "status", "finished" };
    const struct registry_record r = { .description = "worker-0",
                                       .persistence = REGISTRY_CONTAINER,
                                       .id = "container_1_0001_01_000002",
                                       .ip = "10.0.0.1",
                                       .hostname = "h1",
                                       .component = "worker",
                                       .attributes = &more,
                                       .n_attributes = 1 };
    AUTO_FREE char *text = made(&r, NULL);

    (void)state;
    assert_non_null(text);
    assert_string_equal(text, "{\"type\":\"JSONServiceRecord\",\"description\":\"worker-0\","
                              "\"external\":[],\"internal\":[],"
                              "\"yarn:id\":\"container_1_0001_01_000002\","
                              "\"yarn:persistence\":\"container\",\"yarn:ip\":\"10.0.0.1\","
                              "\"yarn:hostname\":\"h1\",\"yarn:component\":\"worker\","
                              "\"status\":\"finished\"}");
}

static void endpoints_are_by_address_or_by_uri(void **state)
{
    const struct registry_endpoint ends[] = {
        { .api = "http://ydl", .protocol = "webui", .uri = "http://10.0.0.1:80/" },
        { .api = "http://ydl/rest", .protocol = "REST", .host = "10.0.0.1", .port = 81 },
    };
    const struct registry_record r = {
        .external = ends, .n_external = 1, .internal = ends + 1, .n_internal = 1
    };
    AUTO_FREE char *text = made(&r, NULL);

    (void)state;
    assert_non_null(text);
    assert_string_equal(
        text, "{\"type\":\"JSONServiceRecord\",\"external\":[{\"api\":\"http://ydl\","
              "\"addressType\":\"uri\",\"protocolType\":\"webui\","
              "\"addresses\":[{\"uri\":\"http://10.0.0.1:80/\"}]}],"
              "\"internal\":[{\"api\":\"http://ydl/rest\",\"addressType\":\"host/port\","
              "\"protocolType\":\"REST\",\"addresses\":[{\"host\":\"10.0.0.1\",\"port\":\"81\"}]}],"
              "\"yarn:persistence\":\"permanent\"}");
}

static void what_breaks_registry_dns_is_refused(void **state)
{
    static const struct registry_endpoint odd = { .api = "ydl", .protocol = "tcp", .host = "h" };
    static const struct {
        struct registry_record r;
        const char *text;
    } rows[] = {
        { { .persistence = REGISTRY_CONTAINER, .ip = "10.0.0.1", .description = "x" },
          "a container's record needs a description, a component, an address and a host" },
        { { .persistence = REGISTRY_CONTAINER,
            .ip = "10.0.0.1",
            .description = "x",
            .component = "y" },
          "a container's record needs a description, a component, an address and a host" },
        { { .ip = "::1" }, "'::1' is not an IPv4 address, which the registry needs" },
        { { .external = &odd, .n_external = 1 }, "the api 'ydl' does not begin with 'http://'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_null(made(&rows[i].r, &err));
        assert_int_equal(err.code, -EINVAL);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void what_is_nothing_to_the_dns_may_have_any_api(void **state)
{
    static const struct registry_endpoint odd = { .api = "classpath:x", .uri = "http://a:1/" };
    const struct registry_record r = { .persistence = REGISTRY_ATTEMPT,
                                       .external = &odd,
                                       .n_external = 1 };
    struct err err = ERR_INIT;
    AUTO_FREE char *text = made(&r, &err);

    (void)state;
    assert_non_null(text);
    assert_non_null(strstr(text, "\"api\":\"classpath:x\""));
    assert_non_null(strstr(text, "\"yarn:persistence\":\"application-attempt\""));
}

static void only_records_are_read(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        { "", -ENODATA },
        { "{", -EINVAL },
        { "[]", -EINVAL },
        { "{\"type\":\"other\"}", -EINVAL },
        { "{\"type\":7}", -EINVAL },
        { "{\"type\":\"JSONServiceRecord\",\"yarn:id\":\"a\",\"n\":1}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *v = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(
            registry_record_parse("'/a'", rows[i].text, strlen(rows[i].text), &v, &err),
            rows[i].code);
        if (rows[i].code < 0)
            continue;
        assert_string_equal(registry_record_text(v, "yarn:id"), "a");
        assert_null(registry_record_text(v, "n"));
        assert_null(registry_record_text(v, "none"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_has_what_registry_dns_reads),
        cmocka_unit_test(endpoints_are_by_address_or_by_uri),
        cmocka_unit_test(what_breaks_registry_dns_is_refused),
        cmocka_unit_test(what_is_nothing_to_the_dns_may_have_any_api),
        cmocka_unit_test(only_records_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
