/* am.c - one fiber registers and sends heartbeats; who uses the master adds wishes to amrm.h and
 * takes events from a queue. The pause between heartbeats grows with the time already waited and
 * ends at once when there is news:
 *
 *     fiber   amrm_next_request() ──► the ResourceManager ──► answer or fault ──► queue
 *     user    amrm_ask(), … (wakes the fiber)                       am_next() ◄──┘
 *
 * See am.h. */
#include "hadoop/yarn/am.h"
#include "base/log.h"
#include "hadoop/rpc/rpc.h"
#include "hadoop/session/session.h"
#include "hadoop/token/token.h"
#include "hadoop/yarn/method.h"
#include "loop/fiber.h"

/* A container is handed out when its node's heartbeat reaches the RM, and the next allocate fetches
 * it: every millisecond between two of ours is waited for by the whole job. With nothing asked for,
 * once a second is enough to stay alive. */
#define BUSY_MS 10
#define IDLE_MS 1000
#define CALL_MS 60000
/* The first finish is normally answered with "not yet", because the RM saves the end first; 2 or 3
 * ms later it is done. */
#define FINISH_FIRST_MS 2
#define FINISH_MOST_MS 500
#define FAULT_FIRST_MS 100
#define FAULT_MOST_MS 2000
/* The part of the time already waited that a heartbeat may add to it. */
#define BUSY_SHARE 50

static const struct rpc_protocol protocol = {
    .name = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB",
    .title = "ResourceManager",
};

/* clang-format off */
static const struct rpc_method methods[] = {
    [AMRM_CALL_REGISTER] = METHOD("registerApplicationMaster", register_application_master, RPC_IDEMPOTENT),
    [AMRM_CALL_ALLOCATE] = METHOD("allocate", allocate, RPC_AT_MOST_ONCE),
    [AMRM_CALL_FINISH]   = METHOD("finishApplicationMaster", finish_application_master, RPC_AT_MOST_ONCE),
};
/* clang-format on */

/* An answer and its events, which borrow from it. */
struct batch {
    struct batch *next;
    void *answer;
    struct amrm_events events;
    size_t taken;
};

struct am {
    struct loop *loop;
    struct rpc_service *service;
    struct amrm *rm;
    struct nm_pool *nodes;
    int64_t busy_ms, idle_ms, patience_ms;

    struct fiber *fiber; /* the heartbeat; NULL before and after */
    struct cond wake;    /* there is something to tell the RM */
    struct cond events;  /* there is something to tell the master, or the heartbeat has ended */
    bool woken;
    bool ended;
    struct err error;
    struct err trouble; /* why the last heartbeat failed; code 0: it did not */

    struct batch *first, *last;
    int64_t progress_at; /* when something was last asked for or granted */
    int64_t answered_at;
    int64_t finish_ms, fault_ms;
};

static struct batch *batch_free(struct batch *b)
{
    amrm_events_done(&b->events);
    rpc_free(b->answer);
    free(b);
    return NULL;
}

AUTO_DEFINE(batch, struct batch *, batch_free);

/* ---- life ---- */

/* Called by amrm_…() whenever there is something to tell. Progress counts from the last wish, not
 * from the first: a job that asks for more containers after an hour of work gets short pauses
 * again. */
static void on_news(void *arg)
{
    struct am *a = arg;

    a->woken = true;
    a->progress_at = loop_now(a->loop);
    cond_wake_all(&a->wake);
}

/* The token is found by its kind alone: the RM writes it with an empty service and an empty
 * alias. */
static int need_service(struct session *s, const struct conf *node, struct rpc_service **ret,
                        struct err *err)
{
    const struct token *token = credentials_find(session_credentials(s), AM_TOKEN_KIND, NULL);
    AUTO_HOSTS hosts = { 0 };
    int r;

    if (!token) {
        err_set(err, -ENOKEY, "there is no token for an application master");
        err_hint(err, "a program becomes one when YARN starts it as such; "
                      "HADOOP_TOKEN_FILE_LOCATION names the token's file then");
        return -ENOKEY;
    }
    r = conf_resourcemanagers(node ? node : session_conf(s), RM_SCHEDULER, &hosts, err);
    if (r < 0)
        return r;
    return session_service(s, &protocol, &hosts, token, ret, err);
}

