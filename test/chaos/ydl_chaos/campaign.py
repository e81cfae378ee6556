"""Runs scenarios and judges them."""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ydl_cluster.patience import Limit

from . import faults, records, rules, scenario
from .local_world import LocalWorld
from .world import ROOT, World

PROGRAM = str(ROOT / "test" / "chaos" / "campaign")
_POLL_S = 0.01
_START_S = 0.6  # faults of the start happen within this time
_KEPT = 20  # directories of broken runs


def _wait_until(world: World, event: scenario.Event, rng: random.Random, limit: Limit) -> bool:
    """True when it is time for the event, false when the job has ended before."""
    early = time.monotonic() + rng.random() * _START_S
    while not limit.over():
        world.undo_due()
        world.job = world.job or world.find_job()
        if event.when < 0:
            if time.monotonic() >= early:
                return not world.over()
        elif world.written() >= event.when * world.expected():
            return not world.over()
        if world.over():
            return False
        time.sleep(_POLL_S)
    return False


def _wait_for_end(world: World) -> bool:
    """The job is over, and so is its client."""
    limit = Limit(world.ended_in_s + 2 * world.scenario.job.steps * world.scenario.job.pace_ms / 1000)
    while not limit.over():
        world.undo_due()
        world.job = world.job or world.find_job()
        if world.over() and world.client.poll() is not None:
            return True
        time.sleep(_POLL_S)
    return False


def play(world: World) -> list[str]:
    """One run, from the command to the verdict: sentences on what was broken. What the campaign itself
    could not do is among them: then nothing is known of the job, or of what the next one would meet."""
    broken: list[str] = []
    try:
        world.attempt("run", lambda: broken.extend(_play(world)))
    finally:
        world.undo_due(everything=True)
        world.attempt("clear", world.clear)
    return broken + [f"campaign: {text}" for text in world.trouble]


def _play(world: World) -> list[str]:
    rng = random.Random(world.scenario.seed)
    limit = Limit(world.ended_in_s)
    world.start()
    for event in world.scenario.events:
        rng.seed(f"{world.scenario.seed} {event.target}")
        if not _wait_until(world, event, rng, limit):
            continue
        if faults.FAULTS[event.kind].act(world, rng, event.hold_s):
            world.outcome.happened.append(event.kind)
        limit = Limit(world.ended_in_s)
    world.outcome.ended = _wait_for_end(world)
    world.undo_due(everything=True)
    world.job = world.job or world.find_job()
    world.look()
    world.outcome.left = world.wait_gone()
    return rules.broken(world)


class Campaign:
    """Consecutive seeds of one place."""

    def __init__(self, place: str, state: Path):
        self.place, self.state = place, state
        self.cluster, self.cluster_kind, self.clusters = None, None, 0

    def _world(self, seed: int, directory: Path) -> World:
        plan = scenario.make(self.place, seed, faults.weights(self.place))
        if self.place == "local":
            return LocalWorld(plan, directory)
        from . import yarn_world  # Hadoop is not needed for the other place
        kind = yarn_world.keeps_containers(seed)
        if self.cluster_kind != kind:
            self.close()
            self.clusters += 1
            self.cluster = yarn_world.cluster_for(seed, self.clusters)
            self.cluster_kind = kind
        return yarn_world.YarnWorld(plan, directory, self.cluster)

    def close(self) -> None:
        cluster, self.cluster, self.cluster_kind = self.cluster, None, None
        if cluster:
            cluster.down()

    def run(self, seed: int) -> dict:
        directory = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
        directory.chmod(0o755)
        begin = time.monotonic()
        world = self._world(seed, directory)
        broken = play(world)
        if broken and self.cluster:
            shutil.copytree(self.cluster.lay.logs, directory / "logs")
        if world.trouble or world.spoiled:  # the next one gets a cluster that is whole
            world.attempt("down", self.close)
        row = {"place": self.place, "seed": seed, "code": records.code(),
               "seconds": round(time.monotonic() - begin, 1), "scenario": world.scenario.tell(),
               "job": world.job, "happened": world.outcome.happened,
               "state": world.outcome.status.get("state"), "broken": broken}
        if broken:
            self._keep(seed, directory, row)
        shutil.rmtree(directory, ignore_errors=True)
        return row

    def _keep(self, seed: int, directory: Path, row: dict) -> None:
        kept = self.state / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        if len(list(kept.iterdir())) >= _KEPT:
            return
        target = kept / f"{self.place}-{seed}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(directory, target, symlinks=True, ignore_dangling_symlinks=True)
        (target / "verdict.txt").write_text("\n".join([row["scenario"], str(row["happened"]),
                                                       *row["broken"], ""]))


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="test/chaos/campaign", description="Runs random jobs under random faults and checks "
        "that none of them ends wrongly. Runs that were done with the same code are left out.")
    parser.add_argument("place", choices=(*scenario.PLACES, "report"))
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="consecutive seeds")
    parser.add_argument("--minutes", type=float, help="begin no run after this time")
    parser.add_argument("--seed", type=int, help="this one alone, whatever was done before")
    parser.add_argument("--plan", action="store_true", help="print the scenarios, run none")
    parser.add_argument("--stop", action="store_true", help="end at the first violation")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "chaos", metavar="DIR",
                        help="where results are, and what is left of broken runs")
    return parser.parse_args(words)


def _seeds(o: argparse.Namespace, path: Path) -> list[int]:
    if o.seed is not None:
        return [o.seed]
    done = records.done(path, o.place, records.code())
    return [seed for seed in range(o.first, o.first + o.runs) if seed not in done]


def _leave_the_network() -> None:
    """Nodes are cut off in a network of our own."""
    from ydl_cluster import apart
    why = apart.missing()
    if why:
        print(f"no node is cut off: {why}")
    else:
        apart.own_network()


def main(words: list[str]) -> int:
    o = _options(words)
    path = o.state / "runs.jsonl"
    if o.place == "report":
        print(records.table(records.load(path)))
        return 0
    if o.place == "yarn" and not o.plan:
        _leave_the_network()
    campaign, bad, begin = Campaign(o.place, o.state), 0, time.monotonic()
    try:
        for seed in _seeds(o, path):
            if o.minutes is not None and time.monotonic() - begin > o.minutes * 60:
                break
            if o.plan:
                print(scenario.make(o.place, seed, faults.weights(o.place)).tell())
                continue
            row = campaign.run(seed)
            records.add(path, row)
            bad += bool(row["broken"])
            print(f"{'BROKEN' if row['broken'] else 'ok':7}{row['seconds']:6.1f} s  "
                  f"{row['scenario']} -> {row['state']} {row['happened']}", flush=True)
            for text in row["broken"]:
                print(f"        {text}", flush=True)
            if bad and o.stop:
                break
    finally:
        campaign.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
