/* gateway_reports.c - who of several gateways is waited for, and one report made of all of theirs.
 */
#include "serve/deployment/gateway_reports.h"
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"

#include <string.h>

#define SILENT_LOOKS 12  /* about three seconds; it speaks every second */
#define BEHIND_LOOKS 120 /* about thirty seconds */

/* ---- one of the others ---- */

void gateway_seen_done(struct gateway_seen *s)
{
    json_decref(s->report);
    *s = (struct gateway_seen){ 0 };
}

static int64_t seen_revision(const struct gateway_seen *s)
{
    return json_int_or(s->report, "revision", -1);
}

/* `silent` counts looks in which its beat stood still, `behind` those in which it had not the plan:
 * a gateway that hangs is left out of the sums after three seconds, and not waited for any more
 * after thirty. */
int gateway_seen_look(struct gateway_seen *s, const char *text, int64_t revision, struct err *err)
{
    json_t *report = NULL;

    if (!text) {
        gateway_seen_done(s);
        return 0;
    }
    if (json_parse("a gateway's report", text, strlen(text), &report, err) == -ENOMEM)
        return -ENOMEM;
    if (json_is_object(report)) {
        int64_t beat = json_int_or(report, "beat", 0);

        s->silent = s->report && beat == s->beat ? s->silent + 1 : 0;
        s->beat = beat;
        json_decref(s->report);
        s->report = take(report);
    } else {
        s->silent++;
    }
    json_decref(report);
    err_clear(err);
    s->behind = gateway_seen_counts(s) && seen_revision(s) >= revision ? 0 : s->behind + 1;
    return 0;
}

bool gateway_seen_is_waited_for(const struct gateway_seen *s, int64_t revision)
{
    return s->report && seen_revision(s) < revision && s->behind < BEHIND_LOOKS;
}

bool gateway_seen_counts(const struct gateway_seen *s)
{
    return s->report && s->silent < SILENT_LOOKS &&
           json_is_object(json_object_get(s->report, "status"));
}

static const json_t *seen_status(const struct gateway_seen *s)
{
    return json_object_get(s->report, "status");
}

bool gateway_seen_strays(const struct gateway_seen *s, const char *model, int64_t serve)
{
    const json_t *m = gateway_seen_counts(s) ? deployment_model(seen_status(s), model) : NULL;

    return m && (json_int_or(m, "serves", 0) != serve || json_object_get(m, "canary"));
}

/* ---- one status of all ---- */

static int reports_set_int(json_t *v, const char *key, int64_t n)
{
    return json_object_set_new(v, key, json_integer((json_int_t)n));
}

static int reports_sum(json_t *v, const json_t *other, const char *key)
{
    return reports_set_int(v, key, json_int_or(v, key, 0) + json_int_or(other, key, 0));
}

static json_t *reports_replica(const json_t *list, const json_t *like)
{
    const json_t *address = json_object_get(like, "address");
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_equal(json_object_get(one, "address"), address))
            return one;
    }
    return NULL;
}

static bool reports_is(const json_t *replica, const char *state)
{
    return str_eq(json_string_value(json_object_get(replica, "state")), state);
}

/* One that a gateway still has something for is not gone.
 *
 *     here          there          of all
 *     drained       draining       draining: whoever waits to stop it waits for every gateway
 *     (no row)      leaving        leaving, with what is in flight there */
static int reports_replicas(json_t *version, const json_t *other, struct err *err)
{
    const json_t *rows = json_object_get(other, "replicas"), *row;
    json_t *list = json_object_get(version, "replicas");
    size_t i;

    json_array_foreach(rows, i, row)
    {
        json_t *mine = reports_replica(list, row);
        int r;

        if (!json_is_object(row))
            continue;
        if (!mine) {
            r = json_array_append_new(list, json_copy((json_t *)row));
        } else {
            r = reports_sum(mine, row, "in_flight");
            if (r == 0 && reports_is(mine, "drained") && reports_is(row, "draining"))
                r = json_object_set(mine, "state", json_object_get(row, "state"));
        }
        if (r < 0)
            return err_oom(err);
    }
    return 0;
}

/* `ready` is the least of all: a replica counts as ready only if every gateway that counts can send
 * to it, so that an update goes on only then. */
