/* str.h - strings: making, splitting, parsing numbers and sizes, finding the nearest word. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new string, or NULL when out of memory. */
char *str_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *str_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

bool str_eq(const char *a, const char *b); /* NULL equals NULL only */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* What stands behind the last `c`, or all of `s`: the name of "dir/name", the class of "a.b.Class".
 */
const char *str_behind(const char *s, char c);
/* A hash for tables whose keys nobody chooses to make them slow: FNV-1a. */
uint64_t str_hash(const void *p, size_t n);

/* A list of strings that it owns; NULL-terminated at v[n] once it has an element. */
struct strs {
    char **v;
    size_t n;
};

void strs_done(struct strs *l);
int strs_add(struct strs *l, const char *s); /* copies */
int strs_addn(struct strs *l, const char *s, size_t n);
int strs_printf(struct strs *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int strs_take(struct strs *l, char *s); /* takes over `s`, also when it fails; NULL is -ENOMEM */
/* Splits at any of `seps`, drops empty pieces and the white space around each. */
int strs_split(struct strs *l, const char *s, const char *seps);
bool strs_has(const struct strs *l, const char *s);
void strs_sort(struct strs *l); /* by their bytes */

#define AUTO_STRS AUTO_DONE(strs_done) struct strs

/* Whole numbers and nothing else: -EINVAL for text, -ERANGE outside [min, max]. */
int str_to_i64(const char *s, int64_t min, int64_t max, int64_t *ret);

/* "512", "64k", "1.5g", "2GiB": powers of 1024. -EINVAL, -ERANGE. */
int str_to_size(const char *s, uint64_t *ret);

/* "250ms", "30s", "5m", "1h30m", "2d", or plain seconds; the result in milliseconds. */
int str_to_ms(const char *s, int64_t *ret);

/* "1.5 GB", "12 KB", "87 B": at most 9 bytes with the NUL. Powers of 1024. */
#define STR_SIZE_MAX 12
const char *str_size(uint64_t bytes, char out[STR_SIZE_MAX]);

/* Text that is safe to show on a terminal or in a log line: control characters and bytes that are
 * not UTF-8 become \n, \t, \r or \xNN. Cut at `cap` bytes with the NUL, never inside a character.
 * Returns the length. */
size_t str_clean(char *out, size_t cap, const char *s);
/* Bytes of the UTF-8 character at `s`, which is not the end; 0 when it is not one (or a control
 * character from 0x80 to 0x9f). */
size_t str_utf8_len(const char *s);

/* The word of `words` (n of them) nearest to `s`, or NULL when none is near enough to be meant. */
const char *str_nearest(const char *s, const char *const *words, size_t n);

/* Base64 with padding, no line breaks. *ret is the caller's. */
int str_base64(const void *p, size_t n, char **ret);
/* Decodes into a new block; -EINVAL when it is not base64. */
int str_unbase64(const char *s, uint8_t **ret, size_t *ret_n);
/* Lower-case hexadecimal. *ret is the caller's. */
int str_hex(const void *p, size_t n, char **ret);
