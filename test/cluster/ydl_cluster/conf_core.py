"""core-site.xml: the file system, who is who, and how calls are protected."""

from . import spec as specs
from .layout import NAMESERVICE, REALM, Layout, principal

DOMAIN = "ydl.test"  # of the names that RegistryDNS gives
SERVICES = ("nn", "dn", "rm", "nm", "jn")


def values(lay: Layout) -> dict[str, object]:
    me = specs.me()
    conf = {
        "fs.defaultFS": f"hdfs://{NAMESERVICE if lay.spec.ha else lay.address('nn')}",
        "hadoop.tmp.dir": f"{lay.run}/tmp",
        "hadoop.http.staticuser.user": me,
        f"hadoop.proxyuser.{me}.hosts": "*",
        f"hadoop.proxyuser.{me}.groups": "*",
        "hadoop.proxyuser.carol.hosts": "*",  # she may act for bob and for nobody else
        "hadoop.proxyuser.carol.users": "bob",
        "hadoop.rpc.protection": lay.spec.protection,
        "fs.permissions.umask-mode": "022",
        # Groups by table: our users need no account, and nobody forks `id` for each of them.
        "hadoop.user.group.static.mapping.overrides":
            ";".join(f"{user}={user}" for user in specs.users()),
        # The other codec needs libhadoop.so, and says so with a stack trace for every connection.
        "hadoop.security.crypto.codec.classes.aes.ctr.nopadding":
            "org.apache.hadoop.crypto.JceAesCtrCryptoCodec",
        "ipc.client.connect.max.retries": 5,
        "ipc.server.listen.queue.size": 128,
    }
    if lay.spec.ha:
        conf |= {"hadoop.zk.address": lay.address("zk"), "hadoop.zk.timeout-ms": 10000,
                 "hadoop.zk.retry-interval-ms": 200, "hadoop.zk.num-retries": 100}
    if lay.spec.registry:
        conf |= _registry(lay)
    if lay.spec.kerberos:
        conf |= _kerberos(lay, me)
    return conf


def _registry(lay: Layout) -> dict[str, object]:
    return {
        "hadoop.registry.zk.quorum": lay.address("zk"),
        "hadoop.registry.zk.root": "/registry",
        "hadoop.registry.zk.retry.interval.ms": 200,
        "hadoop.registry.dns.enabled": True,
        "hadoop.registry.dns.domain-name": DOMAIN,
        "hadoop.registry.dns.bind-address": lay.host_of("dns"),
        "hadoop.registry.dns.bind-port": lay.port("dns", "dns"),
        "hadoop.registry.dns.zone-subnet": "127.0.0.0",
        "hadoop.registry.dns.zone-mask": "255.255.255.0",
    }


def _kerberos(lay: Layout, me: str) -> dict[str, object]:
    rules = [f"RULE:[2:$1]({service})s/.*/{me}/" for service in SERVICES]
    # DEFAULT alone fails in a JVM that was given no krb5.conf and so knows no default realm.
    rules += [f"RULE:[1:$1@$0](.*@{REALM})s/@.*//", "DEFAULT"]
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": True,
        "hadoop.security.auth_to_local": "\n".join(rules),
        # All web pages want a ticket, as on any cluster that takes Kerberos seriously.
        "hadoop.http.filter.initializers":
            "org.apache.hadoop.security.AuthenticationFilterInitializer",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.simple.anonymous.allowed": False,
        "hadoop.http.authentication.kerberos.principal": principal("HTTP"),
        "hadoop.http.authentication.kerberos.keytab": f"{lay.krb}/service.keytab",
    }
