/* gateway_spec.h - what a gateway is asked for: which models, versions and replicas stand behind
 * it.
 *
 *     {"listen": "0.0.0.0:8080", "key_file": "keys", "models": [{
 *        "name": "resnet", "serve": 1, "canary": {"version": 2, "percent": 10},
 *        "versions": [{"version": 1, "replicas": [{"name": "r0", "address": "10.0.0.7:9000"}]},
 *                     {"version": 2, "replicas": [{"address": "10.0.0.8:9000"}]}]}]}
 *
 * doc/reference/gateway.md has all keys. The text is hostile until it is parsed: an unknown key, a
 * name that could mean something to HAProxy, or too much of anything is an error. Pure; any thread.
 */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATEWAY_SPEC_BYTES MIB
#define GATEWAY_MODELS 64
#define GATEWAY_VERSIONS 8               /* of one model */
#define GATEWAY_REPLICAS 256             /* of one version */
#define GATEWAY_NAME 64                  /* with the NUL: of a model or a replica */
#define GATEWAY_ADDRESS 64               /* with the NUL: "10.0.0.7:9000", "::1:9000" */
#define GATEWAY_VERSION_HERE "{version}" /* in `health`: the number of the replica's version */
#define GATEWAY_HUNDRED 10000            /* percents are kept in hundredths */

struct gateway_replica {
    char name[GATEWAY_NAME];       /* its address when it was given none */
    char address[GATEWAY_ADDRESS]; /* as HAProxy writes it, and its name there: no [] */
    unsigned weight;               /* 1 to 256 */
};

struct gateway_version {
    int64_t number;
    bool grpc; /* its replicas answer gRPC on the same port */
    struct gateway_replica *replicas;
    size_t n;
};

/* When a new version counts as worse than the old one. */
struct gateway_watch {
    unsigned requests; /* that the new version must have answered before it is judged */
    unsigned errors;   /* hundredths of a percent that may fail */
    unsigned slower;   /* hundredths: its p99 may be as many times that of the old one */
    int64_t ready_ms;  /* for a replica of the new version to be ready */
    bool automatic;    /* go on, or return, without being asked */
};

struct gateway_model {
    char name[GATEWAY_NAME];
    char *health;       /* path of the readiness check; see GATEWAY_VERSION_HERE */
    bool retry;         /* unanswered requests may be sent to another replica */
    unsigned in_flight; /* requests at one time per replica; 0: no limit */
    unsigned queue;     /* requests that wait for one; more are refused */
    int64_t serve;      /* the version that requests go to */
    int64_t canary;     /* the version that gets some of them; 0: none */
    unsigned percent;   /* how many, in hundredths */
    struct gateway_watch watch;
    struct gateway_version *versions;
    size_t n;
};

struct gateway_spec {
    char host[GATEWAY_ADDRESS];      /* numeric */
    unsigned port;                   /* 0: any that is free */
    char *key_file;                  /* NULL: no key is needed */
    char *replica_key_file;          /* what replicas are shown; NULL: nothing */
    char *certificate, *private_key; /* PEM files; NULL: no TLS */
    uint64_t body_max;
    int64_t timeout_ms, queue_ms, drain_ms;
    unsigned connections;
    unsigned threads; /* 0: as many as there are processors, two at most */
    struct gateway_model *models;
    size_t n;
};

/* `what` names the text in errors. *ret is the caller's: gateway_spec_free(). */
int gateway_spec_parse(const char *what, const void *p, size_t n, struct gateway_spec **ret,
                       struct err *err);
int gateway_spec_read(const char *path, struct gateway_spec **ret, struct err *err);
struct gateway_spec *gateway_spec_free(struct gateway_spec *s); /* always NULL */
AUTO_DEFINE(gateway_spec, struct gateway_spec *, gateway_spec_free);

struct gateway_model *gateway_spec_model(const struct gateway_spec *s, const char *name);
struct gateway_version *gateway_spec_version(const struct gateway_model *m, int64_t number);
