/* format_mxnet.c - MXNet: NAME-symbol.json, the graph, beside NAME-0000.params, the weights.
 *
 * Inputs are the variables of the graph that have no weights; one that ends in "_label" is for
 * training only. The names of the weights stand at the end of the params file, behind the arrays:
 *
 *     u64 0x112, u64 0, u64 n, n arrays, u64 n, n times (u64 length, name)          little endian
 *     array: u32 magic, i32 storage, u32 ndim, i64 × ndim, i32 device, i32 number, i32 type, bytes
 */
#include "model/format/format_pages.h"

#include <string.h>

#define SYMBOL_END "-symbol.json"
#define PARAMS_END ".params"
#define SYMBOL_MOST (16 * MIB)
#define LIST_MAGIC 0x112U
#define ARRAY_V2 0xF993FAC9U
#define ARRAY_V3 0xF993FACAU /* with numpy's shapes: zero dimensions are a scalar */
#define NAME_MOST 4096
#define WEIGHTS_MOST 1000000
#define DIMS_MOST 64

/* ---- params ---- */

struct mxnet_at {
    struct pages *pages;
    uint64_t at;
    bool bad;
};

static uint64_t mxnet_number(struct mxnet_at *a, size_t bytes)
{
    const uint8_t *p = a->bad ? NULL : pages_get(a->pages, a->at, bytes);
    uint64_t v = 0;

    a->bad = !p || !pages_step(a->pages);
    for (size_t i = bytes; !a->bad && i > 0; i--)
        v = v << 8 | p[i - 1];
    a->at += a->bad ? 0 : bytes;
    return v;
}

static void mxnet_skip(struct mxnet_at *a, uint64_t n)
{
    a->bad |= n > a->pages->size - a->at;
    a->at += a->bad ? 0 : n;
}

/* Bytes of an element, by mshadow's number of its type. */
static uint64_t mxnet_width(uint64_t type)
{
    static const uint8_t widths[] = { 4, 8, 2, 1, 4, 1, 8, 1, 2, 2, 4, 8, 2 };

    return type < COUNT_OF(widths) ? widths[type] : 0;
}

/* Nothing says how long an array is but its own shape and type: all of them have to be walked to
 * get to the names behind. Sparse storage has further arrays within, and is refused. */
static void mxnet_skip_array(struct mxnet_at *a)
{
    uint64_t magic = mxnet_number(a, 4), storage, dims, bytes, type;

    if (magic != ARRAY_V2 && magic != ARRAY_V3) { /* older ones are not written since 1.0 */
        a->bad = true;
        return;
    }
    storage = mxnet_number(a, 4);
    dims = mxnet_number(a, 4);
    if (storage != 0 || dims > DIMS_MOST) {
        a->bad = true;
        return;
    }
    bytes = 1;
    for (uint64_t i = 0; i < dims && !a->bad; i++)
        a->bad |= __builtin_mul_overflow(bytes, mxnet_number(a, 8), &bytes);
    if (dims == 0 && magic == ARRAY_V2)
        return; /* an array that was never filled ends here */
    mxnet_number(a, 8);
    type = mxnet_number(a, 4);
    a->bad |= !mxnet_width(type) || __builtin_mul_overflow(bytes, mxnet_width(type), &bytes);
    if (!a->bad)
        mxnet_skip(a, bytes);
}

static int mxnet_take_name(struct mxnet_at *a, struct strs *names, struct err *err)
{
    uint64_t n = mxnet_number(a, 8);
    const uint8_t *p = a->bad || n > NAME_MOST ? NULL : pages_get(a->pages, a->at, (size_t)n);
    const uint8_t *colon;
    size_t skip;

    if (!p) {
        a->bad = true;
        return 0;
    }
    mxnet_skip(a, n);
    if (names->n == WEIGHTS_MOST) {
        a->bad = true;
        return 0;
    }
    colon = memchr(p, ':', (size_t)n);
    skip = colon ? (size_t)(colon - p) + 1 : 0;
    return strs_addn(names, (const char *)p + skip, (size_t)n - skip) < 0 ? err_oom(err) : 0;
}

/* "fc1_weight" of "arg:fc1_weight" …, sorted. 1, or 0 when these bytes are no list of arrays. */
static int mxnet_names(const struct format_tree *t, size_t file, struct strs *names,
                       struct err *err)
{
    AUTO_PAGES pages = pages_of(t, file);
    struct mxnet_at a = { .pages = &pages };
    uint64_t n;
    int r = 0;

