"""`ydl run` on one machine: output, exit codes, ranks, environment."""

import json


def test_every_task_prints_behind_its_name(local):
    done = local.run("run", "-n", "2", "--", "sh", "-c", "echo hello from $YDL_RANK of $YDL_WORLD",
                     check=0)
    assert sorted(done.stdout.decode().splitlines()) == [
        "worker:0│ hello from 0 of 2", "worker:1│ hello from 1 of 2"]


def test_the_first_failing_task_gives_the_exit_code(local):
    done = local.run("run", "-n", "3", "--", "sh", "-c",
                     "[ $YDL_RANK = 1 ] && { echo broken >&2; exit 42; }; sleep 60", check=42)
    text = done.stderr.decode()
    assert "worker:1" in text and "42" in text and "broken" in text


def test_a_signal_is_told_as_a_shell_does(local):
    done = local.run("run", "-n", "2", "--", "sh", "-c", "[ $YDL_RANK = 0 ] && kill -SEGV $$; sleep 60",
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
