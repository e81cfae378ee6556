/* traffic_history_json.c - a history from its documents, to them, and as rows for people. Each task
 * of the job can write to the store, models included: nothing that is read there is believed. */
#include "base/str.h"
#include "serve/deployment/traffic_history_private.h"
#include "serve/gateway/histogram_json.h"

#include <string.h>

#define MINUTE_MAX ((json_int_t)1 << 32) /* the year 10135 */
#define MILLISECONDS(us) ((double)((us) / 10) / 100.0)

int traffic_history_sum(const json_t *v, struct history_sum *ret)
{
    int64_t requests = json_int_or(v, "requests", -1), errors = json_int_or(v, "errors", -1);

    *ret = (struct history_sum){ 0 };
    if (requests < 0 || errors < 0 || errors > requests)
        return -EINVAL;
    ret->requests = (uint64_t)requests;
    ret->errors = (uint64_t)errors;
    return histogram_from_json(json_object_get(v, "times"), &ret->times);
}

static json_t *sum_json(const struct history_sum *s)
{
    return json_pack("{s:I, s:I, s:o}", "requests", (json_int_t)s->requests, "errors",
                     (json_int_t)s->errors, "times", histogram_json(&s->times));
}

json_t *traffic_history_open(const struct traffic_history *h)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < h->n; i++) {
        const struct history_series *s = h->v[i];

        if (s->quarter.requests > 0 &&
            json_array_append_new(list,
                                  json_pack("{s:s, s:I, s:o, s:o}", "model", s->model, "version",
                                            (json_int_t)s->version, "minute", sum_json(&s->minute),
                                            "quarter", sum_json(&s->quarter))) < 0)
            return NULL;
    }
    return list ? json_pack("{s:I, s:I, s:O}", "minute", (json_int_t)h->minute, "quarter",
                            (json_int_t)h->quarter, "versions", list)
                : NULL;
}

/* ---- reading ---- */

static bool is_minute(int64_t v)
{
    return v > 0 && v < MINUTE_MAX;
}

/*     ["resnet", 2, 29854321, 1200, 3, 4100, 19800]
 *     model, version, minute since 1970, requests, errors, p50 and p99 in microseconds */
static bool is_row(const json_t *row)
{
    bool good = json_array_size(row) == 7 && json_is_string(json_array_get(row, 0));

    for (size_t i = 1; good && i < 7; i++)
        good = json_is_integer(json_array_get(row, i)) &&
               json_integer_value(json_array_get(row, i)) >= 0;
    return good && is_minute(json_integer_value(json_array_get(row, 2)));
}

/* Where an open document's minute and quarter begin. */
static bool open_times(const json_t *open, int64_t *ret_minute, int64_t *ret_quarter)
{
    *ret_minute = json_int_or(open, "minute", 0);
    *ret_quarter = json_int_or(open, "quarter", 0);
    return is_minute(*ret_minute) && *ret_quarter == *ret_minute - *ret_minute % HISTORY_QUARTER;
}

static int load_series(struct traffic_history *h, const json_t *one)
{
    const char *model = json_string_value(json_object_get(one, "model"));
    int64_t version = json_int_or(one, "version", -1);
    AUTO_FREE struct history_sum *sums = calloc(2, sizeof(*sums));
    struct history_series *s;

    if (!sums)
        return -ENOMEM;
    if (!model || version < 0 ||
        traffic_history_sum(json_object_get(one, "minute"), &sums[0]) < 0 ||
        traffic_history_sum(json_object_get(one, "quarter"), &sums[1]) < 0)
        return 0;
    s = traffic_history_series(h, model, version);
    if (!s)
        return 0;
    s->minute = sums[0];
    s->quarter = sums[1];
    return 0;
}

int traffic_history_load_open(struct traffic_history *h, const json_t *open)
{
    const json_t *one;
    size_t i;
    int r = 0;

    if (!open_times(open, &h->minute, &h->quarter)) {
        h->minute = h->quarter = 0;
        return 0;
    }
    h->day = h->quarter / HISTORY_DAY_MINUTES;
    json_array_foreach(json_object_get(open, "versions"), i, one)
    {
        if (r == 0)
            r = load_series(h, one);
    }
    return r;
}

/* In the order of their time: what is not is damaged. */
static int load_rows(const json_t *rows, int64_t from, int64_t to, json_t *into)
{
    int64_t last = from;
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        int64_t at = json_integer_value(json_array_get(row, 2));

        if (!is_row(row) || at < last || at > to)
            continue;
        if (json_array_append(into, row) < 0)
            return -ENOMEM;
        last = at;
    }
    return 0;
}

int traffic_history_load_rows(struct traffic_history *h, const json_t *minutes,
                              const json_t *quarters)
{
    int64_t day = h->day * HISTORY_DAY_MINUTES;
    int r = h->minute ? load_rows(minutes, h->minute - HISTORY_RECENT, h->minute, h->minutes) : 0;

    return r == 0 && h->minute
               ? load_rows(quarters, day, day + HISTORY_DAY_MINUTES - 1, h->quarters)
               : r;
}

/* ---- to be shown ---- */

static bool is_shown(const json_t *list, int64_t time, const json_t *row)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_int_or(one, "time", 0) == time &&
            json_equal(json_object_get(one, "version"), json_array_get(row, 1)) &&
            json_equal(json_object_get(one, "model"), json_array_get(row, 0)))
            return true;
    }
    return false;
}

static int show_row(const json_t *row, json_t *list, struct err *err)
{
    json_t *v = NULL;
    int r = json_make(&v, err, "{s:I, s:O, s:O, s:O, s:O, s:f, s:f}", "time",
                      json_integer_value(json_array_get(row, 2)) * 60000, "model",
                      json_array_get(row, 0), "version", json_array_get(row, 1), "requests",
                      json_array_get(row, 3), "errors", json_array_get(row, 4), "p50_ms",
                      MILLISECONDS(json_integer_value(json_array_get(row, 5))), "p99_ms",
                      MILLISECONDS(json_integer_value(json_array_get(row, 6))));

    if (r == 0 && json_array_append_new(list, v) < 0)
        r = err_oom(err);
    return r;
}

int traffic_history_show(const json_t *rows, int64_t from, json_t *list, struct err *err)
{
    const json_t *row;
    size_t i;
    int r = 0;

    json_array_foreach(rows, i, row)
    {
        if (r == 0 && is_row(row) && json_integer_value(json_array_get(row, 2)) >= from)
            r = show_row(row, list, err);
    }
    return r;
}

/* A minute is closed by writing its row, and the open document follows: between the two it is in
 * both, and `is_shown` keeps it from being shown twice. */
int traffic_history_show_open(const json_t *open, bool quarter, int64_t from, json_t *list,
                              struct err *err)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    int r = h ? traffic_history_load_open(h, open) : err_oom(err);
    int64_t at = h ? (quarter ? h->quarter : h->minute) : 0;

    for (size_t i = 0; r == 0 && i < h->n; i++) {
        const struct history_series *s = h->v[i];
        const struct history_sum *sum = quarter ? &s->quarter : &s->minute;
        AUTO_JSON *row = traffic_history_row(s, sum, at);

        if (!row)
            return err_oom(err);
        if (at >= from && sum->requests > 0 && !is_shown(list, at * 60000, row))
            r = show_row(row, list, err);
    }
    return r;
}
