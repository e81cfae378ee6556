/* kv_store.c - the verbs that deal with keys: put, putnew, get, del, add, list. */
#include "rendezvous/kv_private.h"

#include <stdio.h>
#include <string.h>

struct kv_place *kv_find_key(struct kv *k, const struct kv_word *key)
{
    struct kv_place *p = (struct kv_place *)map_find(&k->keys, key->p, key->n);

    return p && p->value ? p : NULL;
}

/* Says no when the value has no room; `old` is what it replaces, or NULL. The ceilings are for the
 * whole store: keys and values together. What a value replaces is taken off first, so a full store
 * can still be changed. */
static bool has_room(struct kv *k, const struct kv_ask *a, size_t n, const struct kv_place *old)
{
    size_t more = old ? n : a->words[1].n + n, less = old ? old->value_n : 0;

    if (n > KV_VALUE_MAX) {
        kv_answer_error(k, a, "a value of %zu bytes is too long: %zu are allowed", n, KV_VALUE_MAX);
        return false;
    }
    if (!old && k->n_keys >= KV_KEYS_MAX) {
        kv_answer_error(k, a, "the store is full: it has %d keys", KV_KEYS_MAX);
        return false;
    }
    if (k->bytes - less + more > KV_TOTAL_MAX) {
        kv_answer_error(k, a, "the store is full: it has %zu of %zu bytes", k->bytes, KV_TOTAL_MAX);
        return false;
    }
    return true;
}

/* Everybody who waited for the key gets its value. A key that had one has no waits. */
static void wake_key(struct kv *k, struct kv_place *p)
{
    while (p->first) {
        struct kv_ask a = kv_ask_of(p->first);

        kv_wait_drop(k, p->first);
        kv_answer_value(k, &a, p->value, p->value_n);
    }
}

/* Puts a copy of the bytes in its place; NULL when out of memory. */
static struct kv_place *kv_store_set(struct kv *k, const struct kv_word *key,
                                     const struct kv_word *value)
{
    AUTO_FREE char *copy = malloc(value->n + 1); /* one byte more: an empty value is a value */
    struct kv_place *place = copy ? kv_place_get(&k->keys, key) : NULL;

    if (!place)
        return NULL;
    if (value->n)
        memcpy(copy, value->p, value->n);
    if (place->value)
        k->bytes -= place->value_n;
    else
        k->bytes += key->n, k->n_keys++;
    k->bytes += value->n;
    free(place->value);
    place->value = take(copy);
    place->value_n = value->n;
    return place;
}

/* The same for a request; reports the change and wakes waiting requests. -ENOMEM. The order is what
 * makes a repetition safe: the value is set, then the change is written down together with the
 * request, then the answer goes out. */
static int kv_store_store(struct kv *k, const struct kv_word *value, const struct kv_ask *a,
                          const int64_t *number)
{
    const struct kv_word *key = &a->words[1];
    struct kv_place *place = kv_store_set(k, key, value);
    struct kv_done done = { a->task, a->id, number != NULL, number ? *number : 0 };

    if (!place)
        return -ENOMEM;
    kv_changed(k, &(struct kv_change){ key, value, &done, 1 });
    wake_key(k, place);
    return 0;
}

int kv_store(struct kv *k, const struct kv_word *key, const struct kv_word *value)
{
    const struct kv_place *old = kv_find_key(k, key);
    size_t bytes = k->bytes + value->n + (old ? 0 : key->n) - (old ? old->value_n : 0);

    if (key->n == 0 || key->n > KV_KEY_MAX || value->n > KV_VALUE_MAX || bytes > KV_TOTAL_MAX ||
        (!old && k->n_keys >= KV_KEYS_MAX))
        return -EINVAL;
    return kv_store_set(k, key, value) ? 0 : -ENOMEM;
}

void kv_erase(struct kv *k, struct kv_place *p)
{
    k->bytes -= p->node.key_n + p->value_n;
    k->n_keys--;
    free(p->value);
    p->value = NULL;
    kv_place_tidy(p);
}

