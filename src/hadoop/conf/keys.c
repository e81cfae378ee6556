/* keys.c - see keys.h */
#include "hadoop/conf/keys.h"
#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */

/* Sorted by name, in the order of strcmp: a test checks it. */
static const struct key keys[] = {
    { "dfs.blocksize", "134217728", KEY_SIZE, "block size of the files we create" },
    { "dfs.bytes-per-checksum", "512", KEY_INT, "bytes under one checksum" },
    { "dfs.checksum.type", "CRC32C", KEY_TEXT, "checksum of the files we create" },
    { "dfs.client-write-packet-size", "65536", KEY_INT, "largest packet sent to a DataNode" },
    { "dfs.client.block.write.locateFollowingBlock.retries", "5", KEY_INT,
      "tries to get the next block" },
    { "dfs.client.block.write.replace-datanode-on-failure.best-effort", "false", KEY_BOOL,
      "go on with fewer DataNodes when none can be added" },
    { "dfs.client.block.write.replace-datanode-on-failure.enable", "true", KEY_BOOL,
      "add a DataNode to a pipeline that lost one" },
    { "dfs.client.block.write.replace-datanode-on-failure.policy", "DEFAULT", KEY_TEXT,
      "when to add it: NEVER, DEFAULT or ALWAYS" },
    { "dfs.client.block.write.retries", "3", KEY_INT, "new pipelines tried for one block" },
    { "dfs.client.datanode-restart.timeout", "30", KEY_SECONDS,
      "how long to wait for a DataNode that announced its restart" },
    { "dfs.client.failover.max.attempts", "15", KEY_INT, "changes of NameNode before giving up" },
    { "dfs.client.failover.sleep.base.millis", "500", KEY_MS, "first pause between NameNodes" },
    { "dfs.client.failover.sleep.max.millis", "15000", KEY_MS, "longest pause between NameNodes" },
    { "dfs.client.max.block.acquire.failures", "3", KEY_INT,
      "rounds through a block's DataNodes when reading" },
    { "dfs.client.retry.window.base", "3000", KEY_MS, "pause before such a round" },
    { "dfs.client.socket-timeout", "60000", KEY_MS, "silence of a DataNode that ends a read" },
    { "dfs.client.use.datanode.hostname", "false", KEY_BOOL,
      "dial DataNodes by name instead of by address" },
    { "dfs.data.transfer.protection", NULL, KEY_LIST,
      "protection of the data between us and DataNodes" },
    { "dfs.datanode.socket.write.timeout", "480000", KEY_MS,
      "a DataNode that takes nothing for so long is lost" },
    { "dfs.encrypt.data.transfer", "false", KEY_BOOL,
      "data between us and DataNodes is encrypted" },
    { "dfs.encrypt.data.transfer.cipher.suites", NULL, KEY_LIST,
      "ask DataNodes for AES: AES/CTR/NoPadding" },
    { "dfs.internal.nameservices", NULL, KEY_LIST, "name services that belong to this cluster" },
    { "dfs.namenode.kerberos.principal", NULL, KEY_TEXT, "whom a NameNode must prove to be" },
    { "dfs.namenode.kerberos.principal.pattern", "*", KEY_TEXT,
      "or: what its principal must look like" },
    { "dfs.namenode.rpc-address", NULL, KEY_TEXT,
      "the one NameNode, where there are no name services" },
    { "dfs.nameservices", NULL, KEY_LIST, "names that stand for NameNodes" },
    { "dfs.replication", "3", KEY_INT, "copies of the files we create" },
    { "dfs.user.home.dir.prefix", "/user", KEY_TEXT, "where home directories are" },
    { "fs.defaultFS", "file:///", KEY_TEXT, "where a path without a scheme is" },
    { "fs.hdfs.impl", NULL, KEY_TEXT, "to refuse mount tables behind hdfs://" },
    { "fs.permissions.umask-mode", "022", KEY_TEXT, "permissions taken away from what we create" },
    { "fs.viewfs.mounttable.default.name.key", "default", KEY_TEXT,
      "the mount table of viewfs:///" },
    { "hadoop.registry.dns.domain-name", NULL, KEY_TEXT, "where RegistryDNS has its names" },
    { "hadoop.registry.dns.enabled", "false", KEY_BOOL, "RegistryDNS serves the cluster" },
    { "hadoop.registry.secure", "false", KEY_BOOL, "a registry with Kerberos is refused" },
    { "hadoop.registry.zk.connection.timeout.ms", "15000", KEY_MS,
      "how long to try the registry's ZooKeeper" },
    { "hadoop.registry.zk.quorum", "localhost:2181", KEY_LIST, "the registry's ZooKeeper servers" },
    { "hadoop.registry.zk.root", "/registry", KEY_TEXT, "where in ZooKeeper the registry is" },
    { "hadoop.registry.zk.session.timeout.ms", "60000", KEY_MS,
      "records of a program that died are gone after it" },
    { "hadoop.rpc.protection", "authentication", KEY_LIST,
      "protection of remote calls, best first" },
    { "hadoop.security.auth_to_local", NULL, KEY_TEXT, "who a Kerberos principal is in HDFS and YARN" },
    { "hadoop.security.authentication", "simple", KEY_TEXT, "simple or kerberos" },
    { "hadoop.security.token.service.use_ip", "true", KEY_BOOL,
      "tokens name their server by address" },
    { "hadoop.tmp.dir", "/tmp/hadoop-${user.name}", KEY_TEXT, "other values refer to it" },
    { "ipc.client.connect.timeout", "20000", KEY_MS,
      "a server that does not accept within it is down" },
    { "ipc.client.connection.maxidletime", "10000", KEY_MS,
      "idle connections are closed after it" },
    { "ipc.client.fallback-to-simple-auth-allowed", "false", KEY_BOOL,
      "with Kerberos, still talk to servers without" },
    { "ipc.client.rpc-timeout.ms", "120000", KEY_MS,
      "a call without an answer for so long has failed" },
    { "ipc.maximum.data.length", "134217728", KEY_SIZE, "largest request a server takes" },
    { "ipc.maximum.response.length", "134217728", KEY_SIZE, "largest response we take" },
    { "ipc.ping.interval", "60000", KEY_MS, "how often a waiting connection shows that it lives" },
    { "yarn.am.liveness-monitor.expiry-interval-ms", "900000", KEY_MS,
      "silence after which a master is lost" },
    { "yarn.client.nodemanager-connect.max-wait-ms", "180000", KEY_MS,
      "how long to try a NodeManager" },
    { "yarn.client.nodemanager-connect.retry-interval-ms", "10000", KEY_MS,
      "pause between such tries" },
    { "yarn.http.policy", "HTTP_ONLY", KEY_TEXT,
      "HTTPS_ONLY changes the address of the web pages" },
    { "yarn.log-aggregation-enable", "false", KEY_BOOL, "where the logs of past jobs are" },
    { "yarn.log-aggregation.file-formats", "TFile", KEY_LIST,
      "formats of aggregated logs, which name their directories" },
    { "yarn.nm.liveness-monitor.expiry-interval-ms", "600000", KEY_MS,
      "silence after which a node is lost" },
    { "yarn.node-labels.enabled", "false", KEY_BOOL, "whether labels can be asked for" },
    { "yarn.nodemanager.remote-app-log-dir", "/tmp/logs", KEY_TEXT, "root of aggregated logs" },
    { "yarn.nodemanager.remote-app-log-dir-suffix", "logs", KEY_TEXT, "part of their path" },
    { "yarn.nodemanager.runtime.linux.allowed-runtimes", "default", KEY_LIST,
      "with docker among them, YARN runs container images itself" },
    { "yarn.resource-types", NULL, KEY_LIST, "resources besides memory and processors" },
    { "yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:8032", KEY_TEXT,
      "ResourceManager for clients" },
    { "yarn.resourcemanager.admin.address", "${yarn.resourcemanager.hostname}:8033", KEY_TEXT,
      "ResourceManager for its state" },
    { "yarn.resourcemanager.am.max-attempts", "2", KEY_INT, "most attempts of a master" },
    { "yarn.resourcemanager.cluster-id", NULL, KEY_TEXT, "name of the cluster" },
    { "yarn.resourcemanager.connect.max-wait.ms", "900000", KEY_MS,
      "how long to try a ResourceManager" },
    { "yarn.resourcemanager.connect.retry-interval.ms", "30000", KEY_MS,
      "pause between such tries" },
    { "yarn.resourcemanager.ha.enabled", "false", KEY_BOOL, "several ResourceManagers" },
    { "yarn.resourcemanager.ha.rm-ids", NULL, KEY_LIST, "their ids, in the order they are tried" },
    { "yarn.resourcemanager.hostname", "0.0.0.0", KEY_TEXT, "its addresses are made from it" },
    { "yarn.resourcemanager.principal", NULL, KEY_TEXT, "whom a ResourceManager must prove to be" },
    { "yarn.resourcemanager.principal.pattern", NULL, KEY_TEXT,
      "or: what its principal must look like" },
    { "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", "600000", KEY_MS,
      "a grant not used within it is taken back" },
    { "yarn.resourcemanager.scheduler.address", "${yarn.resourcemanager.hostname}:8030", KEY_TEXT,
      "ResourceManager for masters" },
    { "yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088", KEY_TEXT,
      "its web pages" },
    { "yarn.resourcemanager.webapp.https.address", "${yarn.resourcemanager.hostname}:8090",
      KEY_TEXT, "the same with HTTPS" },
    { "yarn.web-proxy.address", NULL, KEY_TEXT,
      "who shows the pages of masters, if not the ResourceManager" },
};

/* Sorted by the old name. */
static const struct renamed {
    const char *before, *now;
} renamed[] = {
    { "dfs.block.size",               "dfs.blocksize" },
    { "dfs.federation.nameservices",  "dfs.nameservices" },
    { "dfs.socket.timeout",           "dfs.client.socket-timeout" },
    { "dfs.umaskmode",                "fs.permissions.umask-mode" },
    { "dfs.write.packet.size",        "dfs.client-write-packet-size" },
    { "fs.default.name",              "fs.defaultFS" },
    { "io.bytes.per.checksum",        "dfs.bytes-per-checksum" },
};
/* clang-format on */

static int key_by_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct key *)row)->name);
}

static int by_old_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct renamed *)row)->before);
}

const struct key *key_find(const char *name)
{
    return bsearch(name, keys, COUNT_OF(keys), sizeof(keys[0]), key_by_name);
}

const struct key *key_table(size_t *ret_n)
{
    *ret_n = COUNT_OF(keys);
    return keys;
}

const char *key_current(const char *name)
{
    const struct renamed *r =
        bsearch(name, renamed, COUNT_OF(renamed), sizeof(renamed[0]), by_old_name);

    return r ? r->now : name;
}
