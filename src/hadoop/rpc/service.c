/* service.c - calls that survive a server's restart or failover. See rpc.h.
 *
 *     rpc_call ──► a connection, kept or new ──► call ──► answered: done
 *         ▲            │ not reachable, standby     │ exception.h: retry or fail over
 *         └── pause ◄──┴── the next address ◄───────┘
 *
 * There is no pause until each address had its turn; then longer and longer ones, jittered, until
 * the caller's deadline or patience. A call that may have been carried out is repeated unless its
 * method is RPC_ONCE. The last error says what was tried, with a line for each address when none is
 * active. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/rpc/conn.h"
#include "hadoop/rpc/rpc.h"
#include "loop/fiber.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define CONNECT_MS 20000
#define CALL_MS 60000
#define PING_MS 30000
#define BACKOFF_FIRST_MS 50
#define BACKOFF_MOST_MS 2000
#define SILENCE_MS 3000 /* a longer wait is reported with its reason */

struct place {
    struct rpc_address address; /* strings are ours */
    struct err last;            /* why it did not answer the last time */
};

struct rpc_service {
    struct loop *loop;
    struct rpc_service_conf conf; /* `addresses` and `token` are not used: see below */
    struct place *places;
    struct token token;
    bool has_token;
    size_t current;
    struct conn *conn;
    bool connecting;
    struct cond connected;
    bool answered; /* once at least */
    bool warned;   /* that it does not answer now */
    uint8_t client_id[FRAME_CLIENT_ID];
    int32_t next_call;
};

/* ---- making ---- */

static int copy_address(struct place *p, const struct rpc_address *a)
{
    p->address.port = a->port;
    if (a->id && !(p->address.id = strdup(a->id)))
        return -ENOMEM;
    if (a->principal && !(p->address.principal = strdup(a->principal)))
        return -ENOMEM;
    if (a->pattern && !(p->address.pattern = strdup(a->pattern)))
        return -ENOMEM;
    p->address.host = strdup(a->host);
    return p->address.host ? 0 : -ENOMEM;
}

static int rpc_fill(struct rpc_service *s, const struct rpc_service_conf *conf, struct err *err)
{
    int r = 0;

    if (conf->count == 0)
        return err_set(err, -EINVAL, "no address for the %s", conf->protocol->title);
    s->places = calloc(conf->count, sizeof(*s->places));
    if (!s->places)
        return err_oom(err);
    s->conf = *conf;
    s->conf.connect_ms = conf->connect_ms ? conf->connect_ms : CONNECT_MS;
    s->conf.call_ms = conf->call_ms ? conf->call_ms : CALL_MS;
    s->conf.ping_ms = conf->ping_ms ? conf->ping_ms : PING_MS;
    for (size_t i = 0; i < conf->count && r == 0; i++)
        r = copy_address(&s->places[i], &conf->addresses[i]);
    if (r < 0)
        return err_oom(err);
    if (getrandom(s->client_id, sizeof(s->client_id), 0) != sizeof(s->client_id))
        return err_sys(err, "random bytes");
    return conf->token ? rpc_service_set_token(s, conf->token, err) : 0;
}

