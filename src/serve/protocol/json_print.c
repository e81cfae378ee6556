/* json_print.c - the bytes of tensors as JSON.
 *
 * yyjson prints a list of values of 16 bytes each. Such lists are made on the stack, some hundred
 * values at a time, and printed straight into the answer: its allocator is our buffer. The brackets
 * of the pieces are then made into the commas between them. */
#include "base/str.h"
#include "serve/protocol/json_values.h"

#include <string.h>

#define PIECE 256 /* values printed at a time */

/* yyjson's allocator for one document that is printed at the end of a buffer. */
struct print_end {
    struct buf *b;
    int failed; /* why there is no more room, 0: there is */
};

static void *print_malloc(void *ctx, size_t n)
{
    struct print_end *e = ctx;
    uint8_t *at = NULL;

    e->failed = buf_room(e->b, n, &at);
    return e->failed < 0 ? NULL : at;
}

static void *print_realloc(void *ctx, void *p, size_t old, size_t n)
{
    struct print_end *e = ctx;
    size_t len = e->b->len;
    uint8_t *at;

    (void)p;
    e->b->len += old; /* so that what is printed already moves too */
    e->failed = buf_room(e->b, n > old ? n - old : 0, &at);
    e->b->len = len;
    return e->failed < 0 ? NULL : e->b->data + len;
}

static void print_free(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

/* yyjson walks a list by `uni.ofs`, the bytes up to what follows it, and by the number in its tag,
 * which is all that tells it where a list on the stack ends. The block that it asks for to print
 * into is the room at the buffer's end; what it used of that is added to the buffer's length. */
static int print_value(struct buf *out, yyjson_val *v)
{
    struct print_end end = { .b = out };
    const yyjson_alc alc = { print_malloc, print_realloc, print_free, &end };
    yyjson_write_err e = { 0 };
    size_t n = 0;

    if (yyjson_val_write_opts(v, YYJSON_WRITE_ALLOW_INF_AND_NAN, &alc, &n, &e)) {
        out->len += n;
        return 0;
    }
    return e.code == YYJSON_WRITE_ERROR_INVALID_STRING ? -EILSEQ : end.failed;
}

/* The unsafe ones do not look at what was there before: these values are made on the stack. */
#define SET(name, type, set)                                                                       \
    static void set_##name(yyjson_val *v, const uint8_t *at)                                       \
    {                                                                                              \
        type n;                                                                                    \
                                                                                                   \
        memcpy(&n, at, sizeof(n));                                                                 \
        set(v, n);                                                                                 \
    }
SET(bool, uint8_t, unsafe_yyjson_set_bool)
SET(uint8, uint8_t, unsafe_yyjson_set_uint)
SET(uint16, uint16_t, unsafe_yyjson_set_uint)
SET(uint32, uint32_t, unsafe_yyjson_set_uint)
SET(uint64, uint64_t, unsafe_yyjson_set_uint)
SET(int8, int8_t, unsafe_yyjson_set_sint)
SET(int16, int16_t, unsafe_yyjson_set_sint)
SET(int32, int32_t, unsafe_yyjson_set_sint)
SET(int64, int64_t, unsafe_yyjson_set_sint)
SET(fp32, float, unsafe_yyjson_set_float)
SET(fp64, double, unsafe_yyjson_set_double)

static void (*const sets[TENSOR_TYPES_])(yyjson_val *v, const uint8_t *at) = {
    [TENSOR_BOOL] = set_bool,     [TENSOR_UINT8] = set_uint8,   [TENSOR_UINT16] = set_uint16,
    [TENSOR_UINT32] = set_uint32, [TENSOR_UINT64] = set_uint64, [TENSOR_INT8] = set_int8,
    [TENSOR_INT16] = set_int16,   [TENSOR_INT32] = set_int32,   [TENSOR_INT64] = set_int64,
    [TENSOR_FP32] = set_fp32,     [TENSOR_FP64] = set_fp64,
};

static int print_scalar(struct buf *out, struct json_source *s)
{
    yyjson_val v = { 0 };

    sets[s->t->type](&v, s->t->data + s->at);
    s->at += tensor_type_size(s->t->type);
    return print_value(out, &v);
}

/* A list of `n` numbers, at least one.
 *
 * A piece is printed as a list of its own. The opening bracket of each further piece becomes the
 * comma, and the closing one of each but the last is taken away again:
 *
 *     [1,2,3]          the first piece
 *     [1,2,3           without its bracket
 *     [1,2,3[4,5]      the second one behind it
 *     [1,2,3,4,5]      with a comma in place of its bracket */
static int print_numbers(struct buf *out, struct json_source *s, size_t n)
{
    size_t size = tensor_type_size(s->t->type);
    yyjson_val v[PIECE + 1];
    int r = 0;

    for (size_t from = 0; from < n && r == 0; from += PIECE) {
        size_t many = n - from < PIECE ? n - from : PIECE, begin = out->len;

        for (size_t i = 0; i < many; i++)
            sets[s->t->type](&v[i + 1], s->t->data + s->at + i * size);
        unsafe_yyjson_set_tag(v, YYJSON_TYPE_ARR, YYJSON_SUBTYPE_NONE, many);
        v[0].uni.ofs = (many + 1) * sizeof(v[0]);
        s->at += many * size;
        r = print_value(out, v);
        if (r == 0 && from > 0)
            out->data[begin] = ',';
        if (r == 0 && from + many < n)
            out->len--;
    }
    return r;
}

static int print_base64(struct buf *out, const uint8_t *p, size_t n)
{
    AUTO_FREE char *text = NULL;
    int r = str_base64(p, n, &text);

    return r < 0 ? r : buf_printf(out, "{\"b64\":\"%s\"}", text);
}

static int print_text(struct buf *out, struct json_source *s)
{
    struct view v = view_of(s->t->data + s->at, s->t->size - s->at);
    yyjson_val value = { 0 };
    const uint8_t *p;
    size_t n;
    int r = -EILSEQ;

    p = tensor_bytes_next(&v, &n);
    if (!p)
        return -EINVAL;
    s->at = s->t->size - v.n;
    if (!s->base64) {
        unsafe_yyjson_set_strn(&value, (const char *)p, n);
        r = print_value(out, &value);
    }
    return r == -EILSEQ && !s->utf8_only ? print_base64(out, p, n) : r;
}

static int print_texts(struct buf *out, struct json_source *s, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = buf_add_str(out, i == 0 ? "[" : ",");
        if (r == 0)
            r = print_text(out, s);
    }
    return r < 0 ? r : buf_add_str(out, "]");
}

