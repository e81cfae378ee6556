/* row_columns.c - the shapes of inputs say how many values a row has, the first line which columns
 * they are; then each cell is read as its input's type. See row_columns.h. */
#include "cmd/predict/row_columns.h"
#include "base/array.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_SHOWN 60 /* bytes of a cell in an error */
#define NO_COLUMN SIZE_MAX

void row_columns_done(struct row_columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->inputs[i].from);
    free(c->inputs);
    free(c->unused);
    *c = (struct row_columns){ 0 };
}

/* ---- values ---- */

static bool is_float(enum tensor_type t)
{
    return t == TENSOR_FP32 || t == TENSOR_FP64;
}

/* What whole numbers of a type may be. */
static const struct whole_range {
    int64_t least, most;
} ranges[TENSOR_TYPES_] = {
    [TENSOR_BOOL] = { 0, 1 },
    [TENSOR_UINT8] = { 0, UINT8_MAX },
    [TENSOR_UINT16] = { 0, UINT16_MAX },
    [TENSOR_UINT32] = { 0, UINT32_MAX },
    [TENSOR_UINT64] = { 0, INT64_MAX },
    [TENSOR_INT8] = { INT8_MIN, INT8_MAX },
    [TENSOR_INT16] = { INT16_MIN, INT16_MAX },
    [TENSOR_INT32] = { INT32_MIN, INT32_MAX },
    [TENSOR_INT64] = { INT64_MIN, INT64_MAX },
};

static bool has_text_form(enum tensor_type t)
{
    return is_float(t) || t == TENSOR_BYTES || ranges[t].most > 0;
}

static int to_double(const char *s, double *ret)
{
    char *end;

    *ret = strtod(s, &end);
    return end == s || *end ? -EINVAL : 0;
}

/* An empty cell is a missing value. */
static int put_float(struct buf *out, enum tensor_type t, const char *s)
{
    char *end = NULL;
    double wide = NAN;
    float narrow = NAN;

    errno = 0;
    if (*s && t == TENSOR_FP32)
        narrow = strtof(s, &end);
    else if (*s)
        wide = strtod(s, &end);
    if (end && (end == s || *end))
        return -EINVAL;
    if (errno == ERANGE && (isinf(narrow) || isinf(wide)))
        return -ERANGE;
    return t == TENSOR_FP32 ? buf_add(out, &narrow, sizeof(narrow))
                            : buf_add(out, &wide, sizeof(wide));
}

/* "3.0" is a whole number: tables with missing values are often written like this.
 *
 * Above 2^52 not every fraction can be told from a whole number any more: such ones must be written
 * without a point. */
static int to_whole(const char *s, const struct whole_range *range, int64_t *ret)
{
    int r = str_to_i64(s, range->least, range->most, ret);
    double d = 0;

    if (r != -EINVAL || to_double(s, &d) < 0)
        return r;
    if (fabs(d) > 1 / DBL_EPSILON || d != floor(d))
        return -EINVAL;
    *ret = (int64_t)d;
    return *ret < range->least || *ret > range->most ? -ERANGE : 0;
}

static int put_whole(struct buf *out, enum tensor_type t, const char *s)
{
    bool yes = t == TENSOR_BOOL && strcasecmp(s, "true") == 0;
    bool no = t == TENSOR_BOOL && strcasecmp(s, "false") == 0;
    int64_t n = yes;
    int r = yes || no ? 0 : to_whole(s, &ranges[t], &n);

    return r < 0 ? r : buf_add(out, &n, tensor_type_size(t)); /* little-endian, as tensors are */
}

static int put_value(struct buf *out, enum tensor_type t, const char *s)
{
    if (t == TENSOR_BYTES)
        return tensor_bytes_add(out, s, strlen(s));
    return is_float(t) ? put_float(out, t, s) : put_whole(out, t, s);
}

static int bad_value(const struct csv_record *record, const struct row_input *in, size_t column,
                     int r, struct err *err)
{
    char shown[NAME_MAX_SHOWN];

    if (r == -E2BIG)
        return err_set(err, r, "line %lld: the row is too large", (long long)record->line);
    if (r == -ENOMEM)
        return err_oom(err);
    (void)str_clean(shown, sizeof(shown), record->cells[column]);
    return err_set(err, r, "line %lld, column %zu: '%s' is %s (input '%s' is %s)",
                   (long long)record->line, column + 1, shown,
                   r == -ERANGE               ? "out of range"
                   : is_float(in->slot->type) ? "not a number"
                                              : "not a whole number",
                   in->slot->name, tensor_type_oip(in->slot->type));
}

