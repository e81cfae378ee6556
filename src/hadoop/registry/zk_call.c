/* zk_call.c - one request to ZooKeeper and its answer. The client cannot cancel a request, so a
 * call belongs to its fiber and to the client, and the last of the two frees it. See zk.h. */
#include "base/path.h"
#include "hadoop/registry/zk.h"
#include "hadoop/registry/zk_private.h"
#include "loop/fiber.h"

#include <string.h>

/* A call under way belongs to its fiber and to the client; who is done last frees it. */
struct call {
    bool done;   /* the client has answered */
    bool lost;   /* the fiber has gone */
    int rc;      /* ZooKeeper's */
    int failure; /* ours, with what was answered */
    struct cond ready;
    struct buf data;
    struct strs names;
};

/* What is asked, so that it can be asked again. */
struct question {
    int (*ask)(struct zk *z, const struct question *q, struct call *c);
    const char *verb, *path;
    const struct buf *data;
    bool ephemeral;
    bool again;        /* sent before, with an unknown outcome */
    struct buf *bytes; /* where answers go */
    struct strs *names;
};

static const struct {
    int rc, code;
} codes[] = {
    { ZNONODE, -ENOENT },
    { ZNODEEXISTS, -EEXIST },
    { ZNOTEMPTY, -ENOTEMPTY },
    { ZNOAUTH, -EACCES },
    { ZAUTHFAILED, -EACCES },
    { ZINVALIDACL, -EACCES },
    { ZNOCHILDRENFOREPHEMERALS, -ENOTDIR },
    { ZBADARGUMENTS, -EINVAL },
    { ZSYSTEMERROR, -EIO },
};

/* The connection or the session went away: another one will do. A lost connection leaves open
 * whether the request was carried out. Reading is simply repeated; create, set and delete are
 * repeated too, and their callers know what a second one may meet. */
static const int passing[] = { ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZSESSIONEXPIRED,
                               ZSESSIONMOVED,   ZINVALIDSTATE,     ZCLOSING };

static bool is_passing(int rc)
{
    for (size_t i = 0; i < COUNT_OF(passing); i++)
        if (passing[i] == rc)
            return true;
    return false;
}

static int zk_call_refused(const struct question *q, int rc, struct err *err)
{
    int code = -EIO;

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i].rc == rc)
            code = codes[i].code;
    return err_set(err, code, "ZooKeeper, %s '%s': %s", q->verb, q->path, zerror(rc));
}

static void call_free(struct call *c)
{
    buf_done(&c->data);
    strs_done(&c->names);
    free(c);
}

static void answered(struct call *c, int rc)
{
    if (c->lost) {
        call_free(c);
        return;
    }
    c->rc = rc;
    c->done = true;
    cond_wake_all(&c->ready);
}

/* ---- answers, in the fiber that drives the client ---- */

static void on_void(int rc, const void *data)
{
    answered((struct call *)data, rc);
}

