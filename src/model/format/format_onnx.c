/* format_onnx.c - ONNX: a ModelProto in one file, with weights that may lie in files beside it.
 *
 *     ModelProto { ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8 }
 *     graph { node 1, initializer 5, input 11, output 12 }
 *     input { name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { value 1 } } } } }
 *     initializer { name 8, external_data 13 { key 1, value 2 }, data_location 14 }
 *
 * Inputs that are also initializers are weights with a name, and not asked of anybody. */
#include "model/format/format_pb.h"

#include <string.h>

#define NAME_MOST 1024
#define WEIGHTS_MOST 1000000
#define TENSORS_MOST 4096
#define DIMS_MOST 64

struct onnx {
    int64_t ir, opset;
    char *producer, *producer_version;
    struct pb graph;
    bool has_graph;
};

static void onnx_done(struct onnx *o)
{
    free(o->producer);
    free(o->producer_version);
}

/* By TensorProto.DataType. */
static const char *onnx_type(uint64_t t)
{
    static const char *const names[] = {
        "UNKNOWN", "FP32", "UINT8", "INT8",   "UINT16", "INT16",     "INT32",      "INT64", "BYTES",
        "BOOL",    "FP16", "FP64",  "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BF16",
    };

    return t < COUNT_OF(names) ? names[t] : "UNKNOWN";
}

/* ---- the outermost message ---- */

/* The version of the operators that have no domain. */
static void onnx_opset(struct onnx *o, struct pb m)
{
    struct pb_field f;
    int64_t version = 0;
    bool standard = true;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES)) {
            AUTO_FREE char *domain = pb_text(&m, &f, NAME_MOST);

            standard = domain && (!*domain || str_eq(domain, "ai.onnx"));
        } else if (pb_is(&f, 2, PB_VARINT)) {
            version = (int64_t)(f.value & INT64_MAX);
        }
    }
    if (!m.bad && standard)
        o->opset = version;
}

/* False when these bytes are no ModelProto.
 *
 * Any bytes can look like fields of protobuf. What is asked for is what every ModelProto has: a
 * version of the format, an operator set and a graph; and no field has a number above 100. */
static bool onnx_read(struct pages *p, struct onnx *o)
{
    struct pb m = pb_of(p);
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (f.number > 100)
            return false;
        if (pb_is(&f, 1, PB_VARINT))
            o->ir = (int64_t)(f.value & INT64_MAX);
        else if (pb_is(&f, 2, PB_BYTES) && !o->producer)
            o->producer = pb_text(&m, &f, NAME_MOST);
        else if (pb_is(&f, 3, PB_BYTES) && !o->producer_version)
            o->producer_version = pb_text(&m, &f, NAME_MOST);
        else if (pb_is(&f, 8, PB_BYTES))
            onnx_opset(o, pb_in(&m, &f));
        else if (pb_is(&f, 7, PB_BYTES)) {
            o->graph = pb_in(&m, &f);
            o->has_graph = true;
        }
    }
    return !m.bad && o->ir >= 1 && o->ir < 1000 && o->opset > 0 && o->has_graph;
}

/* ---- weights ---- */

/* Files of weights are looked for where ONNX Runtime looks for them. */
static int onnx_external(const struct format_tree *t, size_t file, const char *location,
                         struct err *err)
{
    if (format_file_at(t, location) < t->n)
        return 0;
    err_set(err, -EINVAL, "'%s' needs the file '%.100s' for its weights, which is not in the model",
            t->files[file].path, location);
    err_hint(err, "push the directory that holds both");
    return -EINVAL;
}

static int onnx_location(const struct format_tree *t, size_t file, struct pb m, struct err *err)
{
    AUTO_FREE char *key = NULL;
    AUTO_FREE char *value = NULL;
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES) && !key)
            key = pb_text(&m, &f, NAME_MOST);
        else if (pb_is(&f, 2, PB_BYTES) && !value)
            value = pb_text(&m, &f, NAME_MOST);
    }
    return key && value && str_eq(key, "location") ? onnx_external(t, file, value, err) : 0;
}

static int onnx_weight(const struct format_tree *t, size_t file, struct pb m, struct strs *names,
                       struct err *err)
{
    struct pb_field f;
    int r = 0;

    while (r == 0 && pb_next(&m, &f)) {
        if (pb_is(&f, 8, PB_BYTES)) {
            char *name = pb_text(&m, &f, NAME_MOST);

            if (name && names->n < WEIGHTS_MOST)
                r = strs_take(names, name) < 0 ? err_oom(err) : 0;
            else
                free(name);
        } else if (pb_is(&f, 13, PB_BYTES)) {
            r = onnx_location(t, file, pb_in(&m, &f), err);
        }
    }
    return r;
}

