"""What the tasks of a job see of each other after it was scaled, restarted, killed and taken over,
over random sequences of these, compared with a small model.

`YDL_GANG_SEED=N` plays one sequence again: its number is in the message of a test that fails.
"""

import json
import os
import random
import resource
import signal
import time
from pathlib import Path

import pytest

from ydl_cluster.patience import Limit

SEED = os.environ.get("YDL_GANG_SEED")
STEPS = 8
STEPS_HERE = ["scale", "scale", "restart", "restart_task", "kill_task"]
MOST = {"kill_task": 2, "take_over": 1}  # of a kind, in one sequence
PATIENCE = 90
# A task writes down what it was told, in a file of its own for each start. The tracker and PMI
# answer only when all of their world have come. Then it passes a barrier for each file "round-N".
PROGRAM = r"""
import json, os, signal, socket, struct, sys, threading, time
seen, env = sys.argv[1], os.environ
role, rank, attempt = env["YDL_ROLE"], env["YDL_RANK"], env["YDL_ATTEMPT"]
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
def tell(name, what):
    path = f"{seen}/{name}-{role}-{rank}-{attempt}"
    with open(path + ".new", "w") as f:
        json.dump(what, f)
    os.rename(path + ".new", path)
def ask(line):
    s = socket.socket(socket.AF_UNIX)
    s.connect(env["YDL_SOCKET"])
    s.sendall(line.encode() + b"\n")
    return s.makefile().readline().split()
def tracker():
    s = socket.create_connection((env["DMLC_TRACKER_URI"], int(env["DMLC_TRACKER_PORT"])))
    s.sendall(struct.pack("=iiii4si5s", 0xFF99, -1, -1, 4, b"NULL", 5, b"start"))
    return struct.unpack("=iiii", s.recv(16, socket.MSG_WAITALL))[3]
def pmi():
    s = socket.socket(fileno=int(env["PMI_FD"]))
    for line in ("cmd=init pmi_version=1 pmi_subversion=1", "cmd=barrier_in"):
        s.sendall(line.encode() + b"\n")
        s.recv(1000)
def start():
    told = {name: env[name] for name in env if name.endswith(("WORLD", "WORLD_SIZE", "NUM_WORKER"))
            or name in ("PMI_SIZE", "HOROVOD_SIZE", "YDL_GENERATION")}
    if "DMLC_TRACKER_URI" in env:
        told["tracker WORLD_SIZE"] = str(tracker())
    if "PMI_FD" in env:
        pmi()
    tell("started", {"env": told, "spec": json.load(open(env["YDL_SPEC"])), "pid": os.getpid()})
n = 0
while os.path.exists(f"{seen}/round-{n}"):
    n += 1
threading.Thread(target=start).start()
while not os.path.exists(f"{seen}/finish"):
    if os.path.exists(f"{seen}/round-{n}"):
        tell(f"round-{n}", ask(f"barrier {role}-{n}"))
        n += 1
    time.sleep(0.02)
os._exit(0)
"""


class Model:
    """What the job should be: how many tasks each role has, and how often it was formed."""

    def __init__(self, elastic: bool, procs: int, counts: dict[str, int]):
        self.elastic, self.procs, self.counts, self.generation = elastic, procs, dict(counts), 0
        self.worlds: dict[tuple[str, int], dict] = {}  # what a start saw, by task and attempt

    def world(self) -> dict[str, int]:
        return {role: n * self.procs for role, n in self.counts.items()}

    def names(self) -> list[str]:
        return [f"{role}:{rank}" for role, n in self.world().items() for rank in range(n)]

    def formed(self) -> None:
        if not self.elastic:
            self.generation += 1