int row_encode(const struct row_columns *c, const struct csv_record *record, struct buf *bytes,
               struct err *err)
{
    if (record->n != c->columns)
        return err_set(err, -EINVAL, "line %lld: %zu column%s instead of %zu",
                       (long long)record->line, record->n, record->n == 1 ? "" : "s", c->columns);
    for (size_t i = 0; i < c->n; i++) {
        const struct row_input *in = &c->inputs[i];

        for (size_t k = 0; k < in->width; k++) {
            int r = put_value(&bytes[i], in->slot->type, record->cells[in->from[k]]);

            if (r < 0)
                return bad_value(record, in, in->from[k], r, err);
        }
    }
    return 0;
}

/* ---- shapes ---- */

static int bad_shape(const struct signature_slot *slot, struct err *err)
{
    char shape[TENSOR_SHAPE_TEXT];

    return err_set(err, -ENOTSUP,
                   "the model cannot be asked with rows: input '%s' has the shape %s", slot->name,
                   tensor_shape_text(slot->dims, slot->rank, shape));
}

/* How many values of an input a row has. One dimension may be left open where it has all columns.
 *
 *     [-1, 4]       batched: a row has 4 values
 *     [-1, -1]      batched, the only input: a row has as many values as the table has columns
 *     [3, 2]        not batched: a request has one row, of 6 values */
static int measure(struct row_input *in, bool batched, size_t columns, struct err *err)
{
    size_t known = 1, open = SIZE_MAX;

    for (size_t d = batched; d < in->rank; d++) {
        if (in->dims[d] > 0 && known <= ROW_VALUES_MAX / (size_t)in->dims[d])
            known *= (size_t)in->dims[d];
        else if (in->dims[d] == -1 && open == SIZE_MAX && columns > 0)
            open = d;
        else
            return bad_shape(in->slot, err);
    }
    in->width = known;
    if (open == SIZE_MAX)
        return 0;
    if (columns % known != 0)
        return bad_shape(in->slot, err);
    in->dims[open] = (int64_t)(columns / known);
    in->width = columns;
    return 0;
}

/* A shape that is not known is taken for rows of numbers. */
static void shape_of(struct row_input *in, const struct signature_slot *slot)
{
    static const int64_t any[] = { -1, -1 };
    const int64_t *dims = slot->rank > 0 ? slot->dims : any;

    in->slot = slot;
    in->rank = slot->rank > 0 ? slot->rank : COUNT_OF(any);
    memcpy(in->dims, dims, in->rank * sizeof(*dims));
}

static int shapes_of(const struct signature *s, size_t columns, struct row_columns *c,
                     struct err *err)
{
    if (s->inputs.n == 0)
        return err_set(err, -ENOTSUP, "the model says nothing of its inputs");
    c->inputs = calloc(s->inputs.n, sizeof(*c->inputs));
    if (!c->inputs)
        return err_oom(err);
    c->n = s->inputs.n;
    for (size_t i = 0; i < c->n; i++) {
        struct row_input *in = &c->inputs[i];
        int r;

        shape_of(in, &s->inputs.v[i]);
        if (!has_text_form(in->slot->type))
            return err_set(err, -ENOTSUP, "input '%s' is %s, which has no form in a table",
                           in->slot->name, tensor_type_oip(in->slot->type));
        if (i == 0)
            c->batched = in->dims[0] == -1;
        if (c->batched != (in->dims[0] == -1))
            return bad_shape(in->slot, err);
        r = measure(in, c->batched, c->n == 1 ? columns : 0, err);
        if (r < 0)
            return r;
        in->from = calloc(in->width, sizeof(*in->from));
        if (!in->from)
            return err_oom(err);
    }
    return 0;
}

/* ---- the first line ---- */

/* Nothing in it is a number. */
static bool looks_like_header(const struct csv_record *first)
{
    bool any = false;
    double d;

    for (size_t i = 0; i < first->n; i++) {
        if (*first->cells[i] && to_double(first->cells[i], &d) == 0)
            return false;
        any = any || *first->cells[i];
    }
    return any;
}

static size_t column_named(const struct csv_record *header, const char *name)
{
    for (size_t i = 0; i < header->n; i++)
        if (str_eq(header->cells[i], name))
            return i;
    return NO_COLUMN;
}

