"""Story: which rank failed first, why, with which code, and what it said last."""

import json
import os

import pytest

# name, shell text of the task that fails (rank 2 of 4), class, exit code, text in the story
FAULTS = [
    *[(f"exit-{code}", f"echo last words {code} >&2; exit {code}", "exit", code, f"last words {code}")
      for code in (1, 2, 3, 42, 64, 99, 125, 200, 255)],
    *[(f"signal-{name}", f"echo hit by {name}; kill -{name} $$; sleep 60", "signal", 128 + number,
       f"hit by {name}")
      for name, number in (("ABRT", 6), ("SEGV", 11), ("KILL", 9), ("TERM", 15), ("USR1", 10),
                           ("PIPE", 13), ("ALRM", 14), ("BUS", 7), ("FPE", 8), ("ILL", 4))],
]


def _story(local):
    done = local.run("status", "--json", "last", check=0)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name, text, cls, code, words", FAULTS, ids=[f[0] for f in FAULTS])
def test_the_failing_rank_is_told(local, name, text, cls, code, words):
    done = local.run("run", "-n", "4", "--", "sh", "-c",
                     f"if [ $YDL_RANK = 2 ]; then {text}; fi; sleep 60", check=code)
    status = _story(local)
    assert status["story"]["task"] == "worker:2"
    assert status["story"]["class"] == cls
    assert status["story"]["code"] == code
    assert words in status["story"]["lines"]
    assert "worker:2" in done.stderr.decode() and words in done.stderr.decode()


def test_the_first_of_many_is_the_story(local):
    # Rank 3 fails and takes the others down a moment later, as a broken connection would.
    text = ("if [ $YDL_RANK = 3 ]; then echo $$ > pid.tmp; mv pid.tmp pid; echo cause >&2; exit 9; fi; "
            "while [ ! -e pid ] || kill -0 $(cat pid) 2>/dev/null; do :; done; "
            "echo consequence >&2; exit 1")
    local.run("run", "-n", "4", "--", "sh", "-c", text, check=9)
    assert _story(local)["story"]["task"] == "worker:3"


def test_out_of_memory(local):
    done = local.run("run", "-n", "2", "--mem", "64m", "--", "python3", "-c",
                     "import os, time\nif os.environ['YDL_RANK'] == '1': x = b'x' * (200 << 20)\n"
                     "time.sleep(60)", check=137)
    story = _story(local)["story"]
    assert story["task"] == "worker:1" and story["class"] == "memory"
    assert "--mem" in done.stderr.decode()


def test_not_ready_in_time(local):
    (local.work / "job.yaml").write_text(
        "command: sleep 60\n"
        "roles: {worker: {count: 2, ports: 1, ready: {port: true, timeout: 300ms}}}\n")
    local.run("run", "-f", "job.yaml", check=124)
    assert _story(local)["story"]["class"] == "not-ready"


def test_agent_killed(local):
    p = local.start("run", "-n", "2", "--", "sleep", "60")
    local.wait_for(lambda: len(local.tasks("sleep 60")) == 2, "tasks run")
    os.kill(local.find("ydl-node agent")[0], 9)
    assert p.wait(20) == 75
    assert _story(local)["story"]["class"] == "node"
