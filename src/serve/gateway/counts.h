/* counts.h - what went through a gateway since its versions and replicas are in its spec, as JSON:
 * one of several gateways of a deployment adds to its own counts what the others had. Pure.
 *
 *     {"resnet:1": {"requests": 7, "errors": 0, "refused": 0, "retried": 0, "times": […]},
 *      "resnet:1/10.0.0.7:9000": {…}}
 *
 * Who adds remembers what was added: a document may be added twice, and one that was lost is in the
 * next. */
#pragma once
#include "base/json.h"
#include "serve/gateway/traffic.h"

/* Adds a backend's row, or a server's, to an object; nothing where nothing is declared, or there
 * was no request. */
int counts_put(json_t *counts, const struct traffic *t, const char *backend, const char *server,
               struct err *err);

/* Adds what `now` has more than `before` (NULL: it was empty). A row that has less was begun anew,
 * and counts as a whole. -EINVAL for what is no such document; then nothing is added. */
int counts_add(struct traffic *t, const json_t *before, const json_t *now, int64_t clock,
               struct err *err);
