/* format_xgboost_ubj.h - what XGBoost's model says, from either of its forms. Private to this
 * directory.
 */
#pragma once
#include "model/format/format_pages.h"

struct xgboost {
    bool is; /* it is one */
    int64_t features, classes, version[3];
    char objective[64];
};

/* One of the facts that stand as text: num_feature, num_class, or name of the objective. */
void xgboost_take(struct xgboost *x, const char *key, const char *value);

bool xgboost_ubj_begins(const uint8_t *p, size_t n);
/* Fills `x`; x->is stays false when the document is not XGBoost's. */
int xgboost_ubj(const struct format_tree *t, size_t file, struct xgboost *x, struct err *err);
