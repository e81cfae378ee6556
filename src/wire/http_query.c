/* http_query.c - decodes percent escapes once, then checks the result: whatever was hidden by an
 * escape is seen by the check. See http_query.h. */
#include "wire/http_query.h"
#include "wire/http.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte that "%41" stands for, or -EINVAL. */
static int hex_byte(const char *s, size_t n)
{
    int high = n > 1 ? hex_digit(s[1]) : -1, low = n > 2 ? hex_digit(s[2]) : -1;

    return high < 0 || low < 0 ? -EINVAL : high * 16 + low;
}

/* A NUL, written as %00, is refused: the rest of the path would be invisible to everything that
 * treats it as a C string. */
int http_unquote(const char *s, size_t n, bool plus, char **ret)
{
    AUTO_FREE char *out = calloc(1, n + 1);
    size_t len = 0;

    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)s[i];

        if (c == '%') {
            c = hex_byte(s + i, n - i);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c <= 0)
            return -EINVAL;
        out[len++] = (char)c;
    }
    *ret = take(out);
    return 0;
}

int http_quote(struct buf *out, const char *s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    int r = 0;

    for (; *s && r == 0; s++)
        r = strchr(plain, *s) ? buf_add(out, s, 1)
                              : buf_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
    return r;
}

/* "." and ".." are for opening files and have no meaning here. */
static bool has_dots(const char *path)
{
    while (*path) {
        size_t n;

        path += *path == '/';
        n = strcspn(path, "/");
        if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
            return true;
        path += n;
    }
    return false;
}

static int parse_path(const char *s, size_t n, struct http_target *ret, struct err *err)
{
    int r;

    if (n == 0 || (s[0] != '/' && !(n == 1 && s[0] == '*')))
        return err_set(err, -EINVAL, "a path that does not begin with '/'");
    r = http_unquote(s, n, false, &ret->path);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        return err_set(err, r, "a path with a wrong '%%' in it");
    if (has_dots(ret->path))
        return err_set(err, -EINVAL, "a path with '.' or '..' in it");
    return 0;
}

/* One "name=value". */
static int parse_pair(const char *s, size_t n, struct http_target *ret, struct err *err)
{
    const char *eq = memchr(s, '=', n);
    size_t name_len = eq ? (size_t)(eq - s) : n, value_at = eq ? name_len + 1 : n;
    AUTO_FREE char *name = NULL, *value = NULL;
    int r;

    if (n == 0)
        return 0;
    if (ret->names.n >= HTTP_QUERY_MAX)
        return err_set(err, -EINVAL, "a query with more than %d names", HTTP_QUERY_MAX);
    r = http_unquote(s, name_len, true, &name);
    if (r == 0)
        r = http_unquote(s + value_at, n - value_at, true, &value);
    if (r == -EINVAL)
        return err_set(err, r, "a query with a wrong '%%' in it");
    if (r < 0 || strs_take(&ret->names, take(name)) < 0 || strs_take(&ret->values, take(value)) < 0)
        return err_oom(err);
    return 0;
}

static int parse_query(const char *s, size_t n, struct http_target *ret, struct err *err)
{
    int r = 0;

    for (size_t at = 0; at < n && r == 0;) {
        const char *amp = memchr(s + at, '&', n - at);
        size_t len = amp ? (size_t)(amp - s) - at : n - at;

        r = parse_pair(s + at, len, ret, err);
        at += len + 1;
    }
    return r;
}

/* What comes after "http://host"; a proxy is asked so. */
static const char *skip_authority(const char *target)
{
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        size_t n = strlen(schemes[i]);

        if (strncasecmp(target, schemes[i], n) != 0)
            continue;
        target += n;
        target += strcspn(target, "/?#");
        return *target == '/' ? target : "/";
    }
    return target;
}

int http_target_parse(const char *target, struct http_target *ret, struct err *err)
{
    AUTO_DONE(http_target_done) struct http_target t = { 0 };
    size_t path_len, query_len;
    int r;

    target = skip_authority(target);
    path_len = strcspn(target, "?#");
    r = parse_path(target, path_len, &t, err);
    if (r == 0 && target[path_len] == '?') {
        query_len = strcspn(target + path_len + 1, "#");
        r = parse_query(target + path_len + 1, query_len, &t, err);
    }
    if (r < 0)
        return r;
    *ret = t;
    t = (struct http_target){ 0 };
    return 0;
}

void http_target_done(struct http_target *t)
{
    free(t->path);
    t->path = NULL;
    strs_done(&t->names);
    strs_done(&t->values);
}

const char *http_target_get(const struct http_target *t, const char *name)
{
    for (size_t i = 0; i < t->values.n; i++) {
        if (strcmp(t->names.v[i], name) == 0)
            return t->values.v[i];
    }
    return NULL;
}
