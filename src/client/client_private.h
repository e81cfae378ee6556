/* client_private.h - what the two kinds of client (client_local.c, client_yarn.c) give to client.c.
 */
#pragma once
#include "client/client.h"
#include "client/past_job.h"

struct client_ops {
    const char *where;
    /* A connection to the master; -ENOTCONN when there is none. */
    int (*connect)(struct client *c, struct stream **ret, struct err *err);
    int (*alive)(struct client *c, struct err *err);
    int (*again)(struct client *c, int r, struct err *err);
    void (*settle)(struct client *c);
    /* Where its files are, and how it ended when they do not say it. */
    int (*past)(struct client *c, struct past *ret, struct err *err);
    /* Adds to a document from files what is known besides them; NULL: nothing is. */
    int (*add)(struct client *c, json_t *v, struct err *err);
    /* Output of tasks whose files are not there, from elsewhere; NULL: there is none. */
    int (*more_output)(struct client *c, const struct strs *wanted, struct logfiles *ret,
                       struct spool **ret_spool, struct err *err);
    int (*kill)(struct client *c, struct err *err); /* NULL: only the master can … */
    bool (*unborn)(struct client *c);               /* … else: it has had no master yet */
    void (*free)(struct client *c);
    /* Its files are on this machine while it runs, and nobody takes the place of its master. */
    bool here;
};

/* First member of each kind's struct. */
struct client {
    const struct client_ops *ops;
    struct loop *loop;
    char *id, *home, *logs; /* home, logs: NULL as long as nobody knows */
    int64_t patience;
    client_note_fn *note;
    void *note_user;
    int64_t connect_ms; /* for one connection */
};

int client_init(struct client *c, struct loop *l, const struct client_ops *ops, const char *id,
                struct err *err);
/* Tells people. */
void client_say(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For client_open_app() and for callers with many applications: the application's side of it. */
struct yarn_jobs;
int client_yarn_new(struct yarn_jobs *jobs, struct yarn_app_id id, const struct stream_key *key,
                    struct client **ret, struct err *err);
