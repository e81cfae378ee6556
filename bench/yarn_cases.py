"""What is measured of jobs on YARN. Each case gives lines of the table: what, bar, ydl, beside,
result. Launchers take turns, so that they meet the same weather; figures are medians."""

import os
import sys
import tarfile
import time
from pathlib import Path

import yarn_world
from yarn_world import Failed, Run, World, median
from ydl_cluster import web

IDLE_S = 60
ARCHIVE_MB = 500
SETTLED_S = 3  # hashes of files that are younger than 2 s are not kept
BEFORE_RUNNING = ("command", "staged", "submitted", "accepted", "master", "registered", "asked",
                  "granted", "agents", "prepared", "running")
WHO = {"ydl": "ydl", "rm": "ResourceManager", "nm": "NodeManager", "user": "the job"}


def _yes(good: bool) -> str:
    return "yes" if good else "no"


def _s(values) -> str:
    """The median and, of several, how far apart they are."""
    values = list(values)
    text = f"{median(values):.2f} s"
    return text if len(values) < 2 else f"{text} ({min(values):.2f}–{max(values):.2f})"


def _ms(values) -> str:
    return f"{median(values) * 1000:.0f} ms"


def in_turn(world: World, rounds: int, **sides) -> dict[str, list]:
    """Calls each of `sides` once in each round; what they gave. A failure is told and left out."""
    taken: dict[str, list] = {name: [] for name in sides}
    for number in range(rounds):
        for name, act in sides.items():
            try:
                taken[name].append(act())
                print(f"  {number + 1} {name}: {taken[name][-1]}", file=sys.stderr, flush=True)
            except Failed as e:
                print(f"bench: {name} failed: {e}", file=sys.stderr, flush=True)
            world.settle()
    for name, values in taken.items():
        if not values:
            raise SystemExit(f"bench: {name} never succeeded")
    return taken


def _running(runs: list[Run]) -> list[float]:
    return [run.running for run in runs]


def warm_up(world: World, times: int) -> None:
    """A cluster's first applications wait for its JVMs to warm up."""
    for _ in range(times):
        world.measure(world.ours(4, 0), 4)
        world.settle()


# ---- four tasks ----


def start(world: World) -> list[tuple]:
    """From the command to four tasks that run, and from the last one's end to the command's."""
    def timed():
        return world.measure(world.ours(4, 1), 4), world.timeline()

    peers = {"shell": lambda: world.measure(world.shell(4, 1), 4),
             "skein": lambda: world.measure(world.skein(4, 1), 4)}
    in_turn(world, 1, **peers)  # for what is read and cached by it
    taken = in_turn(world, world.runs, ydl=timed, **peers)
    ours, shell, skein = [run for run, _ in taken["ydl"]], taken["shell"], taken["skein"]
    mine = median(_running(ours))
    of_shell, of_skein = mine / median(_running(shell)), mine / median(_running(skein))
    tail = median(run.tail for run in ours)

    def tails(runs):
        return f"{median(run.tail for run in runs):.2f} s"

    return [("4 tasks: from the command to all running",
             "≤ 0.1 × DistributedShell, ≤ 0.06 × skein", _s(_running(ours)),
             f"DistributedShell {_s(_running(shell))}, skein {_s(_running(skein))}",
             f"{of_shell:.3f} ×, {of_skein:.3f} ×: {_yes(of_shell <= 0.1 and of_skein <= 0.06)}"),
            *_share([rows for _, rows in taken["ydl"]]),
            ("from the last task's end to the command's end", "≤ 0.1 s",
             f"{tail * 1000:.0f} ms", f"DistributedShell {tails(shell)}, skein {tails(skein)}",
             _yes(tail <= 0.1))]


def _share(timelines: list[list[dict]]) -> list[tuple]:
    """Our own share of the way to running, and where the rest went."""
    def of(rows, who):
        return sum(row["took_ms"] for row in rows
                   if row["who"] == who and row["phase"] in BEFORE_RUNNING)

    sums = {who: median(of(rows, who) for rows in timelines) for who in ("ydl", "rm", "nm")}
    for phase in BEFORE_RUNNING:
        rows = [row for rows in timelines for row in rows if row["phase"] == phase]
        if rows:
            print(f"  {phase:11} at {median(row['at_ms'] for row in rows):5.0f} ms, took "
                  f"{median(row['took_ms'] for row in rows):5.0f} ms, "
                  f"{'/'.join(sorted({WHO[row['who']] for row in rows}))}", file=sys.stderr)
    return [("of it our own share (`ydl events --timeline`)", "≤ 50 ms", f"{sums['ydl']:.0f} ms",
             f"ResourceManager {sums['rm']:.0f} ms, NodeManagers {sums['nm']:.0f} ms",
             _yes(sums["ydl"] <= 50))]


