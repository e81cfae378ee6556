/* onnxruntime.c - ONNX models by ONNX Runtime's C library: opening it, loading a model, and what
 * the model takes and gives. Runs are in onnxruntime_run.c.
 *
 * Threads of a session wait by spinning unless told otherwise, which burns the processors of
 * everybody else in a container; so they are told. Outputs that are no tensors (the lists of maps
 * that classifiers of scikit-learn give beside their labels) are left out. */
#include "base/array.h"
#include "base/dl.h"
#include "base/str.h"
#include "serve/backend/onnxruntime_private.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 4096 /* of a message of the library */

static const struct {
    enum tensor_type tensor;
    int ort;
} types[] = {
    { TENSOR_BOOL, ORT_TYPE_BOOL },     { TENSOR_UINT8, ORT_TYPE_UINT8 },
    { TENSOR_UINT16, ORT_TYPE_UINT16 }, { TENSOR_UINT32, ORT_TYPE_UINT32 },
    { TENSOR_UINT64, ORT_TYPE_UINT64 }, { TENSOR_INT8, ORT_TYPE_INT8 },
    { TENSOR_INT16, ORT_TYPE_INT16 },   { TENSOR_INT32, ORT_TYPE_INT32 },
    { TENSOR_INT64, ORT_TYPE_INT64 },   { TENSOR_FP16, ORT_TYPE_FLOAT16 },
    { TENSOR_BF16, ORT_TYPE_BFLOAT16 }, { TENSOR_FP32, ORT_TYPE_FLOAT },
    { TENSOR_FP64, ORT_TYPE_DOUBLE },   { TENSOR_BYTES, ORT_TYPE_STRING },
};

enum tensor_type ort_type_to_tensor(int type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].ort == type)
            return types[i].tensor;
    return TENSOR_NONE;
}

int ort_type_of_tensor(enum tensor_type type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].tensor == type)
            return types[i].ort;
    return ORT_TYPE_NONE;
}

/* Where in its own source it happened, "/onnxruntime_src/…/x.cc:46 void f(int) ", is nothing to
 * whoever reads the rest. */
static void cut_source_place(char *text)
{
    char *place = strstr(text, "/onnxruntime_src/");
    char *end = place ? strchr(place, '(') : NULL;
    int depth = 0;

    while (end && *end) {
        depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
        end++;
        if (depth == 0)
            break;
    }
    if (end && *end == ' ')
        memmove(place, end, strlen(end) + 1);
}

/* Of "…templates of C++… CUDA failure 101: invalid device ordinal ; GPU=0 ; hostname=…" only what
 * CUDA said. */
static void cut_cuda_call(char *text)
{
    char *said = strstr(text, "CUDA failure ");
    char *end = said ? strstr(said, " ; ") : NULL;

    if (!said)
        return;
    if (end)
        *end = '\0';
    memmove(text, said, strlen(said) + 1);
}

/* Its texts may have several lines and end in one. */
static void one_line(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && strchr(" \n\r\t", text[n - 1]))
        text[--n] = '\0';
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\r' || *p == '\t')
            *p = ' ';
}

static int ort_errno(int code)
{
    switch (code) {
    case ORT_NOT_IMPLEMENTED:
    case ORT_EP_FAIL:
        return -EOPNOTSUPP;
    case ORT_INVALID_ARGUMENT:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH:
    case ORT_NO_MODEL:
        return -EINVAL;
    default:
        return -EIO;
    }
}

int ort_check(const struct ort_api *api, ort_status status, const char *what, struct err *err)
{
    char text[TEXT_MAX];
    int r;

    if (!status)
        return 0;
    r = ort_errno(api->get_code(status));
    (void)snprintf(text, sizeof(text), "%s", api->get_message(status));
    api->release_status(status);
    cut_cuda_call(text);
    cut_source_place(text);
    one_line(text);
    return err_set(err, r, "%s: %s", what, text);
}

/* ---- the library ---- */

static int ort_prepare(struct ort_library *l, struct err *err)
{
    const struct ort_api *api = l->api;
    int r =
        ort_check(api, api->create_env(ORT_LOG_ERROR, "ydl", &l->env), "start ONNX Runtime", err);

    if (r == 0)
        r = ort_check(api, api->default_allocator(&l->allocator), "start ONNX Runtime", err);
    if (r == 0)
        r = ort_check(api, api->create_cpu_memory(ORT_ARENA, ORT_MEMORY_DEFAULT, &l->memory),
                      "start ONNX Runtime", err);
    return r;
}

/* The table of functions that get_api() gives is only ever added to: who asks for an old version of
 * it gets all the functions of that version, from that library and every newer one. */
