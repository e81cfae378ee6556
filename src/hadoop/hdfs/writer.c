/* writer.c - a file being written, from the caller's side: it fills packets, waits while the
 * window is full, and on flush or close until the DataNodes have acknowledged all of them. See
 * hdfs.h, and writer.h for the fibers that send. */
#include "hadoop/hdfs/writer.h"
#include "base/log.h"
#include "base/str.h"

#include <string.h>

/* Packets of 126 KiB are kept for the next use: a large file would otherwise allocate and free one
 * for every 126 KiB. */
#define SPARES_MAX 16
/* The first `complete` is normally answered with false, because the DataNodes report the block just
 * then; two milliseconds later it is true. Java's fixed pause of 400 ms would dominate the time of
 * a small file. */
#define COMPLETE_FIRST_MS 2
#define COMPLETE_MOST_MS 400
#define COMPLETE_WAIT_MS 60000

/* ---- packets ---- */

static struct out_packet *packet_new(const struct hdfs_writer *w)
{
    size_t sums = crc_size(w->crc, w->chunk, w->packet_bytes);
    struct out_packet *o = malloc(sizeof(*o) + sums + w->packet_bytes);

    if (!o)
        return NULL;
    o->sums = (uint8_t *)(o + 1);
    o->data = o->sums + sums;
    return o;
}

static void packets_free(struct out_packet *o)
{
    while (o) {
        struct out_packet *next = o->next;

        free(o);
        o = next;
    }
}

/* Progress: whatever broke the pipeline before was not the data, so rebuilds are counted from zero
 * again. */
void writer_drop_first(struct hdfs_writer *w)
{
    struct out_packet *o = w->first;

    w->acked_seqno = o->head.seqno;
    w->rebuilds = 0;
    w->first = o->next;
    if (!w->first)
        w->last = NULL;
    w->queued--;
    if (w->spares < SPARES_MAX) {
        o->next = w->spare;
        w->spare = o;
        w->spares++;
    } else {
        free(o);
    }
    cond_wake_all(&w->progress);
    cond_wake_all(&w->work);
}

static int writer_failed(const struct hdfs_writer *w, struct err *err)
{
    if (err)
        *err = w->err;
    return err_wrap(err, w->result < 0 ? w->result : -EIO, "write '%s'", w->path);
}

/* Waits until `w` may have one more packet. No deadline: the streamer has its own for every step,
 * and when it gives up it ends, which wakes us. */