# ---- Hadoop's own pace ----


def pace(world: World) -> list[tuple]:
    """Node heartbeats of 1 s and a locality delay of 40, as they are unless somebody changes them;
    beside the same asked for with `*` alone."""
    taken = in_turn(world, world.runs, four=lambda: world.measure(world.ours(4, 1), 4),
                    sixty=lambda: world.measure(world.ours(60, 20), 60),
                    star=lambda: world.measure(world.bare("star", 60, 30), 60),
                    hosts=lambda: world.measure(world.bare("hosts", 60, 20), 60))
    four, sixty, star, hosts = (_running(taken[key]) for key in taken)
    ratio = median(sixty) / median(star)
    spread = taken["sixty"][-1].nodes
    even = max(spread.values()) - min(spread.values()) <= 1
    return [("default pace, 4 tasks: all running", "≤ 1.6 s", _s(four), "–",
             _yes(median(four) <= 1.6)),
            ("default pace, 60 tasks of 64 MB: all running", "≤ 0.3 × `*` asks, spread over nodes",
             f"{_s(sixty)}, on each node {', '.join(map(str, sorted(spread.values())))}",
             f"bare master: `*` {_s(star)}, a row for each node {_s(hosts)}",
             f"{ratio:.2f} ×: {_yes(ratio <= 0.3 and even and len(spread) > 1)}")]


# ---- many tasks ----


def many(world: World) -> list[tuple]:
    """200 tasks beside the barest application master."""
    taken = in_turn(world, world.runs, ydl=lambda: world.measure(world.ours(200, 30), 200),
                    bare=lambda: world.measure(world.bare("hosts", 200, 30), 200))
    ours, bare = (_running(taken[key]) for key in taken)
    ratio = median(ours) / median(bare)
    return [("200 tasks on 4 nodes of 64 GB: all running", "≤ 2 × a bare application master",
             _s(ours), f"bare master {_s(bare)}", f"{ratio:.2f} ×: {_yes(ratio <= 2)}")]


# ---- a large archive ----


def archive(world: World) -> list[tuple]:
    """The same job submitted twice with an archive that the cluster has not seen before."""
    path = world.scratch / "large.tar"

    def submit():
        took = world.time(world.job(1, "true", verb="submit", more=("--archives", str(path))))
        world.settle(120)  # the node has to fetch and unpack it
        return took

    def fresh():
        _make_archive(world.scratch, path)
        time.sleep(SETTLED_S)
        return submit()

    taken = in_turn(world, min(world.runs, 3), first=fresh, second=submit)
    path.unlink()
    first, second = median(taken["first"]), median(taken["second"])
    return [(f"second submit with an archive of {ARCHIVE_MB} MB", "≤ 0.2 × the first",
             f"{second:.2f} s", f"first {first:.2f} s",
             f"{second / first:.3f} ×: {_yes(second <= 0.2 * first)}")]


def _make_archive(scratch: Path, path: Path) -> None:
    """Random, so that it is new to the cluster and nothing can be squeezed."""
    payload = scratch / "payload"
    with open(payload, "wb") as f:
        for _ in range(ARCHIVE_MB):
            f.write(os.urandom(1 << 20))
    with tarfile.open(path, "w") as tar:
        tar.add(payload, arcname="payload")
    payload.unlink()


# ---- memory ----

STAYS_S = 8
# What to look for in the command lines of an application's processes.
PARTS = {"ydl": {"master": "ydl-node master", "agent": "ydl-node agent"},
         "shell": {"master": "ApplicationMaster"}, "skein": {"master": "ApplicationMaster"}}


def memory(world: World) -> list[tuple]:
    """What master, agents and client hold, and what YARN is asked for besides the tasks."""
    taken = in_turn(world, min(world.runs, 3),
                    ydl=lambda: _hold(world, world.ours(4, STAYS_S), "ydl"),
                    shell=lambda: _hold(world, world.shell(4, STAYS_S), "shell"),
                    skein=lambda: _hold(world, world.skein(4, STAYS_S), "skein"))

    def of(side, part, which=0):
        return median(row[part][which] for row in taken[side])

    def row(part, bar):
        mb = of("ydl", part)
        beside = ", ".join(f"{name} {of(side, part):.0f} MB" for side, name in
                           (("shell", "DistributedShell"), ("skein", "skein"))
                           if part in taken[side][0])
        return (f"{part}, most ever resident", f"≤ {bar} MB",
                f"{mb:.1f} MB (mostly {of('ydl', part, 1):.1f})", beside or "none", _yes(mb <= bar))

    asked = {side: median(row["asked"] for row in taken[side]) for side in taken}
    return [("asked of YARN besides 4 tasks", "64 MB", f"{asked['ydl']:.0f} MB",
             f"DistributedShell {asked['shell']:.0f} MB, skein {asked['skein']:.0f} MB",
             _yes(asked["ydl"] <= 64)), row("master", 16), row("agent", 4), row("client", 16)]


