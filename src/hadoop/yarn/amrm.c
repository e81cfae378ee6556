/* amrm.c - the table of states, and what the master wants: asks and releases are
 * collected here and go with the next heartbeat. See amrm.h. */
#include "base/array.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/amrm_private.h"
#include "hadoop/yarn/message.h"

#include <string.h>

/* ---- states ---- */

/* clang-format off */
/* NEW is where nothing leads to, so 0 means: cannot happen.
 *
 *     NEW ──► REGISTERING ──► RUNNING ──► FINISHING ──► DONE
 *                               │  ▲          │  ▲
 *                     RM forgot │  │ again    │  │ again
 *                               ▼  │          ▼  │
 *                              RESYNC     LAST_RESYNC
 *
 * An RM that restarted knows its attempts but not that they registered: every call but register is
 * refused until we do so again. LAST_RESYNC is the same on the way out, because a finish counts
 * only from a registered attempt. OVER is the end that the RM decided (killed, or another attempt
 * runs). */
static const enum amrm_state next_state[AMRM_STATES_][AMRM_STEPS_] = {
    [AMRM_NEW]         = { [AMRM_STEP_START]        = AMRM_REGISTERING,
                           [AMRM_STEP_FINISH]       = AMRM_LAST_RESYNC,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_REGISTERING] = { [AMRM_STEP_REGISTERED]   = AMRM_RUNNING,
                           [AMRM_STEP_LOST]         = AMRM_REGISTERING,
                           [AMRM_STEP_FINISH]       = AMRM_LAST_RESYNC,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_RUNNING]     = { [AMRM_STEP_LOST]         = AMRM_RESYNC,
                           [AMRM_STEP_FINISH]       = AMRM_FINISHING,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_RESYNC]      = { [AMRM_STEP_REGISTERED]   = AMRM_RUNNING,
                           [AMRM_STEP_LOST]         = AMRM_RESYNC,
                           [AMRM_STEP_FINISH]       = AMRM_LAST_RESYNC,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_FINISHING]   = { [AMRM_STEP_LOST]         = AMRM_LAST_RESYNC,
                           [AMRM_STEP_UNREGISTERED] = AMRM_DONE,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_LAST_RESYNC] = { [AMRM_STEP_REGISTERED]   = AMRM_FINISHING,
                           [AMRM_STEP_LOST]         = AMRM_LAST_RESYNC,
                           [AMRM_STEP_UNREGISTERED] = AMRM_DONE,
                           [AMRM_STEP_OVER]         = AMRM_OVER },
    [AMRM_DONE]        = { [AMRM_STEP_OVER]         = AMRM_DONE },
    [AMRM_OVER]        = { [AMRM_STEP_OVER]         = AMRM_OVER },
};

static const char *const state_names[AMRM_STATES_] = {
    "new", "registering", "running", "resync", "finishing", "last resync", "done", "over",
};
static const char *const step_names[AMRM_STEPS_] = {
    "start", "registered", "lost", "finish", "unregistered", "over",
};
/* clang-format on */

const char *amrm_state_name(enum amrm_state s)
{
    return s < AMRM_STATES_ ? state_names[s] : "?";
}

enum amrm_state amrm_state(const struct amrm *a)
{
    return a->state;
}

int amrm_move(struct amrm *a, enum amrm_step step, struct err *err)
{
    enum amrm_state next = next_state[a->state][step];

    if (next == AMRM_NEW)
        return err_set(err, -EPROTO, "application master: %s while %s", step_names[step],
                       state_names[a->state]);
    a->state = next;
    return 0;
}

/* ---- life ---- */

int amrm_new(const struct amrm_conf *conf, struct amrm **ret, struct err *err)
{
    AUTO_AMRM *a = calloc(1, sizeof(*a));

    if (!a)
        return err_oom(err);
    a->rpc_port = conf->rpc_port;
    a->host = strdup(conf->host ? conf->host : "");
    a->tracking_url = strdup(conf->tracking_url ? conf->tracking_url : "");
    a->asks = asks_new();
    if (!a->host || !a->tracking_url || !a->asks)
        return err_oom(err);
    *ret = take(a);
    return 0;
}

struct amrm *amrm_free(struct amrm *a)
{
    if (!a)
        return NULL;
    asks_free(a->asks);
    am_blacklist_done(&a->blacklist);
    containers_done(&a->known);
    message_free(a->registration);
    message_free(a->token);
    message_free(a->request);
    free(a->releases);
    free(a->host);
    free(a->tracking_url);
    free(a->final_text);
    free(a->final_url);
    free(a->trouble);
    free(a);
    return NULL;
}

