/* amrm_answer.c - what comes back from the ResourceManager: answers and faults. See amrm.h.
 *
 * An answer is digested in two steps: first all memory that it may need is got, which can fail;
 * then the state changes, which cannot. So a failure leaves the request unanswered, and the RM will
 * answer the same one again. */
#include "base/array.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/rpc/exception.h"
#include "hadoop/yarn/amrm_private.h"
#include "hadoop/yarn/message.h"

#include <string.h>

#define RESPONSE_ID_MASK 0x7fffffff
/* Heartbeat numbers that we take over from the RM in a row, without one good answer in between. */
#define ADOPT_MAX 3
/* A sign-in that is refused may be an RM that is just dying. Refused this often, it is an
 * answer. */
#define REFUSALS_MAX 5

/* ---- events ---- */

void amrm_events_done(struct amrm_events *e)
{
    free(e->v);
    *e = (struct amrm_events){ 0 };
}

static struct amrm_event *emit(struct amrm_events *e, enum amrm_event_type type)
{
    struct amrm_event *v = &e->v[e->n++];

    *v = (struct amrm_event){ .type = type };
    return v;
}

/* ---- NM tokens ---- */

static bool usable_nm_token(const Yarn__NmToken *t)
{
    return yarn_node_id(t->node_id) && t->token;
}

static void emit_nm_tokens(Yarn__NmToken *const *tokens, size_t n, struct amrm_events *e)
{
    for (size_t i = 0; i < n; i++)
        if (usable_nm_token(tokens[i]))
            emit(e, AMRM_NM_TOKEN)->nm_token = tokens[i];
}

/* ---- containers ---- */

static bool usable_container(const Yarn__Container *c)
{
    return yarn_node_id(c->node_id) && c->container_token;
}

static void release_room_taken(struct amrm *a, struct yarn_container_id id)
{
    a->releases[a->n_releases++] = (struct amrm_release){ .id = id };
    containers_set(&a->known, id, CONTAINER_RELEASED);
}

/* More than was asked for comes when a cancellation and a grant cross. What nobody wants is given
 * back with the next heartbeat, and its end is reported like that of any other container. */
static void take_granted(struct amrm *a, const Yarn__Container *c, struct amrm_events *e)
{
    struct yarn_container_id id = yarn_container_id_of(c->id);
    bool usable = usable_container(c), wanted;
    struct amrm_event *v;
    int32_t priority;
    int64_t request;

    if (!c->id || containers_get(&a->known, id) != CONTAINER_UNHEARD)
        return;
    asks_key(a->asks, c, &priority, &request);
    /* Counted down first, whatever it is: the RM has done so too. */
    wanted = asks_granted(a->asks, priority, request, usable ? c->node_id->host : "");
    v = emit(e, wanted && usable ? AMRM_GRANTED : AMRM_SURPLUS);
    v->container = c;
    v->request = request;
    v->id = id;
    if (wanted && usable)
        containers_set(&a->known, id, CONTAINER_HELD);
    else
        release_room_taken(a, id);
}

/* They come with the registration, and since 3.1 also with any later heartbeat: nodes report them
 * to a restarted RM one after the other. */
static void take_previous(struct amrm *a, const Yarn__Container *c, struct amrm_events *e)
{
    struct yarn_container_id id = yarn_container_id_of(c->id);
    struct amrm_event *v;

    if (!c->id || !yarn_node_id(c->node_id) || containers_get(&a->known, id) != CONTAINER_UNHEARD)
        return;
    containers_set(&a->known, id, CONTAINER_HELD);
    v = emit(e, AMRM_PREVIOUS);
    v->container = c;
    v->id = id;
}

/* A restarted RM may report an end again, and the first report may be of a container that was never
 * started (released, expired, its node lost). */
static void take_completed(struct amrm *a, const Yarn__ContainerStatus *s, struct amrm_events *e)
{
    struct yarn_container_id id = yarn_container_id_of(s->container_id);
    struct amrm_event *v;

    if (!s->container_id || containers_get(&a->known, id) == CONTAINER_ENDED)
        return;
    containers_set(&a->known, id, CONTAINER_ENDED);
    amrm_forget_container(a, id);
    v = emit(e, AMRM_COMPLETED);
    v->status = s;
    v->id = id;
}

/* ---- the parts of an allocate response ---- */

