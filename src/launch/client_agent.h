/* client_agent.h - tasks of a job on YARN that run here, beside the client that stays with it.
 *
 *     master ──GET /v1/join──► where agents dial
 *     ydl run ──starts──► ydl-node agent ──agent channel──► master
 *         └── a socket: its end is ours, and the agent's own ──┘
 *
 * The agent works in a directory of its own (platform/local/local_jobs.h, RUN), which it removes
 * when it leaves; tasks run where we are. One that was killed is started again, as a NodeManager
 * would. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "job/spec/spec.h"
#include "launch/job_submission.h"

struct client_agent; /* opaque */

/* Does the job have tasks here? */
bool client_agent_wanted(const struct spec *s);

/* For the job that was submitted just now; takes the credentials that submit_job() kept. Tasks
 * run in `cwd`. `host` is the numeric address for others, NULL: as the master is reached. Both are
 * copied. `x` is borrowed, with its client. Starts nothing yet. *ret is the caller's:
 * client_agent_stop(). */
int client_agent_new(struct job_call *x, struct submitted *app, const char *cwd, const char *host,
                     struct client_agent **ret, struct err *err);
/* A master answers: the agent is started, if it was not before. Later ones it finds by itself. NULL
 * is fine. */
void client_agent_begin(struct client_agent *b);
/* Ends the agent and all under it. When the job has `ended` the agent knows, and gets a moment to
 * leave by itself. NULL is fine; always NULL. */
struct client_agent *client_agent_stop(struct client_agent *b, bool ended);
