/* haproxy_conf.h - HAProxy's configuration and the files beside it, made from a gateway's spec.
 * Pure: texts only.
 *
 * One backend per version, "MODEL:VERSION". Which of them a request goes to stands in maps, so that
 * it can be changed at run time without a connection being lost:
 *
 *     route.map     MODEL → backend of the version that is served
 *     canary.map    MODEL → backend of the canary
 *     percent.map   MODEL → percent of the requests that go to the canary, in hundredths
 *     versions.map  MODEL:VERSION → itself: for requests that name a version
 *     grpc.map      MODEL:VERSION → its backend for gRPC, where there is one: haproxy_grpc.h */
#pragma once
#include "base/buf.h"
#include "serve/gateway/gateway_spec.h"

#define HAPROXY_BUFFER 65536 /* a request that fits can be sent again */
#define HAPROXY_STREAMS 64   /* requests of one connection of HTTP/2 at a time */
#define HAPROXY_CONF_MAX (4 * MIB)

/* Where things are, and what HAProxy had before. */
struct haproxy_conf {
    const struct gateway_spec *spec;
    const char *dir;    /* absolute; no blanks: haproxy_conf_dir_fits() */
    const char *socket; /* of the run-time API */
    unsigned processors;
    const char *replica_key; /* shown to replicas; NULL: none */
    bool keys;               /* DIR/keys has the hashes of the keys that are accepted */
    bool tls;                /* DIR/tls.pem has certificate and key */
    /* Is it in service now? Then the new process starts with it; others are added at run time,
     * where they get no request before they are ready. */
    bool (*up)(void *user, const char *backend, const char *address);
    void *user;
};

bool haproxy_conf_dir_fits(const char *dir);
int haproxy_conf_write(const struct haproxy_conf *c, struct buf *out, struct err *err);

/* "MODEL:VERSION". */
#define HAPROXY_BACKEND 96
const char *haproxy_backend(char out[HAPROXY_BACKEND], const struct gateway_model *m,
                            int64_t version);
/* What follows the address of a server: its checks and limits. */
int haproxy_server_words(struct buf *out, const struct gateway_model *m, const char *backend,
                         unsigned weight);

/* Answers that HAProxy gives itself, as files below DIR/errors. `i` from 0; false: there are no
 * more. */
struct haproxy_error {
    unsigned status; /* that it stands for: the file's name */
    char text[512];
};
bool haproxy_error_file(unsigned i, struct haproxy_error *ret);
