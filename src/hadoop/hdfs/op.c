/* op.c - encodes the operations that start a DataTransfer conversation (version, operation code,
 * protobuf message) and decodes their answers.
 *
 *     00 1c | operation | varint length | message      a request
 *     varint length | BlockOpResponse                  its answer
 *
 * 28 is the version, from 2.10 to 3.5. What follows an answer has another framing: packets
 * (packet.c). See op.h. */
#include "hadoop/hdfs/op.h"
#include "base/auto.h"

#include <stdio.h>

enum { VERSION = 28, WRITE_BLOCK = 80, READ_BLOCK = 81, TRANSFER_BLOCK = 86 };

int op_add_message(struct buf *out, const void *message)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    uint8_t *room;
    int r = buf_add_varint(out, n);

    if (r == 0)
        r = buf_room(out, n, &room);
    if (r != 0)
        return r;
    out->len += protobuf_c_message_pack(message, room);
    return 0;
}

static int add_op(struct buf *out, uint8_t op, const void *message)
{
    int r = buf_add_be16(out, VERSION);

    if (r == 0)
        r = buf_add_u8(out, op);
    return r < 0 ? r : op_add_message(out, message);
}

/* The messages that every operation begins with; they borrow everything. */
struct header {
    Hdfs__BaseHeader base;
    Hdfs__ClientOperationHeader client;
};

static void fill_header(struct header *h, const struct op_block *b)
{
    hdfs__base_header__init(&h->base);
    h->base.block = (Hdfs__ExtendedBlock *)b->block;
    h->base.token = (Hadoop__Token *)b->token;
    hdfs__client_operation_header__init(&h->client);
    h->client.base_header = &h->base;
    h->client.client_name = b->client_name;
}

int op_read(struct buf *out, const struct op_block *b, uint64_t offset, uint64_t length)
{
    Hdfs__OpReadBlock op = HDFS__OP_READ_BLOCK__INIT;
    struct header h;

    fill_header(&h, b);
    op.header = &h.client;
    op.offset = offset;
    op.length = length;
    op.has_send_checksums = true;
    op.send_checksums = true;
    return add_op(out, READ_BLOCK, &op);
}

/* The nodes behind the first, as the three parallel lists of the message. */
struct targets {
    Hdfs__DatanodeInfo **infos;
    Hdfs__StorageType *types;
    const char **ids;
    size_t n;
};

static void targets_done(struct targets *t)
{
    free(t->infos);
    free(t->types);
    free(t->ids);
}

static int targets_of(struct targets *t, const struct node *nodes, size_t n)
{
    t->infos = calloc(n + 1, sizeof(*t->infos));
    t->types = calloc(n + 1, sizeof(*t->types));
    t->ids = calloc(n + 1, sizeof(*t->ids));
    if (!t->infos || !t->types || !t->ids)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        t->infos[i] = nodes[i].info;
        t->types[i] = nodes[i].storage;
        t->ids[i] = nodes[i].storage_id;
    }
    t->n = n;
    return 0;
}

/* The DataNode that we talk to is not among the targets: its own storage stands apart. It takes the
 * first target off the list, connects to it and passes the rest on, so every node sees the part of
 * the pipeline that is behind it. pipeline_size is the whole of it, ourselves not counted. */
static int add_write(struct buf *out, const struct op_block *b, const struct op_write *w,
                     const struct targets *t)
{
    Hdfs__OpWriteBlock op = HDFS__OP_WRITE_BLOCK__INIT;
    Hdfs__Checksum checksum = HDFS__CHECKSUM__INIT;
    struct header h;

    fill_header(&h, b);
    checksum.type = w->checksum;
    checksum.bytes_per_checksum = w->chunk;
    op.header = &h.client;
    op.targets = t->infos;
    op.target_storage_types = t->types;
    op.target_storage_ids = t->ids;
    op.n_targets = op.n_target_storage_types = op.n_target_storage_ids = t->n;
    op.stage = w->stage;
    op.pipeline_size = (uint32_t)w->nodes->n;
    op.min_bytes_received = w->min_bytes;
    op.max_bytes_received = w->max_bytes;
    op.latest_generation_stamp = w->new_stamp;
    op.checksum = &checksum;
    op.has_storage_type = true;
    op.storage_type = w->nodes->v[0].storage;
    op.storage_id = w->nodes->v[0].storage_id;
    return add_op(out, WRITE_BLOCK, &op);
}

int op_write(struct buf *out, const struct op_block *b, const struct op_write *w)
{
    struct targets t = { 0 };
    int r = targets_of(&t, w->nodes->v + 1, w->nodes->n - 1);

    if (r == 0)
        r = add_write(out, b, w, &t);
    targets_done(&t);
    return r;
}

int op_transfer(struct buf *out, const struct op_block *b, const struct node *target)
{
    Hdfs__OpTransferBlock op = HDFS__OP_TRANSFER_BLOCK__INIT;
    struct targets t = { 0 };
    struct header h;
    int r = targets_of(&t, target, 1);

    if (r == 0) {
        fill_header(&h, b);
        op.header = &h.client;
        op.targets = t.infos;
        op.target_storage_types = t.types;
        op.target_storage_ids = t.ids;
        op.n_targets = op.n_target_storage_types = op.n_target_storage_ids = t.n;
        r = add_op(out, TRANSFER_BLOCK, &op);
    }
    targets_done(&t);
    return r;
}

int op_read_status(struct buf *out, bool checked)
{
    Hdfs__ClientReadStatus status = HDFS__CLIENT_READ_STATUS__INIT;

    status.status = checked ? HDFS__TRANSFER_STATUS__TRANSFER_CHECKSUM_OK
                            : HDFS__TRANSFER_STATUS__TRANSFER_SUCCESS;
    return op_add_message(out, &status);
}

int op_answer(const uint8_t *p, size_t n, Hdfs__BlockOpResponse **ret, struct err *err)
{
    *ret = hdfs__block_op_response__unpack(NULL, n, p);
    if (!*ret)
        return err_set(err, -EPROTO, "an invalid HDFS message");
    return 0;
}

const char *op_status_name(int status, char spare[24])
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&hdfs__transfer_status__descriptor, status);

    if (v)
        return v->name + sizeof("TRANSFER_") - 1;
    snprintf(spare, 24, "status %d", status);
    return spare;
}
