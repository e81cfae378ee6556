/* create.c - creates a file to write, and deletes it again when writing fails. A create call
 * outlives a cancelled caller for a moment, because the file may exist by then and must not be
 * left behind. See hdfs.h. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/writer.h"

#include <stdio.h>
#include <string.h>

#define PACKET_BYTES ((size_t)252 * 512) /* twice Java's: a sixth less work for the DataNodes */
#define WINDOW_BYTES (8 * MIB)
#define LAST_WORD_MS 5000 /* for the NameNode's answer after we were told to stop */

/* The file's format: the caller's wish, the configuration, the server's default. */
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
        return err_set(err, -EINVAL,
                       "a block size of %llu is not a multiple of %zu, the bytes per checksum",
                       (unsigned long long)w->block_size, w->chunk);
    w->packet_bytes = PACKET_BYTES / w->chunk * w->chunk;
    w->window = WINDOW_BYTES / w->packet_bytes;
    return 0;
}

/* ---- the call ---- */

/* The NameNode's create_file() on a fiber of its own, which outlives a cancelled caller for a
 * moment: the file may exist by now, and whoever has the answer knows that it is ours to delete. */
struct create_call {
    struct hdfs *fs;
    const Hdfs__CreateRequest *request;
    Hdfs__CreateResponse *answer;
    struct err err;
    int result;
    bool done;
    struct cond ended;
};

static void run_call(void *arg)
{
    struct create_call *c = arg;

    c->result = nn_call(c->fs->nn, NN_CREATE, c->request, &c->answer, &c->err);
    c->done = true;
    cond_wake_all(&c->ended);
}

/* The caller is cancelled: a last chance for the answer, then the end of the call. */
static void end_call(struct create_call *c, struct fiber *call)
{
    struct loop *l = c->fs->loop;
    int64_t until = loop_in(l, LAST_WORD_MS);
    int r = 0;

    fiber_shield(l, true);
    while (!c->done && r == 0)
        r = cond_wait(l, &c->ended, until);
    if (!c->done)
        fiber_cancel(call);
    while (!c->done)
        (void)cond_wait(l, &c->ended, LOOP_NEVER);
    fiber_shield(l, false);
}

/* Two kinds of failure: `r`, ours (cancelled), and c.result, the NameNode's. The request lies on
 * our caller's stack, so the fiber that sends it must have ended before we return, whatever
 * happens. */
static int call_create(struct hdfs_writer *w, const Hdfs__CreateRequest *request, struct err *err)
{
    struct create_call c = { .fs = w->fs, .request = request };
    struct fiber *call;
    int r = fiber_start(w->fs->loop, run_call, &c, &call, err);

    if (r < 0)
        return r;
    while (r == 0 && !c.done)
        r = cond_wait(w->fs->loop, &c.ended, LOOP_NEVER);
    if (r == -ECANCELED && !c.done)
        end_call(&c, call);
    if (c.result == 0 && c.answer)
        w->file_id = c.answer->status ? c.answer->status->file_id : 0;
    if (r < 0 && c.result == 0 && c.answer)
        writer_delete(w);
    rpc_free(c.answer);
    if (r < 0)
        return err_set(err, r, "stopped");
    if (c.result < 0 && err)
        *err = c.err;
    return c.result;
}

/* The NameNode would make them too, but with the permissions of the directory above, which may be
 * open to all. */
static int create_make_parent(struct hdfs_writer *w, struct err *err)
{
    size_t n = (size_t)(strrchr(w->path, '/') - w->path);
    AUTO_FREE char *dir = strndup(w->path, n ? n : 1);

    return dir ? hdfs_mkdirs(w->fs, dir, FS_MODE_DEFAULT, true, err) : err_oom(err);
}

