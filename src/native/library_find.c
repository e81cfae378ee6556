/* library_find.c - looks for a framework's C library in the places that library_find.h lists, best
 * first. A place that the user named ends the search, found or not: with another library than the
 * one asked for, a job fails later and for stranger reasons. */
#include "native/library_find.h"
#include "base/path.h"
#include "base/str.h"
#include "native/python.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

const struct find_library find_mxnet = {
    .what = "MXNet",
    .file = "libmxnet.so",
    .package = "mxnet",
    .variable = "MXNET_LIBRARY_PATH", /* MXNet's own */
};

/* It brings libtensorflow_framework.so.2 by itself: the two lie in one directory. */
const struct find_library find_tensorflow = {
    .what = "TensorFlow",
    .file = "libtensorflow_cc.so.2",
    .package = "tensorflow",
    .variable = "TENSORFLOW_LIBRARY_PATH",
};

/* The second one needs what the first one has. */
static const char *const find_onnxruntime_cuda[] = { "libonnxruntime_providers_shared.so",
                                                     "libonnxruntime_providers_cuda.so", NULL };

const struct find_library find_onnxruntime = {
    .what = "ONNX Runtime",
    .file = "libonnxruntime.so", /* and its version: libonnxruntime.so.1.31.1 */
    .versioned = true,
    .package = "onnxruntime",
    .inner = "capi",
    .variable = "ONNXRUNTIME_LIBRARY_PATH",
    .cuda = find_onnxruntime_cuda,
};

/* The package is called xgboost or xgboost-cpu, its directory xgboost. */
const struct find_library find_xgboost = {
    .what = "XGBoost",
    .file = "libxgboost.so",
    .package = "xgboost",
    .inner = "lib",
    .variable = "XGBOOST_LIBRARY_PATH",
};

const struct find_library find_lightgbm = {
    .what = "LightGBM",
    .file = "lib_lightgbm.so",
    .package = "lightgbm",
    .inner = "lib",
    .variable = "LIGHTGBM_LIBRARY_PATH",
};

static bool find_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* "DIR/A/B", where A and B may be ""; NULL when there is no such file. */
static char *file_at(const char *dir, const char *a, const char *b)
{
    AUTO_FREE char *inner = path_join(dir, a);
    AUTO_FREE char *path = inner ? path_join(inner, b) : NULL;

    return path && find_is_file(path) ? take(path) : NULL;
}

/* The newest of DIR/FILE.1.2.3; NULL: none. */
static char *newest_in(const struct find_library *l, const char *dir)
{
    AUTO_DIR DIR *d = opendir(dir);
    AUTO_FREE char *best = NULL;
    size_t n = strlen(l->file);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        if (!str_starts(e->d_name, l->file) || e->d_name[n] != '.' ||
            (best && strverscmp(e->d_name, best) < 0))
            continue;
        free(best);
        best = strdup(e->d_name);
    }
    return best ? file_at(dir, "", best) : NULL;
}

/* The library in "DIR/INNER", by its name or one with a version. */
static char *library_at(const struct find_library *l, const char *dir, const char *inner)
{
    AUTO_FREE char *in = path_join(dir, inner);
    char *found = in ? file_at(in, "", l->file) : NULL;

    return found || !in || !l->versioned ? found : newest_in(l, in);
}

/* The package in DIR, where its libraries are. */
static char *package_at(const struct find_library *l, const char *dir)
{
    AUTO_FREE char *package = path_join(dir, l->package);

    return package ? library_at(l, package, l->inner ? l->inner : "") : NULL;
}

/* DIR/lib/python3.11/site-packages/PACKAGE/FILE, whatever the version. */
static char *in_site_packages(const struct find_library *l, const char *dir)
{
    AUTO_FREE char *lib = path_join(dir, "lib");
    AUTO_DIR DIR *d = lib ? opendir(lib) : NULL;
    char *found = NULL;

    while (d && !found) {
        struct dirent *e = readdir(d);
        AUTO_FREE char *rest = NULL;

        if (!e)
            break;
        if (!str_starts(e->d_name, "python"))
            continue;
        rest = str_printf("%s/%s/site-packages", lib, e->d_name);
        found = rest ? package_at(l, rest) : NULL;
    }
    return found;
}

