/* log_mirror.h - a journal's copy in HDFS. See log_mirror.c. Loop thread only. */
#pragma once
#include "master/journal.h"
#include "master/yarn/log_segments.h"

struct master;
struct mirror;
struct summary;

int mirror_start(struct master *m, struct err *err);
/* Copies what is left and ends, at `deadline` at the latest: negative when the end of the events
 * log is not there. Fibers only. */
int mirror_stop(struct master *m, int64_t deadline);
/* Is the events log there, up to here? True without a copy. The driver is woken once it may be. */
bool mirror_has(const struct master *m, uint64_t bytes);
/* The same; true, too, when there is no use in waiting. */
bool mirror_holds_events(const struct master *m, uint64_t bytes);
int64_t mirror_away(const struct master *m); /* since when HDFS fails, loop's clock; 0: it works */
/* The same of another journal; mirror_stop() ends it too. */
struct mirror_options {
    struct parts parts;
    struct journal *journal;
    const char *what;                    /* for messages */
    uint64_t from;                       /* bytes of the journal that are there already */
    int64_t pause;                       /* ms; what comes within is one write */
    void (*on_copied)(struct master *m); /* may be NULL: it holds more, or cannot at the moment */
    struct summary *summary;             /* a file begins with it, when there is one; NULL: never */
};
int mirror_begin(struct master *m, const struct mirror_options *o, struct mirror **ret,
                 struct err *err);
/* Does it hold that much of the journal as it was in `round`? True, too, when there is no use in
 * waiting: without a copy, at its end, and while HDFS takes nothing. */
bool mirror_holds(const struct mirror *x, unsigned round, uint64_t bytes);
