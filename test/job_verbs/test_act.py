"""The verbs that act on jobs: stop, kill, restart, scale."""


import pytest


@pytest.fixture
def alive(jobs):
    """A job of two workers that runs until it is stopped; its id."""
    script = jobs.script("live", 'trap "echo bye; exit 0" TERM\n'
                                 'echo "start $YDL_RANK of $YDL_WORLD"\nwhile :; do sleep 0.05; done\n')
    jobs.job = jobs.submit("-n", "2", "--name", "alive", "--", script)
    jobs.running(jobs.job, 2)
    jobs.until(lambda: jobs.ok("logs", jobs.job).count("start") == 2, "they do not listen")
    return jobs


def test_stop_lets_tasks_clean_up(alive):
    assert alive.ok("stop", "alive") == f"{alive.job} has ended: killed\n"
    assert sorted(alive.ok("logs", "alive", "--no-prefix").splitlines()).count("bye") == 2
    assert alive.ok("stop", "alive") == f"{alive.job} had already ended: killed\n"
    done = alive.json("stop", "alive")
    assert done == {"job": alive.job, "done": "nothing", "state": "KILLED", "exit": 143}


def test_stop_has_its_own_grace(jobs):
    script = jobs.script("deaf", 'trap "" TERM\nwhile :; do sleep 0.05; done\n')
    job = jobs.submit("--grace", "1h", "--", script)
    jobs.running(job)
    assert jobs.json("stop", job, "--grace", "200ms")["state"] == "KILLED"  # within DEADLINE, not 1 h
    assert jobs("stop", job, "--grace", "soon").returncode == 2


def test_kill_does_not_ask(alive):
    fact = alive.json("kill", "alive")
    assert fact["done"] == "kill" and fact["state"] == "KILLED"
    assert "bye" not in alive.ok("logs", "alive", "--no-prefix")


def test_one_task_is_started_again_in_its_place(alive):
    before = {t["task"]: t for t in alive.json("status", "alive")["tasks"]}
    assert alive.ok("restart", "alive", "worker:1") == f"{alive.job}: restarting worker:1\n"

    def again():
        tasks = {t["task"]: t for t in alive.json("status", "alive")["tasks"]}
        one = tasks["worker:1"]
        return one["state"] == "RUNNING" and one["pid"] != before["worker:1"]["pid"] and tasks
    after = alive.until(again)
    assert after["worker:0"]["pid"] == before["worker:0"]["pid"]


def test_all_tasks_are_started_again(alive):
    assert alive.json("restart", "alive")["task"] is None

    def again():
        status = alive.json("status", "alive")
        return status["generation"] == 1 and status["roles"][0]["states"] == {"RUNNING": 2}
    alive.until(again)


def test_a_role_gets_larger_and_smaller(alive):
    assert alive.ok("scale", "alive", "worker=3") == (
        f"{alive.job}: changing worker to 3 containers\n")
    alive.until(lambda: alive.json("status", "alive")["roles"][0]["states"].get("RUNNING") == 3)
    assert alive.json("scale", "alive", "worker=1") == {
        "job": alive.job, "done": "scale", "role": "worker", "count": 1}
    alive.until(lambda: alive.json("status", "alive")["roles"][0]["states"].get("RUNNING") == 1)


@pytest.mark.parametrize("words,code,says", [
    (["restart", "alive", "worker:9"], 1, "worker:9"),
    (["restart", "alive", "worker"], 2, "'worker' is not a task name"),
    (["scale", "alive", "worker"], 2, "not ROLE=COUNT"),
    (["scale", "alive", "worker=-1"], 2, "not ROLE=COUNT"),
    (["scale", "alive", "ps=1"], 1, "ps"),
])
def test_what_cannot_be_done_is_said(alive, words, code, says):
    done = alive(*words)
    assert done.returncode == code and says in done.stderr, done.stderr
    assert done.stdout == "" and alive.json("status", "alive")["state"] == "RUNNING"


@pytest.mark.parametrize("words", [["restart"], ["restart", "last", "worker:0"], ["scale", "last", "worker=2"]])
def test_an_ended_job_cannot_be_changed(jobs, words):
    jobs("run", "-q", "--", "true")
    done = jobs(*(words if len(words) > 1 else [*words, "last"]))
    assert done.returncode == 1 and "had already ended: succeeded" in done.stdout


CHANGES = (["restart", "last"], ["restart", "last", "worker:0"], ["scale", "last", "worker=2"])


def test_a_job_that_is_ending_cannot_be_changed(jobs):
    """It will not run again, so that this is no case for another try."""
    script = jobs.script("deaf", 'await() { while [ ! -e $1 ]; do sleep 0.05; done; }\n'
                                 '[ "$YDL_RANK" = 0 ] && await deaf.up && exit 3\n'
                                 'trap "" TERM\ntouch deaf.up\nawait go\n')
    job = jobs.submit("-n", "2", "--grace", "1h", "--", script)
    jobs.until(lambda: jobs.json("status", job)["state"] == "FINISHING")
    for words in CHANGES:
        done = jobs(*words)
        assert done.returncode == 1 and "the job is ending" in done.stderr, (words, done)
    (jobs.work / "go").touch()
    jobs("wait", job)


def test_a_job_that_has_ended_cannot_be_changed_while_its_master_is_there(jobs):
    """It stays for a reader that is slow."""
    job = jobs.submit("--", jobs.script("much", "while [ ! -e go ]; do sleep 0.05; done\nhead -c 8000000 /dev/zero\n"))
    jobs.running(job)
    with jobs.start("logs", "-f", job) as reader:
        (jobs.work / "go").touch()
        jobs.until(lambda: jobs.json("status", job)["state"] == "SUCCEEDED")
        for words in CHANGES:
            done = jobs(*words)
            assert done.returncode == 1 and "had already ended: succeeded" in done.stdout, (words, done)
            assert jobs(words[0], "--json", *words[1:]).returncode == 1
        reader.kill()
