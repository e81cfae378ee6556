/* client_yarn_private.h - what client_yarn.c (the job and its files) and client_yarn_address.c (the
 * way to its master) share. */
#pragma once
#include "client/client_private.h"
#include "client/yarn_diagnostics.h"
#include "client/yarn_jobs.h"

struct yarn {
    struct client c;
    struct yarn_jobs *jobs;
    struct yarn_app_id app;
    struct stream_key key;
    bool has_key, ours;                         /* ours: the owner is known to be us */
    Yarn__GetApplicationReportResponse *answer; /* the last one; NULL: none yet, or … */
    bool forgotten;                             /* … the RM does not know it any more */
    struct stream *ready;                       /* a connection for the next question */
    char *dir;                                  /* of its files, on their fs */
    struct past_end end;
    struct diagnostics said; /* what `end` points into */
    char *unsaved;           /* what they say of results that could not be saved; or NULL */
    char told[256];          /* the last note, so as not to repeat it … */
    int64_t told_at;         /* … and when that was */
    int64_t found;           /* when a master was last found again … */
    int64_t rest;            /* … and how long to wait before the next */
};

static inline struct yarn *yarn_of(struct client *c)
{
    return (struct yarn *)c;
}

static inline const Yarn__ApplicationReport *report_of(const struct yarn *y)
{
    return y->answer ? y->answer->report : NULL;
}

/* Asks the ResourceManager for a new report. -EACCES for somebody else's job, -ENOENT for none. */
int yarn_look(struct yarn *y, struct err *err);
/* What the last report says: it has ended; it has not had a master yet, as YARN is looking for a
 * container; the RM's own words on that, or on its end ("": none). */
bool yarn_ended(const struct yarn *y);
bool yarn_before_first(const struct yarn *y);
const char *yarn_why(const struct yarn *y);

/* As in struct client_ops. */
int yarn_connect(struct client *c, struct stream **ret, struct err *err);
int yarn_again(struct client *c, int r, struct err *err);
