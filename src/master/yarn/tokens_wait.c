/* tokens_wait.c - a master whose tokens have ended before it has begun.
 *
 * YARN starts every attempt with the tokens of the submit. When those are past their life, a new
 * master can read nothing of its job: not what it is, not what became of it. But it has the job's
 * key and its name with the ResourceManager, so it registers, and waits where others find it:
 *
 *     client ──report──► RM ──► our address ──PUT /v1/tokens──► we go on
 *     ./ydl-helper, when there is a keytab ───────────────────► the same
 *
 * Agents keep their tasks running meanwhile. A client that follows the job is held, and comes back
 * to the same port when everything is in place. */
#include "base/log.h"
#include "hadoop/token/ident.h"
#include "job/protocol.h"
#include "loop/fiber.h"
#include "loop/listen.h"
#include "master/yarn/keytab.h"
#include "master/yarn/master_container.h"
#include "master/yarn/master_tokens.h"
#include "wire/http.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS ((int64_t)15 * 60 * 1000) /* as long as agents do */
#define LOOK_MS 1000
#define FINISH_MS 30000
#define KEYTAB_SPAN_MS 240000 /* pauses between tries grow to an eighth of it */

struct waiting {
    struct loop *loop;
    struct master_container *c;
    struct http_server *api;
    struct cond changed;
    unsigned failures; /* of the helper */
    int64_t try_at;
    bool got;
    bool stopped; /* its owner does not want to wait any longer */
};

/* ---- from the keytab ---- */

static int ask_keytab(struct waiting *w)
{
    struct master_container *c = w->c;
    AUTO_CREDENTIALS *newer = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;
    int r;

    if (!c->keytab || loop_now(w->loop) < w->try_at)
        return 0;
    r = keytab_get(w->loop, c->keytab, &newer, &c->tokens_ms, &err);
    if (r == 0)
        r = tokens_keep(c, newer, &n, &err);
    if (r == 0 || r == -ECANCELED) {
        w->got = r == 0;
        return r;
    }
    w->failures++;
    w->try_at = loop_in(w->loop, keytab_pause(w->failures, KEYTAB_SPAN_MS));
    log_warn(LOG_MASTER, "%s%s%s", err.text, *err.hint ? "; " : "", err.hint);
    return 0;
}

/* ---- from others ---- */

static int put_tokens(struct waiting *w, struct http_call *call, struct err *err)
{
    AUTO_CREDENTIALS *newer = NULL;
    AUTO_JSON *v = NULL;
    size_t n = 0;
    int r = tokens_read(call, &newer, err);

    if (r == 0)
        r = tokens_keep(w->c, newer, &n, err);
    if (r == 0)
        r = json_make(&v, err, "{s:I}", "tokens", (json_int_t)n);
    if (r == 0)
        r = http_reply_json(call, 200, v, err);
    w->got |= r == 0;
    cond_wake_all(&w->changed);
    return r;
}

/* There is nobody here who could tell tasks: the application ends, and they with it. */
static int tokens_wait_put_stop(struct waiting *w, struct http_call *call, struct err *err)
{
    AUTO_JSON *v = NULL;
    int r = json_make(&v, err, "{s:s}", "state", "KILLED");

    if (r == 0)
        r = http_reply_json(call, 200, v, err);
    w->stopped = true;
    cond_wake_all(&w->changed);
    return r;
}

/* Nothing comes until there is a master in our place, who is at the same address. */
static int tokens_wait_hold(struct waiting *w, struct http_call *call, struct err *err)
{
    int r = http_reply_begin(call, 200, "application/octet-stream", err);

    while (r == 0 && !w->got && !http_gone(call)) {
        r = cond_wait(w->loop, &w->changed, loop_in(w->loop, LOOK_MS));
        r = r == -ETIMEDOUT ? 0 : r;
    }
    return r < 0 ? r : err_set(err, -ECONNRESET, "another master takes over");
}

static const struct {
    const char *method, *path;
    int (*run)(struct waiting *w, struct http_call *call, struct err *err);
} routes[] = {
    { "PUT", "/v1/tokens", put_tokens },
    { "PUT", "/v1/stop", tokens_wait_put_stop },
    { "PUT", "/v1/kill", tokens_wait_put_stop },
    { "GET", "/v1/attach", tokens_wait_hold },
};

