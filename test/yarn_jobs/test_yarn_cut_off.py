"""A master that only the ResourceManager cannot hear: it is given up and followed by another one while
it lives. The job goes on once, with every task where it was.

The master asks the ResourceManager through a proxy of the test, which is named in the cluster's
configuration and can cut one process off. YARN would end the master's container as soon as it has given
it up; the NodeManager there is made to stand still, so that both masters are there for a while."""

import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest
from test_yarn_faults import parent
from test_yarn_takeover import read_until

pytestmark = pytest.mark.full  # a cluster of its own

SCHEDULER = "yarn.resourcemanager.scheduler.address"
STEPS = """
import os, sys, time
n = 0
while not os.path.exists(sys.argv[1]):
    print("step", n, os.getpid(), os.environ["YDL_ATTEMPT"], flush=True)
    n += 1
    time.sleep(0.2)
"""


def end_both(*ends):
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended already
            pass


def open_files(pid: int):
    """What a process has open. It opens and closes files meanwhile, and may end."""
    try:
        fds = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for fd in fds:
        try:
            yield os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:  # closed: the others are still there
            pass


class Proxy:
    """Passes connections on, except those of a process that is cut off: they are taken and ended."""

    def __init__(self, host: str, port: int):
        self.target, self.cut_pid, self.passed = (host, port), None, {}
        self.listener = socket.create_server((host, 0))
        self.address = f"{host}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _is_of(self, pid: int | None, port: int) -> bool:
        """Does this process have the connection from `port` to us?"""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ours = self.listener.getsockname()[1]
        nodes = {f"socket:[{row[9]}]" for row in rows if int(row[1].split(":")[1], 16) == port
                 and int(row[2].split(":")[1], 16) == ours}
        return pid is not None and bool(nodes & set(open_files(pid)))

    def _accept(self):
        while True:
            try:
                client, (_, port) = self.listener.accept()
            except OSError:
                return
            if self._is_of(self.cut_pid, port):
                client.close()
                continue
            server = socket.create_connection(self.target)
            self.passed[port] = client, server
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    @staticmethod
    def _copy(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        end_both(a, b)

    def cut(self, pid: int):
        self.cut_pid = pid
        found = [ends for port, ends in self.passed.items() if self._is_of(pid, port)]
        assert found, "the master does not come through the proxy"
        for ends in found:
            end_both(*ends)

    def close(self):
        self.listener.close()


def test_a_connection_is_known_while_its_process_closes_files(monkeypatch):
    read, closed = os.readlink, []

    def read_but_the_first(path):
        if not closed:
            closed.append(path)
            raise FileNotFoundError(path)
        return read(path)

    proxy = Proxy("127.0.0.1", 9)  # nobody is asked there
    proxy.cut_pid = os.getpid()
    monkeypatch.setattr(os, "readlink", read_but_the_first)
    with socket.create_connection(proxy.listener.getsockname()) as client:
        client.settimeout(20)
        assert client.recv(1) == b"", "it was passed on"
    assert closed
    proxy.close()


@pytest.fixture
def proxied(own_cluster):
    """A cluster whose masters reach the ResourceManager through a proxy; its daemons have read their
    configuration by then. A NodeManager that stands still is waited for."""
    cluster = own_cluster(nodes=3, datanodes=1,
                          settings=["yarn:yarn.nm.liveness-monitor.expiry-interval-ms=300000"])
    site = cluster.conf_dir / "yarn-site.xml"
    text = site.read_text()
    real = re.search(rf"<name>{SCHEDULER}</name><value>([^<]*):(\d+)</value>", text)
    proxy = Proxy(real[1], int(real[2]))
    site.write_text(text.replace(real[0], f"<name>{SCHEDULER}</name><value>{proxy.address}</value>"))
    yield cluster, proxy
    proxy.close()


def lowest(jobs, text):
    """Processes with this in their command line, without those that stand above others."""
    found, above = jobs.processes(text), set()
    for pid in found:
        try:
            above.add(parent(pid))
        except FileNotFoundError:  # it has just gone
            pass
    return sorted(set(found) - above)


def masters(jobs):
    return lowest(jobs, "ydl-node master")


def sockets(pid):
    """Of a process: {(own port, the other end's port)}; 0: it listens."""
    held = set(open_files(pid))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {tuple(int(end.split(":")[1], 16) for end in row[1:3]) for row in rows
            if f"socket:[{row[9]}]" in held}


def all_with(jobs, master):
    """Has every agent a connection to this master?"""
    own = {port for port, other in sockets(master) if other == 0}
    return all(any(other in own for _, other in sockets(pid))
               for pid in lowest(jobs, "ydl-node agent"))


def events(jobs, app):
    return [json.loads(line) for line in jobs.run("events", "--json", app).stdout.splitlines()]


def attempts(jobs, app):
    """Which masters have written to the log."""
    return [e["attempt"] for e in events(jobs, app) if e["event"] == "master"]


def steps_of(seen, task):
    return [tuple(map(int, line.split()[-3:])) for line in seen if line.startswith(f"{task}│ step")]


@pytest.mark.parametrize("killed", ["soon", "late"])
def test_a_master_that_the_resourcemanager_cannot_hear_is_followed_by_another(proxied, jobs_on, tmp_path,
                                                                              killed):
    """Its NodeManager ends it soon, or late: then it has to find out itself that it is not wanted."""
    cluster, proxy = proxied
    jobs = jobs_on(cluster)
    (jobs.work / "steps.py").write_text(STEPS)
    go, seen = tmp_path / "go", []
    run = jobs.start("run", "--on", "yarn", "-n", 3, "--mem", "128m", "--", "python3", "-u", "steps.py",
                     go)
    for rank in range(3):
        read_until(run, seen, lambda line, rank=rank: f"worker:{rank}│ step 2" in line)
    reader = threading.Thread(target=lambda: seen.extend(line.rstrip("\n") for line in run.stdout),
                              daemon=True)
    reader.start()
    app, old = jobs.apps()[0], masters(jobs)[0]
    node = jobs.node_of(old)
    cluster.pause(node)
    try:
        proxy.cut(old)
        new = jobs.wait_for(lambda: [pid for pid in masters(jobs) if pid != old], "a second master", 180)
        jobs.wait_for(lambda: attempts(jobs, app) == [1, 2], "the second master's first word", 120)
        assert old in jobs.processes("ydl-node master"), "both are to be there"
        if killed == "late":
            jobs.wait_for(lambda: all_with(jobs, new[0]), "every agent at the second master", 120)
            jobs.wait_for(lambda: masters(jobs) == new, "the first master leaves", 60)
    finally:
        cluster.resume(node)
    jobs.wait_for(lambda: masters(jobs) == new, "the end of the first master", 60)
    jobs.wait_for(lambda: all_with(jobs, new[0]), "every agent at the second master", 120)
    status = json.loads(jobs.run("status", "--json", app, check=0).stdout)
    assert [(t["state"], t["attempt"]) for t in status["tasks"]] == [("RUNNING", 0)] * 3
    go.touch()
    reader.join(180)
    assert run.wait(60) == 0, run.stderr.read()
    for task in ("worker:0", "worker:1", "worker:2"):
        steps = steps_of(seen, task)
        assert [n for n, _, _ in steps] == list(range(len(steps)))
        assert len({(pid, attempt) for _, pid, attempt in steps}) == 1
    told = events(jobs, app)
    assert attempts(jobs, app) == [1, 2]
    numbers = [e["seq"] for e in told if "seq" in e]
    assert numbers == sorted(set(numbers))
    assert [e for e in told if e["event"] in ("failure", "restart")] == []
    assert [e["event"] for e in told].count("end") == 1
    page = jobs.ended()
    assert (page["state"], page["finalStatus"]) == ("FINISHED", "SUCCEEDED"), page
