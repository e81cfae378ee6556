/* controller_gateways.c - several gateways of a deployment. The first one's task looks at the
 * others: how far they are with the plan, and what went through them, which is added to what its
 * own gateway knows. One that follows reads the plan of the first one, writes its own spec from it,
 * and says how far it is and what went through it. See gateway_reports.h. */
#include "base/path.h"
#include "loop/fiber.h"
#include "serve/deployment/controller_private.h"
#include "serve/deployment/replica_key.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 5000
#define WAITS 24              /* for the first gateway's plan */
#define SAY_TURNS 4           /* looks between two reports, while nothing changes */
#define COUNT_TURNS 4         /* looks between two looks at what was answered */
#define SAID_MOST (900 * KIB) /* a value of the store has at most 1 MiB */

static unsigned controller_others(const struct controller *x)
{
    return deployment_is_direct(x->plan) ? 0 : deployment_gateways(x->plan) - 1;
}

/* The others are at 1, 2 … */
static int gateways_get(struct controller *x, const char *what, unsigned i, char **ret,
                        struct err *err)
{
    AUTO_FREE char *key = str_printf("%s%u", what, i);

    return key ? task_store_get(&x->store, key, ret, err) : err_oom(err);
}

int controller_gateways_look(struct controller *x, struct err *err)
{
    int64_t revision = json_int_or(x->plan, "revision", 0);
    unsigned n = controller_others(x);
    int r = 0;

    for (unsigned i = 1; i <= n && r >= 0; i++) {
        AUTO_FREE char *text = NULL;

        r = gateways_get(x, GATEWAYS_AT, i, &text, err);
        if (r >= 0)
            r = gateway_seen_look(&x->others[i], text, revision, err);
    }
    return r < 0 ? r : 0;
}

bool controller_gateways_know(const struct controller *x)
{
    int64_t revision = json_int_or(x->plan, "revision", 0);
    unsigned n = controller_others(x);

    for (unsigned i = 1; i <= n; i++)
        if (gateway_seen_is_waited_for(&x->others[i], revision))
            return false;
    return true;
}

bool controller_gateways_stray(const struct controller *x, const char *model, int64_t serve)
{
    unsigned n = controller_others(x);

    for (unsigned i = 1; i <= n; i++)
        if (gateway_seen_strays(&x->others[i], model, serve))
            return true;
    return false;
}

/* What a canary gets, for the others. */
static int gateways_share(struct controller *x, const json_t *status, struct err *err)
{
    AUTO_JSON *shares = NULL;
    AUTO_FREE char *text = NULL;
    int r = gateway_shares_make(status, &shares, err);

    if (r < 0 || json_equal(shares, x->shares))
        return r;
    text = json_dumps(shares, JSON_COMPACT | JSON_REAL_PRECISION(6));
    r = text ? task_store_put(&x->store, GATEWAYS_SHARES, text, err) : err_oom(err);
    if (r == 0) {
        json_decref(x->shares);
        x->shares = take(shares);
    }
    return r;
}

int controller_gateways_join(struct controller *x, json_t *status, struct err *err)
{
    unsigned n = controller_others(x);
    int r = n > 0 ? gateways_share(x, status, err) : 0;

    if (r == 0 && !deployment_is_direct(x->plan))
        r = gateway_reports_begin(status, err);
    for (unsigned i = 1; i <= n && r == 0; i++)
        r = gateway_reports_join(status, &x->others[i], i, err);
    return r;
}

/* ---- what went through them ---- */

/* By a file, as it may be long.
 *
 * Counts are sums since the gateway began, and are added by what they have grown; "base": these are
 * only remembered, and what comes on top of them will count. */