    a.bad = mxnet_number(&a, 8) != LIST_MAGIC;
    mxnet_number(&a, 8);
    n = mxnet_number(&a, 8);
    for (uint64_t i = 0; i < n && !a.bad; i++)
        mxnet_skip_array(&a);
    n = mxnet_number(&a, 8);
    for (uint64_t i = 0; i < n && !a.bad && r == 0; i++)
        r = mxnet_take_name(&a, names, err);
    strs_sort(names);
    if (r == 0)
        r = pages_failed(&pages, err);
    return r < 0 ? r : !a.bad;
}

/* ---- symbol ---- */

/* By mshadow's numbers. Of an input that does not say it, and of one that says what we do not know:
 * FP32, which all that it computes with is by default. */
static const char *mxnet_type(const json_t *attrs)
{
    static const char *const names[] = { "FP32",   "FP64",   "FP16", "UINT8", "INT32",
                                         "INT8",   "INT64",  "BOOL", "INT16", "UINT16",
                                         "UINT32", "UINT64", "BF16" };
    const char *text = json_string_value(json_object_get(attrs, "__dtype__"));
    int64_t type = 0;

    return text && str_to_i64(text, 0, COUNT_OF(names) - 1, &type) == 0 ? names[type] : "FP32";
}

/* "(0, 784)": of any size is what is 0 or negative. NULL: not known. */
static json_t *mxnet_shape(const json_t *attrs)
{
    const char *text = json_string_value(json_object_get(attrs, "__shape__"));
    AUTO_STRS parts = { 0 };
    int64_t dims[DIMS_MOST];

    if (!text || strs_split(&parts, text, "(),[] ") < 0 || parts.n == 0 || parts.n > DIMS_MOST)
        return NULL;
    for (size_t i = 0; i < parts.n; i++) {
        if (str_to_i64(parts.v[i], -1, INT32_MAX, &dims[i]) < 0)
            return NULL;
        dims[i] = dims[i] > 0 ? dims[i] : -1;
    }
    return format_shape(dims, parts.n);
}

static int mxnet_inputs(const json_t *nodes, const struct strs *names, json_t *list,
                        struct err *err)
{
    const json_t *node;
    size_t i;
    int r = 0;

    json_array_foreach(nodes, i, node)
    {
        const char *op = json_string_value(json_object_get(node, "op"));
        const char *name = json_string_value(json_object_get(node, "name"));
        const json_t *attrs = json_object_get(node, "attrs");

        if (r == 0 && op && name && str_eq(op, "null") && !str_ends(name, "_label") &&
            !format_names_have(names, name))
            r = format_tensor(list, name, mxnet_type(attrs), mxnet_shape(attrs), err);
    }
    return r;
}

/* "fc_output", or "split_output1" of a node that is seen to have several; a variable is itself. */
static char *mxnet_output_name(const json_t *node, bool several, json_int_t at)
{
    const char *name = json_string_value(json_object_get(node, "name"));
    const char *op = json_string_value(json_object_get(node, "op"));

    if (!name || (op && str_eq(op, "null")))
        return name ? strdup(name) : NULL;
    return several ? str_printf("%s_output%lld", name, (long long)at)
                   : str_printf("%s_output", name);
}

/* Each head is [node, output, version]. */
static int mxnet_outputs(const json_t *nodes, const json_t *heads, json_t *list, struct err *err)
{
    size_t n = json_array_size(nodes), i;
    AUTO_FREE bool *several = calloc(n + 1, sizeof(bool));
    const json_t *head;
    int r = several ? 0 : err_oom(err);

    json_array_foreach(heads, i, head)
    {
        json_int_t at = json_integer_value(json_array_get(head, 0));

        if (r == 0 && at >= 0 && (size_t)at < n)
            several[at] |= json_integer_value(json_array_get(head, 1)) > 0;
    }

    json_array_foreach(heads, i, head)
    {
        json_int_t at = json_integer_value(json_array_get(head, 0));
        const json_t *node = at >= 0 ? json_array_get(nodes, (size_t)at) : NULL;
        AUTO_FREE char *text =
            r == 0 && node
                ? mxnet_output_name(node, several[at], json_integer_value(json_array_get(head, 1)))
                : NULL;

        if (r == 0 && text)
            r = format_tensor(list, text, "FP32", NULL, err);
    }
    return r;
}

