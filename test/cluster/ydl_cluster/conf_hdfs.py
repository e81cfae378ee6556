"""hdfs-site.xml: NameNodes, DataNodes, and how blocks travel."""

from . import spec as specs
from .layout import NAMESERVICE, Layout, principal


def values(lay: Layout) -> dict[str, object]:
    conf = _plain(lay)
    conf |= _ha(lay) if lay.spec.ha else _single(lay)
    if lay.spec.kerberos:
        conf |= _kerberos(lay)
    conf |= _data_protection(lay)
    if lay.spec.token_renew_s:
        conf |= {"dfs.namenode.delegation.token.renew-interval": lay.spec.token_renew_s * 1000,
                 "dfs.namenode.delegation.token.max-lifetime": lay.spec.token_life_s * 1000}
    if lay.spec.https:
        conf["dfs.http.policy"] = "HTTPS_ONLY"
    return conf


def _plain(lay: Layout) -> dict[str, object]:
    return {
        "dfs.replication": min(2, lay.spec.datanodes),
        "dfs.permissions.enabled": True,
        "dfs.permissions.superusergroup": specs.me(),
        "dfs.webhdfs.enabled": True,
        "dfs.namenode.fs-limits.min-block-size": 1024,  # tests make files of many small blocks
        "dfs.namenode.datanode.registration.ip-hostname-check": False,
        "dfs.namenode.safemode.extension": 0,
        # A DataNode is dead after 2 * recheck + 10 * heartbeat: 30 s here, which is longer than a
        # busy machine stands still.
        "dfs.heartbeat.interval": 1,
        "dfs.namenode.heartbeat.recheck-interval": 10000,
        "dfs.namenode.stale.datanode.interval": 10000,
        "dfs.namenode.redundancy.interval.seconds": 1,
        "dfs.namenode.handler.count": 6,
        "dfs.datanode.handler.count": 3,
        "dfs.datanode.du.reserved": 0,
        "dfs.namenode.edits.noeditlogchannelflush": True,
        "dfs.namenode.name.dir.restore": False,
    }


def _single(lay: Layout) -> dict[str, object]:
    return {
        "dfs.namenode.name.dir": f"file://{lay.run}/nn",
        "dfs.namenode.http-address": lay.address("nn", "http"),
        "dfs.namenode.https-address": lay.address("nn", "https"),
    }


def _ha(lay: Layout) -> dict[str, object]:
    conf = {
        "dfs.nameservices": NAMESERVICE,
        f"dfs.ha.namenodes.{NAMESERVICE}": ",".join(lay.namenodes),
        "dfs.namenode.shared.edits.dir": f"qjournal://{lay.address('jn')}/{NAMESERVICE}",
        "dfs.journalnode.edits.dir": f"{lay.run}/jn",
        "dfs.journalnode.rpc-address": lay.address("jn", "rpc"),
        "dfs.journalnode.http-address": lay.address("jn", "http"),
        "dfs.journalnode.https-address": lay.address("jn", "https"),
        f"dfs.client.failover.proxy.provider.{NAMESERVICE}":
            "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
        # The journal lets only one writer in; there is nothing else to fence.
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.ha.automatic-failover.enabled": False,
        "dfs.ha.log-roll.period": 5,
        "dfs.ha.tail-edits.period": 1,
        "dfs.client.failover.sleep.base.millis": 100,
        "dfs.client.failover.sleep.max.millis": 1000,
    }
    for nn in lay.namenodes:
        suffix = f"{NAMESERVICE}.{nn}"
        conf |= {f"dfs.namenode.rpc-address.{suffix}": lay.address(nn, "rpc"),
                 f"dfs.namenode.http-address.{suffix}": lay.address(nn, "http"),
                 f"dfs.namenode.https-address.{suffix}": lay.address(nn, "https"),
                 f"dfs.namenode.name.dir.{suffix}": f"file://{lay.run}/{nn}"}
    return conf


def _kerberos(lay: Layout) -> dict[str, object]:
    keytab = f"{lay.krb}/service.keytab"
    conf = {"dfs.block.access.token.enable": True,
            "dfs.web.authentication.kerberos.principal": principal("HTTP"),
            "dfs.web.authentication.kerberos.keytab": keytab}
    for daemon, short in (("namenode", "nn"), ("datanode", "dn"), ("journalnode", "jn")):
        conf |= {f"dfs.{daemon}.kerberos.principal": principal(short),
                 f"dfs.{daemon}.keytab.file": keytab}
    for daemon in ("namenode", "journalnode"):
        conf[f"dfs.{daemon}.kerberos.internal.spnego.principal"] = principal("HTTP")
    return conf


def _data_protection(lay: Layout) -> dict[str, object]:
    data = lay.spec.data()
    conf: dict[str, object] = {}
    if data == "encrypt":
        conf = {"dfs.encrypt.data.transfer": True,
                "dfs.block.access.token.enable": True,  # the key comes with the token
                "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"}
    elif data != "none":
        conf = {"dfs.data.transfer.protection": data}
    if lay.spec.kerberos and not (lay.spec.https and "dfs.data.transfer.protection" in conf):
        # A secure DataNode wants privileged ports, or SASL on its data port together with HTTPS.
        # Hadoop's own tests have this switch, which does not change what is on the data port.
        conf["ignore.secure.ports.for.testing"] = True
    return conf
