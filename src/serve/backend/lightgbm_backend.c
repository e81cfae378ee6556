/* lightgbm_backend.c - LightGBM's models, which are text, by its C library.
 *
 * It computes with double precision, so inputs and outputs have it too. Its messages go to standard
 * output unless somebody takes them, thread by thread; ours belongs to whoever reads our events, so
 * they are dropped, and failures are asked for. The library does not say its version: the Python
 * package that it comes in does, in a file beside it. */
#include "base/buf.h"
#include "base/dl.h"
#include "base/path.h"
#include "base/str.h"
#include "serve/backend/backend.h"
#include "serve/backend/feature_rows.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (16 * 1024 * MIB)
#define FEATURES_MAX 10000000
#define OUTPUTS_MAX 1000000
#define TEXT_MAX 1024 /* of a message of the library */
#define VERSION_MAX 32

/* Of its C interface. */
#define LGB_FLOAT64 1
#define LGB_BY_ROWS 1
#define LGB_PREDICT_NORMAL 0
#define LGB_ALL_TREES (-1)

/* As much of it as is used; everything opaque is a void pointer. */
struct lgb_api {
    const char *(*last_error)(void); /* of this thread */
    int (*log_to)(void (*fn)(const char *text));
    int (*load)(const char *text, int *ret_iterations, void **ret);
    int (*features)(void *booster, int *ret);
    int (*outputs)(void *booster, int rows, int what, int first, int iterations, int64_t *ret);
    int (*predict)(void *booster, const void *p, int type, int32_t rows, int32_t features,
                   int by_rows, int what, int first, int iterations, const char *parameters,
                   int64_t *ret_n, double *ret);
    int (*free)(void *booster);
};

struct lgb_library {
    struct lgb_api api;
    char version[VERSION_MAX + 1];
};

struct lgb_model {
    const struct lgb_library *library;
    void *booster;
    struct feature_rows rows;
    char parameters[64];
};

/* The last error of the library behind `what`. */
static int lgb_failed(const struct lgb_library *l, int code, const char *what, struct err *err)
{
    char text[TEXT_MAX];

    return err_set(err, code, "%s: %s", what,
                   feature_rows_sentence(l->api.last_error(), text, sizeof(text)));
}

static void lgb_on_message(const char *text)
{
    (void)text;
}

/* ---- the library ---- */

/* PACKAGE/VERSION.txt of PACKAGE/lib/lib_lightgbm.so. */
static void lgb_read_version(struct lgb_library *l, const char *path)
{
    AUTO_FREE char *lib = path_dir(path);
    AUTO_FREE char *package = lib ? path_dir(lib) : NULL;
    AUTO_FREE char *file = package ? path_join(package, "VERSION.txt") : NULL;
    AUTO_BUF text = { .max = VERSION_MAX };

    (void)snprintf(l->version, sizeof(l->version), "(version unknown)");
    if (file && path_read(file, &text, NULL) == 0 && text.len > 0 && buf_text(&text) &&
        strspn(buf_text(&text), "0123456789.") > 0)
        (void)snprintf(l->version, sizeof(l->version), "%.*s",
                       (int)strspn(buf_text(&text), "0123456789."), buf_text(&text));
}

static int lgb_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    AUTO_FREE struct lgb_library *l = calloc(1, sizeof(*l));
    void *handle = NULL;
    int r;

    if (!l)
        return err_oom(err);
    const struct dl_symbol symbols[] = {
        { "LGBM_GetLastError", (void **)&l->api.last_error },
        { "LGBM_RegisterLogCallback", (void **)&l->api.log_to },
        { "LGBM_BoosterLoadModelFromString", (void **)&l->api.load },
        { "LGBM_BoosterGetNumFeature", (void **)&l->api.features },
        { "LGBM_BoosterCalcNumPredict", (void **)&l->api.outputs },
        { "LGBM_BoosterPredictForMat", (void **)&l->api.predict },
        { "LGBM_BoosterFree", (void **)&l->api.free },
    };
    r = dl_load(path, symbols, COUNT_OF(symbols), &handle, err);
    if (r < 0) {
        if (err && strstr(err->text, "libgomp"))
            err_hint(err, "LightGBM needs the system's OpenMP library (Debian: libgomp1)");
        return err_wrap(err, r, "load LightGBM");
    }
    lgb_read_version(l, path);
    *ret_version = l->version;
    *ret = take(l);
    return 0;
}

/* ---- predictions ---- */

static int lgb_predict(const struct lgb_model *m, const void *p, int64_t rows, double *ret,
                       struct err *err)
{
    const struct lgb_api *api = &m->library->api;
    int64_t n = 0;

    if (rows > INT32_MAX)
        return err_set(err, -EINVAL, "%lld rows: at most %d at a time", (long long)rows, INT32_MAX);
    (void)api->log_to(lgb_on_message);
    if (api->predict(m->booster, p, LGB_FLOAT64, (int32_t)rows, (int32_t)m->rows.features,
                     LGB_BY_ROWS, LGB_PREDICT_NORMAL, 0, LGB_ALL_TREES, m->parameters, &n,
                     ret) != 0)
        return lgb_failed(m->library, -EIO, "LightGBM cannot predict", err);
    return 0;
}

static int lgb_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct lgb_model *m = model;
    int64_t rows = 0;
    void *out = NULL;
    int r = feature_rows_count(&m->rows, in, &rows, err);

    if (r < 0)
        return r;
    r = feature_rows_output(&m->rows, rows, ret, &out, err);
    if (r == 0 && rows > 0)
        r = lgb_predict(m, in->v[0].data, rows, out, err);
    if (r < 0)
        tensors_done(ret);
    return r;
}