/* {"attrs": {"mxnet_version": ["int", 10901]}} */
static char *mxnet_version(const json_t *symbol)
{
    json_int_t v = json_integer_value(
        json_array_get(json_object_get(json_object_get(symbol, "attrs"), "mxnet_version"), 1));

    if (v <= 0 || v > 1000000)
        return NULL;
    return str_printf("%d.%d.%d", (int)(v / 10000), (int)(v / 100 % 100), (int)(v % 100));
}

static int mxnet_facts(const json_t *symbol, const struct strs *names, struct format_facts *ret,
                       struct err *err)
{
    const json_t *nodes = json_object_get(symbol, "nodes");
    AUTO_FREE char *version = mxnet_version(symbol);
    AUTO_JSON *in = json_array();
    AUTO_JSON *out = json_array();
    int r = in && out ? mxnet_inputs(nodes, names, in, err) : err_oom(err);

    if (r == 0)
        r = mxnet_outputs(nodes, json_object_get(symbol, "heads"), out, err);
    if (r == 0)
        r = json_make(&ret->framework, err, "{s:s, s:o}", "name", "mxnet", "version",
                      json_text(version));
    if (r == 0)
        r = format_signature(&ret->signatures, "serving_default", take(in), take(out), err);
    return r;
}

/* ---- which files ---- */

static int mxnet_symbol(const struct format_tree *t, size_t file, json_t **ret, struct err *err)
{
    int r = str_ends(t->files[file].path, SYMBOL_END) && !strchr(t->files[file].path, '/')
                ? format_json(t, file, SYMBOL_MOST, ret, err)
                : 0;

    if (r <= 0)
        return r;
    return json_is_array(json_object_get(*ret, "nodes")) &&
           json_is_array(json_object_get(*ret, "heads"));
}

/* The weights of "net-symbol.json": the last "net-NNNN.params" by name. t->n: none.
 *
 * "net-0010.params" is behind "net-0003.params", so the last checkpoint of a training counts. */
static size_t mxnet_params(const struct format_tree *t, size_t symbol)
{
    const char *path = t->files[symbol].path;
    size_t n = strlen(path) - strlen(SYMBOL_END), found = t->n;

    for (size_t i = 0; i < t->n; i++) {
        const char *one = t->files[i].path;

        if (strncmp(one, path, n) == 0 && (one[n] == '-' || one[n] == '.') && !strchr(one, '/') &&
            str_ends(one, PARAMS_END))
            found = i;
    }
    return found;
}

static int mxnet_with(const struct format_tree *t, size_t symbol, const json_t *v,
                      struct format_facts *ret, struct err *err)
{
    size_t params = mxnet_params(t, symbol);
    AUTO_STRS names = { 0 };
    int r;

    if (params == t->n) {
        err_set(err, -EINVAL, "'%.100s' has no weights beside it", t->files[symbol].path);
        err_hint(err, "push a directory with NAME-symbol.json and NAME-0000.params");
        return -EINVAL;
    }
    r = mxnet_names(t, params, &names, err);
    if (r == 0)
        return err_set(err, -EINVAL, "'%.100s' is damaged, or no file of MXNet's",
                       t->files[params].path);
    if (r > 0)
        r = mxnet_facts(v, &names, ret, err);
    if (r == 0 &&
        json_object_set_new(ret->framework, "params", json_text(t->files[params].path)) < 0)
        r = err_oom(err);
    if (r == 0 && !(ret->entry = strdup(t->files[symbol].path)))
        r = err_oom(err);
    return r < 0 ? r : 1;
}

int mxnet_look(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    size_t symbol = t->n;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < t->n; i++) {
        AUTO_JSON *one = NULL;

        r = mxnet_symbol(t, i, &one, err);
        if (r <= 0)
            continue;
        if (v) {
            err_set(err, -EINVAL, "it holds two models: '%.100s' and '%.100s'",
                    t->files[symbol].path, t->files[i].path);
            err_hint(err, "push a directory that holds the files of one");
            return -EINVAL;
        }
        v = take(one);
        symbol = i;
    }
    return r < 0 ? r : v ? mxnet_with(t, symbol, v, ret, err) : 0;
}