/* "x", or "x.3" and "x_3" for one of several values. */
static size_t column_of(const struct csv_record *header, const struct row_input *in, size_t k)
{
    size_t found = in->width == 1 ? column_named(header, in->slot->name) : NO_COLUMN;

    for (const char *by = "._"; *by && found == NO_COLUMN; by++) {
        AUTO_FREE char *name = str_printf("%s%c%zu", in->slot->name, *by, k);

        found = name ? column_named(header, name) : NO_COLUMN;
    }
    return found;
}

/* Are there columns with these names? Yes (1), no (0), or some, and others are missing. */
static int match_names(struct row_columns *c, const struct csv_record *header, struct err *err)
{
    const struct row_input *missing = NULL;
    size_t found = 0, where = 0;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->inputs[i].width; k++) {
            size_t column = column_of(header, &c->inputs[i], k);

            if (column == NO_COLUMN && !missing) {
                missing = &c->inputs[i];
                where = k;
            }
            found += column != NO_COLUMN;
            c->inputs[i].from[k] = column;
            /* The names of features are none of the model's: one look is enough. */
            if (k == 0 && column == NO_COLUMN && c->n == 1)
                return 0;
        }
    if (!missing)
        return 1;
    if (found == 0 && c->n == 1)
        return 0;
    if (missing->width == 1)
        err_set(err, -EINVAL, "line %lld: no column has the name of the input '%s'",
                (long long)header->line, missing->slot->name);
    else
        err_set(err, -EINVAL, "line %lld: no column has the name '%s.%zu', of the input '%s'",
                (long long)header->line, missing->slot->name, where, missing->slot->name);
    return -EINVAL;
}

/* In the order of the inputs. */
static size_t match_places(struct row_columns *c)
{
    size_t at = 0;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->inputs[i].width; k++)
            c->inputs[i].from[k] = at++;
    return at;
}

static int note_unused(struct row_columns *c, const struct csv_record *header, struct err *err)
{
    AUTO_FREE bool *used = calloc(header->n, sizeof(*used));
    AUTO_BUF text = { .max = 2 * KIB };

    if (!used)
        return err_oom(err);
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->inputs[i].width; k++)
            used[c->inputs[i].from[k]] = true;
    for (size_t i = 0; i < header->n; i++) {
        char shown[NAME_MAX_SHOWN];

        if (used[i])
            continue;
        (void)str_clean(shown, sizeof(shown), header->cells[i]);
        if (buf_printf(&text, "%s%s", text.len ? ", " : "", shown) < 0)
            break; /* enough to know which are meant */
    }
    if (text.len > 0 && (!buf_text(&text) || !(c->unused = strdup(buf_text(&text)))))
        return err_oom(err);
    return 0;
}

/* A row of texts looks like a header; it is one when it has the inputs' names. */
static bool has_texts(const struct row_columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->inputs[i].slot->type == TENSOR_BYTES)
            return true;
    return false;
}

static int match_header(struct row_columns *c, const struct csv_record *first,
                        enum row_header header, struct err *err)
{
    bool unsure = header == ROW_HEADER_AUTO && has_texts(c);
    int r = match_names(c, first, unsure ? NULL : err);

    if (r == 1) {
        r = note_unused(c, first, err);
        return r < 0 ? r : 1;
    }
    return unsure && r == -EINVAL ? 0 : r;
}

/* What becomes of the first line, with `auto`:
 *
 *     something in it is a number                     a row
 *     it has the names of the inputs                  a header: columns are taken by name
 *     it has other names, and there is one input      a header: columns are taken in their order
 *     it has some of the names of several inputs      refused: a column is missing
 *     an input has texts, and no name fits            a row of texts
 *
 * The shapes come first: they say which names an input's columns have. */
int row_columns_make(const struct signature *s, const struct csv_record *first,
                     enum row_header header, struct row_columns *ret, struct err *err)
{
    bool is_header =
        header == ROW_HEADER_YES || (header == ROW_HEADER_AUTO && looks_like_header(first));
    size_t wanted;
    int r;

    *ret = (struct row_columns){ .columns = first->n };
    r = shapes_of(s, first->n, ret, err);
    if (r == 0 && is_header)
        r = match_header(ret, first, header, err);
    if (r != 0)
        return r;
    if (header == ROW_HEADER_AUTO && has_texts(ret))
        is_header = false;
    wanted = match_places(ret);
    if (wanted == first->n)
        return is_header;
    err_set(err, -EINVAL, "line %lld: %zu column%s, and the model takes %zu",
            (long long)first->line, first->n, first->n == 1 ? "" : "s", wanted);
    if (ret->n > 1)
        err_hint(err, "a first line with the names of inputs says which column is which");
    return -EINVAL;
}
