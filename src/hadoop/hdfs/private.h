/* private.h - what the files of this directory share about one open name service. */
#pragma once
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/hdfs/dn_stream.h"
#include "hadoop/hdfs/explain.h"
#include "hadoop/hdfs/hdfs.h"
#include "hadoop/hdfs/namenode.h"
#include "hadoop/hdfs/settings.h"
#include "loop/fiber.h"

#define IDLE_STREAMS 8 /* kept for the next read */

/* A connection that a read left in order. */
struct idle_stream {
    struct dn_stream *stream; /* NULL for a free place */
    char uuid[64];            /* of the DataNode */
    uint32_t port;
    int64_t since;
};

struct hdfs {
    struct loop *loop;
    struct session *session;
    struct rpc_service *nn;
    struct hosts hosts;
    char *authority;
    char client_name[48]; /* whom the NameNode knows as the holder of our leases */
    struct hdfs_settings settings;
    Hdfs__GetServerDefaultsResponse *defaults;    /* NULL until first needed */
    Hdfs__GetDataEncryptionKeyResponse *transfer; /* the key of encrypted transfers, likewise */
    struct idle_stream idle[IDLE_STREAMS];
    /* Leases: one fiber renews for all writers. */
    size_t writers;
    struct fiber *renewer; /* NULL when none runs */
    struct cond lease;     /* writers or renewer changed */
    bool closing;
};

/* What the NameNode says of itself, asked once. Borrowed. */
int hdfs_defaults(struct hdfs *fs, const Hdfs__FsServerDefaults **ret, struct err *err);

/* Permission bits for something new: `mode`, or all of `all` that the umask leaves. */
static inline uint32_t hdfs_mode(const struct hdfs *fs, uint32_t mode, uint32_t all)
{
    return mode == FS_MODE_DEFAULT ? all & ~fs->settings.umask : mode & 01777;
}

/* Only what a NameNode keeps as it is: UTF-8, no colon, no part of more than 255 bytes. -EINVAL. */
int hdfs_check_path(const char *path, struct err *err);
/* nn_call() about a path, which is checked first. Its failure is explained: "delete '/x': …". */
int hdfs_call(struct hdfs *fs, enum nn_method m, const char *path, const void *request, void *ret,
              struct err *err);

/* ---- leases (lease.c) ---- */

/* Called when a writer opens and when it is done; the lease is renewed between. */
int hdfs_lease_hold(struct hdfs *fs, struct err *err);
void hdfs_lease_drop(struct hdfs *fs);
void hdfs_lease_stop(struct hdfs *fs); /* waits for the fiber */

/* ---- DataNodes (datanode.c) ---- */

/* Connects and signs in. */
int datanode_connect(struct hdfs *fs, const Hdfs__DatanodeId *id, const Hadoop__Token *token,
                     const struct dn_stream_limits *limits, struct dn_stream **ret,
                     struct err *err);
/* One that a read left behind, or NULL. */
struct dn_stream *datanode_reuse(struct hdfs *fs, const Hdfs__DatanodeId *id);
/* Keeps it for the next read; the stream is not the caller's any more. */
void datanode_keep(struct hdfs *fs, const Hdfs__DatanodeId *id, struct dn_stream *s);
void datanode_drop_idle(struct hdfs *fs);
/* Sends an operation and reads the answer. *ret (may be NULL) is the caller's. A status that is not
 * success is an error: -EKEYREJECTED for the block token, else -EREMOTEIO; *ret is set even then.
 */
int datanode_ask(struct dn_stream *s, const struct buf *op, Hdfs__BlockOpResponse **ret,
                 struct err *err);
/* How much of a block under construction the DataNode has. -ENOENT when it has no such replica. */
int datanode_visible_length(struct hdfs *fs, const Hdfs__DatanodeId *id,
                            const Hdfs__LocatedBlock *block, uint64_t *ret, struct err *err);
/* Whether an address is one of this machine's. */
bool datanode_is_local(const char *ip);

#define AUTO_ANSWER AUTO_RPC Hdfs__BlockOpResponse
