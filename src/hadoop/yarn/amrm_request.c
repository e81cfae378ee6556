/* amrm_request.c - what is sent to the ResourceManager, and what becomes of it. A request is built
 * once and repeated unchanged, under the same number, until it is answered or refused: the RM
 * recognizes it by that number. What it says is therefore marked in three steps: wanted, in flight,
 * told. See amrm.h.
 *
 *     wanted ──built──► in flight ──answered──► told ──the RM forgot──► wanted
 *        ▲                  │ refused
 *        └──────────────────┘ */
#include "base/auto.h"
#include "hadoop/yarn/amrm_private.h"
#include "hadoop/yarn/message.h"

#include <string.h>

/* ---- building ---- */

static void *build_register(const struct amrm *a)
{
    AUTO_MESSAGE Yarn__RegisterApplicationMasterRequest *m =
        MESSAGE_NEW(yarn__register_application_master_request);

    if (!m || MESSAGE_TEXT(m->host, a->host) < 0 ||
        MESSAGE_TEXT(m->tracking_url, a->tracking_url) < 0)
        return NULL;
    m->has_rpc_port = true;
    m->rpc_port = a->rpc_port;
    return take(m);
}

static void *build_finish(const struct amrm *a)
{
    AUTO_MESSAGE Yarn__FinishApplicationMasterRequest *m =
        MESSAGE_NEW(yarn__finish_application_master_request);

    if (!m || MESSAGE_TEXT(m->diagnostics, a->final_text) < 0 ||
        MESSAGE_TEXT(m->tracking_url, a->final_url) < 0)
        return NULL;
    m->has_final_status = true;
    m->final_status = a->final_status;
    return take(m);
}

/* Told ones stay in the list until the RM reports their end: after a restart it has to be told of
 * them again. */
static int add_releases(const struct amrm *a, Yarn__AllocateRequest *m)
{
    for (size_t i = 0; i < a->n_releases; i++)
        if (!a->releases[i].told &&
            MESSAGE_ADD(m, release, yarn_container_id_new(a->releases[i].id)) < 0)
            return -ENOMEM;
    return 0;
}

/* The asks and the blacklist mark their rows as they are built, so they come last. */
static void *build_allocate(struct amrm *a)
{
    AUTO_MESSAGE Yarn__AllocateRequest *m = MESSAGE_NEW(yarn__allocate_request);

    if (!m)
        return NULL;
    m->has_response_id = m->has_progress = true;
    m->response_id = a->response_id;
    if (a->url_changed && MESSAGE_TEXT(m->tracking_url, a->tracking_url) < 0)
        return NULL;
    if (add_releases(a, m) < 0 || am_blacklist_build(&a->blacklist, m) < 0)
        return NULL;
    if (asks_build(a->asks, m) < 0) {
        am_blacklist_failed(&a->blacklist);
        return NULL;
    }
    for (size_t i = 0; i < a->n_releases; i++)
        a->releases[i].in_flight = !a->releases[i].told;
    a->url_in_flight = a->url_changed;
    a->url_changed = false;
    return take(m);
}

static enum amrm_call call_of(enum amrm_state s)
{
    switch (s) {
    case AMRM_REGISTERING:
    case AMRM_RESYNC:
    case AMRM_LAST_RESYNC:
        return AMRM_CALL_REGISTER;
    case AMRM_RUNNING:
        return AMRM_CALL_ALLOCATE;
    case AMRM_FINISHING:
        return AMRM_CALL_FINISH;
    default:
        return AMRM_CALL_NONE;
    }
}

static void *amrm_build(struct amrm *a, enum amrm_call call)
{
    switch (call) {
    case AMRM_CALL_REGISTER:
        return build_register(a);
    case AMRM_CALL_ALLOCATE:
        return build_allocate(a);
    default:
        return build_finish(a);
    }
}

/* No new one is built while there is one that was neither answered nor refused: what is wanted
 * since then goes with the next. */
int amrm_next_request(struct amrm *a, enum amrm_call *ret_call, const void **ret, struct err *err)
{
    enum amrm_call call;

    if (a->state == AMRM_NEW)
        (void)amrm_move(a, AMRM_STEP_START, NULL);
    if (!a->request) {
        call = call_of(a->state);
        if (call != AMRM_CALL_NONE) {
            a->request = amrm_build(a, call);
            if (!a->request)
                return err_oom(err);
        }
        a->call = call;
        a->finish_sent |= call == AMRM_CALL_FINISH;
    }
    *ret_call = a->call;
    *ret = a->request;
    return 0;
}

/* While registering or finishing there is always something to say. */
bool amrm_has_news(const struct amrm *a)
{
    if (a->state != AMRM_RUNNING)
        return a->state != AMRM_DONE && a->state != AMRM_OVER;
    for (size_t i = 0; i < a->n_releases; i++)
        if (!a->releases[i].told)
            return true;
    return asks_changed(a->asks) || am_blacklist_changed(&a->blacklist) || a->url_changed;
}

/* ---- what became of it ---- */

static void drop_request(struct amrm *a)
{
    a->request = message_free(a->request);
    a->call = AMRM_CALL_NONE;
}

void amrm_request_answered(struct amrm *a)
{
    for (size_t i = 0; i < a->n_releases; i++) {
        a->releases[i].told |= a->releases[i].in_flight;
        a->releases[i].in_flight = false;
    }
    a->url_in_flight = false;
    am_blacklist_sent(&a->blacklist);
    drop_request(a);
}

/* Refused, which means: not taken over. What it said is wanted again. */
void amrm_request_failed(struct amrm *a)
{
    for (size_t i = 0; i < a->n_releases; i++)
        a->releases[i].in_flight = false;
    a->url_changed |= a->url_in_flight;
    a->url_in_flight = false;
    am_blacklist_failed(&a->blacklist);
    drop_request(a);
}

/* For an RM that knows nothing of us any more: all that was told is wanted again, and heartbeats
 * are counted from 0. */
void amrm_forgotten(struct amrm *a)
{
    amrm_request_failed(a);
    for (size_t i = 0; i < a->n_releases; i++)
        a->releases[i].told = false;
    asks_forgotten(a->asks);
    am_blacklist_forgotten(&a->blacklist);
    a->url_changed = false; /* the registration carries it */
    a->response_id = 0;
}
