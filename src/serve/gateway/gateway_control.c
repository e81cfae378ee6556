/* gateway_control.c - the control socket: one JSON command on a line, one JSON answer. Only the
 * gateway's own user can connect, and root. */
#include "loop/listen.h"
#include "serve/gateway/gateway_private.h"
#include "wire/admission.h"

#include <math.h>
#include <string.h>

#define COMMAND_MAX (8 * KIB)
#define COMMAND_MS 3600000 /* between two commands of a connection */
#define ANSWER_MS 30000
#define WAIT_MS 86400000

/* ---- commands ---- */

static const char *control_text(const json_t *v, const char *key, struct err *err)
{
    const char *s = json_string_value(json_object_get(v, key));

    if (!s)
        err_set(err, -EINVAL, "this command needs '%s', a text", key);
    return s;
}

static int control_apply(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    const char *path = json_object_get(v, "spec") ? control_text(v, "spec", err) : g->o.spec;
    int r = path ? gateway_lock(g) : -EINVAL;

    if (r < 0)
        return err->code ? r : err_code(err, r, "wait for another command");
    r = gateway_apply(g, path, err);
    gateway_unlock(g);
    return r < 0 ? r : json_make(ret, err, "{s:b}", "ok", 1);
}

static int control_status(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    (void)v;
    return gateway_status_json(g, ret, err);
}

static int control_totals(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    (void)v;
    return gateway_totals_json(g, ret, err);
}

static int control_counts(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    return gateway_counts_json(g, !json_is_false(json_object_get(v, "replicas")), ret, err);
}

static int control_add(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    const char *from = control_text(v, "from", err);
    const char *path = from ? control_text(v, "counts", err) : NULL;
    int r = path ? gateway_add_counts(g, from, path, json_is_true(json_object_get(v, "base")), err)
                 : -EINVAL;

    return r < 0 ? r : json_make(ret, err, "{s:b}", "ok", 1);
}

/* Who sets a share by hand after the canary was taken back begins its rollout anew; 0 leaves it
 * there. HAProxy is told at once, without a reload. */
static int control_share(struct gateway *g, size_t at, unsigned percent, struct err *err)
{
    struct gateway_model *m = &g->spec->models[at];
    struct gateway_route *t = &g->routes[at];

    if (!t->canary) {
        err_set(err, -EINVAL, "'%s' has no canary", m->name);
        err_hint(err, "name its version in the spec's \"canary\", and apply the spec");
        return -EINVAL;
    }
    m->percent = percent;
    t->rollout.percent = percent;
    if (t->rolling && t->rollout.state == ROLLOUT_RETURNED && percent > 0)
        rollout_begin(&t->rollout, percent);
    if (g->now.haproxy && g->view.n) {
        gateway_routes_step(g);
        return gateway_routes_tell(g, err);
    }
    return 0;
}

static int control_canary(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    const char *name = control_text(v, "model", err);
    const json_t *percent = json_object_get(v, "percent");
    double share = json_number_value(percent);
    int r = name ? 0 : -EINVAL;

    if (r == 0 && (!json_is_number(percent) || !(share >= 0 && share <= 100)))
        r = err_set(err, -EINVAL, "'percent' must be a number between 0 and 100");
    if (r == 0 && (r = gateway_lock(g)) < 0)
        return err_code(err, r, "wait for another command");
    if (r < 0)
        return r;
    r = err_set(err, -ENOENT, "there is no model '%.64s'", name);
    for (size_t i = 0; i < g->spec->n; i++)
        if (str_eq(g->spec->models[i].name, name)) {
            err_clear(err);
            r = control_share(g, i, (unsigned)lround(share * 100), err);
        }
    gateway_unlock(g);
    return r < 0 ? r : json_make(ret, err, "{s:b}", "ok", 1);
}

const char *gateway_replica(const struct gateway *g, const char *name)
{
    for (size_t i = 0; i < g->spec->n; i++)
        for (size_t k = 0; k < g->spec->models[i].n; k++)
            for (size_t j = 0; j < g->spec->models[i].versions[k].n; j++) {
                const struct gateway_replica *x = &g->spec->models[i].versions[k].replicas[j];

                if (str_eq(x->address, name) || str_eq(x->name, name))
                    return x->address;
            }
    return NULL;
}

/* Processes of earlier reloads count as well: they may still have requests on it, and are not
 * asked. */
static bool control_is_idle(const struct gateway *g, const char *address)
{
    for (size_t i = 0; i < g->view.n; i++) {
        const struct haproxy_server *s = &g->view.servers[i];

        if (str_eq(s->name, address) && (s->in_use > 0 || !(s->draining || s->maintenance)))
            return false;
    }
    return g->n_leaving == 0;
}

static int control_wait_idle(struct gateway *g, const char *address, int64_t ms, bool *ret)
{
    int64_t deadline = loop_in(g->loop, ms);
    int r = 0;

    gateway_wake(g);
    while (!(*ret = control_is_idle(g, address)) && r == 0 && loop_now(g->loop) < deadline)
        r = fiber_sleep(g->loop, 20);
    return r;
}

/* `found` points into the spec, which another command may replace while this one waits: hence the
 * copy. The mark is one of the gateway, so that it outlives HAProxy's process and an `apply`. */
