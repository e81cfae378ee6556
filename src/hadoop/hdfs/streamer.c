/* streamer.c - sends packets, reads acks, keeps the pipeline alive. See writer.h.
 *
 *     client ──packet 7──► DataNode 1 ──packet 7──► DataNode 2 ──packet 7──► DataNode 3
 *            ◄──ack 7: ok, ok, ok──┘◄──ack 7: ok, ok──┘◄──ack 7: ok───────────┘
 *
 * Each DataNode puts its status in front of those behind it, so one ack says how far a packet got:
 * the last status that is not a success names the DataNode to drop. Many packets are on their way
 * at once; those that no ack has named yet are kept and sent again through the new pipeline. An
 * empty packet is a heartbeat while the caller has nothing to write. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/writer.h"

#include <stdio.h>

/* An ack that names the culprit may still be in our receive buffer when a write fails with EPIPE.
 * Without it the first DataNode is blamed, which may be healthy. */
#define ACK_WAIT_MS 1000 /* for the acker to say which DataNode it was, after a failed send */

/* The sender and the acker can both notice the same failure. The first report wins: it is the one
 * closest to the cause, and what follows (a reset, an EOF) only echoes it. Repairing is left to the
 * streamer fiber, because it needs calls to the NameNode and must not run inside the acker, which
 * it stops. */
void pipeline_break(struct hdfs_writer *w, enum fault fault, size_t bad, const struct err *cause)
{
    struct pipeline *p = &w->p;

    if (p->broken)
        return;
    p->broken = true;
    p->fault = fault;
    p->bad = bad < p->nodes.n ? bad : 0;
    p->cause = *cause;
    trace(LOG_HDFS, "write '%s': DataNode %zu of %zu: %s", w->path, p->bad + 1, p->nodes.n,
          cause->text);
    cond_wake_all(&w->work);
}

/* The block token is borrowed from `holder`, the NameNode's last answer: both go together. */
void pipeline_leave(struct hdfs_writer *w)
{
    struct pipeline *p = &w->p;

    dn_stream_close(p->stream);
    nodes_done(&p->nodes);
    rpc_free(p->holder);
    *p = (struct pipeline){ 0 };
}

/* ---- acks ---- */

/* What the DataNodes say about one packet. Returns false when there is nothing more to read. */
static bool take_ack(struct hdfs_writer *w, const struct packet_ack *ack)
{
    struct pipeline *p = &w->p;
    struct err cause = ERR_INIT;
    int bad = packet_ack_bad(ack);
    struct out_packet *first = w->first;

    if (bad >= 0) {
        bool restart = ack->status[bad] == PACKET_RESTARTING;

        err_set(&cause, -EREMOTEIO, restart ? "it restarts" : "it reports an error (status %d)",
                ack->status[bad]);
        pipeline_break(w, restart ? FAULT_RESTART : FAULT_NODE, (size_t)bad, &cause);
        return false;
    }
    /* An ack of a heartbeat says only that the pipeline is alive; no packet leaves the queue for
     * it. */
    if (ack->seqno == PACKET_HEARTBEAT)
        return true;
    /* DataNodes acknowledge strictly in order, so the only packet that an ack can mean is the
     * oldest one that was sent. */
    if (!first || first == w->unsent || first->head.seqno != ack->seqno) {
        err_set(&cause, -EPROTO, "it acknowledged a packet that was not sent");
        pipeline_break(w, FAULT_FIRST, 0, &cause);
        return false;
    }
    p->acked = first->head.offset + first->head.data_len;
    p->closed = first->head.last;
    writer_drop_first(w);
    return !p->closed;
}

/* An ack has no fixed length: it begins with a varint and carries one status for each DataNode. So
 * one more byte than there is gets asked for, until the parser has a whole one. */
static int read_ack(struct hdfs_writer *w, struct packet_ack *ack, struct err *err)
{
    size_t have = 1;
    int n = 0;

    while (n == 0) {
        const uint8_t *bytes;
        int r = dn_stream_need(w->p.stream, have, err);

        if (r < 0)
            return r;
        bytes = dn_stream_bytes(w->p.stream, &have);
        n = packet_ack_get(bytes, have, ack);
        have++;
    }
    if (n < 0)
        return err_set(err, n, "it sent an invalid ack");
    dn_stream_eat(w->p.stream, (size_t)n);
    return 0;
}

/* A cancelled read is our own doing (streamer_stop_acker) and blames nobody. Any other failure is
 * the first DataNode's: the only one that we have a connection to. */
static void run_acker(void *arg)
{
    struct hdfs_writer *w = arg;
    struct packet_ack ack;
    struct err cause = ERR_INIT;
    int r;

    do
        r = read_ack(w, &ack, &cause);
    while (r == 0 && take_ack(w, &ack));
    if (r < 0 && r != -ECANCELED)
        pipeline_break(w, FAULT_FIRST, 0, &cause);
    w->p.acker = NULL;
    cond_wake_all(&w->work);
}

int streamer_start_acker(struct hdfs_writer *w, struct err *err)
{
    w->p.closed = false;
    return fiber_start(w->fs->loop, run_acker, w, &w->p.acker, err);
}

/* The acker reads from the stream that the caller is about to close, so its end is waited for, and
 * shielded: a cancelled streamer that left now would leave the acker with freed memory. */
void streamer_stop_acker(struct hdfs_writer *w)
{
    if (!w->p.acker)
        return;
    fiber_cancel(w->p.acker);
    fiber_shield(w->fs->loop, true);
    while (w->p.acker)
        (void)cond_wait(w->fs->loop, &w->work, LOOP_NEVER);
    fiber_shield(w->fs->loop, false);
}

