/* rm_client.c - one application, as its client sees it at the ResourceManager: submit, watch, move,
 * kill. The RM acknowledges most calls before it has decided or saved anything, so the calls that
 * matter are repeated, or followed by reports, until the outcome is known. See rm_client.h.
 *
 *     submitApplication ──► acknowledged ──► NEW, NEW_SAVING, SUBMITTED ──► ACCEPTED, …
 *                                 │ report: unknown                    └──► FAILED, with the reason
 *                                 └──► submitted again, under the same id */
#include "base/str.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client_private.h"
#include "loop/fiber.h"

#include <string.h>

#define POLL_FIRST_MS 10
#define POLL_MOST_MS 200
#define SUBMIT_MS 120000 /* without a deadline of the caller's */

static const struct rpc_protocol protocol = {
    .name = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
    .title = "ResourceManager",
};

/* clang-format off */
static const struct rpc_method
    get_new      = METHOD("getNewApplication", get_new_application, RPC_IDEMPOTENT),
    submit       = METHOD("submitApplication", submit_application, RPC_IDEMPOTENT),
    get_report   = METHOD("getApplicationReport", get_application_report, RPC_IDEMPOTENT),
    force_kill   = METHOD("forceKillApplication", kill_application, RPC_IDEMPOTENT),
    move         = METHOD("moveApplicationAcrossQueues", move_application_across_queues, RPC_IDEMPOTENT),
    get_attempts = METHOD("getApplicationAttempts", get_application_attempts, RPC_IDEMPOTENT);
/* clang-format on */

/* ---- life ---- */

int yarn_client_new(struct session *s, struct yarn_client **ret, struct err *err)
{
    AUTO_YARN_CLIENT *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_oom(err);
    c->session = s;
    r = conf_resourcemanagers(session_conf(s), RM_CLIENT, &c->hosts, err);
    if (r == 0)
        r = session_service(s, &protocol, &c->hosts,
                            credentials_find(session_credentials(s), "RM_DELEGATION_TOKEN", NULL),
                            &c->service, err);
    if (r < 0)
        return r;
    *ret = take(c);
    return 0;
}

struct yarn_client *yarn_client_free(struct yarn_client *c)
{
    if (!c)
        return NULL;
    rpc_service_free(c->service);
    hosts_done(&c->hosts);
    free(c);
    return NULL;
}

const struct rpc_service *yarn_client_service(const struct yarn_client *c)
{
    return c->service;
}

/* ---- new, submit, report ---- */

int yarn_new_application(struct yarn_client *c, Yarn__GetNewApplicationResponse **ret,
                         struct err *err)
{
    Yarn__GetNewApplicationRequest request = YARN__GET_NEW_APPLICATION_REQUEST__INIT;
    AUTO_RPC Yarn__GetNewApplicationResponse *answer = NULL;
    int r = rpc_call(c->service, &get_new, &request, &answer, 0, err);

    if (r < 0)
        return r;
    if (!answer->application_id)
        return err_set(err, -EPROTO, "the ResourceManager gave no application id");
    *ret = take(answer);
    return 0;
}

static int report_until(struct yarn_client *c, struct yarn_app_id id, int64_t deadline,
                        Yarn__GetApplicationReportResponse **ret, struct err *err)
{
    Yarn__GetApplicationReportRequest request = YARN__GET_APPLICATION_REPORT_REQUEST__INIT;
    AUTO_RPC Yarn__GetApplicationReportResponse *answer = NULL;
    struct yarn_id_message m;
    char text[YARN_APP_ID_TEXT];
    int r;

    request.application_id = yarn_app_id_message(&m, id);
    r = rpc_call(c->service, &get_report, &request, &answer, deadline, err);
    if (r < 0)
        return r;
    if (!answer->report) {
        err_set(err, -ENOENT, "there is no report of '%s'", yarn_app_id_text(id, text));
        return -ENOENT;
    }
    *ret = take(answer);
    return 0;
}

int yarn_report(struct yarn_client *c, struct yarn_app_id id,
                Yarn__GetApplicationReportResponse **ret, struct err *err)
{
    return report_until(c, id, 0, ret, err);
}

static int send_submit(struct yarn_client *c, const Yarn__ApplicationSubmissionContext *context,
                       int64_t deadline, struct err *err)
{
    Yarn__SubmitApplicationRequest request = YARN__SUBMIT_APPLICATION_REQUEST__INIT;
    AUTO_RPC Yarn__SubmitApplicationResponse *answer = NULL;

    request.context = (Yarn__ApplicationSubmissionContext *)context;
    return rpc_call(c->service, &submit, &request, &answer, deadline, err);
}

static bool is_undecided(Yarn__ApplicationState s)
{
    return s == YARN__APPLICATION_STATE__APP_NEW || s == YARN__APPLICATION_STATE__APP_NEW_SAVING ||
           s == YARN__APPLICATION_STATE__APP_SUBMITTED;
}

