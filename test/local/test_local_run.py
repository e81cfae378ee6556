"""`ydl run` on one machine: output, exit codes, ranks, environment."""

import json

import pytest


def test_every_task_prints_behind_its_name(local):
    done = local.run("run", "-n", "2", "--", "sh", "-c", "echo hello from $YDL_RANK of $YDL_WORLD",
                     check=0)
    assert sorted(done.stdout.decode().splitlines()) == [
        "worker:0│ hello from 0 of 2", "worker:1│ hello from 1 of 2"]


def test_the_first_failing_task_gives_the_exit_code(local):
    done = local.run("run", "-n", "3", "--", "sh", "-c",
                     "[ $YDL_RANK = 1 ] && { echo broken >&2; exit 42; }; sleep 600", check=42)
    text = done.stderr.decode()
    assert "worker:1" in text and "42" in text and "broken" in text


def test_a_signal_is_told_as_a_shell_does(local):
    done = local.run("run", "-n", "2", "--", "sh", "-c", "[ $YDL_RANK = 0 ] && kill -SEGV $$; sleep 600",
                     check=139)
    assert "worker:0" in done.stderr.decode()


def test_a_task_has_its_variables(local):
    script = ("import json, os, sys;"
              "print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('YDL_')}));"
              "json.load(open(os.environ['YDL_SPEC']))")
    done = local.run("run", "--role", "worker=2,ports=1", "--", "python3", "-c", script, check=0)
    for line in done.stdout.decode().splitlines():
        name, text = line.split("│ ")
        env = json.loads(text)
        assert f"{env['YDL_ROLE']}:{env['YDL_INDEX']}" == name.strip()
        assert env["YDL_WORLD"] == "2" and env["YDL_GENERATION"] == "0" and env["YDL_ATTEMPT"] == "0"
        assert 1024 < int(env["YDL_PORT"]) < 32768
        assert set(env) >= {"YDL_JOB", "YDL_RANK", "YDL_HOST", "YDL_SOCKET", "YDL_OUT"}


def test_a_long_command_gives_the_job_a_short_name(local):
    (local.work / "train.sh").write_text("exit 0\n")
    exports = " && ".join(f"export A{i}={i}" for i in range(20))
    local.run("run", "-q", "-n", "1", "--", "sh", "-c", f"{exports} && exec sh ./train.sh", check=0)
    assert json.loads(local.run("status", "--json", "last", check=0).stdout)["name"] == "train"


def test_results_stay_and_an_empty_result_directory_does_not(local):
    local.run("run", "-n", "1", "--", "true", check=0)
    assert not list(local.work.glob("ydl-out*"))
    local.run("run", "-n", "1", "--", "sh", "-c", "echo weights > $YDL_OUT/model", check=0)
    assert [p.read_text() for p in local.work.glob("ydl-out/*/model")] == ["weights\n"]


def test_results_go_where_the_user_wants_them(local):
    local.run("run", "-n", "2", "--output", "results/today", "--", "sh", "-c",
              "echo $YDL_RANK > $YDL_OUT/$YDL_RANK", check=0)
    assert sorted(p.name for p in (local.work / "results" / "today").iterdir()) == ["0", "1"]


def test_pretended_machines_have_names_and_addresses_of_their_own(local):
    done = local.run("run", "--nodes", "3", "-n", "6", "--", "sh", "-c", "echo $YDL_HOST", check=0)
    hosts = {line.split("│ ")[1] for line in done.stdout.decode().splitlines()}
    assert len(hosts) == 3


@pytest.mark.parametrize("show, shown", [
    (["--show", "worker:1"], ["worker:1"]), (["--show", "ps"], ["ps:0", "ps:1"]),
    (["--show", "ps:1", "--show", "worker"], ["ps:1", "worker:0", "worker:1"]),
    ([], ["ps:0", "ps:1", "worker:0", "worker:1"])])
def test_only_the_tasks_that_were_asked_for_are_shown(local, show, shown):
    words = ["--role", "ps=2", "--role", "worker=2", *show, "--", "sh", "-c",
             "echo out $YDL_ROLE:$YDL_RANK; echo err $YDL_ROLE:$YDL_RANK >&2"]
    done = local.run("run", "-q", *words, check=0)
    for stream, text in (("out", done.stdout), ("err", done.stderr)):
        lines = [line.split("│ ") for line in text.decode().splitlines()]
        assert sorted((a.strip(), b) for a, b in lines) == [(t, f"{stream} {t}") for t in shown]
    files = sorted(p.name for p in local.jobs()[-1].glob("logs/*.out"))
    assert files == ["ps-0.out", "ps-1.out", "worker-0.out", "worker-1.out"]  # all is kept
    done = local.run("run", "--json", *words, check=0)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted({line["output"]["task"] for line in lines if "output" in line}) == shown


@pytest.mark.parametrize("word, sentence", [
    ("wroker", "the job has no role 'wroker'; did you mean 'worker'?"),
    ("worker:x", "'worker:x' is neither a role nor a task"), ("q:1", "the job has no role 'q'")])
def test_what_cannot_be_shown_is_told_before_anything_starts(local, word, sentence):
    done = local.run("run", "--show", word, "--", "true", check=2)
    assert sentence in done.stderr.decode()
    assert not local.jobs()
