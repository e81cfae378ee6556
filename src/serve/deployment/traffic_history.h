/* traffic_history.h - what each version of a deployment answered, over time: a row for each minute
 * of the last two hours, and one for each quarter of an hour of 30 days. Pure; the caller has the
 * clock and the store.
 *
 *     serve/history/open       the minute and the quarter that are not over, with all their times
 *     serve/history/minutes    [["resnet", 1, MINUTE, REQUESTS, ERRORS, P50, P99], …]
 *     serve/history/day/20411  the same of the quarters of a day
 *
 * MINUTE is where the row begins, in minutes since 1970, and P50 and P99 are microseconds. Only
 * minutes with requests have a row, so that a version that is gone leaves when its last row does.
 * Days are numbers since 1970 in UTC. Everything can be written twice: who is killed between two
 * writes makes the same rows again. */
#pragma once
#include "base/auto.h"
#include "base/json.h"
#include <stdbool.h>

#define HISTORY_AT "serve/history/"
#define HISTORY_OPEN HISTORY_AT "open"
#define HISTORY_MINUTES HISTORY_AT "minutes"
#define HISTORY_DAY HISTORY_AT "day/" /* and its number */

#define HISTORY_QUARTER 15 /* minutes of one */
#define HISTORY_RECENT 120 /* minutes that have rows of their own */
#define HISTORY_DAYS 30    /* that quarters are kept */
#define HISTORY_DAY_MINUTES 1440

struct traffic_history; /* opaque */

struct traffic_history *traffic_history_new(void); /* NULL: out of memory */
struct traffic_history *traffic_history_free(struct traffic_history *h);
AUTO_DEFINE(traffic_history, struct traffic_history *, traffic_history_free);

/* Goes on from HISTORY_OPEN, then from the other two, whose rows are of the day that
 * traffic_history_day() says after the first. What is damaged counts as not there. -ENOMEM. */
int traffic_history_load_open(struct traffic_history *h, const json_t *open);
int traffic_history_load_rows(struct traffic_history *h, const json_t *minutes,
                              const json_t *quarters);

/* Counts what the gateway's "totals" have more than those of the last call; `now`: milliseconds
 * since 1970. -EINVAL: they are none. */
int traffic_history_count(struct traffic_history *h, const json_t *totals, int64_t now,
                          struct err *err);

/* ---- to be written ---- */

enum { HISTORY_NEW_OPEN = 1, HISTORY_NEW_MINUTES = 2, HISTORY_NEW_DAY = 4 };

/* Bits: what has changed since it was written. */
unsigned traffic_history_changed(const struct traffic_history *h);
void traffic_history_written(struct traffic_history *h, unsigned bits);
json_t *traffic_history_open(const struct traffic_history *h); /* the caller's; NULL: no memory */
const json_t *traffic_history_minutes(const struct traffic_history *h);  /* borrowed */
const json_t *traffic_history_quarters(const struct traffic_history *h); /* of that day */
int64_t traffic_history_day(const struct traffic_history *h);
/* Is this key of a day that is not kept any more? */
bool traffic_history_is_past(const char *key, int64_t now);

/* ---- to be shown ---- */

/* Adds {time, model, version, requests, errors, p50_ms, p99_ms} for each row from minute `from` on,
 * `time` in milliseconds. What is no row is passed over. */
int traffic_history_show(const json_t *rows, int64_t from, json_t *list, struct err *err);
/* The same of the minute (or quarter) that is not over, unless its row is in the list already. */
int traffic_history_show_open(const json_t *open, bool quarter, int64_t from, json_t *list,
                              struct err *err);
