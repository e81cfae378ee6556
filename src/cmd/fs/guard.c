/* guard.c - see guard.h */
#include "cmd/fs/guard.h"

#include <errno.h>
#include <string.h>

bool guard_within(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    if (strcmp(dir, "/") == 0)
        return true;
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* In the same directory. The root's children are not called neighbours: where a home is "/root",
 * "/tmp" is not a home. */
static bool neighbours(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');

    return end_a && end_b && end_a - a == end_b - b && end_a != a &&
           memcmp(a, b, (size_t)(end_a - a)) == 0;
}

int guard_delete(const struct guard *g, const char *path, struct err *err)
{
    if (strcmp(path, "/") == 0)
        return err_set(err, -EPERM, "'/' is not deleted");
    if (g->even_home)
        return 0;
    if (strcmp(path, g->home) == 0)
        err_set(err, -EPERM, "'%s' is your home directory", path);
    else if (guard_within(g->home, path))
        err_set(err, -EPERM, "'%s' holds home directories", path);
    else if (g->homes_beside && neighbours(path, g->home))
        err_set(err, -EPERM, "'%s' is a user's home directory", path);
    else
        return 0;
    err_hint(err, "use --even-home to delete it");
    return -EPERM;
}
