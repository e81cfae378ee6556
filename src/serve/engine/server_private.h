/* server_private.h - what the server's files share. Loop thread only, but for the model's loading.
 */
#pragma once
#include "serve/engine/access_log.h"
#include "serve/engine/batcher.h"
#include "serve/engine/metrics.h"
#include "serve/engine/model_source.h"
#include "serve/engine/server.h"
#include "serve/engine/server_key.h"
#include "serve/protocol/exchange.h"
#include "wire/budget.h"
#include "wire/grpc/grpc.h"
#include "wire/http.h"

struct server {
    struct loop *loop;
    const struct server_options *o;
    struct http_server *http;
    struct grpc_server *grpc;
    char url[128];

    struct model_source source;
    char *library_path;
    void *library, *model;
    const char *library_version;
    struct signature *signatures; /* the first is the default */
    void **handles;               /* theirs, of the backend */
    size_t signatures_n;
    struct batcher *batcher;

    int64_t load_deadline;

    struct served served;
    struct served_model served_model;

    struct key_set keys;
    struct budget memory;
    struct metrics metrics;
    struct access_log log;
    uint64_t started_id, requests; /* make request ids */
};

/* A request that needs the model. It has what the backend looks at, for as long as it does. */
struct server_request {
    struct batch_request q; /* first */
    struct server *server;
    struct buf body;
    uint64_t charged; /* of server->memory */
    bool never;       /* there will never be enough of it */
};
struct server_request *server_request_new(struct server *s, uint64_t body_max);
/* Counts `n` more bytes to it; -EAGAIN when the server has no room for them. */
int server_request_charge(struct server_request *q, uint64_t n);

unsigned server_runs(const struct server *s); /* runs of the model at a time */
/* Opens the library, loads the model and reads what it takes and gives. In a thread of the pool;
 * the loop goes on. *ret_version is the library's. */
int server_load_model(struct server *s, const char **ret_version, struct err *err);
void server_unload_model(struct server *s);
/* Makes a request one for the signature that the exchange has found. */
void server_request_aim(struct server_request *q, const struct exchange *x);
/* What takes long is done beside the loop: see server_steps.c. */
#define SERVER_LARGE (256 * KIB)
enum exchange_step server_read(struct server_request *q, struct exchange *x);
enum exchange_step server_read_grpc(struct server_request *q, struct exchange *x, const char *path);
void server_finish(struct server_request *q, struct exchange *x);

/* Runs the model on x->inputs and finishes the exchange, or fails it. Fibers only. */
void server_run_model(struct server_request *q, struct exchange *x, int64_t deadline);
/* The same; when nothing more comes from `sock` than its end, what still waits is not run. */
void server_run_watched(struct server_request *q, struct exchange *x, int64_t deadline,
                        struct sock *sock);
int server_status_of(enum exchange_code code);     /* of HTTP, for counting what was not HTTP */
const char *server_operation(enum exchange_op op); /* its name in metrics */

#define SERVER_ID_MAX 128 /* of a request, the longest that is taken from a client */
/* The client's own (NULL: none), when it can be written into a header and a log; else one of ours.
 */
void server_choose_id(struct server *s, const char *asked, char out[SERVER_ID_MAX + 1]);

/* gRPC on the same port. */
int server_grpc_new(struct server *s, struct grpc_server **ret, struct err *err);

/* The HTTP handler. */
int server_handle(void *user, struct http_call *c, struct err *err);
/* Pages of the server's own. True: it was answered, with the status in *ret_status. */
bool server_page(struct server *s, struct http_call *c, int *ret_status, int *ret, struct err *err);

/* -ETIMEDOUT with "the model 'x' WHAT within 600000 ms". */
int server_load_late(const struct server *s, const char *what, struct err *err);

/* Runs the requests that are stored with the model; their number in *ret. */
int server_warm_up(struct server *s, size_t *ret, struct err *err);

/* What a failure of a run is called in protocols. */
enum exchange_code server_code_of(int r);

/* Before each request: a model whose workers are all gone is not available for the time. */
void server_look(struct server *s);
