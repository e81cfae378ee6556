/* mxnet_server_testing.h - an MXNet that notes what it is asked to do. For tests.
 *
 * An array is a number on the heap; operators are known by name and do nothing but leave a line
 * "op in,in>out name=value …". */
#pragma once
#include "base/buf.h"
#include "native/mxnet_api.h"
#include "test.h"

#include <string.h>

struct fake {
    struct buf notes;
    int arrays;       /* alive */
    const char *fail; /* the operator that fails, or NULL */
    /* what run_server() does */
    void (*script)(mxnet_on_command *fn, void *arg);
    mxnet_on_update *update;
    void *update_arg;
};

/* MXNet has no handle for itself either. */
static struct fake fake;

static inline void *fake_array(int value)
{
    int *a = malloc(sizeof(*a));

    assert_non_null(a);
    *a = value;
    fake.arrays++;
    return a;
}

static inline const char *fake_error(void)
{
    return "it broke\nStack trace:\n  [bt] (0)";
}

static inline int fake_env(uint32_t n, const char **names, const char **values)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(buf_printf(&fake.notes, "%s=%s\n", names[i], values[i]), 0);
    return 0;
}

static inline int fake_create(const char *kind, void **ret)
{
    *ret = &fake;
    assert_int_equal(buf_printf(&fake.notes, "create %s\n", kind), 0);
    return fake.fail && strcmp(fake.fail, "create") == 0 ? -1 : 0;
}

static inline int fake_free(void *store)
{
    assert_ptr_equal(store, &fake);
    return buf_printf(&fake.notes, "free\n");
}

static inline int fake_run(void *store, mxnet_on_command *fn, void *arg)
{
    assert_ptr_equal(store, &fake);
    if (fake.script)
        fake.script(fn, arg);
    return 0;
}

static inline int fake_set_updater(void *store, mxnet_on_update *fn, void *arg)
{
    (void)store;
    fake.update = fn;
    fake.update_arg = arg;
    return buf_printf(&fake.notes, "updater\n");
}

static inline int fake_apply(const struct mxnet_api *api, struct mxnet_call *c)
{
    (void)api;
    if (fake.fail && strcmp(fake.fail, c->op) == 0)
        return -1;
    assert_int_equal(buf_printf(&fake.notes, "%s", c->op), 0);
    for (int i = 0; i < c->n_in; i++)
        assert_int_equal(buf_printf(&fake.notes, "%c%d", i ? ',' : ' ', *(int *)c->in[i]), 0);
    if (!c->out)
        c->out = fake_array(100 + fake.arrays);
    assert_int_equal(buf_printf(&fake.notes, ">%d", *(int *)c->out), 0);
    for (int i = 0; i < c->n; i++)
        assert_int_equal(buf_printf(&fake.notes, " %s=%s", c->names[i], c->values[i]), 0);
    return buf_add_u8(&fake.notes, '\n');
}

static inline int fake_array_free(void *array)
{
    fake.arrays--;
    free(array);
    return 0;
}

static const struct mxnet_api fake_api = {
    .last_error = fake_error,
    .init_ps_env = fake_env,
    .store_create = fake_create,
    .store_free = fake_free,
    .run_server = fake_run,
    .set_updater = fake_set_updater,
    .apply = fake_apply,
    .array_free = fake_array_free,
};

static inline int fake_begin(void **state)
{
    (void)state;
    fake = (struct fake){ .notes = { .max = 64 * KIB } };
    return 0;
}

static inline int fake_end(void **state)
{
    (void)state;
    buf_done(&fake.notes);
    return fake.arrays; /* all were given back */
}

static inline void fake_notes_are(const char *wanted)
{
    const char *text = buf_text(&fake.notes);

    assert_non_null(text);
    assert_string_equal(text, wanted);
    buf_reset(&fake.notes);
}
