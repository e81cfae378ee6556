/* dn_handshake.h - signing in to a DataNode: SASL before the first operation.
 *
 *     client  DE AD BE EF · {payload ""[, handshake secret]}
 *     server  {payload challenge}
 *     client  {payload response[, cipher option AES]}
 *     server  {payload rspauth[, cipher option with keys, wrapped]}
 *
 * Each {…} is a HandshakeMessage with a varint length. The user is the block token, or the
 * encryption key that the NameNode hands out where all data is encrypted. */
#pragma once
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/hdfs/dn_stream.h"

enum guard { GUARD_NONE, GUARD_TOKEN, GUARD_KEY };

/* What decides whether and how to sign in. */
struct guard_facts {
    bool encrypt;    /* the NameNode says that data is encrypted */
    bool secure;     /* the cluster has Kerberos */
    bool fallback;   /* …but this NameNode turned out to have none */
    bool configured; /* dfs.data.transfer.protection is set */
    uint32_t port;   /* the DataNode's; below 1024 only root could have opened it */
};

/* Pure. */
enum guard guard_choose(const struct guard_facts *facts);

struct handshake {
    enum guard guard;                   /* GUARD_TOKEN or GUARD_KEY */
    unsigned qops;                      /* protections we accept with GUARD_TOKEN */
    const Hadoop__Token *token;         /* the block's; with GUARD_KEY only for its secret */
    const Hdfs__DataEncryptionKey *key; /* with GUARD_KEY */
};

/* Does all of it; the stream is protected as agreed afterwards. -EKEYEXPIRED: the DataNode does not
 * know the encryption key (any more), get a new one. -EKEYREJECTED: it does not accept the block
 * token, get a new one. Fibers only. */
int handshake(struct dn_stream *s, const struct handshake *h, struct err *err);
