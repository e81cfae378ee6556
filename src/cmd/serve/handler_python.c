/* handler_python.c - environments for Python handlers. See handler_python.h. */
#include "cmd/serve/handler_python.h"
#include "native/python.h"
#include "pyenv/pip.h"

#include <stdio.h>
#include <stdlib.h>

struct installing {
    const struct serve_find *how;
    const struct manifest *m;
};

static void say_installing(void *arg)
{
    const struct installing *x = arg;

    if (!x->how->quiet)
        fprintf(stderr, "ydl: installing the requirements of %s:%lld\n", x->m->name,
                (long long)x->m->version);
}

int handler_python(struct loop *l, const struct serve_find *how, struct serve_version *v,
                   struct err *err)
{
    AUTO_FREE char *env = NULL;
    AUTO_FREE char *log = NULL;
    struct installing x = { how, &v->m };
    const char *option = how->python ? how->python : how->lib;
    AUTO_STRS words = { 0 };
    const struct pip_options o = { .words = &words, .on_begin = say_installing, .arg = &x };
    int r = 0;

    if (v->requirements && strs_add(&words, v->requirements) < 0)
        return err_oom(err);
    if (!option && v->requirements)
        r = pip_env(l, &o, &env, &log, err);
    if (r < 0 && log)
        err_hint(err, "'%s' has what pip said; name an environment of your own with --python", log);
    return r < 0 ? r : python_choose(option ? option : env, getenv("PATH"), &v->library, err);
}
