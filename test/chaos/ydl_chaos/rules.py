"""What must be true of a run, whatever happened to it. Each rule is a function that yields sentences,
one for each way in which it was broken."""

from collections import Counter
from collections.abc import Iterator

from . import task
from .faults import FAULTS
from .servers import UNAVAILABLE, cannot_be_reached
from .world import World

_INTERRUPTED, _UNSAVED = 130, 73
_STARTED_OVER = "left no record of the job, so the job starts over"
_LOOK_THERE = "output may be missing; see 'ydl logs "
_OVER = {"SUCCEEDED": "SUCCEEDED", "FAILED": "FAILED", "KILLED": "KILLED"}


def ends_in_time(world: World) -> Iterator[str]:
    if not world.outcome.ended:
        yield f"not ended {world.ended_in_s:.0f} s after the last fault"
    for note in world.outcome.notes:
        yield note


def begins(world: World) -> Iterator[str]:
    """There is a job, unless its client was ended before there could be one, or says at once that a
    server that it has never reached does not answer."""
    harms = [FAULTS[kind].harm for kind in world.outcome.happened]
    if not world.job and "ends" not in harms:
        said = (world.dir / "client.err").read_text(errors="replace").strip()
        away = {kind.split(".")[0] for kind in world.outcome.happened}
        code = world.client.poll()
        if code == UNAVAILABLE and cannot_be_reached(said, away):
            return
        yield f"no job: run ended with {code}, {said}"


def _not_submitted(world: World) -> bool:
    """Was the application taken back because not all of it could be submitted? YARN knows only one way to
    take it back, and calls it killed. The job never began."""
    o = world.outcome
    return o.status.get("state") == "FAILED" and o.yarn.get("finalStatus") == "KILLED" and \
        not o.events and str(o.status.get("reason")).startswith("the submission failed: ")


def _killed_while_saving(world: World) -> bool:
    """All tasks had ended well when somebody killed the application through YARN: the job says so, and
    YARN says what it always says after a kill."""
    o = world.outcome
    return "yarn.kill" in o.happened and o.status.get("state") == "SUCCEEDED" and \
        o.yarn.get("finalStatus") == "KILLED" and \
        "the application was killed" in str(o.status.get("unsaved"))


def _killed_too_late(world: World) -> bool:
    """The job had ended when it was killed, but the ResourceManager had not heard of it yet, and says what
    it always says after a kill."""
    o, last = world.outcome, world.outcome.events[-1] if world.outcome.events else {}
    by_person = "person.kill" in o.happened and any(kind.startswith("rm.") for kind in o.happened)
    return ("yarn.kill" in o.happened or by_person) and \
        o.status.get("state") == "SUCCEEDED" and o.yarn.get("finalStatus") == "KILLED" and \
        last.get("event") == "end" and last.get("t", 0) <= o.yarn.get("finishedTime", -1)


def everybody_agrees(world: World) -> Iterator[str]:
    """Exit code, status, the events' last record and YARN's final state."""
    o = world.outcome
    if not world.job:
        return
    if not o.status:
        yield "status cannot be asked"
        return
    state, code = o.status.get("state"), o.status.get("exit")
    if state not in _OVER:
        yield f"status says {state} of a job that has ended"
    if (state == "SUCCEEDED") != (code == 0 or code == _UNSAVED and bool(o.status.get("unsaved"))):
        yield f"status says {state} and exit {code}"
    if o.waited != code:
        yield f"wait ended with {o.waited}, status says {code}"
    if o.client is not None and o.client != code and not (
            world.interrupted and o.client == _INTERRUPTED):
        yield f"run ended with {o.client}, status says {code}"
    last = o.events[-1] if o.events else {}
    if last.get("event") == "end" and (last.get("state"), last.get("exit")) != (state, code):
        yield f"events end with {last.get('state')} {last.get('exit')}, status says {state} {code}"
    if o.yarn and o.yarn.get("finalStatus") != state and not (
            _not_submitted(world) or _killed_while_saving(world) or _killed_too_late(world)):
        yield f"YARN says {o.yarn.get('state')}/{o.yarn.get('finalStatus')}, status says {state}"


def the_end_is_last(world: World) -> Iterator[str]:
    """A killed local master writes no end; whoever else has one has it last and once."""
    events = world.outcome.events
    if not events or not world.job:
        return
    ends = [i for i, event in enumerate(events) if event.get("event") == "end"]
    if len(ends) > 1:
        yield f"{len(ends)} records 'end'"
    if ends and ends[0] != len(events) - 1:
        yield f"'{events[-1].get('event')}' comes after 'end'"
    numbers = [event.get("seq") for event in events]
    if numbers != list(range(len(numbers))):
        twice = [n for n, count in Counter(numbers).items() if count > 1]
        yield f"events are not numbered from 0 without a gap (twice: {twice[:5]})"


