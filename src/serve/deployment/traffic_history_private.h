/* traffic_history_private.h - the insides of a history, for traffic_history*.c. */
#pragma once
#include "serve/deployment/traffic_history.h"
#include "serve/gateway/histogram.h"

struct history_sum {
    uint64_t requests, errors;
    struct histogram times;
};

/* A version. */
struct history_series {
    char model[64];
    int64_t version;
    struct history_sum seen; /* the gateway's totals at the last look */
    bool there;              /* they had this version */
    struct history_sum minute, quarter;
};

struct traffic_history {
    struct history_series **v;
    size_t n;
    int64_t minute, quarter; /* where the open ones begin; 0: nothing was counted yet */
    json_t *minutes, *quarters;
    int64_t day; /* of `quarters` */
    unsigned changed;
};

/* Found or made; NULL: there are too many, or no memory. Borrowed. */
struct history_series *traffic_history_series(struct traffic_history *h, const char *model,
                                              int64_t version);
/* The caller's; NULL: out of memory. */
json_t *traffic_history_row(const struct history_series *s, const struct history_sum *sum,
                            int64_t minute);
/* From {requests, errors, times}; -EINVAL. */
int traffic_history_sum(const json_t *v, struct history_sum *ret);
