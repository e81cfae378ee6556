/* tidy.h - what clang-tidy has to be told: that functions which report an error return one.
 *
 * They are defined in another file, so the analyzer takes their result for any number, follows
 * `return err_set(…)` as a success, and finds null pointers after every call that cannot be there.
 * tools/tidy includes this before every file but err.c. */
#pragma once
#include "base/err.h"
#include <errno.h>

static inline int tidy_negative(int code)
{
    if (code >= 0)
        __builtin_unreachable();
    return code;
}

#define err_set(err, code, ...) ((err_set)(err, code, __VA_ARGS__), tidy_negative(code))
#define err_code(err, code, ...) ((err_code)(err, code, __VA_ARGS__), tidy_negative(code))
#define err_wrap(err, code, ...) ((err_wrap)(err, code, __VA_ARGS__), tidy_negative(code))
#define err_sys(err, ...) ((err_sys)(err, __VA_ARGS__), tidy_negative(-errno))
#define err_oom(err) ((err_oom)(err), -ENOMEM)
