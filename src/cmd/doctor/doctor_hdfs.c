/* doctor_hdfs.c - a small file in the home directory: made, read, and deleted; and its DataNodes.
 */
#include "cmd/doctor/doctor_nn.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "loop/sock.h"

#include <string.h>
#include <sys/random.h>

#define BYTES ((size_t)4096)
#define DIAL_MS 5000

/* What the steps share. */
struct trial {
    struct doctor *d;
    struct fs *fs;
    char *path; /* of the file; NULL before it has a name */
    uint8_t data[BYTES];
};

/* ---- steps ---- */

static int step_open(struct trial *t, struct err *err)
{
    struct doctor *d = t->d;
    AUTO_FREE char *home = NULL;
    uint32_t noise = 0;
    int r = fs_set_new(d->x->loop, d->x->session, &d->set, err);

    if (r == 0)
        r = fs_find(d->set, ".", FS_ON_CLUSTER, &t->fs, &home, err);
    if (r < 0)
        return r;
    if (getrandom(t->data, BYTES, 0) != (ssize_t)BYTES ||
        getrandom(&noise, sizeof(noise), 0) != sizeof(noise))
        return err_sys(err, "random bytes");
    t->path = str_printf("%s/.ydl-doctor-%08x.tmp", home, (unsigned)noise);
    return t->path ? 0 : err_oom(err);
}

static int step_home(struct trial *t, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_exists(t->fs, fs_home(t->fs), &e, err);

    if (r > 0)
        return 0;
    if (r == 0) {
        r = err_set(err, -ENOENT, "the home directory '%s' does not exist", fs_home(t->fs));
        err_hint(err, "ask the administrator to make it for you: hdfs dfs -mkdir, -chown");
    }
    return r;
}

static int step_write(struct trial *t, struct err *err)
{
    struct fs_create options = { .mode = 0600 };
    int64_t before = loop_wall(), after;
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_put(t->fs, t->path, &options, t->data, BYTES, err);

    after = loop_wall();
    if (r == 0)
        r = fs_stat(t->fs, t->path, &e, err);
    if (r < 0)
        return r;
    /* Its time is the NameNode's clock between the two moments. */
    t->d->nn_clock_known = true;
    t->d->nn_clock = e.mtime < before ? e.mtime - before : e.mtime > after ? e.mtime - after : 0;
    return 0;
}

static int step_read(struct trial *t, struct err *err)
{
    AUTO_FS_READER *r = NULL;
    uint8_t back[BYTES];
    ssize_t n;
    int x = fs_open(t->fs, t->path, &r, err);

    if (x < 0)
        return x;
    n = fs_pread(r, 0, back, BYTES, err);
    if (n < 0)
        return (int)n;
    if ((size_t)n != BYTES || memcmp(back, t->data, BYTES) != 0)
        return err_set(err, -EIO, "'%s' came back different from what was written", t->path);
    return 0;
}

static int dial_datanode(struct trial *t, const Hdfs__DatanodeId *id, bool by_name, struct err *err)
{
    struct loop *l = t->d->x->loop;
    AUTO_SOCK *s = NULL;

    return sock_connect(l, by_name ? id->host_name : id->ip_addr, (int)id->xfer_port,
                        loop_in(l, DIAL_MS), &s, err);
}

static int find_block(struct trial *t, Hdfs__GetBlockLocationsResponse **ret, struct err *err)
{
    Hdfs__GetBlockLocationsRequest request = HDFS__GET_BLOCK_LOCATIONS_REQUEST__INIT;
    AUTO_RPC_SERVICE *nn = NULL;
    int r = nn_default_service(t->d, &nn, err);

    request.src = t->path;
    request.length = BYTES;
    return r < 0 ? r : nn_call(nn, NN_GET_BLOCK_LOCATIONS, &request, ret, err);
}

/* Writing reached the first of them only; a reader may have to go to any. */
static int step_dial(struct trial *t, struct err *err)
{
    AUTO_RPC Hdfs__GetBlockLocationsResponse *answer = NULL;
    const struct conf *conf = session_conf(t->d->x->session);
    const Hdfs__LocatedBlock *b;
    bool by_name = false;
    int r = find_block(t, &answer, err);

    if (r < 0)
        return r;
    if (!answer->locations || answer->locations->n_blocks == 0)
        return err_set(err, -EPROTO, "the NameNode knows no block of '%s'", t->path);
    (void)conf_bool(conf, "dfs.client.use.datanode.hostname", &by_name, NULL);
    b = answer->locations->blocks[0];
    for (size_t i = 0; i < b->n_locations; i++) {
        r = dial_datanode(t, b->locations[i]->id, by_name, err);
        if (r < 0)
            return err_wrap(err, r, "DataNode %zu of %zu", i + 1, b->n_locations);
    }
    doctor_say(t->d, LEVEL_OK, NULL, "all %zu DataNodes of a block can be reached", b->n_locations);
    return 0;
}

static int step_delete(struct trial *t, struct err *err)
{
    int r = fs_delete(t->fs, t->path, false, err);

    if (r == 0)
        free(take(t->path)); /* nothing left to clean up */
    return r;
}

/* clang-format off */
static const struct {
    const char *what;
    int (*run)(struct trial *t, struct err *err);
    const char *advice;
} steps[] = {
    { "open",             step_open,   NULL },
    { "home directory",   step_home,   NULL },
    { "write a file",     step_write,  "check permissions and quotas, and that the DataNodes can be reached from here" },
    { "read it back",     step_read,   "can the DataNodes' data port be reached from here?" },
    { "reach DataNodes",  step_dial,   "a firewall, or a name that means something else here? see dfs.client.use.datanode.hostname" },
    { "delete the file",  step_delete, NULL },
};
/* clang-format on */

void check_hdfs(struct doctor *d)
{
    struct trial t = { .d = d };
    struct err err = ERR_INIT;
    size_t i = 0;
    int r = 0;

    for (; r == 0 && i < COUNT_OF(steps); i++)
        r = steps[i].run(&t, &err);
    if (r < 0) {
        const char *advice = steps[i - 1].advice;

        err_wrap(&err, r, "%s", steps[i - 1].what);
        doctor_error(d, LEVEL_FAILED, r, &err, advice);
    } else {
        doctor_say(d, LEVEL_OK, NULL, "a file in %s was written, read back and deleted",
                   fs_home(t.fs));
    }
    if (t.path) {
        fiber_shield(d->x->loop, true);
        (void)fs_delete(t.fs, t.path, false, NULL);
        fiber_shield(d->x->loop, false);
    }
    free(t.path);
}
