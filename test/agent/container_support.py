"""A container as a NodeManager makes it, with an agent in it and masters that come and go."""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import urllib.parse
from pathlib import Path

from agent_support import BIN, KEY, PATIENCE, UNIT, Bench, Store, unb64

# An agent that comes back into its container, or beside its client, ends what has its container's id:
# tests side by side need ids of their own.
JOB = f"application_1700000000000_{os.getpid():04}"
CONTAINER = f"container_e01_1700000000000_{os.getpid():04}_01_000002"


# ---- Hadoop's file of credentials, version 0 ----
def _vint(n: int) -> bytes:
    if n < 128:
        return bytes([n])
    body = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([(-112 - len(body)) & 0xff]) + body


def _bytes(data) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _vint(len(data)) + data


def credentials(secrets: dict, tokens: dict | None = None) -> bytes:
    """`tokens`: service by kind; identifier and password are made up."""
    tokens = tokens or {}
    out = b"HDTS\0" + _vint(len(tokens))
    for kind, service in tokens.items():
        out += _bytes(f"{kind}@{service}") + _bytes("id") + _bytes("pw-" + kind)
        out += _bytes(kind) + _bytes(service)
    out += _vint(len(secrets))
    for alias, value in secrets.items():
        out += _bytes(alias) + _bytes(value)
    return out


