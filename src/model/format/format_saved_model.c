/* format_saved_model.c - TensorFlow's SavedModel: a directory with saved_model.pb and variables.
 *
 *     SavedModel { schema 1, meta_graph 2 { meta_info 1 { tags 4, tensorflow_version 5 },
 *                                           signature_def 5 { key 1, value 2 } } }
 *     SignatureDef { inputs 1 { key 1, value 2 }, outputs 2 { … }, method_name 3 }
 *     TensorInfo { name 1, dtype 2, tensor_shape 3 { dim 2 { size 1 }, unknown_rank 3 } }
 *
 * The graph that carries the tag "serve" counts, else the first. */
#include "model/format/format_pb.h"

#include <string.h>

#define FILE_NAME "saved_model.pb"
#define TEXT_MOST 1024
#define SIGNATURES_MOST 1024
#define TENSORS_MOST 4096
#define DIMS_MOST 64

/* By DataType of types.proto. */
static const char *saved_model_type(uint64_t t)
{
    static const char *const names[] = {
        [1] = "FP32",        [2] = "FP64",  [3] = "INT32",   [4] = "UINT8",
        [5] = "INT16",       [6] = "INT8",  [7] = "BYTES",   [9] = "INT64",
        [8] = "COMPLEX64",   [10] = "BOOL", [14] = "BF16",   [17] = "UINT16",
        [18] = "COMPLEX128", [19] = "FP16", [22] = "UINT32", [23] = "UINT64",
    };

    return t < COUNT_OF(names) && names[t] ? names[t] : "UNKNOWN";
}

/* ---- one tensor ---- */

static int64_t saved_model_dim(struct pb m)
{
    struct pb_field f;
    int64_t n = 0; /* as protobuf has it: a zero is not written */

    while (pb_next(&m, &f))
        if (pb_is(&f, 1, PB_VARINT))
            n = f.value <= INT64_MAX ? (int64_t)f.value : -1;
    return n;
}

static json_t *saved_model_shape(struct pb m)
{
    int64_t dims[DIMS_MOST];
    bool unknown = false;
    struct pb_field f;
    size_t n = 0;

    while (n < DIMS_MOST && pb_next(&m, &f)) {
        if (pb_is(&f, 2, PB_BYTES))
            dims[n++] = saved_model_dim(pb_in(&m, &f));
        else if (pb_is(&f, 3, PB_VARINT))
            unknown = f.value != 0;
    }
    return unknown ? NULL : format_shape(dims, n);
}

static int saved_model_tensor(struct pb m, const char *name, json_t *list, struct err *err)
{
    const char *type = "UNKNOWN";
    AUTO_FREE char *tensor = NULL;
    AUTO_JSON *shape = NULL;
    struct pb_field f;
    int r;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES) && !tensor) {
            tensor = pb_text(&m, &f, TEXT_MOST);
        } else if (pb_is(&f, 2, PB_VARINT)) {
            type = saved_model_type(f.value);
        } else if (pb_is(&f, 3, PB_BYTES)) {
            json_decref(shape);
            shape = saved_model_shape(pb_in(&m, &f));
        }
    }
    if (json_array_size(list) >= TENSORS_MOST)
        return 0;
    r = format_tensor(list, name, type, take(shape), err);
    if (r == 0 && tensor &&
        json_object_set_new(json_array_get(list, json_array_size(list) - 1), "tensor",
                            json_text(tensor)) < 0)
        r = err_oom(err);
    return r;
}

/* ---- maps, which are lists of {key, value} ---- */

typedef int saved_model_entry_fn(struct pb value, const char *key, json_t *to, struct err *err);

static int saved_model_entry(struct pb m, saved_model_entry_fn *fn, json_t *to, struct err *err)
{
    AUTO_FREE char *key = NULL;
    struct pb value = { .pages = m.pages };
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES) && !key)
            key = pb_text(&m, &f, TEXT_MOST);
        else if (pb_is(&f, 2, PB_BYTES))
            value = pb_in(&m, &f);
    }
    return key && !m.bad ? fn(value, key, to, err) : 0;
}

/* Of each map in an order that does not change from one save to the next: by name. */
static int saved_model_by_name(const void *a, const void *b)
{
    const char *x = json_string_value(json_object_get(*(json_t *const *)a, "name"));
    const char *y = json_string_value(json_object_get(*(json_t *const *)b, "name"));

    return strcmp(x ? x : "", y ? y : "");
}

