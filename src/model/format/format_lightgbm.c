/* format_lightgbm.c - LightGBM's text: lines of key=value, the first of which is "tree".
 *
 *     tree
 *     version=v4
 *     num_class=1
 *     max_feature_idx=9
 *     objective=binary sigmoid:1
 *     feature_names=Column_0 Column_1 …
 */
#include "model/format/recognise.h"

#include <string.h>

#define HEAD_MOST MIB
#define FEATURES_MOST 10000000

struct lightgbm {
    const char *version, *objective, *names; /* in the text */
    int64_t classes, features;
};

/* Takes the lines apart in place, up to the first empty one. */
static void lightgbm_read(char *text, struct lightgbm *l)
{
    char *end;

    for (char *line = text; *line && *line != '\n' && (end = strchr(line, '\n')); line = end + 1) {
        char *value = memchr(line, '=', (size_t)(end - line));

        *end = '\0';
        if (end > line && end[-1] == '\r')
            end[-1] = '\0';
        if (!value)
            continue;
        *value++ = '\0';
        if (str_eq(line, "version"))
            l->version = value;
        else if (str_eq(line, "objective"))
            l->objective = value;
        else if (str_eq(line, "feature_names"))
            l->names = value;
        else if (str_eq(line, "num_class"))
            (void)str_to_i64(value, 1, INT32_MAX, &l->classes);
        else if (str_eq(line, "max_feature_idx"))
            (void)str_to_i64(value, 0, FEATURES_MOST, &l->features);
    }
}

static int lightgbm_signature(const struct lightgbm *l, struct format_facts *ret, struct err *err)
{
    const int64_t rows[2] = { -1, l->features + 1 }, out[2] = { -1, l->classes };
    AUTO_JSON *inputs = json_array();
    AUTO_JSON *outputs = json_array();
    int r = inputs && outputs ? 0 : err_oom(err);

    if (r == 0)
        r = format_tensor(inputs, "input", "FP64", format_shape(rows, 2), err);
    if (r == 0)
        r = format_tensor(outputs, "output", "FP64", format_shape(out, l->classes > 1 ? 2 : 1),
                          err);
    if (r == 0)
        r = format_signature(&ret->signatures, "serving_default", take(inputs), take(outputs), err);
    return r;
}

static int lightgbm_facts(const struct lightgbm *l, struct format_facts *ret, struct err *err)
{
    AUTO_STRS names = { 0 };

    if (l->names && strs_split(&names, l->names, " ") < 0)
        return err_oom(err);
    return json_make(&ret->framework, err, "{s:s, s:o, s:o, s:o}", "name", "lightgbm", "version",
                     json_text(l->version), "objective", json_text(l->objective), "features",
                     json_texts(names.v, names.n < 4096 ? names.n : 4096));
}

int lightgbm_look(const struct format_tree *t, size_t file, struct format_facts *ret,
                  struct err *err)
{
    AUTO_BUF text = { .max = HEAD_MOST + 1 };
    struct lightgbm l = { .classes = 1, .features = -1 };
    int r = format_head(t, file, 16, &text, err);

    if (r < 0)
        return r;
    if (!str_starts((const char *)text.data, "tree\n") &&
        !str_starts((const char *)text.data, "tree\r\n"))
        return 0;
    buf_reset(&text);
    r = format_head(t, file, HEAD_MOST, &text, err);
    if (r < 0)
        return r;
    lightgbm_read((char *)text.data, &l);
    if (!l.version || l.features < 0)
        return 0;
    r = lightgbm_facts(&l, ret, err);
    if (r == 0)
        r = lightgbm_signature(&l, ret, err);
    return r < 0 ? r : 1;
}