static int ort_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    const struct ort_base *(*get_base)(void) = NULL;
    const struct dl_symbol symbols[] = { { "OrtGetApiBase", (void **)&get_base } };
    AUTO_FREE struct ort_library *l = calloc(1, sizeof(*l));
    const struct ort_base *base;
    void *handle = NULL;
    int r;

    if (!l)
        return err_oom(err);
    r = dl_load(path, symbols, COUNT_OF(symbols), &handle, err);
    if (r < 0)
        return err_wrap(err, r, "load ONNX Runtime");
    base = get_base();
    l->version = base->version();
    l->api = base->get_api(ORT_API_VERSION);
    if (!l->api)
        return err_set(err, -EOPNOTSUPP, "'%s' is ONNX Runtime %s, which is too old: 1.6 or newer",
                       path, l->version);
    r = ort_prepare(l, err);
    if (r < 0)
        return r;
    *ret_version = l->version;
    *ret = take(l);
    return 0;
}

/* ---- a model ---- */

/* "cuda:1" → 1; negative: not a device of CUDA. */
static int cuda_device(const char *device)
{
    int64_t n = 0;

    if (str_eq(device, "cuda"))
        return 0;
    if (!str_starts(device, "cuda:") || str_to_i64(device + 5, 0, 1023, &n) < 0)
        return -EINVAL;
    return (int)n;
}

/* Was the library built with it? */
static int ort_check_cuda(const struct ort_library *l, struct err *err)
{
    char **names = NULL;
    bool there = false;
    int n = 0;
    int r = ort_check(l->api, l->api->providers(&names, &n), "ask for devices", err);

    if (r < 0)
        return r;
    for (int i = 0; i < n; i++)
        there |= str_eq(names[i], "CUDAExecutionProvider");
    (void)ort_check(l->api, l->api->release_providers(names, n), "ask for devices", NULL);
    return there ? 0
                 : err_set(err, -EOPNOTSUPP, "this library, ONNX Runtime %s, has no CUDA",
                           l->version);
}

/* Heuristic search for convolutions (an exhaustive one runs all that there are for each new shape),
 * memory without a limit of ONNX Runtime's, taken as it is needed and not by powers of two. */
static int ort_set_device(const struct ort_library *l, const char *device, void *options,
                          struct err *err)
{
    struct ort_cuda cuda = {
        .conv_search = 1, .memory_max = SIZE_MAX, .arena_extend = 1, .copy_in_default_stream = 1
    };
    int r;

    if (!device || str_eq(device, "cpu"))
        return 0;
    cuda.device = cuda_device(device);
    if (cuda.device < 0)
        return err_set(err, -EINVAL, "'%s' is not a device: cpu, cuda or cuda:N", device);
    r = ort_check_cuda(l, err);
    if (r == 0)
        r = ort_check(l->api, l->api->append_cuda(options, &cuda), "use CUDA", err);
    if (r == 0)
        return 0;
    err_hint(err,
             "CUDA needs the library of the Python package 'onnxruntime-gpu', with CUDA and cuDNN "
             "in LD_LIBRARY_PATH, and a GPU");
    return -EOPNOTSUPP;
}

static int ort_set_options(const struct ort_library *l, const struct backend_load *o, void *options,
                           struct err *err)
{
    const struct ort_api *api = l->api;
    int r = ort_check(api, api->set_optimization(options, ORT_OPTIMIZE_ALL), "set options", err);

    if (r == 0)
        r = ort_check(api, api->set_intra_threads(options, (int)o->threads), "set threads", err);
    if (r == 0)
        r = ort_check(api, api->set_inter_threads(options, 1), "set threads", err);
    if (r == 0)
        r = ort_check(api, api->add_config(options, "session.intra_op.allow_spinning", "0"),
                      "set options", err);
    return r < 0 ? r : ort_set_device(l, o->device, options, err);
}

/* What to look at when a model cannot be loaded. */
static void ort_hint(const struct ort_library *l, const char *device, struct err *err)
{
    if (cuda_device(device ? device : "cpu") >= 0)
        err_hint(err, "it was to run on '%s': nvidia-smi -L lists the devices of this machine",
                 device);
    else
        err_hint(err,
                 "the library is ONNX Runtime %s; check the file, and the opset that it "
                 "was exported with",
                 l->version);
}

/* By the path and not by its bytes: weights of large models lie in files beside it, which are
 * looked for from there. */
static int ort_create_session(const struct ort_library *l, const struct backend_load *o, void **ret,
                              struct err *err)
{
    void *options = NULL;
    int r = ort_check(l->api, l->api->create_options(&options), "set options", err);

    if (r < 0)
        return r;
    r = ort_set_options(l, o, options, err);
    if (r == 0) {
        r = ort_check(l->api, l->api->create_session(l->env, o->path, options, ret),
                      "ONNX Runtime cannot load it", err);
        if (r < 0) {
            (void)err_wrap(err, r, "'%s'", o->path);
            ort_hint(l, o->device, err);
        }
    }
    l->api->release_options(options);
    return r;
}

