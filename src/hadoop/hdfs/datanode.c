/* datanode.c - connections to DataNodes: they are made and authenticated here, and kept for the
 * next block, for a little less time than a DataNode keeps an idle one. See private.h. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/dn_handshake.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/hdfs/private.h"
#include "loop/resolve.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX (1 * MIB)
#define KEEP_MS 3000 /* a DataNode closes an idle connection after 4 s */
#define LENGTH_MS 10000

static const char *datanode_address_of(const struct hdfs *fs, const Hdfs__DatanodeId *id)
{
    return fs->settings.use_hostname ? id->host_name : id->ip_addr;
}

/* ---- signing in ---- */

/* The key for encrypted transfers, asked for once and again when a DataNode has forgotten it. */
static int transfer_key(struct hdfs *fs, bool again, const Hdfs__DataEncryptionKey **ret,
                        struct err *err)
{
    Hdfs__GetDataEncryptionKeyRequest request = HDFS__GET_DATA_ENCRYPTION_KEY_REQUEST__INIT;
    Hdfs__GetDataEncryptionKeyResponse *answer = NULL;
    int r;

    if (again || !fs->transfer) {
        r = nn_call(fs->nn, NN_GET_DATA_ENCRYPTION_KEY, &request, &answer, err);
        if (r < 0)
            return err_wrap(err, r, "get the key for encrypted transfers");
        rpc_free(fs->transfer);
        fs->transfer = answer;
    }
    if (!fs->transfer->key)
        return err_set(err, -EPROTO, "the NameNode wants transfers encrypted but has no key");
    *ret = fs->transfer->key;
    return 0;
}

static int guard_of(struct hdfs *fs, const Hdfs__DatanodeId *id, const Hadoop__Token *token,
                    enum guard *ret, struct err *err)
{
    const Hdfs__FsServerDefaults *defaults;
    struct guard_facts facts = {
        .secure = fs->settings.secure,
        .configured = fs->settings.qops != 0,
        .port = id->xfer_port,
        /* A cluster with Kerberos has block tokens; one that we fell back to has none. */
        .fallback = token->identifier.len == 0,
    };
    int r = hdfs_defaults(fs, &defaults, err);

    if (r < 0)
        return r;
    facts.encrypt = defaults->encrypt_data_transfer;
    *ret = guard_choose(&facts);
    return 0;
}

static int sign_in(struct hdfs *fs, struct dn_stream *s, enum guard guard,
                   const Hadoop__Token *token, bool again, struct err *err)
{
    struct handshake h = { .guard = guard, .qops = fs->settings.qops, .token = token };
    int r = 0;

    if (guard == GUARD_KEY)
        r = transfer_key(fs, again, &h.key, err);
    return r < 0 ? r : handshake(s, &h, err);
}

/* A second attempt only for an expired encryption key: DataNodes roll their keys and forget old
 * ones, and a new key from the NameNode cures that. */
int datanode_connect(struct hdfs *fs, const Hdfs__DatanodeId *id, const Hadoop__Token *token,
                     const struct dn_stream_limits *limits, struct dn_stream **ret, struct err *err)
{
    enum guard guard;
    int r = guard_of(fs, id, token, &guard, err);

    for (int attempt = 0; r == 0; attempt++) {
        AUTO_DN_STREAM *s = NULL;

        r = dn_stream_connect(fs->loop, datanode_address_of(fs, id), (int)id->xfer_port, limits, &s,
                              err);
        if (r == 0 && guard != GUARD_NONE)
            r = sign_in(fs, s, guard, token, attempt > 0, err);
        if (r == 0) {
            *ret = take(s);
            return 0;
        }
        if (r != -EKEYEXPIRED || attempt > 0)
            return r;
        err_clear(err);
        r = 0;
    }
    return r;
}

/* ---- connections that a read left in order ---- */

static bool is_idle(const struct idle_stream *i, const Hdfs__DatanodeId *id)
{
    return i->stream && i->port == id->xfer_port && str_eq(i->uuid, id->datanode_uuid);
}

/* A DataNode may close an idle connection at the moment in which we take it: dn_stream_quiet() sees
 * only what has arrived. Callers try a new one when the first request fails. */
struct dn_stream *datanode_reuse(struct hdfs *fs, const Hdfs__DatanodeId *id)
{
    for (size_t i = 0; i < IDLE_STREAMS; i++) {
        struct idle_stream *place = &fs->idle[i];
        struct dn_stream *s = place->stream;

        if (!is_idle(place, id))
            continue;
        place->stream = NULL;
        if (loop_now(fs->loop) - place->since < KEEP_MS && dn_stream_quiet(s))
            return s;
        dn_stream_close(s);
    }
    return NULL;
}