static size_t preempt_count(const Yarn__PreemptionMessage *p)
{
    return p ? (p->strict_contract ? p->strict_contract->n_containers : 0) +
                   (p->contract ? p->contract->n_containers : 0)
             : 0;
}

static void emit_preempt(Yarn__PreemptionContainer *const *v, size_t n, bool strict,
                         struct amrm_events *e)
{
    for (size_t i = 0; i < n; i++) {
        struct amrm_event *event = emit(e, AMRM_PREEMPT);

        event->id = yarn_container_id_of(v[i]->id);
        event->strict = strict;
    }
}

static void take_preempt(const Yarn__PreemptionMessage *p, struct amrm_events *e)
{
    if (p && p->strict_contract)
        emit_preempt(p->strict_contract->containers, p->strict_contract->n_containers, true, e);
    if (p && p->contract)
        emit_preempt(p->contract->containers, p->contract->n_containers, false, e);
}

/* The bounds are generous: an entry that is not usable, or known already, leaves its place
 * empty. */
static int reserve(struct amrm *a, const Yarn__AllocateResponse *m, struct amrm_events *e)
{
    size_t fresh = m->n_allocated_containers + m->n_containers_from_previous_attempts;
    size_t events = fresh + m->n_completed_container_statuses + m->n_updated_nodes +
                    m->n_nm_tokens + preempt_count(m->preempt) + 1;
    size_t releases = a->n_releases + m->n_allocated_containers;

    if (ARRAY_FIT(a->releases, a->cap_releases, releases) < 0 ||
        ARRAY_FIT(e->v, e->cap, e->n + events) < 0 ||
        containers_reserve(&a->known, fresh + m->n_completed_container_statuses) < 0)
        return -ENOMEM;
    return 0;
}

/* The RM repeats a new token until we have a connection with it. */
static int new_token(const struct amrm *a, const Hadoop__Token *m, Hadoop__Token **ret)
{
    const ProtobufCBinaryData *old = a->token ? &a->token->identifier : NULL;

    if (!m || (old && old->len == m->identifier.len &&
               (old->len == 0 || memcmp(old->data, m->identifier.data, old->len) == 0)))
        return 0;
    *ret = message_copy(m);
    return *ret ? 0 : -ENOMEM;
}

/* `token` is a copy of the answer's when that is a new one, else NULL; taken over. The order is for
 * those who take the events: tokens before the containers that need them, and containers before
 * their ends, which may come in the same answer. */
static void digest(struct amrm *a, const Yarn__AllocateResponse *m, Hadoop__Token *token,
                   struct amrm_events *e)
{
    asks_sent(a->asks);
    amrm_request_answered(a);
    emit_nm_tokens(m->nm_tokens, m->n_nm_tokens, e);
    if (token) {
        message_free(a->token);
        a->token = token;
        emit(e, AMRM_TOKEN)->token = m->am_rm_token;
    }
    for (size_t i = 0; i < m->n_containers_from_previous_attempts; i++)
        take_previous(a, m->containers_from_previous_attempts[i], e);
    for (size_t i = 0; i < m->n_allocated_containers; i++)
        take_granted(a, m->allocated_containers[i], e);
    asks_settled(a->asks);
    take_preempt(m->preempt, e);
    for (size_t i = 0; i < m->n_updated_nodes; i++)
        emit(e, AMRM_NODE)->node = m->updated_nodes[i];
    for (size_t i = 0; i < m->n_completed_container_statuses; i++)
        take_completed(a, m->completed_container_statuses[i], e);
    a->response_id = m->response_id;
    a->cluster_nodes = m->num_cluster_nodes;
    a->adopted = 0;
}

/* Heartbeats are numbered. The RM answers number n with n + 1; a repeated n gets the stored answer
 * again (what it asked for is not taken twice), and any other number is refused. The mask is Java's
 * way from the largest int back to 0. */
static int on_allocated(struct amrm *a, const Yarn__AllocateResponse *m, struct amrm_events *e,
                        struct err *err)
{
    AUTO_MESSAGE Hadoop__Token *token = NULL;
    int32_t expected = (int32_t)(((uint32_t)a->response_id + 1) & RESPONSE_ID_MASK);

    if (m->response_id != expected)
        return err_set(err, -EPROTO,
                       "the ResourceManager answered heartbeat %d with number %d instead of %d",
                       a->response_id, m->response_id, expected);
    if (new_token(a, m->am_rm_token, &token) < 0 || reserve(a, m, e) < 0)
        return err_oom(err);
    digest(a, m, take(token), e);
    return 0;
}