int rpc_service_new(struct loop *l, const struct rpc_service_conf *conf, struct rpc_service **ret,
                    struct err *err)
{
    AUTO_RPC_SERVICE *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return err_oom(err);
    s->loop = l;
    r = rpc_fill(s, conf, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

struct rpc_service *rpc_service_free(struct rpc_service *s)
{
    if (!s)
        return NULL;
    conn_close(s->conn);
    for (size_t i = 0; s->places && i < s->conf.count; i++) {
        free((char *)s->places[i].address.id);
        free((char *)s->places[i].address.host);
        free((char *)s->places[i].address.principal);
        free((char *)s->places[i].address.pattern);
    }
    free(s->places);
    token_done(&s->token);
    free(s);
    return NULL;
}

int rpc_service_set_token(struct rpc_service *s, const struct token *token, struct err *err)
{
    struct token copy = { 0 };
    int r = token_copy(&copy, token);

    if (r < 0)
        return err_oom(err);
    token_done(&s->token);
    s->token = copy;
    s->has_token = true;
    return 0;
}

void rpc_service_reset(struct rpc_service *s)
{
    s->conn = conn_close(s->conn);
}

const struct rpc_address *rpc_service_address(const struct rpc_service *s)
{
    return &s->places[s->current].address;
}

const char *rpc_service_ip(const struct rpc_service *s)
{
    return s->conn ? conn_ip(s->conn) : "";
}

void *rpc_free(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
    return NULL;
}

/* ---- connecting ---- */

static int open_conn(struct rpc_service *s, int64_t deadline, struct err *err)
{
    struct conn_conf conf = {
        .protocol = s->conf.protocol,
        .address = &s->places[s->current].address,
        .identity = s->conf.identity,
        .token = s->has_token ? &s->token : NULL,
        .client_id = s->client_id,
        .ping_ms = s->conf.ping_ms,
    };
    int64_t until = loop_in(s->loop, s->conf.connect_ms);
    int r;

    s->conn = conn_close(s->conn);
    s->connecting = true;
    r = conn_open(s->loop, &conf, until < deadline ? until : deadline, &s->conn, err);
    s->connecting = false;
    cond_wake_all(&s->connected);
    return r;
}

/* A working connection in s->conn; one fiber connects, the others wait for it. One connection for
 * all calls of the service. While one call opens it, the others wait for that one instead of
 * opening their own. */
static int need_conn(struct rpc_service *s, int64_t deadline, struct err *err)
{
    while (s->connecting) {
        int r = cond_wait(s->loop, &s->connected, deadline);

        if (r < 0)
            return err_code(err, r, "%s (%s:%d): connect", s->conf.protocol->title,
                            rpc_service_address(s)->host, rpc_service_address(s)->port);
    }
    if (s->conn && !conn_broken(s->conn))
        return 0;
    return open_conn(s, deadline, err);
}

/* ---- one call, however often it takes ---- */

struct attempt {
    struct conn_call call;
    size_t place; /* index of the address it went to */
    int64_t deadline;
    struct err not_now;    /* the last time that a server said so; code 0: none did */
    int64_t failing_since; /* 0 while nothing failed */
    int64_t backoff;
    size_t failures;
};

static int try_once(struct rpc_service *s, struct attempt *a, ProtobufCMessage **ret,
                    struct err *err)
{
    int64_t until = loop_in(s->loop, s->conf.call_ms);
    int r;

    a->call.sent = false;
    a->place = s->current;
    until = until < a->deadline ? until : a->deadline;
    r = need_conn(s, until, err);
    a->place = s->current;
    if (r < 0)
        return r;
    return conn_call(s->conn, &a->call, until, ret, err);
}

static bool rpc_is_network(int code)
{
    static const int codes[] = { -ECONNREFUSED, -ECONNRESET,   -ECONNABORTED, -EPIPE,
                                 -ETIMEDOUT,    -EHOSTUNREACH, -ENETUNREACH,  -ENXIO,
                                 -ENODATA,      -ENETDOWN,     -EHOSTDOWN };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* A refused connection is not only a server that is down. A standby RM does not listen on its
 * client ports at all, so this is how it says that it is not the active one; a standby NameNode
 * listens and answers StandbyException. Both lead to the next address. */
static enum rpc_action what_now(const struct rpc_service *s, const struct attempt *a, int r,
                                const struct err *err)
{
    if (err->detail != RPC_EX_NONE)
        return rpc_exception_action(err->detail);
    /* Closed while we signed in: a refusal, or a server that died just then. Another one knows. */
    if (r == -EKEYREJECTED && a->failures + 1 < s->conf.count)
        return RPC_FAILOVER;
    if (!rpc_is_network(r))
        return RPC_FAIL;
    /* It may have been carried out, and carrying it out twice would do harm. */
    if (a->call.sent && a->call.method->retry == RPC_ONCE)
        return RPC_FAIL;
    return RPC_FAILOVER;
}

/* How long a call may fail before it is given up. A service of one address that never answered is
 * most likely not there, and the user should be told at once; one that says "not now" is. */
static int64_t rpc_patience_of(const struct rpc_service *s, enum rpc_action action)
{
    return s->answered || action == RPC_TRY_AGAIN ? s->conf.patience_ms : s->conf.first_patience_ms;
}

/* Whether there is any use in going on. */
static bool may_go_on(struct rpc_service *s, const struct attempt *a, int64_t patience)
{
    int64_t now = loop_now(s->loop);

    if (now >= a->deadline)
        return false;
    if (a->failures < s->conf.count)
        return true; /* each address at least once */
    return now - a->failing_since < patience;
}

/* Two calls may fail on the same connection. Only the first moves on, or they would skip an
 * address. */
static void next_place(struct rpc_service *s, const struct attempt *a)
{
    if (s->current != a->place || s->connecting)
        return; /* another call has moved on already */
    s->current = (s->current + 1) % s->conf.count;
    s->conn = conn_close(s->conn);
}

/* Waits before the next try: not at all until each address had its turn, then longer and longer,
 * and never in step with a thousand other clients. */
static int rpc_back_off(struct rpc_service *s, struct attempt *a)
{
    uint16_t noise = 0;
    int64_t ms;

    if (a->failures < s->conf.count)
        return fiber_yield(s->loop);
    a->backoff = a->backoff ? a->backoff * 2 : BACKOFF_FIRST_MS;
    if (a->backoff > BACKOFF_MOST_MS)
        a->backoff = BACKOFF_MOST_MS;
    (void)!getrandom(&noise, sizeof(noise), 0);
    ms = a->backoff / 2 + a->backoff * noise / 65536;
    if (ms > a->deadline - loop_now(s->loop))
        ms = a->deadline - loop_now(s->loop);
    return fiber_sleep(s->loop, ms > 0 ? ms : 0);
}

/* Nobody has to wonder why nothing happens. */
static void warn_once(struct rpc_service *s, const struct attempt *a, int64_t patience,
                      const struct err *err)
{
    int64_t now = loop_now(s->loop), until = a->failing_since + patience;

    if (s->warned || now - a->failing_since < SILENCE_MS)
        return;
    s->warned = true;
    until = until < a->deadline ? until : a->deadline;
    log_warn(LOG_RPC, "%s; trying again for %lld s", err->text,
             (long long)(until - now + 999) / 1000);
}

/* The last word: of one server its own error, of several that are not active a line on each. */
static int rpc_give_up(struct rpc_service *s, enum rpc_action action, int r, struct err *err)
{
    size_t n = 0;

    if (s->conf.count == 1 || action == RPC_TRY_AGAIN) {
        if (rpc_is_network(r) && err && r != -ETIMEDOUT)
            err_hint(err, "is the %s running, and is its address right in the configuration?",
                     s->conf.protocol->title);
        return r;
    }
    if (!err)
        return r;
    err_set(err, r, "no active %s:", s->conf.protocol->title);
    for (size_t i = 0; i < s->conf.count; i++) {
        const struct place *p = &s->places[i];

        n = strlen(err->text);
        snprintf(err->text + n, sizeof(err->text) - n, "%s %s", i ? ";" : "",
                 p->last.code ? p->last.text : p->address.host);
    }
    err_hint(err, "all addresses of the configuration were tried: is one of them active?");
    return r;
}

/* The time ended during another try: what was said before says more than that. */
static bool rpc_said_before(struct rpc_service *s, const struct attempt *a, int r)
{
    return r == -ETIMEDOUT && a->not_now.code && loop_now(s->loop) >= a->deadline;
}

/*     what now?      a final error           ──► the caller
 *                    "not now" of a server   ──► a pause, the same address again
 *                    standby, network        ──► the next address, a pause once all had their turn
 *     patience over  ──► the caller, with what each address said */
static int after_failure(struct rpc_service *s, struct attempt *a, int r, struct err *err)
{
    enum rpc_action action = what_now(s, a, r, err);
    int64_t patience = rpc_patience_of(s, action);

    if (rpc_said_before(s, a, r)) {
        *err = a->not_now;
        return a->not_now.code;
    }
    if (action == RPC_TRY_AGAIN)
        a->not_now = *err;
    if (action == RPC_FAIL)
        return r;
    s->places[a->place].last = *err;
    a->failures++;
    if (!a->failing_since)
        a->failing_since = loop_now(s->loop);
    if (!may_go_on(s, a, patience))
        return rpc_give_up(s, action, r, err);
    warn_once(s, a, patience, err);
    trace(LOG_RPC, "%s: try %zu: %s", a->call.method->name, a->failures, err->text);
    if (action == RPC_FAILOVER)
        next_place(s, a);
    r = rpc_back_off(s, a);
    if (r < 0)
        return err_set(err, r, "interrupted");
    /* The same call id with a higher retry count: where the server has a retry cache it answers
     * what it answered the first time, instead of carrying the call out again. */
    a->call.retry++;
    return 0;
}

/* The call's number stays the same over all tries: by it, and our client id, a server recognizes a
 * call that it has carried out already. */
int rpc_call(struct rpc_service *s, const struct rpc_method *method, const void *request, void *ret,
             int64_t deadline, struct err *err)
{
    struct attempt a = { .call = { .method = method, .request = request } };
    ProtobufCMessage *answer = NULL;
    struct err local = ERR_INIT;
    int r;

    if (!err)
        err = &local;
    a.call.call_id = s->next_call;
    s->next_call = s->next_call == INT32_MAX ? 0 : s->next_call + 1;
    a.deadline = deadline ? deadline : loop_in(s->loop, s->conf.call_ms + s->conf.patience_ms);
    for (;;) {
        r = try_once(s, &a, &answer, err);
        if (r == 0)
            break;
        r = after_failure(s, &a, r, err);
        if (r < 0)
            return r;
    }
    err_clear(err);
    s->answered = true;
    s->warned = false;
    *(ProtobufCMessage **)ret = answer;
    return 0;
}