char *find_below(const struct find_library *l, const char *dir)
{
    const char *const inner[] = { "", "lib", l->inner ? l->inner : "" };
    char *found = find_is_file(dir) ? strdup(dir) : NULL;

    for (size_t i = 0; i < COUNT_OF(inner) && !found; i++)
        found = library_at(l, dir, inner[i]);
    if (!found)
        found = package_at(l, dir);
    return found ? found : in_site_packages(l, dir);
}

/* ---- the places ---- */

typedef char *place_fn(const struct find_library *l, const struct find_places *p);

static char *by_option(const struct find_library *l, const struct find_places *p)
{
    return p->lib ? find_below(l, p->lib) : NULL;
}

static char *by_variable(const struct find_library *l, const struct find_places *p)
{
    return p->variable && *p->variable ? find_below(l, p->variable) : NULL;
}

/* What is asked may print a directory where the library is not: a package built without it. Looking
 * is tried before asking, because an interpreter has to be started for that. */
static char *in_python(const struct find_library *l, const char *interpreter)
{
    AUTO_FREE char *prefix = python_prefix(interpreter);
    AUTO_FREE char *package = NULL;
    char *found = prefix ? in_site_packages(l, prefix) : NULL;

    if (!found && python_ask(interpreter, l->package, FIND_ASK_MS, &package, NULL) == 0)
        found = find_below(l, package);
    return found;
}

static char *by_python(const struct find_library *l, const struct find_places *p)
{
    static const char *const names[] = { "python3", "python" };
    AUTO_FREE char *own = python_of(p->command, p->path);
    char *found = own ? in_python(l, own) : NULL;

    for (size_t i = 0; i < COUNT_OF(names) && !found && !own && !p->only_command; i++) {
        AUTO_FREE char *other = python_in_path(p->path, names[i]);

        found = other ? in_python(l, other) : NULL;
    }
    return found;
}

/* Archives are unpacked into directories beside the task. */
static char *beside_us(const struct find_library *l, const struct find_places *p)
{
    AUTO_DIR DIR *d = p->cwd ? opendir(p->cwd) : NULL;
    char *found = p->cwd ? library_at(l, p->cwd, "") : NULL;

    while (d && !found) {
        struct dirent *e = readdir(d);
        AUTO_FREE char *dir = NULL;

        if (!e)
            break;
        if (e->d_name[0] == '.')
            continue;
        dir = path_join(p->cwd, e->d_name);
        found = dir && !find_is_file(dir) ? find_below(l, dir) : NULL;
    }
    return found;
}

static char *with_us(const struct find_library *l, const struct find_places *p)
{
    AUTO_FREE char *above = p->self ? path_dir(p->self) : NULL;
    char *found = p->self ? library_at(l, p->self, "") : NULL;

    return found || !above ? found : find_below(l, above);
}

/* The loader's own paths are not searched here: it is given the bare name, and says itself whether
 * it finds it. */
static char *by_loader(const struct find_library *l, const struct find_places *p)
{
    return p->only_command ? NULL : strdup(l->file);
}

static int not_there(const struct find_library *l, const char *where, const char *place,
                     struct err *err)
{
    err_set(err, -ENOENT, "there is no %s in '%s', which %s names", l->file, place, where);
    return -ENOENT;
}

int find_library(const struct find_library *l, const struct find_places *p, char **ret,
                 struct err *err)
{
    static place_fn *const places[] = { by_option, by_variable, by_python,
                                        beside_us, with_us,     by_loader };

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        *ret = places[i](l, p);
        if (*ret)
            return 0;
        /* Whoever names a place wants that one or nothing. */
        if (i == 0 && p->lib)
            return not_there(l, "--lib", p->lib, err);
        if (i == 1 && p->variable && *p->variable)
            return not_there(l, l->variable, p->variable, err);
    }
    err_set(err, -ENOENT, "%s is nowhere to be found", l->file);
    err_hint(err,
             "it comes with the Python package '%s': put its environment first in PATH, or "
             "name the file or a directory with --lib%s%s",
             l->package, l->variable ? " or $" : "", l->variable ? l->variable : "");
    return -ENOENT;
}
