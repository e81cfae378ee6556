/* packet.h - the packets of a block and the acks of a pipeline, as bytes. Pure, any thread.
 *
 *     packet   int32 length of what follows but the header, plus 4 · int16 length of the header ·
 *              header (protobuf, fixed width) · one checksum per chunk · data
 *     ack      varint length · protobuf
 *
 * What is read may come from anybody who holds the port: lengths are checked against ceilings
 * before anything is done with them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_MAX ((size_t)16 << 20) /* a DataNode takes no larger packet, and neither do we */
#define PACKET_HEAD_MAX 33            /* bytes before the checksums of a packet that we make */
#define PACKET_HEARTBEAT (-1)         /* sequence number that says: still here */
#define PACKET_NODES_MAX 512          /* no pipeline is longer: dfs.replication.max */

struct packet {
    uint64_t offset; /* in the block */
    int64_t seqno;   /* counts up from 0 in each block */
    size_t data_len; /* bytes of data */
    size_t sums_len; /* bytes of checksums */
    bool last;       /* no data: the block ends here */
    bool sync;       /* DataNodes write it to the disk itself before they ack */
};

/* Writes everything before the checksums; returns how many bytes that are. */
size_t packet_put(const struct packet *p, uint8_t out[PACKET_HEAD_MAX]);

/* Reads it. Returns the bytes before the checksums, 0 when `n` bytes are not enough to know, or
 * -EPROTO when this is no packet. */
int packet_get(const uint8_t *at, size_t n, struct packet *ret);

/* What a DataNode says of a packet, HDFS's numbers. */
enum packet_status {
    PACKET_OK = 0,
    PACKET_ERROR = 1,
    PACKET_BAD_CHECKSUM = 2,
    PACKET_RESTARTING = 8, /* it is about to restart: OOB_RESTART */
};

struct packet_ack {
    int64_t seqno;                    /* PACKET_HEARTBEAT, or below it for news out of band */
    size_t n;                         /* how many DataNodes speak */
    uint8_t status[PACKET_NODES_MAX]; /* the nearest first */
};

/* Reads one ack with its length. Returns its bytes, 0 when there are not enough, or -EPROTO. */
int packet_ack_get(const uint8_t *at, size_t n, struct packet_ack *ret);

/* Which DataNode an ack complains about: the farthest DataNode that reports a failure, because
 * those before it only pass on what they heard. -1 when all are well. */
int packet_ack_bad(const struct packet_ack *ack);
