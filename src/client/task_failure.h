/* task_failure.h - why tasks of a job that has not ended fail: the last failure in its events log,
 * shown as the story of a job's end is (terminal/story.h).
 *
 *     ydl: 'mlp' does not answer: its replicas end right after they start
 *         a:0: ended with exit code 1
 *         ydl-native: '/…/mlp.onnx': ONNX Runtime cannot load it: …
 *       hint: 'ydl logs local-…' shows what its tasks wrote
 *
 * With --json, the error has it as `cause`. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "client/client.h"

#define TASK_FAILURE_LINES 10 /* of the task's last output lines, at most */

/* The record of the last failure since `since` (milliseconds since 1970; 0: since it began) of a
 * task of `role` (NULL: of any): {task, class, code, signal, text, lines, hint, …}. The caller's;
 * NULL: there is none, or nobody can say. Fibers only. */
json_t *task_failure_last(struct client *c, const char *role, int64_t since);
/* The role of the task that failed, into `out`; "" for no failure. */
#define TASK_FAILURE_ROLE 64
const char *task_failure_role(const json_t *failure, char out[TASK_FAILURE_ROLE]);

/* exit_report() with the failure; NULL: nothing is added. */
int task_failure_report(int result, const struct err *err, const json_t *failure, bool json);
