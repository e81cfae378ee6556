/* event_text.h - records of the events log for people. Pure. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"

/* Appends what one record says, without its time: "worker:1 running (pid 4711)". An event that we
 * do not know is shown with its keys. -ENOMEM, -E2BIG. */
int event_words(const json_t *record, struct buf *out);
