/* registry_names_test.c - labels and paths of the registry. */
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/registry/registry_names.h"
#include "test.h"

#include <string.h>

#define LONG "a23456789-123456789-123456789-123456789-123456789-123456789-123"

static void a_text_becomes_a_label(void **state)
{
    static const struct {
        const char *text, *label;
    } rows[] = {
        { "mnist", "mnist" },  { "My_Job.v2", "my-job-v2" },
        { "--x--", "x" },      { "", "x" },
        { "___", "x" },        { "\xc3\xa9t\xc3\xa9", "t" },
        { LONG "4567", LONG }, { LONG "-", LONG },
        { "A", "a" },
    };
    char out[REGISTRY_LABEL];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(registry_label(rows[i].text, out), rows[i].label);
        assert_true(registry_is_label(out));
    }
}

static void what_dns_does_not_take_is_no_label(void **state)
{
    static const char *const bad[] = { "", "-a", "a-", "A", "a.b", "a_b", LONG "4" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(registry_is_label(bad[i]));
    assert_true(registry_is_label(LONG));
}

static void containers_are_written_as_hadoop_does(void **state)
{
    char out[REGISTRY_LABEL];

    (void)state;
    assert_string_equal(registry_container("container_e17_1410901177871_0001_01_000005", out),
                        "ctr-e17-1410901177871-0001-01-000005");
    assert_string_equal(registry_container("other", out), "other");
    assert_string_equal(registry_container("container" LONG LONG, out),
                        "ctra23456789-123456789-123456789-123456789-123456789-123456789");
}

static void users_lose_their_realm(void **state)
{
    char out[REGISTRY_LABEL];

    (void)state;
    assert_string_equal(registry_user("Alice/host@REALM", out), "alice");
    assert_string_equal(registry_user("a_b@R", out), "a-b");
}

static void paths_are_made_of_labels(void **state)
{
    AUTO_FREE char *service = NULL;
    AUTO_FREE char *part = NULL;
    AUTO_FREE char *none = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(registry_service_path("Bob", "ydl", "mnist", &service, &err), 0);
    assert_string_equal(service, "/users/bob/services/ydl/mnist");
    assert_int_equal(registry_component_path(service, "ctr-1", &part, &err), 0);
    assert_string_equal(part, "/users/bob/services/ydl/mnist/components/ctr-1");
    assert_int_equal(registry_service_path("bob", "ydl", "a/b", &none, &err), -EINVAL);
    assert_int_equal(registry_service_path("bob", "", "a", &none, &err), -EINVAL);
    assert_int_equal(registry_component_path(service, "C", &none, &err), -EINVAL);
    assert_int_equal(registry_component_path("x", "c", &none, &err), -EINVAL);
    assert_null(none);
}

static void only_a_path_is_a_path(void **state)
{
    static const char *const bad[] = { "", "/", "a", "/a/", "//a", "/a/../b", "/A", "/a b" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(registry_check_path(bad[i], NULL), -EINVAL);
    assert_int_equal(registry_check_path("/a/b-1", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_a_label),
        cmocka_unit_test(what_dns_does_not_take_is_no_label),
        cmocka_unit_test(containers_are_written_as_hadoop_does),
        cmocka_unit_test(users_lose_their_realm),
        cmocka_unit_test(paths_are_made_of_labels),
        cmocka_unit_test(only_a_path_is_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