static int control_drain(struct gateway *g, const json_t *v, json_t **ret, struct err *err)
{
    const char *name = control_text(v, "replica", err);
    const char *wait = json_string_value(json_object_get(v, "wait"));
    const char *found = name ? gateway_replica(g, name) : NULL;
    bool on = !json_is_false(json_object_get(v, "on")), idle = false;
    char address[GATEWAY_ADDRESS];
    int64_t ms = 0;

    if (!name)
        return -EINVAL;
    if ((json_object_get(v, "wait") && !wait) ||
        (wait && (str_to_ms(wait, &ms) < 0 || ms > WAIT_MS)))
        return err_set(err, -EINVAL, "'wait' must be a time, like \"30s\"");
    if (!found)
        return err_set(err, -ENOENT, "there is no replica '%.64s'", name);
    memcpy(address, found, sizeof(address));
    if (on && !gateway_is_drained(g, address) && strs_add(&g->drained, address) < 0)
        return err_oom(err);
    for (size_t i = 0; !on && i < g->drained.n; i++)
        if (str_eq(g->drained.v[i], address)) {
            free(g->drained.v[i]);
            g->drained.v[i] = g->drained.v[--g->drained.n];
            g->drained.v[g->drained.n] = NULL;
        }
    if (on && control_wait_idle(g, address, ms, &idle) < 0)
        return err_set(err, -ECANCELED, "the gateway ends");
    gateway_wake(g);
    return json_make(ret, err, "{s:b,s:b}", "ok", 1, "idle", (int)idle);
}

static const struct {
    const char *name;
    int (*run)(struct gateway *g, const json_t *v, json_t **ret, struct err *err);
} commands[] = {
    { "add", control_add },       { "apply", control_apply }, { "canary", control_canary },
    { "counts", control_counts }, { "drain", control_drain }, { "status", control_status },
    { "totals", control_totals },
};

static int control_command(struct gateway *g, const char *line, size_t n, json_t **ret,
                           struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *name;
    int r = json_parse("the command", line, n, &v, err);

    if (r < 0)
        return r;
    name = control_text(v, "do", err);
    if (!name)
        return -EINVAL;
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (str_eq(commands[i].name, name))
            return commands[i].run(g, v, ret, err);
    err_set(err, -EINVAL, "'%.64s' is not a command", name);
    err_hint(err, "commands are add, apply, canary, counts, drain, status and totals");
    return -EINVAL;
}

/* ---- connections ---- */

static int control_answer(struct gateway *g, struct sock *s, const char *line, size_t n)
{
    struct err err = ERR_INIT;
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    int r = control_command(g, line, n, &v, &err);

    if (r < 0 && json_make(&v, NULL, "{s:b,s:o,s:o}", "ok", 0, "error", json_text(err.text), "hint",
                           json_text(err.hint)) < 0)
        return -ENOMEM;
    text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (!text)
        return -ENOMEM;
    r = sock_write(s, text, strlen(text), loop_in(g->loop, ANSWER_MS));
    return r < 0 ? r : sock_write(s, "\n", 1, loop_in(g->loop, ANSWER_MS));
}

/* Answers the whole lines in `b`. */
static int control_lines(struct gateway *g, struct sock *s, struct buf *b)
{
    const uint8_t *end;
    int r = 0;

    while (r == 0 && b->len && (end = memchr(b->data, '\n', b->len))) {
        size_t n = (size_t)(end - b->data);

        r = control_answer(g, s, (const char *)b->data, n);
        buf_eat(b, n + 1);
    }
    return r;
}

/*     ► {"do":"canary","model":"resnet","percent":10}\n
 *     ◄ {"ok":true}\n
 *     ◄ {"ok":false,"error":"there is no model 'resnet'","hint":""}\n
 *
 * One command after the other on a connection; commands of several connections run beside each
 * other, and those that change the spec wait for the gateway's lock. */
static void control_serve(void *user, struct visitor *visitor, struct sock *sock)
{
    struct gateway *g = user;
    AUTO_SOCK *s = sock;
    AUTO_BUF b = { .max = COMMAND_MAX };

    admission_pass(visitor);
    for (;;) {
        uint8_t *at;
        ssize_t n;

        if (b.len == b.max || buf_room(&b, b.max - b.len, &at) < 0)
            return; /* nothing of ours has lines that long */
        n = sock_read(s, at, b.max - b.len, loop_in(g->loop, COMMAND_MS));
        if (n <= 0)
            return;
        b.len += (size_t)n;
        if (control_lines(g, s, &b) < 0)
            return;
    }
}

static bool control_is_ours(void *user, int fd)
{
    uid_t uid;

    (void)user;
    return sock_peer_uid(fd, &uid) == 0 && (uid == geteuid() || uid == 0);
}

int gateway_control_start(struct gateway *g, struct err *err)
{
    struct admission_options o = {
        .loop = g->loop,
        .name = "gateway's control socket",
        .check = control_is_ours,
        .serve = control_serve,
        .user = g,
    };
    int r = listen_unix(g->o.control, &o.fd, err);

    return r < 0 ? r : admission_start(&o, &g->control, err);
}
