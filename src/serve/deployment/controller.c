/* controller.c - see controller.h. Two fibers: one is the gateway, the other looks at the plan and
 * at the replicas, and tells the first by its control socket, as a person would. */
#include "base/log.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "serve/deployment/controller_private.h"
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/replica_key.h"
#include "serve/gateway/gateway.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 250
#define STATUS_TURNS 4  /* looks between two reports */
#define LOAD_TURNS 2    /* looks between two looks at the load */
#define HISTORY_TURNS 8 /* looks between two looks at what was answered */
#define COUNT_TURNS 4   /* … at what the other gateways answered */
#define FOLLOW_TURNS 8  /* looks between two looks at aliases */
#define OK "{\"ok\":true"

void controller_note(const struct controller *x, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    x->o->note(x->o->user, text);
}

/* ---- the gateway ---- */

static void controller_on_ready(void *user, const char *host, int port)
{
    struct controller *x = user;

    (void)host;
    (void)port;
    x->ready = true;
}

static void controller_on_note(void *user, const char *text)
{
    const struct controller *x = user;

    x->o->note(x->o->user, text);
}

static bool controller_is_up(void *user, const char *backend, const char *address)
{
    return controller_direct_is_up(user, backend, address);
}

static int run_gateway(void *arg, struct err *err)
{
    struct controller *x = arg;
    const struct gateway_options g = { .loop = x->o->loop,
                                       .program = x->o->haproxy,
                                       .spec = x->spec,
                                       .dir = x->o->dir,
                                       .control = x->control,
                                       .is_up = controller_is_up,
                                       .on_ready = controller_on_ready,
                                       .note = controller_on_note,
                                       .user = x };
    struct err why = ERR_INIT;
    int r = controller_direct_once(x, &why);

    if (r < 0 && r != -ECANCELED)
        log_warn(LOG_MAIN, "%s: replicas are not known to be ready yet, ignoring", why.text);
    r = gateway_run(&g, err);
    x->gone = true;
    return r;
}

/* ---- replicas ---- */

/* Texts are compared: keys are sorted and members stand in their order, so that the same plan and
 * the same replicas make the same text, and the gateway is told only of what has changed. */
int controller_write_spec(struct controller *x, struct strs *keys, struct err *err)
{
    const struct deployment_here here = { .listen = x->o->listen,
                                          .key_file = x->key_file,
                                          .dir = x->o->home,
                                          .shares = x->o->index > 0 ? x->shares : NULL };
    AUTO_FREE char *text = NULL;
    int r = task_store_list(&x->store, DEPLOYMENT_AT, keys, err);

    if (r == 0) {
        strs_sort(keys);
        r = deployment_spec(x->plan, &here, keys, &text, err);
    }
    if (r < 0 || str_eq(text, x->text))
        return r;
    r = path_write(x->spec, text, strlen(text), 0600, err);
    if (r < 0)
        return r;
    free(x->text);
    x->text = take(text);
    x->applied = false;
    return 0;
}

/* A spec that is refused is tried again: it may be that a version is not ready yet. */
int controller_apply(struct controller *x, struct err *err)
{
    const char *answer = OK;
    int r = deployment_is_direct(x->plan)
                ? 0
                : line_client_ask(&x->gateway, "{\"do\": \"apply\"}", &answer, err);

    if (r < 0)
        return r;
    x->applied = str_starts(answer, OK);
    return x->applied ? 0 : err_set(err, -EAGAIN, "the gateway: %.300s", answer);
}

bool controller_told(const struct controller *x, const char *group, unsigned n)
{
    for (size_t i = 0; i < CONTROLLER_GROUPS; i++)
        if (str_eq(x->told[i].group, group))
            return x->told[i].n == (int64_t)n;
    return false;
}

/* A controller that was started again knows nothing of what the job was told, and tells it all
 * again: the same number twice changes nothing. -1 stands for a number that may or may not have
 * arrived. */
static int tell_size(struct controller *x, const char *group, unsigned n, struct err *err)
{
    size_t i = 0;
    int r;

    if (controller_told(x, group, n))
        return 0;
    while (i < CONTROLLER_GROUPS && *x->told[i].group && !str_eq(x->told[i].group, group))
        i++;
    if (i == CONTROLLER_GROUPS)
        return err_set(err, -E2BIG, "more than %d groups", CONTROLLER_GROUPS);
    (void)snprintf(x->told[i].group, sizeof(x->told[i].group), "%s", group);
    x->told[i].n = -1;
    r = task_store_scale(&x->store, group, n, err);
    x->told[i].n = r == 0 ? (int64_t)n : -1;
    return r;
}

