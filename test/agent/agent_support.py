"""What the tests of the agent share: a master to order it about, and a look at what is left."""

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from ydl_cluster.patience import Limit

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
UNIT = BIN.parent / "unit"
PATIENCE = 60.0  # seconds for what takes moments: it ends a test that hangs, and decides nothing else
KEY = base64.b64encode(bytes(range(32))).decode()
# enum fail_class of src/job/event.h
NONE, EXIT, SIGNAL, MEMORY, START, FILES, PORT, DISK, NOT_READY, LOG_LIMIT, NODE, PREEMPTED, \
    PERSON = range(13)
READY_PORT, READY_HTTP, READY_FILE, READY_LOG = range(1, 5)


def b64(text) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def unb64(text: str) -> bytes:
    return base64.b64decode(text)


class Bench:
    """A run directory, a master and agents. Everything ends with it."""

    def __init__(self, agents: int = 1, lease: int = 0, tls: bool = False, **facts):
        self.run = Path(tempfile.mkdtemp(prefix="ydl-", dir="/tmp"))
        self.logs = Path(tempfile.mkdtemp(prefix="agentlogs-", dir="/tmp"))
        self.mark = f"mark-{os.urandom(8).hex()}"
        env = [f"PATH={os.environ['PATH']}", f"YDL_TEST_MARK={self.mark}"]
        job = {"job": "job-1", "log_dir": str(self.logs), "work_dir": str(self.run), "env": env}
        job |= facts
        welcome = {"heartbeat_ms": 200, "lease_ms": lease, "job": job}
        address = "tls" if tls else str(self.run / "agents.sock")
        self.driver = subprocess.Popen(
            [UNIT / "agent_driver", address, KEY, json.dumps(welcome)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events: queue.Queue = queue.Queue()
        self.seen: list[dict] = []
        self.kv = Store(self)
        self.lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        port = self.take(lambda e: "listening" in e)["listening"]
        self.join = self.run / "join.json"
        self.join.touch(0o600)
        self.join.write_text(json.dumps({
            "address": f"tcp:127.0.0.1:{port}" if tls else f"unix:{address}", "job": "job-1",
            "key": KEY}))
        self.agents = [self.start_agent(i) for i in range(agents)]
        for i in range(agents):
            self.take(lambda e, i=i: e.get("agent") == i and "hello" in e.get("from", {}))

    def start_agent(self, number: int, **options) -> subprocess.Popen:
        return subprocess.Popen([BIN / "ydl-node", "agent", "--join", self.join, "--number",
                                 str(number), "--node", f"node-{number}"], **options)

    def _read(self):
        for line in self.driver.stdout:
            event = json.loads(line)
            requests = event.get("from", {}).get("kv", {}).get("requests", ())
            for request in requests:
                self.kv.request(event["agent"], request)
            if not requests:
                self.events.put(event)

    # ---- orders ----
    def tell(self, agent: int = 0, **to):
        with self.lock:
            self.driver.stdin.write(json.dumps({"agent": agent, "to": to}) + "\n")
            self.driver.stdin.flush()

    def prepare(self, *tasks: dict, agent: int = 0) -> list[dict]:
        """Prepares tasks; what came back for each."""
        wanted = [t["task"] for t in tasks]
        self.tell(agent, prepare={"tasks": list(tasks)})
        return [self.take_task("prepared", n, agent) for n in wanted]

    def start(self, *tasks: dict, agent: int = 0, spec: str = '{"roles": {}}'):
        self.tell(agent, start={"tasks": list(tasks), "spec": b64(spec)})

    def launch(self, task: int, argv: list, agent: int = 0, prepare: dict | None = None, **start):
        """Prepares and starts one; its number of process."""
        ready = self.prepare({"task": task, "name": f"worker:{task}"} | (prepare or {}),
                             agent=agent)[0]
        assert ready.get("fail", 0) == 0, ready
        self.start(command(task, argv, **start), agent=agent)
        return self.take_task("started", task, agent)["pid"]

    def stop(self, *tasks: int, grace: int = 5000, agent: int = 0):
        self.tell(agent, stop={"tasks": list(tasks), "grace_ms": grace})

    # ---- what came ----
    def take(self, match, timeout: float = PATIENCE) -> dict:
        """The first event that matches, of those not taken yet."""
        limit = Limit(timeout)
        for i, event in enumerate(self.seen):
            if match(event):
                return self.seen.pop(i)
        while True:
            try:
                event = self.events.get(timeout=limit.left())
            except queue.Empty:
                if limit.over():
                    raise AssertionError(f"not in time; seen: {self.seen[-20:]}") from None
                continue
            if match(event):
                return event
            self.seen.append(event)

    def take_task(self, kind: str, task: int, agent: int = 0, timeout: float = PATIENCE) -> dict:
        """One task's part of a Prepared, Started, Exited …"""
        event = self.take(lambda e: e.get("agent") == agent and any(
            t["task"] == task for t in e.get("from", {}).get(kind, {}).get("tasks", ())), timeout)
        tasks = event["from"][kind]["tasks"]
        found = next(t for t in tasks if t["task"] == task)
        tasks.remove(found)
        if tasks:
            self.seen.append(event)
        return found

    def exited(self, task: int, agent: int = 0, timeout: float = PATIENCE) -> dict:
        end = self.take_task("exited", task, agent, timeout)
        end["lines"] = unb64(end["lines"]).decode()
        return end

    def ready(self, task: int, timeout: float = PATIENCE):
        event = self.take(lambda e: task in e.get("from", {}).get("ready", {}).get("tasks", ()),
                          timeout)
        event["from"]["ready"]["tasks"].remove(task)
        self.seen.append(event)

    def output(self, task: int, stream: str = "out") -> bytes:
        return (self.logs / f"worker-{task}.{stream}").read_bytes()

    def followed(self, tasks: list[int], timeout: float = PATIENCE) -> dict:
        """Bytes that came until all streams of the tasks had ended, by (task, err)."""
        got = {(t, err): b"" for t in tasks for err in (False, True)}
        open_ = set(got)
        while open_:
            event = self.take(lambda e: "output" in e.get("from", {}), timeout)
            for piece in event["from"]["output"]["pieces"]:
                key = piece["task"], piece["err"]
                assert piece["offset"] == len(got[key]), piece
                got[key] += unb64(piece["data"])
                if piece["end"]:
                    open_.discard(key)
        return got

    # ---- the end ----
    def processes(self) -> list[int]:
        """Processes that a task of this bench started, wherever they are now."""
        return [pid for pid in all_pids() if self.mark.encode() in environ(pid)]

    def gone(self, seconds: float = PATIENCE, agents: bool = True) -> bool:
        """Is everything gone within this time?"""
        limit = Limit(seconds)
        while not limit.over():
            left = self.processes()
            if not left and not (agents and any(a.poll() is None for a in self.agents)):
                return True
            time.sleep(0.01)
        return False

    def shutdown(self, grace: int = 2000):
        """The orderly end; nothing may be left."""
        for i, agent in enumerate(self.agents):
            if agent.poll() is None:
                self.tell(i, shutdown={"grace_ms": grace})
        for agent in self.agents:
            assert agent.wait(PATIENCE) == 0
        assert not self.processes()
        assert not (self.run / "tasks").exists() or not list((self.run / "tasks").iterdir())

    def close(self):
        for process in [self.driver, *self.agents]:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path in (self.run, self.logs):
            shutil.rmtree(path, ignore_errors=True)


class Store:
    """As much of the job's key-value store as the tests need."""

    def __init__(self, bench: Bench):
        self.bench, self.values, self.waits, self.here = bench, {}, [], {}

    def reply(self, agent: int, request: dict, *words):
        self.bench.tell(agent, kv={"replies": [{
            "task": request["task"], "id": request["id"], "words": [b64(w) for w in words]}]})

    def request(self, agent: int, request: dict):
        name, *args = [unb64(w) for w in request["words"]]
        if name == b"put":
            self.values[args[0]] = args[1]
            self.reply(agent, request, "ok")
            for a, r in [w for w in self.waits if unb64(w[1]["words"][1]) == args[0]]:
                self.waits.remove((a, r))
                self.reply(a, r, "value", args[1])
        elif name == b"get" or (name == b"wait" and args[0] in self.values):
            value = self.values.get(args[0])
            self.reply(agent, request, *(["value", value] if value is not None else ["none"]))
        elif name == b"wait":
            self.waits.append((agent, request))
        elif name == b"del":
            found = self.values.pop(args[0], None)
            self.reply(agent, request, "none" if found is None else "ok")
        elif name == b"list":
            self.reply(agent, request, "keys", *sorted(self.values))
        elif name == b"add":
            total = int(self.values.get(args[0], b"0")) + int(args[1])
            self.values[args[0]] = str(total).encode()
            self.reply(agent, request, "value", str(total))
        elif name == b"barrier":
            here = self.here.setdefault(args[0], [])
            here.append((agent, request))
            if len(here) == int(args[1]):
                for a, r in self.here.pop(args[0]):
                    self.reply(a, r, "ok")
        else:
            self.reply(agent, request, "ok", *args)


def command(task: int, argv: list, **more) -> dict:
    """A StartTask; a plain text is a shell script."""
    argv = ["sh", "-c", argv] if isinstance(argv, str) else argv
    more["env"] = [b64(v) for v in more.pop("env", [])]
    return {"task": task, "argv": [b64(w) for w in argv]} | more


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def environ(pid: int) -> bytes:
    """Of a living process; a zombie has none."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def resident(pid: int) -> int:
    """KB of memory that it has now."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split("\nRss:")[1].split()[0])


def wait_until(condition, seconds: float = PATIENCE):
    limit = Limit(seconds)
    while not condition():
        assert not limit.over(), "not in time"
        time.sleep(0.01)
