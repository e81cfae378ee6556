/* reader.c - a file, read block by block from whichever replica works. See hdfs.h.
 *
 * A DataNode that fails is not asked again until all of a block's have failed; then the NameNode is
 * asked where the block is now, after a pause, a few times over. The position never moves back. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/blockread.h"

#include <string.h>

#define WINDOW ((uint64_t)2 << 30) /* bytes of the file whose blocks are asked for at a time */
#define TURN_BYTES (4 * MIB)       /* others get a turn after so many, also when data never stops */
#define LENGTH_TRIES 4
#define LENGTH_PAUSE_MS 500

struct hdfs_reader {
    struct hdfs *fs;
    char *path;
    Hdfs__GetBlockLocationsResponse *where; /* blocks of some part of the file */
    uint64_t length;
    struct strs dead; /* uuids of DataNodes that failed */
    struct cursor {
        uint64_t pos, limit;     /* in the file */
        struct block_read *read; /* the block being read, or NULL */
        char *node;              /* uuid of its DataNode */
        uint64_t block_id;       /* which one that is, so that a file put in its place is noticed */
        int rounds;              /* how often all replicas have failed since the last byte */
        bool new_token;          /* the block token was renewed since the last byte */
        struct err cause;        /* of the last failure */
    } main;
    size_t since_turn;
};

/* ---- where the blocks are ---- */

static int hdfs_refuse(const struct hdfs_reader *r, const char *what, struct err *err)
{
    err_set(err, -EOPNOTSUPP, "read '%s': it is %s, which is not supported", r->path, what);
    err_hint(err, "copy it to a plain directory with the cluster's own tools first");
    return -EOPNOTSUPP;
}

/* The length of the block that is still being written, from the first DataNode that knows. None
 * having it means that nothing was written yet. While a file is written the NameNode knows the
 * length of complete blocks only; how much of the last is readable only the DataNodes know. */
static int open_length(struct hdfs_reader *r, Hdfs__LocatedBlock *last, struct err *err)
{
    size_t without = 0;
    int code = 0;

    for (size_t i = 0; i < last->n_locations; i++) {
        uint64_t n;

        code = datanode_visible_length(r->fs, last->locations[i]->id, last, &n, err);
        if (code == 0) {
            last->block->num_bytes = n;
            last->block->has_num_bytes = true;
            return 0;
        }
        if (code == -ECANCELED || code == -ENOMEM)
            return code;
        without += code == -ENOENT;
    }
    if (without < last->n_locations || (last->n_locations == 0 && last->block->num_bytes > 0))
        return code < 0 ? code : err_set(err, -EAGAIN, "no DataNode has reported it yet");
    last->block->num_bytes = 0;
    return 0;
}

static int ask_where(struct hdfs_reader *r, uint64_t from, Hdfs__GetBlockLocationsResponse **ret,
                     struct err *err)
{
    Hdfs__GetBlockLocationsRequest request = HDFS__GET_BLOCK_LOCATIONS_REQUEST__INIT;
    int code;

    request.src = r->path;
    request.offset = from;
    request.length = WINDOW;
    code = hdfs_call(r->fs, NN_GET_BLOCK_LOCATIONS, r->path, &request, ret, err);
    if (code < 0)
        return code;
    if (!(*ret)->locations)
        return err_set(err, -ENOENT, "read '%s': no such file or directory", r->path);
    /* Refused rather than read wrongly: striped blocks, or bytes encrypted with a key that only a
     * KMS has, would be returned as garbage. */
    if ((*ret)->locations->ec_policy)
        return hdfs_refuse(r, "erasure coded", err);
    if ((*ret)->locations->encryption)
        return hdfs_refuse(r, "in an encryption zone", err);
    return 0;
}

/* Asks the NameNode for the blocks from `from` on, and a DataNode for the length of the last. A few
 * attempts, because just after a block was begun no DataNode may have it yet. */
