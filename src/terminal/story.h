/* story.h - how a job ended, for the person who started it. Pure.
 *
 *     ydl: job 'mnist' (local-…) failed: worker:3 on node7: out of memory (exit code 137)
 *         epoch 3
 *         Killed
 *       hint: it used more memory than it asked for: give it more with --mem
 *       logs: ydl logs local-… worker:3 (files in …/logs)
 *       next: ydl status local-… --tasks; ydl events local-…
 *
 * Text from tasks is sanitized and indented, so it cannot pass for a line of ydl's. */
#pragma once
#include "base/buf.h"
#include "base/json.h"

#define STORY_LINES 20 /* of the task's last output lines, at most */

/* Appends the story of an ended job. `status` is the document of job/history.h, `logs` the
 * directory of its logs or NULL. -ENOMEM, -E2BIG. */
int story_text(const json_t *status, const char *logs, struct buf *out);

/* The first line only, without "ydl: " and newline: "job 'mnist' (local-…) succeeded in 42 s". */
int story_line(const json_t *status, struct buf *out);

/* The cause alone, without the job: "worker:3 on node7: exit code 3". Nothing when there
 * is no story. */
int story_cause(const json_t *status, struct buf *out);

/* The last `most` of a task's lines, each made safe and indented. */
int story_lines(const char *lines, size_t most, struct buf *out);