/* ---- registration and end ---- */

static int amrm_on_registered(struct amrm *a, const Yarn__RegisterApplicationMasterResponse *m,
                              struct amrm_events *e, struct err *err)
{
    size_t n = m->n_containers_from_previous_attempts;
    AUTO_MESSAGE Yarn__RegisterApplicationMasterResponse *copy = message_copy(m);
    struct amrm_event *v;
    int r;

    if (!copy ||
        ARRAY_FIT(e->v, e->cap, e->n + 1 + m->n_nm_tokens_from_previous_attempts + n) < 0 ||
        containers_reserve(&a->known, n) < 0)
        return err_oom(err);
    r = amrm_move(a, AMRM_STEP_REGISTERED, err);
    if (r < 0)
        return r;
    /* Those that know request ids and send no types (2.8, 2.9) are none the worse for it. */
    if (m->maximum_capability && m->n_resource_types == 0)
        asks_without_ids(a->asks);
    amrm_forgotten(a);
    message_free(a->registration);
    a->registration = take(copy);
    v = emit(e, AMRM_REGISTERED);
    v->again = a->registered_before;
    a->registered_before = true;
    emit_nm_tokens(m->nm_tokens_from_previous_attempts, m->n_nm_tokens_from_previous_attempts, e);
    for (size_t i = 0; i < n; i++)
        take_previous(a, m->containers_from_previous_attempts[i], e);
    return 0;
}

/* Until the RM has saved the end it answers "not yet", and the same finish is sent again. */
static int on_finished(struct amrm *a, const Yarn__FinishApplicationMasterResponse *m,
                       struct amrm_events *e, struct err *err)
{
    int r = 0;

    if (m->unregistered) {
        if (ARRAY_FIT(e->v, e->cap, e->n + 1) < 0)
            return err_oom(err);
        r = amrm_move(a, AMRM_STEP_UNREGISTERED, err);
        if (r == 0)
            emit(e, AMRM_FINISHED);
    }
    amrm_request_answered(a);
    return r;
}

/* Whatever the answer says, the RM answers: refusals in a row and reported trouble are over. */
int amrm_on_response(struct amrm *a, const void *answer, struct amrm_events *ret, struct err *err)
{
    a->refusals = 0;
    a->troubled = false;
    switch (a->call) {
    case AMRM_CALL_REGISTER:
        return amrm_on_registered(a, answer, ret, err);
    case AMRM_CALL_ALLOCATE:
        return on_allocated(a, answer, ret, err);
    case AMRM_CALL_FINISH:
        return on_finished(a, answer, ret, err);
    case AMRM_CALL_NONE:
        break;
    }
    return err_set(err, -EPROTO, "an answer to nothing");
}

/* ---- faults ---- */

static enum amrm_todo amrm_over(struct amrm *a, const struct err *fault, struct amrm_events *e)
{
    /* An attempt that is unknown after it sent its last request has been heard. */
    bool done = a->finish_sent && (a->state == AMRM_FINISHING || a->state == AMRM_LAST_RESYNC);
    int r = ARRAY_FIT(e->v, e->cap, e->n + 1);

    (void)amrm_move(a, done ? AMRM_STEP_UNREGISTERED : AMRM_STEP_OVER, NULL);
    asks_failed(a->asks);
    amrm_request_failed(a);
    if (r == 0)
        emit(e, done ? AMRM_FINISHED : AMRM_ENDED)->why = &e->why;
    e->why = *fault;
    return AMRM_STOP;
}

/* The RM restarted. It knows nothing of what was asked for, so all of it is told again after the
 * registration; containers that run are reported to it by their nodes. */
static enum amrm_todo lost(struct amrm *a)
{
    if (amrm_move(a, AMRM_STEP_LOST, NULL) < 0)
        return AMRM_STOP;
    amrm_forgotten(a);
    return AMRM_AGAIN;
}

/* Our registration got through and its answer did not. Its answer is lost, but the attempt is
 * registered. */
static enum amrm_todo registered_already(struct amrm *a, struct amrm_events *e)
{
    if (ARRAY_FIT(e->v, e->cap, e->n + 1) < 0)
        return AMRM_LATER;
    (void)amrm_move(a, AMRM_STEP_REGISTERED, NULL);
    amrm_forgotten(a);
    emit(e, AMRM_REGISTERED)->again = a->registered_before;
    a->registered_before = true;
    return AMRM_AGAIN;
}

