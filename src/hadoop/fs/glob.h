/* glob.h - Hadoop's file name patterns. Pure, any thread; names and patterns are UTF-8.
 *
 *     *       any run of characters        ?       any one character
 *     [a-z]   one of these                 [^a-z]  one that is none of these ([!a-z] too)
 *     {a,b}   a or b, patterns themselves, also with slashes      \x      x itself */
#pragma once
#include "base/str.h"

/* Whether it has anything of the above, an escape included. */
bool glob_has(const char *pattern);

/* Adds the patterns without {} that `pattern` stands for. -EINVAL for a { without its }, or a \ at
 * the end; -E2BIG for more than a few thousand of them. */
int glob_expand(const char *pattern, struct strs *ret, struct err *err);

/* Whether a name fits a pattern of one path component, without {}. */
bool glob_match(const char *pattern, const char *name);

/* The name that a component without * ? [ stands for: its escapes taken away. A new string, or
 * NULL when out of memory. */
char *glob_literal(const char *component, size_t n);
