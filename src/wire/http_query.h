/* http_query.h - what a request asks for, taken apart: "/v1/logs?task=worker%3A1&follow=1". Pure.
 *
 * The path comes out decoded, absolute and plain: no NUL, no "." or ".." between slashes, however
 * they were written. So it can be compared, and joined to a directory, as it is. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define HTTP_QUERY_MAX 256 /* names in one query */

struct http_target {
    char *path;
    struct strs names, values; /* side by side */
};

/* "/path?query", or with "http://host" before it, or "*". -EINVAL with a sentence, -ENOMEM. */
int http_target_parse(const char *target, struct http_target *ret, struct err *err);
void http_target_done(struct http_target *t);
/* The first value of `name`, "" when it has none; NULL when it is not there. Borrowed. */
const char *http_target_get(const struct http_target *t, const char *name);

/* Undoes percent-encoding; with `plus`, '+' is a space. -EINVAL for a '%' without two hexadecimal
 * digits and for %00. *ret is the caller's. */
int http_unquote(const char *s, size_t n, bool plus, char **ret);