def _family(pid: int) -> list[int]:
    """A process and everything below it: skein's client is a Python and a JVM."""
    found = [pid]
    for parent in found:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _hold(world: World, command: list[str], side: str) -> dict:
    """Looks at a job's processes until it is over; for each part the largest of its kind, the
    client with all it started: the most ever, and the median of all looks."""
    process, app = world.begin(command, 4)
    looks: dict[str, dict[int, list]] = {part: {} for part in (*PARTS[side], "client")}
    asked = world.cluster.app(app)["allocatedMB"] - 4 * 64
    while process.poll() is None:
        pids = [(pid, part) for pid in world.cluster.processes(app)
                for part, text in PARTS[side].items() if text in yarn_world.command_line(pid)]
        for pid, part in pids + [(pid, "client") for pid in _family(process.pid)]:
            looks[part].setdefault(pid, []).append(yarn_world.resident(pid))
        time.sleep(0.1)
    if process.returncode != 0:
        raise Failed(f"{command[0]}: exit code {process.returncode}\n{world.said()[-2000:]}")

    def of(part, total):
        return (total(max(most for most, _ in rows) for rows in looks[part].values()),
                total(median(now for _, now in rows) for rows in looks[part].values()))

    return {"asked": asked} | {part: of(part, sum if part == "client" else max) for part in looks}


# ---- nothing to do ----


def _calls(world: World) -> dict[str, int]:
    """How often the ResourceManager was called, by masters and by clients."""
    ports = {what: world.cluster.lay.address("rm", what).rsplit(":", 1)[1]
             for what in ("scheduler", "client")}
    query = "jmx?qry=Hadoop:service=ResourceManager,name=RpcActivityForPort"
    found = {}
    for what, port in ports.items():
        page = web.get_json(world.cluster.lay, f"{world.cluster.rm_http}/{query}{port}")
        found[what] = page["beans"][0]["RpcProcessingTimeNumOps"]
    return found


def idle(world: World) -> list[tuple]:
    """A job of 100 tasks that only sleep: what it costs the ResourceManager and the master."""
    process, app = world.begin(world.ours(100, 1000), 100)
    try:
        time.sleep(12)  # what the start brought is over, and the figures below are made anew
        lines = world.cluster.processes(app)
        master = next(pid for pid, line in lines.items() if "ydl-node master" in line)
        agents = [pid for pid, line in lines.items() if "ydl-node agent" in line]
        before, cpu = _calls(world), yarn_world.cpu_seconds(master)
        theirs, begin = sum(map(yarn_world.cpu_seconds, agents)), time.monotonic()
        time.sleep(IDLE_S)
        took = time.monotonic() - begin
        after, cpu = _calls(world), (yarn_world.cpu_seconds(master) - cpu) / took
        theirs = (sum(map(yarn_world.cpu_seconds, agents)) - theirs) / took
    finally:
        world.end(process)
    world.settle()
    calls = {what: (after[what] - before[what]) / took for what in after}
    total = sum(calls.values())
    return [("idle job of 100 tasks: calls to the ResourceManager", "≤ 1 a second",
             f"{total:.2f} a second", f"of it the client's {calls['client']:.2f}",
             _yes(total <= 1)),
            ("idle job of 100 tasks: the master", "≤ 0.5 % of a core", f"{cpu * 100:.2f} %",
             f"100 agents together {theirs * 100:.2f} %", _yes(cpu <= 0.005))]


# The test clusters give up a silent master after 10 s; a JVM on a busy machine needs that long to
# begin.
_PATIENT = ["yarn:yarn.am.liveness-monitor.expiry-interval-ms=600000"]
QUICK = {"nodes": 4, "node_mb": 65536, "node_vcores": 128, "settings": _PATIENT}
SLOW = {"nodes": 3, "node_vcores": 64, "heartbeat_ms": 1000, "locality_delay": 40,
        "settings": _PATIENT}
# Name: the kind of cluster, and the case.
CASES = {"start": (QUICK, start), "memory": (QUICK, memory), "archive": (QUICK, archive),
         "many": (QUICK, many), "idle": (QUICK, idle), "pace": (SLOW, pace)}
