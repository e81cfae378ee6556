/* blockread.c - asks a DataNode for a range of a block and checks each packet against the
 * checksums sent with it. A kept connection that turns out to be closed is replaced once, without
 * blame. See blockread.h. */
#include "hadoop/hdfs/blockread.h"
#include "base/str.h"
#include "hadoop/hdfs/crc.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/hdfs/packet.h"

#include <string.h>

#define READ_BUFFER (512 * KIB)
#define SMALL_BUFFER (16 * KIB)
#define OP_MAX (64 * KIB)
#define CHUNK_MAX (16 * MIB)

struct block_read {
    struct hdfs *fs;
    struct dn_stream *stream;
    Hdfs__DatanodeId id; /* only what the pool needs; uuid is ours */
    uint64_t at, end;    /* next byte to give, and where to stop, in the block */
    const uint8_t *data; /* checked bytes not yet given */
    size_t left;
    enum crc_type crc;
    size_t chunk;
    bool ended; /* both sides said that all was well: the connection can be kept */
};

/* Checks that the answer describes something we can read. */
static int block_read_take_answer(struct block_read *b, const Hdfs__BlockOpResponse *answer,
                                  const struct block_range *range, struct err *err)
{
    const Hdfs__ReadOpChecksumInfo *info = answer->checksum_info;

    /* A DataNode starts at a chunk boundary, at or before what was asked for, so that all checksums
     * can be verified; the bytes in front are skipped in refill(). */
    if (!info || info->chunk_offset > range->offset || info->checksum->bytes_per_checksum == 0 ||
        info->checksum->bytes_per_checksum > CHUNK_MAX)
        return err_set(err, -EPROTO, "%s does not say how the block is checked",
                       dn_stream_name(b->stream));
    b->chunk = info->checksum->bytes_per_checksum;
    b->crc = (enum crc_type)info->checksum->type;
    if (b->crc > CRC_32C)
        return err_set(err, -EPROTO, "%s uses an unknown checksum (%d)", dn_stream_name(b->stream),
                       (int)info->checksum->type);
    return 0;
}

static int block_read_ask(struct block_read *b, const struct block_range *range, struct err *err)
{
    const struct op_block op_block = {
        .block = range->block->block,
        .token = range->block->block_token,
        .client_name = b->fs->client_name,
    };
    AUTO_ANSWER *answer = NULL;
    AUTO_BUF op = { .max = OP_MAX };
    int r;

    r = op_read(&op, &op_block, range->offset, range->length);
    if (r < 0)
        return err_code(err, r, "ask for a block");
    r = datanode_ask(b->stream, &op, &answer, err);
    return r < 0 ? r : block_read_take_answer(b, answer, range, err);
}

/* On a connection that was left over, or a new one. A left-over one may have been closed by the
 * other end just now, which says nothing about the DataNode. */
static int block_read_start(struct block_read *b, const struct block_range *range, struct err *err)
{
    const struct hdfs_settings *set = &b->fs->settings;
    struct dn_stream_limits limits = {
        .connect_ms = set->connect_ms,
        .read_ms = set->read_ms,
        .write_ms = set->write_ms,
        .buffer = range->length < SMALL_BUFFER / 2 ? SMALL_BUFFER : READ_BUFFER,
    };
    int r;

    b->stream = datanode_reuse(b->fs, range->node->id);
    if (b->stream) {
        dn_stream_set_limits(b->stream, &limits);
        r = block_read_ask(b, range, err);
        if (r == 0 || r == -EKEYREJECTED || r == -ECANCELED)
            return r;
        b->stream = dn_stream_close(b->stream);
        err_clear(err);
    }
    r = datanode_connect(b->fs, range->node->id, range->block->block_token, &limits, &b->stream,
                         err);
    return r < 0 ? r : block_read_ask(b, range, err);
}

int block_read_open(struct hdfs *fs, const struct block_range *range, struct block_read **ret,
                    struct err *err)
{
    AUTO_BLOCK_READ *b = calloc(1, sizeof(*b));
    int r;

    if (!b)
        return err_oom(err);
    b->fs = fs;
    b->at = range->offset;
    b->end = range->offset + range->length;
    hdfs__datanode_id__init(&b->id);
    b->id.xfer_port = range->node->id->xfer_port;
    b->id.datanode_uuid = strdup(range->node->id->datanode_uuid);
    if (!b->id.datanode_uuid)
        return err_oom(err);
    r = block_read_start(b, range, err);
    if (r < 0)
        return r;
    *ret = take(b);
    return 0;
}

