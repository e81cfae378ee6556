/* optimizer_test.c - see optimizer.h */
#include "base/auto.h"
#include "base/str.h"
#include "native/optimizer.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* "op states name=value …" of one step. */
static void shown(const char *text, int64_t step, char *out, size_t cap)
{
    struct optimizer o;
    struct optimizer_call c;
    struct err err = ERR_INIT;
    size_t n;

    assert_int_equal(optimizer_parse(text, &o, &err), 0);
    optimizer_call(&o, step, &c);
    n = (size_t)snprintf(out, cap, "%s %u", c.op, c.states);
    for (unsigned i = 0; i < c.n && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, " %s=%s", c.names[i], c.values[i]);
}

static void a_text_becomes_a_call_of_mxnets_operator(void **state)
{
    /* clang-format off */
    static const struct { const char *text; int64_t step; const char *call; } rows[] = {
        { "sgd", 1, "sgd_update 0 lr=0.01 wd=0 rescale_grad=1 clip_gradient=-1" },
        { "sgd lr=0.5", 9, "sgd_update 0 lr=0.5 wd=0 rescale_grad=1 clip_gradient=-1" },
        { "  sgd\tlearning_rate=5e-1  momentum=0 ", 1,
          "sgd_update 0 lr=0.5 wd=0 rescale_grad=1 clip_gradient=-1" },
        { "sgd momentum=0.9 wd=0.0001 rescale_grad=0.01 clip_gradient=5", 3,
          "sgd_mom_update 1 lr=0.01 wd=0.0001 rescale_grad=0.01 clip_gradient=5 momentum=0.9" },
        /* 0.001 × √(1 − 0.999) ÷ (1 − 0.9) */
        { "adam", 1, "adam_update 2 lr=0.000316227766 wd=0 rescale_grad=1 clip_gradient=-1 "
          "beta1=0.9 beta2=0.999 epsilon=1e-08" },
        { "adam lr=0.1 beta1=0.5 beta2=0 epsilon=0.001", 1,
          "adam_update 2 lr=0.2 wd=0 rescale_grad=1 clip_gradient=-1 beta1=0.5 beta2=0 "
          "epsilon=0.001" },
        { "adam lr=0.1", 100000000, "adam_update 2 lr=0.1 wd=0 rescale_grad=1 clip_gradient=-1 "
          "beta1=0.9 beta2=0.999 epsilon=1e-08" },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[512];

        shown(rows[i].text, rows[i].step, out, sizeof(out));
        assert_string_equal(out, rows[i].call);
    }
}

static void what_is_wrong_with_a_text_is_said(void **state)
{
    /* clang-format off */
    static const struct { const char *text, *says; } rows[] = {
        { "", "an optimizer's name was expected" },
        { "rmsprop lr=1", "unknown optimizer 'rmsprop': sgd and adam are known" },
        { "sgd lr", "'lr' is no key=value" },
        { "sgd beta1=0.5", "'sgd' has no 'beta1'" },
        { "adam momentum=0.5", "'adam' has no 'momentum'" },
        { "sgd lr=", "lr: '' is no number" },
        { "sgd lr=0.1x", "lr: '0.1x' is no number" },
        { "sgd lr=nan", "lr: 'nan' is no number" },
        { "sgd lr=-1", "lr: -1 is out of its range" },
        { "sgd momentum=1", "momentum: 1 is out of its range" },
        { "adam beta2=1", "beta2: 1 is out of its range" },
    };
    /* clang-format on */
    char lots[OPTIMIZER_TEXT_MAX + 2];
    struct optimizer o;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        err_clear(&err);
        assert_int_equal(optimizer_parse(rows[i].text, &o, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
    }
    memset(lots, 'a', sizeof(lots) - 1);
    lots[sizeof(lots) - 1] = '\0';
    assert_int_equal(optimizer_parse(lots, &o, NULL), -EINVAL);
}

static void a_pickle_is_told_from_a_text(void **state)
{
    /* clang-format off */
    static const struct { const char *text; bool pickle; } rows[] = {
        { "ccopy_reg\n_reconstructor\np0\n(cmxnet.optimizer.optimizer\nSGD\n", true },
        { "cmxnet.optimizer\nSGD\n.", true },
        { "\x80\x04\x95", true }, { "\x80\x02", true }, { "(dp0\n.", true },
        { "sgd lr=0.1", false }, { "adam", false }, { "", false }, { "cosine lr=1", false },
        { "sgd\nlr=1", false },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(optimizer_is_pickle(rows[i].text), rows[i].pickle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_becomes_a_call_of_mxnets_operator),
        cmocka_unit_test(what_is_wrong_with_a_text_is_said),
        cmocka_unit_test(a_pickle_is_told_from_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