class Gang:
    """A job and its model; every step leaves both as they should be, or fails."""

    def __init__(self, jobs, model: Model, place: list[str], framework: str):
        self.jobs, self.model = jobs, model
        self.seen = jobs.dir / "seen"
        self.seen.mkdir()
        self.seen.chmod(0o777)
        self.rounds = 0
        (jobs.work / "see.py").write_text(PROGRAM)
        roles = "".join(f"  {role}: {{count: {n}, procs: {model.procs}, memory: 128m, "
                        f"decides: {'yes' if role == 'worker' else 'no'}}}\n"
                        for role, n in model.counts.items())
        (jobs.work / "job.yaml").write_text(
            f"name: gang\nframework: {framework}\nfiles: [see.py]\nroles:\n{roles}"
            f"restart: {{policy: {'task' if model.elastic else 'gang'}, max: 50}}\ngrace: 5s\n"
            f"command: [python3, see.py, {self.seen}]\n")
        self.job = jobs.submit(*place, "-f", "job.yaml")
        self.attempts: dict[str, int] = {}
        self.settle(())

    def until(self, what, why: str):
        limit = Limit(PATIENCE)
        while not (found := what()):
            assert not limit.over(), why + "\n" + self.jobs("status", "-t", self.job).stdout
            time.sleep(0.02)
        return found

    def status(self) -> dict:
        done = self.jobs("status", "--json", "--tasks", self.job)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def started(self, task: str, attempt: int) -> dict | None:
        path = self.seen / f"started-{task.replace(':', '-')}-{attempt}"
        return json.loads(path.read_text()) if path.exists() else None

    def settle(self, again) -> None:
        """Waits until exactly the model's tasks run, those in `again` anew; then looks at what
        each of them was told."""
        def stands():
            status = self.status()
            tasks = {t["task"]: t for t in status.get("tasks", [])}
            if sorted(tasks) != sorted(self.model.names()) or status["state"] != "RUNNING":
                return None
            if any(t["state"] != "RUNNING" for t in tasks.values()):
                return None
            if any(name in tasks and tasks[name]["attempt"] <= self.attempts.get(name, -1)
                   for name in again):
                return None
            return tasks if all(self.started(name, t["attempt"]) for name, t in tasks.items()) else None
        tasks = self.until(stands, f"the job is not {self.model.names()}")
        for name, task in tasks.items():
            key = (name, task["attempt"])
            self.model.worlds.setdefault(key, self.model.world() | {"generation": self.model.generation})
            self.look(name, self.started(*key), self.model.worlds[key])
        self.attempts |= {name: t["attempt"] for name, t in tasks.items()}
        self.pass_barrier()
        spec = self.jobs.json("spec", self.job)
        assert {role: len(rows) for role, rows in spec["roles"].items()} == self.model.world()

    def look(self, name: str, told: dict, world: dict) -> None:
        role = name.split(":")[0]
        spec = told["spec"]
        assert {r: [t["rank"] for t in rows] for r, rows in spec["roles"].items()} == {
            r: list(range(n)) for r, n in world.items() if r != "generation"}, (name, spec)
        assert spec["generation"] == world["generation"] == int(told["env"]["YDL_GENERATION"]), name
        for variable, value in told["env"].items():
            if variable in ("YDL_GENERATION", "YDL_LOCAL_WORLD") or "LOCAL" in variable:
                continue
            expected = world[role]
            if variable == "GROUP_WORLD_SIZE":
                expected //= self.model.procs
            elif variable == "DMLC_NUM_WORKER":
                expected = world["worker"]
            assert value == str(expected), (name, variable, value, expected)

    def pass_barrier(self) -> None:
        """All of a role pass one of the size that it has."""
        n, self.rounds = self.rounds, self.rounds + 1
        (self.seen / f"round-{n}").touch()
        for role, size in self.model.world().items():
            for rank in range(size):
                path = self.seen / f"round-{n}-{role}-{rank}-{self.attempts[f'{role}:{rank}']}"
                self.until(path.exists, f"{path} is not there")
                assert json.loads(path.read_text()) == ["ok"], path

    def everybody(self) -> list[str]:
        return [] if self.model.elastic else self.model.names()

    # ---- what can happen ----

    def scale(self, chance: random.Random) -> str:
        role = chance.choice(sorted(self.model.counts))
        count = chance.choice([n for n in range(1, 5) if n != self.model.counts[role]])
        self.until(lambda: self.jobs("scale", self.job, f"{role}={count}").returncode == 0,
                        "it could not be scaled")  # what was scaled away may still be ending
        self.model.counts[role] = count
        self.model.formed()
        for key in [k for k in self.attempts if k not in self.model.names()]:
            del self.attempts[key]
        self.settle(self.everybody())
        return f"{role}={count}"

    def restart(self, chance: random.Random) -> str:
        self.jobs.ok("restart", self.job)
        self.model.generation += 1
        self.settle(self.model.names())
        return ""

    def restart_task(self, chance: random.Random) -> str:
        task = chance.choice(self.model.names())
        self.jobs.ok("restart", self.job, task)
        self.settle([task])
        return task

    def kill_task(self, chance: random.Random) -> str:
        task = chance.choice(self.model.names())
        os.kill(self.started(task, self.attempts[task])["pid"], signal.SIGKILL)
        self.model.formed()
        self.settle([task] + self.everybody())
        return task

    def take_over(self, _: random.Random) -> str:
        masters = set(self.masters())
        for pid in masters:
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: set(self.masters()) - masters and self.status(), "there is no new master")
        self.settle(())
        return ""

    def masters(self) -> list[int]:
        return [pid for pid, line in self.jobs.cluster.processes(self.job).items()
                if "ydl-node master" in line and not line.startswith(("bash", "/bin/bash"))]

    def finish(self) -> None:
        (self.seen / "finish").touch()
        assert self.jobs("wait", self.job).returncode == 0, self.jobs("status", self.job).stdout


KINDS = {  # framework: elastic, processes in a container, roles
    "none": (True, 1, {"worker": 2, "server": 2}),
    "pytorch": (False, 2, {"worker": 2}),
    "rabit": (False, 1, {"worker": 3}),
    "mpi": (False, 1, {"worker": 2}),
}


