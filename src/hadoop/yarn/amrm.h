/* amrm.h - the protocol between an application master and the ResourceManager, without any I/O.
 *
 *      NEW ─► REGISTERING ─► RUNNING ─► FINISHING ─► DONE
 *                              │ ▲          │ ▲
 *              RM has restarted│ │          │ │
 *                              ▼ │          ▼ │
 *                             RESYNC     LAST_RESYNC         OVER: the attempt is no more
 *
 * The driver (am.h) asks for the next request, sends it, and hands in what came of it: an answer
 * or a fault. One request is under way at a time, and until it is answered the same one is sent
 * again, byte for byte: the RM answers a heartbeat that it has seen from memory, and would ignore
 * whatever was added to it. What the master wants meanwhile goes into the one after.
 *
 * All that the RM has been told is kept (asks, releases, blacklist), because an RM that
 * has restarted has forgotten it: then it is told everything again.
 *
 * Pure: no clock, no loop. Functions that fail leave everything as it was. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/yarn/asks.h"
#include "hadoop/yarn/ids.h"
#include "hadoop/yarn_am.pb-c.h"

enum amrm_state {
    AMRM_NEW,
    AMRM_REGISTERING,
    AMRM_RUNNING,
    AMRM_RESYNC, /* registering again, then RUNNING */
    AMRM_FINISHING,
    AMRM_LAST_RESYNC, /* registering only because an unregistered master cannot finish */
    AMRM_DONE,        /* the RM has our final word */
    AMRM_OVER,        /* the RM has ended this attempt: leave, and leave the containers alone */
    AMRM_STATES_
};
const char *amrm_state_name(enum amrm_state s);

struct amrm; /* opaque */

/* What the RM shows of us; all copied. */
struct amrm_conf {
    const char *host;         /* any text; NULL for "" */
    int32_t rpc_port;         /* of ours, or -1 */
    const char *tracking_url; /* "", or "http://host:port/path" */
};

/* *ret is the caller's: amrm_free(). */
int amrm_new(const struct amrm_conf *conf, struct amrm **ret, struct err *err);
struct amrm *amrm_free(struct amrm *a); /* NULL is fine; always NULL */

enum amrm_state amrm_state(const struct amrm *a);

/* Calls on_news(arg) whenever the master has said something that the RM is to be told. */
void amrm_set_on_news(struct amrm *a, void (*on_news)(void *arg), void *arg);

/* ---- what the master wants: takes effect with the next request ---- */

/* Asks for containers. Once registered, what the RM would refuse is refused here (-EINVAL): it
 * would refuse the whole heartbeat with it. See asks_add() for the rest. */
int amrm_ask(struct amrm *a, const struct ask *ask, struct err *err);
/* Takes back `count` (negative: all) that are not granted yet. Returns how many that were. A grant
 * that is on its way comes as AMRM_SURPLUS. */
int32_t amrm_cancel(struct amrm *a, int32_t priority, int64_t id, int32_t count);
/* Lets strict asks be served anywhere. -ENOENT when nothing is outstanding. */
int amrm_relax(struct amrm *a, int32_t priority, int64_t id);
int64_t amrm_pending(const struct amrm *a); /* all that is outstanding */

/* Gives a container back. -ENOENT when it is not one of ours: the RM would refuse the heartbeat. */
int amrm_release(struct amrm *a, struct yarn_container_id id, struct err *err);

/* No more (or again) containers on this host or rack. -EINVAL for "*". */
int amrm_blacklist(struct amrm *a, const char *name, bool on, struct err *err);

int amrm_set_tracking_url(struct amrm *a, const char *url, struct err *err);

/* The last word. `url` is where the application's page redirects to afterwards, or "". A second
 * call is -EALREADY. */
int amrm_finish(struct amrm *a, Yarn__FinalStatus status, const char *diagnostics, const char *url,
                struct err *err);

/* ---- what the RM has said ---- */

int32_t amrm_cluster_nodes(const struct amrm *a);

/* ---- the exchange ---- */

enum amrm_call { AMRM_CALL_NONE, AMRM_CALL_REGISTER, AMRM_CALL_ALLOCATE, AMRM_CALL_FINISH };

/* The request to send now, the same one while it is unanswered. *ret is borrowed until the answer
 * or fault is handed in; NULL with AMRM_CALL_NONE, when DONE or OVER. */
int amrm_next_request(struct amrm *a, enum amrm_call *ret_call, const void **ret, struct err *err);

/* True when a request now would tell the RM something new, and not just that we live. */
bool amrm_has_news(const struct amrm *a);

enum amrm_event_type {
    AMRM_REGISTERED, /* registration; also after a resync, with `again` */
    AMRM_NM_TOKEN,   /* nm_token: before the containers that need it */
    AMRM_TOKEN,      /* token, a new one: sign in with it from the next connection on */
    AMRM_GRANTED,    /* container, that was asked for */
    AMRM_SURPLUS,    /* container, that nobody waits for any more: is being given back */
    AMRM_PREVIOUS,   /* container of an earlier attempt, still running and ours now */
    AMRM_COMPLETED,  /* status: once for each container, whether started, released or lost */
    AMRM_PREEMPT,    /* id: will be killed soon (`strict`), or may be */
    AMRM_NODE,       /* node: came, went, or is being decommissioned */
    AMRM_REFUSED,    /* ask: the RM refused it with `why`; nothing of it is outstanding now */
    AMRM_TROUBLE,    /* the RM fails at our heartbeats with `why`, told once; we go on trying */
    AMRM_FINISHED,   /* we are DONE */
    AMRM_ENDED,      /* we are OVER, because of `why` */
};

/* Everything pointed to is borrowed from the answer, and ids are values. */
struct amrm_event {
    enum amrm_event_type type;
    bool again, strict;
    const struct err *why;       /* of AMRM_REFUSED, AMRM_TROUBLE and AMRM_ENDED: the RM's words */
    int64_t request;             /* of AMRM_GRANTED: the id of the ask */
    struct yarn_container_id id; /* of container, status and preempt */
    union {
        const Yarn__NmToken *nm_token;
        const Hadoop__Token *token;
        const Yarn__Container *container;
        const Yarn__ContainerStatus *status;
        const Yarn__NodeReport *node;
        struct {
            int32_t priority;
            int64_t id;
        } ask;
    };
};

struct amrm_events {
    struct amrm_event *v;
    size_t n, cap;
    struct err why; /* the fault that events refer to */
};
void amrm_events_done(struct amrm_events *e); /* zero is a valid start */

#define AUTO_AMRM_EVENTS AUTO_DONE(amrm_events_done) struct amrm_events

/* Digests the answer to the request under way, a message of the type that its call answers with,
 * and adds to `ret` what it means. -ENOMEM: nothing was digested, hand it in again. -EPROTO: an
 * answer that cannot be to our request. */
int amrm_on_response(struct amrm *a, const void *answer, struct amrm_events *ret, struct err *err);

enum amrm_todo {
    AMRM_AGAIN, /* ask for the next request at once: it is another one now */
    AMRM_LATER, /* the same again after a pause */
    AMRM_STOP,  /* DONE or OVER */
};

/* The request under way failed with `fault`, as rpc.h fills it. May add events. */
enum amrm_todo amrm_on_fault(struct amrm *a, const struct err *fault, struct amrm_events *ret);

AUTO_DEFINE(amrm, struct amrm *, amrm_free);
#define AUTO_AMRM AUTO(amrm) struct amrm
