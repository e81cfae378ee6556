"""yarn-site.xml, resource-types.xml and capacity-scheduler.xml."""

from . import apart, java, spec as specs
from .layout import Layout, principal

NODE_GPUS = 2
_NM = "org.apache.hadoop.yarn.server.nodemanager"
_RM = "org.apache.hadoop.yarn.server.resourcemanager"


def values(lay: Layout) -> dict[str, object]:
    conf = _scheduling(lay) | _expiry(lay) | _recovery(lay) | _nodemanager(lay)
    for rm in lay.resourcemanagers:
        conf |= _addresses(lay, rm)
    if lay.spec.ha:
        conf |= _ha(lay)
    if lay.spec.kerberos:
        conf |= _kerberos(lay)
    if lay.spec.labels:
        conf |= {"yarn.node-labels.enabled": True,
                 "yarn.node-labels.fs-store.root-dir": f"file://{lay.run}/labels",
                 "yarn.node-labels.configuration-type": "centralized"}
    if lay.spec.gpus:
        conf |= {"yarn.nodemanager.resource-type.yarn.io/gpu": NODE_GPUS,
                 "yarn.nodemanager.resource-type.example.com/licence": 1}
    if lay.spec.https:
        conf["yarn.http.policy"] = "HTTPS_ONLY"
    if lay.spec.preemption:
        conf |= _preemption()
    if lay.spec.memory_limits:
        # Without control groups the limit is enforced only by a monitor that this switch lets run.
        conf |= {"yarn.nodemanager.resource.memory.enforced": False,
                 "yarn.nodemanager.container-monitor.interval-ms": 500}
    if lay.spec.token_renew_s:
        conf |= {"yarn.resourcemanager.delegation.token.renew-interval":
                 lay.spec.token_renew_s * 1000,
                 "yarn.resourcemanager.delegation.token.max-lifetime":
                 lay.spec.token_life_s * 1000}
    if lay.spec.lce:
        conf |= _linux_containers(lay)
    return conf


def _preemption() -> dict[str, object]:
    """A queue that wants its share back has it within three seconds or so."""
    monitor = "yarn.resourcemanager.monitor.capacity.preemption"
    return {"yarn.resourcemanager.scheduler.monitor.enable": True,
            f"{monitor}.monitoring_interval": 500,
            f"{monitor}.max_wait_before_kill": 2000,
            f"{monitor}.total_preemption_per_round": 1.0,
            f"{monitor}.natural_termination_factor": 1.0,
            f"{monitor}.max_ignored_over_capacity": 0}


def _linux_containers(lay: Layout) -> dict[str, object]:
    executor = "yarn.nodemanager.linux-container-executor"
    conf: dict[str, object] = {
        "yarn.nodemanager.container-executor.class": f"{_NM}.LinuxContainerExecutor",
        f"{executor}.path": lay.executor,
        f"{executor}.group": specs.me(),
        f"{executor}.nonsecure-mode.limit-users": False,
        "yarn.nodemanager.container-localizer.java.opts": " ".join(java.localizer_options(lay)),
    }
    if lay.spec.docker:
        runtime = "yarn.nodemanager.runtime.linux"
        conf |= {f"{runtime}.allowed-runtimes": "default,docker",
                 f"{runtime}.docker.allowed-container-networks": "host,none,bridge",
                 f"{runtime}.docker.default-container-network": "host"}
    return conf


def _addresses(lay: Layout, rm: str) -> dict[str, object]:
    end = f".{rm}" if lay.spec.ha else ""
    return {f"yarn.resourcemanager.{key}{end}": value for key, value in (
        ("hostname", lay.host),
        ("address", lay.address(rm, "client")),
        ("scheduler.address", lay.address(rm, "scheduler")),
        ("resource-tracker.address", lay.address(rm, "tracker")),
        ("admin.address", lay.address(rm, "admin")),
        ("webapp.address", lay.address(rm, "http")),
        ("webapp.https.address", lay.address(rm, "https")))}


def _scheduling(lay: Layout) -> dict[str, object]:
    return {
        "yarn.resourcemanager.scheduler.class": f"{_RM}.scheduler.capacity.CapacityScheduler",
        "yarn.scheduler.minimum-allocation-mb": 64,
        "yarn.cluster.max-application-priority": 10,
        "yarn.scheduler.maximum-allocation-mb": lay.spec.node_mb,
        "yarn.scheduler.maximum-allocation-vcores": lay.spec.node_vcores,
        "yarn.resourcemanager.client.thread-count": 6,
        "yarn.resourcemanager.scheduler.client.thread-count": 6,
        "yarn.resourcemanager.resource-tracker.client.thread-count": 6,
        "yarn.acl.enable": True,
        "yarn.admin.acl": specs.me(),
        # Of itself in /tmp, where every ResourceManager of a user writes it anew when it starts.
        "yarn.node-attribute.fs-store.root-dir": f"file://{lay.run}/attributes",
        "yarn.timeline-service.enabled": False,
    }


def _expiry(lay: Layout) -> dict[str, object]:
    """Losses are noticed within a minute: later than a node that is restarted on a busy machine comes
    back, and than such a machine stands still. (Key rolling must stay above three times the
    expiry.)"""
    return {
        "yarn.nm.liveness-monitor.expiry-interval-ms": 40000,
        "yarn.am.liveness-monitor.expiry-interval-ms": _master_ms(lay),
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": lay.spec.heartbeat_ms,
        "yarn.resourcemanager.connect.retry-interval.ms": 200,
        "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": 500,
        "yarn.resourcemanager.delayed.delegation-token.removal-interval-ms": 5000,
        "yarn.client.nodemanager-connect.retry-interval-ms": 500,
    }