/* ---- sending ---- */

static int send_packet(struct hdfs_writer *w, const struct packet *head, struct out_packet *body,
                       struct err *err)
{
    uint8_t bytes[PACKET_HEAD_MAX];
    size_t n = packet_put(head, bytes);
    struct iovec iov[] = {
        { .iov_base = bytes, .iov_len = n },
        { .iov_base = body ? body->sums : NULL, .iov_len = head->sums_len },
        { .iov_base = body ? body->data : NULL, .iov_len = head->data_len },
    };

    return dn_stream_write(w->p.stream, iov, 3, err);
}

/* The write failed: the first DataNode is gone, or it said why on the other channel. */
static void send_failed(struct hdfs_writer *w, const struct err *cause)
{
    int64_t deadline = loop_in(w->fs->loop, ACK_WAIT_MS);
    int r = 0;

    while (w->p.acker && !w->p.broken && r == 0)
        r = cond_wait(w->fs->loop, &w->work, deadline);
    pipeline_break(w, FAULT_FIRST, 0, cause);
}

static int streamer_send_next(struct hdfs_writer *w)
{
    struct out_packet *o = w->unsent;
    struct err cause = ERR_INIT;
    uint64_t end = o->head.offset + o->head.data_len;
    int r;

    if (o->head.last)
        w->p.stage = STAGE_CLOSE;
    /* The most that any DataNode can have. A recovery tells it to the DataNodes as the largest
     * length that a replica may have (max_bytes), beside what was acknowledged (min_bytes). It
     * counts before the write, because a failed write may have delivered the packet. */
    if (end > w->p.sent)
        w->p.sent = end;
    r = send_packet(w, &o->head, o, &cause);
    if (r == -ECANCELED)
        return r;
    if (r < 0)
        send_failed(w, &cause);
    else
        w->unsent = o->next;
    return 0;
}

/* Keeps the DataNodes from thinking that we are gone. */
static int send_heartbeat(struct hdfs_writer *w)
{
    const struct packet head = { .seqno = PACKET_HEARTBEAT };
    struct err cause = ERR_INIT;
    int r = send_packet(w, &head, NULL, &cause);

    if (r < 0 && r != -ECANCELED)
        send_failed(w, &cause);
    return r == -ECANCELED ? r : 0;
}

/* ---- the fiber ---- */

/* The finished block goes to the NameNode with the next addBlock or with complete ("previous"),
 * which commits its length there. */
static void streamer_end_block(struct hdfs_writer *w)
{
    streamer_stop_acker(w);
    w->previous = w->p.block;
    w->previous.has_num_bytes = true;
    w->previous.num_bytes = w->p.acked;
    w->has_previous = true;
    w->flushed = false;
    pipeline_leave(w);
    cond_wake_all(&w->progress);
}

/* Whether there is a packet that may go out now. The last one of a block goes only after all others
 * are acked (a DataNode that has closed its replica takes no data again), and behind it nothing
 * until the next block has its pipeline. */
static bool can_send(const struct hdfs_writer *w)
{
    const struct out_packet *o = w->unsent;

    return o && w->p.stage != STAGE_CLOSE && (!o->head.last || w->first == o);
}

/* A DataNode gives a silent upstream up after its read timeout, so a beat every half of ours keeps
 * an idle pipeline. Without a pipeline nobody has to hear of us. */
static int streamer_wait_for_work(struct hdfs_writer *w)
{
    int64_t beat = w->p.open ? loop_in(w->fs->loop, w->fs->settings.read_ms / 2) : LOOP_NEVER;
    int r = cond_wait(w->fs->loop, &w->work, beat);

    return r == -ETIMEDOUT ? send_heartbeat(w) : r;
}

/* The order matters: a block that is closed is done even if its DataNodes reset the connection
 * right after the last ack, and a broken pipeline is repaired before anything more is sent. A
 * pipeline is set up only when there is a packet for it, so an empty file never asks for a
 * block. */
static int streamer_step(struct hdfs_writer *w, struct err *err)
{
    if (w->p.open && w->p.closed) {
        streamer_end_block(w);
        return 0;
    }
    if (w->p.broken)
        return pipeline_rebuild(w, err);
    if (!can_send(w))
        return streamer_wait_for_work(w);
    if (!w->p.open)
        return pipeline_setup(w, err);
    return streamer_send_next(w);
}

static void run_streamer(void *arg)
{
    struct hdfs_writer *w = arg;
    int r = 0;

    while (!w->stop && r == 0)
        r = streamer_step(w, &w->err);
    if (r == -ECANCELED && w->err.code == 0)
        err_set(&w->err, r, "stopped");
    streamer_stop_acker(w);
    pipeline_leave(w);
    w->result = r;
    w->streamer = NULL;
    cond_wake_all(&w->progress);
}

int streamer_start(struct hdfs_writer *w, struct err *err)
{
    return fiber_start(w->fs->loop, run_streamer, w, &w->streamer, err);
}

void streamer_stop(struct hdfs_writer *w)
{
    w->stop = true;
    if (!w->streamer)
        return;
    fiber_cancel(w->streamer);
    fiber_shield(w->fs->loop, true);
    while (w->streamer)
        (void)cond_wait(w->fs->loop, &w->progress, LOOP_NEVER);
    fiber_shield(w->fs->loop, false);
}