def must_succeed(world: World) -> bool:
    """Is there nothing in what happened that could excuse a failure?"""
    job, harms = world.scenario.job, [FAULTS[kind].harm for kind in world.outcome.happened]
    if "ends" in harms or not world.job:
        return False
    counted = harms.count("counted") + (job.failure.times if job.failure else 0)
    if counted == 0 and "loss" not in harms:
        return True
    return job.policy != "never" and counted <= job.budget


def succeeds_within_budget(world: World) -> Iterator[str]:
    status = world.outcome.status
    if world.outcome.ended and status and must_succeed(world) and \
            status.get("state") != "SUCCEEDED":
        yield (f"{status.get('state')} {status.get('exit')} although nothing of what happened "
               f"excuses it: {status.get('reason')} {status.get('story')}")


def nothing_is_left(world: World) -> Iterator[str]:
    for line in world.outcome.left[:10]:
        yield f"left behind: {line}"


def one_of_each_rank(world: World) -> Iterator[str]:
    for path in sorted(world.ledger.glob("double-*")):
        yield f"two of {path.name.split('-')[1]} at once: {path.read_text()}"


def _told_missing(world: World, name: str) -> bool:
    """Does the job itself, or who shows its output, say that output of this task is not there?"""
    status = world.outcome.status
    texts = [str(status.get("unsaved")), str(status.get("story")), *world.outcome.said]
    texts += [str(event.get("text")) for event in world.outcome.events
              if event.get("event") in ("note", "story")]
    return any((name in text or _STARTED_OVER in text) and "output" in text for text in texts)


def _ledgers(world: World) -> Iterator[tuple[str, list[str]]]:
    """Each task process that wrote something: its name, its lines."""
    for path in sorted(world.ledger.glob("lines-*")):
        whole = path.stat().st_size // task.LINE * task.LINE
        text = path.read_bytes()[:whole].decode()
        yield path.name.removeprefix("lines-"), [line.rstrip() for line in text.splitlines()]


def _told_where(world: World, name: str) -> bool:
    """Who follows a job whose master or application is killed cannot know what its agents save after
    that."""
    path = world.dir / name
    ended = any(event.get("event") == "end" and event.get("text") != "killed by YARN"
                for event in world.outcome.events)
    return not ended and path.exists() and _LOOK_THERE in path.read_text(errors="replace")


def _compare(world: World, shown_lines: list[str], by: str, errors: str = "") -> Iterator[str]:
    told_where = bool(errors) and _told_where(world, errors)
    shown = Counter(line.rstrip() for line in shown_lines)
    for name, wanted in _ledgers(world):
        missing = [line for line in wanted if not shown[line]]
        twice = [line for line in wanted if shown[line] > 1]
        if missing and not told_where and not _told_missing(world, name.split("-")[0]):
            yield (f"{len(missing)} of {len(wanted)} lines of {name} are not shown by {by}, "
                   f"first '{missing[0]}'")
        if twice:
            yield f"{len(twice)} lines of {name} are shown twice by {by}, first '{twice[0]}'"


def every_line_is_kept(world: World) -> Iterator[str]:
    if world.job:
        yield from _compare(world, world.outcome.lines, "logs")


def followers_see_every_line(world: World) -> Iterator[str]:
    """Those who stay to the end: `logs -f`, and `run` where it was not ended itself."""
    if world.outcome.followed is not None:
        yield from _compare(world, world.outcome.followed, "logs -f", "follow.err")
    if world.job and world.outcome.client is not None and not world.interrupted:
        text = (world.dir / "client.out").read_text(errors="replace")
        yield from _compare(world, [line.partition("│ ")[2] for line in text.splitlines()], "run",
                            "client.err")


def results_are_saved(world: World) -> Iterator[str]:
    """All of them, or the job says that they are not. Who changes the number of tasks gets fewer or
    more."""
    o, job = world.outcome, world.scenario.job
    if not job.results or o.status.get("state") != "SUCCEEDED" or o.status.get("unsaved") or \
            "person.scale" in o.happened:
        return
    missing = {str(index) for index in range(job.workers)} - set(o.results)
    if missing:
        yield f"results of {sorted(missing)} are missing; there: {o.results}"


def nothing_is_said_to_be_missing(world: World) -> Iterator[str]:
    """… where nothing happened that could lose any output: commands of persons, clocks."""
    o = world.outcome
    harms = {FAULTS[kind].harm for kind in o.happened}
    if world.job and harms <= {"none", "counted"} and o.status.get("missing") and \
            not world.nodes_dropped():
        yield f"status says that output is missing: {o.status['missing']}"


RULES = (begins, ends_in_time, everybody_agrees, the_end_is_last, succeeds_within_budget,
         nothing_is_left, one_of_each_rank, every_line_is_kept, followers_see_every_line,
         results_are_saved, nothing_is_said_to_be_missing)


def broken(world: World) -> list[str]:
    """All of it, each sentence behind the name of its rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(world)]
