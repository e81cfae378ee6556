/* story.h - how a job ended, told to whoever started it. Pure.
 *
 *     ydl: job 'mnist' (local-…) failed: worker:3 on node7: out of memory: used 2.1 GB of 2 GB
 * (exit code 137) epoch 3 Killed hint: ask for more with --mem logs: ydl logs local-… worker:3
 * (files in …/logs) next: ydl status local-… --tasks; ydl events local-…
 *
 * What comes from tasks is cleaned and stands further in: it cannot pass for a line of ours. */
#pragma once
#include "base/buf.h"
#include "base/json.h"

#define STORY_LINES 20 /* of the task's last output lines, at most */

/* Appends the story of an ended job. `status` is the document of job/history.h, `logs` the
 * directory of its logs or NULL. -ENOMEM, -E2BIG. */
int story_text(const json_t *status, const char *logs, struct buf *out);

/* The first line only, without "ydl: " and newline: "job 'mnist' (local-…) succeeded in 42 s". */
int story_line(const json_t *status, struct buf *out);

/* What went wrong, without whose job it was: "worker:3 on node7: exit code 3". Nothing when there
 * is no story. */
int story_cause(const json_t *status, struct buf *out);