def _master_ms(lay: Layout) -> int:
    """A master's first interval begins when its node is told of it. Fetching its files comes off
    that, by a JVM of their own or not, and encrypted where Kerberos is: on a busy machine 60 s were
    over before it began. A master that dies, or whose node does, is missed at once all the same."""
    return 120000 if lay.spec.lce or lay.spec.kerberos else 60000


def _recovery(lay: Layout) -> dict[str, object]:
    conf: dict[str, object] = {
        "yarn.resourcemanager.recovery.enabled": True,
        "yarn.nodemanager.recovery.enabled": True,
        "yarn.nodemanager.recovery.supervised": True,  # a stopped NodeManager leaves its containers
    }
    if lay.spec.ha:
        conf["yarn.resourcemanager.store.class"] = f"{_RM}.recovery.ZKRMStateStore"
    else:
        conf |= {"yarn.resourcemanager.store.class": f"{_RM}.recovery.FileSystemRMStateStore",
                 "yarn.resourcemanager.fs.state-store.uri": f"file://{lay.run}/rmstore"}
    return conf


def _ha(lay: Layout) -> dict[str, object]:
    return {
        "yarn.resourcemanager.ha.enabled": True,
        "yarn.resourcemanager.ha.rm-ids": ",".join(lay.resourcemanagers),
        "yarn.resourcemanager.cluster-id": "ydl",
        "yarn.resourcemanager.zk-address": lay.address("zk"),  # 3.5 looks nowhere else
        "yarn.client.failover-sleep-base-ms": 100,
        "yarn.client.failover-sleep-max-ms": 1000,
    }


def _nodemanager(lay: Layout) -> dict[str, object]:
    whitelist = "JAVA_HOME,HADOOP_CONF_DIR,PATH,LANG,TZ"
    whitelist += ",KRB5_CONFIG" if lay.spec.kerberos else ""
    whitelist += ",DOCKER_HOST" if lay.spec.docker else ""
    whitelist += "," + ",".join(apart.PASSED_ON) if lay.spec.apart else ""
    return {
        "yarn.nodemanager.resource.memory-mb": lay.spec.node_mb,
        "yarn.nodemanager.resource.cpu-vcores": lay.spec.node_vcores,
        "yarn.nodemanager.vmem-check-enabled": False,
        "yarn.nodemanager.container-manager.thread-count": 6,
        # The disk of a developer may be rather full; that is no reason to call a node unhealthy.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99.5,
        "yarn.nodemanager.remote-app-log-dir": "/tmp/logs",
        "yarn.nodemanager.env-whitelist": whitelist,
        # Under Kerberos the aggregator needs libhadoop.so, which is in no jar; without it the
        # whole NodeManager exits after its first application.
        "yarn.log-aggregation-enable": not lay.spec.kerberos,
        "yarn.application.classpath": f"{lay.conf},{lay.home}/lib/*",
    }


def _kerberos(lay: Layout) -> dict[str, object]:
    keytab = f"{lay.krb}/service.keytab"
    conf = {}
    for daemon, short in (("resourcemanager", "rm"), ("nodemanager", "nm")):
        conf |= {f"yarn.{daemon}.principal": principal(short),
                 f"yarn.{daemon}.keytab": keytab,
                 f"yarn.{daemon}.webapp.spnego-principal": principal("HTTP"),
                 f"yarn.{daemon}.webapp.spnego-keytab-file": keytab}
    return conf


def resource_types(lay: Layout) -> dict[str, object]:
    """resource-types.xml: GPUs as something that is counted; there is no plugin behind it. And what
    a cluster may have besides."""
    return {"yarn.resource-types": "yarn.io/gpu,example.com/licence"} if lay.spec.gpus else {}


def capacity(lay: Layout) -> dict[str, object]:
    """Four queues: two equal ones, one that cannot grow, and one that is carol's alone and has no place
    for any application, so that it refuses hers after they were submitted."""
    prefix = "yarn.scheduler.capacity"
    conf: dict[str, object] = {
        f"{prefix}.root.queues": "default,prod,small,closed",
        f"{prefix}.root.acl_submit_applications": " ",  # nobody: permission is inherited downwards
        f"{prefix}.root.acl_administer_queue": " ",
        f"{prefix}.maximum-am-resource-percent": 1.0,
        f"{prefix}.node-locality-delay": lay.spec.locality_delay,
        f"{prefix}.resource-calculator":
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }
    for queue, share, most, who in (("default", 45, 100, "*"), ("prod", 45, 100, "*"),
                                    ("small", 5, 10, "*"), ("closed", 5, 100, "carol")):
        conf |= {f"{prefix}.root.{queue}.{key}": value for key, value in (
            ("capacity", share), ("maximum-capacity", most), ("user-limit-factor", 20),
            ("acl_submit_applications", who))}
    conf |= {f"{prefix}.root.closed.maximum-applications": 0}
    return conf | (_label_capacity(prefix) if lay.spec.labels else {})


def _label_capacity(prefix: str) -> dict[str, object]:
    """The label `gpu` is for the queue `default` only; a blank takes the inherited `*` away."""
    conf: dict[str, object] = {f"{prefix}.root.{queue}.accessible-node-labels": " "
                               for queue in ("prod", "small", "closed")}
    conf |= {f"{prefix}.root.default.accessible-node-labels": "gpu"}
    for queue in ("root", "root.default"):
        conf |= {f"{prefix}.{queue}.accessible-node-labels.gpu.capacity": 100,
                 f"{prefix}.{queue}.accessible-node-labels.gpu.maximum-capacity": 100}
    return conf
