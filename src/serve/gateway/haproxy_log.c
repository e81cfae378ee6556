/* haproxy_log.c - takes a log line apart, field by field. */
#include "serve/gateway/haproxy_log.h"
#include "base/str.h"
#include "serve/gateway/haproxy_grpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    LOG_MARK,
    LOG_BACKEND,
    LOG_SERVER,
    LOG_STATUS,
    LOG_STATE,
    LOG_BEGAN,
    LOG_ANSWERED,
    LOG_ENDED,
    LOG_RETRIES,
    LOG_GRPC,
    LOG_FIELDS_
};

#define LOG_FIELD HAPROXY_LOG_NAME
#define US_MAX ((int64_t)1 << 53)

static int log_split(const char *line, size_t n, char out[LOG_FIELDS_][LOG_FIELD])
{
    for (int i = 0; i < LOG_FIELDS_; i++) {
        const char *blank = n ? memchr(line, ' ', n) : NULL;
        size_t len = blank ? (size_t)(blank - line) : n;

        if (len == 0 || len >= LOG_FIELD || memchr(line, '\0', len) ||
            (blank == NULL) != (i == LOG_FIELDS_ - 1))
            return -EINVAL;
        (void)snprintf(out[i], LOG_FIELD, "%.*s", (int)len, line);
        line += len + (blank != NULL);
        n -= len + (blank != NULL);
    }
    return 0;
}

/* What a status of gRPC is in HTTP, as far as it says whose fault it was.
 *
 * By number: OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND,
 * ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED,
 * OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED. */
static unsigned log_status(const char *grpc)
{
    static const unsigned of[] = {
        200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 404, 500, 503, 500, 401,
    };
    int64_t n = 0;

    return str_to_i64(grpc, 0, COUNT_OF(of) - 1, &n) < 0 ? 500 : of[n];
}

int haproxy_log_parse(const char *line, size_t n, struct haproxy_request *ret)
{
    char f[LOG_FIELDS_][LOG_FIELD];
    int64_t status = 0, began = 0, ended = 0, retries = 0;

    if (log_split(line, n, f) < 0 || !str_eq(f[LOG_MARK], "ydl2"))
        return -EINVAL;
    *ret = (struct haproxy_request){ 0 };
    ret->by_gateway = str_eq(f[LOG_ANSWERED], "-");
    /* A redispatched request has a '+' before its retries; -1 stands for no status. */
    if (str_to_i64(f[LOG_STATUS], -1, 999, &status) < 0 ||
        str_to_i64(f[LOG_BEGAN], 0, US_MAX, &began) < 0 ||
        str_to_i64(f[ret->by_gateway ? LOG_ENDED : LOG_ANSWERED], 0, US_MAX, &ended) < 0 ||
        str_to_i64(f[LOG_RETRIES] + (f[LOG_RETRIES][0] == '+'), 0, 1000, &retries) < 0)
        return -EINVAL;
    memcpy(ret->backend, f[LOG_BACKEND], sizeof(ret->backend));
    if (haproxy_grpc_beside(ret->backend))
        ret->backend[haproxy_grpc_beside(ret->backend)] = '\0';
    if (f[LOG_SERVER][0] != '<')
        memcpy(ret->server, f[LOG_SERVER], sizeof(ret->server));
    ret->status = status > 0 ? (unsigned)status : 0;
    if (ret->status == 200 && !str_eq(f[LOG_GRPC], "-"))
        ret->status = log_status(f[LOG_GRPC]);
    ret->retries = (unsigned)retries;
    ret->us = ended > began ? ended - began : 0;
    /* The first letter says who ended it: S the server's side, s the server's timeout, and so on;
     * C and c are the client. */
    ret->failed = ret->status >= 500 || f[LOG_STATE][0] == 'S' || f[LOG_STATE][0] == 's';
    ret->refused =
        !ret->by_gateway && ret->status >= 400 && ret->status < 499 && ret->status != 429;
    if (ret->by_gateway && ret->status == 429)
        ret->failed = false; /* too many requests say nothing about a version */
    return 0;
}
