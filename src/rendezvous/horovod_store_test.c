/* horovod_store_test.c - claims about horovod_store.h */
#include "rendezvous/horovod_store.h"
#include "test.h"

#include <string.h>

static int open_store(void **state)
{
    struct horovod_store *s = NULL;

    assert_int_equal(horovod_store_new(2, 100, &s, NULL), 0);
    *state = s;
    return 0;
}

static int close_store(void **state)
{
    *state = horovod_store_free(*state);
    return 0;
}

static void put(struct horovod_store *s, const char *scope, const char *key, const char *value)
{
    assert_int_equal(horovod_put(s, scope, key, value, strlen(value), NULL), 0);
}

static void finish(struct horovod_store *s, const char *scope, const char *key)
{
    assert_int_equal(horovod_finish(s, scope, key, NULL), 0);
}

static void assert_value(struct horovod_store *s, const char *scope, const char *key,
                         const char *want)
{
    AUTO_BUF out = { .max = KIB };
    int r = horovod_get(s, scope, key, &out, NULL);

    assert_int_equal(r, want ? 0 : -ENOENT);
    if (want)
        assert_string_equal(buf_text(&out), want);
}

static void what_was_put_is_there_until_replaced(void **state)
{
    struct horovod_store *s = *state;

    assert_value(s, "global", "0", NULL);
    put(s, "global", "0", "a");
    put(s, "local_h", "0", "b");
    put(s, "global", "0/1", "");
    assert_value(s, "global", "0", "a");
    assert_value(s, "local_h", "0", "b");
    assert_value(s, "global", "0/1", "");
    put(s, "global", "0", "longer");
    assert_value(s, "global", "0", "longer");
}

static void a_circle_is_emptied_when_all_are_done(void **state)
{
    static const char *const scopes[] = { "global", "local_host", "cross_0" };
    struct horovod_store *s = *state;

    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        put(s, scopes[i], "rank_0", "host");
        put(s, scopes[i], "0", "a");
        put(s, scopes[i], "1", "b");
        finish(s, scopes[i], "0");
        finish(s, scopes[i], "0"); /* said twice, counted once */
        finish(s, scopes[i], "9"); /* nobody */
        assert_value(s, scopes[i], "0", "a");
        finish(s, scopes[i], "1");
        assert_value(s, scopes[i], "0", NULL);
        assert_value(s, scopes[i], "rank_0", NULL);
    }
}

static void in_other_scopes_a_key_goes_alone(void **state)
{
    static const char scope[] = "global_process_set_hash_1f";
    struct horovod_store *s = *state;

    put(s, scope, "0", "a");
    put(s, scope, "1", "b");
    finish(s, scope, "0");
    assert_value(s, scope, "0", NULL);
    assert_value(s, scope, "1", "b");
    finish(s, scope, "1");
    finish(s, scope, "1");
    finish(s, "nowhere", "1");
    assert_value(s, scope, "1", NULL);
}

static void names_and_values_have_limits(void **state)
{
    struct horovod_store *s = *state;
    AUTO_FREE char *big = calloc(1, HOROVOD_VALUE_MAX + 1);
    char name[HOROVOD_NAME_MAX + 2];
    struct err err = ERR_INIT;

    assert_non_null(big);
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_int_equal(horovod_put(s, name, "k", "v", 1, &err), -EINVAL);
    assert_int_equal(horovod_put(s, "s", "", "v", 1, &err), -EINVAL);
    assert_int_equal(horovod_finish(s, "", "k", &err), -EINVAL);
    assert_int_equal(horovod_put(s, "s", "k", big, HOROVOD_VALUE_MAX + 1, &err), -E2BIG);
    assert_string_equal(err.text, "a value of 4194305 bytes is too long");
    assert_value(s, "s", "k", NULL);
}

static void the_store_has_a_most(void **state)
{
    struct horovod_store *s = *state;
    char fifty[50] = { 0 };

    assert_int_equal(horovod_put(s, "s", "a", fifty, 50, NULL), 0);
    assert_int_equal(horovod_put(s, "t", "b", fifty, 50, NULL), 0);
    assert_int_equal(horovod_put(s, "s", "more", "v", 1, NULL), -E2BIG);
    assert_int_equal(horovod_put(s, "s", "a", fifty, 50, NULL), 0);
    finish(s, "s", "a");
    put(s, "s", "more", "v");
}

static void a_store_has_room_for_its_workers_and_little_more(void **state)
{
    struct horovod_store *s = *state;
    struct err err = ERR_INIT;
    char key[32];
    int n = 0, r = 0;

    assert_int_equal(horovod_budget(2), HOROVOD_TOTAL_MIN + 4 * HOROVOD_PAIR);
    assert_int_equal(horovod_budget(100), HOROVOD_TOTAL_MIN + 10000 * HOROVOD_PAIR);
    assert_int_equal(horovod_budget(1000000), HOROVOD_TOTAL_MAX);
    while (r == 0) {
        snprintf(key, sizeof(key), "k%d", n++);
        r = horovod_put(s, "a", key, "", 0, &err);
    }
    assert_int_equal(r, -E2BIG);
    assert_int_equal(n - 1, 2 * HOROVOD_KEYS_EACH + 1024);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)
    const struct CMUnitTest tests[] = {
        T(what_was_put_is_there_until_replaced),
        T(a_circle_is_emptied_when_all_are_done),
        T(in_other_scopes_a_key_goes_alone),
        T(names_and_values_have_limits),
        T(the_store_has_a_most),
        T(a_store_has_room_for_its_workers_and_little_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
