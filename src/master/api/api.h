/* api.h - the master's HTTP API, and what its documents are made of. Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include "base/json.h"
#include "job/engine/engine.h"
#include "job/history.h"
#include "loop/fiber.h"
#include "rendezvous/kv.h"
#include "wire/http.h"

struct cluster;
struct master;
struct task;

struct api {
    struct http_server *server;
    unsigned n_passed;            /* requests that are being handed on to TensorBoard */
    struct kv_wait *kv_waits;     /* requests to the store over HTTP */
    uint64_t kv_last_id;          /* of their numbers */
    unsigned n_asking, n_logging; /* requests that wait for the log; … for its end */
    bool log_ended, log_kept;     /* it has ended; all of it is in its copy */
    uint64_t told;                /* how often the journal got what the engine had said */
    struct cond logged;           /* … and its copy */
};

/* The job as it is: job_status.c. */
struct job_status {
    struct history *history;
    uint64_t at;      /* bytes of the journal that it has seen */
    bool catching_up; /* somebody is showing it the rest */
};

/* What tasks use: usage.c. */
struct usage_table {
    struct usage *v; /* by task */
    uint32_t n;
    struct cond measured;
};

/* ---- api.c ---- */
int api_start(struct master *m, struct err *err);
/* Another master goes on (m->left): nobody is heard any more, and who waits for an answer is told
 * so, unless our log has what was asked for. Comes before the end of its copy. Fibers only. */
void api_hand_over(struct master *m);
void api_handed_over(struct master *m, bool log_kept); /* … and then this; kept: HDFS has it all */
/* The client that the job is attached to has gone: the job is stopped. */
void api_client_gone(struct master *m);
/* The store's answer to a request over HTTP. */
void api_kv_reply(struct master *m, uint64_t id, const struct kv_word *words, size_t n);
void api_stop(struct master *m); /* nobody is heard any more. Fibers only */
/* The journal has all that the engine has said; its copy has more than it had. */
void api_told(struct master *m);
void api_copied(struct master *m);

/* ---- job_status.c ---- */
int job_status_new(struct job_status *s, struct err *err);
void job_status_done(struct job_status *s);
int api_status(struct master *m, bool tasks, json_t **ret, struct err *err);

/* ---- exports.c ---- */
/* What tasks publish now, of one group or (NULL) of all: doc/reference/api.md. -ENOENT: no such
 * group. */
int exports_json(struct master *m, const char *group, json_t **ret, struct err *err);
/* "container_…", or a name of our own where containers have none; NULL: out of memory. */
char *exports_container(struct master *m, const struct task *t);
#define EXPORTS_TIME 32
const char *exports_time(int64_t when, char out[EXPORTS_TIME]); /* as Java prints a date */

/* ---- slider_documents.c ---- */
/* What Slider's master would say at a path below /ws/v1/slider; `user` is the master. */
int documents_get(void *user, const char *path, json_t **ret, struct err *err);

/* ---- tensorboard_proxy.c ---- */
/* Where it is, or NULL when none runs; *ret is the caller's. */
int tensorboard_url(struct master *m, char **ret, struct err *err);
/* Hands a request for /tensorboard/… on to it, and its answer back. Fibers only. */
int tensorboard_pass(struct master *m, struct http_call *c, struct err *err);

/* ---- signal_request.c ---- */
int signal_request_put(struct master *m, struct http_call *c, struct err *err);

/* ---- usage.c ---- */
int usage_set(struct master *m, const Agent__TaskUsage *u); /* -ENOMEM */
/* Asks agents what their tasks use, and waits a moment for the first numbers. Fibers only. */
int usage_wait(struct master *m, struct err *err);
/* Adds "cpu" and "memory" to the tasks of a status document of which they are known. */
int usage_add(struct master *m, json_t *status, struct err *err);
void usage_done(struct master *m);

/* ---- spec_formats.c ---- */
/* The specification in a format of `ydl spec`: hosts, env, tf. */
int specs_render(const struct cluster *c, const char *format, struct buf *out, struct err *err);
