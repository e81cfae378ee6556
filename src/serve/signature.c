/* signature.c - the inputs and outputs of a model, and whether a request fits them. */
#include "serve/signature.h"
#include "base/array.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define NAMES_SHOWN 8

const char *signature_name(const struct signature *s)
{
    return s->name ? s->name : SIGNATURE_DEFAULT;
}

static void slot_done(struct signature_slot *s)
{
    free(s->name);
    free(s->internal_name);
}

static int slot_init(struct signature_slot *s, const char *name, const char *internal_name,
                     struct err *err)
{
    s->name = strdup(name);
    s->internal_name = internal_name ? strdup(internal_name) : NULL;
    if (!s->name || (internal_name && !s->internal_name)) {
        slot_done(s);
        return err_oom(err);
    }
    return 0;
}

int signature_put(struct signature_slots *l, const char *name, const char *internal_name,
                  const struct signature_shape *shape, struct err *err)
{
    struct signature_slot s = { .type = shape->type, .any_rank = !shape->dims };
    int r;

    s.rank = shape->dims ? shape->rank : 0;
    if (s.type <= TENSOR_NONE || s.type >= TENSOR_TYPES_)
        return err_set(err, -EINVAL, "'%s' has an element type that is not supported", name);
    if (s.rank > TENSOR_DIMS_MAX)
        return err_set(err, -EINVAL, "'%s' has %zu dimensions: at most %d are possible", name,
                       s.rank, TENSOR_DIMS_MAX);
    if (signature_find(l, name, NULL))
        return err_set(err, -EINVAL, "'%s' is there twice", name);
    for (size_t i = 0; i < s.rank; i++) {
        if (shape->dims[i] < -1)
            return err_set(err, -EINVAL, "'%s' has a dimension of %lld", name,
                           (long long)shape->dims[i]);
        s.dims[i] = shape->dims[i];
    }
    r = slot_init(&s, name, internal_name, err);
    if (r == 0 && ARRAY_ADD(l->v, l->n, s) < 0) {
        slot_done(&s);
        return err_oom(err);
    }
    return r;
}

static void slots_done(struct signature_slots *l)
{
    for (size_t i = 0; i < l->n; i++)
        slot_done(&l->v[i]);
    free(l->v);
    *l = (struct signature_slots){ 0 };
}

void signature_done(struct signature *s)
{
    free(s->name);
    free(s->method);
    slots_done(&s->inputs);
    slots_done(&s->outputs);
    *s = (struct signature){ 0 };
}

static int copy_slots(const struct signature_slots *from, struct signature_slots *to,
                      struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < from->n && r == 0; i++) {
        const struct signature_slot *s = &from->v[i];

        r = signature_add(to, s->name, s->internal_name, s->type, s->any_rank ? NULL : s->dims,
                          s->rank, err);
    }
    return r;
}

int signature_copy(const struct signature *from, struct signature *ret, struct err *err)
{
    int r;

    ret->name = from->name ? strdup(from->name) : NULL;
    ret->method = from->method ? strdup(from->method) : NULL;
    if ((from->name && !ret->name) || (from->method && !ret->method))
        return err_oom(err);
    r = copy_slots(&from->inputs, &ret->inputs, err);
    return r < 0 ? r : copy_slots(&from->outputs, &ret->outputs, err);
}

const struct signature_slot *signature_find(const struct signature_slots *l, const char *name,
                                            size_t *ret_at)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->v[i].name, name) == 0) {
            if (ret_at)
                *ret_at = i;
            return &l->v[i];
        }
    }
    return NULL;
}

/* "there is no input 'imgae': did you mean 'image'?", or the names that there are. */
static int no_such_slot(const struct signature_slots *l, const char *kind, const char *name,
                        struct err *err)
{
    const char *words[NAMES_SHOWN], *near;
    size_t n = l->n < NAMES_SHOWN ? l->n : NAMES_SHOWN, at = 0;
    char list[160] = "";

    for (size_t i = 0; i < n; i++) {
        words[i] = l->v[i].name;
        if (at < sizeof(list))
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s'%s'", i > 0 ? ", " : "",
                                   words[i]);
    }
    near = str_nearest(name, words, n);
    if (near)
        return err_set(err, -EINVAL, "there is no %s '%.120s': did you mean '%s'?", kind, name,
                       near);
    return err_set(err, -EINVAL, "there is no %s '%.120s': the model has %s%s", kind, name, list,
                   l->n > n ? ", …" : "");
}