static int reader_fetch(struct hdfs_reader *r, uint64_t from, struct err *err)
{
    int code = 0;

    for (int i = 0; i < LENGTH_TRIES; i++) {
        AUTO_RPC Hdfs__GetBlockLocationsResponse *where = NULL;
        struct err why = ERR_INIT;

        code = ask_where(r, from, &where, err);
        if (code < 0)
            return code;
        if (!where->locations->last_block_is_complete && where->locations->last_block)
            code = open_length(r, where->locations->last_block, &why);
        if (code == 0) {
            r->length = where->locations->file_length;
            if (!where->locations->last_block_is_complete && where->locations->last_block)
                r->length += where->locations->last_block->block->num_bytes;
            rpc_free(r->where);
            r->where = take(where);
            return 0;
        }
        err_set(err, code, "read '%s': its current length is not known: %s", r->path, why.text);
        if (code == -ECANCELED || fiber_sleep(r->fs->loop, LENGTH_PAUSE_MS) < 0)
            return -ECANCELED;
    }
    return code;
}

/* The last block, when it is still being written, is not in the list: the answer has it apart. */
static const Hdfs__LocatedBlock *hdfs_find_block(const struct hdfs_reader *r, uint64_t pos)
{
    const Hdfs__LocatedBlocks *all = r->where->locations;

    if (pos >= all->file_length)
        return all->last_block_is_complete ? NULL : all->last_block;
    for (size_t i = 0; i < all->n_blocks; i++) {
        const Hdfs__LocatedBlock *b = all->blocks[i];

        if (pos >= b->offset && pos - b->offset < b->block->num_bytes)
            return b;
    }
    return NULL;
}

static int locate(struct hdfs_reader *r, uint64_t pos, const Hdfs__LocatedBlock **ret,
                  struct err *err)
{
    *ret = hdfs_find_block(r, pos);
    if (!*ret) {
        int code = reader_fetch(r, pos, err);

        if (code < 0)
            return code;
        *ret = hdfs_find_block(r, pos);
    }
    if (*ret)
        return 0;
    return err_set(err, -ESTALE, "read '%s': it became shorter while it was read", r->path);
}

/* ---- choosing a replica ---- */

/* One on this machine, else the first in the NameNode's order, which is by distance. */
static const Hdfs__DatanodeInfo *hdfs_choose(const struct hdfs_reader *r,
                                             const Hdfs__LocatedBlock *b)
{
    const Hdfs__DatanodeInfo *best = NULL;

    for (size_t i = 0; i < b->n_locations; i++) {
        const Hdfs__DatanodeInfo *node = b->locations[i];

        if (strs_has(&r->dead, node->id->datanode_uuid))
            continue;
        if (datanode_is_local(node->id->ip_addr))
            return node;
        if (!best)
            best = node;
    }
    return best;
}

/* All replicas failed: wait, ask again where they are, or give up. The pause grows with the rounds:
 * a DataNode that restarts needs seconds, a replica that has to be copied longer. The dead list is
 * emptied, because a DataNode that failed a round ago may be back. */
static int next_round(struct hdfs_reader *r, struct cursor *c, const Hdfs__LocatedBlock *b,
                      struct err *err)
{
    int64_t pause = r->fs->settings.window_ms * c->rounds;
    int code;

    if (c->rounds++ >= r->fs->settings.read_rounds) {
        if (b->n_locations == 0)
            err_set(err, -EIO, "read '%s' at byte %llu: no DataNode that is up has that block",
                    r->path, (unsigned long long)c->pos);
        else
            err_set(err, -EIO, "read '%s' at byte %llu: every replica failed, the last: %s",
                    r->path, (unsigned long long)c->pos, c->cause.text);
        err_hint(err, "see which DataNodes are down, or run 'hdfs fsck' on the file");
        return -EIO;
    }
    trace(LOG_HDFS, "read '%s' at %llu: round %d after: %s", r->path, (unsigned long long)c->pos,
          c->rounds, c->cause.text);
    code = fiber_sleep(r->fs->loop, pause > 0 ? pause : r->fs->settings.window_ms / 10);
    if (code < 0)
        return err_set(err, code, "read '%s': stopped", r->path);
    strs_done(&r->dead);
    return reader_fetch(r, c->pos, err);
}

static int mark_dead(struct hdfs_reader *r, const char *uuid, struct err *err)
{
    return uuid && strs_add(&r->dead, uuid) < 0 ? err_oom(err) : 0;
}

