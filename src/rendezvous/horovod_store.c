/* horovod_store.c - scopes of keys with a budget for all of them together. A scope whose members
 * have all finished is emptied; how many members it has follows from the keys they put first. See
 * horovod_store.h. */
#include "rendezvous/horovod_store.h"
#include "base/str.h"
#include "rendezvous/map.h"

#include <string.h>

/*     PUT    value set                 a rank's key counts in n_ranks
 *     DELETE in a circle: done set     counts in n_done, and the value stays for the others
 *     DELETE elsewhere                 the item goes */
struct item {
    struct map_node node; /* first */
    void *value;          /* NULL: only known as one that is done */
    size_t n;
    bool rank; /* its name is a number: a worker's own key */
    bool done;
    char name[];
};

struct scope {
    struct map_node node; /* first */
    struct map items;
    size_t n_ranks, n_done;
    char name[];
};

struct horovod_store {
    unsigned world;
    struct map scopes;
    size_t bytes, bytes_max, keys, keys_max;
};

/* ---- names ---- */

static int horovod_check_name(const char *what, const char *name, struct err *err)
{
    size_t n = strlen(name);

    if (n == 0 || n > HOROVOD_NAME_MAX)
        return err_set(err, -EINVAL, "a %s has 1 to %d bytes, not %zu", what, HOROVOD_NAME_MAX, n);
    return 0;
}

static int horovod_check_names(const char *scope, const char *key, struct err *err)
{
    int r = horovod_check_name("scope", scope, err);

    return r < 0 ? r : horovod_check_name("key", key, err);
}

static bool is_rank(const char *name)
{
    return name[strspn(name, "0123456789")] == 0;
}

/* A circle whose members all say when they are done. Sets of processes are named after the circles,
 * with a hash behind; their members delete their own key instead of saying that they are done. */
static bool is_circle(const char *scope)
{
    if (strstr(scope, "_process_set_hash_"))
        return false;
    return str_eq(scope, "global") || str_starts(scope, "local_") || str_starts(scope, "cross_");
}

/* How many must be done. The launcher knows the size of the largest only; in the others every
 * member has put a key with its number before the first can be done. */
static size_t circle_size(const struct horovod_store *s, const struct scope *scope)
{
    return str_eq(scope->name, "global") ? s->world : scope->n_ranks;
}

/* ---- scopes and items ---- */

static struct scope *find_scope(const struct horovod_store *s, const char *name)
{
    return (struct scope *)map_find(&s->scopes, name, strlen(name));
}

static struct item *find_item(const struct scope *scope, const char *name)
{
    return scope ? (struct item *)map_find(&scope->items, name, strlen(name)) : NULL;
}

static struct scope *get_scope(struct horovod_store *s, const char *name)
{
    struct scope *scope = find_scope(s, name);
    size_t n = strlen(name);

    if (scope)
        return scope;
    scope = calloc(1, sizeof(*scope) + n + 1);
    if (!scope)
        return NULL;
    memcpy(scope->name, name, n);
    scope->node.key = scope->name;
    scope->node.key_n = n;
    if (map_add(&s->scopes, &scope->node) < 0) {
        free(scope);
        return NULL;
    }
    return scope;
}

static struct item *get_item(struct horovod_store *s, struct scope *scope, const char *name)
{
    struct item *i = find_item(scope, name);
    size_t n = strlen(name);

    if (i)
        return i;
    i = calloc(1, sizeof(*i) + n + 1);
    if (!i)
        return NULL;
    memcpy(i->name, name, n);
    i->node.key = i->name;
    i->node.key_n = n;
    i->rank = is_rank(name);
    if (map_add(&scope->items, &i->node) < 0) {
        free(i);
        return NULL;
    }
    s->keys++;
    return i;
}

static void drop_item(struct horovod_store *s, struct scope *scope, struct item *i)
{
    map_remove(&scope->items, &i->node);
    scope->n_ranks -= i->rank && i->value;
    scope->n_done -= i->done;
    s->bytes -= i->n;
    s->keys--;
    free(i->value);
    free(i);
}

