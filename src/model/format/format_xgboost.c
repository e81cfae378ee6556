/* format_xgboost.c - XGBoost's model as JSON or as UBJSON, the same document in binary.
 *
 *     { "learner": { "feature_names": […], "gradient_booster": {…: nearly all of it},
 *                    "learner_model_param": { "num_class": "0", "num_feature": "10" },
 *                    "objective": { "name": "binary:logistic" } },
 *       "version": [3, 2, 0] }
 *
 * Of a large JSON only the beginning is read: what it is shows, its facts do not. */
#include "model/format/format_xgboost_ubj.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define HEAD_MOST 256
#define JSON_MOST (64 * MIB)
#define SHORT_MOST MIB /* of it without its trees */

/* ---- what it says ---- */

static int xgboost_signature(const struct xgboost *x, struct format_facts *ret, struct err *err)
{
    const int64_t in[2] = { -1, x->features }, out[2] = { -1, x->classes };
    AUTO_JSON *inputs = json_array();
    AUTO_JSON *outputs = json_array();
    int r = inputs && outputs ? 0 : err_oom(err);

    if (r == 0)
        r = format_tensor(inputs, "input", "FP32", format_shape(in, 2), err);
    if (r == 0)
        r = format_tensor(outputs, "output", "FP32", format_shape(out, x->classes > 1 ? 2 : 1),
                          err);
    if (r == 0)
        r = format_signature(&ret->signatures, "serving_default", take(inputs), take(outputs), err);
    return r;
}

static int xgboost_facts(const struct xgboost *x, struct format_facts *ret, struct err *err)
{
    AUTO_FREE char *version = x->version[0] > 0
                                  ? str_printf("%lld.%lld.%lld", (long long)x->version[0],
                                               (long long)x->version[1], (long long)x->version[2])
                                  : NULL;
    int r = json_make(&ret->framework, err, "{s:s, s:o, s:o}", "name", "xgboost", "version",
                      json_text(version), "objective",
                      *x->objective ? json_text(x->objective) : json_null());

    return r == 0 && x->features > 0 ? xgboost_signature(x, ret, err) : r;
}

/* Numbers stand there as text: "1.0E1" in old versions, "10" in newer ones. */
void xgboost_take(struct xgboost *x, const char *key, const char *value)
{
    int64_t n = 0;

    if (str_eq(key, "num_feature") && str_to_i64(value, 0, INT32_MAX, &n) == 0)
        x->features = n;
    else if (str_eq(key, "num_class") && str_to_i64(value, 0, INT32_MAX, &n) == 0)
        x->classes = n;
    else if (str_eq(key, "name"))
        snprintf(x->objective, sizeof(x->objective), "%s", value);
}

/* ---- JSON ---- */

/* {"learner": at the beginning, whatever spaces there are. */
static bool xgboost_begins(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    if (*p++ != '{')
        return false;
    while (isspace((unsigned char)*p))
        p++;
    return str_starts(p, "\"learner\"") || str_starts(p, "\"version\"");
}

struct shorten {
    size_t depth, skipped; /* containers that are open */
    bool text, escaped;
};

/* Outside of texts. What is emptied keeps its brackets.
 *
 * What is kept open is the document, the learner and the objects in it: deeper objects, and arrays
 * within the learner, are emptied. `version` is an array at the top and stays. */
static bool shorten_keeps(struct shorten *s, char c)
{
    bool kept = s->skipped == 0;

    if (c == '{' || c == '[') {
        if (s->skipped || s->depth >= (c == '[' ? 2 : 3))
            s->skipped++;
        else
            s->depth++;
    } else if (c == '}' || c == ']') {
        if (s->skipped)
            s->skipped--;
        else
            s->depth -= s->depth > 0;
        kept = s->skipped == 0;
    }
    return kept;
}

/* Empties the arrays in the learner and whatever lies deeper than its facts, in place: the trees
 * are nearly all of the text, and parsed they would take twenty times as much. Returns what is
 * left. */
static size_t xgboost_shorten(char *p, size_t n)
{
    struct shorten s = { 0 };
    size_t to = 0;

    for (size_t i = 0; i < n; i++) {
        char c = p[i];

        if (s.text ? s.skipped == 0 : shorten_keeps(&s, c))
            p[to++] = c;
        if (c == '"' && !s.escaped)
            s.text = !s.text;
        s.escaped = s.text && !s.escaped && c == '\\';
    }
    return to;
}

static void xgboost_from_json(const json_t *v, struct xgboost *x)
{
    const json_t *learner = json_object_get(v, "learner");
    const json_t *version = json_object_get(v, "version");
    const json_t *param = json_object_get(learner, "learner_model_param"), *one;
    const char *key,
        *name = json_string_value(json_object_get(json_object_get(learner, "objective"), "name"));

    json_object_foreach((json_t *)param, key, one)
    {
        if (json_is_string(one))
            xgboost_take(x, key, json_string_value(one));
    }
    x->objective[0] = '\0';
    if (name)
        xgboost_take(x, "name", name);
    for (size_t i = 0; i < COUNT_OF(x->version); i++)
        x->version[i] = json_integer_value(json_array_get(version, i));
    x->is = json_is_object(json_object_get(learner, "gradient_booster"));
}

static int xgboost_json(const struct format_tree *t, size_t file, struct xgboost *x,
                        struct err *err)
{
    AUTO_BUF text = { .max = JSON_MOST + 1 };
    AUTO_JSON *v = NULL;
    size_t n;
    int r;

    if (t->files[file].size > JSON_MOST) {
        x->is = true;
        return 0;
    }
    r = format_head(t, file, JSON_MOST, &text, err);
    if (r < 0)
        return r;
    n = xgboost_shorten((char *)text.data, text.len);
    if (n > SHORT_MOST)
        return 0;
    r = json_parse(t->files[file].path, text.data, n, &v, err);
    if (r == 0)
        xgboost_from_json(v, x);
    if (r == -EINVAL)
        err_clear(err);
    return r == -EINVAL ? 0 : r;
}

/* ---- either ---- */

int xgboost_look(const struct format_tree *t, size_t file, struct format_facts *ret,
                 struct err *err)
{
    AUTO_BUF head = { .max = HEAD_MOST + 1 };
    struct xgboost x = { 0 };
    int r = format_head(t, file, HEAD_MOST, &head, err);

    if (r < 0 || head.len < 8 || !memchr(head.data, '{', head.len))
        return r;
    if (xgboost_begins((const char *)head.data))
        r = xgboost_json(t, file, &x, err);
    else if (head.data[0] == '{' && xgboost_ubj_begins(head.data, head.len))
        r = xgboost_ubj(t, file, &x, err);
    if (r == 0 && x.is)
        r = xgboost_facts(&x, ret, err);
    return r < 0 ? r : x.is;
}