/* Waits for the whole next packet; *ret_head are the bytes before its checksums. */
static int next_packet(struct block_read *b, struct packet *p, size_t *ret_head, struct err *err)
{
    /* Four bytes of length and two of header size are there in every packet. */
    size_t have = 6;
    int head = 0, r = 0;

    while (head == 0) {
        const uint8_t *bytes;

        r = dn_stream_need(b->stream, have, err);
        if (r < 0)
            return r;
        bytes = dn_stream_bytes(b->stream, &have);
        head = packet_get(bytes, have, p);
        have++;
    }
    if (head < 0)
        return err_set(err, head, "%s sent an invalid packet", dn_stream_name(b->stream));
    *ret_head = (size_t)head;
    return dn_stream_need(b->stream, (size_t)head + p->sums_len + p->data_len, err);
}

static int check_packet(const struct block_read *b, const struct packet *p, const uint8_t *sums,
                        struct err *err)
{
    size_t bad;

    /* A packet that starts behind what is expected next would leave a hole in the file. */
    if (p->offset % b->chunk != 0 || p->offset > b->at ||
        p->sums_len != crc_size(b->crc, b->chunk, p->data_len))
        return err_set(err, -EPROTO, "%s sent a packet that does not match the request",
                       dn_stream_name(b->stream));
    if (!crc_check(b->crc, b->chunk, sums + p->sums_len, p->data_len, sums, &bad))
        return err_set(err, -EBADMSG, "%s: its replica is damaged at byte %llu of the block",
                       dn_stream_name(b->stream), (unsigned long long)(p->offset + bad));
    return 0;
}

/* The empty packet, and our word that all was well. Failing to say so costs the connection only:
 * the bytes are here. */
static void block_read_finish(struct block_read *b)
{
    struct packet p;
    size_t head;
    AUTO_BUF status = { .max = 64 };

    if (next_packet(b, &p, &head, NULL) < 0 || !p.last || p.data_len > 0)
        return;
    dn_stream_eat(b->stream, head + p.sums_len);
    b->ended = op_read_status(&status, b->crc != CRC_NONE) == 0 &&
               dn_stream_send(b->stream, status.data, status.len, NULL) == 0;
}

static int refill(struct block_read *b, struct err *err)
{
    struct packet p;
    const uint8_t *sums;
    size_t head, skip, n;
    int r = next_packet(b, &p, &head, err);

    if (r < 0)
        return r;
    sums = dn_stream_bytes(b->stream, &n) + head;
    r = check_packet(b, &p, sums, err);
    if (r < 0)
        return r;
    if (p.last)
        return err_set(err, -ENODATA, "%s: its replica ends too early", dn_stream_name(b->stream));
    skip = b->at - p.offset < p.data_len ? (size_t)(b->at - p.offset) : p.data_len;
    n = p.data_len - skip;
    b->data = sums + p.sums_len + skip;
    b->left = n < b->end - b->at ? n : (size_t)(b->end - b->at);
    dn_stream_eat(b->stream, head + p.sums_len + p.data_len);
    return 0;
}

ssize_t block_read_next(struct block_read *b, const uint8_t **ret, size_t max, struct err *err)
{
    size_t n;
    int r;

    while (b->left == 0) {
        if (b->at == b->end)
            return 0;
        r = refill(b, err);
        if (r < 0)
            return r;
    }
    n = b->left < max ? b->left : max;
    *ret = b->data;
    b->data += n;
    b->left -= n;
    b->at += n;
    return (ssize_t)n;
}

/* The connection is kept only if the whole range was read and the final empty packet and our status
 * were exchanged: otherwise bytes of this block would be taken for the next answer. */
struct block_read *block_read_close(struct block_read *b)
{
    if (!b)
        return NULL;
    if (b->at == b->end && b->left == 0 && b->chunk > 0)
        block_read_finish(b);
    if (b->ended)
        datanode_keep(b->fs, &b->id, b->stream);
    else
        dn_stream_close(b->stream);
    free((char *)b->id.datanode_uuid);
    free(b);
    return NULL;
}