static int reports_model(json_t *model, const json_t *other, struct err *err)
{
    const json_t *versions = json_object_get(model, "versions");
    json_t *v;
    size_t i;

    json_array_foreach(versions, i, v)
    {
        const json_t *theirs = deployment_version(other, json_int_or(v, "version", 0));
        int64_t ready = json_int_or(theirs, "ready", 0);

        if (ready < json_int_or(v, "ready", 0) && reports_set_int(v, "ready", ready) < 0)
            return err_oom(err);
        if (theirs && reports_sum(v, theirs, "waiting") < 0)
            return err_oom(err);
        if (theirs && reports_replicas(v, theirs, err) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int reports_row(json_t *status, const json_t *of, unsigned index, const char *state,
                       struct err *err)
{
    const json_t *haproxy = json_object_get(of, "haproxy");
    json_t *row = NULL;
    int r = json_make(&row, err, "{s:i, s:s, s:O?, s:I}", "index", (int)index, "state", state,
                      "port", json_object_get(of, "port"), "restarts",
                      (json_int_t)json_int_or(haproxy, "restarts", 0));

    if (r < 0)
        return r;
    return json_array_append_new(json_object_get(status, "gateways"), row) < 0 ? err_oom(err) : 0;
}

int gateway_reports_begin(json_t *status, struct err *err)
{
    if (json_object_set_new(status, "gateways", json_array()) < 0)
        return err_oom(err);
    return reports_row(status, status, 0, "ready", err);
}

/* A gateway that does not count gets a row, but adds nothing: its numbers are old. `age_ms` becomes
 * that of the oldest look; -1, which says that HAProxy has not been looked at, stays. */
int gateway_reports_join(json_t *status, const struct gateway_seen *s, unsigned index,
                         struct err *err)
{
    const json_t *other = seen_status(s), *models = json_object_get(status, "models"), *m;
    json_t *haproxy = json_object_get(status, "haproxy");
    int64_t age = json_int_or(other, "age_ms", -1);
    size_t i;

    if (!gateway_seen_counts(s))
        return reports_row(status, NULL, index, s->report && s->silent ? "silent" : "starting",
                           err);
    json_array_foreach(models, i, m)
    {
        const json_t *theirs =
            deployment_model(other, json_string_value(json_object_get(m, "name")));

        if (reports_model((json_t *)m, theirs, err) < 0)
            return -ENOMEM;
    }
    if (reports_sum(haproxy, json_object_get(other, "haproxy"), "leaving") < 0)
        return err_oom(err);
    if ((age < 0 || age > json_int_or(status, "age_ms", 0)) &&
        json_int_or(status, "age_ms", 0) >= 0 && reports_set_int(status, "age_ms", age) < 0)
        return err_oom(err);
    return reports_row(status, other, index, "ready", err);
}

static void brief_numbers(json_t *v)
{
    static const char *const counted[] = { "requests", "errors", "retried", "requests_per_second",
                                           "p50_ms",   "p99_ms" };

    for (size_t i = 0; i < COUNT_OF(counted); i++)
        (void)json_object_del(v, counted[i]);
}

int gateway_reports_brief(json_t *status, struct err *err)
{
    const json_t *models = json_object_get(status, "models"), *m, *versions;
    json_t *v, *replica;
    size_t i, k, n;

    if (!json_is_array(models))
        return err_set(err, -EINVAL, "the gateway says nothing of its models");
    json_array_foreach(models, i, m)
    {
        versions = json_object_get(m, "versions");
        json_array_foreach(versions, k, v)
        {
            brief_numbers(v);
            json_array_foreach(json_object_get(v, "replicas"), n, replica) brief_numbers(replica);
        }
    }
    return 0;
}

/* ---- shares ---- */

/* A version that has shifted, or is done, has all requests. */
static double share_of(const json_t *canary)
{
    const char *state = json_string_value(json_object_get(canary, "state"));

    return str_eq(state, "shifted") || str_eq(state, "done")
               ? 100
               : json_number_value(json_object_get(canary, "percent"));
}

int gateway_shares_make(const json_t *status, json_t **ret, struct err *err)
{
    const json_t *models = json_object_get(status, "models"), *m, *canary;
    AUTO_JSON *shares = json_object();
    size_t i;

    json_array_foreach(models, i, m)
    {
        const char *name = json_string_value(json_object_get(m, "name"));

        canary = json_object_get(m, "canary");
        if (name && canary &&
            json_object_set_new(shares, name,
                                json_pack("{s:O, s:f}", "version",
                                          json_object_get(canary, "version"), "percent",
                                          share_of(canary))) < 0)
            return err_oom(err);
    }
    if (!shares)
        return err_oom(err);
    *ret = take(shares);
    return 0;
}

double gateway_share(const json_t *shares, const char *model, int64_t version)
{
    const json_t *one = model ? json_object_get(shares, model) : NULL;
    double percent = json_number_value(json_object_get(one, "percent"));

    return json_int_or(one, "version", 0) == version && percent >= 0 && percent <= 100 ? percent
                                                                                       : 0;
}