static void on_string(int rc, const char *value, const void *data)
{
    (void)value;
    answered((struct call *)data, rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    answered((struct call *)data, rc);
}

static void on_data(int rc, const char *value, int n, const struct Stat *stat, const void *data)
{
    struct call *c = (struct call *)data;

    (void)stat;
    if (rc == ZOK && n > 0 && !c->lost)
        c->failure = buf_add(&c->data, value, (size_t)n);
    answered(c, rc);
}

static void on_strings(int rc, const struct String_vector *strings, const void *data)
{
    struct call *c = (struct call *)data;

    for (int i = 0; rc == ZOK && strings && !c->lost && c->failure == 0 && i < strings->count; i++)
        c->failure = path_is_name(strings->data[i], strlen(strings->data[i]))
                         ? strs_add(&c->names, strings->data[i])
                         : -EBADMSG;
    answered(c, rc);
}

/* ---- questions ---- */

static int ask_create(struct zk *z, const struct question *q, struct call *c)
{
    return zoo_acreate(z->handle, q->path, (const char *)q->data->data, (int)q->data->len,
                       &ZOO_OPEN_ACL_UNSAFE, q->ephemeral ? ZOO_EPHEMERAL : 0, on_string, c);
}

static int ask_set(struct zk *z, const struct question *q, struct call *c)
{
    return zoo_aset(z->handle, q->path, (const char *)q->data->data, (int)q->data->len, -1, on_stat,
                    c);
}

static int ask_get(struct zk *z, const struct question *q, struct call *c)
{
    return zoo_aget(z->handle, q->path, 0, on_data, c);
}

static int ask_delete(struct zk *z, const struct question *q, struct call *c)
{
    return zoo_adelete(z->handle, q->path, -1, on_void, c);
}

static int ask_children(struct zk *z, const struct question *q, struct call *c)
{
    return zoo_aget_children(z->handle, q->path, 0, on_strings, c);
}

/* Waits for the answer. A call that is given up stays with the client, which frees it. */
static int wait_answer(struct zk *z, struct call *c, int64_t deadline)
{
    int r = 0;

    while (r == 0 && !c->done)
        r = cond_wait(z->loop, &c->ready, deadline);
    if (c->done)
        return 0;
    c->lost = true;
    return r;
}

static int zk_call_take_answer(struct question *q, struct call *c, struct err *err)
{
    int r = c->failure;

    if (r == 0 && q->bytes)
        r = buf_add(q->bytes, c->data.data, c->data.len);
    if (q->names) {
        strs_done(q->names);
        *q->names = c->names;
        c->names = (struct strs){ 0 };
    }
    if (r == -E2BIG)
        return err_set(err, r, "ZooKeeper, %s '%s': it is too large", q->verb, q->path);
    return r < 0 ? err_oom(err) : 0;
}

/* Asks once. 1 when it is to be asked again. Three owners of `call`: nobody else when ask() refused
 * it at once; the client, when we stop waiting (lost); otherwise us, since the client has called
 * back. */
static int ask_once(struct zk *z, struct question *q, int64_t deadline, struct err *err)
{
    struct call *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return err_oom(err);
    buf_init(&c->data, q->bytes ? q->bytes->max : 0);
    c->rc = q->ask(z, q, c);
    if (c->rc == ZOK) {
        zk_wake(z);
        r = wait_answer(z, c, deadline);
        if (r < 0)
            return err_code(err, r, "ZooKeeper, %s '%s'", q->verb, q->path);
    }
    if (c->rc == ZOK)
        r = zk_call_take_answer(q, c, err);
    else
        r = is_passing(c->rc) ? 1 : zk_call_refused(q, c->rc, err);
    call_free(c);
    return r;
}

/* Repeated until it is answered, over as many connections and sessions as it takes: the deadline
 * ends it. `again` remembers that a lost try may have been carried out. */
static int zk_call_ask(struct zk *z, struct question *q, int64_t deadline, struct err *err)
{
    int r;

    do {
        r = zk_wait_connected(z, deadline, err);
        if (r == 0)
            r = ask_once(z, q, deadline, err);
        q->again |= r == 1;
        /* The client may say so at once, before its fiber has seen that the connection is gone. */
        if (r == 1 && fiber_sleep(z->loop, 20) < 0)
            r = err_set(err, -ECANCELED, "ZooKeeper, %s '%s': cancelled", q->verb, q->path);
    } while (r == 1);
    return r;
}

/* A lost try that had worked makes the second one fail with EEXIST; callers treat that as they
 * would a node that was there before. */
int zk_create(struct zk *z, const char *path, const struct buf *data, bool ephemeral,
              int64_t deadline, struct err *err)
{
    struct question q = {
        .ask = ask_create, .verb = "create", .path = path, .data = data, .ephemeral = ephemeral
    };

    return zk_call_ask(z, &q, deadline, err);
}

int zk_set(struct zk *z, const char *path, const struct buf *data, int64_t deadline,
           struct err *err)
{
    struct question q = { .ask = ask_set, .verb = "set", .path = path, .data = data };

    return zk_call_ask(z, &q, deadline, err);
}

int zk_get(struct zk *z, const char *path, struct buf *ret, int64_t deadline, struct err *err)
{
    struct question q = { .ask = ask_get, .verb = "get", .path = path, .bytes = ret };

    return zk_call_ask(z, &q, deadline, err);
}

int zk_delete(struct zk *z, const char *path, int64_t deadline, struct err *err)
{
    struct question q = { .ask = ask_delete, .verb = "delete", .path = path };
    int r = zk_call_ask(z, &q, deadline, err);

    if (r == -ENOENT && q.again) { /* the try that was lost had worked */
        err_clear(err);
        return 0;
    }
    return r;
}

int zk_children(struct zk *z, const char *path, struct strs *ret, int64_t deadline, struct err *err)
{
    struct question q = { .ask = ask_children, .verb = "list", .path = path, .names = ret };

    return zk_call_ask(z, &q, deadline, err);
}
