/* tensorflow_backend.c - TensorFlow's SavedModels by its C library, the one that the Python package
 * brings: opening it, loading a model, and its signatures. Runs are in tensorflow_run.c.
 *
 *     saved_model.pb ──model/format──► signatures: x is "serving_default_x:0"
 *     directory ──TF_LoadSessionFromSavedModel, tag "serve"──► session, graph
 *     "serving_default_x:0" ──graph──► operation and output
 *
 * A signature that cannot be served (its tensors are sparse, or complex numbers) is left out as
 * long as there is another. */
#include "base/array.h"
#include "base/dl.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "serve/backend/disk_facts.h"
#include "serve/backend/tensorflow_private.h"

#include <string.h>
#include <sys/stat.h>

#define MODEL_FILE "saved_model.pb"
#define OUTPUT_MAX 100000 /* of an operation */

/* ---- the library ---- */

static int tf_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    AUTO_FREE struct tf_library *l = calloc(1, sizeof(*l));
    struct tf_api *a = l ? &l->api : NULL;
    void *handle = NULL;
    int r;

    if (!l)
        return err_oom(err);
    const struct dl_symbol symbols[] = {
        { "TF_Version", (void **)&a->version },
        { "TF_NewStatus", (void **)&a->new_status },
        { "TF_DeleteStatus", (void **)&a->delete_status },
        { "TF_GetCode", (void **)&a->get_code },
        { "TF_Message", (void **)&a->message },
        { "TF_NewSessionOptions", (void **)&a->new_options },
        { "TF_DeleteSessionOptions", (void **)&a->delete_options },
        { "TF_SetConfig", (void **)&a->set_config },
        { "TF_NewGraph", (void **)&a->new_graph },
        { "TF_DeleteGraph", (void **)&a->delete_graph },
        { "TF_LoadSessionFromSavedModel", (void **)&a->load },
        { "TF_GraphOperationByName", (void **)&a->operation },
        { "TF_OperationNumOutputs", (void **)&a->operation_outputs },
        { "TF_GraphNextOperation", (void **)&a->next_operation },
        { "TF_OperationOpType", (void **)&a->operation_type },
        { "TF_SessionRun", (void **)&a->run },
        { "TF_CloseSession", (void **)&a->close_session },
        { "TF_DeleteSession", (void **)&a->delete_session },
        { "TF_NewTensor", (void **)&a->new_tensor },
        { "TF_DeleteTensor", (void **)&a->delete_tensor },
        { "TF_TensorType", (void **)&a->tensor_type },
        { "TF_NumDims", (void **)&a->tensor_rank },
        { "TF_Dim", (void **)&a->tensor_dim },
        { "TF_TensorByteSize", (void **)&a->tensor_size },
        { "TF_TensorData", (void **)&a->tensor_data },
        { "TF_StringInit", (void **)&a->string_init },
        { "TF_StringCopy", (void **)&a->string_copy },
        { "TF_StringGetDataPointer", (void **)&a->string_data },
        { "TF_StringGetSize", (void **)&a->string_size },
        { "TF_StringDealloc", (void **)&a->string_done },
    };
    r = dl_load(path, symbols, COUNT_OF(symbols), &handle, err);
    if (r < 0)
        return err_wrap(err, r, "load TensorFlow");
    *ret_version = l->version = a->version();
    *ret = take(l);
    return 0;
}

/* ---- the session ---- */

/* ConfigProto { device_count 1 { key 1, value 2 }, intra_op_parallelism_threads 2,
 *               inter_op_parallelism_threads 5 }
 * An operation's caller computes too, but waits for the session: so the pools may have as many
 * threads as there are to compute.
 *
 * `no_gpu` is field 1, 7 bytes: a key of 3 bytes, "GPU", and the value 0. Without it TensorFlow
 * would take the memory of all GPUs that it sees. */
static int tf_config(const struct backend_load *o, struct buf *ret, struct err *err)
{
    static const uint8_t no_gpu[] = { 0x0a, 7, 0x0a, 3, 'G', 'P', 'U', 0x10, 0 };
    unsigned threads = o->threads + (o->runs ? o->runs : 1) - 1;
    int r = buf_add(ret, no_gpu, sizeof(no_gpu));

    if (r == 0)
        r = buf_add_u8(ret, 2 << 3);
    if (r == 0)
        r = buf_add_varint(ret, threads);
    if (r == 0)
        r = buf_add_u8(ret, 5 << 3);
    if (r == 0)
        r = buf_add_varint(ret, threads);
    return r < 0 ? err_oom(err) : 0;
}

