/* traffic.h - what went through the gateway, for each version and each replica: counts and times
 * of the last minute, and since a moment of one's choice. Pure; the caller has the clock. */
#pragma once
#include "base/auto.h"
#include "serve/gateway/histogram.h"
#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_WINDOWS 3
#define TRAFFIC_WINDOW_MS 20000
#define TRAFFIC_SERIES 65536

struct traffic; /* opaque */

/* What is known of a series. */
struct traffic_sum {
    uint64_t requests, errors, refused, retried;
    int64_t span_ms; /* that they were counted in */
    struct histogram times;
};

struct traffic *traffic_new(void); /* NULL: out of memory */
struct traffic *traffic_free(struct traffic *t);
AUTO_DEFINE(traffic, struct traffic *, traffic_free);

/* Counts are kept only for what was declared: `server` "" is the whole backend. 0, also when it was
 * declared before. */
int traffic_declare(struct traffic *t, const char *backend, const char *server, int64_t now);
/* Drops all series that keep(user, backend, server) does not want. */
void traffic_keep(struct traffic *t,
                  int (*keep)(void *user, const char *backend, const char *server), void *user);

/* One request: counted for its backend and its server, where they are declared. */
struct haproxy_request;
void traffic_count(struct traffic *t, const struct haproxy_request *q, int64_t now);

/* The last minute; -ENOENT when it is not declared. */
int traffic_recent(struct traffic *t, const char *backend, const char *server, int64_t now,
                   struct traffic_sum *ret);
/* All since it was declared; -ENOENT. */
int traffic_all(const struct traffic *t, const char *backend, const char *server,
                struct traffic_sum *ret);
/* What went through another gateway counts like what went through this one, as of `now`; nothing
 * where it is not declared. */
void traffic_add(struct traffic *t, const char *backend, const char *server,
                 const struct traffic_sum *sum, int64_t now);
/* From now on, a second count; what it has since then. */
void traffic_mark(struct traffic *t, const char *backend, int64_t now);
int traffic_marked(struct traffic *t, const char *backend, int64_t now, struct traffic_sum *ret);
