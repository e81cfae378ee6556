/* server.h - the model server: one version of one model, behind one port.
 *
 *     listening ──► loading ──► warming up ──► ready ──signal──► draining ──► gone
 *
 * It listens before it has loaded, so that whoever started it can see that it lives; it is called
 * ready only when the requests stored with the model were answered. Draining closes the listener at
 * once, says "not ready", and answers what is in flight. Fibers only. */
#pragma once
#include "base/str.h"
#include "loop/loop.h"
#include "serve/backend/backend.h"

struct server_told { /* for those who wait for the server */
    const char *url;
    const char *model; /* NULL before one is loaded */
    int64_t version;
    const char *backend, *library, *library_version;
    int64_t load_ms;
    size_t warmed; /* requests */
};

/* Finds the backend's library: *ret is the caller's. */
typedef int server_library(void *user, const struct backend_ops *ops, char **ret, struct err *err);

struct server_options {
    const char *model;          /* path; NULL: none is served, for trying the rest */
    const char *name;           /* instead of the model's own; NULL */
    int64_t version;            /* likewise; 0 */
    const struct strs *labels;  /* aliases of the version */
    const struct strs *shapes;  /* see struct backend_load; NULL */
    const char *host;           /* numeric */
    unsigned port;              /* 0: any */
    bool late;                  /* it listens when it is ready, and not before */
    const char *device;         /* see struct backend_load */
    unsigned cpus, instances;   /* threads of the backend; runs at a time, at most as many */
    unsigned workers;           /* processes of a handler; 0: one for each of the cpus */
    int64_t run_ms;             /* for one run of a handler */
    bool threads_only;          /* also short runs: see batcher.h */
    int64_t rows_max, delay_ms; /* of batches */
    size_t queue_max;           /* requests that wait */
    int64_t load_ms;            /* for loading and warming up */
    int64_t deadline_ms;        /* of a request, from its head on */
    int64_t grace_ms;           /* for draining */
    int64_t header_ms, body_ms, idle_ms; /* of slow clients */
    uint64_t body_max;                   /* bytes of one request */
    uint64_t memory_max;                 /* of all requests and answers at a time */
    size_t connections_max;
    const char *key_file;    /* clients must show one of its keys; NULL: none is needed */
    const struct strs *cors; /* origins that may ask, or "*" */
    const char *access_log;  /* a file; "-": standard output; NULL: none */
    const char *warmup;      /* a directory instead of the model's own warmup/; NULL */
    server_library *find;
    void (*on_listening)(void *user, const struct server_told *t);
    void (*on_ready)(void *user, const struct server_told *t);
    void *user;
};

/* Serves until the running fiber is cancelled, then drains. 0 after an orderly end; -ETIMEDOUT when
 * requests were cut off after grace_ms. With *ret_stuck a thread is still inside the backend, which
 * cannot be stopped: the process must end without freeing anything. */
int server_run(struct loop *l, const struct server_options *o, bool *ret_stuck, struct err *err);