static void drop_scope(struct horovod_store *s, struct scope *scope)
{
    struct map_node *next;

    for (struct map_node *n = map_next(&scope->items, NULL); n; n = next) {
        next = map_next(&scope->items, n);
        drop_item(s, scope, (struct item *)n);
    }
    map_remove(&s->scopes, &scope->node);
    map_done(&scope->items);
    free(scope);
}

/* ---- what workers ask ---- */

static int horovod_check_room(const struct horovod_store *s, size_t n, const struct item *old,
                              struct err *err)
{
    if (n > HOROVOD_VALUE_MAX)
        return err_set(err, -E2BIG, "a value of %zu bytes is too long", n);
    if ((!old && s->keys >= s->keys_max) || s->bytes - (old ? old->n : 0) + n > s->bytes_max)
        return err_set(err, -E2BIG, "the store is full: %zu keys, %zu bytes", s->keys, s->bytes);
    return 0;
}

int horovod_put(struct horovod_store *s, const char *scope, const char *key, const void *p,
                size_t n, struct err *err)
{
    AUTO_FREE char *copy = NULL;
    struct scope *sc;
    struct item *i;
    int r = horovod_check_names(scope, key, err);

    if (r == 0)
        r = horovod_check_room(s, n, find_item(find_scope(s, scope), key), err);
    if (r < 0)
        return r;
    copy = malloc(n + 1); /* one byte more: an empty value is a value */
    sc = copy ? get_scope(s, scope) : NULL;
    i = sc ? get_item(s, sc, key) : NULL;
    if (!i) {
        if (sc && !sc->items.n)
            drop_scope(s, sc);
        return err_oom(err);
    }
    if (n)
        memcpy(copy, p, n);
    sc->n_ranks += i->rank && !i->value;
    s->bytes += n - i->n;
    free(i->value);
    i->value = take(copy);
    i->n = n;
    return 0;
}

int horovod_get(struct horovod_store *s, const char *scope, const char *key, struct buf *out,
                struct err *err)
{
    const struct item *i;
    int r = horovod_check_names(scope, key, err);

    if (r < 0)
        return r;
    i = find_item(find_scope(s, scope), key);
    if (!i || !i->value)
        return -ENOENT;
    if (i->n == 0)
        return 0;
    return buf_add(out, i->value, i->n) < 0 ? err_oom(err) : 0;
}

/* A DELETE in a circle means "I am done with it", not "remove this": others may still have to read
 * the key. The last one empties the scope, so that the next round finds none of the old
 * addresses. */
int horovod_finish(struct horovod_store *s, const char *scope, const char *key, struct err *err)
{
    struct scope *sc;
    struct item *i;
    int r = horovod_check_names(scope, key, err);

    if (r < 0)
        return r;
    sc = find_scope(s, scope);
    i = find_item(sc, key);
    if (!i)
        return 0;
    if (!is_circle(scope)) {
        drop_item(s, sc, i);
        if (!sc->items.n)
            drop_scope(s, sc);
        return 0;
    }
    sc->n_done += !i->done;
    i->done = true;
    if (sc->n_done >= circle_size(s, sc))
        drop_scope(s, sc);
    return 0;
}

size_t horovod_budget(unsigned world)
{
    uint64_t n = (uint64_t)world * world * HOROVOD_PAIR + HOROVOD_TOTAL_MIN;

    return n < HOROVOD_TOTAL_MAX ? (size_t)n : HOROVOD_TOTAL_MAX;
}

int horovod_store_new(unsigned world, size_t bytes_max, struct horovod_store **ret, struct err *err)
{
    struct horovod_store *s = calloc(1, sizeof(*s));

    if (!s)
        return err_oom(err);
    s->world = world;
    s->bytes_max = bytes_max;
    s->keys_max = (size_t)world * HOROVOD_KEYS_EACH + 1024;
    if (s->keys_max > HOROVOD_KEYS_MAX)
        s->keys_max = HOROVOD_KEYS_MAX;
    *ret = s;
    return 0;
}

struct horovod_store *horovod_store_free(struct horovod_store *s)
{
    struct map_node *n;

    if (!s)
        return NULL;
    while ((n = map_next(&s->scopes, NULL)))
        drop_scope(s, (struct scope *)n);
    map_done(&s->scopes);
    free(s);
    return NULL;
}
