/* keys.c - the tables, and a binary search in each. A setting that Hadoop has renamed is found
 * under both names. See keys.h. */
#include "hadoop/conf/keys.h"
#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */

/* Sorted by name, in the order of strcmp: a test checks it. */
static const struct key keys[] = {
    { "dfs.blocksize", "134217728", KEY_SIZE, "block size of new files" },
    { "dfs.bytes-per-checksum", "512", KEY_INT, "bytes per checksum" },
    { "dfs.checksum.type", "CRC32C", KEY_TEXT, "checksum type of new files" },
    { "dfs.client-write-packet-size", "65536", KEY_INT, "largest packet sent to a DataNode" },
    { "dfs.client.block.write.locateFollowingBlock.retries", "5", KEY_INT,
      "attempts to get a file's next block" },
    { "dfs.client.block.write.replace-datanode-on-failure.best-effort", "false", KEY_BOOL,
      "continue with fewer DataNodes when none can be added" },
    { "dfs.client.block.write.replace-datanode-on-failure.enable", "true", KEY_BOOL,
      "replace a failed DataNode of a write pipeline" },
    { "dfs.client.block.write.replace-datanode-on-failure.policy", "DEFAULT", KEY_TEXT,
      "when to replace it: NEVER, DEFAULT or ALWAYS" },
    { "dfs.client.block.write.retries", "3", KEY_INT, "attempts to set up a pipeline for a block" },
    { "dfs.client.datanode-restart.timeout", "30", KEY_SECONDS,
      "how long to wait for a DataNode that announced its restart" },
    { "dfs.client.failover.max.attempts", "15", KEY_INT,
      "failovers between NameNodes before giving up" },
    { "dfs.client.failover.sleep.base.millis", "500", KEY_MS,
      "minimum delay between NameNode failovers" },
    { "dfs.client.failover.sleep.max.millis", "15000", KEY_MS,
      "maximum delay between NameNode failovers" },
    { "dfs.client.max.block.acquire.failures", "3", KEY_INT,
      "attempts to read a block from its DataNodes" },
    { "dfs.client.retry.window.base", "3000", KEY_MS, "delay between these attempts" },
    { "dfs.client.socket-timeout", "60000", KEY_MS, "timeout for reading from a DataNode" },
    { "dfs.client.use.datanode.hostname", "false", KEY_BOOL,
      "connect to DataNodes by host name instead of address" },
    { "dfs.data.transfer.protection", NULL, KEY_LIST,
      "protection of data sent to and from DataNodes" },
    { "dfs.datanode.socket.write.timeout", "480000", KEY_MS,
      "timeout for writing to a DataNode" },
    { "dfs.encrypt.data.transfer", "false", KEY_BOOL,
      "encrypt data sent to and from DataNodes" },
    { "dfs.encrypt.data.transfer.cipher.suites", NULL, KEY_LIST,
      "cipher for that encryption: AES/CTR/NoPadding, or empty" },
    { "dfs.internal.nameservices", NULL, KEY_LIST, "name services that belong to this cluster" },
    { "dfs.namenode.kerberos.principal", NULL, KEY_TEXT, "Kerberos principal of the NameNode" },
    { "dfs.namenode.kerberos.principal.pattern", "*", KEY_TEXT,
      "pattern that the NameNode's principal must match" },
    { "dfs.namenode.rpc-address", NULL, KEY_TEXT,
      "NameNode address, when there are no name services" },
    { "dfs.nameservices", NULL, KEY_LIST, "name services: logical names of NameNodes" },
    { "dfs.replication", "3", KEY_INT, "replication of new files" },
    { "dfs.user.home.dir.prefix", "/user", KEY_TEXT, "parent of the users' home directories" },
    { "fs.defaultFS", "file:///", KEY_TEXT, "default file system of paths without a scheme" },
    { "fs.hdfs.impl", NULL, KEY_TEXT, "checked only to refuse mount tables behind hdfs://" },
    { "fs.permissions.umask-mode", "022", KEY_TEXT, "umask of new files and directories" },
    { "fs.viewfs.mounttable.default.name.key", "default", KEY_TEXT,
      "default mount table of viewfs:///" },
    { "hadoop.registry.dns.domain-name", NULL, KEY_TEXT, "domain of RegistryDNS names" },
    { "hadoop.registry.dns.enabled", "false", KEY_BOOL, "whether the cluster runs RegistryDNS" },
    { "hadoop.registry.secure", "false", KEY_BOOL,
      "must be false: a registry with Kerberos is not supported" },
    { "hadoop.registry.zk.connection.timeout.ms", "15000", KEY_MS,
      "timeout for connecting to the registry's ZooKeeper" },
    { "hadoop.registry.zk.quorum", "localhost:2181", KEY_LIST, "the registry's ZooKeeper servers" },
    { "hadoop.registry.zk.root", "/registry", KEY_TEXT, "root of the registry in ZooKeeper" },
    { "hadoop.registry.zk.session.timeout.ms", "60000", KEY_MS,
      "session timeout: records of a dead program expire after it" },
    { "hadoop.rpc.protection", "authentication", KEY_LIST,
      "protection of RPC, preferred first" },
    { "hadoop.security.auth_to_local", NULL, KEY_TEXT,
      "rules that map Kerberos principals to user names" },
    { "hadoop.security.authentication", "simple", KEY_TEXT, "authentication: simple or kerberos" },
    { "hadoop.security.token.service.use_ip", "true", KEY_BOOL,
      "tokens name their server by address, not by host name" },
    { "hadoop.tmp.dir", "/tmp/hadoop-${user.name}", KEY_TEXT,
      "base directory that other settings refer to" },
    { "ipc.client.connect.timeout", "20000", KEY_MS,
      "timeout for connecting to a server" },
    { "ipc.client.connection.maxidletime", "10000", KEY_MS,
      "idle time after which a connection is closed" },
    { "ipc.client.fallback-to-simple-auth-allowed", "false", KEY_BOOL,
      "with Kerberos, also allow servers that do not use it" },
    { "ipc.client.rpc-timeout.ms", "120000", KEY_MS,
      "timeout for an RPC call" },
    { "ipc.maximum.data.length", "134217728", KEY_SIZE, "maximum size of a request" },
    { "ipc.maximum.response.length", "134217728", KEY_SIZE, "maximum size of a response" },
    { "ipc.ping.interval", "60000", KEY_MS, "ping interval of a waiting connection" },
    { "yarn.am.liveness-monitor.expiry-interval-ms", "900000", KEY_MS,
      "time without heartbeats after which a master is lost" },
    { "yarn.client.nodemanager-connect.max-wait-ms", "180000", KEY_MS,
      "how long to retry connecting to a NodeManager" },
    { "yarn.client.nodemanager-connect.retry-interval-ms", "10000", KEY_MS,
      "delay between these retries" },
    { "yarn.http.policy", "HTTP_ONLY", KEY_TEXT,
      "HTTPS_ONLY selects the HTTPS addresses of the web pages" },
    { "yarn.log-aggregation-enable", "false", KEY_BOOL,
      "whether YARN aggregates the logs of finished jobs" },
    { "yarn.log-aggregation.file-formats", "TFile", KEY_LIST,
      "formats of aggregated logs" },
    { "yarn.nm.liveness-monitor.expiry-interval-ms", "600000", KEY_MS,
      "time without heartbeats after which a node is lost" },
    { "yarn.node-labels.enabled", "false", KEY_BOOL, "whether node labels are enabled" },
    { "yarn.nodemanager.remote-app-log-dir", "/tmp/logs", KEY_TEXT,
      "root directory of aggregated logs" },
    { "yarn.nodemanager.remote-app-log-dir-suffix", "logs", KEY_TEXT,
      "directory name within a user's aggregated logs" },
    { "yarn.nodemanager.runtime.linux.allowed-runtimes", "default", KEY_LIST,
      "container runtimes; with docker, YARN itself runs images" },
    { "yarn.resource-types", NULL, KEY_LIST, "resource types besides memory and CPU" },
    { "yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:8032", KEY_TEXT,
      "ResourceManager's address for clients" },
    { "yarn.resourcemanager.admin.address", "${yarn.resourcemanager.hostname}:8033", KEY_TEXT,
      "ResourceManager's address for administration" },
    { "yarn.resourcemanager.am.max-attempts", "2", KEY_INT,
      "maximum attempts of an application master" },
    { "yarn.resourcemanager.cluster-id", NULL, KEY_TEXT, "name of the cluster" },
    { "yarn.resourcemanager.connect.max-wait.ms", "900000", KEY_MS,
      "how long to retry connecting to a ResourceManager" },
    { "yarn.resourcemanager.connect.retry-interval.ms", "30000", KEY_MS,
      "delay between these retries" },
    { "yarn.resourcemanager.ha.enabled", "false", KEY_BOOL,
      "whether ResourceManager HA is enabled" },
    { "yarn.resourcemanager.ha.rm-ids", NULL, KEY_LIST,
      "ids of the ResourceManagers, in the order they are tried" },
    { "yarn.resourcemanager.hostname", "0.0.0.0", KEY_TEXT,
      "ResourceManager's host, from which its addresses derive" },
    { "yarn.resourcemanager.principal", NULL, KEY_TEXT,
      "Kerberos principal of the ResourceManager" },
    { "yarn.resourcemanager.principal.pattern", NULL, KEY_TEXT,
      "pattern that the ResourceManager's principal must match" },
    { "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms", "600000", KEY_MS,
      "time after which an unused container is released" },
    { "yarn.resourcemanager.scheduler.address", "${yarn.resourcemanager.hostname}:8030", KEY_TEXT,
      "ResourceManager's address for masters" },
    { "yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088", KEY_TEXT,
      "ResourceManager's web address" },
    { "yarn.resourcemanager.webapp.https.address", "${yarn.resourcemanager.hostname}:8090",
      KEY_TEXT, "ResourceManager's web address with HTTPS" },
    { "yarn.web-proxy.address", NULL, KEY_TEXT,
      "web proxy of the masters' pages, if not the ResourceManager" },
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

/* Settings are stored under their present name and looked for under it, so it does not matter which
 * one the files and the caller use. */
const char *key_current(const char *name)
{
    const struct renamed *r =
        bsearch(name, renamed, COUNT_OF(renamed), sizeof(renamed[0]), by_old_name);

    return r ? r->now : name;
}