/* -1 in the slot fits any size, also 0. */
int signature_check_slot(const struct signature_slot *slot, const struct tensor *t, struct err *err)
{
    char have[TENSOR_SHAPE_TEXT], want[TENSOR_SHAPE_TEXT];
    bool fits = slot->any_rank || slot->rank == t->rank;

    if (slot->type != t->type)
        return err_set(err, -EINVAL, "input '%s' is %s, but the model takes %s", slot->name,
                       tensor_type_oip(t->type), tensor_type_oip(slot->type));
    for (size_t i = 0; i < slot->rank && fits; i++)
        fits = slot->dims[i] < 0 || slot->dims[i] == t->dims[i];
    if (fits)
        return 0;
    return err_set(err, -EINVAL, "input '%s' has shape %s, but the model takes %s", slot->name,
                   tensor_shape_text(t->dims, t->rank, have),
                   tensor_shape_text(slot->dims, slot->rank, want));
}

/* Whatever they are, each needs a name of its own. */
static int check_any(const struct tensors *inputs, struct err *err)
{
    if (inputs->n > SIGNATURE_DYNAMIC_MAX)
        return err_set(err, -EINVAL, "%zu inputs: at most %d are possible", inputs->n,
                       SIGNATURE_DYNAMIC_MAX);
    for (size_t i = 0; i < inputs->n; i++) {
        const struct tensor *t = &inputs->v[i];

        if (!t->name || !*t->name)
            return err_set(err, -EINVAL, "an input has no name");
        if (tensors_find(inputs, t->name) != t)
            return err_set(err, -EINVAL, "input '%.120s' is there twice", t->name);
    }
    return 0;
}

/* Three looks: each tensor has a slot and fits it, none is there twice, and no slot is without one.
 * Then there are as many as slots, which order_inputs() (protocol/exchange.c) counts on. */
int signature_check(const struct signature *s, const struct tensors *inputs, struct err *err)
{
    const struct signature_slot *slot;
    int r;

    if (s->dynamic)
        return check_any(inputs, err);
    for (size_t i = 0; i < inputs->n; i++) {
        const struct tensor *t = &inputs->v[i];

        slot = signature_find(&s->inputs, t->name ? t->name : "", NULL);
        if (!slot)
            return no_such_slot(&s->inputs, "input", t->name ? t->name : "", err);
        if (tensors_find(inputs, t->name) != t)
            return err_set(err, -EINVAL, "input '%s' is there twice", slot->name);
        r = signature_check_slot(slot, t, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < s->inputs.n; i++) {
        if (!tensors_find(inputs, s->inputs.v[i].name))
            return err_set(err, -EINVAL, "input '%s' is missing", s->inputs.v[i].name);
    }
    return 0;
}

/* Widening is exact: each float is a double. The other way round would lose digits without a word,
 * and is not done. */
static int tensor_widen(struct tensor *t, struct err *err)
{
    const float *from = (const float *)(const void *)t->data; /* aligned, as tensor.h says */
    AUTO_TENSOR wide = { 0 };
    void *p = NULL;
    int r = tensor_init(&wide, t->name, TENSOR_FP64, t->dims, t->rank, err);

    if (r == 0)
        r = tensor_alloc(&wide, &p, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < t->count; i++)
        ((double *)p)[i] = (double)from[i];
    tensor_done(t);
    *t = wide;
    wide = (struct tensor){ 0 };
    return 0;
}

int signature_widen(const struct signature *s, struct tensors *inputs, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < inputs->n && r == 0; i++) {
        struct tensor *t = &inputs->v[i];
        const struct signature_slot *slot =
            t->type == TENSOR_FP32 && t->name ? signature_find(&s->inputs, t->name, NULL) : NULL;

        if (slot && slot->type == TENSOR_FP64)
            r = tensor_widen(t, err);
    }
    return r;
}

int signature_check_output(const struct signature *s, const char *name, struct err *err)
{
    if (s->dynamic || signature_find(&s->outputs, name, NULL))
        return 0;
    return no_such_slot(&s->outputs, "output", name, err);
}
