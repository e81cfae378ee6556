/* json.h - a few helpers over jansson: build, parse hostile text, print.
 *
 * jansson's own json_* functions are there for the rest. Objects keep the order in which their
 * keys were set, so that what is printed is stable. Any thread, one at a time per value. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <jansson.h>
#include <stdio.h>

/* Deepest nesting that is parsed: jansson recurses, and fibers have small stacks. */
#define JSON_DEPTH_MAX 64

/* A value by json_pack()'s format: json_make(&v, err, "{s:s, s:I}", "name", name, "size", n).
 * -ENOMEM, or -EILSEQ when a text is not UTF-8 (see json_text). Values handed over with `o` are
 * used up in any case, and one that is NULL counts as out of memory: so makers can be nested.
 * *ret is the caller's. */
int json_make(json_t **ret, struct err *err, const char *fmt, ...);

/* A string of any bytes: what is not UTF-8 becomes U+FFFD. JSON null for NULL. NULL when out of
 * memory. For names that come from outside. */
json_t *json_text(const char *s);

/* Strings as a list: `n` of them, or as many as there are before a NULL. NULL when out of memory.
 */
json_t *json_texts(char *const *v, size_t n);

/* What a member of an object holds; `otherwise` when it is missing or no whole number. */
int64_t json_int_or(const json_t *v, const char *key, int64_t otherwise);

/* Parses exactly one value of at most JSON_DEPTH_MAX levels; a key may stand only once in an
 * object. -EINVAL with `what` (a file name, "answer of …"), line and column. *ret is the
 * caller's. */
int json_parse(const char *what, const void *p, size_t n, json_t **ret, struct err *err);

/* The same for a file of at most `max` bytes. */
int json_parse_file(const char *path, size_t max, json_t **ret, struct err *err);

/* Prints and flushes: on one line, or indented when `out` is a terminal. */
int json_print(FILE *out, const json_t *v, struct err *err);

AUTO_DEFINE(json, json_t *, json_decref);
#define AUTO_JSON AUTO(json) json_t
