/* framework.c - the table of frameworks, and finding one. */
#include "framework/framework.h"
#include "framework/frameworks.h"

const struct framework *const framework_table[] = {
    &framework_dask,
    &framework_deepspeed,
    &framework_horovod,
    &framework_jax,
    &framework_lightgbm,
    &framework_mpi,
    &framework_mxnet,
    &framework_none,
    &framework_pytorch,
    &framework_rabit,
    &framework_ray,
    &framework_serve,
    &framework_slider,
    &framework_tensorflow,
    &framework_tensorflow_flags,
    &framework_xgboost,
    NULL,
};

#define WORDS_MAX 128 /* names and aliases together */

static bool answers_to(const struct framework *fw, const char *name)
{
    if (str_eq(fw->name, name))
        return true;
    for (const char *const *a = fw->aliases; a && *a; a++)
        if (str_eq(*a, name))
            return true;
    return false;
}

/* The name or alias that the user may have meant. */
static const char *framework_nearest(const char *name)
{
    const char *words[WORDS_MAX];
    size_t n = 0;

    for (const struct framework *const *fw = framework_table; *fw && n < WORDS_MAX; fw++) {
        words[n++] = (*fw)->name;
        for (const char *const *a = (*fw)->aliases; a && *a && n < WORDS_MAX; a++)
            words[n++] = *a;
    }
    return str_nearest(name, words, n);
}

int framework_find(const char *name, const struct framework **ret, struct err *err)
{
    const char *near;
    int r;

    if (!name)
        name = framework_none.name;
    for (const struct framework *const *fw = framework_table; *fw; fw++)
        if (answers_to(*fw, name)) {
            *ret = *fw;
            return 0;
        }
    near = framework_nearest(name);
    r = err_set(err, -EINVAL, "unknown framework '%s'%s%s%s", name, near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "");
    err_hint(err, "'ydl help run' lists all; 'none' runs any program");
    return r;
}

const struct framework_role *framework_role(const struct framework *fw, const char *name)
{
    for (const struct framework_role *r = fw->roles; r && r->name; r++)
        if (str_eq(r->name, name))
            return r;
    return NULL;
}
