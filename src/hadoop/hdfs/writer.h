/* writer.h - a file that is being written, as its parts see it. Private to this directory.
 *
 * The caller fills a packet (writer.c) and puts it in the queue. One fiber per file, the streamer
 * (streamer.c), takes packets from the queue and sends them down the block's pipeline; another, the
 * acker, reads what the DataNodes say and drops packets that all of them have. When a DataNode
 * fails, the streamer builds the pipeline again (rebuild.c) and sends what was not acked again:
 *
 *     queue:   first ──► … ──► unsent ──► … ──► last          current
 *              sent, not acked │ to be sent                    being filled
 *
 * So the source of the data is never needed twice. The queue is bounded: a caller that is faster
 * than the pipeline waits. Everything runs on the loop's thread. */
#pragma once
#include "hadoop/hdfs/crc.h"
#include "hadoop/hdfs/packet.h"
#include "hadoop/hdfs/pipeline_nodes.h"
#include "hadoop/hdfs/private.h"
#include "hadoop/hdfs/recovery.h"

struct out_packet {
    struct out_packet *next;
    struct packet head;
    size_t repeated; /* bytes at its start that an earlier packet had: an unfinished chunk */
    uint8_t *sums;   /* room for the header is before them */
    uint8_t *data;
};

/* The block being written. */
struct pipeline {
    bool open; /* a block is allocated and its pipeline set up */
    enum stage stage;
    Hdfs__ExtendedBlock block; /* pool_id is the writer's */
    void *holder;              /* the answer that `token` lies in */
    const Hadoop__Token *token;
    struct nodes nodes;
    uint64_t acked, sent; /* bytes of the block */
    struct dn_stream *stream;
    struct fiber *acker; /* NULL when none runs */
    bool closed;         /* the ack of the last packet came */
    bool broken;         /* the following say how */
    enum fault fault;
    size_t bad; /* index in nodes */
    struct err cause;
    int64_t restart_until; /* how long a restarting DataNode is waited for; 0 when none is */
};

struct hdfs_writer {
    struct hdfs *fs;
    char *path, *pool;
    uint64_t file_id;
    bool keep;

    uint64_t block_size;
    uint32_t replication;
    enum crc_type crc;
    size_t chunk;        /* bytes under one checksum */
    size_t packet_bytes; /* data in a full packet, a multiple of `chunk` */
    size_t window;       /* packets that may be queued */

    struct out_packet *current, *first, *last, *unsent, *spare;
    size_t queued, spares;
    int64_t next_seqno, acked_seqno;
    uint64_t written;
    bool new_block; /* the NameNode was not told of it by fsync */
    bool flushed;   /* somebody may have seen bytes of this block */

    struct pipeline p;
    bool has_previous;
    Hdfs__ExtendedBlock previous;
    struct nodes excluded; /* DataNodes not to be given again */
    int rebuilds;          /* since the last ack */

    struct fiber *streamer; /* NULL when it has ended */
    struct cond work;       /* for the streamer: packets, acks, faults, stop */
    struct cond progress;   /* for the caller: room, acks, the end */
    bool stop;
    int result; /* of the streamer; an error is final */
    struct err err;
};

/* ---- writer.c ---- */

void writer_drop_first(struct hdfs_writer *w); /* it was acked */
void writer_free(struct hdfs_writer *w);       /* the memory only */

/* ---- create.c ---- */

/* Takes the file back: deletes it, or closes it at its present length if it is to be kept. Does so
 * in a cancelled fiber too. What goes wrong is logged. */
void writer_delete(struct hdfs_writer *w);

/* ---- streamer.c ---- */

int streamer_start(struct hdfs_writer *w, struct err *err);
/* Ends it, finished or not, and waits. */
void streamer_stop(struct hdfs_writer *w);
/* Starts the fiber that reads acks; ends it and waits. For the streamer. */
int streamer_start_acker(struct hdfs_writer *w, struct err *err);
void streamer_stop_acker(struct hdfs_writer *w);
/* Notes what broke, unless something is noted already. */
void pipeline_break(struct hdfs_writer *w, enum fault fault, size_t bad, const struct err *cause);
/* Forgets the block: it is complete, or was given back. */
void pipeline_leave(struct hdfs_writer *w);

/* ---- rebuild.c, on the streamer's fiber ---- */

/* A new block with a pipeline. */
int pipeline_setup(struct hdfs_writer *w, struct err *err);
/* After pipeline_break(): the same block with the DataNodes that are left, or none (then the next
 * step sets up a new one). */
int pipeline_rebuild(struct hdfs_writer *w, struct err *err);

/* ---- extend.c ---- */

/* Adds a DataNode to the pipeline and has a copy made there, where the policy wants one. */
int pipeline_extend(struct hdfs_writer *w, struct err *err);
