/* job_actions.h - what the verbs that act on a job do in the same way. Fibers only. */
#pragma once
#include "client/job_call.h"

/* Asks a job that runs for a change and says that it was asked: `text` for people, or {"job": id,
 * "done": what, …} with --json, into which `extra` (used up) is merged. 0; 1 when the job has
 * ended, which has been said then; or a negative errno, -EALREADY for a job that is about to end.
 */
int act_request(struct job_call *x, const char *what, const char *target, const char *text,
                json_t *extra, struct err *err);

/* Asks for `target`, which ends the job (client_end()), with patience for masters that are replaced
 * one after the other; a kill (`force`) needs none. 0: it ends, or has ended by itself. */
int act_ask_end(struct client *c, const char *target, bool force, struct err *err);

/* The same in a fiber beside the one that follows the job and looks for its masters (which only one
 * may do): asks again every now and then while no master takes it, until `enough` says so (may be
 * NULL: never) or the time is over. */
int act_ask_stop_beside(struct client *c, bool (*enough)(const void *user), const void *user,
                        struct err *err);

/* Ends the job by asking for `target`, waits until it has ended, and says so. */
int act_end(struct job_call *x, const char *what, const char *target, struct err *err);

/* "worker:3" of the user's, or CLI_USAGE. */
int act_task(const char *name, struct err *err);