class ContainerBench(Bench):
    """`depth` makes the path of the work directory as long as YARN's are. An agent leaves a master that
    has been silent for four heartbeats, or half a lease: a test that stands still for a while is none.
    `link`: what the agent reaches its masters through (link_support.py)."""

    def __init__(self, lease: int = 20000, depth: int = 100, conf: str = "<configuration/>",
                 base: str | None = None, user: str | None = None, heartbeat: int = 2000,
                 tokens: dict | None = None, prepare=None, cut: int = 0, acks: bool = False, silence: int = 0,
                 link=None, **facts):
        # pylint: disable=super-init-not-called
        self.top = Path(tempfile.mkdtemp(prefix="ydlc-", dir="/tmp"))
        self.run = self.top / ("x" * depth) / CONTAINER
        self.logs = self.top / "logs"
        self.mark = f"mark-{os.urandom(8).hex()}"
        for path in (self.run, self.logs, self.top / "hdfs" / "jobs" / JOB):
            path.mkdir(parents=True)
        self.base = base or f"file://{self.top}/hdfs"
        self.boot = {"job": JOB, "base": self.base, "conf": conf}
        if user:
            self.boot["user"] = user
        self.tokens = {"HDFS_DELEGATION_TOKEN": "ha-hdfs:none"} if tokens is None else tokens
        self.heartbeat, self.lease, self.cut, self.acks = heartbeat, lease, cut, acks
        self.silence, self.link = silence, link
        self.facts = {"job": JOB, "env": [f"YDL_TEST_MARK={self.mark}"],
                      "staging": f"{self.base}/jobs/{JOB}"} | facts
        self.lock = threading.Lock()
        self.drivers: list[subprocess.Popen] = []
        self.agents: list[subprocess.Popen] = []
        if prepare:
            prepare(self)
        self.new_master()
        self.hello = self.new_agent()

    # ---- who comes and goes ----
    def new_master(self, refuses: str | None = None):
        """Another master. Agents of an earlier one find it if they look."""
        env = os.environ | ({"DRIVER_REFUSES": refuses} if refuses else {})
        welcome = {"heartbeat_ms": self.heartbeat, "lease_ms": self.lease, "job": self.facts,
                   "cut_ms": self.cut, "attempt": len(self.drivers) + 1, "acks_saved": self.acks,
                   "silence_ms": self.silence}
        self.events, self.seen, self.kv = queue.Queue(), [], Store(self)
        self.driver = subprocess.Popen(
            [UNIT / "agent_driver", "tls", KEY, json.dumps(welcome)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.drivers.append(self.driver)
        threading.Thread(target=self._follow, args=(self.driver, self.events, self.kv),
                         daemon=True).start()
        port = self.take(lambda e: "listening" in e)["listening"]
        if self.link:
            self.link.to, port = port, self.link.port
        self.address = f"tcp:127.0.0.1:{port}"

    def _follow(self, driver, events, kv):
        for line in driver.stdout:
            event = json.loads(line)
            requests = event.get("from", {}).get("kv", {}).get("requests", ())
            for request in requests:
                if driver is self.driver:
                    kv.request(event["agent"], request)
            if not requests:
                events.put(event)

    def announce(self, address: str | None = None, attempt: int | None = None):
        """Says in the job's directory where the master is; for files in place of HDFS."""
        jobs = Path(urllib.parse.urlparse(self.base).path) / "jobs" / JOB
        jobs.mkdir(parents=True, exist_ok=True)
        new = jobs / "master.json.new"
        new.write_text(json.dumps({"attempt": attempt or len(self.drivers),
                                   "address": address or self.address}))
        new.rename(jobs / "master.json")

    def environment(self) -> dict:
        return {"PATH": os.environ["PATH"], "CONTAINER_ID": CONTAINER, "NM_HOST": "localhost",
                "NM_PORT": "45454", "NM_HTTP_PORT": "8042", "LOG_DIRS": f"{self.logs},/no/such",
                "LOCAL_DIRS": str(self.top), "HOME": "/home/", "JVM_PID": "1",
                "MALLOC_ARENA_MAX": "", "NM_AUX_SERVICE_mapreduce_shuffle": "AAA0+gAAAAA=",
                "HADOOP_TOKEN_FILE_LOCATION": str(self.run / "container_tokens"),
                "HADOOP_CONF_DIR": "/no/such/conf", "LANG": "C.UTF-8", "USER": "somebody"}

    def write_credentials(self, address: str | None = None):
        path = self.run / "container_tokens"
        path.unlink(missing_ok=True)
        path.touch(0o600)
        boot = self.boot | {"address": address or self.address}
        path.write_bytes(credentials({"ydl.key": unb64(KEY), "ydl.boot": json.dumps(boot),
                                      "theirs": "secret"},
                                     self.tokens | {"YARN_AM_RM_TOKEN": ""}))

    def new_agent(self, address: str | None = None, hello: bool = True) -> dict | None:
        """A process that the NodeManager starts, and below it the agent: `pid`."""
        self.write_credentials(address)
        self.agents.append(subprocess.Popen([BIN / "ydl-node", "agent", "--container"],
                                            cwd=self.run, env=self.environment(),
                                            start_new_session=True,
                                            stdout=open(self.logs / "agent.log", "ab"),
                                            stderr=subprocess.STDOUT))
        if not hello:
            return None
        got = self.next_hello()
        self.pid = got["pid"]
        self.guard = int(Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        return got

    def signal(self, number: int):
        """As a NodeManager does it: to the whole group."""
        os.killpg(self.agents[-1].pid, number)

    def next_hello(self, timeout: float = PATIENCE) -> dict:
        return self.take(lambda e: "hello" in e.get("from", {}), timeout)["from"]["hello"]

    def hang_up(self):
        with self.lock:
            self.driver.stdin.write('{"agent": 0, "hang_up": true}\n')
            self.driver.stdin.flush()

    # ---- the end ----
    def output(self, task: int, stream: str = "out") -> bytes:
        return (self.logs / f"worker-{task}.std{stream}").read_bytes()

    def saved(self, timeout: float = PATIENCE) -> list[dict]:
        """All that is said to be saved, up to the last."""
        got = []
        while not got or not got[-1]["last"]:
            got.append(self.take(lambda e: "saved" in e.get("from", {}), timeout)["from"]["saved"])
        return got

    def leave(self, grace: int = 1000, failed: bool = False) -> list[dict]:
        """The orderly end; what was saved."""
        self.tell(shutdown={"grace_ms": grace, "failed": failed})
        got = self.saved()
        assert self.agents[-1].wait(PATIENCE) == 0
        assert not self.processes() and not (self.run / ".ydl").exists()
        return got

    def close(self):
        for process in [*self.drivers, *self.agents]:
            process.kill()
            process.wait()
        super().close()
        shutil.rmtree(self.top, ignore_errors=True)
