"""Random jobs under random faults: a few here, ten minutes of them in the long suite, and as many as
somebody has time for by `test/chaos/campaign`. And each rule notices when it is broken."""

import dataclasses
import random
import subprocess
import types

import pytest
from ydl_chaos import campaign, faults, rules, scenario, task, world as worlds
from ydl_chaos.world import Outcome, World
from ydl_cluster.places import ClusterError

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


@pytest.mark.parametrize("reason, events, agrees", [
    ("the submission failed: no space", [], True), ("worker:0 failed", [], False),
    ("the submission failed: no space", [{"seq": 0, "event": "job"}], False)])
def test_what_was_taken_back_is_killed_for_yarn_alone(world, reason, events, agrees):
    world.outcome.status = {"state": "FAILED", "exit": 73, "reason": reason}
    world.outcome.client = world.outcome.waited = 73
    world.outcome.yarn = {"state": "KILLED", "finalStatus": "KILLED"}
    world.outcome.events = events
    assert (list(rules.everybody_agrees(world)) == []) == agrees


@pytest.mark.parametrize("happened, unsaved, agrees", [
    (["yarn.kill"], "the rest: the application was killed", True),
    (["yarn.kill"], "the disk is full", False), ([], "the application was killed", False)])
def test_a_job_that_is_killed_while_it_saves_has_succeeded(world, happened, unsaved, agrees):
    world.outcome.status = {"state": "SUCCEEDED", "exit": 73, "unsaved": unsaved}
    world.outcome.client = world.outcome.waited = world.outcome.events[-1]["exit"] = 73
    world.outcome.yarn = {"state": "KILLED", "finalStatus": "KILLED"}
    world.outcome.happened = happened
    assert (list(rules.everybody_agrees(world)) == []) == agrees


@pytest.mark.parametrize("happened, finished, agrees", [
    (["rm.restart", "person.kill"], 7000, True), (["rm.restart", "person.kill"], 4999, False),
    (["yarn.kill"], 7000, True), (["yarn.kill"], 4999, False),
    (["person.kill"], 7000, False), (["rm.restart"], 7000, False)])
def test_a_job_that_is_killed_after_its_end_has_succeeded(world, happened, finished, agrees):
    world.outcome.events[-1]["t"] = 5000
    world.outcome.yarn = {"state": "KILLED", "finalStatus": "KILLED", "finishedTime": finished}
    world.outcome.happened = happened
    assert (list(rules.everybody_agrees(world)) == []) == agrees


@pytest.mark.parametrize("happened, shown, begun", [
    (["rm.kill"], "", False), (["rm.kill"], "a line\n", True), ([], "", True)])
def test_who_follows_may_find_the_only_resourcemanager_away(world, happened, shown, begun):
    (world.dir / "follow.out").write_text(shown)
    (world.dir / "follow.err").write_text("ydl: ResourceManager: connect to 10.77.0.1:61120: …\n")
    world.outcome.happened = happened
    with subprocess.Popen(["sh", "-c", "exit 69"]) as world.follower:
        assert (world.followed() is not None) == begun


@pytest.mark.parametrize("ended", [False, True])
def test_who_follows_a_job_without_an_end_may_be_told_where_to_look(world, ended):
    world.outcome.followed = []
    (world.dir / "follow.err").write_text(
        "ydl: the master is gone: output may be missing; see 'ydl logs local-1'\n")
    if not ended:
        world.outcome.events.pop()
    assert bool(list(rules.followers_see_every_line(world))) == ended


def test_output_that_logs_says_is_missing_is_not_lost(world):
    world.outcome.lines = []
    world.outcome.said = ["ydl: output of worker:0 was not saved: the job ended without its master"]
    assert list(rules.every_line_is_kept(world)) == []


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
    assert done == [True] and world.undo == [] and world.trouble == []


def test_what_cannot_be_undone_is_told(world, monkeypatch):
    monkeypatch.setattr(worlds, "UNDO_S", 0)

    def lift():
        world.later(0, lift)
    world.later(0, lift)
    world.undo_due(everything=True)
    assert [text.split(":")[0] for text in world.trouble] == ["undo"]


def _fail_to(what):
    def act(*_):
        raise ClusterError(f"{what} fails\nthe log of a daemon")
    return act


@pytest.mark.parametrize("stage", ["run", "undo", "clear"])
def test_a_campaign_goes_on_with_a_new_cluster_when_it_fails_itself(world, tmp_path, monkeypatch, stage):
    ended = []
    (tmp_path / "logs").mkdir()
    one = campaign.Campaign("yarn", tmp_path / "state")
    one.cluster = types.SimpleNamespace(lay=types.SimpleNamespace(logs=tmp_path / "logs"),
                                        down=lambda: ended.append(True))
    one.cluster_kind = True
    monkeypatch.setattr(one, "_world", lambda seed, directory: world)
    monkeypatch.setattr(campaign, "_play", _fail_to("run") if stage == "run" else lambda _: [])
    monkeypatch.setattr(world, "clear", _fail_to("clear") if stage == "clear" else lambda: None)
    if stage == "undo":
        world.later(60, _fail_to("undo"))
    row = one.run(7)
    assert row["broken"] == [f"campaign: {stage}: ClusterError: {stage} fails"]
    assert ended == [True] and one.cluster is None and one.cluster_kind is None
    assert (one.state / "kept" / "yarn-7" / "logs").is_dir()


_REFUSED = "ydl: look at '/user/me': NameNode: connect to 10.77.0.1:61000: Connection refused"
_SILENT = "ydl: ResourceManager (10.77.0.1:61020): the server accepts connections but says nothing"
_TITLE_ONLY = "ydl: the ResourceManager says that the NameNode does not like this"


@pytest.mark.parametrize("code, said, away, excused", [
    (69, _REFUSED, {"nn"}, True), (69, _SILENT, {"rm"}, True), (69, _REFUSED, {"rm"}, False),
    (69, _SILENT, {"nn"}, False), (69, _SILENT, set(), False), (1, _REFUSED, {"nn"}, False),
    (69, _TITLE_ONLY, {"nn", "rm"}, False)])
def test_a_server_that_is_away_excuses(world, monkeypatch, code, said, away, excused):
    """… a question that is not answered, and a job that does not begin."""
    for who in ("masters", "tasks"):
        monkeypatch.setattr(world, who, lambda: [7])
    monkeypatch.setattr(world, "away", lambda: away)
    monkeypatch.setattr(world, "verb", lambda *words: subprocess.CompletedProcess(
        words, code, b"", said.encode()))
    assert faults.FAULTS["person.look"].act(world, random.Random(1), 0)
    assert (world.outcome.notes == []) == excused
    world.job, world.outcome.happened = "", [f"{kind}.kill" for kind in away]
    world.client = types.SimpleNamespace(poll=lambda: code)
    (world.dir / "client.err").write_text(said)
    assert (list(rules.begins(world)) == []) == excused


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "KILLED"])
def test_nothing_excuses_a_wrong_state_of_a_living_job(world, monkeypatch, state):
    for who in ("masters", "tasks"):
        monkeypatch.setattr(world, who, lambda: [7])
    monkeypatch.setattr(world, "away", lambda: {"nn", "rm"})
    monkeypatch.setattr(world, "verb", lambda *words: subprocess.CompletedProcess(
        words, 69, f'{{"state": "{state}"}}'.encode(), _REFUSED.encode()))
    faults.FAULTS["person.look"].act(world, random.Random(1), 0)
    assert world.outcome.notes != []


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
