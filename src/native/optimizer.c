/* optimizer.c - an optimizer as text ("sgd lr=0.1 momentum=0.9") and the MXNet operator that
 * carries out one step of it. Its parameters are a table, with the values that MXNet has by default
 * and the range in which it learns at all. See optimizer.h. */
#include "native/optimizer.h"
#include "base/auto.h"
#include "base/str.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SGD (1U << OPTIMIZER_SGD)
#define ADAM (1U << OPTIMIZER_ADAM)
#define AT(field) offsetof(struct optimizer, field)

static const struct {
    const char *name;
    double lr; /* as MXNet has it */
} kinds[OPTIMIZER_KINDS_] = {
    [OPTIMIZER_SGD] = { "sgd", 0.01 },
    [OPTIMIZER_ADAM] = { "adam", 0.001 },
};

/* `top` is not allowed itself; what MXNet would take and never learn with is refused. */
static const struct param {
    const char *name, *alias;
    unsigned kinds;
    size_t offset;
    double preset, least, top;
} params[] = {
    { "lr", "learning_rate", SGD | ADAM, AT(lr), 0, 0, 1e30 },
    { "momentum", NULL, SGD, AT(momentum), 0, 0, 1 },
    { "beta1", NULL, ADAM, AT(beta1), 0.9, 0, 1 },
    { "beta2", NULL, ADAM, AT(beta2), 0.999, 0, 1 },
    { "epsilon", NULL, ADAM, AT(epsilon), 1e-8, 0, 1e30 },
    { "wd", NULL, SGD | ADAM, AT(wd), 0, 0, 1e30 },
    { "rescale_grad", NULL, SGD | ADAM, AT(rescale), 1, -1e30, 1e30 },
    { "clip_gradient", NULL, SGD | ADAM, AT(clip), -1, -1, 1e30 },
};

static double *field(struct optimizer *o, const struct param *p)
{
    return (double *)((char *)o + p->offset);
}

/* Protocol 0 is lines of text that begin with a class or a mark, all others begin with 0x80. */
bool optimizer_is_pickle(const char *text)
{
    if ((unsigned char)text[0] == 0x80)
        return true;
    return text[0] && strchr("c(]}", text[0]) && strchr(text, '\n');
}

/* ---- reading ---- */

static int optimizer_find_kind(const char *name, struct optimizer *ret, struct err *err)
{
    for (int i = 0; i < OPTIMIZER_KINDS_; i++) {
        if (!str_eq(kinds[i].name, name))
            continue;
        ret->kind = (enum optimizer_kind)i;
        for (size_t k = 0; k < COUNT_OF(params); k++)
            *field(ret, &params[k]) = params[k].preset;
        ret->lr = kinds[i].lr;
        return 0;
    }
    return err_set(err, -EINVAL, "unknown optimizer '%.40s': sgd and adam are known", name);
}

static const struct param *find_param(const struct optimizer *o, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(params); i++)
        if ((params[i].kinds & (1U << o->kind)) &&
            (str_eq(params[i].name, name) || (params[i].alias && str_eq(params[i].alias, name))))
            return &params[i];
    return NULL;
}

static int read_param(struct optimizer *o, char *word, struct err *err)
{
    char *value = strchr(word, '='), *end = NULL;
    const struct param *p;
    double v;

    if (!value)
        return err_set(err, -EINVAL, "'%.40s' is no key=value", word);
    *value++ = '\0';
    p = find_param(o, word);
    if (!p)
        return err_set(err, -EINVAL, "'%s' has no '%.40s'", kinds[o->kind].name, word);
    v = strtod(value, &end);
    if (!*value || *end || !isfinite(v))
        return err_set(err, -EINVAL, "%s: '%.40s' is no number", p->name, value);
    if (v < p->least || v >= p->top)
        return err_set(err, -EINVAL, "%s: %g is out of its range", p->name, v);
    *field(o, p) = v;
    return 0;
}

int optimizer_parse(const char *text, struct optimizer *ret, struct err *err)
{
    AUTO_STRS words = { 0 };
    int r = 0;

    *ret = (struct optimizer){ 0 };
    if (strnlen(text, OPTIMIZER_TEXT_MAX + 1) > OPTIMIZER_TEXT_MAX)
        return err_set(err, -EINVAL, "the text is longer than %d bytes", OPTIMIZER_TEXT_MAX);
    if (strs_split(&words, text, " \t") < 0)
        return err_oom(err);
    if (words.n == 0)
        return err_set(err, -EINVAL, "an optimizer's name was expected");
    r = optimizer_find_kind(words.v[0], ret, err);
    for (size_t i = 1; i < words.n && r == 0; i++)
        r = read_param(ret, words.v[i], err);
    return r;
}

/* ---- what is done ---- */

static void optimizer_add(struct optimizer_call *c, const char *name, double value)
{
    c->names[c->n] = name;
    (void)snprintf(c->values[c->n++], sizeof(c->values[0]), "%.9g", value);
}

/* Adam's averages begin at zero; MXNet leaves the correction of that to the learning rate. */
static double adam_rate(const struct optimizer *o, int64_t step)
{
    return o->lr * sqrt(1 - pow(o->beta2, (double)step)) / (1 - pow(o->beta1, (double)step));
}

/* Numbers go as text, which is how MXNet's operators take them; nine digits bring a float back
 * unchanged.
 *
 *     sgd_update      weight, gradient
 *     sgd_mom_update  weight, gradient, momentum
 *     adam_update     weight, gradient, mean, variance
 *
 * `states` is how many arrays come after the first two. The operators write weight and states in
 * place. */
void optimizer_call(const struct optimizer *o, int64_t step, struct optimizer_call *ret)
{
    bool adam = o->kind == OPTIMIZER_ADAM, moves = !adam && o->momentum > 0;

    *ret = (struct optimizer_call){
        .op = adam    ? "adam_update"
              : moves ? "sgd_mom_update"
                      : "sgd_update",
        .states = adam ? 2 : moves,
    };
    optimizer_add(ret, "lr", adam ? adam_rate(o, step) : o->lr);
    optimizer_add(ret, "wd", o->wd);
    optimizer_add(ret, "rescale_grad", o->rescale);
    optimizer_add(ret, "clip_gradient", o->clip);
    if (moves)
        optimizer_add(ret, "momentum", o->momentum);
    if (adam) {
        optimizer_add(ret, "beta1", o->beta1);
        optimizer_add(ret, "beta2", o->beta2);
        optimizer_add(ret, "epsilon", o->epsilon);
    }
}
