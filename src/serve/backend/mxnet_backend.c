/* mxnet_backend.c - MXNet's models by its C library: NAME-symbol.json and NAME-NNNN.params, of
 * which the last counts. Runs are in mxnet_run.c.
 *
 * Inputs are the arguments that have no weights, but for labels; model/format tells them. Their
 * shapes are those that --shape says, else those in the symbol, else any. What comes out is asked
 * of MXNet: its type once, its shape for two sizes of what may have any, and what differs may have
 * any size as well. */
#include "base/array.h"
#include "base/dl.h"
#include "base/path.h"
#include "serve/backend/disk_facts.h"
#include "serve/backend/feature_rows.h"
#include "serve/backend/mxnet_private.h"

#include <stdio.h>
#include <string.h>

#define SYMBOL_END "-symbol.json"
#define MX_ERROR "MXNetError: "
#define PARAMS_MOST 10000 /* files */
#define TEXT_MAX 1024     /* of a message of the library */

/* ---- the library ---- */

int mx_failed(const struct mx_library *l, int code, const char *what, struct err *err)
{
    const char *said = l->api.last_error();
    char text[TEXT_MAX];

    said = feature_rows_sentence(said ? said : "", text, sizeof(text));
    if (str_starts(said, MX_ERROR))
        said += strlen(MX_ERROR);
    return err_set(err, code, "%s: %s", what, said);
}

/* By MXNet's numbers. */
static const enum tensor_type mx_types[MX_TYPES] = {
    TENSOR_FP32,   TENSOR_FP64,   TENSOR_FP16, TENSOR_UINT8, TENSOR_INT32,
    TENSOR_INT8,   TENSOR_INT64,  TENSOR_BOOL, TENSOR_INT16, TENSOR_UINT16,
    TENSOR_UINT32, TENSOR_UINT64, TENSOR_BF16,
};

enum tensor_type mx_type_to_tensor(int type)
{
    return type >= 0 && type < MX_TYPES ? mx_types[type] : TENSOR_NONE;
}

int mx_type_of_tensor(enum tensor_type type)
{
    for (int i = 0; i < MX_TYPES; i++)
        if (mx_types[i] == type)
            return i;
    return -1;
}

static int mx_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    AUTO_FREE struct mx_library *l = calloc(1, sizeof(*l));
    struct mx_api *a = l ? &l->api : NULL;
    const char **names = NULL;
    void *handle = NULL;
    int version = 0, r;
    uint32_t n = 0;

    if (!l)
        return err_oom(err);
    const struct dl_symbol symbols[] = {
        { "MXGetLastError", (void **)&a->last_error },
        { "MXGetVersion", (void **)&a->version },
        { "MXListAllOpNames", (void **)&a->list_ops },
        { "MXSymbolCreateFromFile", (void **)&a->symbol_load },
        { "MXSymbolFree", (void **)&a->symbol_free },
        { "MXSymbolListArguments", (void **)&a->symbol_args },
        { "MXSymbolListAuxiliaryStates", (void **)&a->symbol_aux },
        { "MXSymbolInferShape", (void **)&a->infer_shape },
        { "MXSymbolInferType", (void **)&a->infer_type },
        { "MXNDArrayLoad", (void **)&a->arrays_load },
        { "MXNDArrayCreateEx", (void **)&a->array_new },
        { "MXNDArrayFree", (void **)&a->array_free },
        { "MXNDArrayGetShape", (void **)&a->array_shape },
        { "MXNDArrayGetDType", (void **)&a->array_type },
        { "MXNDArraySyncCopyFromCPU", (void **)&a->array_write },
        { "MXNDArraySyncCopyToCPU", (void **)&a->array_read },
        { "MXExecutorBindEX", (void **)&a->bind },
        { "MXExecutorForward", (void **)&a->forward },
        { "MXExecutorOutputs", (void **)&a->executor_outputs },
        { "MXExecutorFree", (void **)&a->executor_free },
    };
    r = dl_load(path, symbols, COUNT_OF(symbols), &handle, err);
    if (r < 0)
        return err_wrap(err, r, "load MXNet");
    /* Operators of old kinds are known only after somebody has asked for a list of all. */
    if (a->version(&version) != 0 || a->list_ops(&n, &names) != 0)
        return mx_failed(l, -EOPNOTSUPP, "load MXNet", err);
    (void)snprintf(l->version, sizeof(l->version), "%d.%d.%d", version / 10000, version / 100 % 100,
                   version % 100);
    *ret_version = l->version;
    *ret = take(l);
    return 0;
}

/* ---- names ---- */

typedef int mx_list_fn(void *symbol, uint32_t *ret_n, const char ***ret);