static int gateways_add(struct controller *x, unsigned i, const char *text, struct err *err)
{
    AUTO_FREE char *path = path_join(x->o->dir, "counts.json");
    AUTO_FREE char *line = NULL;
    const char *answer = NULL;
    int r = path ? path_write(path, text, strlen(text), 0600, err) : err_oom(err);

    if (r < 0)
        return r;
    line = str_printf("{\"do\": \"add\", \"from\": \"%u\", \"counts\": \"%s\", \"base\": %s}", i,
                      path, x->counted ? "false" : "true");
    r = line ? line_client_ask(&x->gateway, line, &answer, err) : err_oom(err);
    if (r == 0 && !str_starts(answer, "{\"ok\":true"))
        r = err_set(err, -EINVAL, "the gateway: %.300s", answer);
    return r;
}

/* Those that were there before this task began were counted by the one before it. */
int controller_gateways_count(struct controller *x, struct err *err)
{
    unsigned n = controller_others(x);
    int r = 0;

    for (unsigned i = 1; i <= n && r >= 0; i++) {
        AUTO_FREE char *text = NULL;

        r = gateways_get(x, GATEWAYS_COUNTS, i, &text, err);
        if (r > 0)
            r = gateways_add(x, i, text, err);
    }
    if (r < 0)
        return r;
    x->counted = true;
    return 0;
}

void controller_gateways_done(struct controller *x)
{
    for (unsigned i = 0; i < GATEWAYS_MOST; i++)
        gateway_seen_done(&x->others[i]);
    json_decref(x->shares);
    json_decref(x->counts);
}

/* ---- one that follows: saying ---- */

static char *second_key(const struct controller *x, const char *what)
{
    return str_printf("%s%u", what, x->o->index);
}

static int second_put(struct controller *x, const char *what, const json_t *v, struct err *err)
{
    AUTO_FREE char *key = second_key(x, what);
    AUTO_FREE char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(6));
    int r = key && text ? 0 : err_oom(err);

    if (r == 0 && strlen(text) > SAID_MOST)
        r = err_set(err, -E2BIG, "what this gateway has to say is larger than %zu bytes",
                    (size_t)SAID_MOST);
    return r < 0 ? r : task_store_put(&x->store, key, text, err);
}

/* `status` NULL: it does not listen yet.
 *
 * The beat only has to be another one each time: by the clock it is that also after this task was
 * started again. */
static int second_say(struct controller *x, json_t *status, int64_t revision, struct err *err)
{
    AUTO_JSON *report = NULL;
    int r = json_make(&report, err, "{s:I, s:I, s:O?}", "beat",
                      (json_int_t)(loop_wall() * 16 + x->turns % 16), "revision",
                      (json_int_t)revision, "status", status);

    if (r == 0)
        r = second_put(x, GATEWAYS_AT, report, err);
    if (r == 0)
        x->revision = revision;
    return r;
}

static int second_status(struct controller *x, json_t **ret, struct err *err)
{
    const char *answer = NULL;
    int r = line_client_ask(&x->gateway, "{\"do\": \"status\"}", &answer, err);

    if (r == 0)
        r = json_parse("the gateway's report", answer, strlen(answer), ret, err);
    return r < 0 ? r : gateway_reports_brief(*ret, err);
}

/* The first gateway waits for what this one says, while there is an update. */
static int second_report(struct controller *x, struct err *err)
{
    int64_t revision = json_int_or(x->plan, "revision", 0);
    AUTO_JSON *status = NULL;
    int r;

    if (x->turns % SAY_TURNS != 0 && x->revision == revision && !deployment_is_updating(x->plan))
        return 0;
    r = second_status(x, &status, err);
    return r < 0 ? r : second_say(x, status, revision, err);
}

/* ---- … counting ---- */

static int counts_ask(struct controller *x, bool replicas, json_t **ret, struct err *err)
{
    const char *answer = NULL;
    AUTO_JSON *said = NULL;
    int r = line_client_ask(&x->gateway,
                            replicas ? "{\"do\": \"counts\"}"
                                     : "{\"do\": \"counts\", \"replicas\": false}",
                            &answer, err);

    if (r == 0)
        r = json_parse("the gateway's counts", answer, strlen(answer), &said, err);
    if (r == 0)
        *ret = json_incref(json_object_get(said, "counts"));
    return r == 0 && !*ret ? err_set(err, -EPROTO, "the gateway says no counts") : r;
}

