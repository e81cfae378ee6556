/* formats.c - the table of formats, and who is asked first.
 *
 *     directory ──► command? python? tensorflow? mxnet? ──► each file at the top: onnx? xgboost? …
 *
 * A directory that says itself how it is served (a command, a handler) is that, whatever files it
 * carries along. Of single files one must be a model and no second one: with two, serving would
 * have to guess. */
#include "model/format/formats.h"
#include "model/format/recognise.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    format_tree_fn *tree; /* one of the two */
    format_file_fn *file;
} rows[] = {
    { "command",    command_look,     NULL },
    { "python",     python_look,      NULL },
    { "tensorflow", saved_model_look, NULL },
    { "mxnet",      mxnet_look,       NULL },
    { "lightgbm",   NULL,             lightgbm_look },
    { "xgboost",    NULL,             xgboost_look },
    { "onnx",       NULL,             onnx_look },
};
/* clang-format on */

#define TOP_FILES 256 /* of a directory that are looked into */

void format_facts_done(struct format_facts *f)
{
    free(f->entry);
    json_decref(f->framework);
    json_decref(f->signatures);
    *f = (struct format_facts){ 0 };
}

/* ---- files ---- */

static int format_by_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct format_file *)file)->path);
}

size_t format_file_at(const struct format_tree *t, const char *path)
{
    const struct format_file *f =
        t->n ? bsearch(path, t->files, t->n, sizeof(*f), format_by_path) : NULL;

    return f ? (size_t)(f - t->files) : t->n;
}

static int format_by_name(const void *name, const void *one)
{
    return strcmp(name, *(char *const *)one);
}

bool format_names_have(const struct strs *sorted, const char *name)
{
    return sorted->n && bsearch(name, sorted->v, sorted->n, sizeof(sorted->v[0]), format_by_name);
}

int format_head(const struct format_tree *t, size_t file, size_t max, struct buf *ret,
                struct err *err)
{
    size_t n = t->files[file].size < max ? (size_t)t->files[file].size : max;
    uint8_t *p;

    if (buf_room(ret, n + 1, &p) < 0)
        return err_oom(err);
    if (n > 0) {
        int r = t->read(t->arg, file, 0, p, n, err);

        if (r < 0)
            return r;
    }
    ret->len += n;
    return buf_text(ret) ? 0 : err_oom(err);
}

int format_json(const struct format_tree *t, size_t file, size_t max, json_t **ret, struct err *err)
{
    AUTO_BUF text = { .max = max + 1 };
    int r;

    if (t->files[file].size > max || t->files[file].size == 0)
        return 0;
    r = format_head(t, file, max, &text, err);
    if (r < 0)
        return r;
    r = json_parse(t->files[file].path, text.data, text.len, ret, err);
    if (r == -EINVAL) {
        err_clear(err);
        return 0;
    }
    return r < 0 ? r : 1;
}

/* ---- signatures ---- */

json_t *format_shape(const int64_t *v, size_t n)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, json_integer(v[i])) < 0)
            return NULL;
    return take(list);
}

int format_tensor(json_t *list, const char *name, const char *datatype, json_t *shape,
                  struct err *err)
{
    json_t *v = NULL;
    int r = json_make(&v, err, "{s:o, s:s, s:o}", "name", json_text(name), "datatype", datatype,
                      "shape", shape ? shape : json_null());

    if (r == 0 && json_array_append_new(list, v) < 0)
        r = err_oom(err);
    return r;
}

int format_signature(json_t **ret, const char *name, json_t *inputs, json_t *outputs,
                     struct err *err)
{
    return json_make(ret, err, "{s:{s:o, s:o}}", name, "inputs", inputs, "outputs", outputs);
}

/* ---- asking all ---- */

static int format_of_tree(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int r = rows[i].tree ? rows[i].tree(t, ret, err) : 0;

        if (r != 0) {
            ret->format = rows[i].name;
            return r;
        }
    }
    return 0;
}

static int format_of_file(const struct format_tree *t, size_t file, struct format_facts *ret,
                          struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int r = rows[i].file ? rows[i].file(t, file, ret, err) : 0;

        if (r == 0)
            continue;
        ret->format = rows[i].name;
        if (r > 0 && !(ret->entry = strdup(t->files[file].path)))
            r = err_oom(err);
        return r;
    }
    return 0;
}

static int two_models(const struct format_facts *a, const struct format_facts *b, struct err *err)
{
    err_set(err, -EINVAL, "it holds two models: '%.100s' (%s) and '%.100s' (%s)", a->entry,
            a->format, b->entry, b->format);
    err_hint(err, "push one of them alone, or a directory that holds only its files");
    return -EINVAL;
}

static int format_of_files(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    size_t looked = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < t->n && looked < TOP_FILES; i++) {
        AUTO_FORMAT_FACTS one = { 0 };

        if (strchr(t->files[i].path, '/'))
            continue;
        looked++;
        r = format_of_file(t, i, &one, err);
        if (r <= 0)
            continue;
        if (ret->format)
            return two_models(ret, &one, err);
        *ret = one;
        one = (struct format_facts){ 0 };
        r = 0;
    }
    return r < 0 ? r : ret->format != NULL;
}

static int format_unknown(struct err *err)
{
    err_set(err, -EINVAL, "no known model format");
    err_hint(err, "known: ONNX, TensorFlow SavedModel, MXNet (json and params), XGBoost (json, "
                  "ubj), LightGBM (text), a directory with model.py or with command.json");
    return -EINVAL;
}

int format_find(const struct format_tree *tree, struct format_facts *ret, struct err *err)
{
    int r = format_of_tree(tree, ret, err);

    if (r == 0)
        r = format_of_files(tree, ret, err);
    if (r == 0)
        r = format_unknown(err);
    if (r < 0)
        format_facts_done(ret);
    return r < 0 ? r : 0;
}