static int mx_names(const struct mx_model *m, mx_list_fn *fn, struct strs *ret, struct err *err)
{
    const char **v = NULL;
    uint32_t n = 0;

    if (fn(m->symbol, &n, &v) != 0)
        return mx_failed(m->library, -EINVAL, "read the symbol", err);
    for (uint32_t i = 0; i < n; i++)
        if (strs_add(ret, v[i]) < 0)
            return err_oom(err);
    return 0;
}

/* Where it is; l->n: nowhere. */
static size_t mx_index(const struct strs *l, const char *name)
{
    size_t i = 0;

    while (i < l->n && strcmp(l->v[i], name) != 0)
        i++;
    return i;
}

/* ---- weights ---- */

/* "arg:fc_weight" and "aux:bn_mean" find their places; others are freed, as is a second one. */
static void mx_take_weight(struct mx_model *m, const char *name, void *array)
{
    bool aux = str_starts(name, "aux:");
    const char *bare = aux || str_starts(name, "arg:") ? name + 4 : name;
    const struct strs *names = aux ? &m->aux : &m->args;
    size_t i = mx_index(names, bare);
    void **place = i < names->n ? (aux ? m->auxs : m->weights) + i : NULL;

    if (place && !*place)
        *place = array;
    else
        (void)m->library->api.array_free(array);
}

/* The arrays of the file are ours one by one; the list of them is the library's, until its next
 * call. */
static int mx_read_weights(struct mx_model *m, const char *file, struct err *err)
{
    const char **names = NULL;
    uint32_t n = 0, n_names = 0;
    void **v = NULL;

    m->weights = calloc(m->args.n + 1, sizeof(void *));
    m->auxs = calloc(m->aux.n + 1, sizeof(void *));
    if (!m->weights || !m->auxs)
        return err_oom(err);
    if (m->library->api.arrays_load(file, &n, &v, &n_names, &names) != 0) {
        (void)mx_failed(m->library, -EINVAL, "MXNet cannot load it", err);
        return err_wrap(err, -EINVAL, "'%s'", file);
    }
    for (uint32_t i = 0; i < n; i++)
        mx_take_weight(m, i < n_names ? names[i] : "", v[i]);
    for (size_t i = 0; i < m->aux.n; i++)
        if (!m->auxs[i])
            return err_set(err, -EINVAL, "'%s' has no '%s'", file, m->aux.v[i]);
    return 0;
}

/* ---- what it takes ---- */

/* "-1x3x224x224"; "" is a scalar, which MXNet has none of. */
static int mx_parse_dims(const char *text, int64_t *dims, size_t *ret_rank)
{
    AUTO_STRS parts = { 0 };
    int r = strs_split(&parts, text, "x");

    if (r < 0)
        return r;
    if (parts.n == 0 || parts.n > TENSOR_DIMS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < parts.n; i++)
        if (str_to_i64(parts.v[i], -1, INT32_MAX, &dims[i]) < 0 || dims[i] == 0)
            return -EINVAL;
    *ret_rank = parts.n;
    return 0;
}

static int mx_set_shape(struct mx_model *m, const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    AUTO_FREE char *name = strndup(text, equals ? (size_t)(equals - text) : 0);
    int64_t dims[TENSOR_DIMS_MAX];
    size_t rank = 0, at = 0;
    int r;

    if (!name)
        return err_oom(err);
    r = equals ? mx_parse_dims(equals + 1, dims, &rank) : -EINVAL;
    if (r < 0)
        return err_set(err, r, "--shape '%s' is not NAME=SIZExSIZE…: data=-1x3x224x224", text);
    if (!signature_find(&m->signature.inputs, name, &at))
        return err_set(err, -EINVAL, "--shape '%s': the model has no input '%s'", text, name);
    m->signature.inputs.v[at].any_rank = false;
    m->signature.inputs.v[at].rank = rank;
    memcpy(m->signature.inputs.v[at].dims, dims, rank * sizeof(dims[0]));
    return 0;
}

static int mx_read_inputs(struct mx_model *m, const json_t *said, const struct strs *shapes,
                          struct err *err)
{
    int r = disk_facts_slots(json_object_get(said, "inputs"), &m->signature.inputs, err);

    if (r < 0)
        return r;
    m->input_args = calloc(m->signature.inputs.n + 1, sizeof(size_t));
    if (!m->input_args)
        return err_oom(err);
    for (size_t i = 0; i < m->signature.inputs.n && r == 0; i++) {
        const char *name = m->signature.inputs.v[i].name;

        m->input_args[i] = mx_index(&m->args, name);
        if (m->input_args[i] == m->args.n)
            r = err_set(err, -EINVAL, "'%s' has no weights and is no argument", name);
    }
    for (size_t i = 0; shapes && i < shapes->n && r == 0; i++)
        r = mx_set_shape(m, shapes->v[i], err);
    return r;
}

/* ---- what it gives ---- */

