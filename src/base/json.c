/* json.c - guards around jansson. Its parser recurses, so depth is measured before a text is
 * parsed; its lexer mishandles a failed allocation, so after the first one all later ones of that
 * parse fail too. See json.h. */
#include "base/json.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>

int json_make(json_t **ret, struct err *err, const char *fmt, ...)
{
    json_error_t e;
    va_list ap;

    va_start(ap, fmt);
    *ret = json_vpack_ex(&e, 0, fmt, ap);
    va_end(ap);
    if (*ret)
        return 0;
    switch (json_error_code(&e)) {
    case json_error_out_of_memory:
    case json_error_null_value: /* what a nested maker gives when it ran out */
        return err_oom(err);
    case json_error_invalid_utf8:
        return err_set(err, -EILSEQ, "text for JSON is not UTF-8");
    default:
        return err_set(err, -EINVAL, "JSON format '%s': %s", fmt, e.text);
    }
}

json_t *json_text(const char *s)
{
    AUTO_BUF b = { .max = 4 * MIB };

    if (!s)
        return json_null();
    while (*s) {
        /* U+0080 to U+009F are fine here, though not on a terminal. */
        bool c1 = (unsigned char)s[0] == 0xc2 && (s[1] & 0xe0) == 0x80;
        size_t n = c1 ? 2 : str_utf8_len(s);

        if (buf_add(&b, n ? s : "\xef\xbf\xbd", n ? n : 3) < 0)
            return NULL;
        s += n ? n : 1;
    }
    return json_stringn_nocheck(b.len ? (const char *)b.data : "", b.len);
}

json_t *json_texts(char *const *v, size_t n)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && v && i < n && v[i]; i++)
        if (json_array_append_new(list, json_text(v[i])) < 0)
            return NULL;
    return take(list);
}

int64_t json_int_or(const json_t *v, const char *key, int64_t otherwise)
{
    const json_t *n = json_object_get(v, key);

    return json_is_integer(n) ? json_integer_value(n) : otherwise;
}

/* Looks for the nesting before the parser recurses into it; what is wrong otherwise, it finds. */
static bool too_deep(const char *p, size_t n)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        if (in_string && p[i] == '\\')
            i++;
        else if (p[i] == '"')
            in_string = !in_string;
        else if (!in_string && (p[i] == '[' || p[i] == '{') && ++depth > JSON_DEPTH_MAX)
            return true;
        else if (!in_string && (p[i] == ']' || p[i] == '}') && depth > 0)
            depth--;
    }
    return false;
}

/* jansson's lexer does not notice when its token cannot grow: a character is lost, and when that is
 * the closing quote it reads and writes past the end. So the first allocation that fails while a
 * text is parsed makes all later ones of that parse fail: the lexer has to ask for the token's
 * value next, and gives up. */
static _Thread_local enum { NOT_PARSING, PARSING, OUT_OF_MEMORY } parse_state;

static void *parser_malloc(size_t n)
{
    void *p = parse_state == OUT_OF_MEMORY ? NULL : malloc(n);

    if (!p && parse_state == PARSING)
        parse_state = OUT_OF_MEMORY;
    return p;
}

__attribute__((constructor)) static void use_parser_malloc(void)
{
    json_set_alloc_funcs(parser_malloc, free);
}

int json_parse(const char *what, const void *p, size_t n, json_t **ret, struct err *err)
{
    json_error_t e;
    bool out_of_memory;

    if (too_deep(p, n))
        return err_set(err, -EINVAL, "%s: JSON nested more than %d deep", what, JSON_DEPTH_MAX);
    parse_state = PARSING;
    *ret = json_loadb(n ? p : "", n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
    out_of_memory = parse_state == OUT_OF_MEMORY;
    parse_state = NOT_PARSING;
    if (out_of_memory) {
        json_decref(*ret);
        *ret = NULL;
        return err_oom(err);
    }
    if (*ret)
        return 0;
    return err_set(err, -EINVAL, "%s: line %d column %d: %s", what, e.line, e.column, e.text);
}

int json_parse_file(const char *path, size_t max, json_t **ret, struct err *err)
{
    AUTO_BUF b = { .max = max };
    int r;

    r = path_read(path, &b, err);
    if (r < 0)
        return r;
    return json_parse(path, b.data, b.len, ret, err);
}

int json_print(FILE *out, const json_t *v, struct err *err)
{
    size_t flags = isatty(fileno(out)) ? JSON_INDENT(2) : JSON_COMPACT;
    AUTO_FREE char *text = json_dumps(v, flags | JSON_ENCODE_ANY);

    if (!text)
        return err_oom(err);
    if (fputs(text, out) == EOF || fputc('\n', out) == EOF || fflush(out) == EOF)
        return err_sys(err, "write JSON");
    return 0;
}