static int tf_start(struct tf_model *m, const char *dir, const struct backend_load *o, void *status,
                    struct err *err)
{
    static const char *const tags[] = { "serve" };
    const struct tf_api *api = &m->library->api;
    AUTO_BUF config = { .max = 256 };
    void *options = api->new_options();
    int r = tf_config(o, &config, err);

    m->graph = api->new_graph();
    if (r == 0) {
        api->set_config(options, config.data, config.len, status);
        r = tf_check(api, status, "set options", err);
    }
    if (r == 0) {
        m->session = api->load(options, NULL, dir, tags, 1, m->graph, NULL, status);
        r = tf_check(api, status, "TensorFlow cannot load it", err);
        if (r < 0) {
            (void)err_wrap(err, r, "'%s'", dir);
            err_hint(err,
                     "the library is TensorFlow %s; check the directory, and the version that "
                     "saved it",
                     m->library->version);
            r = -EINVAL;
        }
    }
    api->delete_options(options);
    return r;
}

static bool tf_has_variables(const struct tf_model *m)
{
    static const char *const types[] = { "VarHandleOp", "VariableV2", "Variable" };
    const struct tf_api *api = &m->library->api;
    size_t at = 0;
    void *operation;

    while ((operation = api->next_operation(m->graph, &at)))
        for (size_t i = 0; i < COUNT_OF(types); i++)
            if (str_eq(api->operation_type(operation), types[i]))
                return true;
    return false;
}

/* TensorFlow loads a model without its variables as if all was well, and fails at the first
 * request that reads one. */
static int tf_check_variables(const struct tf_model *m, const char *dir, struct err *err)
{
    AUTO_FREE char *index = path_join(dir, "variables/variables.index");

    if (!index)
        return err_oom(err);
    if (access(index, F_OK) == 0 || !tf_has_variables(m))
        return 0;
    (void)err_set(err, -EINVAL, "its graph has variables, and '%s' is missing", index);
    err_hint(err, "a SavedModel is a directory: copy variables/ too");
    return -EINVAL;
}

/* ---- signatures ---- */

/* "serving_default_x:0" */
static int tf_place(const struct tf_model *m, const struct signature_slot *s, struct tf_output *ret,
                    struct err *err)
{
    AUTO_FREE char *name = s->internal_name ? strdup(s->internal_name) : NULL;
    char *colon = name ? strrchr(name, ':') : NULL;
    int64_t at = 0;

    if (!s->internal_name) /* a tensor of parts: sparse, or an object */
        return err_set(err, -EOPNOTSUPP, "'%s' is not one dense tensor", s->name);
    if (!name)
        return err_oom(err);
    if (colon && str_to_i64(colon + 1, 0, OUTPUT_MAX, &at) == 0)
        *colon = '\0';
    ret->operation = m->library->api.operation(m->graph, name);
    ret->at = (int)at;
    if (!ret->operation || ret->at >= m->library->api.operation_outputs(ret->operation))
        return err_set(err, -EINVAL, "'%s' is '%s', which is not in the graph", s->name,
                       s->internal_name);
    return 0;
}

static int tf_places(const struct tf_model *m, const struct signature_slots *slots,
                     struct tf_output **ret, struct err *err)
{
    struct tf_output *v = calloc(slots->n + 1, sizeof(*v));
    int r = v ? 0 : err_oom(err);

    *ret = v;
    for (size_t i = 0; i < slots->n && r == 0; i++)
        r = tf_place(m, &slots->v[i], &v[i], err);
    return r;
}

static void tf_way_done(struct tf_way *w)
{
    signature_done(&w->signature);
    free(w->in);
    free(w->out);
}

static int tf_add_way(struct tf_model *m, const char *name, const json_t *v, struct err *err)
{
    struct tf_way w = { .model = m };
    int r = disk_facts_signature(name, v, &w.signature, err);

    if (r == 0)
        r = tf_places(m, &w.signature.inputs, &w.in, err);
    if (r == 0)
        r = tf_places(m, &w.signature.outputs, &w.out, err);
    if (r == 0 && ARRAY_ADD(m->ways, m->n, w) < 0)
        r = err_oom(err);
    if (r < 0) {
        tf_way_done(&w);
        (void)err_wrap(err, r, "signature '%s'", name);
    }
    return r;
}

