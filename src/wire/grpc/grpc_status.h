/* grpc_status.h - how a call ended, as gRPC numbers it, and the two headers whose values have a
 * notation of their own. No I/O. */
#pragma once
#include "base/buf.h"
#include <stdint.h>

enum grpc_status {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
    GRPC_STATUSES_
};

enum grpc_status grpc_status_of(int code);        /* of a negative errno; GRPC_OK for 0 */
const char *grpc_status_text(enum grpc_status s); /* "8", as it is sent */
const char *grpc_status_name(enum grpc_status s); /* "RESOURCE_EXHAUSTED" */

/* Appends `s` as a grpc-message: printable ASCII as it is, all else and '%' as %XX. */
int grpc_quote(struct buf *out, const char *s);

/* A grpc-timeout, "250m" or "1S": milliseconds, rounded up. -EINVAL. */
int grpc_timeout(const char *s, int64_t *ret);
