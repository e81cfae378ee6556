/* serve_request.h - asking a deployment that runs for a change (serve/deployment/
 * deployment_request.h), and its plan. Fibers only. */
#pragma once
#include "base/json.h"
#include "client/job_call.h"

#define SERVE_ID 40

/* The plan of a deployment, waited for up to `wait` milliseconds; *ret is the caller's. */
int serve_plan_of(struct client *c, int wait, json_t **ret, struct err *err);
/* The same of the one in x->client, which may have been started a moment ago. */
int serve_plan(struct job_call *x, json_t **ret, struct err *err);
/* The model that is meant: `name`, or the only one. Borrowed from the plan; -ENOENT. */
int serve_plan_model(const json_t *plan, const char *name, json_t **ret, struct err *err);

/* Asks, and waits for the answer. `request` is the caller's, and gets who asks ("by"). Puts the
 * request's id into `id`. What was refused is an error with the deployment's own sentence. */
int serve_request(struct job_call *x, json_t *request, char id[SERVE_ID], struct err *err);
