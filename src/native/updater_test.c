/* updater_test.c - see updater.h */
#include "native/mxnet_server_testing.h"
#include "native/updater.h"

/* One update of weight 1 by gradient 2 under a key; what it returns. */
static int step(struct updater *u, int key, struct err *err)
{
    void *weight = fake_array(1), *gradient = fake_array(2);
    int r = updater_apply(u, key, gradient, weight, err);

    (void)fake_array_free(weight);
    (void)fake_array_free(gradient);
    return r;
}

static struct updater *updater_with(const char *text)
{
    struct updater *u = NULL;
    struct optimizer o;

    assert_int_equal(updater_new(&fake_api, &u, NULL), 0);
    assert_int_equal(optimizer_parse(text, &o, NULL), 0);
    updater_set(u, &o);
    return u;
}

static void change(struct updater *u, const char *text)
{
    struct optimizer o;

    assert_int_equal(optimizer_parse(text, &o, NULL), 0);
    updater_set(u, &o);
}

#define REST " wd=0 rescale_grad=1 clip_gradient=-1"

static void plain_sgd_keeps_nothing(void **state)
{
    AUTO(updater) struct updater *u = updater_with("sgd lr=0.5");

    (void)state;
    assert_int_equal(step(u, 7, NULL), 0);
    fake_notes_are("sgd_update 1,2>1 lr=0.5" REST "\n");
    assert_int_equal(fake.arrays, 0);
}

static void momentum_is_kept_for_each_key_and_survives_a_new_rate(void **state)
{
    AUTO(updater) struct updater *u = updater_with("sgd lr=0.5 momentum=0.9");

    (void)state;
    assert_int_equal(step(u, 7, NULL), 0);
    assert_int_equal(step(u, 3, NULL), 0);
    fake_notes_are("zeros_like 1>102\nsgd_mom_update 1,2,102>1 lr=0.5" REST " momentum=0.9\n"
                   "zeros_like 1>103\nsgd_mom_update 1,2,103>1 lr=0.5" REST " momentum=0.9\n");
    change(u, "sgd lr=0.25 momentum=0.9");
    assert_int_equal(step(u, 7, NULL), 0);
    fake_notes_are("sgd_mom_update 1,2,102>1 lr=0.25" REST " momentum=0.9\n");
    assert_int_equal(fake.arrays, 2);
}

static void adam_counts_the_steps_of_each_key(void **state)
{
    AUTO(updater) struct updater *u = updater_with("adam lr=1 beta1=0.5 beta2=0");
    static const char *const rates[] = { "2", "1.33333333", "1.14285714" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        char wanted[256];

        assert_int_equal(step(u, 1, NULL), 0);
        snprintf(wanted, sizeof(wanted),
                 "%sadam_update 1,2,102,103>1 lr=%s" REST " beta1=0.5 beta2=0 epsilon=1e-08\n",
                 i == 0 ? "zeros_like 1>102\nzeros_like 1>103\n" : "", rates[i]);
        fake_notes_are(wanted);
    }
}

static void another_optimizer_starts_anew(void **state)
{
    AUTO(updater) struct updater *u = updater_with("sgd momentum=0.9");

    (void)state;
    assert_int_equal(step(u, 1, NULL), 0);
    change(u, "adam");
    assert_int_equal(fake.arrays, 0);
    change(u, "sgd");
    assert_int_equal(step(u, 1, NULL), 0);
    assert_int_equal(fake.arrays, 0);
}

static void an_operator_that_fails_is_told_in_one_line(void **state)
{
    AUTO(updater) struct updater *u = updater_with("sgd");
    struct err err = ERR_INIT;

    (void)state;
    fake.fail = "sgd_update";
    assert_int_equal(step(u, 1, &err), -EIO);
    assert_string_equal(err.text, "sgd_update: it broke");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_begin, fake_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_sgd_keeps_nothing),
        TEST(momentum_is_kept_for_each_key_and_survives_a_new_rate),
        TEST(adam_counts_the_steps_of_each_key),
        TEST(another_optimizer_starts_anew),
        TEST(an_operator_that_fails_is_told_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
