"""The table of faults. What a fault means for the verdict is its `harm`:

    none     the job must not notice
    loss     a machine or an agent is gone: never counted against the budget
    counted  a task's own failure, as far as ydl can know: uses the budget up
    ends     the job may end because of it, in any way that is told truly
"""

import dataclasses
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from .servers import UNAVAILABLE, cannot_be_reached
from .world import World, _signal

HARMS = ("none", "loss", "counted", "ends")


@dataclasses.dataclass(frozen=True)
class Fault:
    """`act(world, rng, hold_s)` is true when it met something."""

    places: tuple[str, ...]
    weight: int
    harm: str
    act: Callable[[World, random.Random, float], bool]


def _kill(who: str):
    def act(world: World, rng: random.Random, _hold: float) -> bool:
        found = getattr(world, who)()
        return bool(found) and _signal(rng.choice(found), signal.SIGKILL)
    return act


def _freeze(who: str, most_s: float):
    """SIGSTOP, and SIGCONT later."""
    def act(world: World, rng: random.Random, hold: float) -> bool:
        found = getattr(world, who)()
        if not found:
            return False
        pid = rng.choice(found)
        world.later(min(hold, most_s), lambda: _signal(pid, signal.SIGCONT))
        return _signal(pid, signal.SIGSTOP)
    return act


def _client(number: int):
    def act(world: World, _rng: random.Random, _hold: float) -> bool:
        if world.client.poll() is not None:
            return False
        world.interrupted = True
        return _signal(world.client.pid, number)
    return act


def _verb(*words: str):
    """A command of a person; what it answers is not looked at, the job may be ending already."""
    def act(world: World, _rng: random.Random, _hold: float) -> bool:
        if not world.job:
            return False
        world.verb(words[0], world.job, *words[1:])
        return True
    return act


def _restart_one(world: World, rng: random.Random, _hold: float) -> bool:
    index = rng.randrange(world.scenario.job.workers)
    return _verb("restart", f"worker:{index}")(world, rng, _hold)


def _scale(world: World, rng: random.Random, _hold: float) -> bool:
    count = max(1, world.scenario.job.workers + rng.choice((-1, 1, 2)))
    return _verb("scale", f"worker={count}")(world, rng, _hold)


def _look(world: World, _rng: random.Random, _hold: float) -> bool:
    """A job whose master lives before and after the question has not ended. Who is told that a server
    that was away when he asked cannot be reached has been told the truth."""
    before, away = world.masters(), world.away()
    if not world.job or not before:
        return False
    done = world.verb("status", "--json", world.job)
    if world.masters() == before and world.tasks():
        state, said = _state_of(done.stdout), done.stderr.decode(errors="replace")
        if state is None and done.returncode == UNAVAILABLE and cannot_be_reached(said, away):
            return True
        if done.returncode != 0 or state in ("SUCCEEDED", "FAILED", "KILLED"):
            world.outcome.notes.append(
                f"status of a living job: {state}, exit {done.returncode}, {said}")
    return True


def _state_of(text: bytes) -> str | None:
    try:
        return json.loads(text).get("state")
    except ValueError:
        return None


def _follow(world: World, _rng: random.Random, _hold: float) -> bool:
    """A second reader, who stays to the end."""
    if not world.job or world.follower:
        return False
    world.follow()
    return True


def _run_directory(world: World, _rng: random.Random, _hold: float) -> bool:
    return world.remove_run_directory()


def _work_directory(world: World, rng: random.Random, _hold: float) -> bool:
    """The working directory of a container, removed by somebody who cleans up."""
    found = world.tasks()
    if not found:
        return False
    try:
        place = Path(os.readlink(f"/proc/{rng.choice(found)}/cwd"))
    except OSError:
        return False
    shutil.rmtree(place, ignore_errors=True)
    return True


def _disk(world: World, _rng: random.Random, _hold: float) -> bool:
    if not getattr(world, "disk", False):
        return False
    world.fill_disk()
    return True


def _daemon(action: str, kind: str):
    """kill, pause or restart a daemon of Hadoop; what was killed or paused is back after a while."""
    def act(world: World, rng: random.Random, hold: float) -> bool:
        return world.daemon(action, kind, rng, hold)
    return act