void amrm_set_on_news(struct amrm *a, void (*on_news)(void *arg), void *arg)
{
    a->on_news = on_news;
    a->on_news_arg = arg;
}

/* Tells the driver, when something went well, that there is something to tell the RM. */
static int news(struct amrm *a, int r)
{
    if (r >= 0 && a->on_news)
        a->on_news(a->on_news_arg);
    return r;
}

/* ---- asking ---- */

int amrm_ask(struct amrm *a, const struct ask *ask, struct err *err)
{
    const Yarn__RegisterApplicationMasterResponse *reg = a->registration;
    int r =
        yarn_resource_check(&ask->resource, reg ? reg->maximum_capability : NULL,
                            reg ? reg->resource_types : NULL, reg ? reg->n_resource_types : 0, err);

    return r < 0 ? r : news(a, asks_add(a->asks, ask, err));
}

int32_t amrm_cancel(struct amrm *a, int32_t priority, int64_t id, int32_t count)
{
    return news(a, asks_cancel(a->asks, priority, id, count));
}

int amrm_relax(struct amrm *a, int32_t priority, int64_t id)
{
    return news(a, asks_relax(a->asks, priority, id));
}

int64_t amrm_pending(const struct amrm *a)
{
    return asks_pending(a->asks);
}

/* ---- giving back ---- */

int amrm_queue_release(struct amrm *a, struct yarn_container_id id)
{
    if (ARRAY_FIT(a->releases, a->cap_releases, a->n_releases + 1) < 0)
        return -ENOMEM;
    a->releases[a->n_releases++] = (struct amrm_release){ .id = id };
    return 0;
}

int amrm_release(struct amrm *a, struct yarn_container_id id, struct err *err)
{
    char text[YARN_CONTAINER_ID_TEXT];

    switch (containers_get(&a->known, id)) {
    case CONTAINER_UNHEARD:
        return err_set(err, -ENOENT, "'%s' is not a container of this application",
                       yarn_container_id_text(id, text));
    case CONTAINER_RELEASED:
    case CONTAINER_ENDED:
        return 0;
    case CONTAINER_HELD:
        break;
    }
    if (amrm_queue_release(a, id) < 0)
        return err_oom(err);
    containers_set(&a->known, id, CONTAINER_RELEASED);
    return news(a, 0);
}

void amrm_forget_container(struct amrm *a, struct yarn_container_id id)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->n_releases; i++)
        if (yarn_container_id_cmp(a->releases[i].id, id) != 0)
            a->releases[kept++] = a->releases[i];
    a->n_releases = kept;
}

int amrm_blacklist(struct amrm *a, const char *name, bool on, struct err *err)
{
    int r = am_blacklist_set(&a->blacklist, name, on);

    if (r == -EINVAL)
        return err_set(err, r, "'%s' cannot be on the blacklist: it is neither a host nor a rack",
                       name);
    return r < 0 ? err_oom(err) : news(a, 0);
}

/* ---- showing ---- */

int amrm_set_tracking_url(struct amrm *a, const char *url, struct err *err)
{
    char *copy;

    if (str_eq(url, a->tracking_url))
        return 0;
    copy = strdup(url);
    if (!copy)
        return err_oom(err);
    free(a->tracking_url);
    a->tracking_url = copy;
    /* Before the first registration there is nothing to tell: the registration carries the
     * address. */
    a->url_changed = a->registered_before;
    return 0;
}

int amrm_finish(struct amrm *a, Yarn__FinalStatus status, const char *diagnostics, const char *url,
                struct err *err)
{
    AUTO_FREE char *text = strdup(diagnostics ? diagnostics : "");
    AUTO_FREE char *page = strdup(url ? url : "");
    int r;

    if (a->final_text)
        return err_set(err, -EALREADY, "the application master has finished already");
    if (!text || !page)
        return err_oom(err);
    r = amrm_move(a, AMRM_STEP_FINISH, err);
    if (r < 0)
        return r;
    a->final_status = status;
    a->final_text = take(text);
    a->final_url = take(page);
    return 0;
}

/* ---- what the RM has said ---- */

int32_t amrm_cluster_nodes(const struct amrm *a)
{
    return a->cluster_nodes;
}
