/* library_version.c - see library_version.h. A package's files and version are in
 * site-packages/NAME-VERSION.dist-info. Its name may be longer than its directory's (tensorflow_cpu
 * brings tensorflow/), and other packages' names may begin with that, too (tensorflow_estimator):
 * the right one is the one whose list of files has the library. */
#include "native/library_version.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RECORD_MAX (16 * MIB)
#define VERSION_MAX 48
#define DIST_INFO ".dist-info"

static char *version_take(const char *text, size_t n)
{
    static const char good[] = "0123456789.+_!abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return n > 0 && n <= VERSION_MAX && *text >= '0' && *text <= '9' && strspn(text, good) >= n
               ? strndup(text, n)
               : NULL;
}

/* What follows ".so.", when it is more than the number of an interface. */
static char *version_in_name(const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);
    const char *name = real ? strrchr(real, '/') : NULL;
    const char *text = name ? strstr(name, ".so.") : NULL;

    if (!text || !strchr(text + strlen(".so."), '.'))
        return NULL;
    return version_take(text + strlen(".so."), strlen(text) - strlen(".so."));
}

/* Is `file` (relative to `site`) a line "FILE,HASH,SIZE" of the package's RECORD? Whole lines only:
 * the path may also stand inside a longer one. */
static bool version_has_file(const char *site, const char *info, const char *file)
{
    AUTO_FREE char *path = str_printf("%s/%s/RECORD", site, info);
    AUTO_BUF text = { .max = RECORD_MAX };
    size_t n = strlen(file);
    const char *at;

    if (!path || path_read(path, &text, NULL) < 0 || !buf_text(&text))
        return false;
    for (at = buf_text(&text); (at = strstr(at, file)) != NULL; at += n)
        if ((at == buf_text(&text) || at[-1] == '\n') && at[n] == ',')
            return true;
    return false;
}

static char *version_in_site(const struct find_library *l, const char *site, const char *file)
{
    AUTO_DIR DIR *d = opendir(site);
    char *version = NULL;

    while (d && !version) {
        struct dirent *e = readdir(d);
        const char *text, *end;

        if (!e)
            break;
        text = strchr(e->d_name, '-');
        end = text ? strstr(text, DIST_INFO) : NULL;
        if (end && !end[strlen(DIST_INFO)] &&
            strncasecmp(e->d_name, l->package, strlen(l->package)) == 0 &&
            version_has_file(site, e->d_name, file))
            version = version_take(text + 1, (size_t)(end - text - 1));
    }
    return version;
}

/* SITE/PACKAGE/…/FILE taken apart. */
static char *version_of_package(const struct find_library *l, const char *path)
{
    AUTO_FREE char *inside = str_printf("/%s/", l->package);
    AUTO_FREE char *site = NULL;
    const char *at = NULL, *next = path;

    while (inside && (next = strstr(next, inside)) != NULL)
        at = next++;
    site = at ? strndup(path, (size_t)(at - path)) : NULL;
    return site ? version_in_site(l, site, at + 1) : NULL;
}

char *library_version(const struct find_library *l, const char *path)
{
    char *version = strchr(path, '/') ? version_in_name(path) : NULL;

    return version ? version : version_of_package(l, path);
}
