/* cluster_report.h - YARN's records as JSON and as short texts. Pure.
 *
 * What makes JSON returns a value that is the caller's, or NULL when out of memory. */
#pragma once
#include "base/json.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client.h"

json_t *fact_time(int64_t ms); /* null for 0 */
json_t *fact_resource(const Yarn__Resource *r);
json_t *fact_node(const Yarn__NodeReport *n);
json_t *fact_app(const Yarn__ApplicationReport *a);
json_t *fact_attempt(const Yarn__ApplicationAttemptReport *a);

/* "1.5 GB" of megabytes. */
#define FACT_SIZE 16
const char *fact_memory(int64_t mb, char out[FACT_SIZE]);
/* "2026-11-16 04:12", "-" for 0. */
#define FACT_TIME 24
const char *fact_when(int64_t ms, char out[FACT_TIME]);
/* "1:02:03" between two times; "-" when it has not begun. `to` 0 means now. */
#define FACT_SPAN 24
const char *fact_span(int64_t from, int64_t to, int64_t now, char out[FACT_SPAN]);
/* "a,b", or "-"; cut to what fits. */
const char *fact_join(char *const *v, size_t n, char *out, size_t cap);
