/* mxnet_server_test.c - see mxnet_server.h */
#include "base/str.h"
#include "native/mxnet_server.h"
#include "native/mxnet_server_testing.h"

/* ---- the environment ---- */

#define GOOD                                                                                       \
    { "DMLC_ROLE", "server" }, { "DMLC_NUM_WORKER", "2" }, { "DMLC_NUM_SERVER", "1" },             \
        { "DMLC_PS_ROOT_URI", "127.0.0.1" },                                                       \
    {                                                                                              \
        "DMLC_PS_ROOT_PORT", "9091"                                                                \
    }

static const struct pair {
    const char *name, *value;
} good[] = { GOOD };

/* What one test changes of it; an empty value unsets. */
static struct pair changed;

static char *get(const char *name)
{
    if (changed.name && str_eq(changed.name, name))
        return *changed.value ? (char *)changed.value : NULL;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (str_eq(good[i].name, name))
            return (char *)good[i].value;
    return NULL;
}

static void an_environment_that_would_hang_is_refused(void **state)
{
    /* clang-format off */
    static const struct { struct pair p; const char *says; } rows[] = {
        { { "DMLC_ROLE", "" }, "DMLC_ROLE is not set" },
        { { "DMLC_ROLE", "worker" }, "DMLC_ROLE is 'worker': scheduler and server can be native, "
          "a worker is the user's own program" },
        { { "DMLC_NUM_WORKER", "0" }, "DMLC_NUM_WORKER is '0', which is no number from 1 to 100000" },
        { { "DMLC_NUM_SERVER", "two" }, "DMLC_NUM_SERVER is 'two', which is no number from 1 to "
          "100000" },
        { { "DMLC_PS_ROOT_PORT", "70000" }, "DMLC_PS_ROOT_PORT is '70000', which is no number from "
          "1 to 65535" },
        { { "DMLC_PS_ROOT_URI", "localhost" }, "DMLC_PS_ROOT_URI is 'localhost', which is no "
          "numeric address" },
        { { "DMLC_NODE_HOST", "node1" }, "DMLC_NODE_HOST is 'node1', which is no numeric address" },
    };
    /* clang-format on */
    struct mxnet_place place;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        changed = rows[i].p;
        assert_int_equal(mxnet_place_read(get, &place, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
    }
    changed = (struct pair){ "DMLC_ROLE", "scheduler" };
    assert_int_equal(mxnet_place_read(get, &place, NULL), 0);
    assert_int_equal(place.role, MXNET_SCHEDULER);
    assert_int_equal(place.n, COUNT_OF(good));
    changed = (struct pair){ 0 };
}

/* ---- serving ---- */

struct heard {
    char text[512], hint[256], note[256];
};

static void give_up(void *arg, const struct err *err)
{
    struct heard *h = arg;

    snprintf(h->text, sizeof(h->text), "%s", err->text);
    snprintf(h->hint, sizeof(h->hint), "%s", err->hint);
}

static void note(void *arg, const char *text)
{
    struct heard *h = arg;

    snprintf(h->note, sizeof(h->note), "%s", text);
}

static int serve(struct heard *h, struct err *err)
{
    struct mxnet_place place;
    const struct mxnet_options o = {
        .api = &fake_api, .place = &place, .give_up = give_up, .note = note, .arg = h
    };

    assert_int_equal(mxnet_place_read(get, &place, err), 0);
    return mxnet_serve(&o, err);
}

#define BEGIN                                                                                      \
    "DMLC_ROLE=server\nDMLC_NUM_WORKER=2\nDMLC_NUM_SERVER=1\nDMLC_PS_ROOT_URI=127.0.0.1\n"         \
    "DMLC_PS_ROOT_PORT=9091\ncreate dist\n"

static void a_server_without_commands_just_serves(void **state)
{
    struct heard h = { 0 };

    (void)state;
    assert_int_equal(serve(&h, NULL), 0);
    fake_notes_are(BEGIN "free\n");
}

static void push(int gradient)
{
    fake.update(4, fake_array(gradient), fake_array(1), fake.update_arg);
}

static void script_learning(mxnet_on_command *fn, void *arg)
{
    fn(0, "sgd lr=0.5", arg);
    push(2);
    fn(0, "sgd lr=0.25", arg);
    push(3);
}

static void a_text_sets_the_optimizer_once_and_changes_it(void **state)
{
    struct heard h = { 0 };

    (void)state;
    fake.script = script_learning;
    assert_int_equal(serve(&h, NULL), 0);
    fake_notes_are(BEGIN "updater\n"
                         "sgd_update 1,2>1 lr=0.5 wd=0 rescale_grad=1 clip_gradient=-1\n"
                         "sgd_update 1,3>1 lr=0.25 wd=0 rescale_grad=1 clip_gradient=-1\nfree\n");
    assert_string_equal(h.text, "");
}

static void script_pickle(mxnet_on_command *fn, void *arg)
{
    fn(0, "ccopy_reg\n_reconstructor\np0\n", arg);
}

static void a_pickled_optimizer_is_refused_with_the_ways_out(void **state)
{
    struct heard h = { 0 };

    (void)state;
    fake.script = script_pickle;
    assert_int_equal(serve(&h, NULL), 0);
    assert_non_null(strstr(h.text, "pickled optimizer"));
    assert_non_null(strstr(h.hint, "update_on_kvstore=False"));
    assert_non_null(strstr(h.hint, "--native auto"));
    assert_non_null(strstr(h.hint, "'sgd lr=0.1'"));
    assert_true(strlen(h.hint) < sizeof(((struct err *)0)->hint) - 1); /* nothing was cut off */
    fake_notes_are(BEGIN "free\n");
}

static void script_wrong(mxnet_on_command *fn, void *arg)
{
    fn(0, "sgd lr=fast", arg);
}

static void a_wrong_text_ends_the_server(void **state)
{
    struct heard h = { 0 };

    (void)state;
    fake.script = script_wrong;
    assert_int_equal(serve(&h, NULL), 0);
    assert_string_equal(h.text, "a worker's optimizer: lr: 'fast' is no number");
}

static void script_unknown(mxnet_on_command *fn, void *arg)
{
    fn(5, "do\033[1m something", arg);
    fn(5, NULL, arg);
}

static void an_unknown_command_is_noted_harmlessly(void **state)
{
    struct heard h = { 0 };

    (void)state;
    fake.script = script_unknown;
    assert_int_equal(serve(&h, NULL), 0);
    assert_string_equal(h.note, "unknown command 5 '', ignoring");
    assert_string_equal(h.text, "");
}

static void a_library_without_a_distributed_store_is_said(void **state)
{
    struct heard h = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    fake.fail = "create";
    assert_int_equal(serve(&h, &err), -EIO);
    assert_string_equal(err.text, "make a distributed store: it broke");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_begin, fake_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_environment_that_would_hang_is_refused),
        TEST(a_server_without_commands_just_serves),
        TEST(a_text_sets_the_optimizer_once_and_changes_it),
        TEST(a_pickled_optimizer_is_refused_with_the_ways_out),
        TEST(a_wrong_text_ends_the_server),
        TEST(an_unknown_command_is_noted_harmlessly),
        TEST(a_library_without_a_distributed_store_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
