/* controller.c - see controller.h. Two fibers: one is the gateway, the other looks for replicas and
 * tells the first by its control socket, as a person would. */
#include "serve/deployment/controller.h"
#include "base/log.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/task_store.h"
#include "serve/gateway/gateway.h"

#include <string.h>

#define LOOK_MS 250
#define STATUS_TURNS 4 /* looks between two reports */
#define SIZES_MAX 64

struct controller {
    const struct controller_options *o;
    json_t *plan;
    char *spec, *control; /* paths */
    char *text;           /* the spec that the gateway has */
    struct line_client store, gateway;
    bool ready, gone; /* the gateway listens; it has ended */
    unsigned turns;
};

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

static int run_gateway(void *arg, struct err *err)
{
    struct controller *x = arg;
    const struct gateway_options g = { .loop = x->o->loop,
                                       .program = x->o->haproxy,
                                       .spec = x->spec,
                                       .dir = x->o->dir,
                                       .control = x->control,
                                       .on_ready = controller_on_ready,
                                       .note = controller_on_note,
                                       .user = x };
    int r = gateway_run(&g, err);

    x->gone = true;
    return r;
}

/* ---- what there is ---- */

static int read_sizes(struct controller *x, struct deployment_size *ret, size_t *ret_n,
                      struct err *err)
{
    AUTO_STRS keys = { 0 };
    int r = task_store_list(&x->store, DEPLOYMENT_SIZE, &keys, err);

    for (size_t i = 0; r == 0 && i < keys.n && *ret_n < SIZES_MAX; i++) {
        struct deployment_size *one = &ret[*ret_n];
        AUTO_FREE char *text = NULL;
        int64_t n = 0;

        r = task_store_get(&x->store, keys.v[i], &text, err);
        if (r <= 0 || str_to_i64(text, 0, INT32_MAX, &n) < 0)
            continue;
        r = 0;
        (void)snprintf(one->group, sizeof(one->group), "%s", keys.v[i] + strlen(DEPLOYMENT_SIZE));
        one->n = (unsigned)n;
        ++*ret_n;
    }
    return r < 0 ? r : 0;
}

/* A replica that is restarted for a month would fill the store. */
static int delete_past(struct controller *x, const struct strs *keys, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < keys->n && r == 0; i++)
        if (deployment_is_past(keys->v[i], keys))
            r = task_store_delete(&x->store, keys->v[i], err);
    return r;
}

/* The spec as it should be, into its file where it has changed: 1 then. */
static int write_spec(struct controller *x, struct err *err)
{
    struct deployment_size sizes[SIZES_MAX];
    AUTO_STRS keys = { 0 };
    AUTO_FREE char *text = NULL;
    struct deployment_replicas replicas = { .keys = &keys, .sizes = sizes };
    int r = task_store_list(&x->store, DEPLOYMENT_AT, &keys, err);

    if (r == 0)
        r = delete_past(x, &keys, err);
    if (r == 0)
        r = read_sizes(x, sizes, &replicas.n_sizes, err);
    if (r == 0) {
        strs_sort(&keys);
        r = deployment_spec(x->plan, x->o->listen, &replicas, &text, err);
    }
    if (r < 0 || str_eq(text, x->text))
        return r;
    r = path_write(x->spec, text, strlen(text), 0600, err);
    if (r < 0)
        return r;
    free(x->text);
    x->text = take(text);
    return 1;
}

static int apply(struct controller *x, struct err *err)
{
    const char *answer = NULL;
    int r = line_client_ask(&x->gateway, "{\"do\": \"apply\"}", &answer, err);

    if (r == 0 && !str_starts(answer, "{\"ok\": true") && !str_starts(answer, "{\"ok\":true"))
        log_warn(LOG_MAIN, "the gateway: %s", answer);
    return r;
}

static int report(struct controller *x, struct err *err)
{
    const char *answer = NULL;
    int r;

    if (x->turns++ % STATUS_TURNS != 0)
        return 0;
    r = line_client_ask(&x->gateway, "{\"do\": \"status\"}", &answer, err);
    return r < 0 ? r : task_store_put(&x->store, DEPLOYMENT_STATUS, answer, err);
}

/* What fails here is tried again: the master may be another one soon. */
static void look(struct controller *x)
{
    struct err err = ERR_INIT;
    int r = write_spec(x, &err);

    if (r > 0 && x->ready)
        r = apply(x, &err);
    if (r >= 0 && x->ready)
        r = report(x, &err);
    if (r < 0 && r != -ECANCELED)
        log_warn(LOG_MAIN, "%s; trying again", err.text);
}

static int controller_work(struct controller *x, struct err *err)
{
    struct group g;
    int r = write_spec(x, err), ended;

    if (r < 0)
        return r;
    group_init(&g, x->o->loop, 0);
    r = group_go(&g, run_gateway, x, err);
    while (r == 0 && !x->gone) {
        r = fiber_sleep(x->o->loop, LOOK_MS);
        if (r == 0)
            look(x);
    }
    group_cancel(&g);
    ended = group_wait(&g, err);
    return r < 0 && r != -ECANCELED ? r : ended;
}

int controller_run(const struct controller_options *o, struct err *err)
{
    struct controller x = { .o = o };
    int r = json_parse(DEPLOYMENT_PLAN_ENV, o->plan, strlen(o->plan), &x.plan, err);

    x.spec = path_join(o->dir, "gateway.json");
    x.control = path_join(o->dir, "control.sock");
    line_client_init(&x.store, o->loop, o->socket);
    line_client_init(&x.gateway, o->loop, x.control);
    if (r == 0)
        r = x.spec && x.control ? controller_work(&x, err) : err_oom(err);
    line_client_done(&x.store);
    line_client_done(&x.gateway);
    json_decref(x.plan);
    free(x.spec);
    free(x.control);
    free(x.text);
    return r;
}

int controller_announce(struct loop *l, const char *socket, const char *key, struct err *err)
{
    struct line_client c;
    int r;

    line_client_init(&c, l, socket);
    r = task_store_put(&c, key, "here", err);
    line_client_done(&c);
    return r;
}
