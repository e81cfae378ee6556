/* submission.h - an application as it is handed to the ResourceManager. Pure. */
#pragma once
#include "base/err.h"
#include "hadoop/yarn/records.h"

/* Everything is borrowed; what is NULL or 0 is left to the cluster, unless said otherwise. */
struct yarn_submission {
    const char *name;  /* must be there */
    const char *type;  /* "ydl"; at most 20 characters */
    const char *queue; /* a leaf's name or its path; NULL means "default" */
    bool has_priority;
    int32_t priority;        /* of the application: higher goes first */
    const char *const *tags; /* at most 10, printable ASCII, of at most 100; sent in lower case */
    size_t n_tags;
    struct yarn_resource master;                /* memory and cores must be there */
    const Yarn__ContainerLaunchContext *launch; /* of the master */
    const char *label;          /* one node label, for the master and for asks without one */
    const char *master_label;   /* another one, for the master alone */
    int32_t max_attempts;       /* of the master */
    int64_t failures_window_ms; /* count only the master's failures within it */
    bool keep_containers;       /* they outlive a failed attempt of the master */
    int64_t lifetime_s;         /* killed after that */
};

/* Checks what the RM would refuse, cut off, or answer with a NullPointerException, and builds the
 * message. `maximum` is what getNewApplication said, or NULL; a queue that does not exist shows
 * only in the application's report. *ret is the caller's: message_free(). */
int yarn_submission_message(const struct yarn_submission *s, struct yarn_app_id id,
                            const Yarn__Resource *maximum, Yarn__ApplicationSubmissionContext **ret,
                            struct err *err);