/* One input or output. Its type is looked at first: 1 when it is no tensor. */
static int add_slot(const struct ort_library *l, struct signature_slots *slots, const char *name,
                    const void *type, struct err *err)
{
    int64_t dims[TENSOR_DIMS_MAX] = { 0 };
    const void *info = NULL;
    int kind = 0, element = 0, r;
    size_t rank = 0;

    r = ort_check(l->api, l->api->type_kind(type, &kind), "read a type", err);
    if (r < 0 || kind != ORT_KIND_TENSOR)
        return r < 0 ? r : 1;
    r = ort_check(l->api, l->api->cast_to_tensor(type, &info), "read a type", err);
    if (r == 0)
        r = ort_check(l->api, l->api->element_type(info, &element), "read a type", err);
    if (r == 0)
        r = ort_check(l->api, l->api->rank(info, &rank), "read a shape", err);
    if (r < 0)
        return r;
    if (ort_type_to_tensor(element) == TENSOR_NONE)
        return err_set(err, -EOPNOTSUPP, "'%s' has an element type that cannot be served", name);
    if (rank > TENSOR_DIMS_MAX)
        return err_set(err, -EOPNOTSUPP, "'%s' has %zu dimensions, more than %d", name, rank,
                       TENSOR_DIMS_MAX);
    r = ort_check(l->api, l->api->dims(info, dims, rank), "read a shape", err);
    if (r < 0)
        return r;
    /* This interface tells a scalar and an unknown shape apart no better than this. */
    return signature_add(slots, name, NULL, ort_type_to_tensor(element), rank ? dims : NULL, rank,
                         err);
}

/* One side of a session. */
struct ort_side {
    const char *what;
    ort_status (*count)(const void *session, size_t *ret);
    ort_status (*type)(const void *session, size_t i, void **ret);
    ort_status (*name)(const void *session, size_t i, void *allocator, char **ret);
    bool may_miss; /* what is no tensor is left out */
};

static int ort_read_slot(const struct ort_model *m, const struct ort_side *side, size_t i,
                         struct signature_slots *slots, struct err *err)
{
    const struct ort_library *l = m->library;
    char *name = NULL;
    void *type = NULL;
    int r = ort_check(l->api, side->name(m->session, i, l->allocator, &name), "read a name", err);

    if (r < 0)
        return r;
    r = ort_check(l->api, side->type(m->session, i, &type), "read a type", err);
    if (r == 0) {
        r = add_slot(l, slots, name, type, err);
        l->api->release_type(type);
    }
    if (r > 0 && !side->may_miss)
        r = err_set(err, -EOPNOTSUPP, "the %s '%s' is no tensor", side->what, name);
    (void)ort_check(l->api, l->api->allocator_free(l->allocator, name), "free a name", NULL);
    return r < 0 ? r : 0;
}

static int ort_read_side(const struct ort_model *m, const struct ort_side *side,
                         struct signature_slots *slots, struct err *err)
{
    size_t n = 0;
    int r = ort_check(m->library->api, side->count(m->session, &n), "count its tensors", err);

    for (size_t i = 0; i < n && r == 0; i++)
        r = ort_read_slot(m, side, i, slots, err);
    if (r == 0 && slots->n == 0)
        r = err_set(err, -EOPNOTSUPP, "the model has no %s that is a tensor", side->what);
    return r;
}

static char **slot_names(const struct signature_slots *slots)
{
    char **names = calloc(slots->n + 1, sizeof(*names));

    for (size_t i = 0; names && i < slots->n; i++)
        names[i] = slots->v[i].name;
    return names;
}

static int ort_read_signature(struct ort_model *m, struct err *err)
{
    const struct ort_api *api = m->library->api;
    const struct ort_side in = { "input", api->input_count, api->input_type, api->input_name,
                                 false };
    const struct ort_side out = { "output", api->output_count, api->output_type, api->output_name,
                                  true };
    int r = ort_read_side(m, &in, &m->signature.inputs, err);

    if (r == 0)
        r = ort_read_side(m, &out, &m->signature.outputs, err);
    if (r < 0)
        return r;
    m->in_names = slot_names(&m->signature.inputs);
    m->out_names = slot_names(&m->signature.outputs);
    return m->in_names && m->out_names ? 0 : err_oom(err);
}

static void ort_unload(void *model)
{
    struct ort_model *m = model;

    if (!m)
        return;
    if (m->session)
        m->library->api->release_session(m->session);
    signature_done(&m->signature);
    free(m->in_names);
    free(m->out_names);
    free(m);
}

static int ort_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    struct ort_model *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return err_oom(err);
    m->library = library;
    r = ort_create_session(library, o, &m->session, err);
    if (r == 0)
        r = ort_read_signature(m, err);
    if (r < 0) {
        ort_unload(m);
        return r;
    }
    *ret = m;
    return 0;
}

static int ort_signature(void *model, struct signature *ret, struct err *err)
{
    const struct ort_model *m = model;

    return signature_copy(&m->signature, ret, err);
}

static const char *const ort_files[] = { "model.onnx", NULL };

const struct backend_ops backend_onnxruntime = {
    .name = "onnxruntime",
    .platform = "onnx_onnxv1",
    .format = "onnx",
    .files = ort_files,
    .says = "ONNX (model.onnx)",
    .package = "onnxruntime",
    .computes = true,
    .open = ort_open,
    .load = ort_load,
    .signature = ort_signature,
    .run = ort_run,
    .unload = ort_unload,
};