/* The default one first, the others by name: a file has them in any order. */
static int tf_by_name(const void *a, const void *b)
{
    const char *x = ((const struct tf_way *)a)->signature.name;
    const char *y = ((const struct tf_way *)b)->signature.name;
    bool first = strcmp(x, SIGNATURE_DEFAULT) == 0, second = strcmp(y, SIGNATURE_DEFAULT) == 0;

    return first != second ? (first ? -1 : 1) : strcmp(x, y);
}

/* If none can be served, the reason of the default one is told, or that of the first. */
static int tf_add_ways(struct tf_model *m, json_t *signatures, struct err *err)
{
    struct err bad = ERR_INIT;
    const char *name;
    json_t *v;

    json_object_foreach(signatures, name, v)
    {
        struct err one = ERR_INIT;
        int r = tf_add_way(m, name, v, &one);

        if (r == -ENOMEM)
            return err_oom(err);
        if (r < 0 && (!bad.code || strcmp(name, SIGNATURE_DEFAULT) == 0))
            bad = one;
        if (r < 0 && m->n > 0)
            log_warn(LOG_MAIN, "%s, ignoring", one.text);
    }
    if (m->n > 0) {
        qsort(m->ways, m->n, sizeof(m->ways[0]), tf_by_name);
        return 0;
    }
    if (bad.code && err)
        *err = bad;
    return bad.code ? bad.code
                    : err_set(err, -EINVAL, "it has no signature: save it with signatures=…");
}

/* ---- a model ---- */

static void tf_unload(void *model)
{
    struct tf_model *m = model;
    const struct tf_api *api = m ? &m->library->api : NULL;
    void *status = m ? api->new_status() : NULL;

    if (!m)
        return;
    if (m->session && status) {
        api->close_session(m->session, status);
        api->delete_session(m->session, status);
    }
    if (m->graph)
        api->delete_graph(m->graph);
    if (status)
        api->delete_status(status);
    for (size_t i = 0; i < m->n; i++)
        tf_way_done(&m->ways[i]);
    free(m->ways);
    free(m);
}

/* The directory of a model that is named by its file. */
static char *tf_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? strdup(path) : path_dir(path);
}

static int tf_read(struct tf_model *m, const struct backend_load *o, void *status, struct err *err)
{
    char *const names[] = { (char *)MODEL_FILE };
    const struct strs files = { .v = (char **)names, .n = 1 };
    AUTO_FREE char *dir = tf_dir(o->path);
    AUTO_FORMAT_FACTS facts = { 0 };
    int r = dir ? disk_facts_read(dir, &files, &facts, err) : err_oom(err);

    if (r < 0)
        return err_wrap(err, r, "'%s'", o->path);
    r = tf_start(m, dir, o, status, err);
    if (r < 0)
        return r;
    r = tf_check_variables(m, dir, err);
    if (r == 0)
        r = tf_add_ways(m, facts.signatures, err);
    return r < 0 ? err_wrap(err, r, "'%s'", dir) : 0;
}

static int tf_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    struct tf_model *m;
    void *status;
    int r;

    if (!str_eq(o->device, "cpu"))
        return err_set(err, -EOPNOTSUPP, "SavedModels are served on the cpu, not on '%s'",
                       o->device);
    m = calloc(1, sizeof(*m));
    if (!m)
        return err_oom(err);
    m->library = library;
    status = m->library->api.new_status();
    r = status ? tf_read(m, o, status, err) : err_oom(err);
    if (status)
        m->library->api.delete_status(status);
    if (r < 0) {
        tf_unload(m);
        return r;
    }
    *ret = m;
    return 0;
}

static void *tf_handle(void *model, size_t i)
{
    struct tf_model *m = model;

    return i < m->n ? &m->ways[i] : NULL;
}

static int tf_signature(void *way, struct signature *ret, struct err *err)
{
    const struct tf_way *w = way;

    return signature_copy(&w->signature, ret, err);
}

static const char *const tf_files[] = { MODEL_FILE, NULL };

const struct backend_ops backend_tensorflow = {
    .name = "tensorflow",
    .platform = "tensorflow_savedmodel",
    .format = "tensorflow",
    .files = tf_files,
    .says = "TensorFlow (" MODEL_FILE ")",
    .package = "tensorflow-cpu",
    .records = "assets.extra/tf_serving_warmup_requests",
    .directory = true,
    .open = tf_open,
    .load = tf_load,
    .handle = tf_handle,
    .signature = tf_signature,
    .run = tf_run,
    .unload = tf_unload,
};
