/* controller_history.c - what each version answered, over time: counts of the gateway become rows
 * (traffic_history.h) in the job's key-value store, where a gateway that is started again finds
 * them. A minute that is open is written every ten seconds, so that no more is lost with a gateway
 * that is killed; all documents together have a ceiling, and days that are too old are deleted. */
#include "base/str.h"
#include "serve/deployment/controller_private.h"
#include "serve/deployment/traffic_history.h"

#include <stdio.h>
#include <string.h>

#define OPEN_MS 10000 /* between two writes of what is open */
#define DAY_KEY 48

static const char *history_day_key(const struct traffic_history *h, char out[DAY_KEY])
{
    (void)snprintf(out, DAY_KEY, HISTORY_DAY "%lld", (long long)traffic_history_day(h));
    return out;
}

/* ---- going on ---- */

/* *ret stays NULL when there is no such document, or a damaged one. */
static int history_get(struct controller *x, const char *key, json_t **ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r = task_store_get(&x->store, key, &text, err);

    if (r > 0)
        (void)json_parse(key, text, strlen(text), ret, NULL);
    return r < 0 ? r : 0;
}

static int history_load(struct controller *x, struct traffic_history **ret, struct err *err)
{
    AUTO(traffic_history) struct traffic_history *h = traffic_history_new();
    AUTO_JSON *open = NULL;
    AUTO_JSON *minutes = NULL;
    AUTO_JSON *quarters = NULL;
    char key[DAY_KEY];
    int r = h ? history_get(x, HISTORY_OPEN, &open, err) : err_oom(err);

    if (r == 0 && traffic_history_load_open(h, open) < 0)
        r = err_oom(err);
    if (r == 0)
        r = history_get(x, HISTORY_MINUTES, &minutes, err);
    if (r == 0)
        r = history_get(x, history_day_key(h, key), &quarters, err);
    if (r == 0 && traffic_history_load_rows(h, minutes, quarters) < 0)
        r = err_oom(err);
    if (r == 0)
        *ret = take(h);
    return r;
}

/* ---- writing ---- */

static int history_put(struct controller *x, const char *key, const json_t *v, unsigned bit,
                       struct err *err)
{
    AUTO_FREE char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;
    int r = text ? task_store_put(&x->store, key, text, err) : err_oom(err);

    if (r == 0)
        traffic_history_written(x->history, bit);
    return r;
}

static int history_delete_past(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    int64_t now = loop_wall();
    int r = task_store_list(&x->store, HISTORY_DAY, &keys, err);

    for (size_t i = 0; i < keys.n && r == 0; i++)
        if (traffic_history_is_past(keys.v[i], now))
            r = task_store_delete(&x->store, keys.v[i], err);
    return r;
}

/* What is closed first: who reads, or is started in between, then has it at least once. */
static int history_write(struct controller *x, struct err *err)
{
    unsigned changed = traffic_history_changed(x->history);
    char key[DAY_KEY];
    int r = 0;

    if (changed & HISTORY_NEW_DAY)
        r = history_put(x, history_day_key(x->history, key), traffic_history_quarters(x->history),
                        HISTORY_NEW_DAY, err);
    if (r == 0 && (changed & HISTORY_NEW_DAY))
        r = history_delete_past(x, err);
    if (r == 0 && (changed & HISTORY_NEW_MINUTES))
        r = history_put(x, HISTORY_MINUTES, traffic_history_minutes(x->history),
                        HISTORY_NEW_MINUTES, err);
    if (r == 0 && (changed & HISTORY_NEW_OPEN) &&
        ((changed & ~HISTORY_NEW_OPEN) || loop_now(x->o->loop) >= x->history_due)) {
        AUTO_JSON *open = traffic_history_open(x->history);

        r = history_put(x, HISTORY_OPEN, open, HISTORY_NEW_OPEN, err);
        x->history_due = loop_in(x->o->loop, OPEN_MS);
    }
    return r;
}

int controller_history(struct controller *x, struct err *err)
{
    const char *answer = NULL;
    AUTO_JSON *said = NULL;
    int r = x->history ? 0 : history_load(x, &x->history, err);

    if (r == 0)
        r = line_client_ask(&x->gateway, "{\"do\": \"totals\"}", &answer, err);
    if (r == 0)
        r = json_parse("the gateway's totals", answer, strlen(answer), &said, err);
    if (r == 0)
        r = traffic_history_count(x->history, json_object_get(said, "totals"), loop_wall(), err);
    return r < 0 ? r : history_write(x, err);
}