/* Replicas that are taken away answer what they have, and the last ones go on until one of those
 * that stay is ready: the gateways say when they have let go of them. */
static bool may_tell_size(struct controller *x, const json_t *model, const char *group,
                          const struct strs *keys, const json_t *report)
{
    const json_t *v = deployment_in_group(x->plan, group, NULL);
    const json_t *said =
        deployment_model(report, json_string_value(json_object_get(model, "name")));
    const json_t *rows =
        json_object_get(deployment_version(said, json_int_or(v, "version", 0)), "replicas");
    unsigned n = deployment_group_size(model, group);

    /* What an update has left has been waited for. */
    bool old = deployment_update_phase(model) == UPDATE_STOPPING &&
               json_int_or(v, "version", 0) != json_int_or(model, "serve", 0);

    if (controller_told(x, group, n) || deployment_is_direct(x->plan) || old ||
        !deployment_has_beyond(v, n, keys, NULL))
        return true;
    return rows && json_int_or(json_object_get(report, "haproxy"), "leaving", 0) == 0 &&
           !deployment_has_beyond(v, n, keys, rows);
}

/* Groups that cannot have their size yet, because tasks of before still end, do not keep the others
 * from theirs. `report`: what the gateways say; NULL: not known. */
static int tell_sizes(struct controller *x, const struct strs *keys, const json_t *report,
                      struct err *err)
{
    const json_t *models = json_object_get(x->plan, "models"), *m, *g;
    struct err first = ERR_INIT;
    size_t i, k;
    int r = 0;

    x->waits = false;
    json_array_foreach(models, i, m)
    {
        json_array_foreach(json_object_get(m, "groups"), k, g)
        {
            const char *group = json_string_value(g);
            bool may = group && may_tell_size(x, m, group, keys, report);
            struct err e = ERR_INIT;
            int one = may ? tell_size(x, group, deployment_group_size(m, group), &e) : 0;

            x->waits |= group && !may;
            if (one < 0 && r == 0) {
                r = one;
                first = e;
            }
        }
    }
    if (r < 0 && err)
        *err = first;
    return r;
}

/* Has the job yet to be told the size of this key's group? It may get back the size that it has:
 * then what its replicas said counts, as they are not started again. */
static bool is_untold(const struct controller *x, const char *key)
{
    char group[DEPLOYMENT_GROUP];
    json_t *model = NULL;

    return deployment_key_group(key, group) && deployment_in_group(x->plan, group, &model) &&
           !controller_told(x, group, deployment_group_size(model, group));
}

/* A replica that is restarted for a month would fill the store. */
static int delete_past(struct controller *x, const struct strs *keys, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < keys->n && r == 0; i++)
        if (deployment_is_past(x->plan, keys->v[i], keys) && !is_untold(x, keys->v[i]))
            r = task_store_delete(&x->store, keys->v[i], err);
    return r;
}

/* ---- looking ---- */

/* The gateway is asked once a second for the status that others read, and at each look only while
 * something waits for what it says. What has a new revision is published at once, so that nobody
 * takes the status of before for that of the new plan. */
static int report(struct controller *x, json_t **ret, struct err *err)
{
    const char *answer = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *direct = NULL;
    bool publish =
        x->turns % STATUS_TURNS == 0 || x->revision != json_int_or(x->plan, "revision", 0);
    int r;

    if (!publish && !x->waits && !deployment_is_updating(x->plan) &&
        !deployment_is_moving(x->plan) && (x->turns % LOAD_TURNS != 0 || !controller_autoscales(x)))
        return 0;
    r = deployment_is_direct(x->plan)
            ? controller_direct_report(x, &direct, err)
            : line_client_ask(&x->gateway, "{\"do\": \"status\"}", &answer, err);
    if (direct)
        answer = direct;
    if (r == 0)
        r = json_parse("the gateway's report", answer, strlen(answer), ret, err);
    if (r == 0)
        r = controller_gateways_join(x, *ret, err);
    if (r == 0 && json_array_size(x->fetching) > 0 &&
        json_object_set(*ret, "fetching", x->fetching) < 0)
        r = err_oom(err);
    if (r == 0 && publish) {
        text = json_dumps(*ret, JSON_COMPACT | JSON_REAL_PRECISION(6));
        r = text ? task_store_put(&x->store, DEPLOYMENT_STATUS, text, err) : err_oom(err);
    }
    if (r == 0)
        x->revision = json_int_or(x->plan, "revision", 0);
    return r;
}

