/* deployment_fetch.h - how far replicas are with fetching their models, as they say it under
 * DEPLOYMENT_FETCH. Pure. */
#pragma once
#include "base/json.h"

/* {"replica": "a-0", "group": "a", "done": …, "total": …}, the caller's; NULL: the key can be
 * deleted: it says nothing, or belongs to a replica that the plan does not have any more. */
json_t *deployment_fetch_row(const json_t *plan, const char *key, const char *value);

/* The row of a replica in a list of them; borrowed. NULL: it fetches nothing. */
const json_t *deployment_fetch_find(const json_t *rows, const char *replica);
/* Bytes that the replicas of a group have; NULL: of all groups. */
int64_t deployment_fetch_done(const json_t *rows, const char *group);
/* "fetching 312 MB of 1.2 GB"; the caller's, NULL when out of memory. */
char *deployment_fetch_text(const json_t *row);
