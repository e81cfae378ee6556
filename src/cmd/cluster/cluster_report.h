/* cluster_report.h - YARN's records as JSON and as short texts. Pure but for the time.
 *
 * What makes JSON returns a value that is the caller's, or NULL when out of memory. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client.h"

json_t *fact_resource(const Yarn__Resource *r);
json_t *fact_node(const Yarn__NodeReport *n);
json_t *fact_app(const Yarn__ApplicationReport *a);
json_t *fact_attempt(const Yarn__ApplicationAttemptReport *a);

/* "1:02:03" between two times; "-" when it has not begun. `to` 0 means now. */
#define FACT_SPAN 24
const char *fact_span(int64_t from, int64_t to, int64_t now, char out[FACT_SPAN]);
/* The same between started_ms and finished_ms of an application. */
int fact_put_span(const json_t *app, struct buf *out);
bool fact_ended(const json_t *app);
