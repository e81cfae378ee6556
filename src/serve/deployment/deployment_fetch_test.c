/* deployment_fetch_test.c - see deployment_fetch.h */
#include "serve/deployment/deployment_fetch.h"
#include "test.h"

#include <string.h>

#define PLAN                                                                                       \
    "{\"models\":[{\"name\":\"m\",\"replicas\":2,\"groups\":[\"a\",\"b\"],\"serve\":1,"            \
    "\"versions\":[{\"version\":1,\"group\":\"a\",\"serial\":3,\"path\":\"/m/1\"}]}]}"

static void rows_are_of_replicas_that_there_are(void **state)
{
    static const struct {
        const char *key, *value, *replica; /* NULL: it can be deleted */
    } rows[] = {
        { "serve/fetch/a/3/0", "5 10", "a-0" }, { "serve/fetch/a/3/1", "0 0", "a-1" },
        { "serve/fetch/a/3/2", "5 10", NULL }, /* beyond its group's size */
        { "serve/fetch/a/2/0", "5 10", NULL }, /* of an earlier version */
        { "serve/fetch/b/3/0", "5 10", NULL },  { "serve/fetch/a/3/0", "11 10", NULL },
        { "serve/fetch/a/3/0", "-1 10", NULL }, { "serve/fetch/a/3/0", "5", NULL },
        { "serve/fetch/a/3/0", "", NULL },      { "serve/fetch/a/3/0/9", "5 10", NULL },
        { "serve/fetch/a/3", "5 10", NULL },    { "serve/fetch/", "5 10", NULL },
        { "serve/at/a/3/0", "5 10", NULL },
    };
    AUTO_JSON *plan = NULL;

    (void)state;
    assert_int_equal(json_parse("plan", PLAN, strlen(PLAN), &plan, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *row = deployment_fetch_row(plan, rows[i].key, rows[i].value);

        if (!row != !rows[i].replica)
            fail_msg("%s '%s'", rows[i].key, rows[i].value);
        if (row)
            assert_string_equal(json_string_value(json_object_get(row, "replica")),
                                rows[i].replica);
    }
}

static void bytes_are_counted_and_shown(void **state)
{
    static const char text[] = "[{\"replica\":\"a-0\",\"group\":\"a\",\"done\":1048576,"
                               "\"total\":1610612736},{\"replica\":\"b-1\",\"group\":\"b\","
                               "\"done\":7,\"total\":9}]";
    AUTO_JSON *rows = NULL;
    AUTO_FREE char *shown = NULL;

    (void)state;
    assert_int_equal(json_parse("rows", text, strlen(text), &rows, NULL), 0);
    assert_int_equal(deployment_fetch_done(rows, NULL), 1048583);
    assert_int_equal(deployment_fetch_done(rows, "b"), 7);
    assert_int_equal(deployment_fetch_done(NULL, "b"), 0);
    assert_null(deployment_fetch_find(rows, "a-1"));
    assert_null(deployment_fetch_find(rows, NULL));
    shown = deployment_fetch_text(deployment_fetch_find(rows, "a-0"));
    assert_string_equal(shown, "fetching 1.0 MB of 1.5 GB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_of_replicas_that_there_are),
        cmocka_unit_test(bytes_are_counted_and_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
