/* updater.c - the state of an optimizer for each weight (momentum, averages), kept by the weight's
 * key as MXNet's own Python class does. Arrays are MXNet's; this file only holds them. See
 * updater.h. */
#include "native/updater.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* What is kept for one weight. */
struct slot {
    int key;
    int64_t steps;
    void *states[OPTIMIZER_STATES];
};

struct updater {
    const struct mxnet_api *api;
    struct optimizer optimizer;
    struct slot *slots; /* by key */
    size_t n;
};

int updater_new(const struct mxnet_api *api, struct updater **ret, struct err *err)
{
    struct updater *u = calloc(1, sizeof(*u));

    if (!u)
        return err_oom(err);
    u->api = api;
    *ret = u;
    return 0;
}

static void updater_forget(struct updater *u)
{
    for (size_t i = 0; i < u->n; i++)
        for (size_t k = 0; k < OPTIMIZER_STATES; k++)
            if (u->slots[i].states[k])
                (void)u->api->array_free(u->slots[i].states[k]);
    free(u->slots);
    u->slots = NULL;
    u->n = 0;
}

struct updater *updater_free(struct updater *u)
{
    if (u)
        updater_forget(u);
    free(u);
    return NULL;
}

/* The same optimizer with another learning rate keeps what it has learned; another kind has other
 * states. */
void updater_set(struct updater *u, const struct optimizer *o)
{
    if (u->optimizer.kind != o->kind)
        updater_forget(u);
    u->optimizer = *o;
}

/* The first slot whose key is not smaller. */
static size_t updater_place_of(const struct updater *u, int key)
{
    size_t low = 0, high = u->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (u->slots[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sorted, because keys come as MXNet numbers its parameters, with holes where other servers have
 * them. */
static struct slot *updater_slot_of(struct updater *u, int key)
{
    size_t at = updater_place_of(u, key);

    if (at < u->n && u->slots[at].key == key)
        return &u->slots[at];
    if (ARRAY_INSERT(u->slots, u->n, at, (struct slot){ .key = key }) < 0)
        return NULL;
    return &u->slots[at];
}

/* An array of zeroes in the weight's shape, made by MXNet. */
static int zeroes(const struct updater *u, void *weight, void **ret, struct err *err)
{
    struct mxnet_call c = { .op = "zeros_like", .in = &weight, .n_in = 1 };

    if (u->api->apply(u->api, &c) != 0)
        return mxnet_api_failed(u->api, c.op, err);
    *ret = c.out;
    return 0;
}

static int updater_step(const struct updater *u, struct optimizer_call *o, void **in,
                        struct err *err)
{
    const char *values[OPTIMIZER_PARAMS];
    struct mxnet_call c = {
        .op = o->op,
        .in = in,
        .n_in = (int)(2 + o->states),
        .out = in[0],
        .names = o->names,
        .values = values,
        .n = (int)o->n,
    };

    for (unsigned i = 0; i < o->n; i++)
        values[i] = o->values[i];
    return u->api->apply(u->api, &c) != 0 ? mxnet_api_failed(u->api, c.op, err) : 0;
}

/* A step counts only once it was carried out: Adam's correction depends on the number. */
int updater_apply(struct updater *u, int key, void *gradient, void *weight, struct err *err)
{
    struct slot *s = updater_slot_of(u, key);
    void *in[2 + OPTIMIZER_STATES] = { weight, gradient };
    struct optimizer_call c;
    int r = 0;

    if (!s)
        return err_oom(err);
    optimizer_call(&u->optimizer, s->steps + 1, &c);
    for (unsigned i = 0; i < c.states && r == 0; i++) {
        if (!s->states[i])
            r = zeroes(u, weight, &s->states[i], err);
        in[2 + i] = s->states[i];
    }
    if (r == 0)
        r = updater_step(u, &c, in, err);
    if (r == 0)
        s->steps++;
    return r;
}