/* One look: 1 when it is decided, 0 when not yet, also when the RM has lost it and got it again. */
static int rm_client_look(struct yarn_client *c, const Yarn__ApplicationSubmissionContext *context,
                          int64_t deadline, Yarn__GetApplicationReportResponse **ret,
                          struct err *err)
{
    struct err local = ERR_INIT;
    int r = report_until(c, yarn_app_id_of(context->application_id), deadline, ret, &local);

    /* The RM failed over before it had saved the application. A second submission of an id that it
     * does know is accepted and changes nothing, so this is safe. */
    if (r < 0 && local.detail == RPC_EX_APP_NOT_FOUND)
        return send_submit(c, context, deadline, err);
    if (r < 0) {
        if (err)
            *err = local;
        return r;
    }
    if (is_undecided((*ret)->report->state)) {
        *ret = rpc_free(*ret);
        return 0;
    }
    return 1;
}

/* The next pause, longer each time, ending at the deadline at the latest. */
static int pause_for(struct loop *l, int64_t *ms, int64_t deadline, const char *what,
                     struct err *err)
{
    int64_t left = deadline - loop_now(l);
    int r;

    if (left <= 0)
        return err_set(err, -ETIMEDOUT, "%s took too long", what);
    r = fiber_sleep(l, *ms < left ? *ms : left);
    if (r < 0)
        return err_set(err, r, "%s was interrupted", what);
    *ms = *ms * 2 < POLL_MOST_MS ? *ms * 2 : POLL_MOST_MS;
    return 0;
}

/* Waiting for the decision is worth its few milliseconds: an unknown queue or a token that cannot
 * be renewed is not refused by the call, only reported afterwards. */
int yarn_submit(struct yarn_client *c, const Yarn__ApplicationSubmissionContext *context,
                int64_t deadline, Yarn__GetApplicationReportResponse **ret, struct err *err)
{
    struct loop *l = session_loop(c->session);
    AUTO_RPC Yarn__GetApplicationReportResponse *report = NULL;
    int64_t ms = POLL_FIRST_MS;
    int r;

    if (deadline == 0)
        deadline = loop_in(l, SUBMIT_MS);
    r = send_submit(c, context, deadline, err);
    while (r == 0) {
        r = rm_client_look(c, context, deadline, &report, err);
        if (r == 0)
            r = pause_for(l, &ms, deadline, "submitting", err);
    }
    if (!report)
        return r;
    r = yarn_app_refused(report->report, err);
    if (r < 0)
        return r;
    if (ret)
        *ret = take(report);
    return 0;
}

/* ---- kill, move, attempts ---- */

/* The answer is "completed" only once the application has ended; until then the same call is asked
 * again, as the protocol wants it. */
int yarn_kill(struct yarn_client *c, struct yarn_app_id id, const char *why, int64_t deadline,
              struct err *err)
{
    struct loop *l = session_loop(c->session);
    Yarn__KillApplicationRequest request = YARN__KILL_APPLICATION_REQUEST__INIT;
    struct yarn_id_message m;
    int64_t ms = POLL_FIRST_MS;
    bool done = false;
    int r = 0;

    if (deadline == 0)
        deadline = loop_in(l, SUBMIT_MS);
    request.application_id = yarn_app_id_message(&m, id);
    request.diagnostics = why;
    while (r == 0 && !done) {
        AUTO_RPC Yarn__KillApplicationResponse *answer = NULL;

        r = rpc_call(c->service, &force_kill, &request, &answer, deadline, err);
        done = r == 0 && answer->completed;
        if (r == 0 && !done)
            r = pause_for(l, &ms, deadline, "killing the application", err);
    }
    return r;
}

int yarn_move(struct yarn_client *c, struct yarn_app_id id, const char *queue, struct err *err)
{
    Yarn__MoveApplicationAcrossQueuesRequest request =
        YARN__MOVE_APPLICATION_ACROSS_QUEUES_REQUEST__INIT;
    AUTO_RPC Yarn__MoveApplicationAcrossQueuesResponse *answer = NULL;
    struct yarn_id_message m;

    request.application_id = yarn_app_id_message(&m, id);
    request.target_queue = (char *)queue;
    return rpc_call(c->service, &move, &request, &answer, 0, err);
}

int yarn_attempts(struct yarn_client *c, struct yarn_app_id id,
                  Yarn__GetApplicationAttemptsResponse **ret, struct err *err)
{
    Yarn__GetApplicationAttemptsRequest request = YARN__GET_APPLICATION_ATTEMPTS_REQUEST__INIT;
    struct yarn_id_message m;

    request.application_id = yarn_app_id_message(&m, id);
    return rpc_call(c->service, &get_attempts, &request, ret, 0, err);
}
