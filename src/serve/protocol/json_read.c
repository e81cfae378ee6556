/* json_read.c - JSON numbers and texts into the bytes of tensors.
 *
 * yyjson makes values of 16 bytes each that stand behind each other in document order, so a row of
 * numbers is an array that is walked. One function per element type takes one value, and floats,
 * which most requests consist of, have a loop of their own. */
#include "base/str.h"
#include "serve/protocol/exchange.h"
#include "serve/protocol/json_values.h"

#include <string.h>

/* rapidjson's words for what yyjson says. */
static const struct {
    const char *part, *text;
} troubles[] = {
    { "colon after object key", "Missing a colon after a name of object member." },
    { "string for object key", "Missing a name for object member." },
    { "comma or a closing bracket", "Missing a comma or ] after an array element." },
    { "comma or a closing brace", "Missing a comma or } after an object member." },
    { "closing quote", "Missing a closing quotation mark in string." },
    { "escaped", "Invalid escape character in string." },
    { "UTF-8", "Invalid encoding in string." },
    { "content after document", "The document root must not be followed by other values." },
};

static const char *trouble_text(const yyjson_read_err *e)
{
    for (size_t i = 0; e->msg && i < COUNT_OF(troubles); i++) {
        if (strstr(e->msg, troubles[i].part))
            return troubles[i].text;
    }
    return "Invalid value.";
}

/* A value is the first of all, or behind one of these. What holds the values grows by half, and the
 * text is copied beside them.
 *
 * Such bytes within texts are counted as well, which makes it too much rather than too little: the
 * document is not understood yet, and this must cost next to nothing. */
uint64_t json_doc_cost(const void *p, size_t n)
{
    const uint8_t *text = p;
    uint64_t values = 1;

    for (size_t i = 0; i < n; i++)
        values +=
            (uint64_t)(text[i] == ',') + (text[i] == ':') + (text[i] == '[') + (text[i] == '{');
    return values * sizeof(yyjson_val) * 3 / 2 + n + n / 2;
}

