"""How each daemon is started: its command line and its environment."""

import os

from . import apart, dockerd, java, many, places, preload
from .layout import NAMESERVICE, REALM, Layout, split

_HDFS = "org.apache.hadoop.hdfs"
_YARN = "org.apache.hadoop.yarn.server"
_CLASSES = {  # kind: (heap in MB, main class)
    "nn": (192, f"{_HDFS}.server.namenode.NameNode"),
    "dn": (160, f"{_HDFS}.server.datanode.DataNode"),
    "jn": (128, f"{_HDFS}.qjournal.server.JournalNode"),
    "rm": (256, f"{_YARN}.resourcemanager.ResourceManager"),
    "nm": (192, f"{_YARN}.nodemanager.NodeManager"),
    "zk": (96, "org.apache.zookeeper.server.quorum.QuorumPeerMain"),
    "dns": (96, "org.apache.hadoop.registry.server.dns.RegistryDNSServer"),
}
# Daemons start all at once and look for each other; they should look often.
_IMPATIENT = {"ipc.client.connect.retry.interval": 100, "ipc.client.connect.max.retries": 100}


def command(lay: Layout, daemon: str) -> list[str]:
    """The command line of a daemon. The run directory is in it, which tells whose it is."""
    kind, _ = split(daemon)
    if kind == "kdc":
        return [places.tool("krb5kdc"), "-n", "-r", REALM, "-P", str(lay.run / "kdc.pid")]
    if kind == "docker":
        return dockerd.command(lay)
    if kind == "many":
        return many.command(lay, _arguments(lay, daemon))
    heap, main_class = _CLASSES[kind]
    # What RegistryDNS does not know it asks the machine's own server: the nodes' leads to itself.
    own = ([f"-Ddns.server={(lay.run / 'nameserver').read_text()}"]
           if kind == "dns" and lay.spec.names else [])
    return java.command(lay, heap, daemon, f"-Dydl.cluster={lay.run}", f"-Dydl.daemon={daemon}",
                        *own, main_class, *_arguments(lay, daemon))


def namenode_task(lay: Layout, namenode: str, *task: str) -> list[str]:
    """A NameNode that does one thing to its directory, like -format, and ends."""
    heap, main_class = _CLASSES["nn"]
    return java.command(lay, heap, "task", main_class, *_arguments(lay, namenode), *task)


def _arguments(lay: Layout, daemon: str) -> list[str]:
    kind, _ = split(daemon)
    if kind == "zk":
        return [str(lay.run / "zoo.cfg")]
    values = dict(_IMPATIENT) | _OWN.get(kind, lambda lay, daemon: {})(lay, daemon)
    for row in lay.spec.on:
        name, _, setting = row.partition(":")
        if name == daemon:
            key, _, values[key] = setting.partition("=")
    return [word for key, value in values.items() for word in ("-D", f"{key}={value}")]


def _namenode(lay: Layout, daemon: str) -> dict[str, object]:
    if not lay.spec.ha:
        return {}
    return {"dfs.nameservice.id": NAMESERVICE, "dfs.ha.namenode.id": daemon}


def _resourcemanager(lay: Layout, daemon: str) -> dict[str, object]:
    return {"yarn.resourcemanager.ha.id": daemon} if lay.spec.ha else {}


def _web_principal(lay: Layout, daemon: str) -> dict[str, object]:
    """A node's pages are reached by its address, so that is the name of its web principal."""
    if not lay.spec.kerberos:
        return {}
    principal = f"HTTP/{lay.host_of(daemon)}@{REALM}"
    return {"hadoop.http.authentication.kerberos.principal": principal,
            "dfs.web.authentication.kerberos.principal": principal,
            "yarn.nodemanager.webapp.spnego-principal": principal}


