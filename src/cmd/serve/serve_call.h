/* serve_call.h - what the verbs of `ydl serve` share: deployments as jobs. Fibers only. */
#pragma once
#include "client/job_actions.h"
#include "wire/http.h"

#define SERVE_FRAMEWORK "serve"
#define SERVE_GATEWAY "gateway"
#define SERVE_CONTROLLER "controller" /* in its place, where there is no gateway */
#define SERVE_URL 288                 /* a name of a host has at most 253 characters */

extern const struct cli_verb verb_serve_address, verb_serve_deploy, verb_serve_list,
    verb_serve_logs, verb_serve_plan, verb_serve_schema, verb_serve_rollback, verb_serve_scale,
    verb_serve_status, verb_serve_stop, verb_serve_targets, verb_serve_update;

/* The id of the deployment with this name (or id) that runs, the caller's: 1; 0: there is none. */
int serve_running(struct job_call *x, const char *name, char **ret, struct err *err);
/* This user deploys nothing else under this name from this machine until the descriptor *ret, the
 * caller's, is closed, and where `where` says no deployment has it. -EEXIST with a hint. */
int serve_claim(struct job_call *x, const struct job_where *where, const char *name, int *ret,
                struct err *err);
/* The one that the first operand names, in x->client, and its document with tasks: the caller's.
 * -ENOENT. */
int serve_find(struct job_call *x, json_t **ret_status, struct err *err);
int serve_find_named(struct job_call *x, const char *name, json_t **ret_status, struct err *err);

/* The one address that its gateway was told to listen on, and not on others; NULL: it has all of
 * its node's, or that of its task. Borrowed from the plan. */
const char *serve_host(const json_t *plan);
/* Where its gateway listens: "http://127.0.0.1:12000". The plan (NULL: not known) says whether that
 * is TLS, and the address where somebody chose one. False when nobody knows yet. */
bool serve_url(const json_t *status, const json_t *plan, char out[SERVE_URL]);
/* Of all its gateways, in their order; empty when nobody knows yet. The caller's; NULL when out of
 * memory. */
json_t *serve_urls(const json_t *status, const json_t *plan);
/* The groups of replicas: roles but the gateway or controller. Each with {group, count}; the
 * caller's. */
json_t *serve_groups(const json_t *status);
/* What the gateway last said of itself (doc/reference/gateway.md), or NULL; the caller's. It is
 * waited for up to `wait` milliseconds, as it comes a moment after the first answer. */
json_t *serve_report(struct job_call *x, int wait);
json_t *serve_report_of(struct client *c, int wait);

/* Whose certificate is accepted where an address is https. */
struct serve_trust {
    const char *ca;   /* PEM file; NULL: what the machine trusts */
    const char *name; /* that it must be for; NULL: the host of the address */
    bool any_name;
};
/* A connection to a deployment's address. `trust` may be NULL. *ret is the caller's. */
int serve_connect(struct loop *l, const char *url, const struct serve_trust *trust,
                  int64_t deadline, struct http_client **ret, struct err *err);
/* The rest of an answer, up to the buffer's ceiling. */
int serve_read(struct http_client *c, int64_t deadline, struct buf *ret, struct err *err);

/* A request to a deployment; the answer's body goes into `ret`. `keys` are headers, each with CRLF,
 * or NULL. Returns the status, or a negative errno. */
struct serve_request {
    const char *method, *url, *path, *headers;
    const void *body;
    size_t size;
    int64_t timeout;
    const struct serve_trust *trust; /* may be NULL */
};
int serve_ask(struct loop *l, const struct serve_request *q, struct buf *ret, struct err *err);
/* Does it have a replica that is ready? */
bool serve_is_ready(struct loop *l, const char *url, const struct serve_trust *trust);