/* ---- a model ---- */

#define SIZES "\ntree_sizes="
#define NO_SIZES "\ntree_size_="

/* The header has the length of each tree, "tree_sizes=3269 3267 …", and the library trusts it: of a
 * file that was cut off it reads past the end. Very old files have no lengths. */
static bool lgb_is_whole(const char *text)
{
    const char *sizes = strstr(text, SIZES), *end = text + strlen(text);
    const char *tree = sizes ? strstr(sizes, "\nTree=0") : NULL;

    if (!sizes)
        return true;
    if (!tree)
        return false;
    tree++;
    sizes += strlen(SIZES);
    while (isdigit((unsigned char)*sizes)) {
        char *next = NULL;
        unsigned long long n = strtoull(sizes, &next, 10);

        if (!str_starts(tree, "Tree=") || n > (unsigned long long)(end - tree))
            return false;
        tree += n;
        sizes = *next == ' ' ? next + 1 : next;
    }
    return str_starts(tree, "end of trees");
}

/* With lengths the library reads trees in parallel, and one that is damaged ends the process.
 * Without them it reads one after the other, and says what is wrong. */
static void lgb_hide_sizes(char *text)
{
    char *sizes = strstr(text, SIZES);

    if (sizes)
        memcpy(sizes, NO_SIZES, strlen(NO_SIZES));
}

/* A model is text, a header and then its trees:
 *
 *     tree
 *     version=v4
 *     …
 *     tree_sizes=3269 3267          bytes of each tree below, from its "Tree=" on
 *
 *     Tree=0
 *     …
 *     Tree=1
 *     …
 *     end of trees
 *
 * It is read by us and handed over as text, because the library trusts the sizes: they are checked
 * first, and then made unreadable for it. */
static int lgb_read(struct lgb_model *m, const struct backend_load *o, struct err *err)
{
    AUTO_BUF file = { .max = FILE_MAX };
    int iterations = 0;
    int r = path_read(o->path, &file, err);

    if (r < 0)
        return r;
    if (!buf_text(&file))
        return err_oom(err);
    if (!lgb_is_whole(buf_text(&file)))
        return err_set(err, -EINVAL, "'%s' is damaged: its trees are not as long as it says",
                       o->path);
    lgb_hide_sizes((char *)file.data);
    (void)m->library->api.log_to(lgb_on_message);
    if (m->library->api.load(buf_text(&file), &iterations, &m->booster) != 0) {
        (void)lgb_failed(m->library, -EINVAL, "LightGBM cannot load it", err);
        err_hint(err, "the library is LightGBM %s; check the file, and the version that saved it",
                 m->library->version);
        return err_wrap(err, -EINVAL, "'%s'", o->path);
    }
    if (iterations <= 0)
        return err_set(err, -EINVAL, "'%s' has no trees", o->path);
    (void)snprintf(m->parameters, sizeof(m->parameters), "num_threads=%u verbosity=-1", o->threads);
    return 0;
}

static int lgb_measure(struct lgb_model *m, const char *path, struct err *err)
{
    const struct lgb_api *api = &m->library->api;
    int64_t outputs = 0;
    int features = 0;

    if (api->features(m->booster, &features) != 0 ||
        api->outputs(m->booster, 1, LGB_PREDICT_NORMAL, 0, LGB_ALL_TREES, &outputs) != 0)
        return lgb_failed(m->library, -EIO, "count features", err);
    if (features < 1 || features > FEATURES_MAX || outputs < 1 || outputs > OUTPUTS_MAX)
        return err_set(err, -EINVAL, "'%s' has %d features and %lld outputs", path, features,
                       (long long)outputs);
    m->rows = (struct feature_rows){
        .type = TENSOR_FP64, .features = features, .outputs = outputs, .flat = outputs == 1
    };
    return 0;
}

static void lgb_unload(void *model)
{
    struct lgb_model *m = model;

    if (m && m->booster)
        (void)m->library->api.free(m->booster);
    free(m);
}

static int lgb_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    struct lgb_model *m;
    int r;

    if (!str_eq(o->device, "cpu"))
        return err_set(err, -EOPNOTSUPP, "LightGBM models are served on the cpu, not on '%s'",
                       o->device);
    m = calloc(1, sizeof(*m));
    if (!m)
        return err_oom(err);
    m->library = library;
    r = lgb_read(m, o, err);
    if (r == 0)
        r = lgb_measure(m, o->path, err);
    if (r < 0) {
        lgb_unload(m);
        return r;
    }
    *ret = m;
    return 0;
}

static int lgb_signature(void *model, struct signature *ret, struct err *err)
{
    const struct lgb_model *m = model;

    return feature_rows_signature(&m->rows, ret, err);
}

static bool lgb_begins(const uint8_t *p, size_t n)
{
    return n >= 5 && memcmp(p, "tree", 4) == 0 && (p[4] == '\n' || p[4] == '\r');
}

static const char *const lgb_files[] = { "model.txt", NULL };

const struct backend_ops backend_lightgbm = {
    .name = "lightgbm",
    .platform = "lightgbm_lightgbm",
    .format = "lightgbm",
    .files = lgb_files,
    .says = "LightGBM (model.txt)",
    .package = "lightgbm",
    .computes = true,
    .begins = lgb_begins,
    .open = lgb_open,
    .load = lgb_load,
    .signature = lgb_signature,
    .run = lgb_run,
    .unload = lgb_unload,
};
