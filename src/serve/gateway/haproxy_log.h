/* haproxy_log.h - one line of our HAProxy's log: one request. Pure.
 *
 *     ydl2 BACKEND SERVER STATUS STATE BEGAN ANSWERED ENDED RETRIES GRPC
 *
 * Times are microseconds; ANSWERED, when the first byte of the answer came, is - when HAProxy
 * answered itself. GRPC is the status of an answer to a call that has no message, else -: it counts
 * as one of HTTP, and for the backend that the call's one stands beside. haproxy_conf.c writes the
 * format. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAPROXY_LOG_FORMAT                                                                         \
    "ydl2 %b %s %ST %tsc %[var(txn.began)] %[var(txn.answered)] %[date(0,us)] %rc "                \
    "%[var(txn.grpc)]"
#define HAPROXY_LOG_MARK "ydl2 "
#define HAPROXY_LOG_NAME 128

struct haproxy_request {
    char backend[HAPROXY_LOG_NAME], server[HAPROXY_LOG_NAME]; /* server: "" for none */
    unsigned status; /* 0: the client left before there was one */
    bool failed;     /* 5xx, or cut off by the replica: counts against a version */
    bool refused;    /* 4xx by the replica: counts where another version does not refuse as much */
    bool by_gateway; /* no replica answered */
    unsigned retries;
    int64_t us; /* from the request's head to the first byte of the answer */
};

/* `line` has no line's end. -EINVAL when it is not such a line. */
int haproxy_log_parse(const char *line, size_t n, struct haproxy_request *ret);
