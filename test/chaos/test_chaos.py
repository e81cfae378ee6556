"""Random jobs under random faults: a few here, ten minutes of them in the long suite, and as many as
somebody has time for by `test/chaos/campaign`. And each rule notices when it is broken."""

import dataclasses
import subprocess

import pytest
from ydl_chaos import campaign, faults, rules, scenario, task
from ydl_chaos.world import Outcome, World

_MINUTES = 5  # of each place, in the long suite


class Imagined(World):
    """A run that nobody made."""

    def processes(self) -> dict[int, str]:
        return {}


@pytest.fixture
def world(tmp_path):
    """Of a job that succeeded, whose one task wrote two lines."""
    job = scenario.Job(workers=1, nodes=0, policy="task", budget=1, attached=True, steps=2,
                       pace_ms=1, grace_s=1, stubborn=False, strays=False, failure=None)
    made = Imagined(scenario.Scenario("local", 1, job, ()), tmp_path)
    lines = ["worker:0 g0 a0 p7 n0", "worker:0 g0 a0 p7 n1"]
    (made.ledger / "lines-worker:0-7").write_text(
        "".join(line.ljust(task.LINE - 1) + "\n" for line in lines))
    (tmp_path / "client.out").write_text("".join(f"worker:0│ {line}\n" for line in lines))
    made.job = "local-1"
    made.outcome = Outcome(ended=True, client=0, waited=0, lines=lines, followed=lines,
                           status={"state": "SUCCEEDED", "exit": 0},
                           events=[{"seq": 0, "event": "job"},
                                   {"seq": 1, "event": "end", "state": "SUCCEEDED", "exit": 0}])
    return made


def _fail(world):
    world.outcome.status = {"state": "FAILED", "exit": 3}
    world.outcome.client = world.outcome.waited = 3
    world.outcome.events[-1] |= {"state": "FAILED", "exit": 3}


def _set(**fields):
    def change(world):
        for name, value in fields.items():
            setattr(world.outcome, name, value)
    return change


def _double(world):
    (world.ledger / "double-worker:0-8").write_text("8 beside 7")


def _without_results(world):
    job = dataclasses.replace(world.scenario.job, results=True)
    world.scenario = dataclasses.replace(world.scenario, job=job)


BROKEN = {
    "ends_in_time": _set(ended=False),
    "everybody_agrees": _set(waited=3),
    "the_end_is_last": _set(events=[{"seq": 0, "event": "end", "state": "SUCCEEDED", "exit": 0},
                                    {"seq": 1, "event": "note"}]),
    "succeeds_within_budget": _fail,
    "nothing_is_left": _set(left=["process 9"]),
    "one_of_each_rank": _double,
    "every_line_is_kept": _set(lines=["worker:0 g0 a0 p7 n1"]),
    "results_are_saved": _without_results,
    "nothing_is_said_to_be_missing": _set(status={"state": "SUCCEEDED", "exit": 0,
                                                  "missing": {"tasks": 1}}),
    "followers_see_every_line": _set(followed=["worker:0 g0 a0 p7 n0"]),
}


def test_a_good_run_breaks_no_rule(world):
    assert rules.broken(world) == []


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_notices(world, rule):
    BROKEN[rule](world)
    assert any(text.startswith(f"{rule}: ") for text in rules.broken(world)), rules.broken(world)


@pytest.mark.parametrize("kind, excused", [("task.kill", False), ("agent.kill", False),
                                           ("person.kill", True)])
def test_what_excuses_a_failure(world, kind, excused):
    _fail(world)
    world.outcome.happened = [kind]
    assert bool(list(rules.succeeds_within_budget(world))) != excused


def test_output_that_the_job_says_is_missing_is_not_lost(world):
    world.outcome.lines = world.outcome.followed = []
    (world.dir / "client.out").write_text("")
    world.outcome.status["unsaved"] = "output of worker:0 could not be saved"
    assert rules.broken(world) == []


def test_what_can_only_be_undone_after_something_else_is_tried_again(world):
    back, done = [], []

    def lift():
        if back:
            done.append(True)
        else:
            world.later(0, lift)
    world.later(0, lift)
    world.later(60, lambda: back.append(True))
    world.undo_due()
    assert not done
    world.undo_due(everything=True)
    assert done == [True] and world.undo == []


def test_a_seed_is_the_same_scenario_every_time():
    for place in scenario.PLACES:
        table = faults.weights(place)
        assert scenario.make(place, 7, table) == scenario.make(place, 7, table)
        assert scenario.make(place, 7, table) != scenario.make(place, 8, table)


def test_random_local_jobs_end_as_they_should(tmp_path):
    one = campaign.Campaign("local", tmp_path)
    played = [one.run(seed) for seed in range(1, 5)]
    assert [(row["scenario"], row["happened"], row["broken"]) for row in played
            if row["broken"]] == []


@pytest.mark.full
@pytest.mark.parametrize("place", scenario.PLACES)
def test_minutes_of_random_jobs(place, tmp_path):
    """As a program: it cuts nodes off in a network of its own."""
    done = subprocess.run([campaign.PROGRAM, place, "--first", "5000", "--runs", "1000", "--minutes",
                           str(_MINUTES), "--state", tmp_path], capture_output=True, text=True,
                          timeout=60 * _MINUTES + 600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
