/* writer.c - a file being written, from the caller's side. See hdfs.h and writer.h. */
#include "hadoop/hdfs/writer.h"
#include "base/log.h"
#include "base/str.h"

#include <string.h>

#define PACKET_BYTES (126 * 512) /* with its checksums just below 64 KiB, as DataNodes expect */
#define WINDOW_BYTES (8 * MIB)
#define SPARES_MAX 16
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

static int failed(const struct hdfs_writer *w, struct err *err)
{
    if (err)
        *err = w->err;
    return err_wrap(err, w->result < 0 ? w->result : -EIO, "write '%s'", w->path);
}

/* Waits until `w` may have one more packet. */
static int wait_for_room(struct hdfs_writer *w, struct err *err)
{
    while (w->queued >= w->window) {
        if (!w->streamer)
            return failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return w->streamer ? 0 : failed(w, err);
}

/* Makes the packet that is filled next, at `offset` of the block. */
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
static int end_block(struct hdfs_writer *w, uint64_t length, struct err *err)
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
static int seal(struct hdfs_writer *w, struct err *err)
{
    uint64_t end = current_end(w);

    enqueue(w, take(w->current));
    if (end < w->block_size)
        return new_current(w, end, err);
    return end_block(w, end, err);
}

/* ---- writing ---- */

static size_t current_room(const struct hdfs_writer *w)
{
    const struct packet *head = &w->current->head;
    uint64_t in_block = w->block_size - current_end(w);
    size_t in_packet = w->packet_bytes - head->data_len;

    return in_block < in_packet ? (size_t)in_block : in_packet;
}

int hdfs_write_room(struct hdfs_writer *w, void **ret, size_t *ret_n, struct err *err)
{
    int r = wait_for_room(w, err);

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

int hdfs_write_commit(struct hdfs_writer *w, size_t n, struct err *err)
{
    w->current->head.data_len += n;
    w->written += n;
    return current_room(w) == 0 ? seal(w, err) : 0;
}

/* Waits until every packet up to `seqno` is with all DataNodes. */
static int wait_acked(struct hdfs_writer *w, int64_t seqno, struct err *err)
{
    while (w->acked_seqno < seqno) {
        if (!w->streamer)
            return failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return 0;
}

/* Sends what there is of the current packet. A chunk is summed as a whole: one that is not full
 * is begun again in the next packet. */
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
    r = nn_call(w->fs->nn, NN_FSYNC, &request, &answer, err);
    if (r < 0)
        return hdfs_explain("flush", w->path, r, err);
    w->new_block = false;
    return 0;
}

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

/* ---- opening ---- */

/* The file's format: what the caller wants, what the configuration says, what the server does. */
static int choose_format(struct hdfs_writer *w, const struct fs_create *options, struct err *err)
{
    const struct hdfs_settings *set = &w->fs->settings;
    const Hdfs__FsServerDefaults *d;
    int r = hdfs_defaults(w->fs, &d, err);

    if (r < 0)
        return r;
    w->replication = options->replication ? options->replication
                     : set->replication   ? set->replication
                                          : d->replication;
    w->block_size = options->block_size ? options->block_size
                    : set->block_size   ? set->block_size
                                        : d->block_size;
    w->chunk = d->bytes_per_checksum;
    w->crc = (enum crc_type)d->checksum_type;
    if (w->chunk == 0 || w->chunk > PACKET_BYTES || w->crc > CRC_32C)
        return err_set(err, -EPROTO, "the NameNode wants checksums that do not exist");
    if (w->block_size % w->chunk != 0)
        return err_set(err, -EINVAL, "a block size of %llu is no multiple of %zu, the checksums'",
                       (unsigned long long)w->block_size, w->chunk);
    w->packet_bytes = PACKET_BYTES / w->chunk * w->chunk;
    w->window = WINDOW_BYTES / w->packet_bytes;
    return 0;
}

/* The NameNode would make them too, but with the permissions of the directory above, which may be
 * open to all. */
static int make_parent(struct hdfs_writer *w, struct err *err)
{
    size_t n = (size_t)(strrchr(w->path, '/') - w->path);
    AUTO_FREE char *dir = strndup(w->path, n ? n : 1);

    return dir ? hdfs_mkdirs(w->fs, dir, FS_MODE_DEFAULT, true, err) : err_oom(err);
}

static int create(struct hdfs_writer *w, const struct fs_create *options, struct err *err)
{
    Hdfs__CreateRequest request = HDFS__CREATE_REQUEST__INIT;
    Hdfs__Permission masked = HDFS__PERMISSION__INIT, unmasked = HDFS__PERMISSION__INIT;
    AUTO_RPC Hdfs__CreateResponse *answer = NULL;
    int r;

    masked.perm = hdfs_mode(w->fs, options->mode, 0666);
    unmasked.perm = options->mode == FS_MODE_DEFAULT ? 0666 : masked.perm;
    request.src = w->path;
    request.masked = &masked;
    request.unmasked = &unmasked;
    request.client_name = w->fs->client_name;
    request.flags = HDFS__CREATE_FLAG__CREATE_FILE | HDFS__CREATE_FLAG__CREATE_REPLICATE;
    if (options->overwrite)
        request.flags |= HDFS__CREATE_FLAG__CREATE_OVERWRITE;
    request.replication = w->replication;
    request.block_size = w->block_size;
    r = nn_call(w->fs->nn, NN_CREATE, &request, &answer, err);
    if (r == -ENOENT && options->parents) {
        r = make_parent(w, err);
        if (r == 0)
            r = nn_call(w->fs->nn, NN_CREATE, &request, &answer, err);
    }
    if (r < 0)
        return hdfs_explain("create", w->path, r, err);
    w->file_id = answer->status ? answer->status->file_id : 0;
    return 0;
}

static void writer_free(struct hdfs_writer *w)
{
    packets_free(w->first);
    packets_free(w->spare);
    packets_free(w->current);
    nodes_done(&w->excluded);
    free(w->path);
    free(w->pool);
    free(w);
}

/* Takes back what create() did; a cancelled fiber does it all the same. */
static void delete_file(struct hdfs_writer *w)
{
    Hdfs__DeleteRequest request = HDFS__DELETE_REQUEST__INIT;
    Hdfs__RecoverLeaseRequest recover = HDFS__RECOVER_LEASE_REQUEST__INIT;
    AUTO_RPC Hdfs__DeleteResponse *answer = NULL;
    AUTO_RPC Hdfs__RecoverLeaseResponse *recovered = NULL;
    struct err err = ERR_INIT;
    int r;

    fiber_shield(w->fs->loop, true);
    request.src = recover.src = w->path;
    recover.client_name = w->fs->client_name;
    if (w->keep) /* the NameNode closes it at what the DataNodes have */
        r = nn_call(w->fs->nn, NN_RECOVER_LEASE, &recover, &recovered, &err);
    else
        r = nn_call(w->fs->nn, NN_DELETE, &request, &answer, &err);
    fiber_shield(w->fs->loop, false);
    if (r < 0)
        log_warn(LOG_HDFS, "clean up after '%s': %s, ignoring", w->path, err.text);
}

int hdfs_create(struct hdfs *fs, const char *path, const struct fs_create *options,
                struct hdfs_writer **ret, struct err *err)
{
    struct hdfs_writer *w;
    int r = hdfs_check_path(path, err);

    if (r < 0)
        return r;
    w = calloc(1, sizeof(*w));
    if (!w)
        return err_oom(err);
    w->fs = fs;
    w->keep = options->keep;
    w->acked_seqno = -1;
    w->path = strdup(path);
    r = w->path ? choose_format(w, options, err) : err_oom(err);
    if (r == 0)
        r = hdfs_lease_hold(fs, err);
    if (r < 0) {
        writer_free(w);
        return r;
    }
    r = create(w, options, err);
    if (r == 0) {
        r = streamer_start(w, err);
        if (r < 0)
            delete_file(w);
    }
    if (r < 0) {
        hdfs_lease_drop(fs);
        writer_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

/* ---- the end ---- */

/* All packets acked and the last block closed. */
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
        r = end_block(w, end, err);
    }
    if (r == 0)
        r = wait_acked(w, w->next_seqno - 1, err);
    while (r == 0 && w->p.open) {
        if (!w->streamer)
            return failed(w, err);
        if (cond_wait(w->fs->loop, &w->progress, LOOP_NEVER) < 0)
            return err_set(err, -ECANCELED, "write '%s': stopped", w->path);
    }
    return r;
}

/* The NameNode says no until the DataNodes have told it of the last block, mostly a few
 * milliseconds later. */
static int complete(struct hdfs_writer *w, struct err *err)
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
        int r = nn_call(w->fs->nn, NN_COMPLETE, &request, &answer, err);

        if (r < 0)
            return hdfs_explain("close", w->path, r, err);
        if (answer->complete)
            return 0;
        if (loop_now(w->fs->loop) > until)
            return err_set(err, -EIO, "close '%s': no DataNode reported its last block", w->path);
        if (fiber_sleep(w->fs->loop, pause) < 0)
            return err_set(err, -ECANCELED, "close '%s': stopped", w->path);
        pause = pause * 2 < COMPLETE_MOST_MS ? pause * 2 : COMPLETE_MOST_MS;
    }
}

int hdfs_writer_close(struct hdfs_writer *w, struct err *err)
{
    int r;

    if (!w)
        return 0;
    r = drain(w, err);
    if (r == 0)
        r = complete(w, err);
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
    delete_file(w);
    hdfs_lease_drop(w->fs);
    writer_free(w);
    return NULL;
}