/* Everything else is answered with "later", so that a client retries instead of giving the job up.
 */
static int tokens_wait_handle(void *user, struct http_call *call, struct err *err)
{
    struct waiting *w = user;
    int r = protocol_check_request(http_header(call, PROTOCOL_HEADER), err);

    for (size_t i = 0; r == 0 && i < COUNT_OF(routes); i++)
        if (str_eq(http_method(call), routes[i].method) && str_eq(http_path(call), routes[i].path))
            return routes[i].run(w, call, err);
    if (r < 0)
        return r;
    err_set(err, -EAGAIN, "the job's tokens have ended, and its new master waits for others");
    err_hint(err, "the ydl that stayed with the job brings some, or its keytab does");
    return -EAGAIN;
}

/* ---- being found ---- */

/* The listening socket is duplicated: this server closes its copy when it stops, and the real API
 * then listens on the same port, which the ResourceManager has told to everybody. Registering is
 * done once, though there may be several waits. */
static int open_door(struct waiting *w, struct err *err)
{
    struct master_container *c = w->c;
    struct http_server_options o = { .loop = w->loop,
                                     .key = &c->boot.key,
                                     .headers = protocol_header(),
                                     .handler = tokens_wait_handle,
                                     .user = w };
    struct amrm_conf shown = { .host = c->host, .tracking_url = "" };
    int r = c->api_fd < 0 ? listen_tcp("0.0.0.0", 0, 0, &c->api_fd, &c->api_port, err) : 0;

    if (r < 0)
        return r;
    o.fd = fcntl(c->api_fd, F_DUPFD_CLOEXEC, 3); /* ours stays for who comes after */
    if (o.fd < 0)
        return err_sys(err, "listen");
    o.limits.write_ms = INT64_MAX / 4;
    r = http_server_start(&o, &w->api, err);
    shown.rpc_port = c->api_port;
    if (r == 0 && !c->early)
        r = yarn_register(c->session, c->node_conf, &shown, &c->early, err);
    return r;
}

static int stand_there(struct waiting *w, struct err *err)
{
    struct master_container *c = w->c;
    int r = open_door(w, err);

    while (r == 0 && !w->got && !w->stopped && loop_now(w->loop) < c->wait_until &&
           !yarn_early_over(c->early)) {
        r = cond_wait(w->loop, &w->changed, loop_in(w->loop, LOOK_MS));
        r = r == -ETIMEDOUT ? 0 : r;
        if (r == 0 && !w->got && !w->stopped)
            r = ask_keytab(w);
    }
    fiber_shield(w->loop, true);
    w->api = http_server_stop(w->api);
    fiber_shield(w->loop, false);
    return r;
}

/* Another attempt would have the same tokens: this is the job's end. */
static int tokens_wait_give_up(struct waiting *w, struct err *err)
{
    static const char ended[] =
        "the tokens that the job was submitted with have ended, so that its new master could read "
        "nothing, and nobody brought others; a job with --keytab gets them itself";
    const char *text = w->stopped ? "stopped while its new master waited for tokens" : ended;
    Yarn__FinalStatus status =
        w->stopped ? YARN__FINAL_STATUS__FINAL_KILLED : YARN__FINAL_STATUS__FINAL_FAILED;

    if (w->c->early && !yarn_early_over(w->c->early))
        (void)yarn_early_finish(w->c->early, status, text, loop_in(w->loop, FINISH_MS), NULL);
    return err_set(err, -EKEYEXPIRED, "%s", text);
}

int tokens_wait(struct loop *l, struct master_container *c, struct err *err)
{
    struct waiting w = { .loop = l, .c = c };
    int r = ask_keytab(&w);

    err_clear(err);
    if (r < 0 || w.got)
        return r;
    if (!c->wait_until)
        c->wait_until = loop_in(l, WAIT_MS);
    log_warn(LOG_MASTER, "the job's tokens have ended: waiting for others");
    r = stand_there(&w, err);
    if (r < 0 || w.got)
        return r;
    return tokens_wait_give_up(&w, err);
}