static const Hdfs__LocatedBlock *find_id(const struct hdfs_reader *r, uint64_t block_id)
{
    const Hdfs__LocatedBlocks *all = r->where->locations;

    for (size_t i = 0; i < all->n_blocks; i++)
        if (all->blocks[i]->block->block_id == block_id)
            return all->blocks[i];
    return NULL;
}

/* Tells the NameNode of a replica whose checksums do not fit, so that it makes a good one. The
 * message must name the replica by node, storage and storage id alike, hence the three lists of
 * one. A failure is not told: the DataNode's own scanner will find the damage. */
static void report_damage(struct hdfs_reader *r, uint64_t block_id, const char *uuid)
{
    Hdfs__ReportBadBlocksRequest request = HDFS__REPORT_BAD_BLOCKS_REQUEST__INIT;
    AUTO_RPC Hdfs__ReportBadBlocksResponse *answer = NULL;
    const Hdfs__LocatedBlock *b = find_id(r, block_id);
    Hdfs__LocatedBlock bad = HDFS__LOCATED_BLOCK__INIT, *list[] = { &bad };

    for (size_t i = 0; b && i < b->n_locations; i++) {
        if (!str_eq(b->locations[i]->id->datanode_uuid, uuid))
            continue;
        bad = *b;
        bad.locations = &b->locations[i];
        bad.storage_types = i < b->n_storage_types ? &b->storage_types[i] : NULL;
        bad.storage_ids = i < b->n_storage_ids ? &b->storage_ids[i] : NULL;
        bad.n_locations = 1;
        bad.n_storage_types = i < b->n_storage_types;
        bad.n_storage_ids = i < b->n_storage_ids;
        bad.n_cached = 0;
        request.blocks = list;
        request.n_blocks = 1;
        (void)nn_call(r->fs->nn, NN_REPORT_BAD_BLOCKS, &request, &answer, NULL);
        return;
    }
}

/* After a failure at `node`: a token that expired is renewed once, else the node is out.
 * reader_fetch() replaces the list of blocks, so no pointer into the old one may be used after
 * this. */
static int hdfs_blame(struct hdfs_reader *r, struct cursor *c, const char *uuid, int code,
                      struct err *err)
{
    trace(LOG_HDFS, "read '%s' at %llu: %s", r->path, (unsigned long long)c->pos, c->cause.text);
    if (code == -ECANCELED || code == -ENOMEM) {
        if (err)
            *err = c->cause;
        return code;
    }
    if ((code == -EKEYREJECTED || code == -EACCES) && !c->new_token) {
        c->new_token = true;
        return reader_fetch(r, c->pos, err);
    }
    if (code == -EBADMSG)
        report_damage(r, c->block_id, uuid);
    return mark_dead(r, uuid, err);
}

static int try_node(struct hdfs_reader *r, struct cursor *c, const Hdfs__LocatedBlock *b,
                    const Hdfs__DatanodeInfo *node, struct err *err)
{
    uint64_t end = b->offset + b->block->num_bytes;
    struct block_range range = { .block = b, .node = node, .offset = c->pos - b->offset };
    AUTO_FREE char *uuid = strdup(node->id->datanode_uuid);
    AUTO_FREE char *name = str_printf("%s:%u", node->id->ip_addr, node->id->xfer_port);
    int code;

    if (!uuid || !name)
        return err_oom(err);
    range.length = (end < c->limit ? end : c->limit) - c->pos;
    code = block_read_open(r->fs, &range, &c->read, &c->cause);
    if (code < 0)
        return hdfs_blame(r, c, uuid, code, err);
    trace(LOG_HDFS, "read '%s' at %llu: from %s", r->path, (unsigned long long)c->pos, name);
    free(c->node);
    c->node = take(uuid);
    return 0;
}

/* The position always belongs to the same block as long as bytes of it are missing. Another id at
 * the same place means that the file was deleted and written again: going on would mix the two. */
