/* grpc_flood.h - frames that lead to nothing, such as pings, settings and resets, have a price, and
 * answered calls and bytes of messages pay for it. A client that only costs is cut off (as in rapid
 * reset, CVE-2023-44487). No I/O. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_flood {
    int64_t tokens, at;
};

void grpc_flood_init(struct grpc_flood *f, int64_t now);
/* A frame of `n` bytes has come; false: that is too many. */
bool grpc_flood_frame(struct grpc_flood *f, uint8_t type, size_t n, int64_t now);
void grpc_flood_answered(struct grpc_flood *f); /* a call was, and the client read it */
void grpc_flood_sent(struct grpc_flood *f, size_t n);
