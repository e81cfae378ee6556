/* mxnet_server.c - the scheduler or server of MXNet's key-value store: ps-lite inside libmxnet.so
 * does the work, this file checks its environment and steps in where Python would have.
 *
 *     worker ──► command 0, an optimizer as text ──► updater
 *     worker ──► push of a gradient ──► ps-lite adds them up ──► on_update() ──► new weight
 *     worker ──► pull ◄── weight
 *
 * A callback of MXNet's cannot fail: what goes wrong in one ends the process, with a sentence. See
 * mxnet_server.h. */
#include "native/mxnet_server.h"
#include "base/auto.h"
#include "base/str.h"
#include "native/updater.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define NODES_MAX 100000
#define OPTIMIZER_HEAD 0 /* of the command that carries an optimizer */

/* ---- the environment ---- */

enum kind { KIND_ROLE, KIND_COUNT, KIND_PORT, KIND_ADDRESS };

static const struct variable {
    const char *name;
    enum kind kind;
    bool needed;
} variables[] = {
    { "DMLC_ROLE", KIND_ROLE, true },         { "DMLC_NUM_WORKER", KIND_COUNT, true },
    { "DMLC_NUM_SERVER", KIND_COUNT, true },  { "DMLC_PS_ROOT_URI", KIND_ADDRESS, true },
    { "DMLC_PS_ROOT_PORT", KIND_PORT, true }, { "DMLC_NODE_HOST", KIND_ADDRESS, false },
};

static int mxnet_check_role(const char *value, struct mxnet_place *ret, struct err *err)
{
    static const char *const roles[] = { "scheduler", "server" };

    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (str_eq(value, roles[i])) {
            ret->role = (enum mxnet_role)i;
            return 0;
        }
    return err_set(err, -EINVAL,
                   "DMLC_ROLE is '%s': scheduler and server can be native, a worker "
                   "is the user's own program",
                   value);
}

/* ZeroMQ binds to no names, and fails in a way that leaves the others waiting. */
static int check_address(const char *name, const char *value, struct err *err)
{
    uint8_t address[16];

    if (inet_pton(AF_INET, value, address) == 1 || inet_pton(AF_INET6, value, address) == 1)
        return 0;
    return err_set(err, -EINVAL, "%s is '%s', which is no numeric address", name, value);
}

static int mxnet_check_number(const char *name, const char *value, int64_t max, struct err *err)
{
    int64_t v;

    if (str_to_i64(value, 1, max, &v) < 0)
        return err_set(err, -EINVAL, "%s is '%s', which is no number from 1 to %lld", name, value,
                       (long long)max);
    return 0;
}

static int mxnet_check(const struct variable *v, const char *value, struct mxnet_place *ret,
                       struct err *err)
{
    switch (v->kind) {
    case KIND_ROLE:
        return mxnet_check_role(value, ret, err);
    case KIND_ADDRESS:
        return check_address(v->name, value, err);
    case KIND_PORT:
        return mxnet_check_number(v->name, value, 65535, err);
    default:
        return mxnet_check_number(v->name, value, NODES_MAX, err);
    }
}

/* ps-lite reads the same variables with atoi() and getenv(): a missing or wrong one makes it abort,
 * or wait for nodes that never come. So all of them are checked before it sees them. */
int mxnet_place_read(char *(*get)(const char *name), struct mxnet_place *ret, struct err *err)
{
    *ret = (struct mxnet_place){ 0 };
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = get(variables[i].name);
        int r;

        if (!value && variables[i].needed) {
            err_set(err, -EINVAL, "%s is not set", variables[i].name);
            err_hint(err, "a job of ydl sets it: ydl run --framework mxnet --native yes …");
            return -EINVAL;
        }
        if (!value)
            continue;
        r = mxnet_check(&variables[i], value, ret, err);
        if (r < 0)
            return r;
        ret->names[ret->n] = variables[i].name;
        ret->values[ret->n++] = value;
    }
    return 0;
}

/* ---- a server ---- */

struct server {
    const struct mxnet_options *o;
    void *store;
    struct updater *updater;
    bool installed; /* the store calls on_update */
};

static void mxnet_give_up(const struct server *s, const struct err *err)
{
    s->o->give_up(s->o->arg, err);
}

/* Both arrays are ours to free, whether the update worked or not; the weight is written in
 * place. */
static void on_update(int key, void *gradient, void *weight, void *arg)
{
    struct server *s = arg;
    struct err err = ERR_INIT;
    int r = updater_apply(s->updater, key, gradient, weight, &err);

    (void)s->o->api->array_free(gradient);
    (void)s->o->api->array_free(weight);
    if (r < 0)
        mxnet_give_up(s, &err);
}

static int refuse_pickle(struct err *err)
{
    err_set(err, -ENOTSUP,
            "a worker sent a pickled optimizer, which only Python can read, and "
            "this server runs without Python");
    err_hint(err, "let the workers learn: update_on_kvstore=False, with care (see 'ydl-native help "
                  "mxnet'); or run Python servers: --native auto; or send the text 'sgd lr=0.1' "
                  "instead");
    return -ENOTSUP;
}

/* Set twice when a worker changes its learning rate: the callback is installed once, and the
 * updater decides what it keeps. */
static int set_optimizer(struct server *s, const char *text, struct err *err)
{
    struct optimizer o;
    int r = optimizer_is_pickle(text) ? refuse_pickle(err) : optimizer_parse(text, &o, err);

    if (r < 0)
        return r == -EINVAL ? err_wrap(err, r, "a worker's optimizer") : r;
    updater_set(s->updater, &o);
    if (!s->installed && s->o->api->set_updater(s->store, on_update, s) != 0)
        return mxnet_api_failed(s->o->api, "set the optimizer", err);
    s->installed = true;
    return 0;
}

/* Command 0 is what MXNet's set_optimizer() in a worker sends, with a pickle as its body. */
static void on_command(int head, const char *body, void *arg)
{
    struct server *s = arg;
    struct err err = ERR_INIT;
    char text[200], shown[120];

    if (head == OPTIMIZER_HEAD) {
        if (set_optimizer(s, body ? body : "", &err) < 0)
            mxnet_give_up(s, &err);
        return;
    }
    (void)str_clean(shown, sizeof(shown), body ? body : "");
    (void)snprintf(text, sizeof(text), "unknown command %d '%s', ignoring", head, shown);
    s->o->note(s->o->arg, text);
}

/* ---- both ---- */

int mxnet_serve(const struct mxnet_options *o, struct err *err)
{
    AUTO(updater) struct updater *updater = NULL;
    struct server s = { .o = o };
    struct mxnet_place p = *o->place;
    int r = updater_new(o->api, &updater, err);

    if (r < 0)
        return r;
    s.updater = updater;
    if (o->api->init_ps_env((uint32_t)p.n, p.names, p.values) != 0)
        return mxnet_api_failed(o->api, "read the environment", err);
    if (o->api->store_create("dist", &s.store) != 0)
        return mxnet_api_failed(o->api, "make a distributed store", err);
    if (o->api->run_server(s.store, on_command, &s) != 0)
        r = mxnet_api_failed(o->api, "run the server", err);
    (void)o->api->store_free(s.store);
    return r;
}
