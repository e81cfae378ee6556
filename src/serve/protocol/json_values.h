/* json_values.h - the values of a tensor in JSON: reading numbers and texts into bytes, and
 * printing them. yyjson reads and prints the numbers: doubles to the last bit, floats as the
 * shortest text that gives the same float again. NaN, Infinity and -Infinity are numbers here, both
 * ways, as in the servers whose protocols these are and in Python. For this folder, and for `ydl
 * predict`, which prints tensors too. */
#pragma once
#include "serve/tensor.h"

#include <yyjson.h>

/* A document, parsed from hostile bytes. Trailing bytes are an error unless `stop`. -EINVAL with
 * `at` and a text in rapidjson's words, which clients of the other servers know; -E2BIG past
 * EXCHANGE_JSON_MAX. *ret is the caller's: yyjson_doc_free(). */
struct json_trouble {
    const char *text; /* static */
    size_t at;
};
/* Bytes that reading takes at most: by the number of values that there can be, which is far smaller
 * for numbers of many digits than for digits alone. */
uint64_t json_doc_cost(const void *p, size_t n);
int json_doc_read(const void *p, size_t n, bool stop, yyjson_doc **ret, struct json_trouble *why);

static inline void auto_json_doc_(yyjson_doc **d)
{
    yyjson_doc_free(*d);
}
#define AUTO_JSON_DOC AUTO(json_doc) yyjson_doc

/* Where values that are read go to: the bytes of a tensor of this type. */
struct json_sink {
    enum tensor_type type;
    bool base64; /* a text may be {"b64": "…"} too */
    size_t count;
    struct buf bytes; /* born with its ceiling */
};

/* May values of this type be read and printed? FP16 and BF16 have no form in JSON. */
bool json_type_has_text(enum tensor_type t);
/* Reads `n` values that stand behind each other. -EINVAL with the first that does not fit the type
 * in *ret_bad (a whole number for FP32 fits, a number with a fraction for INT32 or 300 for INT8 do
 * not); else -ENOMEM or -E2BIG. */
int json_sink_add(struct json_sink *s, yyjson_val *first, size_t n, yyjson_val **ret_bad);
/* Is it {"b64": "…"}? */
bool json_is_base64(yyjson_val *v);

/* What is printed of a tensor: everything, or one row of it after another. */
struct json_source {
    const struct tensor *t;
    size_t at;      /* next byte */
    bool base64;    /* every text as {"b64": "…"}; without it, those that are not UTF-8 only */
    bool flat;      /* no nesting: one list */
    bool utf8_only; /* a text that is not UTF-8 is an error instead: -EILSEQ */
};
/* Appends the values of dimensions `dim` and further, nested as they are, and moves on to the next
 * row. A scalar has no brackets. -EINVAL for a type without a text, -E2BIG, -ENOMEM. */
int json_values_print(struct buf *out, struct json_source *s, size_t dim);
/* Appends a text in quotes. Bytes that are not UTF-8 become U+FFFD. */
int json_text_print(struct buf *out, const char *s);

/* A value as error messages show it: at most `cap` bytes, the rest is cut off. */
void json_show(yyjson_val *v, char *out, size_t cap);
/* "Number", "Object" and so on, as rapidjson calls it. */
const char *json_kind(yyjson_val *v);
