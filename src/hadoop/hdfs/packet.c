/* packet.c - see packet.h. The header is a protobuf message, but of fixed-width fields that the
 * DataNode writes in order; packets are many, so it is made and read without the codec. */
#include "hadoop/hdfs/packet.h"
#include "base/buf.h"

#include <endian.h>
#include <string.h>

#define HEAD_MAX 1024 /* of a header that somebody sends: there are fields we do not know */
#define ACK_MAX ((size_t)64 * 1024)

/* Tags: field number and wire type. */
enum {
    TAG_OFFSET = 1 << 3 | 1,
    TAG_SEQNO = 2 << 3 | 1,
    TAG_LAST = 3 << 3 | 0,
    TAG_DATA_LEN = 4 << 3 | 5,
    TAG_SYNC = 5 << 3 | 0,
    TAG_ACK_SEQNO = 1 << 3 | 0,
    TAG_ACK_REPLY = 2 << 3 | 0,
    TAG_ACK_REPLIES = 2 << 3 | 2,
    TAG_ACK_FLAG = 4 << 3 | 0,
    TAG_ACK_FLAGS = 4 << 3 | 2,
};

#define STATUS_BITS 0x0f /* of a flag; congestion and slowness are above */

static uint8_t *put_le64(uint8_t *at, uint8_t tag, uint64_t v)
{
    *at++ = tag;
    v = htole64(v);
    memcpy(at, &v, sizeof(v));
    return at + sizeof(v);
}

/* `total` counts itself, the checksums and the data, but neither the header nor its length.
 *
 *     total(4) head(2) | 09 offset(8) | 11 seqno(8) | 18 last(1) | 25 data length(4) | 28 sync(1)
 *
 * The framing is big endian and what protobuf writes is little endian. sync is there only when it
 * is set. */
size_t packet_put(const struct packet *p, uint8_t out[PACKET_HEAD_MAX])
{
    uint32_t total = htobe32((uint32_t)(4 + p->sums_len + p->data_len));
    uint32_t data_len = htole32((uint32_t)p->data_len);
    uint16_t head;
    uint8_t *at = out + 6;

    at = put_le64(at, TAG_OFFSET, p->offset);
    at = put_le64(at, TAG_SEQNO, (uint64_t)p->seqno);
    *at++ = TAG_LAST;
    *at++ = p->last;
    *at++ = TAG_DATA_LEN;
    memcpy(at, &data_len, sizeof(data_len));
    at += sizeof(data_len);
    if (p->sync) {
        *at++ = TAG_SYNC;
        *at++ = 1;
    }
    head = htobe16((uint16_t)(at - out - 6));
    memcpy(out, &total, sizeof(total));
    memcpy(out + 4, &head, sizeof(head));
    return (size_t)(at - out);
}

static uint64_t get_le64(struct view *v)
{
    const uint8_t *p = view_bytes(v, 8);
    uint64_t n = 0;

    if (p)
        memcpy(&n, p, sizeof(n));
    return le64toh(n);
}

static uint32_t get_le32(struct view *v)
{
    const uint8_t *p = view_bytes(v, 4);
    uint32_t n = 0;

    if (p)
        memcpy(&n, p, sizeof(n));
    return le32toh(n);
}

/* Passes over a field that means nothing to us. */
static void packet_skip(struct view *v, uint64_t tag)
{
    switch (tag & 7) {
    case 0:
        (void)view_varint(v);
        break;
    case 1:
        (void)view_bytes(v, 8);
        break;
    case 2:
        (void)view_bytes(v, view_varint(v));
        break;
    case 5:
        (void)view_bytes(v, 4);
        break;
    default:
        v->bad = true;
    }
}

enum { HAS_OFFSET = 1, HAS_SEQNO = 2, HAS_LAST = 4, HAS_LEN = 8, HAS_ALL = 15 };