def _play(jobs, framework: str, place: list[str], kinds: list[str], seed: int) -> None:
    elastic, procs, counts = KINDS[framework]
    seed = int(SEED) if SEED else seed
    chance = random.Random(seed)
    story = [f"YDL_GANG_SEED={seed} {framework}"]
    try:
        gang = Gang(jobs, Model(elastic, procs, counts), place, framework)
        done: list[str] = []
        for _ in range(STEPS):
            what = chance.choice(kinds)
            done.append(what)
            # Restarts of what was killed would have to wait; and a master has two attempts.
            if done.count(what) > MOST.get(what, STEPS):
                what = "scale"
            if what == "restart_task" and framework in ("rabit", "mpi"):  # others do not join again
                what = "restart"
            story.append(what)
            story.append(getattr(gang, what)(chance))
        gang.finish()
    except AssertionError as error:
        raise AssertionError(f"{' '.join(story)}: {error}") from error


@pytest.mark.parametrize("framework", KINDS)
def test_tasks_see_who_is_there(jobs, framework):
    _play(jobs, framework, [], STEPS_HERE, 1)


@pytest.mark.full
@pytest.mark.parametrize("_round", range(10))
@pytest.mark.parametrize("framework", KINDS)
def test_tasks_see_who_is_there_whatever_happens(jobs, framework, _round):
    _play(jobs, framework, [], STEPS_HERE, random.SystemRandom().randrange(1 << 30))


@pytest.mark.parametrize("framework", ["none", pytest.param("pytorch", marks=pytest.mark.full)])
def test_tasks_on_yarn_see_who_is_there(jobs, cluster, framework):
    jobs.env |= {key: value for key, value in cluster.env().items() if not key.startswith("YDL_")}
    jobs.cluster = cluster
    jobs.dir.chmod(0o755)
    _play(jobs, framework, ["--on", "yarn"],
          [*STEPS_HERE, "take_over"], 4)


def test_a_start_that_fails_before_the_process_is_tried_again(jobs):
    """The report is about the start that was asked for, not about the one before."""
    script = jobs.script("live", 'echo "$YDL_SPEC" >spec-$YDL_GENERATION\n'
                                 'until [ -e finish ]; do sleep 0.05; done\n')
    job = jobs.submit("-n", "2", "--restart", "gang", "--max-restarts", "10000", "--", script)
    jobs.running(job, 2)
    directory, _, name = jobs.until(lambda: (jobs.work / "spec-0").exists() and
                                    (jobs.work / "spec-0").read_text().strip()).rpartition("/")
    block = Path(directory, name.replace("-0.json", "-1.json"))
    block.mkdir()  # where the next specification would be written
    jobs.ok("restart", job)
    jobs.until(lambda: '"event":"failure"' in jobs.ok("events", job, "--json"), "nobody noticed")
    block.rmdir()
    jobs.until((jobs.work / "spec-1").exists, "it was not tried again")
    (jobs.work / "finish").touch()
    assert jobs("wait", job).returncode == 0, jobs.ok("status", job)


def test_an_agent_that_cannot_be_started_is_tried_again(jobs):
    """What was asked for and refused is asked for again, and the reason is told."""
    script = jobs.script("live", 'until [ -e finish ]; do sleep 0.05; done\n')
    job = jobs.submit("-n", "2", "--restart", "task", "--", script)
    jobs.running(job, 2)
    pids = {what: int(line.split()[0]) for line in jobs.processes() for what in ("master", "agent")
            if f"ydl-node\0{what}" in line}
    limit = resource.prlimit(pids["master"], resource.RLIMIT_NOFILE)
    resource.prlimit(pids["master"], resource.RLIMIT_NOFILE, (3, limit[1]))  # no more descriptors
    os.kill(pids["agent"], signal.SIGKILL)
    (events,) = jobs.dir.glob(f"state/ydl/jobs/{job}/events.jsonl")  # nobody can be asked now
    jobs.until(lambda: "start an agent" in events.read_text(), "no reason")
    resource.prlimit(pids["master"], resource.RLIMIT_NOFILE, limit)
    jobs.running(job, 2)
    (jobs.work / "finish").touch()
    assert jobs("wait", job).returncode == 0, jobs.ok("status", job)


def test_a_rabit_worker_that_aborts_on_yarn_comes_back_alone(jobs, cluster):
    """It is moved, and the tracker takes it back: the others are not restarted."""
    jobs.env |= {key: value for key, value in cluster.env().items() if not key.startswith("YDL_")}
    script = jobs.script("worker", f"[ $YDL_RANK.$YDL_ATTEMPT = 1.0 ] && kill -ABRT $$\n"
                                   f"until [ -e {jobs.dir}/finish ]; do sleep 0.1; done\n")
    jobs.dir.chmod(0o755)
    job = jobs.submit("--on", "yarn", "--framework", "rabit", "-n", "3", "--mem", "128m", "--avoid",
                      "all", "--restart", "task", "--files", script, "--", script)

    def attempts():
        done = jobs("status", "--json", "--tasks", job)
        tasks = json.loads(done.stdout)["tasks"] if done.returncode == 0 else []
        return [t["attempt"] for t in tasks if t["state"] == "RUNNING"]
    limit = Limit(PATIENCE)
    while attempts() != [0, 1, 0]:
        assert not limit.over(), jobs("events", job).stdout
    (jobs.dir / "finish").touch()
    assert jobs("wait", job).returncode == 0, jobs("status", job).stdout
