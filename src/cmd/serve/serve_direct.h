/* serve_direct.h - where a deployment answers that has no gateway: at its replicas. Pure. */
#pragma once
#include "base/json.h"
#include <stdbool.h>
#include <stddef.h>

/* Does this plan, or what the deployment says of itself, have no gateway? */
bool serve_is_direct(const json_t *doc);
/* The addresses of replicas that are ready and have the version that serves, "http://HOST:PORT" in
 * their order; empty when nobody knows any. The caller's; NULL when out of memory. */
json_t *serve_direct_urls(const json_t *report);
/* Are there as many? Then *ret, the caller's, is the list. */
bool serve_direct_all(const json_t *report, unsigned replicas, json_t **ret);
/* The first of them into `url`, where there is no gateway; else it stays as it is. */
void serve_direct_first(const json_t *report, char *url, size_t size);
/* The one after `url` in such a list, the first after the last one; NULL: there is none. */
const char *serve_direct_next(const json_t *urls, const char *url);
