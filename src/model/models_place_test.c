/* models_place_test.c - see models.h */
#include "base/path.h"
#include "model/models.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static void the_key_is_found_and_others_are_left_alone(void **state)
{
    static const struct {
        const char *text, *place;
        int code;
    } rows[] = {
        { "", NULL, 0 },
        { "model: {registry: hdfs:///models}\n", "hdfs:///models", 0 },
        { "a: [1]\nmodel:\n  x: 1\n  registry: /srv/models\n", "/srv/models", 0 },
        { "registry: /srv\n", NULL, 0 },
        { "model: /srv\n", NULL, 0 },
        { "- model\n", NULL, 0 },
        { "model: {registry: }\n", NULL, -EINVAL },
        { "model: {registry: [a]}\n", NULL, -EINVAL },
        { "model: {registry: \"a\\0b\"}\n", NULL, -EINVAL },
        { "model: {registry: /srv\n", NULL, -EINVAL },
        { "\t", NULL, -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO_FREE char *place = NULL;
        const struct view text = view_of(rows[i].text, strlen(rows[i].text));
        int r = models_config_read("config.yaml", &text, "registry", &place, &err);

        if (r != rows[i].code)
            fail_msg("'%s': %d %s", rows[i].text, r, err.text);
        if (rows[i].place)
            assert_string_equal(place, rows[i].place);
        else
            assert_null(place);
    }
}

static void a_limit_of_the_cache_is_a_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t limit;
        int code;
    } rows[] = {
        { "model: {cache-limit: 20g}\n", 20 * 1024 * (uint64_t)MIB, 0 },
        { "model: {registry: /srv}\n", 0, 0 },
        { "model: {cache-limit: much}\n", 0, -EINVAL },
        { "model: {cache-limit: 0}\n", 0, -EINVAL },
        { "model: {cache-limit: [1g]}\n", 0, -EINVAL },
    };
    char dir[TEST_PATH];
    AUTO_FREE char *own = test_dir(dir, "config") ? path_join(dir, "ydl") : NULL;
    AUTO_FREE char *file = own ? path_join(own, "config.yaml") : NULL;

    (void)state;
    assert_true(file && path_mkdirs(own, 0700, NULL) == 0);
    setenv("XDG_CONFIG_HOME", dir, 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        uint64_t limit = 7;
        int r;

        assert_int_equal(path_write(file, rows[i].text, strlen(rows[i].text), 0600, NULL), 0);
        r = models_cache_limit(&limit, &err);
        if (r != rows[i].code)
            fail_msg("'%s': %d %s", rows[i].text, r, err.text);
        assert_true(r < 0 || limit == rows[i].limit);
    }
    (void)path_remove(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_found_and_others_are_left_alone),
        cmocka_unit_test(a_limit_of_the_cache_is_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