static json_t *saved_model_sorted(const json_t *list)
{
    size_t n = json_array_size(list);
    AUTO_FREE json_t **v = calloc(n + 1, sizeof(json_t *));
    AUTO_JSON *sorted = json_array();

    for (size_t i = 0; v && i < n; i++)
        v[i] = json_array_get(list, i);
    if (v && n > 1)
        qsort(v, n, sizeof(json_t *), saved_model_by_name);
    for (size_t i = 0; v && sorted && i < n; i++)
        if (json_array_append(sorted, v[i]) < 0)
            return NULL;
    return v ? take(sorted) : NULL;
}

static int saved_model_signature(struct pb m, const char *key, json_t *all, struct err *err)
{
    AUTO_JSON *in = json_array();
    AUTO_JSON *out = json_array();
    AUTO_FREE char *method = NULL;
    json_t *one = NULL;
    struct pb_field f;
    int r = in && out ? 0 : err_oom(err);

    if (str_eq(key, "__saved_model_init_op") || json_object_size(all) >= SIGNATURES_MOST)
        return 0; /* no signature: how its tables are filled */
    while (r == 0 && pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES))
            r = saved_model_entry(pb_in(&m, &f), saved_model_tensor, in, err);
        else if (pb_is(&f, 2, PB_BYTES))
            r = saved_model_entry(pb_in(&m, &f), saved_model_tensor, out, err);
        else if (pb_is(&f, 3, PB_BYTES) && !method)
            method = pb_text(&m, &f, TEXT_MOST);
    }
    if (r == 0)
        r = json_make(&one, err, "{s:o, s:o, s:o}", "inputs", saved_model_sorted(in), "outputs",
                      saved_model_sorted(out), "method", json_text(method ? method : ""));
    if (r == 0) {
        json_t *name = json_text(key); /* not UTF-8, it could be no key */

        if (!name || json_object_set_new(all, json_string_value(name), one) < 0)
            r = err_oom(err);
        json_decref(name);
    }
    return r;
}

/* ---- graphs ---- */

struct meta_graph {
    bool serves;
    char *version;
};

static void saved_model_info(struct pb m, struct meta_graph *g)
{
    struct pb_field f;

    while (pb_next(&m, &f)) {
        if (pb_is(&f, 4, PB_BYTES)) {
            AUTO_FREE char *tag = pb_text(&m, &f, TEXT_MOST);

            g->serves |= str_eq(tag, "serve");
        } else if (pb_is(&f, 5, PB_BYTES) && !g->version) {
            g->version = pb_text(&m, &f, TEXT_MOST);
        }
    }
}

static int saved_model_graph(struct pb m, struct meta_graph *g, json_t *signatures, struct err *err)
{
    struct pb_field f;
    int r = 0;

    while (r == 0 && pb_next(&m, &f)) {
        if (pb_is(&f, 1, PB_BYTES))
            saved_model_info(pb_in(&m, &f), g);
        else if (pb_is(&f, 5, PB_BYTES))
            r = saved_model_entry(pb_in(&m, &f), saved_model_signature, signatures, err);
    }
    if (r == 0 && m.bad)
        r = -EINVAL;
    return r;
}

/* Walks all graphs; the last one that may count does.
 *
 * The map of signatures is in the file in any order: here they are an object, and tensors within
 * them are sorted, so that the same model gives the same manifest. */
static int saved_model_walk(struct pages *pages, struct format_facts *ret, struct err *err)
{
    struct pb m = pb_of(pages);
    struct pb_field f;
    bool serves = false, any = false;
    int r = 0;

    while (r == 0 && pb_next(&m, &f)) {
        struct meta_graph g = { 0 };
        AUTO_JSON *signatures = NULL;

        if (!pb_is(&f, 2, PB_BYTES))
            continue;
        signatures = json_object();
        r = signatures ? saved_model_graph(pb_in(&m, &f), &g, signatures, err) : err_oom(err);
        if (r == 0 && (!any || (g.serves && !serves))) {
            json_decref(ret->signatures);
            json_decref(ret->framework);
            ret->signatures = take(signatures);
            r = json_make(&ret->framework, err, "{s:s, s:o}", "name", "tensorflow", "version",
                          json_text(g.version));
        }
        any = true;
        serves |= g.serves;
        free(g.version);
    }
    return r < 0 ? r : m.bad || !any ? -EINVAL : 0;
}

int saved_model_look(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    size_t file = format_file_at(t, FILE_NAME);
    int r;

    if (file == t->n)
        return 0;
    {
        AUTO_PAGES pages = pages_of(t, file);

        r = saved_model_walk(&pages, ret, err);
        if (pages_failed(&pages, err) < 0)
            return pages.failed;
    }
    if (r == -EINVAL)
        return err_set(err, r, "'" FILE_NAME "' is damaged, or no SavedModel");
    if (r == 0)
        ret->entry = strdup("");
    return r < 0 ? r : ret->entry ? 1 : err_oom(err);
}
