/* client.h - one job and the way to its master.
 *
 * A job that runs is asked over its socket (doc/api.md), one that has ended is read from its files;
 * a caller of client_status() does not see the difference. Fibers only, unless said otherwise. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/loop.h"
#include "platform/jobs.h"

#define CLIENT_ANSWER_MS 30000 /* an answer that is not a stream comes within */
#define CLIENT_BODY_MAX (64 * MIB)

struct client; /* opaque */

/* Finds a job by id, by its name, or "last". *ret is the caller's: client_free(). */
int client_find(struct loop *l, const char *what, struct client **ret, struct err *err);
/* The same for a directory that is known; `d` is taken over and empty afterwards. */
int client_new(struct loop *l, struct job_dir *d, struct client **ret, struct err *err);
struct client *client_free(struct client *c); /* NULL is fine; always NULL */
AUTO_DEFINE(client, struct client *, client_free);
#define AUTO_CLIENT AUTO(client) struct client

struct loop *client_loop(const struct client *c);
const struct job_dir *client_dir(const struct client *c);
const char *client_id(const struct client *c);
const char *client_logs(const struct client *c); /* the directory of its log files */
bool client_alive(struct client *c);             /* looks afresh; need not be on a fiber */
/* After something failed with `r`: is the master gone? One that was killed lets go of its lock a
 * moment after its connections, so this waits a little when `r` is a broken one. */
bool client_gone(struct client *c, int r);

/* Asks and reads the whole answer. An answer of 400 or more is an error with the master's own
 * sentence and hint. A master that is gone: -ENOTCONN. */
int client_get(struct client *c, const char *target, struct buf *ret, struct err *err);
int client_put(struct client *c, const char *target, struct err *err);

/* An answer that is read piece by piece, over a connection of its own. */
struct client_stream; /* opaque */
int client_open(struct client *c, const char *target, struct client_stream **ret, struct err *err);
/* > 0, 0 at its end, or a negative errno. Waits for as long as it takes: the master's end ends it.
 */
ssize_t client_read(struct client_stream *s, void *p, size_t n, struct err *err);
struct client_stream *client_close(struct client_stream *s); /* NULL is fine; always NULL */
AUTO_DEFINE(client_stream, struct client_stream *, client_close);
#define AUTO_CLIENT_STREAM AUTO(client_stream) struct client_stream

/* The status document, of the master or from the files. *ret is the caller's. */
int client_status(struct client *c, bool tasks, json_t **ret, struct err *err);

/* Calls `fn` for each record of the events log (see past_events()); with `follow` until the job has
 * ended. */
int client_events(struct client *c, bool follow, int (*fn)(void *arg, const char *line, size_t n),
                  void *arg, struct err *err);