static int open_block(struct hdfs_reader *r, struct cursor *c, struct err *err)
{
    while (!c->read) {
        const Hdfs__LocatedBlock *b;
        const Hdfs__DatanodeInfo *node;
        int code = locate(r, c->pos, &b, err);

        if (code < 0)
            return code;
        if (c->block_id != 0 && c->block_id != b->block->block_id)
            return err_set(err, -ESTALE, "read '%s': it was replaced while it was read", r->path);
        c->block_id = b->block->block_id;
        node = hdfs_choose(r, b);
        code = node ? try_node(r, c, b, node, err) : next_round(r, c, b, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- reading ---- */

static void leave_block(struct cursor *c)
{
    c->read = block_read_close(c->read);
}

/* Cancellation and other fibers get their chance although the data never makes us wait. */
static int hdfs_take_turns(struct hdfs_reader *r, size_t n, struct err *err)
{
    r->since_turn += n;
    if (r->since_turn < TURN_BYTES)
        return 0;
    r->since_turn = 0;
    if (fiber_yield(r->fs->loop) < 0)
        return err_set(err, -ECANCELED, "read '%s': stopped", r->path);
    return 0;
}

/* Rounds, and the one renewal of a token, are counted since the last byte: a long file may survive
 * any number of failures, as long as it gets on between them. */
static ssize_t next_bytes(struct hdfs_reader *r, struct cursor *c, const uint8_t **ret, size_t max,
                          struct err *err)
{
    while (c->pos < c->limit) {
        ssize_t n;
        int code = open_block(r, c, err);

        if (code < 0)
            return code;
        n = block_read_next(c->read, ret, max, &c->cause);
        if (n > 0) {
            c->pos += (uint64_t)n;
            c->rounds = 0;
            c->new_token = false;
            return n;
        }
        leave_block(c);
        if (n == 0)
            c->block_id = 0;
        code = n < 0 ? hdfs_blame(r, c, c->node, (int)n, err) : 0;
        if (code < 0)
            return code;
    }
    return 0;
}

ssize_t hdfs_read_next(struct hdfs_reader *r, const void **ret, size_t max, struct err *err)
{
    const uint8_t *bytes;
    ssize_t n;
    int code = hdfs_take_turns(r, 0, err);

    if (code < 0)
        return code;
    r->main.limit = r->length;
    n = next_bytes(r, &r->main, &bytes, max ? max : SIZE_MAX, err);
    if (n > 0) {
        *ret = bytes;
        r->since_turn += (size_t)n;
    }
    return n;
}

/* With a cursor of its own: the position and connection of sequential reading are left alone. */
ssize_t hdfs_pread(struct hdfs_reader *r, uint64_t offset, void *p, size_t n, struct err *err)
{
    struct cursor c = { .pos = offset, .limit = r->length };
    size_t done = 0;
    ssize_t got = 1;

    if (offset < c.limit && c.limit - offset > n)
        c.limit = offset + n;
    while (done < n && got > 0) {
        const uint8_t *bytes;

        got = next_bytes(r, &c, &bytes, n - done, err);
        if (got > 0) {
            memcpy((uint8_t *)p + done, bytes, (size_t)got);
            done += (size_t)got;
        }
    }
    leave_block(&c);
    free(c.node);
    return got < 0 ? got : (ssize_t)done;
}

void hdfs_seek(struct hdfs_reader *r, uint64_t offset)
{
    if (offset == r->main.pos)
        return;
    leave_block(&r->main);
    r->main.block_id = 0;
    r->main.pos = offset;
}

uint64_t hdfs_length(const struct hdfs_reader *r)
{
    return r->length;
}

bool hdfs_growing(const struct hdfs_reader *r)
{
    return r->where->locations->under_construction;
}

int hdfs_reader_open(struct hdfs *fs, const char *path, struct hdfs_reader **ret, struct err *err)
{
    AUTO(hdfs_reader) struct hdfs_reader *r = calloc(1, sizeof(*r));
    int code;

    if (!r)
        return err_oom(err);
    r->fs = fs;
    r->path = strdup(path);
    if (!r->path)
        return err_oom(err);
    code = reader_fetch(r, 0, err);
    if (code < 0)
        return code;
    *ret = take(r);
    return 0;
}

struct hdfs_reader *hdfs_reader_close(struct hdfs_reader *r)
{
    if (!r)
        return NULL;
    leave_block(&r->main);
    rpc_free(r->where);
    strs_done(&r->dead);
    free(r->main.node);
    free(r->path);
    free(r);
    return NULL;
}
