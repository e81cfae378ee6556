/* traffic_history.c - counts that grow become minutes, and minutes rows. See traffic_history.h. */
#include "serve/deployment/traffic_history.h"
#include "base/array.h"
#include "base/str.h"
#include "serve/deployment/traffic_history_private.h"

#include <stdio.h>
#include <string.h>

#define SERIES_MAX 256 /* versions within a quarter of an hour */
#define ROWS_MAX 6000  /* of a document: less than the store's MiB */
#define BACK_MAX 60    /* minutes: a clock that is set back further begins there */

struct traffic_history *traffic_history_new(void)
{
    AUTO(traffic_history) struct traffic_history *h = calloc(1, sizeof(*h));

    if (!h || !(h->minutes = json_array()) || !(h->quarters = json_array()))
        return NULL;
    return take(h);
}

struct traffic_history *traffic_history_free(struct traffic_history *h)
{
    for (size_t i = 0; h && i < h->n; i++)
        free(h->v[i]);
    if (h) {
        free(h->v);
        json_decref(h->minutes);
        json_decref(h->quarters);
    }
    free(h);
    return NULL;
}

struct history_series *traffic_history_series(struct traffic_history *h, const char *model,
                                              int64_t version)
{
    struct history_series *s;

    for (size_t i = 0; i < h->n; i++)
        if (h->v[i]->version == version && str_eq(h->v[i]->model, model))
            return h->v[i];
    if (h->n == SERIES_MAX || strlen(model) >= sizeof(s->model) || !(s = calloc(1, sizeof(*s))))
        return NULL;
    (void)snprintf(s->model, sizeof(s->model), "%s", model);
    s->version = version;
    if (ARRAY_ADD(h->v, h->n, s) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

/* ---- rows ---- */

/* The same version and time again: made twice, by two controllers. */
static bool is_same_row(const json_t *a, const json_t *b)
{
    return json_equal(json_array_get(a, 2), json_array_get(b, 2)) &&
           json_equal(json_array_get(a, 1), json_array_get(b, 1)) &&
           json_equal(json_array_get(a, 0), json_array_get(b, 0));
}

/* `row` is used up. Rows are in the order of their time. */
static int history_put(json_t *rows, json_t *row)
{
    size_t n = json_array_size(rows);

    for (size_t i = n; row && i > 0; i--) {
        const json_t *old = json_array_get(rows, i - 1);

        if (is_same_row(old, row))
            return json_array_set_new(rows, i - 1, row) < 0 ? -ENOMEM : 0;
        if (!json_equal(json_array_get(old, 2), json_array_get(row, 2)))
            break;
    }
    if (!row || json_array_append_new(rows, row) < 0)
        return -ENOMEM;
    return json_array_size(rows) > ROWS_MAX && json_array_remove(rows, 0) < 0 ? -ENOMEM : 0;
}

/* Rows outside of these minutes go. */
static void history_keep(json_t *rows, int64_t from, int64_t to)
{
    for (size_t i = json_array_size(rows); i > 0; i--) {
        json_int_t at = json_integer_value(json_array_get(json_array_get(rows, i - 1), 2));

        if (at < from || at > to)
            (void)json_array_remove(rows, i - 1);
    }
}

json_t *traffic_history_row(const struct history_series *s, const struct history_sum *sum,
                            int64_t minute)
{
    return json_pack("[s, I, I, I, I, I, I]", s->model, (json_int_t)s->version, (json_int_t)minute,
                     (json_int_t)sum->requests, (json_int_t)sum->errors,
                     (json_int_t)histogram_quantile(&sum->times, 500),
                     (json_int_t)histogram_quantile(&sum->times, 990));
}

/* ---- time goes on ---- */

static int close_minute(struct traffic_history *h)
{
    for (size_t i = 0; i < h->n; i++) {
        struct history_series *s = h->v[i];

        if (s->minute.requests == 0)
            continue;
        if (history_put(h->minutes, traffic_history_row(s, &s->minute, h->minute)) < 0)
            return -ENOMEM;
        s->minute = (struct history_sum){ 0 };
        h->changed |= HISTORY_NEW_MINUTES | HISTORY_NEW_OPEN;
    }
    return 0;
}

/* A series that has had nothing in a quarter, and is not in the gateway, goes.
 *
 * The day's rows are one document of the store: it begins anew with the day. */
static int close_quarter(struct traffic_history *h)
{
    size_t kept = 0;

    if (h->day != h->quarter / HISTORY_DAY_MINUTES) {
        json_array_clear(h->quarters);
        h->day = h->quarter / HISTORY_DAY_MINUTES;
    }
    for (size_t i = 0; i < h->n; i++) {
        struct history_series *s = h->v[i];

        if (s->quarter.requests == 0)
            continue;
        if (history_put(h->quarters, traffic_history_row(s, &s->quarter, h->quarter)) < 0)
            return -ENOMEM;
        s->quarter = (struct history_sum){ 0 };
        h->changed |= HISTORY_NEW_DAY | HISTORY_NEW_OPEN;
    }
    for (size_t i = 0; i < h->n; i++)
        if (h->v[i]->seen.requests > 0)
            h->v[kept++] = h->v[i];
        else
            free(h->v[i]);
    h->n = kept;
    return 0;
}

/* A clock that is set back a little counts into the minute that is open until it has caught up. */
static int history_roll(struct traffic_history *h, int64_t minute)
{
    int64_t quarter = minute - minute % HISTORY_QUARTER;
    bool back = h->minute - minute > BACK_MAX;
    int r = 0;

    if (minute <= h->minute && !back)
        return 0;
    r = close_minute(h);
    if (r == 0 && quarter != h->quarter)
        r = close_quarter(h);
    if (r < 0)
        return r;
    h->minute = minute;
    h->quarter = quarter;
    history_keep(h->minutes, minute - HISTORY_RECENT, minute);
    if (back)
        history_keep(h->quarters, 0, quarter);
    return 0;
}

/* ---- counting ---- */

/* Counts of buckets start again at 0 after 2^32: what came between two looks is right all the same.
 */
static void sum_grow(struct history_sum *into, const struct history_sum *now,
                     const struct history_sum *before)
{
    into->requests += now->requests - before->requests;
    into->errors += now->errors - before->errors;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint32_t more = now->times.counts[i] - before->times.counts[i];

        into->times.counts[i] += more;
        into->times.total += more;
    }
}

/* Fewer than before: the version was taken out of the gateway and put in again. */
static void history_grow(struct traffic_history *h, struct history_series *s,
                         const struct history_sum *now)
{
    if (now->requests < s->seen.requests || now->errors < s->seen.errors)
        s->seen = (struct history_sum){ 0 };
    if (now->requests > s->seen.requests) {
        sum_grow(&s->minute, now, &s->seen);
        sum_grow(&s->quarter, now, &s->seen);
        h->changed |= HISTORY_NEW_OPEN;
    }
    s->seen = *now;
    s->there = true;
}

static int history_count_one(struct traffic_history *h, const json_t *one, struct history_sum *now)
{
    const char *model = json_string_value(json_object_get(one, "model"));
    int64_t version = json_int_or(one, "version", -1);
    struct history_series *s;

    if (!model || version < 0 || traffic_history_sum(one, now) < 0)
        return -EINVAL;
    s = traffic_history_series(h, model, version);
    if (s)
        history_grow(h, s, now);
    return 0;
}

int traffic_history_count(struct traffic_history *h, const json_t *totals, int64_t now,
                          struct err *err)
{
    AUTO_FREE struct history_sum *sum = calloc(1, sizeof(*sum));
    const json_t *one;
    size_t i;
    int r = sum && history_roll(h, now / 60000) == 0 ? 0 : err_oom(err);

    if (r == 0 && !json_is_array(totals))
        r = err_set(err, -EINVAL, "the gateway's totals are no list");
    for (i = 0; i < h->n; i++)
        h->v[i]->there = false;
    json_array_foreach(totals, i, one)
    {
        if (r == 0 && (r = history_count_one(h, one, sum)) < 0)
            err_set(err, r, "the gateway's totals are none");
    }
    for (i = 0; r == 0 && i < h->n; i++)
        if (!h->v[i]->there)
            h->v[i]->seen = (struct history_sum){ 0 };
    return r;
}

/* ---- to be written ---- */

unsigned traffic_history_changed(const struct traffic_history *h)
{
    return h->changed;
}

void traffic_history_written(struct traffic_history *h, unsigned bits)
{
    h->changed &= ~bits;
}

const json_t *traffic_history_minutes(const struct traffic_history *h)
{
    return h->minutes;
}

const json_t *traffic_history_quarters(const struct traffic_history *h)
{
    return h->quarters;
}

int64_t traffic_history_day(const struct traffic_history *h)
{
    return h->day;
}

bool traffic_history_is_past(const char *key, int64_t now)
{
    int64_t today = now / 60000 / HISTORY_DAY_MINUTES, day;

    return str_starts(key, HISTORY_DAY) &&
           (str_to_i64(key + strlen(HISTORY_DAY), 0, INT64_MAX, &day) < 0 ||
            day < today - HISTORY_DAYS || day > today + 1);
}
