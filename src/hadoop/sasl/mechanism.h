/* mechanism.h - what a mechanism puts behind sasl.h. For digest.c and gss.c only.
 *
 * A mechanism's own struct begins with a `struct sasl` set up by its constructor. sasl.c sees to
 * the order of calls: `step` never comes after the end, `wrap` and `unwrap` only after it, nothing
 * after a failure; and it takes back what a failed call left in `out`. */
#pragma once
#include "hadoop/sasl/sasl.h"

struct sasl_ops {
    const char *name;
    int (*step)(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);
    int (*wrap)(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);
    int (*unwrap)(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err);
    void (*free)(struct sasl *s); /* frees `s` itself too; never called with NULL */
};

struct sasl {
    const struct sasl_ops *ops;
    enum sasl_qop qop; /* set by the mechanism before `done` */
    bool done;         /* set by the mechanism's step */
    bool failed;       /* set by sasl.c */
};
