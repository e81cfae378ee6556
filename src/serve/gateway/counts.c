/* counts.c - counts as JSON, and what one document has more than another. See counts.h. */
#include "serve/gateway/counts.h"
#include "base/str.h"
#include "serve/gateway/histogram_json.h"

#include <stdlib.h>
#include <string.h>

int counts_put(json_t *counts, const struct traffic *t, const char *backend, const char *server,
               struct err *err)
{
    AUTO_FREE struct traffic_sum *s = calloc(1, sizeof(*s));
    AUTO_FREE char *key = str_printf(*server ? "%s/%s" : "%s", backend, server);
    json_t *row = NULL;
    int r;

    if (!s || !key)
        return err_oom(err);
    if (traffic_all(t, backend, server, s) < 0 || s->requests == 0)
        return 0; /* it was added a moment ago */
    r = json_make(&row, err, "{s:I, s:I, s:I, s:I, s:o}", "requests", (json_int_t)s->requests,
                  "errors", (json_int_t)s->errors, "refused", (json_int_t)s->refused, "retried",
                  (json_int_t)s->retried, "times", histogram_json(&s->times));
    return r < 0 ? r : json_object_set_new(counts, key, row) < 0 ? err_oom(err) : 0;
}

static bool counts_number(const json_t *row, const char *key, uint64_t *ret)
{
    int64_t n = json_int_or(row, key, -1);

    *ret = n > 0 ? (uint64_t)n : 0;
    return n >= 0;
}

static bool counts_row(const json_t *row, struct traffic_sum *ret)
{
    *ret = (struct traffic_sum){ 0 };
    return counts_number(row, "requests", &ret->requests) &&
           counts_number(row, "errors", &ret->errors) &&
           counts_number(row, "refused", &ret->refused) &&
           counts_number(row, "retried", &ret->retried) &&
           histogram_from_json(json_object_get(row, "times"), &ret->times) == 0;
}

static bool counts_times_grew(const struct histogram *now, const struct histogram *before)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (now->counts[i] < before->counts[i])
            return false;
    return true;
}

/* Less of anything: it was begun anew.
 *
 * The other gateway was started again, or the version left its spec and came back: all that it has
 * now is new. */
static void counts_take_off(struct traffic_sum *now, const struct traffic_sum *before)
{
    if (now->requests < before->requests || now->errors < before->errors ||
        now->refused < before->refused || now->retried < before->retried ||
        !counts_times_grew(&now->times, &before->times))
        return;
    now->requests -= before->requests;
    now->errors -= before->errors;
    now->refused -= before->refused;
    now->retried -= before->retried;
    now->times.total -= before->times.total;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        now->times.counts[i] -= before->times.counts[i];
}

static int counts_check(const json_t *now, struct traffic_sum *room, struct err *err)
{
    const char *key;
    json_t *row;

    if (!json_is_object(now))
        return err_set(err, -EINVAL, "the counts of another gateway are no object");
    json_object_foreach((json_t *)now, key, row)
    {
        if (!counts_row(row, room))
            return err_set(err, -EINVAL, "the counts of another gateway for '%.100s' are none",
                           key);
    }
    return 0;
}

int counts_add(struct traffic *t, const json_t *before, const json_t *now, int64_t clock,
               struct err *err)
{
    AUTO_FREE struct traffic_sum *s = calloc(2, sizeof(*s));
    int r = s ? counts_check(now, s, err) : err_oom(err);
    const char *key;
    json_t *row;

    if (r < 0)
        return r;
    json_object_foreach((json_t *)now, key, row)
    {
        const json_t *old = json_object_get(before, key);
        AUTO_FREE char *backend = strdup(key);
        char *slash = backend ? strchr(backend, '/') : NULL;

        if (!backend)
            return err_oom(err);
        if (slash)
            *slash = '\0';
        (void)counts_row(row, s);
        if (old && counts_row(old, s + 1))
            counts_take_off(s, s + 1);
        if (s->requests > 0)
            traffic_add(t, backend, slash ? slash + 1 : "", s, clock);
    }
    return 0;
}