void datanode_keep(struct hdfs *fs, const Hdfs__DatanodeId *id, struct dn_stream *s)
{
    struct idle_stream *place = &fs->idle[0];

    for (size_t i = 0; i < IDLE_STREAMS && place->stream; i++)
        if (!fs->idle[i].stream || fs->idle[i].since < place->since)
            place = &fs->idle[i]; /* a free one, or else the oldest */
    dn_stream_close(place->stream);
    place->stream = s;
    place->port = id->xfer_port;
    place->since = loop_now(fs->loop);
    snprintf(place->uuid, sizeof(place->uuid), "%s", id->datanode_uuid);
}

void datanode_drop_idle(struct hdfs *fs)
{
    for (size_t i = 0; i < IDLE_STREAMS; i++)
        fs->idle[i].stream = dn_stream_close(fs->idle[i].stream);
}

/* ---- asking ---- */

int datanode_ask(struct dn_stream *s, const struct buf *op, Hdfs__BlockOpResponse **ret,
                 struct err *err)
{
    AUTO_ANSWER *answer = NULL;
    char spare[24], text[240] = "";
    struct view v;
    int r = dn_stream_send(s, op->data, op->len, err);

    if (r == 0)
        r = dn_stream_message(s, ANSWER_MAX, &v, err);
    if (r == 0)
        r = op_answer(v.p, v.n, &answer, err);
    if (r != 0)
        return r;
    if (answer->status != HDFS__TRANSFER_STATUS__TRANSFER_SUCCESS) {
        if (answer->message)
            str_clean(text, sizeof(text), answer->message);
        r = answer->status == HDFS__TRANSFER_STATUS__TRANSFER_ERROR_ACCESS_TOKEN ? -EKEYREJECTED
                                                                                 : -EREMOTEIO;
        err_set(err, r, "%s answers %s%s%s", dn_stream_name(s),
                op_status_name(answer->status, spare), text[0] ? ": " : "", text);
    }
    if (ret)
        *ret = take(answer);
    return r;
}

/* ---- the DataNode's own calls ---- */

/* This is asked over the DataNode's RPC port, not over the port for data, and with the block's
 * token in place of a user's. The exception for a replica that it does not have is in no table
 * (exception.c), so it is known by its name, with which the text begins. */
int datanode_visible_length(struct hdfs *fs, const Hdfs__DatanodeId *id,
                            const Hdfs__LocatedBlock *block, uint64_t *ret, struct err *err)
{
    Hdfs__GetReplicaVisibleLengthRequest request = HDFS__GET_REPLICA_VISIBLE_LENGTH_REQUEST__INIT;
    AUTO_RPC Hdfs__GetReplicaVisibleLengthResponse *answer = NULL;
    const Hadoop__Token *t = block->block_token;
    const struct rpc_address address = { .host = datanode_address_of(fs, id),
                                         .port = (int)id->ipc_port };
    const struct token token = {
        .id = t->identifier.data,
        .id_len = t->identifier.len,
        .password = t->password.data,
        .password_len = t->password.len,
        .kind = (char *)t->kind,
        .service = (char *)t->service,
    };
    struct rpc_service_conf conf = {
        .protocol = &dn_protocol,
        .addresses = &address,
        .count = 1,
        .identity = session_identity(fs->session),
        .token = token.id_len > 0 ? &token : NULL,
        .call_ms = LENGTH_MS,
    };
    AUTO_RPC_SERVICE *dn = NULL;
    int r = rpc_service_new(fs->loop, &conf, &dn, err);

    request.block = block->block;
    if (r == 0)
        r = rpc_call(dn, &dn_get_replica_visible_length, &request, &answer, 0, err);
    if (r != 0)
        return err && strstr(err->text, "ReplicaNotFoundException") ? -ENOENT : r;
    *ret = answer->length;
    return 0;
}

bool datanode_is_local(const char *ip)
{
    union resolve_addr a = { 0 };
    AUTO_CLOSE int fd = -1;

    if (inet_pton(AF_INET, ip, &a.in4.sin_addr) == 1)
        a.in4.sin_family = AF_INET;
    else if (inet_pton(AF_INET6, ip, &a.in6.sin6_addr) == 1)
        a.in6.sin6_family = AF_INET6;
    else
        return false;
    /* Only an address of this machine can be bound. */
    fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, &a.sa, resolve_len(&a)) == 0;
}
