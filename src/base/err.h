/* err.h - an error: a negative errno, a sentence, and perhaps a hint.
 *
 * Functions that can fail return 0 or a negative errno and take a `struct err *` last. It lives on
 * the caller's stack, is set once where the failure is seen, wrapped on the way up, and untouched
 * on success. Reporting an error allocates nothing, so it cannot fail. `err` may be NULL when the
 * caller wants the number only. */
#pragma once
#include <stdarg.h>

struct err {
    int code;       /* negative errno, 0 while unset */
    int detail;     /* further detail, numbered by the layer that set it (rpc: the exception) */
    char text[480]; /* one sentence without a final full stop; user values stand in 'quotes' */
    char hint[240]; /* what to do about it, or "" */
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }

/* Sets the error and returns `code`, which must be negative: return err_set(err, -EINVAL, …). */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with `errno`, whose text is added after ": ". */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a libuv or negative errno code returned by somebody else. */
int err_code(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "fmt: " before the text that is there; returns `code`. */
int err_wrap(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* -ENOMEM with its one sentence. */
int err_oom(struct err *err);

/* Adds what the user can do. The first hint stays: it was given nearest to the cause. */
void err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Empties the error, for a failure that was dealt with. */
void err_clear(struct err *err);
/* The same for the one failure that is none here: returns 0 where `r` is `fine`, else `r`. */
int err_forgive(struct err *err, int r, int fine);