def _cut(world: World, rng: random.Random, hold: float) -> bool:
    """Twice as long: the longest is more than YARN and ydl wait for a silent node."""
    return world.cut(rng, 2 * hold)


def _clock(world: World, rng: random.Random, _hold: float) -> bool:
    """Until the end. Container tokens are good for ten minutes, which no node may be off."""
    return world.set_clock(rng, rng.choice((-240, -60, -5, 5, 60, 240)))


def _node_disk(world: World, rng: random.Random, hold: float) -> bool:
    return world.fill_disk(rng, hold)


def _quota(world: World, _rng: random.Random, hold: float) -> bool:
    """Nobody can write to HDFS for a while."""
    return world.quota(hold)


def _yarn_kill(world: World, _rng: random.Random, _hold: float) -> bool:
    return world.yarn_kill()


BOTH, LOCAL, YARN = ("local", "yarn"), ("local",), ("yarn",)

FAULTS = {
    "task.kill": Fault(BOTH, 4, "counted", _kill("tasks")),
    "task.freeze": Fault(BOTH, 2, "none", _freeze("tasks", 3.0)),
    "agent.kill": Fault(BOTH, 4, "loss", _kill("agents")),
    "agent.freeze": Fault(BOTH, 3, "none", _freeze("agents", 3.0)),
    "agent.hang": Fault(BOTH, 2, "loss", _freeze("agents", 12.0)),
    "master.kill": Fault(LOCAL, 2, "ends", _kill("masters")),
    "master.crash": Fault(YARN, 4, "loss", _kill("masters")),
    "master.freeze": Fault(BOTH, 3, "none", _freeze("masters", 1.0)),
    "client.kill": Fault(BOTH, 2, "ends", _client(signal.SIGKILL)),
    "client.interrupt": Fault(BOTH, 2, "ends", _client(signal.SIGINT)),
    "person.stop": Fault(BOTH, 2, "ends", _verb("stop")),
    "person.kill": Fault(BOTH, 2, "ends", _verb("kill")),
    "person.restart": Fault(BOTH, 2, "none", _verb("restart")),
    "person.restart.one": Fault(BOTH, 2, "none", _restart_one),
    "person.scale": Fault(BOTH, 2, "none", _scale),
    "person.look": Fault(BOTH, 4, "none", _look),
    "person.follow": Fault(BOTH, 3, "none", _follow),
    "directory.run": Fault(LOCAL, 2, "none", _run_directory),
    "directory.work": Fault(YARN, 2, "ends", _work_directory),
    "disk.full": Fault(LOCAL, 2, "ends", _disk),
    "nm.kill": Fault(YARN, 4, "loss", _daemon("kill", "nm")),
    "nm.restart": Fault(YARN, 4, "loss", _daemon("restart", "nm")),
    "nm.pause": Fault(YARN, 3, "loss", _daemon("pause", "nm")),
    "rm.kill": Fault(YARN, 3, "loss", _daemon("kill", "rm")),
    "rm.restart": Fault(YARN, 3, "loss", _daemon("restart", "rm")),
    "rm.pause": Fault(YARN, 2, "loss", _daemon("pause", "rm")),
    "nn.kill": Fault(YARN, 3, "loss", _daemon("kill", "nn")),
    "nn.pause": Fault(YARN, 2, "loss", _daemon("pause", "nn")),
    "dn.kill": Fault(YARN, 2, "loss", _daemon("kill", "dn")),
    "network.cut": Fault(YARN, 4, "loss", _cut),
    "clock.set": Fault(YARN, 3, "none", _clock),
    "disk.node": Fault(YARN, 2, "ends", _node_disk),
    "hdfs.quota": Fault(YARN, 2, "ends", _quota),
    "yarn.kill": Fault(YARN, 1, "ends", _yarn_kill),
}


def weights(place: str) -> dict[str, int]:
    """What `scenario.make` draws from."""
    return {kind: fault.weight for kind, fault in FAULTS.items() if place in fault.places}
