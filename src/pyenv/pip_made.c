/* pip_made.c - the environments that pip_env() has made. */
#include "base/array.h"
#include "base/path.h"
#include "pyenv/pip_private.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MADE_MOST 1000

struct pip_found {
    char *env;
    time_t used;
};

static int pip_order(const void *a, const void *b)
{
    const struct pip_found *x = a, *y = b;

    return (x->used < y->used) - (x->used > y->used);
}

/* One that is not complete has no time. */
static void pip_look(const char *all, const char *key, struct pip_found *ret)
{
    AUTO_FREE char *dir = path_join(all, key);
    AUTO_FREE char *done = dir ? path_join(dir, PIP_DONE) : NULL;
    struct stat st;

    if (done && stat(done, &st) == 0 && (ret->env = path_join(dir, "env")))
        ret->used = st.st_mtime;
}

int pip_made(struct strs *ret, struct err *err)
{
    AUTO_FREE char *cache = NULL;
    AUTO_FREE char *all = NULL;
    AUTO_FREE struct pip_found *v = NULL;
    AUTO_DIR DIR *d = NULL;
    size_t n = 0;
    struct dirent *e;
    int r = path_xdg(PATH_CACHE, "ydl", &cache, err);

    if (r < 0 || !(all = path_join(cache, "pip")))
        return r < 0 ? r : err_oom(err);
    d = opendir(all);
    if (!d || path_trusted(all, NULL) < 0)
        return 0; /* none were made, or others could have */
    while (r == 0 && n < MADE_MOST && (e = readdir(d))) {
        struct pip_found one = { 0 };

        if (e->d_name[0] == '.')
            continue;
        pip_look(all, e->d_name, &one);
        if (one.env)
            r = ARRAY_ADD(v, n, one);
    }
    qsort(v, n, sizeof(*v), pip_order);
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = strs_add(ret, v[i].env);
        free(v[i].env);
    }
    return r < 0 ? err_oom(err) : 0;
}