/* The types of the outputs, the caller's. */
static int mx_output_types(const struct mx_model *m, size_t n, int **ret, struct err *err)
{
    const struct signature_slots *in = &m->signature.inputs;
    AUTO_FREE const char **names = calloc(in->n + 1, sizeof(char *));
    AUTO_FREE int *types = calloc(in->n + 1, sizeof(int));
    const int *found_in, *found = NULL, *found_aux;
    uint32_t n_in = 0, n_out = 0, n_aux = 0;
    int complete = 0;

    *ret = calloc(n + 1, sizeof(int));
    if (!names || !types || !*ret)
        return err_oom(err);
    for (size_t i = 0; i < in->n; i++) {
        names[i] = in->v[i].name;
        types[i] = mx_type_of_tensor(in->v[i].type);
    }
    if (m->library->api.infer_type(m->symbol, (uint32_t)in->n, names, types, &n_in, &found_in,
                                   &n_out, &found, &n_aux, &found_aux, &complete) != 0)
        return mx_failed(m->library, -EINVAL, "infer the types", err);
    for (size_t i = 0; complete && i < n && i < n_out; i++)
        (*ret)[i] = found[i];
    return 0;
}

/* Shapes for inputs whose sizes are `size` where any is possible. 1: they are in `rank` and `dims`;
 * 0: they are not known. */
static int mx_output_shapes(const struct mx_model *m, size_t n, int64_t size, uint32_t *rank,
                            int64_t *dims)
{
    const struct signature_slots *in = &m->signature.inputs;
    AUTO_FREE int64_t *asked = calloc(in->n * TENSOR_DIMS_MAX + 1, sizeof(*asked));
    AUTO_FREE size_t *ranks = calloc(in->n + 1, sizeof(*ranks));
    struct mx_shapes s = { 0 };
    struct err ignored = ERR_INIT;

    if (!asked || !ranks)
        return -ENOMEM;
    for (size_t i = 0; i < in->n; i++) {
        if (in->v[i].any_rank)
            return 0;
        ranks[i] = in->v[i].rank;
        for (size_t d = 0; d < ranks[i]; d++)
            asked[i * TENSOR_DIMS_MAX + d] = in->v[i].dims[d] < 0 ? size : in->v[i].dims[d];
    }
    if (mx_infer(m, asked, ranks, &s, &ignored) < 0 || s.n_outputs < n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        rank[i] = s.output_rank[i];
        for (uint32_t d = 0; d < rank[i] && d < TENSOR_DIMS_MAX; d++)
            dims[i * TENSOR_DIMS_MAX + d] = s.output_dims[i][d];
    }
    return 1;
}

/* Two sizes that a model hardly has by itself. */
#define SIZE_A 61
#define SIZE_B 67

/* What differs from one size to the other may have any.
 *
 * MXNet infers shapes only for sizes that are known. Two askings tell which of an output's
 * dimensions depend on an open one of the inputs:
 *
 *     inputs [61, 4], [67, 4]     outputs [61, 10], [67, 10]     the signature: [-1, 10] */
static int mx_compare_shapes(const struct mx_model *m, size_t n, uint32_t *rank, int64_t *dims)
{
    AUTO_FREE uint32_t *other_rank = calloc(n + 1, sizeof(*other_rank));
    AUTO_FREE int64_t *other = calloc(n * TENSOR_DIMS_MAX + 1, sizeof(*other));
    int known = mx_output_shapes(m, n, SIZE_A, rank, dims);

    if (!other_rank || !other)
        return -ENOMEM;
    if (known == 1)
        known = mx_output_shapes(m, n, SIZE_B, other_rank, other);
    for (size_t i = 0; known == 1 && i < n; i++) {
        if (rank[i] != other_rank[i] || rank[i] > TENSOR_DIMS_MAX)
            return 0;
        for (size_t d = i * TENSOR_DIMS_MAX; d < i * TENSOR_DIMS_MAX + rank[i]; d++)
            dims[d] = dims[d] == other[d] ? dims[d] : -1;
    }
    return known;
}

/* Their names are those of model/format, as manifests have them: MXNet gives two outputs of a node
 * the same one. */
