/* format.h - times, states and counts of a job as short texts for people. Pure but for the
 * time. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "cli/doc.h"
#include <stdbool.h>
#include <stdint.h>

/* "80 ms", "1.8 s", "42 s", "12:30", "3:05:00"; "-" when negative. */
#define FORMAT_SPAN 24
const char *format_span(int64_t ms, char out[FORMAT_SPAN]);
/* How long the job of a status document has run, or ran. */
int format_age(const json_t *status, struct buf *out);
#define FORMAT_WHEN DOC_WHEN
/* "2026-11-16 04:12" in local time; "-" for 0 or less. */
#define format_when doc_when
/* "04:12:07.123" in local time. */
const char *format_clock(int64_t ms, char out[FORMAT_WHEN]);

/* Members of a document; one that is missing or of another type is "" or the fallback. */
const char *format_text(const json_t *v, const char *key);

/* {"RUNNING": 2, "WAITING": 1} as "2 running, 1 waiting", in the order of a task's life; "-" for
 * none. */
int format_states(const json_t *states, struct buf *out);
/* {"step": 120, "total": 1000} as "120/1000 12 %", or "step 120"; nothing when neither is there. */
int format_progress(const json_t *v, struct buf *out);
/* "running", into `out`, cut there. */
const char *format_lower(const char *s, char *out, size_t cap);
/* Cleaned of control characters and appended (base/str.h, str_clean). */
int format_clean(struct buf *out, const char *s);
int format_print(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Has the job of this status document failed, or could its results not be saved? */
bool format_failed(const json_t *status);
