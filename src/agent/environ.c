/* environ.c - an environment as the array that exec() takes: entries are lent or copied, and a
 * later one replaces an earlier one of its name in place. A few hundred entries: a linear search
 * will do. */
#include "agent/environ.h"

#include <string.h>

static int room(struct env *e)
{
    size_t cap = e->cap ? 2 * e->cap : 64;
    char **v;

    if (e->n + 1 < e->cap)
        return 0;
    v = reallocarray(e->v, cap, sizeof(char *));
    if (!v)
        return -ENOMEM;
    e->v = v;
    e->cap = cap;
    return 0;
}

int env_lend(struct env *e, char *entry)
{
    const char *eq = strchr(entry, '=');
    size_t name;

    if (!eq || eq == entry)
        return -EINVAL;
    name = (size_t)(eq - entry) + 1;
    for (size_t i = 0; i < e->n; i++) {
        if (strncmp(e->v[i], entry, name) == 0) {
            e->v[i] = entry;
            return 0;
        }
    }
    if (room(e) < 0)
        return -ENOMEM;
    e->v[e->n++] = entry;
    e->v[e->n] = NULL;
    return 0;
}

static int own(struct env *e, char *entry)
{
    int r = strs_take(&e->owned, entry);

    return r < 0 ? r : env_lend(e, e->owned.v[e->owned.n - 1]);
}

int env_copy(struct env *e, const void *p, size_t n)
{
    if (memchr(p, '\0', n))
        return -EINVAL;
    return own(e, strndup(p, n));
}

int env_set(struct env *e, const char *name, const char *value)
{
    return own(e, str_printf("%s=%s", name, value));
}

/* Its place; e->n when it is not there. */
static size_t env_find(const struct env *e, const char *name)
{
    size_t n = strlen(name), i = 0;

    while (i < e->n && (strncmp(e->v[i], name, n) != 0 || e->v[i][n] != '='))
        i++;
    return i;
}

const char *env_get(const struct env *e, const char *name)
{
    size_t i = env_find(e, name);

    return i < e->n ? e->v[i] + strlen(name) + 1 : NULL;
}

void env_unset(struct env *e, const char *name)
{
    size_t i = env_find(e, name);

    if (i == e->n)
        return;
    memmove(e->v + i, e->v + i + 1, (e->n - i) * sizeof(*e->v)); /* the NULL too */
    e->n--;
}

void env_done(struct env *e)
{
    free(e->v);
    strs_done(&e->owned);
    *e = (struct env){ 0 };
}
