/* xgboost_backend.c - XGBoost's models by its C library: JSON, UBJSON, and the binary form of
 * versions before 3.1, which those load.
 *
 * The file is read here and handed over as bytes, because the library takes a file's name for a URI
 * and its ending for the format, and of bytes it looks at the first. The shape of the output is
 * that of one row, asked for when the model is loaded: this also settles what the library sets up
 * at its first prediction, so that later ones may come from several threads. What it predicts lies
 * in memory of its own that the next prediction of the same thread overwrites, and so is copied. */
#include "base/buf.h"
#include "base/dl.h"
#include "base/path.h"
#include "base/str.h"
#include "serve/backend/backend.h"
#include "serve/backend/disk_facts.h"
#include "serve/backend/feature_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (16 * 1024 * MIB)
#define FEATURES_MAX 10000000
#define OUTPUTS_MAX 1000000
#define TEXT_MAX 1024 /* of a message of the library */

/* As much of the C interface as is used; everything opaque is a void pointer. */
struct xgb_api {
    void (*version)(int *major, int *minor, int *patch);
    const char *(*last_error)(void); /* of this thread */
    int (*create)(const void *const *matrices, uint64_t n, void **ret);
    int (*load)(void *booster, const void *p, uint64_t n);
    int (*set)(void *booster, const char *name, const char *value);
    int (*features)(void *booster, uint64_t *ret);
    int (*predict)(void *booster, const char *rows, const char *config, void *matrix,
                   const uint64_t **ret_dims, uint64_t *ret_rank, const float **ret);
    int (*free)(void *booster);
};

struct xgb_library {
    struct xgb_api api;
    char version[48];
};

struct xgb_model {
    const struct xgb_library *library;
    void *booster;
    struct feature_rows rows;
};

/* The last error of the library behind `what`. */
static int xgb_failed(const struct xgb_library *l, int code, const char *what, struct err *err)
{
    char text[TEXT_MAX];

    return err_set(err, code, "%s: %s", what,
                   feature_rows_sentence(l->api.last_error(), text, sizeof(text)));
}

/* ---- the library ---- */

/* Before 1.4 the function that predicts had other parameters under the same name. */
static int xgb_check_version(struct xgb_library *l, const char *path, struct err *err)
{
    int major = 0, minor = 0, patch = 0;

    l->api.version(&major, &minor, &patch);
    (void)snprintf(l->version, sizeof(l->version), "%d.%d.%d", major, minor, patch);
    if (major > 1 || (major == 1 && minor >= 4))
        return 0;
    return err_set(err, -EOPNOTSUPP, "'%s' is XGBoost %s, which is too old: 1.4 or newer", path,
                   l->version);
}

static int xgb_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    AUTO_FREE struct xgb_library *l = calloc(1, sizeof(*l));
    void *handle = NULL;
    int r;

    if (!l)
        return err_oom(err);
    const struct dl_symbol symbols[] = {
        { "XGBoostVersion", (void **)&l->api.version },
        { "XGBGetLastError", (void **)&l->api.last_error },
        { "XGBoosterCreate", (void **)&l->api.create },
        { "XGBoosterLoadModelFromBuffer", (void **)&l->api.load },
        { "XGBoosterSetParam", (void **)&l->api.set },
        { "XGBoosterGetNumFeature", (void **)&l->api.features },
        { "XGBoosterPredictFromDense", (void **)&l->api.predict },
        { "XGBoosterFree", (void **)&l->api.free },
    };
    r = dl_load(path, symbols, COUNT_OF(symbols), &handle, err);
    if (r < 0)
        return err_wrap(err, r, "load XGBoost");
    r = xgb_check_version(l, path, err);
    if (r < 0)
        return r;
    *ret_version = l->version;
    *ret = take(l);
    return 0;
}

/* ---- predictions ---- */

/* The library's own, until the same thread predicts again. */
struct xgb_prediction {
    const uint64_t *dims;
    uint64_t rank;
    const float *v;
};

/* `array` is numpy's array interface: the address of the rows (true: not written to), their shape,
 * and little-endian floats of 4 bytes. `config` asks for predictions (type 0) by all trees (an end
 * of 0). */
static int xgb_predict(const struct xgb_model *m, const void *p, int64_t rows,
                       struct xgb_prediction *ret, struct err *err)
{
    static const char config[] =
        "{\"type\":0,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,"
        "\"missing\":NaN,\"strict_shape\":false,\"cache_id\":0}";
    char array[160];

    (void)snprintf(array, sizeof(array),
                   "{\"data\":[%llu,true],\"shape\":[%lld,%lld],\"typestr\":\"<f4\",\"version\":3}",
                   (unsigned long long)(uintptr_t)p, (long long)rows, (long long)m->rows.features);
    if (m->library->api.predict(m->booster, array, config, NULL, &ret->dims, &ret->rank, &ret->v) !=
        0)
        return xgb_failed(m->library, -EIO, "XGBoost cannot predict", err);
    return 0;
}

static bool xgb_has_shape(const struct xgb_prediction *found, const struct tensor *t)
{
    bool same = found->rank == t->rank;

    for (size_t i = 0; i < t->rank && same; i++)
        same = found->dims[i] == (uint64_t)t->dims[i];
    return same;
}

static int xgb_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct xgb_model *m = model;
    struct xgb_prediction found = { 0 };
    int64_t rows = 0;
    void *out = NULL;
    int r = feature_rows_count(&m->rows, in, &rows, err);

    if (r < 0)
        return r;
    r = feature_rows_output(&m->rows, rows, ret, &out, err);
    if (r == 0 && rows > 0)
        r = xgb_predict(m, in->v[0].data, rows, &found, err);
    if (r == 0 && rows > 0 && !xgb_has_shape(&found, &ret->v[0]))
        r = err_set(err, -EIO, "XGBoost predicted a shape that it did not have before");
    if (r == 0 && rows > 0)
        memcpy(out, found.v, ret->v[0].size);
    if (r < 0)
        tensors_done(ret);
    return r;
}

