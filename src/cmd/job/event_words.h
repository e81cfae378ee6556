/* event_words.h - records of the events log for people. Pure. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"

/* Appends what one record says, without its time: "worker:1 running (pid 4711)". An event that we
 * do not know is shown with its keys. -ENOMEM, -E2BIG. */
int event_words(const json_t *record, struct buf *out);

/* ---- the timeline: when the job, and the first and the last of its tasks, came how far ---- */
struct timeline;                         /* opaque */
int timeline_new(struct timeline **ret); /* 0 or -ENOMEM */
struct timeline *timeline_free(struct timeline *t);
AUTO_DEFINE(timeline, struct timeline *, timeline_free);

void timeline_add(struct timeline *t, const json_t *record);

/* One step, in the order in which the first came. */
struct timeline_step {
    const char *what;    /* "job running", "tasks ready" */
    int64_t first, last; /* milliseconds since the first record */
    int64_t n;           /* how many */
};
size_t timeline_steps(struct timeline *t, const struct timeline_step **ret); /* borrowed */