/* Written when there were requests. Of very many replicas only what their versions had is said. */
static int second_counts(struct controller *x, struct err *err)
{
    AUTO_JSON *counts = NULL;
    int r = counts_ask(x, true, &counts, err);

    if (r < 0 || json_equal(counts, x->counts))
        return r;
    r = second_put(x, GATEWAYS_COUNTS, counts, err);
    if (r == -E2BIG) {
        err_clear(err);
        json_decref(take(counts));
        r = counts_ask(x, false, &counts, err);
        if (r == 0)
            r = second_put(x, GATEWAYS_COUNTS, counts, err);
    }
    if (r == 0) {
        json_decref(x->counts);
        x->counts = take(counts);
    }
    return r;
}

/* ---- … following the plan ---- */

static int second_take(struct controller *x, const char *text, struct err *err)
{
    json_t *plan = NULL;
    int r = deployment_plan_parse(DEPLOYMENT_PLAN, text, &plan, err);

    if (r < 0)
        return r;
    json_decref(x->plan);
    x->plan = plan;
    return 0;
}

static int second_plan(struct controller *x, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r = task_store_get(&x->store, DEPLOYMENT_PLAN, &text, err);

    return r <= 0 ? r : second_take(x, text, err);
}

/* What a canary gets is the first gateway's to say: it knows all that went through all of them. */
static int second_shares(struct controller *x, struct err *err)
{
    AUTO_FREE char *text = NULL;
    json_t *shares = NULL;
    int r = deployment_is_updating(x->plan) || !x->shares
                ? task_store_get(&x->store, GATEWAYS_SHARES, &text, err)
                : 0;

    if (r < 0)
        return r;
    if (r > 0)
        (void)json_parse(GATEWAYS_SHARES, text, strlen(text), &shares, NULL);
    if (!shares && x->shares)
        return 0;
    json_decref(x->shares);
    x->shares = shares ? shares : json_object();
    return x->shares ? 0 : err_oom(err);
}

/* It says that it is there, and has no plan yet, before it reads one: otherwise the first gateway
 * could take the next step between the two, and not wait for one that goes by the plan before. */
int second_gateway_begin(struct controller *x, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r = second_say(x, NULL, -1, err);

    for (int i = 0; i < WAITS && r == 0; i++)
        r = task_store_wait(&x->store, DEPLOYMENT_PLAN, WAIT_MS, &text, err);
    if (r == 0)
        return err_set(err, -ETIMEDOUT,
                       "the deployment's first gateway has not begun within %d seconds",
                       WAITS * WAIT_MS / 1000);
    if (r > 0)
        r = second_plan(x, err);
    if (r == 0)
        r = second_shares(x, err);
    return r < 0 ? r : replica_key_await(&x->store, x->key_file, err);
}

/*     plan and shares from the store ──► our spec ──► HAProxy ──► a report that names the revision
 *
 * In this order: the report says that HAProxy has that revision, and the first gateway goes on by
 * it. */
int second_gateway_look(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    int r = second_plan(x, err);

    if (r == 0)
        r = second_shares(x, err);
    if (r == 0)
        r = controller_write_spec(x, &keys, err);
    if (r == 0 && x->ready && !x->applied)
        r = controller_apply(x, err);
    if (r == 0 && x->ready)
        r = second_report(x, err);
    if (r == 0 && x->ready && x->turns % COUNT_TURNS == 0)
        r = second_counts(x, err);
    if (r < 0 && x->turns % SAY_TURNS == 0) /* it lives, and is not as far as the plan */
        (void)second_say(x, NULL, -1, NULL);
    x->turns++;
    return r;
}

void second_gateway_end(struct controller *x)
{
    AUTO_FREE char *key = second_key(x, GATEWAYS_AT);

    fiber_shield(x->o->loop, true);
    if (key)
        (void)task_store_delete(&x->store, key, NULL);
    fiber_shield(x->o->loop, false);
}
