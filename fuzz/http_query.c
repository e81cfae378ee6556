/* http_query.c - what a request asks for: paths, queries, cookies and percent-encoding. */
#include "wire/http_query.h"
#include "fuzz.h"
#include "wire/http.h"
#include "wire/http_cookie.h"

#include <stdlib.h>
#include <string.h>

/* Quoting and unquoting again must give the same. */
static void there_and_back(const char *text)
{
    AUTO_BUF quoted = { .max = MIB };
    AUTO_FREE char *back = NULL;

    if (http_quote(&quoted, text) < 0 || !buf_text(&quoted) ||
        http_unquote(buf_text(&quoted), quoted.len, true, &back) < 0 || strcmp(back, text) != 0)
        abort();
}

/* A cookie is there when its name is, and is an error or a text. */
static void look_for_cookie(const char *text)
{
    AUTO_FREE char *value = NULL;
    int r = http_cookie(text, "u", &value);

    if ((r < 0 && value) || (value && !strstr(text, "u=")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_DONE(http_target_done) struct http_target t = { 0 };
    AUTO_FREE char *text = size < 64 * KIB ? strndup((const char *)data, size) : NULL;
    struct err err = ERR_INIT;
    size_t n;

    if (!text)
        return 0;
    there_and_back(text);
    look_for_cookie(text);
    if ((http_target_parse(text, &t, &err) < 0) != (err.text[0] != '\0'))
        abort();
    if (!t.path)
        return 0;
    n = strlen(t.path);
    if ((t.path[0] != '/' && strcmp(t.path, "*") != 0) || strstr(t.path, "/../") ||
        (n >= 3 && strcmp(t.path + n - 3, "/..") == 0) || t.names.n != t.values.n)
        abort();
    for (size_t i = 0; i < t.names.n; i++) {
        if (!http_target_get(&t, t.names.v[i]))
            abort();
    }
    return 0;
}
