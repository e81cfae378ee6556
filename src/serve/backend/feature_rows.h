/* feature_rows.h - what models of trees have in common: one input with rows of features, one output
 * with a number, or several, for each row. Pure logic. */
#pragma once
#include "serve/signature.h"

struct feature_rows {
    enum tensor_type type; /* of the numbers, in and out */
    int64_t features;      /* of a row */
    int64_t outputs;       /* for a row */
    bool flat;             /* the output has one dimension: a number for each row */
};

/* Into an empty one; the caller's. "input" of [-1, features], "output" of [-1] or [-1, outputs]. */
int feature_rows_signature(const struct feature_rows *f, struct signature *ret, struct err *err);
/* The number of rows, after a look at the shape. -EINVAL: it is not one of the signature's. */
int feature_rows_count(const struct feature_rows *f, const struct tensors *in, int64_t *ret,
                       struct err *err);
/* Adds the output for `rows` rows to `ret`; *ret_p is its place, zeroed. */
int feature_rows_output(const struct feature_rows *f, int64_t rows, struct tensors *ret,
                        void **ret_p, struct err *err);

/* What a library says of a failure, as one line: "[02:30:11] src/gbm/gbtree.cc:21: Check failed: a
 * == b\nStack trace:\n…" becomes "Check failed: a == b". What it quotes of a damaged file may be
 * any bytes: see str_clean(). Cut to the room; returns `out`. */
const char *feature_rows_sentence(const char *text, char *out, size_t room);