int am_new(struct session *s, const struct am_conf *conf, struct am **ret, struct err *err)
{
    AUTO_AM *a = calloc(1, sizeof(*a));
    int r;

    if (!a)
        return err_oom(err);
    a->loop = session_loop(s);
    a->nodes = conf->nodes;
    a->busy_ms = conf->busy_ms ? conf->busy_ms : BUSY_MS;
    a->idle_ms = conf->idle_ms ? conf->idle_ms : IDLE_MS;
    a->patience_ms = conf->patience_ms;
    r = need_service(s, conf->node, &a->service, err);
    if (r == 0 && !a->patience_ms)
        r = conf_ms(session_conf(s), "yarn.resourcemanager.connect.max-wait.ms", &a->patience_ms,
                    err);
    if (r == 0)
        r = amrm_new(&conf->shown, &a->rm, err);
    if (r < 0)
        return r;
    amrm_set_on_news(a->rm, on_news, a);
    *ret = take(a);
    return 0;
}

/* The heartbeat uses `a` up to its last statement, so its end is waited for, shielded: our own
 * fiber may be cancelled already. */
struct am *am_free(struct am *a)
{
    if (!a)
        return NULL;
    if (a->fiber) {
        fiber_shield(a->loop, true);
        fiber_cancel(a->fiber);
        while (a->fiber)
            (void)cond_wait(a->loop, &a->events, LOOP_NEVER);
        fiber_shield(a->loop, false);
    }
    while (a->first) {
        struct batch *b = a->first;

        a->first = b->next;
        batch_free(b);
    }
    rpc_service_free(a->service);
    amrm_free(a->rm);
    free(a);
    return NULL;
}

struct amrm *am_rm(struct am *a)
{
    return a->rm;
}

void am_hurry(struct am *a)
{
    on_news(a);
}

int64_t am_answered(const struct am *a)
{
    return a->answered_at;
}

const struct err *am_trouble(const struct am *a)
{
    return &a->trouble;
}

const struct err *am_error(const struct am *a)
{
    return &a->error;
}

/* ---- what an answer brings ---- */

/* Tokens are kept here, before the master sees the event: its next call may need them. The RM rolls
 * its master key once a day by default. The connection that stands goes on working; only the next
 * sign-in needs the new token, which an attempt that ignored it could not do any more. */
static void note_event(struct am *a, const struct amrm_event *e)
{
    AUTO_TOKEN token = { 0 };
    struct err err = ERR_INIT;
    int r = 0;

    switch (e->type) {
    case AMRM_TOKEN:
        r = token_from_pb(&token, e->token);
        if (r == 0)
            r = rpc_service_set_token(a->service, &token, &err);
        break;
    case AMRM_NM_TOKEN:
        if (a->nodes)
            r = nm_pool_set_token(a->nodes, e->nm_token->node_id, e->nm_token->token, &err);
        break;
    case AMRM_GRANTED:
        a->progress_at = loop_now(a->loop);
        break;
    default:
        break;
    }
    if (r < 0)
        log_warn(LOG_YARN, "a token could not be kept: %s, ignoring", err.text);
}

static void am_deliver(struct am *a, struct batch *b)
{
    for (size_t i = 0; i < b->events.n; i++)
        note_event(a, &b->events.v[i]);
    if (b->events.n == 0) {
        batch_free(b);
        return;
    }
    if (a->last && a->first)
        a->last->next = b;
    else
        a->first = b;
    a->last = b;
    cond_wake_all(&a->events);
}

/* ---- pauses ---- */

