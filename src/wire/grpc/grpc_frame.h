/* grpc_frame.h - one message behind its prefix: a byte that says whether it is compressed, and four
 * with its length. Bytes come in pieces of any size. No I/O. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define GRPC_PREFIX 5

struct grpc_frame {
    uint8_t prefix[GRPC_PREFIX];
    size_t n_prefix;
    size_t length;   /* that the prefix told */
    struct buf body; /* its ceiling is that of messages */
};

void grpc_frame_init(struct grpc_frame *f, size_t max);
void grpc_frame_done(struct grpc_frame *f);
/* Takes the next bytes. -E2BIG: the message is too large, which its prefix tells already; -EPROTO:
 * it is compressed, or there is more than one; -ENOMEM. */
int grpc_frame_feed(struct grpc_frame *f, const uint8_t *p, size_t n, struct err *err);
bool grpc_frame_complete(const struct grpc_frame *f);
/* The prefix of a message of `n` bytes. */
void grpc_frame_prefix(uint8_t prefix[GRPC_PREFIX], size_t n);