/* The order keeps requests answered whatever comes between:
 *
 *     apply      who leaves is no longer in the gateways' specs …
 *     sizes      … before the job is told to stop it
 *     keys       an address is forgotten when the job has been told
 *     updates    steps by what all gateways said of the plan that is in force
 *     moves      likewise
 *
 * A size that the job refuses is told at the end: it must not keep an update from going on, which
 * may be what makes room. */
static int look_at_gateway(struct controller *x, const struct strs *keys, struct err *err)
{
    AUTO_JSON *said = NULL;
    int r = x->applied ? 0 : controller_apply(x, err), sized;

    if (r == 0)
        r = controller_gateways_look(x, err);
    if (r == 0)
        r = report(x, &said, err);
    /* Who leaves, leaves the spec of each gateway first. */
    sized = r == 0 && controller_gateways_know(x) ? tell_sizes(x, keys, said, err) : 0;
    if (r == 0)
        r = delete_past(x, keys, err);
    if (r == 0)
        r = controller_updates(x, said, keys, err);
    if (r == 0)
        r = controller_moves(x, said, keys, err);
    if (r == 0)
        r = controller_autoscale(x, said, err);
    if (r == 0 && x->turns % COUNT_TURNS == 0)
        r = controller_gateways_count(x, err);
    if (r == 0 && x->turns % HISTORY_TURNS == 0 && !deployment_is_direct(x->plan))
        r = controller_history(x, err);
    return r < 0 ? r : sized;
}

static int look_once(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    int r = controller_requests(x, err);

    if (r == 0 && x->turns % FOLLOW_TURNS == 0)
        controller_follow(x);
    if (r == 0 && x->turns % STATUS_TURNS == 0)
        r = controller_fetching(x, err);
    if (r == 0)
        r = controller_write_spec(x, &keys, err);
    if (r == 0 && x->ready)
        r = look_at_gateway(x, &keys, err);
    x->turns++;
    return r;
}

/* What fails here is tried again: the master may be another one soon. */
static void look(struct controller *x)
{
    struct err err = ERR_INIT;
    int r = x->o->index > 0 ? second_gateway_look(x, &err) : look_once(x, &err);

    if (r < 0 && r != -ECANCELED && !x->quiet)
        log_warn(LOG_MAIN, "%s; trying again", err.text);
    x->quiet = r < 0;
}

static int controller_work(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    struct group g;
    bool first = x->o->index == 0;
    int r = first ? controller_begin(x, err) : second_gateway_begin(x, err), ended;

    if (r == 0 && first)
        r = replica_key_make(&x->store, x->key_file, err);
    if (r == 0)
        r = controller_write_spec(x, &keys, err);
    if (r < 0)
        return r;
    group_init(&g, x->o->loop, 0);
    r = group_go(&g, deployment_is_direct(x->plan) ? controller_direct_run : run_gateway, x, err);
    while (r == 0 && !x->gone) {
        r = fiber_sleep(x->o->loop, LOOK_MS);
        if (r == 0)
            look(x);
    }
    group_cancel(&g);
    ended = group_wait(&g, err);
    if (!first)
        second_gateway_end(x);
    return r < 0 && r != -ECANCELED ? r : ended;
}

int controller_run(const struct controller_options *o, struct err *err)
{
    struct controller *x = calloc(1, sizeof(*x));
    int r = x ? 0 : err_oom(err);

    if (r < 0)
        return r;
    x->o = o;
    x->spec = path_join(o->dir, "gateway.json");
    x->control = path_join(o->dir, "control.sock");
    x->key_file = path_join(o->dir, "replica.key");
    line_client_init(&x->store, o->loop, o->socket);
    line_client_init(&x->gateway, o->loop, x->control);
    r = x->spec && x->control && x->key_file ? controller_work(x, err) : err_oom(err);
    line_client_done(&x->store);
    line_client_done(&x->gateway);
    registry_link_free(x->registry);
    json_decref(x->plan);
    json_decref(x->fetching);
    traffic_history_free(x->history);
    controller_gateways_done(x);
    strs_done(&x->up);
    free(x->spec);
    free(x->control);
    free(x->key_file);
    free(x->text);
    free(x);
    return r;
}