static int64_t between(int64_t low, int64_t v, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* How long until the next heartbeat after one that was answered. While something is asked for the
 * pause is 2 % of the time waited so far: an allocation is never noticed later than that, and a job
 * that waits for hours does not ask a hundred times a second. */
static int64_t pause_ms(struct am *a)
{
    int64_t waited = loop_now(a->loop) - a->progress_at;

    if (amrm_state(a->rm) == AMRM_FINISHING) {
        a->finish_ms = between(FINISH_FIRST_MS, a->finish_ms * 2, FINISH_MOST_MS);
        return a->finish_ms;
    }
    if (amrm_has_news(a->rm))
        return 0;
    if (amrm_pending(a->rm) > 0)
        return between(a->busy_ms, waited / BUSY_SHARE, a->idle_ms);
    return a->idle_ms;
}

/* Waits, unless there is something to tell. */
static int rest(struct am *a, int64_t ms)
{
    int64_t until = loop_in(a->loop, ms);
    int r = 0;

    while (!a->woken && r == 0 && loop_now(a->loop) < until)
        r = cond_wait(a->loop, &a->wake, until);
    return r == -ETIMEDOUT ? 0 : r;
}

/* ---- one exchange ---- */

static int am_on_answer(struct am *a, struct batch *b, struct err *err)
{
    int r = amrm_on_response(a->rm, b->answer, &b->events, err);

    if (r < 0)
        return r;
    a->answered_at = loop_now(a->loop);
    a->fault_ms = 0;
    err_clear(&a->trouble);
    return 0;
}

/* 1 to go on at once, 0 after a pause, negative to end. */
static int on_fault(struct am *a, struct batch *b, int code, const struct err *fault)
{
    trace(LOG_YARN, "am: %s: %s", amrm_state_name(amrm_state(a->rm)), fault->text);
    switch (amrm_on_fault(a->rm, fault, &b->events)) {
    case AMRM_AGAIN:
        return 1;
    case AMRM_STOP:
        if (amrm_state(a->rm) == AMRM_OVER)
            a->error = *fault;
        return -1;
    case AMRM_LATER:
        a->trouble = *fault;
        break;
    }
    if (code == -ETIMEDOUT || code == -EPROTO)
        rpc_service_reset(a->service); /* it may be that one connection only */
    /* Counted from the last answer. By then the RM has given the attempt up, or will when it is
     * back. */
    if (a->patience_ms >= 0 && loop_now(a->loop) - a->answered_at > a->patience_ms) {
        a->error = *fault;
        return -1;
    }
    return 0;
}

/* Sends what is to be sent and digests what comes back. False when that was the last time. */
static bool exchange(struct am *a)
{
    AUTO(batch) struct batch *b = calloc(1, sizeof(*b));
    enum amrm_call call = AMRM_CALL_NONE;
    const void *request = NULL;
    struct err err = ERR_INIT;
    int r = b ? amrm_next_request(a->rm, &call, &request, &err) : err_oom(&err);
    int go;

    if (r == 0 && call == AMRM_CALL_NONE)
        return false;
    /* Cleared before the call: what is asked for while it is under way goes with the next one at
     * once. */
    a->woken = false;
    if (r == 0)
        r = rpc_call(a->service, &methods[call], request, &b->answer, loop_in(a->loop, CALL_MS),
                     &err);
    if (r == 0)
        r = am_on_answer(a, b, &err);
    if (r == 0) {
        am_deliver(a, take(b));
        return amrm_state(a->rm) != AMRM_DONE && rest(a, pause_ms(a)) == 0;
    }
    if (r == -ECANCELED || fiber_cancelled(a->loop))
        return false;
    go = b ? on_fault(a, b, r, &err) : 0;
    if (b)
        am_deliver(a, take(b));
    if (go != 0)
        return go > 0;
    a->fault_ms = between(FAULT_FIRST_MS, a->fault_ms * 2, FAULT_MOST_MS);
    return fiber_sleep(a->loop, a->fault_ms) == 0;
}

static void heartbeat(void *arg)
{
    struct am *a = arg;

    a->answered_at = a->progress_at = loop_now(a->loop);
    while (exchange(a))
        ;
    a->ended = true;
    a->fiber = NULL;
    cond_wake_all(&a->events);
}

int am_start(struct am *a, struct err *err)
{
    if (a->fiber || a->ended)
        return err_set(err, -EALREADY, "the application master has been started already");
    return fiber_start(a->loop, heartbeat, a, &a->fiber, err);
}

/* ---- taking events, finishing ---- */

/* Drops the batches that are taken. */
static struct batch *current(struct am *a)
{
    while (a->first && a->first->taken == a->first->events.n) {
        struct batch *b = a->first;

        a->first = b->next;
        batch_free(b);
    }
    return a->first;
}

int am_next(struct am *a, const struct amrm_event **ret, int64_t deadline, struct err *err)
{
    struct batch *b;
    int r;

    while ((b = current(a)) == NULL) {
        if (a->ended)
            return err_set(err, -ENODATA, "the application master has ended");
        r = cond_wait(a->loop, &a->events, deadline);
        if (r < 0)
            return err_code(err, r, "waiting for the ResourceManager");
    }
    *ret = &b->events.v[b->taken++];
    return 0;
}

/* The heartbeat fiber sends the finish, so that it cannot overtake an allocate. A master that never
 * ran is started for it: the RM accepts a finish only from a registered attempt. */
int am_finish(struct am *a, Yarn__FinalStatus status, const char *diagnostics, const char *url,
              int64_t deadline, struct err *err)
{
    int r = amrm_finish(a->rm, status, diagnostics, url, err);

    if (r < 0)
        return r;
    on_news(a);
    if (!a->fiber && !a->ended)
        r = am_start(a, err);
    while (r == 0 && !a->ended) {
        r = cond_wait(a->loop, &a->events, deadline);
        if (r < 0)
            return err_code(err, r, "finishing the application");
    }
    if (r < 0 || amrm_state(a->rm) == AMRM_DONE)
        return r;
    if (err)
        *err = a->error;
    return a->error.code ? a->error.code : err_set(err, -ECANCELED, "the master was stopped");
}