static int create_file(struct hdfs_writer *w, const struct fs_create *options, struct err *err)
{
    Hdfs__CreateRequest request = HDFS__CREATE_REQUEST__INIT;
    Hdfs__Permission masked = HDFS__PERMISSION__INIT, unmasked = HDFS__PERMISSION__INIT;
    int r;

    masked.perm = hdfs_mode(w->fs, options->mode, 0666);
    /* Clients since 3.0 send both: where the directory above has a default ACL, the NameNode takes
     * the unmasked mode and lets the ACL decide instead of our umask. */
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
    r = call_create(w, &request, err);
    /* Parents are made only when they are missing: mostly they exist, and a call is saved. */
    if (r == -ENOENT && options->parents) {
        r = create_make_parent(w, err);
        if (r == 0)
            r = call_create(w, &request, err);
    }
    return r < 0 ? explain("create", w->path, r, err) : 0;
}

/* ---- taking it back ---- */

/* The file by its number: another one may have its name by now. /.reserved/.inodes/N is the
 * NameNode's own name for a file. */
static int path_by_id(const struct hdfs_writer *w, char *out, size_t cap)
{
    if (w->file_id == 0)
        return snprintf(out, cap, "%s", w->path);
    return snprintf(out, cap, "/.reserved/.inodes/%llu", (unsigned long long)w->file_id);
}

static int create_take_back(struct hdfs_writer *w, const char *path, struct err *err)
{
    Hdfs__DeleteRequest request = HDFS__DELETE_REQUEST__INIT;
    Hdfs__RecoverLeaseRequest recover = HDFS__RECOVER_LEASE_REQUEST__INIT;
    AUTO_RPC Hdfs__DeleteResponse *answer = NULL;
    AUTO_RPC Hdfs__RecoverLeaseResponse *recovered = NULL;

    request.src = recover.src = path;
    recover.client_name = w->fs->client_name;
    if (w->keep) /* the NameNode closes it at what the DataNodes have */
        return nn_call(w->fs->nn, NN_RECOVER_LEASE, &recover, &recovered, err);
    return nn_call(w->fs->nn, NN_DELETE, &request, &answer, err);
}

struct taking_back {
    struct hdfs_writer *w;
    const char *path;
};

static int run_take_back(void *arg, struct err *err)
{
    struct taking_back *t = arg;

    return create_take_back(t->w, t->path, err);
}

/* Abandoning a file does not wait for a NameNode that is away: it closes the file itself when the
 * lease expires. */
void writer_delete(struct hdfs_writer *w)
{
    AUTO_FREE char *path = malloc(strlen(w->path) + 64);
    struct taking_back t = { .w = w, .path = path };
    struct loop *l = w->fs->loop;
    int64_t until = loop_in(l, LAST_WORD_MS);
    struct err err = ERR_INIT;
    struct group g;
    int r = -ENOMEM, waited = 0;

    fiber_shield(l, true);
    group_init(&g, l, 0);
    if (path && path_by_id(w, path, strlen(w->path) + 64) > 0)
        r = group_go(&g, run_take_back, &t, &err);
    while (waited == 0 && g.running > 0)
        waited = cond_wait(l, &g.changed, until);
    group_cancel(&g);
    if (group_wait(&g, &err) < 0)
        r = err.code;
    fiber_shield(l, false);
    if (r < 0 && r != -ENOENT)
        log_warn(LOG_HDFS, "clean up after '%s': %s, ignoring", w->path, err.text);
}

/* ---- opening ---- */

static int open_writer(struct hdfs_writer *w, const struct fs_create *options, struct err *err)
{
    int r = create_file(w, options, err);

    if (r < 0)
        return r;
    r = streamer_start(w, err);
    if (r < 0)
        writer_delete(w);
    return r;
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
    /* Held before the file exists: an open file is never without somebody who renews its lease. */
    r = w->path ? choose_format(w, options, err) : err_oom(err);
    if (r == 0)
        r = hdfs_lease_hold(fs, err);
    if (r == 0) {
        r = open_writer(w, options, err);
        if (r < 0)
            hdfs_lease_drop(fs);
    }
    if (r < 0) {
        writer_free(w);
        return r;
    }
    *ret = w;
    return 0;
}
