/* kv_restore_test.c - a store is made again from what was told of it; see kv.h */
#include "rendezvous/kv_private.h"
#include "test.h"

#include <string.h>

struct world {
    struct kv *kv, *copy; /* every change of the first is made in the second */
    size_t answers, changes;
    uint64_t id; /* of the last request */
    int r;
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)task;
    (void)id;
    (void)words;
    (void)n;
    ((struct world *)user)->answers++;
}

static void on_change(void *user, const struct kv_change *c)
{
    struct world *w = user;

    w->changes++;
    w->r = kv_restore(w->copy, c);
}

static int close_world(void **state)
{
    struct world *w = *state;

    if (!w)
        return 0;
    w->kv = kv_free(w->kv);
    w->copy = kv_free(w->copy);
    free(w);
    return 0;
}

static int open_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct kv_events on = { .user = w, .on_reply = on_reply, .on_change = on_change };
    struct kv_events quiet = { .user = w, .on_reply = on_reply };

    *state = w;
    if (w && kv_new(&on, &w->kv, NULL) == 0 && kv_new(&quiet, &w->copy, NULL) == 0)
        return 0;
    close_world(state); /* nobody else does */
    return -1;
}

static void ask(struct world *w, const char *verb, const char *key, const char *value)
{
    struct kv_word words[] = { { verb, strlen(verb) }, { key, strlen(key) }, { value, 0 } };
    struct kv_ask a = { 1, ++w->id, words, value ? 3 : 2, 0 };

    words[2].n = value ? strlen(value) : 0;
    assert_int_equal(kv_request(w->kv, &a, NULL), 0);
    assert_int_equal(w->r, 0);
}

static int is_in_copy(void *arg, const struct kv_word *key, const struct kv_word *value)
{
    struct world *w = arg;
    const struct kv_place *p = kv_find_key(w->copy, key);

    assert_non_null(p);
    assert_int_equal(p->value_n, value->n);
    assert_memory_equal(p->value, value->p, value->n);
    return 0;
}

static void assert_same(struct world *w, size_t keys)
{
    assert_int_equal(w->kv->n_keys, keys);
    assert_int_equal(w->copy->n_keys, keys);
    assert_int_equal(w->copy->bytes, w->kv->bytes);
    assert_int_equal(kv_each(w->kv, is_in_copy, w), 0);
}

static void what_was_told_makes_the_same_store(void **state)
{
    struct world *w = *state;

    ask(w, "put", "a", "1");
    ask(w, "put", "a", "22");
    ask(w, "add", "n", "5");
    ask(w, "add", "n", "-7");
    ask(w, "put", "empty", "");
    ask(w, "put", "pmi/0", "x");
    ask(w, "put", "gone", "x");
    ask(w, "del", "gone", NULL);
    ask(w, "del", "gone", NULL);
    ask(w, "get", "a", NULL);
    assert_int_equal(w->changes, 8); /* reads, and what changed nothing, are not told */
    assert_same(w, 4);
    kv_generation(w->kv);
    assert_same(w, 3);
}

static void ask_copy(struct world *w, uint32_t task, uint64_t id)
{
    struct kv_word words[] = { { "barrier", 7 }, { "b", 1 }, { "2", 1 } };

    assert_int_equal(kv_request(w->copy, &(struct kv_ask){ task, id, words, 3, 0 }, NULL), 0);
}

static void a_barrier_that_opened_is_open_in_the_copy(void **state)
{
    struct world *w = *state;
    struct kv_word words[] = { { "barrier", 7 }, { "b", 1 }, { "2", 1 } };

    for (uint32_t task = 0; task < 2; task++)
        assert_int_equal(kv_request(w->kv, &(struct kv_ask){ task, 7, words, 3, 0 }, NULL), 0);
    assert_int_equal(w->changes, 1); /* both at once */
    assert_int_equal(w->answers, 2);
    ask_copy(w, 0, 7);
    ask_copy(w, 1, 7);
    assert_int_equal(w->answers, 4);
    ask_copy(w, 1, 8);
    assert_int_equal(w->answers, 4);
    kv_generation(w->kv);
    assert_int_equal(w->changes, 2);
    ask_copy(w, 0, 7); /* another task of that number: the second of the new barrier */
    assert_int_equal(w->answers, 6);
}

static int put_copy(struct world *w, const struct kv_word *key, const struct kv_word *value)
{
    return kv_restore(w->copy, &(struct kv_change){ .key = key, .value = value });
}

static void what_cannot_have_been_told_changes_nothing(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *much = calloc(1, KV_VALUE_MAX + 1);
    struct kv_word key = { much, KV_KEY_MAX + 1 }, none = { "", 0 }, good = { "k", 1 };
    struct kv_word value = { much, KV_VALUE_MAX + 1 };

    assert_non_null(much);
    assert_int_equal(put_copy(w, &key, &good), -EINVAL);
    assert_int_equal(put_copy(w, &none, &good), -EINVAL);
    assert_int_equal(put_copy(w, &good, &value), -EINVAL);
    assert_int_equal(put_copy(w, &good, NULL), 0); /* it was not there */
    value.n = KV_VALUE_MAX;
    for (size_t i = 0; i < KV_TOTAL_MAX / KV_VALUE_MAX - 1; i++) {
        char name[] = { 'a', (char)('0' + i) };

        assert_int_equal(put_copy(w, &(struct kv_word){ name, 2 }, &value), 0);
    }
    value.n = KV_VALUE_MAX - 200;
    assert_int_equal(put_copy(w, &good, &value), 0);
    assert_int_equal(put_copy(w, &(struct kv_word){ "l", 1 }, &value), -EINVAL);
    assert_int_equal(put_copy(w, &good, &value), 0);
    assert_int_equal(w->answers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_told_makes_the_same_store, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(a_barrier_that_opened_is_open_in_the_copy, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(what_cannot_have_been_told_changes_nothing, open_world,
                                        close_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
