/* blockread.h - a run of bytes of one block from one DataNode, every chunk checked. Private to
 * this directory; fibers only.
 *
 *     client  READ_BLOCK
 *     server  {SUCCESS, checksum, where the first chunk begins}
 *     server  packet · packet · … · empty packet
 *     client  {CHECKSUM_OK}          and the connection can be used again */
#pragma once
#include "hadoop/hdfs/private.h"

struct block_read; /* opaque */

struct block_range {
    const Hdfs__LocatedBlock *block;
    const Hdfs__DatanodeInfo *node;
    uint64_t offset, length; /* in the block; at least one byte, none past its end */
};

/* Asks for it. -EKEYREJECTED or -EACCES: the block token may have expired. *ret is the caller's:
 * block_read_close(). */
int block_read_open(struct hdfs *fs, const struct block_range *range, struct block_read **ret,
                    struct err *err);
/* The next bytes, at most `max`, borrowed until the next call; 0 when all were given. -EBADMSG
 * when the data and its checksums do not agree. */
ssize_t block_read_next(struct block_read *b, const uint8_t **ret, size_t max, struct err *err);
/* After all bytes were read it ends the exchange and keeps the connection for the next block, else
 * it drops it. NULL is fine; always NULL. */
struct block_read *block_read_close(struct block_read *b);

AUTO_DEFINE(block_read, struct block_read *, block_read_close);
#define AUTO_BLOCK_READ AUTO(block_read) struct block_read
