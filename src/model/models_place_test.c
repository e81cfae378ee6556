/* models_place_test.c - see models.h */
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
        int r = models_place_read("config.yaml", rows[i].text, strlen(rows[i].text), &place, &err);

        if (r != rows[i].code)
            fail_msg("'%s': %d %s", rows[i].text, r, err.text);
        if (rows[i].place)
            assert_string_equal(place, rows[i].place);
        else
            assert_null(place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_found_and_others_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
