"""What is put into the registry is found by Hadoop's own programs: its client and RegistryDNS."""

import json
import os
import select
import shutil
import signal
import subprocess
import time

import pytest

from master import program, wait_for
from ydl_cluster import registry_dns

_CLI = "org.apache.hadoop.registry.cli.RegistryCli"
SERVICE = "/users/alice/services/ydl/mnist"
CONTAINER = "container_e17_1410901177871_0001_01_000005"
LABEL = "ctr-e17-1410901177871-0001-01-000005"


class Registry:
    """One run of ydl-test-registry."""

    def __init__(self, conf):
        self.conf = conf
        self.process = subprocess.Popen([program("ydl-test-registry")], text=True,
                                        env=os.environ | {"HADOOP_CONF_DIR": str(conf)},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.opened = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.communicate()

    def do(self, line: str):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        _, err = self.process.communicate(timeout=50)
        assert (self.process.returncode, err) == (0, "")


def _conf(cluster, directory, **settings: str):
    """The cluster's configuration with a registry in its ZooKeeper."""
    shutil.copytree(cluster.conf_dir, directory / "conf")
    site = directory / "conf" / "core-site.xml"
    settings = {"zk.quorum": _quorum(cluster, "localhost"),
                "zk.session.timeout.ms": "10000"} | settings
    rows = "".join(f"<property><name>hadoop.registry.{key}</name><value>{value}</value></property>"
                   for key, value in settings.items())
    site.write_text(site.read_text().replace("</configuration>", rows + "</configuration>"))
    return directory / "conf"


def _quorum(cluster, host: str = "127.0.0.1") -> str:
    return f"{host}:{cluster.lay.port('zk', 'client')}"


@pytest.fixture
def registry(ha_cluster, tmp_path):
    with Registry(_conf(ha_cluster, tmp_path)) as made:
        assert made.opened == {"open": True}
        yield made
        if made.process.poll() is None:
            made.do("delete-all /users/alice/services/ydl")


def _component(registry, label: str = "worker-0", ip: str = "10.1.2.3") -> None:
    assert registry.do(f"component mnist {CONTAINER} {label} {ip}") == {}


def test_records_are_put_read_listed_and_deleted(registry):
    assert registry.do("service mnist 10.1.2.9 8080") == {}
    _component(registry)
    record = registry.do(f"get {SERVICE}/components/{LABEL}")
    assert record == {"type": "JSONServiceRecord", "description": "worker-0", "external": [],
                      "internal": [], "yarn:id": CONTAINER, "yarn:persistence": "container",
                      "yarn:ip": "10.1.2.3", "yarn:hostname": "worker-0",
                      "yarn:component": "worker"}
    assert registry.do(f"list {SERVICE}") == ["components"]
    assert registry.do(f"list {SERVICE}/components") == [LABEL]
    _component(registry, ip="10.1.2.4")  # again: the same place, another address
    assert registry.do(f"get {SERVICE}/components/{LABEL}")["yarn:ip"] == "10.1.2.4"
    assert registry.do("service mnist 10.1.2.9 8081") == {}
    port = registry.do(f"get {SERVICE}")["external"][0]["addresses"][0]["port"]
    assert port == "8081"
    assert "not empty" in registry.do(f"delete {SERVICE}")["error"]
    assert registry.do(f"delete {SERVICE}/components/{LABEL}") == {}
    assert registry.do(f"delete {SERVICE}/components/{LABEL}") == {}
    assert registry.do(f"list {SERVICE}/components") == []
    assert registry.do(f"delete-all {SERVICE}") == {}
    assert "no node" in registry.do(f"get {SERVICE}")["error"]
    assert "no record" in registry.do("get /users/alice")["error"]
    assert "not a path" in registry.do("get /Users")["error"]


def test_hadoop_reads_the_records(registry, ha_cluster):
    assert registry.do("service mnist 10.1.2.9 8080") == {}
    _component(registry)
    classes = f"{registry.conf}:{ha_cluster.lay.home}/lib/*"
    done = ha_cluster.java("-cp", classes, _CLI, "ls", f"{SERVICE}/components", check=False)
    assert (done.returncode, LABEL in done.stdout) == (0, True), done.stdout + done.stderr
    done = ha_cluster.java("-cp", classes, _CLI, "resolve", SERVICE, check=False)
    assert "10.1.2.9" in done.stdout, done.stdout + done.stderr


def test_registry_dns_answers_for_the_records(registry, ha_cluster):
    assert registry.do("service mnist 10.1.2.9 8080") == {}
    _component(registry)
    with registry_dns.running(ha_cluster, _quorum(ha_cluster)) as dns:
        ends = f"mnist.alice.{registry_dns.DOMAIN}"
        dns.wait_for(f"worker-0.{ends}", ["10.1.2.3"])  # was there before it
        dns.wait_for(f"worker.{ends}", ["10.1.2.3"])
        dns.wait_for(f"{LABEL}.{registry_dns.DOMAIN}", ["10.1.2.3"])
        dns.wait_for(ends, ["10.1.2.9"])
        dns.wait_for(f"http-api.{ends}", ["10.1.2.9:8080"], registry_dns.SRV)
        assert registry.do("component mnist container_1_0001_01_000006 worker-1 10.1.2.5") == {}
        dns.wait_for(f"worker-1.{ends}", ["10.1.2.5"])  # comes while it runs
        assert registry.do(f"delete {SERVICE}/components/{LABEL}") == {}
        dns.wait_for(f"worker-0.{ends}", [])
        registry.close()
        dns.wait_for(f"worker-1.{ends}", [])


def test_what_lives_as_long_as_the_program_goes_with_it(ha_cluster, tmp_path):
    conf = _conf(ha_cluster, tmp_path)
    with Registry(conf) as watcher:
        for end in ("closed", "killed"):
            with Registry(conf) as one:
                _component(one)
                assert watcher.do(f"list {SERVICE}/components") == [LABEL]
                if end == "closed":
                    one.close()
                    assert watcher.do(f"list {SERVICE}/components") == []
        wait_for(lambda: watcher.do(f"list {SERVICE}/components") == [], "the session is over")
        watcher.do("delete-all /users/alice/services/ydl")


def test_a_lost_session_is_replaced_with_all_its_records(registry, ha_cluster, tmp_path):
    """Held up for so long that the servers forget it; nothing but time tells it."""
    _component(registry)
    (tmp_path / "other").mkdir()
    with Registry(_conf(ha_cluster, tmp_path / "other")) as watcher:
        os.kill(registry.process.pid, signal.SIGSTOP)
        wait_for(lambda: watcher.do(f"list {SERVICE}/components") == [], "it is forgotten")
        os.kill(registry.process.pid, signal.SIGCONT)
        wait_for(lambda: watcher.do(f"list {SERVICE}/components") == [LABEL], "it is back")
    assert registry.do(f"get {SERVICE}/components/{LABEL}")["yarn:ip"] == "10.1.2.3"


def test_calls_wait_for_a_zookeeper_that_is_away(registry, ha_cluster):
    _component(registry)
    ha_cluster.kill("zk")
    registry.process.stdin.write(f"list {SERVICE}/components\n")
    registry.process.stdin.flush()
    ready, _, _ = select.select([registry.process.stdout], [], [], 1)
    assert not ready  # no answer, and none is wrong
    ha_cluster.start("zk")
    assert json.loads(registry.process.stdout.readline()) == [LABEL]


def test_no_zookeeper_is_said_in_time(ha_cluster, tmp_path):
    conf = _conf(ha_cluster, tmp_path, **{"zk.quorum": "127.0.0.1:9",
                                          "zk.connection.timeout.ms": "1500"})
    begun = time.monotonic()
    with Registry(conf) as registry:
        assert registry.opened == {"error": "ZooKeeper at '127.0.0.1:9' does not answer"}
    assert time.monotonic() - begun > 1


def test_a_registry_with_kerberos_is_refused(ha_cluster, tmp_path):
    with Registry(_conf(ha_cluster, tmp_path, secure="true")) as registry:
        assert "wants Kerberos" in registry.opened["error"]
