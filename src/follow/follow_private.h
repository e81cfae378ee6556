/* follow_private.h - what follow.c (a job while it runs) and follow_end.c (its end) share. */
#pragma once
#include "client/event_dedup.h"
#include "follow/follow.h"
#include "follow/interrupt.h"
#include "job/history.h"
#include "loop/fiber.h"
#include "terminal/output_lines.h"
#include "terminal/screen.h"

struct follow {
    struct client *client;
    const struct follow_options *o;
    struct loop *loop;
    struct show *show;
    struct screen *screen;
    struct history *history;
    struct interrupt *interrupt;
    struct fiber *ticker;
    struct cond tick, ticked;
    int64_t tick_at; /* when the ticker wakes by itself */
    /* For who has no block to look at: when something was last said, and when what is waited for
     * was; 0: not since then. */
    int64_t said, told;
    char waiting[160];
    char lost[200]; /* why a container was last replaced, as it was shown */
    size_t tasks;
    struct event_dedup seen;
    bool created, ended; /* the first record came; the last one */
    bool over;           /* the job has ended, whatever came */
    bool stopping;
    int error; /* the ticker's */
};

/* Ours, or what was done about it: no other master can help. */
bool follow_is_final(int r);
/* The job's document, from its events. */
int follow_make_status(struct follow *f, bool tasks, json_t **ret, struct err *err);
/* How the job ended; `r` is how its last stream did. When that did not say it, what the master left
 * behind does. What the stream did not bring of its output is shown. */
int follow_the_end(struct follow *f, int r, struct follow_result *ret, struct err *err);