int kv_put(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct kv_word *value = &a->words[2];

    if (!has_room(k, a, value->n, kv_find_key(k, &a->words[1])))
        return 0;
    if (kv_store_store(k, value, a, NULL) < 0)
        return err_oom(err);
    kv_answer(k, a, "ok");
    return 0;
}

/* Of several that put a key at once one succeeds, and all others get its value. */
int kv_putnew(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct kv_place *p = kv_find_key(k, &a->words[1]);
    struct kv_word exists[] = { { "exists", strlen("exists") }, { NULL, 0 } };

    if (!p)
        return kv_put(k, a, err);
    exists[1] = (struct kv_word){ p->value, p->value_n };
    kv_reply(k, a, exists, COUNT_OF(exists));
    return 0;
}

int kv_get(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct kv_place *p = kv_find_key(k, &a->words[1]);

    (void)err;
    if (p)
        kv_answer_value(k, a, p->value, p->value_n);
    else
        kv_answer(k, a, "none");
    return 0;
}

int kv_del(struct kv *k, const struct kv_ask *a, struct err *err)
{
    struct kv_place *p = kv_find_key(k, &a->words[1]);
    struct kv_done done = { a->task, a->id, false, 0 };

    (void)err;
    if (p) {
        kv_erase(k, p);
        kv_changed(k, &(struct kv_change){ &a->words[1], NULL, &done, 1 });
    }
    kv_answer(k, a, p ? "ok" : "none");
    return 0;
}

/* The sum is kept with the request that made it: asked again after a lost connection, it is
 * answered with that sum and not added twice. */
int kv_add(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct kv_place *p = kv_find_key(k, &a->words[1]);
    int64_t old = 0, more = 0, sum = 0;
    char text[24], shown[KV_SHOWN];
    int n;

    if (kv_number(&a->words[2], INT64_MIN, INT64_MAX, &more) < 0) {
        kv_answer_error(k, a, "add: '%s' is not a whole number", kv_show(&a->words[2], shown));
        return 0;
    }
    if (p && kv_number(&(struct kv_word){ p->value, p->value_n }, INT64_MIN, INT64_MAX, &old) < 0) {
        kv_answer_error(k, a, "add: '%s' holds no number", kv_show(&a->words[1], shown));
        return 0;
    }
    if (__builtin_add_overflow(old, more, &sum)) {
        kv_answer_error(k, a, "add: the sum in '%s' is too large", kv_show(&a->words[1], shown));
        return 0;
    }
    n = snprintf(text, sizeof(text), "%lld", (long long)sum);
    if (!has_room(k, a, (size_t)n, p))
        return 0;
    if (kv_store_store(k, &(struct kv_word){ text, (size_t)n }, a, &sum) < 0)
        return err_oom(err);
    kv_answer_value(k, a, text, (size_t)n);
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct kv_word *x = a, *y = b;
    int r = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return r ? r : (x->n > y->n) - (x->n < y->n);
}

int kv_list(struct kv *k, const struct kv_ask *a, struct err *err)
{
    struct kv_word prefix = a->n > 1 ? a->words[1] : (struct kv_word){ "", 0 };
    AUTO_FREE struct kv_word *words = calloc(k->n_keys + 1, sizeof(*words));
    size_t n = 1, bytes = 0;

    if (!words)
        return err_oom(err);
    words[0] = (struct kv_word){ "keys", 4 };
    for (struct map_node *node = map_next(&k->keys, NULL); node; node = map_next(&k->keys, node)) {
        if (!((struct kv_place *)node)->value || node->key_n < prefix.n ||
            (prefix.n && memcmp(node->key, prefix.p, prefix.n) != 0))
            continue;
        words[n++] = (struct kv_word){ node->key, node->key_n };
        bytes += node->key_n;
    }
    if (bytes > KV_LIST_MAX) {
        kv_answer_error(k, a, "%zu keys are too many for one answer: ask with a longer prefix",
                        n - 1);
        return 0;
    }
    qsort(words + 1, n - 1, sizeof(*words), by_bytes);
    kv_reply(k, a, words, n);
    return 0;
}
