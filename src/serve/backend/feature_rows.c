/* feature_rows.c - the signature, the output and the sentences of models that take rows of
 * features. See feature_rows.h. */
#include "serve/backend/feature_rows.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

#define SENTENCE_MAX 1024

static const char in_name[] = "input", out_name[] = "output";

int feature_rows_signature(const struct feature_rows *f, struct signature *ret, struct err *err)
{
    const int64_t in[] = { -1, f->features }, out[] = { -1, f->outputs };
    int r = signature_add(&ret->inputs, in_name, NULL, f->type, in, 2, err);

    if (r < 0)
        return r;
    return signature_add(&ret->outputs, out_name, NULL, f->type, out, f->flat ? 1 : 2, err);
}

int feature_rows_count(const struct feature_rows *f, const struct tensors *in, int64_t *ret,
                       struct err *err)
{
    const struct tensor *t = in->n == 1 ? &in->v[0] : NULL;
    char shape[TENSOR_SHAPE_TEXT];

    if (!t)
        return err_set(err, -EINVAL, "%zu inputs where the model has 1", in->n);
    if (t->type != f->type || t->rank != 2 || t->dims[1] != f->features)
        return err_set(err, -EINVAL, "%s of %s where the model takes rows of %lld features",
                       tensor_shape_text(t->dims, t->rank, shape), tensor_type_oip(t->type),
                       (long long)f->features);
    *ret = t->dims[0];
    return 0;
}

int feature_rows_output(const struct feature_rows *f, int64_t rows, struct tensors *ret,
                        void **ret_p, struct err *err)
{
    const int64_t dims[] = { rows, f->outputs };
    struct tensor *t = NULL;
    int r = tensors_add(ret, &t, err);

    if (r == 0)
        r = tensor_init(t, out_name, f->type, dims, f->flat ? 1 : 2, err);
    return r < 0 ? r : tensor_alloc(t, ret_p, err);
}

/* Behind "[02:30:11] " and then "DIR/FILE.cc:21: ". */
static const char *behind_place(const char *text)
{
    size_t n;

    if (text[0] == '[' && isdigit((unsigned char)text[1]) && strspn(text + 1, "0123456789:") == 8 &&
        str_starts(text + 9, "] "))
        text += 11;
    n = strcspn(text, " \n");
    if (n < 3 || text[n] != ' ' || text[n - 1] != ':' || !memchr(text, '/', n) ||
        !isdigit((unsigned char)text[n - 2]))
        return text;
    return text + n + 1;
}

const char *feature_rows_sentence(const char *text, char *out, size_t room)
{
    const char *p = behind_place(text), *end = strstr(p, "\nStack trace");
    char line[SENTENCE_MAX];
    size_t n = 0;

    if (!end)
        end = p + strlen(p);
    while (p < end && n + 1 < sizeof(line)) {
        if (!isspace((unsigned char)*p))
            line[n++] = *p;
        else if (n > 0 && line[n - 1] != ' ')
            line[n++] = ' ';
        p++;
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
    (void)str_clean(out, room, line);
    return out;
}