static int writer_wait_for_room(struct hdfs_writer *w, struct err *err)
{
    while (w->queued >= w->window) {
        if (!w->streamer)
            return writer_failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return w->streamer ? 0 : writer_failed(w, err);
}

/* Makes the packet that is filled next, at `offset` of the block. A packet belongs to one list at a
 * time, and whoever unlinks it owns it:
 *
 *     spare ──► current ──enqueue()──► first … last ──acked──► spare, or freed
 *               the caller fills it    the streamer sends it and may send it again */
static int new_current(struct hdfs_writer *w, uint64_t offset, struct err *err)
{
    struct out_packet *o = w->spare;

    if (o) {
        w->spare = o->next;
        w->spares--;
    } else {
        o = packet_new(w);
    }
    if (!o)
        return err_oom(err);
    o->next = NULL;
    o->repeated = 0;
    o->head = (struct packet){ .offset = offset };
    w->current = o;
    return 0;
}

/* Checksums are computed here, once: a packet that is sent again after a failure goes with the same
 * ones. */
static void enqueue(struct hdfs_writer *w, struct out_packet *o)
{
    o->head.seqno = w->next_seqno++;
    o->head.sums_len = crc_size(w->crc, w->chunk, o->head.data_len);
    crc_chunks(w->crc, w->chunk, o->data, o->head.data_len, o->sums);
    if (w->last)
        w->last->next = o;
    else
        w->first = o;
    w->last = o;
    if (!w->unsent)
        w->unsent = o;
    w->queued++;
    cond_wake_all(&w->work);
}

static uint64_t current_end(const struct hdfs_writer *w)
{
    return w->current ? w->current->head.offset + w->current->head.data_len : 0;
}

/* The empty packet that ends a block of `length` bytes. */
static int writer_end_block(struct hdfs_writer *w, uint64_t length, struct err *err)
{
    int r = new_current(w, length, err);

    if (r < 0)
        return r;
    w->current->head.last = true;
    enqueue(w, take(w->current));
    w->new_block = false;
    return 0;
}

/* Sends the current packet off, and starts the next where it ended: in a new block when this one
 * is full. */
static int writer_seal(struct hdfs_writer *w, struct err *err)
{
    uint64_t end = current_end(w);

    enqueue(w, take(w->current));
    if (end < w->block_size)
        return new_current(w, end, err);
    /* The block is full. Its last packet is an empty one, which DataNodes answer only after they
     * have closed the replica. */
    return writer_end_block(w, end, err);
}

/* ---- writing ---- */

static size_t current_room(const struct hdfs_writer *w)
{
    const struct packet *head = &w->current->head;
    uint64_t in_block = w->block_size - current_end(w);
    size_t in_packet = w->packet_bytes - head->data_len;

    return in_block < in_packet ? (size_t)in_block : in_packet;
}

/* The caller writes directly into the next packet: data is copied once, from its source to here,
 * and goes to the socket from this memory. */
int hdfs_write_room(struct hdfs_writer *w, void **ret, size_t *ret_n, struct err *err)
{
    int r = writer_wait_for_room(w, err);

    if (r == 0 && !w->current) {
        r = new_current(w, 0, err);
        w->new_block = true;
    }
    if (r < 0)
        return r;
    *ret = w->current->data + w->current->head.data_len;
    *ret_n = current_room(w);
    return 0;
}

/* The packet goes off as soon as it or the block is full, never later: hdfs_write_room() may then
 * always give out at least one byte. */
int hdfs_write_commit(struct hdfs_writer *w, size_t n, struct err *err)
{
    w->current->head.data_len += n;
    w->written += n;
    return current_room(w) == 0 ? writer_seal(w, err) : 0;
}

/* Waits until every packet up to `seqno` is with all DataNodes. */
static int wait_acked(struct hdfs_writer *w, int64_t seqno, struct err *err)
{
    while (w->acked_seqno < seqno) {
        if (!w->streamer)
            return writer_failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return 0;
}

/* Sends what there is of the current packet. A chunk is summed as a whole: one that is not full is
 * begun again in the next packet. The next packet therefore begins before the end of this one, at
 * the chunk's start, and repeats its bytes; a DataNode overwrites them and the chunk's checksum. */
static int send_part(struct hdfs_writer *w, struct err *err)
{
    struct out_packet *sent = w->current;
    uint64_t end = current_end(w);
    size_t rest = (size_t)(end % w->chunk);
    int r;

    r = new_current(w, end - rest, err);
    if (r < 0) {
        w->current = sent;
        return r;
    }
    memcpy(w->current->data, sent->data + sent->head.data_len - rest, rest);
    w->current->head.data_len = w->current->repeated = rest;
    enqueue(w, sent);
    return 0;
}

/* The NameNode learns of the block, so that it outlives both of us. */
static int persist(struct hdfs_writer *w, struct err *err)
{
    Hdfs__FsyncRequest request = HDFS__FSYNC_REQUEST__INIT;
    AUTO_RPC Hdfs__FsyncResponse *answer = NULL;
    int r;

    request.src = w->path;
    request.client_name = w->fs->client_name;
    request.has_last_block_length = true;
    request.last_block_length = (int64_t)w->p.acked;
    request.has_file_id = true;
    request.file_id = w->file_id;
    r = hdfs_call(w->fs, NN_FSYNC, w->path, &request, &answer, err);
    if (r < 0)
        return r;
    w->new_block = false;
    return 0;
}

/* After hflush every DataNode of the pipeline has the bytes, and readers see them. The NameNode is
 * asked only once per block: before that it would not list the block if we and the DataNodes
 * died. */
int hdfs_hflush(struct hdfs_writer *w, struct err *err)
{
    int r = 0;

    if (w->current && w->current->head.data_len > w->current->repeated)
        r = send_part(w, err);
    if (r == 0)
        r = wait_acked(w, w->next_seqno - 1, err);
    if (r < 0)
        return r;
    w->flushed = w->current && current_end(w) > 0;
    return w->flushed && w->new_block ? persist(w, err) : 0;
}

/* ---- the end ---- */

void writer_free(struct hdfs_writer *w)
{
    packets_free(w->first);
    packets_free(w->spare);
    packets_free(w->current);
    nodes_done(&w->excluded);
    free(w->path);
    free(w->pool);
    free(w);
}

/* All packets acked and the last block closed. Order: the partial packet, then the empty one that
 * closes the block, then all acks, then the end of the block itself. A packet with nothing but the
 * repeated part of a chunk (after a flush) has nothing new and is dropped. */
static int drain(struct hdfs_writer *w, struct err *err)
{
    struct out_packet *o = w->current;
    uint64_t end = current_end(w);
    int r = 0;

    if (o && o->head.data_len > o->repeated) {
        enqueue(w, take(w->current));
        o = NULL;
    }
    if (end > 0) {
        packets_free(take(w->current));
        r = writer_end_block(w, end, err);
    }
    if (r == 0)
        r = wait_acked(w, w->next_seqno - 1, err);
    while (r == 0 && w->p.open) {
        if (!w->streamer)
            return writer_failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return r;
}

/* The NameNode says no until the DataNodes have told it of the last block, mostly a few
 * milliseconds later. */
static int writer_complete(struct hdfs_writer *w, struct err *err)
{
    Hdfs__CompleteRequest request = HDFS__COMPLETE_REQUEST__INIT;
    int64_t pause = COMPLETE_FIRST_MS, until = loop_in(w->fs->loop, COMPLETE_WAIT_MS);

    request.src = w->path;
    request.client_name = w->fs->client_name;
    request.last = w->has_previous ? &w->previous : NULL;
    request.has_file_id = true;
    request.file_id = w->file_id;
    for (;;) {
        AUTO_RPC Hdfs__CompleteResponse *answer = NULL;
        int r = hdfs_call(w->fs, NN_COMPLETE, w->path, &request, &answer, err);

        if (r < 0)
            return r;
        if (answer->complete)
            return 0;
        if (loop_now(w->fs->loop) > until)
            return err_set(err, -EIO, "close '%s': no DataNode reported its last block", w->path);
        if (fiber_sleep(w->fs->loop, pause) < 0)
            return err_set(err, -ECANCELED, "close '%s': stopped", w->path);
        pause = pause * 2 < COMPLETE_MOST_MS ? pause * 2 : COMPLETE_MOST_MS;
    }
}

/* A file whose close failed is not left behind half written: abort deletes it, or with `keep` has
 * the NameNode close it. */
int hdfs_writer_close(struct hdfs_writer *w, struct err *err)
{
    int r;

    if (!w)
        return 0;
    r = drain(w, err);
    if (r == 0)
        r = writer_complete(w, err);
    if (r < 0) {
        hdfs_writer_abort(w);
        return r;
    }
    streamer_stop(w);
    hdfs_lease_drop(w->fs);
    writer_free(w);
    return 0;
}

struct hdfs_writer *hdfs_writer_abort(struct hdfs_writer *w)
{
    if (!w)
        return NULL;
    streamer_stop(w);
    writer_delete(w);
    hdfs_lease_drop(w->fs);
    writer_free(w);
    return NULL;
}