/* "… expect responseId to be 7 but get 42": whatever was lost between is lost, but the RM tells us
 * where it is, and everything can be told again from there. */
static bool adopt_response_id(struct amrm *a, const char *text)
{
    const char *p = strstr(text, "expect responseId to be ");
    char *end;
    long id;

    if (!p || a->call != AMRM_CALL_ALLOCATE || a->adopted >= ADOPT_MAX)
        return false;
    id = strtol(p + strlen("expect responseId to be "), &end, 10);
    if (strncmp(end, " but", 4) != 0 || id < 0 || id > RESPONSE_ID_MASK)
        return false;
    a->adopted++;
    amrm_request_failed(a);
    asks_unknown(a->asks);
    a->response_id = (int32_t)id;
    return true;
}

static enum amrm_todo bad_request(struct amrm *a, const struct err *fault, struct amrm_events *e)
{
    if (a->call == AMRM_CALL_REGISTER && strstr(fault->text, "already registered"))
        return registered_already(a, e);
    if (adopt_response_id(a, fault->text))
        return AMRM_AGAIN;
    return amrm_over(a, fault, e);
}

static void emit_refused(void *arg, int32_t priority, int64_t id)
{
    struct amrm_events *e = arg;
    struct amrm_event *v = emit(e, AMRM_REFUSED);

    v->why = &e->why;
    v->ask.priority = priority;
    v->ask.id = id;
}

/* One bad row makes the RM refuse them all, and it does not say which. */
static enum amrm_todo amrm_refused(struct amrm *a, const struct err *fault, struct amrm_events *e)
{
    const Yarn__AllocateRequest *m = a->request;

    if (a->call != AMRM_CALL_ALLOCATE || m->n_ask == 0)
        return amrm_over(a, fault, e);
    if (ARRAY_FIT(e->v, e->cap, e->n + m->n_ask) < 0)
        return AMRM_LATER;
    asks_refused(a->asks, emit_refused, e);
    amrm_request_failed(a);
    e->why = *fault;
    return AMRM_AGAIN;
}

/* Reports why no containers come: once for each run of failures, and not again when the same reason
 * comes back. */
static enum amrm_todo in_trouble(struct amrm *a, const struct err *fault, struct amrm_events *e)
{
    char *text;

    if (a->troubled || (a->trouble && str_eq(a->trouble, fault->text)))
        return AMRM_LATER;
    text = strdup(fault->text);
    if (!text || ARRAY_FIT(e->v, e->cap, e->n + 1) < 0) {
        free(text);
        return AMRM_LATER;
    }
    free(a->trouble);
    a->trouble = text;
    a->troubled = true;
    emit(e, AMRM_TROUBLE)->why = &e->why;
    e->why = *fault;
    return AMRM_LATER;
}

/* Three kinds: the attempt is over (stop), the RM has other ideas than we of what was said before
 * (say it again), or it cannot answer now (later). What is not known is treated as the last kind: a
 * bug of one release must not end a job that runs well. */
enum amrm_todo amrm_on_fault(struct amrm *a, const struct err *fault, struct amrm_events *ret)
{
    if (a->call == AMRM_CALL_NONE)
        return a->state == AMRM_DONE || a->state == AMRM_OVER ? AMRM_STOP : AMRM_LATER;
    switch (fault->detail) {
    case RPC_EX_NOT_REGISTERED:
        return lost(a);
    case RPC_EX_INVALID_AM_REQUEST:
        return bad_request(a, fault, ret);
    case RPC_EX_INVALID_RESOURCE:
    case RPC_EX_INVALID_LABEL:
        return amrm_refused(a, fault, ret);
    case RPC_EX_ATTEMPT_NOT_FOUND:
    case RPC_EX_INVALID_TOKEN: /* how a new connection learns that the attempt is over */
    case RPC_EX_ACCESS:
    case RPC_EX_AUTHORIZATION:
        return amrm_over(a, fault, ret);
    case RPC_EX_SASL: /* refused, or an RM that died while we signed in */
        return ++a->refusals < REFUSALS_MAX ? AMRM_LATER : amrm_over(a, fault, ret);
    case RPC_EX_NONE: /* the network: rpc.h tries all addresses, and the RM may be restarting */
    case RPC_EX_STANDBY:
    case RPC_EX_RETRIABLE:
        return AMRM_LATER;
    default:
        return in_trouble(a, fault, ret);
    }
}