int json_doc_read(const void *p, size_t n, bool stop, yyjson_doc **ret, struct json_trouble *why)
{
    yyjson_read_flag flags =
        YYJSON_READ_ALLOW_INF_AND_NAN | (stop ? YYJSON_READ_STOP_WHEN_DONE : 0);
    yyjson_read_err e = { 0 };

    *why = (struct json_trouble){ .text = "The document is empty" };
    if (n > EXCHANGE_JSON_MAX)
        return -E2BIG;
    if (n == 0)
        return -EINVAL;
    /* Not written to without YYJSON_READ_INSITU. */
    *ret = yyjson_read_opts((char *)(uintptr_t)p, n, flags, NULL, &e);
    if (*ret)
        return 0;
    if (e.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return -ENOMEM;
    *why = (struct json_trouble){ .text = trouble_text(&e), .at = e.pos };
    return -EINVAL;
}

static bool take_signed(yyjson_val *v, int64_t min, int64_t max, int64_t *ret)
{
    if (!unsafe_yyjson_is_int(v) ||
        (unsafe_yyjson_is_uint(v) && unsafe_yyjson_get_uint(v) > INT64_MAX))
        return false;
    *ret = unsafe_yyjson_get_sint(v);
    return *ret >= min && *ret <= max;
}

static bool take_unsigned(yyjson_val *v, uint64_t max, uint64_t *ret)
{
    if (!unsafe_yyjson_is_uint(v))
        return false;
    *ret = unsafe_yyjson_get_uint(v);
    return *ret <= max;
}

static bool put_bool(yyjson_val *v, uint8_t *at)
{
    *at = unsafe_yyjson_is_true(v);
    return unsafe_yyjson_is_bool(v);
}

#define PUT_SIGNED(bits)                                                                           \
    static bool put_int##bits(yyjson_val *v, uint8_t *at)                                          \
    {                                                                                              \
        int64_t n;                                                                                 \
                                                                                                   \
        if (!take_signed(v, INT##bits##_MIN, INT##bits##_MAX, &n))                                 \
            return false;                                                                          \
        memcpy(at, &(int##bits##_t){ (int##bits##_t)n }, bits / 8);                                \
        return true;                                                                               \
    }
#define PUT_UNSIGNED(bits)                                                                         \
    static bool put_uint##bits(yyjson_val *v, uint8_t *at)                                         \
    {                                                                                              \
        uint64_t n;                                                                                \
                                                                                                   \
        if (!take_unsigned(v, UINT##bits##_MAX, &n))                                               \
            return false;                                                                          \
        memcpy(at, &(uint##bits##_t){ (uint##bits##_t)n }, bits / 8);                              \
        return true;                                                                               \
    }
PUT_SIGNED(8)
PUT_SIGNED(16)
PUT_SIGNED(32)
PUT_SIGNED(64)
PUT_UNSIGNED(8)
PUT_UNSIGNED(16)
PUT_UNSIGNED(32)
PUT_UNSIGNED(64)

static bool put_fp32(yyjson_val *v, uint8_t *at)
{
    float f = (float)unsafe_yyjson_get_num(v);

    memcpy(at, &f, sizeof(f));
    return unsafe_yyjson_is_num(v);
}

static bool put_fp64(yyjson_val *v, uint8_t *at)
{
    double d = unsafe_yyjson_get_num(v);

    memcpy(at, &d, sizeof(d));
    return unsafe_yyjson_is_num(v);
}

static bool (*const put[TENSOR_TYPES_])(yyjson_val *v, uint8_t *at) = {
    [TENSOR_BOOL] = put_bool,     [TENSOR_UINT8] = put_uint8,   [TENSOR_UINT16] = put_uint16,
    [TENSOR_UINT32] = put_uint32, [TENSOR_UINT64] = put_uint64, [TENSOR_INT8] = put_int8,
    [TENSOR_INT16] = put_int16,   [TENSOR_INT32] = put_int32,   [TENSOR_INT64] = put_int64,
    [TENSOR_FP32] = put_fp32,     [TENSOR_FP64] = put_fp64,
};

bool json_type_has_text(enum tensor_type t)
{
    return t == TENSOR_BYTES || ((unsigned)t < TENSOR_TYPES_ && put[t]);
}

bool json_is_base64(yyjson_val *v)
{
    return yyjson_is_obj(v) && yyjson_obj_size(v) == 1 && yyjson_is_str(yyjson_obj_get(v, "b64"));
}

static int add_base64(struct json_sink *s, yyjson_val *v)
{
    yyjson_val *text = yyjson_obj_get(v, "b64");
    AUTO_FREE uint8_t *p = NULL;
    size_t n = 0;
    int r = -EINVAL;

    if (strlen(unsafe_yyjson_get_str(text)) == unsafe_yyjson_get_len(text))
        r = str_unbase64(unsafe_yyjson_get_str(text), &p, &n);
    return r < 0 ? r : tensor_bytes_add(&s->bytes, p, n);
}

static int add_texts(struct json_sink *s, yyjson_val *v, size_t n, yyjson_val **ret_bad)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        *ret_bad = v;
        if (unsafe_yyjson_is_str(v))
            r = tensor_bytes_add(&s->bytes, unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v));
        else if (s->base64 && json_is_base64(v))
            r = add_base64(s, v);
        else
            r = -EINVAL;
        s->count += r == 0;
        v = unsafe_yyjson_get_next(v);
    }
    return r;
}

/* Floats, as long as they have a fraction or exponent; how many. */
static size_t put_floats(yyjson_val *v, size_t n, uint8_t *at)
{
    size_t i = 0;

    for (; i < n && unsafe_yyjson_is_real(&v[i]); i++) {
        float f = (float)unsafe_yyjson_get_real(&v[i]);

        memcpy(at + i * sizeof(f), &f, sizeof(f));
    }
    return i;
}

int json_sink_add(struct json_sink *s, yyjson_val *first, size_t n, yyjson_val **ret_bad)
{
    size_t size = tensor_type_size(s->type), i = 0;
    uint8_t *at;
    int r;

    if (n == 0)
        return 0;
    if (s->type == TENSOR_BYTES)
        return add_texts(s, first, n, ret_bad);
    r = buf_room(&s->bytes, n * size, &at);
    if (r < 0)
        return r;
    while (i < n) {
        if (s->type == TENSOR_FP32)
            i += put_floats(first + i, n - i, at + i * size);
        if (i == n)
            break;
        *ret_bad = first + i; /* numbers have nothing inside: the next one stands behind */
        if (unsafe_yyjson_is_ctn(*ret_bad) || !put[s->type](*ret_bad, at + i * size))
            return -EINVAL;
        i++;
    }
    s->bytes.len += n * size;
    s->count += n;
    return 0;
}
