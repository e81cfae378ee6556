/* json_show.c - a JSON value as an error message quotes it: objects on several lines, lists on one,
 * cut off after some bytes. TensorFlow Serving's messages have it so. */
#include "serve/protocol/json_values.h"

#include <stdio.h>
#include <string.h>

#define SHOW_DEPTH 16 /* deeper is "…": what is shown is short anyway */

struct show {
    char *out;
    size_t at, cap;
    int depth;
};

static void show_text(struct show *s, const char *p, size_t n)
{
    size_t room = s->cap - 1 - s->at, i = n < room ? n : room;

    memcpy(s->out + s->at, p, i);
    /* Not half of a character. */
    while (i < n && i > 0 && ((unsigned char)p[i] & 0xc0) == 0x80)
        i--;
    s->at += i;
    s->out[s->at] = '\0';
    if (i < n)
        s->cap = s->at + 1; /* full */
}

static bool show_full(const struct show *s)
{
    return s->at + 1 >= s->cap;
}

static void show_value(struct show *s, yyjson_val *v);

static void show_line(struct show *s)
{
    show_text(s, "\n", 1);
    for (int i = 0; i < s->depth; i++)
        show_text(s, "    ", 4);
}

static void show_object(struct show *s, yyjson_val *v)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *key;
    bool first = true;

    show_text(s, "{", 1);
    s->depth++;
    while (!show_full(s) && (key = yyjson_obj_iter_next(&it)) != NULL) {
        if (!first)
            show_text(s, ",", 1);
        show_line(s);
        show_value(s, key);
        show_text(s, ": ", 2);
        show_value(s, yyjson_obj_iter_get_val(key));
        first = false;
    }
    s->depth--;
    if (!first)
        show_line(s);
    show_text(s, "}", 1);
}

static void show_list(struct show *s, yyjson_val *v)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    bool first = true;

    show_text(s, "[", 1);
    s->depth++;
    while (!show_full(s) && (item = yyjson_arr_iter_next(&it)) != NULL) {
        if (!first)
            show_text(s, ", ", 2);
        show_value(s, item);
        first = false;
    }
    s->depth--;
    show_text(s, "]", 1);
}

static void show_leaf(struct show *s, yyjson_val *v)
{
    AUTO_FREE char *text = NULL;
    size_t n = 0;

    if (yyjson_is_str(v) && yyjson_get_len(v) > s->cap) { /* printing all of it is no use */
        show_text(s, "\"", 1);
        show_text(s, yyjson_get_str(v), yyjson_get_len(v));
        return;
    }
    text = yyjson_val_write_opts(v, YYJSON_WRITE_ALLOW_INF_AND_NAN, NULL, &n, NULL);
    if (text)
        show_text(s, text, n);
}

static void show_value(struct show *s, yyjson_val *v)
{
    if (!yyjson_is_ctn(v))
        show_leaf(s, v);
    else if (s->depth >= SHOW_DEPTH)
        show_text(s, "…", strlen("…"));
    else if (yyjson_is_obj(v))
        show_object(s, v);
    else
        show_list(s, v);
}

void json_show(yyjson_val *v, char *out, size_t cap)
{
    struct show s = { .out = out, .cap = cap };

    out[0] = '\0';
    show_value(&s, v);
}

const char *json_kind(yyjson_val *v)
{
    static const char *const kinds[] = {
        [YYJSON_TYPE_NULL] = "Null", [YYJSON_TYPE_NUM] = "Number", [YYJSON_TYPE_STR] = "String",
        [YYJSON_TYPE_ARR] = "Array", [YYJSON_TYPE_OBJ] = "Object",
    };

    if (yyjson_is_bool(v))
        return yyjson_is_true(v) ? "True" : "False";
    return yyjson_get_type(v) < COUNT_OF(kinds) && kinds[yyjson_get_type(v)]
               ? kinds[yyjson_get_type(v)]
               : "Null";
}