def _datanode(lay: Layout, daemon: str) -> dict[str, object]:
    return _web_principal(lay, daemon) | {
        "dfs.datanode.hostname": lay.host_of(daemon),
        "dfs.datanode.address": lay.address(daemon, "data"),
        "dfs.datanode.ipc.address": lay.address(daemon, "ipc"),
        "dfs.datanode.http.address": lay.address(daemon, "http"),
        "dfs.datanode.https.address": lay.address(daemon, "https"),
        "dfs.datanode.data.dir": f"file://{lay.run}/{daemon}",
        "hadoop.tmp.dir": f"{lay.run}/tmp/{daemon}",
    }


def _nodemanager(lay: Layout, daemon: str) -> dict[str, object]:
    host, own = lay.host_of(daemon), lay.run / daemon
    local, logs = lay.node_dirs(daemon)
    return _web_principal(lay, daemon) | _special_node(lay, daemon) | {
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.bind-host": host,
        "yarn.nodemanager.address": lay.address(daemon, "rpc"),
        "yarn.nodemanager.localizer.address": lay.address(daemon, "localizer"),
        "yarn.nodemanager.webapp.address": lay.address(daemon, "http"),
        "yarn.nodemanager.webapp.https.address": lay.address(daemon, "https"),
        "yarn.nodemanager.collector-service.address": lay.address(daemon, "collector"),
        "yarn.nodemanager.amrmproxy.address": lay.address(daemon, "proxy"),
        "yarn.nodemanager.local-dirs": local,
        "yarn.nodemanager.log-dirs": logs,
        "yarn.nodemanager.recovery.dir": own / "recovery",
        "hadoop.tmp.dir": own / "tmp",
    }


def _special_node(lay: Layout, daemon: str) -> dict[str, object]:
    """What only some NodeManagers have."""
    number, conf = split(daemon)[1], {}
    if lay.spec.gpus and 0 < lay.spec.gpu_nodes < number:
        conf |= {"yarn.nodemanager.resource-type.yarn.io/gpu": 0,
                 "yarn.nodemanager.resource-type.example.com/licence": 0}
    if lay.spec.amrmproxy and daemon == "nm1":
        conf["yarn.nodemanager.amrmproxy.enabled"] = "true"
    if daemon in lay.spares:  # it says good-bye when it is stopped, and is not waited for
        conf["yarn.nodemanager.recovery.supervised"] = "false"
    if daemon in lay.disks():
        conf["yarn.nodemanager.disk-health-checker.interval-ms"] = 1000
    return conf


_OWN = {"nn": _namenode, "rm": _resourcemanager, "dn": _datanode, "nm": _nodemanager}


def environment(lay: Layout, daemon: str = "") -> dict[str, str]:
    """What daemons and, through the NodeManagers, containers see: nothing of the test's own."""
    env = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TZ") if key in os.environ}
    env |= {"JAVA_HOME": str(java.home(lay.spec.version)), "HADOOP_CONF_DIR": str(lay.conf),
            "HADOOP_LOG_DIR": str(lay.logs)}
    if daemon:
        env["HADOOP_CONF_DIR"] = str(lay.conf_of(daemon))
    if lay.spec.docker:
        env["DOCKER_HOST"] = lay.address("docker")
    if lay.spec.kerberos:
        env |= {"KRB5_CONFIG": f"{lay.krb}/krb5.conf", "KRB5_KDC_PROFILE": f"{lay.krb}/kdc.conf"}
    if daemon and split(daemon)[0] == "dn":
        env |= {"LD_PRELOAD": str(preload.source_address()),
                "YDL_SOURCE_ADDRESS": lay.host_of(daemon)}
    return env | (apart.environment(lay, daemon) if daemon else {})


def prepare(lay: Layout) -> None:
    """Makes the directories and files that the daemons expect to find."""
    for directory in (lay.run / "tmp", lay.logs, *(lay.run / name for name in lay.datanodes)):
        directory.mkdir(parents=True, exist_ok=True)
    for name in lay.datanodes:
        (lay.run / name).chmod(0o700)
    apart.prepare(lay)
    if "zk" in lay.daemons:
        (lay.run / "zk").mkdir(exist_ok=True)
        (lay.run / "zoo.cfg").write_text(
            f"tickTime=500\ndataDir={lay.run}/zk\nclientPort={lay.port('zk', 'client')}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n")