static bool get_head(struct view v, struct packet *ret)
{
    int have = 0;

    *ret = (struct packet){ 0 };
    while (v.n > 0 && !v.bad) {
        uint64_t tag = view_varint(&v);

        if (tag == TAG_OFFSET) {
            ret->offset = get_le64(&v);
            have |= HAS_OFFSET;
        } else if (tag == TAG_SEQNO) {
            ret->seqno = (int64_t)get_le64(&v);
            have |= HAS_SEQNO;
        } else if (tag == TAG_LAST) {
            ret->last = view_varint(&v) != 0;
            have |= HAS_LAST;
        } else if (tag == TAG_DATA_LEN) {
            ret->data_len = get_le32(&v);
            have |= HAS_LEN;
        } else if (tag == TAG_SYNC) {
            ret->sync = view_varint(&v) != 0;
        } else {
            packet_skip(&v, tag);
        }
    }
    return !v.bad && have == HAS_ALL && ret->offset <= INT64_MAX;
}

/* 0 means: not enough bytes yet. Bounds are checked before anything is waited for, so that a wrong
 * length cannot make the reader wait for, or allocate, what never comes. */
int packet_get(const uint8_t *at, size_t n, struct packet *ret)
{
    struct view v = view_of(at, n);
    uint32_t total = view_be32(&v);
    uint16_t head = view_be16(&v);

    if (v.bad)
        return 0;
    if (total < 4 || total > PACKET_MAX || head == 0 || head > HEAD_MAX)
        return -EPROTO;
    if (v.n < head)
        return 0;
    if (!get_head(view_sub(&v, head), ret) || ret->data_len > total - 4)
        return -EPROTO;
    ret->sums_len = total - 4 - ret->data_len;
    return 6 + head;
}

static void packet_add_status(struct packet_ack *ack, struct view *v, uint64_t status)
{
    if (ack->n == PACKET_NODES_MAX)
        v->bad = true;
    else
        ack->status[ack->n++] = (uint8_t)(status & STATUS_BITS);
}

static void add_packed(struct packet_ack *ack, struct view *v)
{
    struct view in = view_sub(v, view_varint(v));

    while (in.n > 0 && !in.bad)
        packet_add_status(ack, &in, view_varint(&in));
    v->bad |= in.bad;
}

/* Flags, where a DataNode sends them, repeat the replies and say more: they count then. In a flag
 * the low four bits are the status and those above say that the node is congested or slow, which we
 * do not act on. Replies and flags come packed or not, by the release. */
static bool get_ack(struct view v, struct packet_ack *ret)
{
    bool have_seqno = false, have_flags = false;

    ret->seqno = 0;
    ret->n = 0;
    while (v.n > 0 && !v.bad) {
        uint64_t tag = view_varint(&v);

        if (tag == TAG_ACK_SEQNO) {
            uint64_t zigzag = view_varint(&v);

            ret->seqno = (int64_t)(zigzag >> 1 ^ -(zigzag & 1));
            have_seqno = true;
        } else if (tag == TAG_ACK_FLAG || tag == TAG_ACK_FLAGS) {
            if (!have_flags)
                ret->n = 0;
            have_flags = true;
            if (tag == TAG_ACK_FLAG)
                packet_add_status(ret, &v, view_varint(&v));
            else
                add_packed(ret, &v);
        } else if (!have_flags && tag == TAG_ACK_REPLY) {
            packet_add_status(ret, &v, view_varint(&v));
        } else if (!have_flags && tag == TAG_ACK_REPLIES) {
            add_packed(ret, &v);
        } else {
            packet_skip(&v, tag);
        }
    }
    return !v.bad && have_seqno;
}

int packet_ack_get(const uint8_t *at, size_t n, struct packet_ack *ret)
{
    struct view v = view_of(at, n);
    uint64_t size = view_varint(&v);
    size_t head = n - v.n;

    if (v.bad)
        return n < 10 ? 0 : -EPROTO; /* a varint is never longer */
    if (size > ACK_MAX)
        return -EPROTO;
    if (v.n < size)
        return 0;
    if (!get_ack(view_sub(&v, size), ret))
        return -EPROTO;
    return (int)(head + size);
}

int packet_ack_bad(const struct packet_ack *ack)
{
    for (size_t i = ack->n; i > 0; i--)
        if (ack->status[i - 1] != PACKET_OK)
            return (int)i - 1;
    return -1;
}