/* ---- a model ---- */

/* A damaged UBJSON can bring the library down: whether it is whole is looked at before. In JSON '{'
 * is followed by a quote; the old binary form begins with a number. */
static int xgb_check_ubj(const char *path, const struct buf *file, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE char *name = path_base(path);
    AUTO_FORMAT_FACTS facts = { 0 };
    const struct strs names = { &name, 1 };
    size_t i = 1;
    int r;

    while (i < file->len && isspace(file->data[i]))
        i++;
    if (file->data[0] != '{' || i >= file->len || file->data[i] == '"')
        return 0;
    r = dir && name ? disk_facts_read(dir, &names, &facts, err) : err_oom(err);
    return r == -EINVAL ? err_set(err, r, "'%s' is damaged: it is no whole UBJSON", path) : r;
}

static int xgb_read(struct xgb_model *m, const struct backend_load *o, struct err *err)
{
    const struct xgb_api *api = &m->library->api;
    AUTO_BUF file = { .max = FILE_MAX };
    char threads[16];
    int r = path_read(o->path, &file, err);

    if (r < 0)
        return r;
    if (file.len == 0)
        return err_set(err, -EINVAL, "'%s' is empty", o->path);
    r = xgb_check_ubj(o->path, &file, err);
    if (r < 0)
        return r;
    if (api->create(NULL, 0, &m->booster) != 0)
        return xgb_failed(m->library, -EIO, "start XGBoost", err);
    if (api->load(m->booster, file.data, file.len) != 0) {
        (void)xgb_failed(m->library, -EINVAL, "XGBoost cannot load it", err);
        err_hint(err, "the library is XGBoost %s; check the file, and the version that saved it",
                 m->library->version);
        return err_wrap(err, -EINVAL, "'%s'", o->path);
    }
    (void)snprintf(threads, sizeof(threads), "%u", o->threads);
    if (api->set(m->booster, "nthread", threads) != 0)
        return xgb_failed(m->library, -EIO, "set threads", err);
    return 0;
}

/* Features by the model, outputs by what a row without any value gives. */
static int xgb_measure(struct xgb_model *m, const char *path, struct err *err)
{
    AUTO_FREE float *row = NULL;
    struct xgb_prediction found = { 0 };
    uint64_t features = 0;
    int r;

    if (m->library->api.features(m->booster, &features) != 0)
        return xgb_failed(m->library, -EIO, "count features", err);
    if (features == 0 || features > FEATURES_MAX)
        return err_set(err, -EINVAL, "'%s' has %llu features", path, (unsigned long long)features);
    m->rows = (struct feature_rows){ .type = TENSOR_FP32, .features = (int64_t)features };
    row = malloc(features * sizeof(*row));
    if (!row)
        return err_oom(err);
    for (size_t i = 0; i < features; i++)
        row[i] = NAN;
    r = xgb_predict(m, row, 1, &found, err);
    if (r < 0) {
        err_hint(err, "boosters of trees (gbtree, dart) can be served, gblinear cannot");
        return err_wrap(err, r, "'%s'", path);
    }
    if (found.rank < 1 || found.rank > 2 || found.dims[0] != 1 ||
        (found.rank == 2 && found.dims[1] > OUTPUTS_MAX))
        return err_set(err, -EOPNOTSUPP, "'%s' predicts tensors of %llu dimensions", path,
                       (unsigned long long)found.rank);
    m->rows.flat = found.rank == 1;
    m->rows.outputs = found.rank == 1 ? 1 : (int64_t)found.dims[1];
    return 0;
}

static void xgb_unload(void *model)
{
    struct xgb_model *m = model;

    if (m && m->booster)
        (void)m->library->api.free(m->booster);
    free(m);
}

static int xgb_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    struct xgb_model *m;
    int r;

    if (!str_eq(o->device, "cpu"))
        return err_set(err, -EOPNOTSUPP, "XGBoost models are served on the cpu, not on '%s'",
                       o->device);
    m = calloc(1, sizeof(*m));
    if (!m)
        return err_oom(err);
    m->library = library;
    r = xgb_read(m, o, err);
    if (r == 0)
        r = xgb_measure(m, o->path, err);
    if (r < 0) {
        xgb_unload(m);
        return r;
    }
    *ret = m;
    return 0;
}

static int xgb_signature(void *model, struct signature *ret, struct err *err)
{
    const struct xgb_model *m = model;

    return feature_rows_signature(&m->rows, ret, err);
}

/* JSON and UBJSON are the same document, which begins with one of these names; the binary form
 * begins with numbers, which are anybody's. */
static bool xgb_begins(const uint8_t *p, size_t n)
{
    size_t i = 0;

    while (i < n && isspace(p[i]))
        i++;
    return i < n && (p[i] != '{' || memmem(p, n, "learner", 7) || memmem(p, n, "version", 7));
}

static const char *const xgb_files[] = { "model.json", "model.ubj", "model.bst", NULL };

const struct backend_ops backend_xgboost = {
    .name = "xgboost",
    .platform = "xgboost_xgboost",
    .format = "xgboost",
    .files = xgb_files,
    .says = "XGBoost (model.json, model.ubj, model.bst)",
    .package = "xgboost-cpu",
    .computes = true,
    .begins = xgb_begins,
    .open = xgb_open,
    .load = xgb_load,
    .signature = xgb_signature,
    .run = xgb_run,
    .unload = xgb_unload,
};