/* ---- inputs and outputs ---- */

static int64_t onnx_dim(struct pb m)
{
    struct pb_field f;
    int64_t n = -1;

    while (pb_next(&m, &f))
        if (pb_is(&f, 1, PB_VARINT))
            n = f.value > 0 && f.value <= INT64_MAX ? (int64_t)f.value : -1;
    return n;
}

static json_t *onnx_shape(struct pb m)
{
    int64_t dims[DIMS_MOST];
    struct pb_field f;
    size_t n = 0;

    while (n < DIMS_MOST && pb_next(&m, &f))
        if (pb_is(&f, 1, PB_BYTES))
            dims[n++] = onnx_dim(pb_in(&m, &f));
    return format_shape(dims, n);
}

/* *shape stays NULL when the graph does not say. */
static void onnx_tensor_type(struct pb m, const char **type, json_t **shape)
{
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_VARINT)) {
            *type = onnx_type(f.value);
        } else if (pb_is(&f, 2, PB_BYTES)) {
            json_decref(*shape);
            *shape = onnx_shape(pb_in(&m, &f));
        }
    }
}

static int onnx_value(struct pb m, const struct strs *weights, json_t *list, struct err *err)
{
    AUTO_FREE char *name = NULL;
    AUTO_JSON *shape = NULL;
    const char *type = "UNKNOWN";
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES) && !name) {
            name = pb_text(&m, &f, NAME_MOST);
        } else if (pb_is(&f, 2, PB_BYTES)) {
            struct pb types = pb_in(&m, &f);

            while (pb_next(&types, &f)) /* tensors; sequences and maps stay UNKNOWN */
                if (pb_is(&f, 1, PB_BYTES))
                    onnx_tensor_type(pb_in(&types, &f), &type, &shape);
        }
    }
    if (!name || m.bad || format_names_have(weights, name) || json_array_size(list) >= TENSORS_MOST)
        return 0;
    return format_tensor(list, name, type, take(shape), err);
}

/* Weights first: in the file they stand before the inputs, but nothing says so. */
static int onnx_graph(const struct format_tree *t, size_t file, struct pb graph, json_t *in,
                      json_t *out, struct err *err)
{
    AUTO_STRS weights = { 0 };
    struct pb m = graph;
    struct pb_field f;
    int r = 0;

    while (r == 0 && pb_next(&m, &f))
        if (pb_is(&f, 5, PB_BYTES))
            r = onnx_weight(t, file, pb_in(&m, &f), &weights, err);
    if (r == 0 && m.bad)
        r = pages_failed(m.pages, err) < 0
                ? m.pages->failed
                : err_set(err, -EINVAL, "'%s' is a damaged ONNX model", t->files[file].path);
    strs_sort(&weights);
    m = graph;
    while (r == 0 && pb_next(&m, &f)) {
        if (pb_is(&f, 11, PB_BYTES))
            r = onnx_value(pb_in(&m, &f), &weights, in, err);
        else if (pb_is(&f, 12, PB_BYTES))
            r = onnx_value(pb_in(&m, &f), &(struct strs){ 0 }, out, err);
    }
    return r;
}

static int onnx_facts(const struct onnx *o, struct format_facts *ret, struct err *err)
{
    return json_make(&ret->framework, err, "{s:s, s:I, s:I, s:o, s:o}", "name", "onnx", "opset",
                     (json_int_t)o->opset, "ir_version", (json_int_t)o->ir, "producer",
                     json_text(o->producer), "producer_version", json_text(o->producer_version));
}

int onnx_look(const struct format_tree *t, size_t file, struct format_facts *ret, struct err *err)
{
    AUTO_PAGES pages = pages_of(t, file);
    AUTO_JSON *in = NULL;
    AUTO_JSON *out = NULL;
    struct onnx o = { 0 };
    bool is = onnx_read(&pages, &o);
    int r = pages_failed(&pages, err);

    if (r == 0 && is) {
        in = json_array();
        out = json_array();
        r = in && out ? onnx_graph(t, file, o.graph, in, out, err) : err_oom(err);
        if (r == 0)
            r = onnx_facts(&o, ret, err);
        if (r == 0)
            r = format_signature(&ret->signatures, "serving_default", take(in), take(out), err);
    }
    onnx_done(&o);
    return r < 0 ? r : is;
}
