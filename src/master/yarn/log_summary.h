/* log_summary.h - all that the events log says up to a place in it, on its way into HDFS: see
 * log_summary.c. Loop thread only. */
#pragma once
#include "base/buf.h"
#include "job/engine/engine.h"

struct master;

struct summary {
    struct buf text; /* empty: none is on its way */
    uint64_t at;     /* where in the journal the last one was made */
    size_t len;      /* of that one */
    uint64_t every;  /* bytes of the journal from one to the next; 0: the usual */
};

/* Makes one when it is time to. The engine is at rest, and the journal has all that it said. */
void summary_look(struct master *m);
void summary_done(struct summary *s);
