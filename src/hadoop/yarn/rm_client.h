/* rm_client.h - what anybody may ask of the ResourceManager (ApplicationClientProtocol).
 *
 * A client belongs to a session; it finds the active RM by itself and signs in with an RM
 * delegation token when the session holds one, else as the session does. Fibers only; any number
 * of them may use one client.
 *
 * Answers are the protobuf messages, the caller's: AUTO_RPC or rpc_free(). Their strings are never
 * NULL; for the rest see records.h. Errors are those of rpc.h: -ENOENT for an application or queue
 * that does not exist, -EACCES, and so on. */
#pragma once
#include "hadoop/rpc/rpc.h"
#include "hadoop/token/token.h"
#include "hadoop/yarn/ids.h"
#include "hadoop/yarn_client.pb-c.h"

struct session;
struct yarn_client; /* opaque */

/* Contacts nobody. `s` is borrowed. *ret is the caller's: yarn_client_free(). */
int yarn_client_new(struct session *s, struct yarn_client **ret, struct err *err);
struct yarn_client *yarn_client_free(struct yarn_client *c); /* NULL is fine; always NULL */
AUTO_DEFINE(yarn_client, struct yarn_client *, yarn_client_free);
#define AUTO_YARN_CLIENT AUTO(yarn_client) struct yarn_client

/* To see which RM answered and how fast; borrowed. */
const struct rpc_service *yarn_client_service(const struct yarn_client *c);

/* ---- one application ---- */

/* An id for a new application, and the largest container there can be. */
int yarn_new_application(struct yarn_client *c, Yarn__GetNewApplicationResponse **ret,
                         struct err *err);
/* Submits and waits until the RM has accepted or refused it, whatever happens to the RM meanwhile.
 * Refused (-EREMOTEIO with the RM's reason): see yarn_app_refused(). One that was accepted may have
 * ended by now, killed by somebody for example: the report says so.
 * `deadline` as in rpc_call(). *ret is the report; `ret` may be NULL. */
int yarn_submit(struct yarn_client *c, const Yarn__ApplicationSubmissionContext *context,
                int64_t deadline, Yarn__GetApplicationReportResponse **ret, struct err *err);
/* The answer has its report: no report is -ENOENT. */
int yarn_report(struct yarn_client *c, struct yarn_app_id id,
                Yarn__GetApplicationReportResponse **ret, struct err *err);
/* Waits until it is killed, or has ended anyway. `why` is shown as its diagnostics; or NULL. */
int yarn_kill(struct yarn_client *c, struct yarn_app_id id, const char *why, int64_t deadline,
              struct err *err);
int yarn_move(struct yarn_client *c, struct yarn_app_id id, const char *queue, struct err *err);

int yarn_attempts(struct yarn_client *c, struct yarn_app_id id,
                  Yarn__GetApplicationAttemptsResponse **ret, struct err *err);

/* ---- the cluster ---- */

/* A NULL, 0 or empty field does not filter. All borrowed. */
struct yarn_filter {
    const char *const *types, *const *users, *const *queues, *const *tags;
    size_t n_types, n_users, n_queues, n_tags;
    const Yarn__ApplicationState *states;
    size_t n_states;
    const char *name; /* Hadoop 3.3; older ones ignore it */
    bool own;         /* of the user who asks */
};
int yarn_list(struct yarn_client *c, const struct yarn_filter *filter,
              Yarn__GetApplicationsResponse **ret, struct err *err);

/* In any of these states; all nodes with n 0. */
int yarn_nodes(struct yarn_client *c, const Yarn__NodeState *states, size_t n,
               Yarn__GetClusterNodesResponse **ret, struct err *err);
/* The answer has its metrics. */
int yarn_metrics(struct yarn_client *c, Yarn__GetClusterMetricsResponse **ret, struct err *err);
int yarn_resource_types(struct yarn_client *c, Yarn__GetAllResourceTypeInfoResponse **ret,
                        struct err *err);
int yarn_labels(struct yarn_client *c, Yarn__GetClusterNodeLabelsResponse **ret, struct err *err);
/* What the user who asks may do in each queue. */
int yarn_queue_acls(struct yarn_client *c, Yarn__GetQueueUserAclsInfoResponse **ret,
                    struct err *err);

#define YARN_QUEUE_DEPTH 32
/* A queue and those below it. */
struct yarn_queue {
    Yarn__QueueInfo *info;
    struct yarn_queue *children;
    size_t n;
};
/* `name` is a leaf's name or a path; NULL means "root". -ENOENT when there is none. With `deep`,
 * all levels below, at most YARN_QUEUE_DEPTH (or -EPROTO), else the next one. *ret is the caller's:
 * yarn_queue_free(). */
int yarn_queue(struct yarn_client *c, const char *name, bool deep, struct yarn_queue **ret,
               struct err *err);
struct yarn_queue *yarn_queue_free(struct yarn_queue *q); /* NULL is fine; always NULL */
AUTO_DEFINE(yarn_queue, struct yarn_queue *, yarn_queue_free);
#define AUTO_YARN_QUEUE AUTO(yarn_queue) struct yarn_queue

/* ---- RM delegation tokens ---- */

/* One for us, that `renewer` may renew; "" for nobody. Its service is set, as Java builds it. With
 * Kerberos only a client that authenticated with a ticket gets one. *ret is filled. */
int yarn_get_token(struct yarn_client *c, const char *renewer, struct token *ret, struct err *err);
int yarn_cancel_token(struct yarn_client *c, const struct token *token, struct err *err);
