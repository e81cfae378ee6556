/* array.h - arrays that grow: the one place where a block is reallocated for more elements.
 *
 *     struct row *v;   // NULL and 0 elements at first; free() is the caller's
 *     size_t n;
 *
 *     if (l->n == ROWS_MAX)
 *         return -E2BIG;
 *     return ARRAY_ADD(l->v, l->n, (struct row){ name, 1 });   // 0 or -ENOMEM
 *
 * The capacity follows from the count: the block moves at 0, 1, 2, 4, 8 … elements, so it needs no
 * field of its own. Elements may be taken out, but every one must have been put in by this header:
 * a block of exactly n elements from elsewhere has no room that the count would promise. For those,
 * and where room for several is wanted at once, there is ARRAY_FIT with a capacity field.
 *
 * When there is no memory, array and count stay as they were, and a value is not evaluated. The
 * other arguments are evaluated several times. */
#pragma once
#include "base/auto.h"
#include <stdint.h>
#include <string.h>

/* Room for one element more than `n`. */
#define ARRAY_ROOM(v, n)                                                                           \
    ({                                                                                             \
        void *array_ = array_room_((v), (n), sizeof(*(v)));                                        \
        if (array_)                                                                                \
            (v) = array_;                                                                          \
        array_ ? 0 : -ENOMEM;                                                                      \
    })

/* Adds a value at the end. */
#define ARRAY_ADD(v, n, ...)                                                                       \
    ({                                                                                             \
        int added_ = ARRAY_ROOM(v, n);                                                             \
        if (added_ == 0)                                                                           \
            (v)[(n)++] = (__VA_ARGS__);                                                            \
        added_;                                                                                    \
    })

/* Puts a value in at index `at`; those from there on move up. */
#define ARRAY_INSERT(v, n, at, ...)                                                                \
    ({                                                                                             \
        int added_ = ARRAY_ROOM(v, n);                                                             \
        if (added_ == 0) {                                                                         \
            memmove(&(v)[(at) + 1], &(v)[at], ((n) - (at)) * sizeof(*(v)));                        \
            (v)[at] = (__VA_ARGS__);                                                               \
            (n)++;                                                                                 \
        }                                                                                          \
        added_;                                                                                    \
    })

/* Room for `need` elements in an array whose capacity stands in `cap`. */
#define ARRAY_FIT(v, cap, need)                                                                    \
    ({                                                                                             \
        size_t fit_ = (cap);                                                                       \
        void *array_ = array_fit_((v), &fit_, (need), sizeof(*(v)));                               \
        if (array_) {                                                                              \
            (v) = array_;                                                                          \
            (cap) = (__typeof__(cap))fit_;                                                         \
        }                                                                                          \
        array_ ? 0 : -ENOMEM;                                                                      \
    })

static inline void *array_fit_(void *v, size_t *cap, size_t need, size_t item)
{
    size_t bigger = *cap ? *cap : 1;

    if (v && need <= *cap)
        return v;
    if (need > SIZE_MAX / 2)
        return NULL; /* no power of two is as large */
    while (bigger < need)
        bigger *= 2;
    v = reallocarray(v, bigger, item);
    if (v)
        *cap = bigger;
    return v;
}

static inline void *array_room_(void *v, size_t n, size_t item)
{
    size_t cap = n;

    return v && (n & (n - 1)) != 0 ? v : array_fit_(v, &cap, n + 1, item);
}
