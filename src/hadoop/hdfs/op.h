/* op.h - what is asked of a DataNode at the start of a stream, as bytes, and its answer. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/hdfs/pipeline_nodes.h"

/* Everything that an operation says of the block and of us. */
struct op_block {
    const Hdfs__ExtendedBlock *block;
    const Hadoop__Token *token; /* four empty fields on a cluster without security */
    const char *client_name;
};

/* Appends READ_BLOCK: `length` bytes from `offset` of the block. */
int op_read(struct buf *out, const struct op_block *b, uint64_t offset, uint64_t length);

struct op_write {
    const struct nodes *nodes; /* the first is whom we talk to */
    Hdfs__BlockStage stage;
    uint64_t min_bytes, max_bytes; /* acked and sent so far: what a replica must have */
    uint64_t new_stamp;            /* generation stamp after a recovery, else 0 */
    Hdfs__ChecksumType checksum;
    uint32_t chunk;
};
/* Appends WRITE_BLOCK. */
int op_write(struct buf *out, const struct op_block *b, const struct op_write *w);

/* Appends TRANSFER_BLOCK: copy what you have of the block to `target`. */
int op_transfer(struct buf *out, const struct op_block *b, const struct node *target);

/* Appends the message that ends a read, after which the connection can be used again. */
int op_read_status(struct buf *out, bool checked);

/* Appends a message with its varint length. */
int op_add_message(struct buf *out, const void *message);

/* The answer to an operation. *ret is the caller's: protobuf_c_message_free_unpacked(). -EPROTO
 * when it is not one. A status that is not success is no error here. */
int op_answer(const uint8_t *p, size_t n, Hdfs__BlockOpResponse **ret, struct err *err);
/* "ERROR_CHECKSUM" and so on; "status 99" for what we do not know is written to `spare`. */
const char *op_status_name(int status, char spare[24]);
