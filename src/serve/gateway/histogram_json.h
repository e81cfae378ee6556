/* histogram_json.h - a histogram as JSON, short when few of its buckets are in use:
 *
 *     [BUCKET, COUNT, BUCKET, COUNT, …]
 *
 * Pure. */
#pragma once
#include "base/json.h"
#include "serve/gateway/histogram.h"

/* The caller's; NULL: out of memory. */
json_t *histogram_json(const struct histogram *h);
/* -EINVAL for what is none. */
int histogram_from_json(const json_t *v, struct histogram *ret);