static int mx_read_outputs(struct mx_model *m, const json_t *said, struct err *err)
{
    AUTO_SIGNATURE names = { 0 };
    AUTO_FREE int *types = NULL;
    AUTO_FREE uint32_t *rank = NULL;
    AUTO_FREE int64_t *dims = NULL;
    int known, r = disk_facts_slots(said, &names.outputs, err);
    size_t n = names.outputs.n;

    if (r == 0)
        r = mx_output_types(m, n, &types, err);
    if (r < 0)
        return r;
    rank = calloc(n + 1, sizeof(*rank));
    dims = calloc(n * TENSOR_DIMS_MAX + 1, sizeof(*dims));
    known = rank && dims ? mx_compare_shapes(m, n, rank, dims) : -ENOMEM;
    if (known < 0)
        return err_oom(err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = signature_add(&m->signature.outputs, names.outputs.v[i].name, NULL,
                          mx_type_to_tensor(types[i]), known ? dims + i * TENSOR_DIMS_MAX : NULL,
                          rank[i], err);
    return r;
}

/* ---- a model ---- */

static void mx_unload(void *model)
{
    struct mx_model *m = model;

    if (!m)
        return;
    for (size_t i = 0; i < MX_EXECUTORS; i++)
        mx_executor_done(m->library, &m->executors[i]);
    for (size_t i = 0; m->weights && i < m->args.n; i++)
        if (m->weights[i])
            (void)m->library->api.array_free(m->weights[i]);
    for (size_t i = 0; m->auxs && i < m->aux.n; i++)
        if (m->auxs[i])
            (void)m->library->api.array_free(m->auxs[i]);
    if (m->symbol)
        (void)m->library->api.symbol_free(m->symbol);
    free(m->weights);
    free(m->auxs);
    free(m->input_args);
    strs_done(&m->args);
    strs_done(&m->aux);
    signature_done(&m->signature);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* The symbol and what may be its weights: "net-symbol.json", "net-0000.params", … */
static int mx_files(const char *dir, const char *symbol, struct strs *ret, struct err *err)
{
    size_t n = strlen(symbol) - (str_ends(symbol, SYMBOL_END) ? strlen(SYMBOL_END) : 0);
    AUTO_DIR DIR *d = opendir(dir);
    int r = strs_add(ret, symbol);
    struct dirent *e;

    if (!d)
        return err_sys(err, "open '%s'", dir);
    while (r == 0 && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, symbol, n) == 0 && str_ends(e->d_name, ".params") &&
            ret->n < PARAMS_MOST)
            r = strs_add(ret, e->d_name);
    strs_sort(ret);
    return r < 0 ? err_oom(err) : 0;
}

static int mx_read(struct mx_model *m, const struct backend_load *o, struct err *err)
{
    AUTO_FREE char *dir = path_dir(o->path);
    AUTO_FREE char *symbol = path_base(o->path);
    AUTO_FREE char *params = NULL;
    AUTO_FORMAT_FACTS facts = { 0 };
    AUTO_STRS files = { 0 };
    const json_t *said;
    int r = dir && symbol ? mx_files(dir, symbol, &files, err) : err_oom(err);

    if (r == 0)
        r = disk_facts_read(dir, &files, &facts, err);
    if (r < 0)
        return r;
    said = json_object_get(facts.signatures, SIGNATURE_DEFAULT);
    params = path_join(dir, json_string_value(json_object_get(facts.framework, "params")));
    if (!params)
        return err_oom(err);
    if (m->library->api.symbol_load(o->path, &m->symbol) != 0)
        r = mx_failed(m->library, -EINVAL, "MXNet cannot load it", err);
    if (r == 0)
        r = mx_names(m, m->library->api.symbol_args, &m->args, err);
    if (r == 0)
        r = mx_names(m, m->library->api.symbol_aux, &m->aux, err);
    if (r == 0)
        r = mx_read_weights(m, params, err);
    if (r == 0)
        r = mx_read_inputs(m, said, o->shapes, err);
    return r < 0 ? r : mx_read_outputs(m, json_object_get(said, "outputs"), err);
}

static int mx_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    struct mx_model *m;
    int r;

    if (!str_eq(o->device, "cpu"))
        return err_set(err, -EOPNOTSUPP, "MXNet models are served on the cpu, not on '%s'",
                       o->device);
    m = calloc(1, sizeof(*m));
    if (!m)
        return err_oom(err);
    m->library = library;
    pthread_mutex_init(&m->lock, NULL);
    r = mx_read(m, o, err);
    if (r < 0) {
        mx_unload(m);
        return err_wrap(err, r, "'%s'", o->path);
    }
    *ret = m;
    return 0;
}

static int mx_signature(void *model, struct signature *ret, struct err *err)
{
    const struct mx_model *m = model;

    return signature_copy(&m->signature, ret, err);
}

static bool mx_begins(const uint8_t *p, size_t n)
{
    return memmem(p, n, "\"nodes\"", 7) != NULL;
}

static const char *const mx_model_files[] = { "*" SYMBOL_END, NULL };

const struct backend_ops backend_mxnet = {
    .name = "mxnet",
    .platform = "mxnet_symbol",
    .format = "mxnet",
    .files = mx_model_files,
    .says = "MXNet (NAME" SYMBOL_END ")",
    .package = "mxnet",
    .shapes = true,
    .begins = mx_begins,
    .open = mx_open,
    .load = mx_load,
    .signature = mx_signature,
    .run = mx_run,
    .unload = mx_unload,
};
