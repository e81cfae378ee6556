/* follow.h - stays with a job until it ends: its output on the screen, its events in a document.
 *
 * Used by `run` and `logs -f`. With `ours` the job is tied to this program: its master stops it
 * when we go away, Ctrl-C (or SIGTERM) asks it to stop, a second one kills it, a third one leaves
 * it to its master. Otherwise signals are the caller's. Fibers only. */
#pragma once
#include "base/json.h"
#include "base/str.h"
#include "client/client.h"
#include "terminal/stream_piece.h"

struct replay_from;

struct follow_options {
    const struct strs *tasks; /* "worker", "worker:1"; NULL or none: all */
    bool streams[2];          /* which are shown, by enum piece_stream */
    bool ours;
    bool detach; /* with `ours`: Ctrl-C leaves the job running */
    bool live;   /* draw the block */
    bool quiet;  /* no notes */
    bool json, prefix, timestamps, collapse;
    struct renew *renew;         /* told when another master has taken over; NULL: nobody */
    struct client_agent *beside; /* told when a master answers; NULL: nobody */
    /* Output before this offset is not shown; NULL: all is. */
    uint64_t (*skip)(void *user, const char *task, enum piece_stream stream);
    void *user;
    /* Shown before anything else: those that are `earlier`; NULL: nothing is. */
    const struct logfiles *earlier;
    const struct replay_from *earlier_from;
};

struct follow_result {
    json_t *status;   /* the document at the end; the caller's */
    bool interrupted; /* a signal came */
    bool left;        /* the job goes on without us, or nobody knows */
};

/* 0 when the job has ended, or was left; EXIT_OUTPUT_GONE when nobody reads our output. */
int follow_job(struct client *c, const struct follow_options *o, struct follow_result *ret,
               struct err *err);
