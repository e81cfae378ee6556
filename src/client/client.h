/* client.h - one job and the connection to its master, on this machine or on YARN.
 *
 * A running job is asked over HTTP (doc/reference/api.md): on its socket here, through TLS with the
 * job's key on YARN. A job that has ended is read from its files. A caller of client_status() sees
 * no difference.
 *
 * On YARN a master may go away while the job lives, and another one takes its place. Requests then
 * wait for it, for as long as client_set_patience() allows, and a note tells the user. Fibers
 * only. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "client/logfiles.h"
#include "hadoop/yarn/ids.h"
#include "loop/loop.h"
#include "platform/local/local_jobs.h"
#include "wire/stream.h"

#define CLIENT_ANSWER_MS 30000 /* an answer that is not a stream comes within */
#define CLIENT_BODY_MAX (64 * MIB)
#define CLIENT_SHORT_MS 60000  /* how long questions wait for a master that is being replaced … */
#define CLIENT_LONG_MS 1500000 /* … and those who stay with a job: longer than YARN needs */

struct client; /* opaque */
struct session;

/* ---- making one ---- */

/* A job on this machine, in a directory that is known; `d` is taken over and empty afterwards. *ret
 * is the caller's: client_free(). Need not be on a fiber. */
int client_new(struct loop *l, struct job_dir *d, struct client **ret, struct err *err);
/* A job on YARN that was submitted just now, or is known by its id. `key` (copied) is used to
 * authenticate; NULL: it is read from HDFS. `session` is borrowed. Contacts nobody. */
int client_open_app(struct loop *l, struct session *session, struct yarn_app_id id,
                    const struct stream_key *key, struct client **ret, struct err *err);
/* Where its files are, instead of what configuration or user say: --staging. NULL changes nothing.
 */
int client_set_base(struct client *c, const char *base, struct err *err);
/* Cleans up after other jobs of the user's that have ended, beside everything else: on YARN as
 * yarn_jobs_sweep() says, here nothing is to be done. */
void client_sweep(struct client *c);
/* The same when this one has ended and YARN had to end it: no master was left to put its things
 * away. Where one had said how the job ended, and may have been killed before it had put them away,
 * they are removed. */
void client_tidy(struct client *c);
struct client *client_free(struct client *c); /* NULL is fine; always NULL */
AUTO_DEFINE(client, struct client *, client_free);
#define AUTO_CLIENT AUTO(client) struct client

/* ---- what it is ---- */

struct loop *client_loop(const struct client *c);
const char *client_where(const struct client *c); /* "local", "yarn" */
const char *client_id(const struct client *c);
/* The directory of its files, and that of its log files: paths here, URIs on YARN; "" as long as
 * nobody knows. Borrowed. */
const char *client_home(struct client *c);
const char *client_logs(struct client *c);

/* Has it had more than one master, as far as we have heard? */
bool client_replaced(const struct client *c);

/* Shown to the user while a request waits: "the master of … is being restarted". Without this it
 * goes to standard error; `fn` NULL: nowhere. */
typedef void client_note_fn(void *user, const char *text);
void client_set_note(struct client *c, client_note_fn *fn, void *user);
/* How long questions wait for a master that is away: CLIENT_SHORT_MS at first; 0: not at all. */
void client_set_patience(struct client *c, int64_t ms);

/* How long one connection to its master may take. */
void client_set_connect(struct client *c, int64_t ms);

/* Has it not ended? Looks afresh: 1 yes, 0 no, or a negative errno. */
int client_alive(struct client *c, struct err *err);
/* After something failed with `r`, or (0) a stream ended without the job's end: 1 when its master
 * answers again and the request can be repeated; 0 when the job has ended; otherwise `r`, or why
 * not. */
int client_again(struct client *c, int r, struct err *err);
/* Is it a connection that failed, and not what was asked? 0, an end without a reason, is. */
bool client_broken(int r);
/* Waits a little, until nothing of a job is left whose end was seen. */
void client_settle(struct client *c);

/* ---- asking ---- */

/* Asks and reads the whole answer. An answer of 400 or more is an error with the master's own
 * sentence and hint. A master that is gone: -ENOTCONN. */
int client_get(struct client *c, const char *target, struct buf *ret, struct err *err);
int client_put(struct client *c, const char *target, struct err *err);
/* The same with a body, and without waiting for a master that is away. */
int client_put_now(struct client *c, const char *target, const void *p, size_t n, struct err *err);
/* The same for a request that ends the job, without waiting for a master that is away. On YARN the
 * application itself is killed when there has been no master yet, or with `force`, with a note,
 * when no master of a compatible version answers and the job has not ended meanwhile. */
int client_end(struct client *c, const char *target, bool force, struct err *err);

/* An answer that is read piece by piece, over a connection of its own. */
struct client_stream; /* opaque */
int client_open(struct client *c, const char *target, struct client_stream **ret, struct err *err);
/* > 0, 0 at its end, or a negative errno. Waits for as long as it takes: the master's end ends it.
 */
ssize_t client_read(struct client_stream *s, void *p, size_t n, struct err *err);
struct client_stream *client_close(struct client_stream *s); /* NULL is fine; always NULL */
AUTO_DEFINE(client_stream, struct client_stream *, client_close);
#define AUTO_CLIENT_STREAM AUTO(client_stream) struct client_stream

/* ---- what is known ---- */

/* The status document, of the master or from the files. *ret is the caller's. */
int client_status(struct client *c, bool tasks, json_t **ret, struct err *err);
/* The same with what each running task uses, where that is known: cpu, of one processor, and
 * memory, in bytes. Takes a moment. */
int client_usage(struct client *c, json_t **ret, struct err *err);
/* The same for long lists: without roles, tasks and story, and without waiting for anybody. */
int client_summary(struct client *c, json_t **ret, struct err *err);

/* Calls `fn` for each record of the events log (see past_events()); with `follow` until the job has
 * ended, whichever master writes it. No record comes twice. */
int client_events(struct client *c, bool follow, int (*fn)(void *arg, const char *line, size_t n),
                  void *arg, struct err *err);

/* Appends "?task=worker:0,ps" to a target, with `sep` for the '?'; nothing for none. 0 or -ENOMEM.
 */
int client_add_tasks(struct buf *target, char sep, const struct strs *wanted);

/* What its tasks wrote so far, as files that can be read: from the files it left, or from what its
 * master sends now. *ret_spool (the caller's, perhaps NULL) outlives `ret`. */
int client_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                  struct spool **ret_spool, struct err *err);
/* Output that a running job's tasks wrote on machines they have left: all of `ret` is `earlier`.
 * Missing output is reported, and is no error. */
int client_earlier_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                          struct err *err);
/* As client_output(), of a job whose last record was written, whether its master is still there or
 * not. */
int client_saved_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                        struct spool **ret_spool, struct err *err);
