/* gateway_private.h - the insides of a gateway, for gateway_*.c. Everything that waits for HAProxy
 * and changes the gateway holds its lock, so that it sees no half of a change. */
#pragma once
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/gateway_spec.h"
#include "serve/gateway/haproxy_conf.h"
#include "serve/gateway/haproxy_process.h"
#include "serve/gateway/haproxy_table.h"
#include "serve/gateway/rollout.h"
#include "serve/gateway/traffic.h"

#define GATEWAY_LEAVING 16 /* processes that answer what they have, after reloads */
#define GATEWAY_OTHERS 64  /* other gateways whose counts are added to ours */
#define GATEWAY_COUNTS_MAX (2 * MIB)

/* One HAProxy and the directory that it was made from. */
struct gateway_process {
    struct haproxy *haproxy; /* NULL: there is none */
    char *dir;
};

/* What HAProxy said last about its servers. */
struct gateway_view {
    struct haproxy_table state, stat;
    struct haproxy_server *servers;
    size_t n;
};

/* Which versions a model's requests go to. */
struct gateway_route {
    char model[GATEWAY_NAME];
    int64_t version, canary; /* 0: none */
    unsigned percent;
    bool rolling; /* `rollout` counts */
    struct rollout rollout;
    uint64_t before,
        before_refused; /* requests of the old version in the minute before the watch */
    int64_t lost_since; /* no replica of the canary is up; 0: one is */
    int64_t told_version, told_canary; /* what HAProxy's maps have */
    unsigned told_percent;
};

/* What is in the files that a spec names. */
struct gateway_secrets {
    struct buf keys; /* hashes, as HAProxy reads them */
    struct buf replica_key;
    struct buf tls; /* certificate and private key */
};

struct gateway {
    struct gateway_options o;
    struct loop *loop;
    struct gateway_spec *spec;
    int dir_fd; /* of o.dir, locked */
    int listen_fd, port;
    struct gateway_process now, leaving[GATEWAY_LEAVING];
    size_t n_leaving;
    unsigned generation, restarts, reloads;
    unsigned mute; /* looks in a row that HAProxy did not answer in time */
    struct gateway_secrets secrets;
    struct buf core; /* of the configuration, as it is now: without servers and file names */
    struct gateway_view view;
    struct gateway_route *routes; /* one for each model of the spec, in its order */
    struct traffic *traffic;
    json_t
        *others; /* what was added last, by the name of the gateway that said it; NULL: nothing */
    struct strs drained; /* addresses */
    int64_t looked;      /* when `view` was filled; 0: never */
    bool busy, settled;
    struct cond unlocked, changed;
    struct admission *control;
};

int gateway_lock(struct gateway *g);
void gateway_unlock(struct gateway *g);
void gateway_note(const struct gateway *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void gateway_wake(void *g); /* look again now */

/* ---- gateway_apply.c: under the lock ---- */
/* A new HAProxy for `spec`, ready. *ret is the caller's: gateway_process_end(). */
int gateway_launch(struct gateway *g, const struct gateway_spec *spec,
                   const struct gateway_route *routes, const struct gateway_secrets *secrets,
                   struct gateway_process *ret, struct err *err);
void gateway_secrets_done(struct gateway_secrets *s);
void gateway_process_end(struct gateway *g, struct gateway_process *p);
/* The first spec (there is no process yet), or another one. */
int gateway_apply(struct gateway *g, const char *path, struct err *err);

/* ---- gateway_routes.c: no waiting ---- */
/* The routes that follow from a spec and the routes before. *ret is the caller's: free(). */
int gateway_routes_make(const struct gateway *g, const struct gateway_spec *spec,
                        struct gateway_route **ret, struct err *err);
/* Looks at what became of rollouts, and chooses; gateway_routes_tell() brings it to HAProxy. */
void gateway_routes_step(struct gateway *g);
int gateway_routes_tell(struct gateway *g, struct err *err);
unsigned gateway_up(const struct gateway *g, const char *model, int64_t version);
const struct haproxy_server *gateway_server(const struct gateway *g, const char *backend,
                                            const char *address);

/* ---- gateway_servers.c: under the lock ---- */
int gateway_look(struct gateway *g, struct err *err);    /* asks HAProxy: g->view */
int gateway_servers(struct gateway *g, struct err *err); /* does what there is to do */
/* What goes through the spec's versions and replicas is counted from now on. */
int gateway_declare(struct gateway *g, struct err *err);
bool gateway_is_drained(const struct gateway *g, const char *address);

/* ---- gateway_control.c, gateway_counts.c, gateway_status.c, gateway_totals.c ---- */
int gateway_control_start(struct gateway *g, struct err *err);
/* The address of a replica that is named by it or by its name; NULL. Borrowed from the spec. */
const char *gateway_replica(const struct gateway *g, const char *name);
int gateway_status_json(struct gateway *g, json_t **ret, struct err *err);
/* What each version had since it is in the spec: counts that only grow, and all times. */
int gateway_totals_json(struct gateway *g, json_t **ret, struct err *err);
/* The same in the form of counts.h, with refused and retried requests; `replicas`: of each as well.
 */
int gateway_counts_json(const struct gateway *g, bool replicas, json_t **ret, struct err *err);
/* Adds those of another gateway, which a file has. `base`: they were counted before, and only what
 * comes from now on is added. */
int gateway_add_counts(struct gateway *g, const char *from, const char *path, bool base,
                       struct err *err);