/* A list of values without lists in it. */
static int print_leaves(struct buf *out, struct json_source *s, size_t n)
{
    if (n == 0)
        return buf_add_str(out, "[]");
    return s->t->type == TENSOR_BYTES ? print_texts(out, s, n) : print_numbers(out, s, n);
}

int json_values_print(struct buf *out, struct json_source *s, size_t dim)
{
    const struct tensor *t = s->t;
    int r;

    if (!json_type_has_text(t->type))
        return -EINVAL;
    if (s->flat)
        return print_leaves(out, s, t->count);
    if (dim >= t->rank)
        return t->type == TENSOR_BYTES ? print_text(out, s) : print_scalar(out, s);
    if (dim + 1 == t->rank)
        return print_leaves(out, s, (size_t)t->dims[dim]);
    r = buf_add_str(out, "[");
    for (int64_t i = 0; i < t->dims[dim] && r == 0; i++) {
        if (i > 0)
            r = buf_add_str(out, ",");
        if (r == 0)
            r = json_values_print(out, s, dim + 1);
    }
    return r < 0 ? r : buf_add_str(out, "]");
}

/* What stands in JSON as it is: most names. */
static bool is_plain(const char *s)
{
    for (; *s; s++)
        if (*s < 0x20 || *s > 0x7e || *s == '"' || *s == '\\')
            return false;
    return true;
}

int json_text_print(struct buf *out, const char *s)
{
    AUTO_BUF clean = { .max = SIZE_MAX / 2 };
    yyjson_val v = { 0 };
    int r;

    if (is_plain(s)) {
        r = buf_add_u8(out, '"');
        if (r == 0)
            r = buf_add_str(out, s);
        return r < 0 ? r : buf_add_u8(out, '"');
    }
    unsafe_yyjson_set_str(&v, s);
    r = print_value(out, &v);
    if (r != -EILSEQ)
        return r;
    for (r = 0; *s && r == 0;) {
        size_t n = (unsigned char)*s < 0x80 ? 1 : str_utf8_len(s);

        r = n > 0 ? buf_add(&clean, s, n) : buf_add_str(&clean, "\xef\xbf\xbd");
        s += n > 0 ? n : 1;
    }
    if (r < 0 || !buf_text(&clean))
        return -ENOMEM;
    unsafe_yyjson_set_str(&v, buf_text(&clean));
    return print_value(out, &v);
}
