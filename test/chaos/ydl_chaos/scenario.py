"""A seed becomes a job and the faults that happen to it. Pure: the same seed is the same scenario,
on every machine; what differs is only what a fault meets when it happens."""

import dataclasses
import random

PLACES = ("local", "yarn")


@dataclasses.dataclass(frozen=True)
class Failure:
    """What a task does to itself: at `step` of its first `times` attempts."""

    index: int
    step: int
    times: int
    how: str  # exit or signal
    number: int  # of either


@dataclasses.dataclass(frozen=True)
class Job:
    """Every task writes `steps` lines, one each `pace_ms`, and ends well unless `failure` says so."""

    workers: int
    nodes: int  # local: how many machines are pretended; 0: none
    policy: str
    budget: int
    attached: bool
    steps: int
    pace_ms: int
    grace_s: int
    stubborn: bool  # ignores SIGTERM
    strays: bool  # leaves a process behind that detached itself
    failure: Failure | None
    results: bool = False  # every task leaves a file that is saved


@dataclasses.dataclass(frozen=True)
class Event:
    """One fault: when, to whom, for how long."""

    kind: str
    when: float  # share of all lines that are written before it; below 0: while the job starts
    target: float  # 0 to 1: which of those that it could hit
    hold_s: float  # for faults that end by themselves


@dataclasses.dataclass(frozen=True)
class Scenario:
    place: str
    seed: int
    job: Job
    events: tuple[Event, ...]

    def tell(self) -> str:
        """One line for a person."""
        job = self.job
        words = [f"{job.workers} workers", f"{job.policy}/{job.budget}",
                 "run" if job.attached else "submit", f"{job.steps} lines"]
        words += [f"{job.nodes} nodes"] if job.nodes else []
        words += [word for word, is_so in (("stubborn", job.stubborn), ("strays", job.strays),
                                            ("results", job.results)) if is_so]
        if job.failure:
            words.append(f"worker:{job.failure.index} {job.failure.how} {job.failure.number} "
                         f"x{job.failure.times}")
        faults = [f"{event.kind}@{event.when:.2f}" for event in self.events]
        return f"{self.place} {self.seed}: {', '.join(words)}; {', '.join(faults) or 'no fault'}"


def _job(rng: random.Random, place: str) -> Job:
    workers = rng.choice((1, 2, 2, 3, 3, 4, 6) if place == "yarn" else (1, 2, 3, 4, 6, 8, 12))
    steps = rng.randrange(20, 80)
    failure = None
    if rng.random() < 0.25:
        how = rng.choice(("exit", "exit", "signal"))
        failure = Failure(rng.randrange(workers), rng.randrange(steps), rng.randrange(1, 4), how,
                          rng.choice((1, 3, 42) if how == "exit" else (6, 9, 11)))
    return Job(workers=workers,
               nodes=rng.choice((0, 0, 2, 3)) if place == "local" else 0,
               policy=rng.choice(("never", "task", "task", "gang", "gang")),
               budget=rng.randrange(0, 4), attached=rng.random() < 0.5, steps=steps,
               pace_ms=rng.randrange(20, 80 if place == "local" else 200),
               grace_s=rng.randrange(1, 4), stubborn=rng.random() < 0.1,
               strays=rng.random() < 0.2, failure=failure, results=rng.random() < 0.3)


def make(place: str, seed: int, weights: dict[str, int]) -> Scenario:
    """`weights`: the kinds of faults of this place, and how often each is to be drawn."""
    rng = random.Random(f"{place} {seed}")
    job = _job(rng, place)
    kinds = sorted(weights)
    count = rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))
    events = [Event(kind=rng.choices(kinds, [weights[kind] for kind in kinds])[0],
                    when=-1.0 if rng.random() < 0.15 else rng.random() * 0.9,
                    target=rng.random(), hold_s=rng.choice((0.3, 1.0, 3.0, 12.0)))
              for _ in range(count)]
    events.sort(key=lambda event: event.when)
    return Scenario(place, seed, job, tuple(events))
