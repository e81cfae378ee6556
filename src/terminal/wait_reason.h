/* wait_reason.h - a line for people and logs without a terminal: what a job waits for. Pure. */
#pragma once
#include "base/buf.h"
#include "base/json.h"

#define WAITING_MS 10000          /* between two such lines … */
#define WAITING_LONG_MS 60000     /* … once the job has waited … */
#define WAITING_PATIENT_MS 300000 /* … so long */

/* When the next line is due for a job that has been silent since `since` and had a line at `last`
 * (0: none yet). All times are of one clock. */
int64_t waiting_due(int64_t since, int64_t last);

/* Appends what the job of this status document (job/history.h) waits for, `waited` milliseconds
 * after it has last said something; nothing when all its tasks run, or when it has ended. -ENOMEM.
 */
int waiting_line(const json_t *status, int64_t waited, struct buf *out);
