"""What a person who serves a model sees."""

import json
import os
import re
import signal
import time

import pytest
from serving_load import Load, ask
from ydl_cluster.patience import stretched


def test_a_model_is_deployed_asked_scaled_and_stopped(serving):
    url = serving.deploy("mlp", "--replicas", 2, "--cpus", 1)
    answer = serving.predict()
    assert len(answer["predictions"][0]) == 10
    assert ask(url) == (200, answer)
    listed = json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"]
    assert [(d["name"], d["url"], d["versions"], d["replicas"]) for d in listed] == [("mlp", url, ["mlp:1"], 2)]
    serving.wait_for(lambda: serving.replicas() == {"a-0": "ready", "a-1": "ready"}, "both replicas")
    serving.run("serve", "scale", "mlp", 3, check=0)
    serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 3, "a third one")
    serving.run("serve", "scale", "mlp", 1, check=0)
    serving.wait_for(lambda: serving.replicas() == {"a-0": "ready"}, "one is left")
    assert serving.predict() == answer
    assert serving.run("serve", "stop", "mlp", check=0).stdout.decode().strip().endswith("killed")
    assert json.loads(serving.run("serve", "list", "--json", check=0).stdout) == {"deployments": []}


@pytest.fixture(scope="module", name="mlp")
def fixture_mlp(shared):
    """One replica, for tests that leave it as it was."""
    shared.deploy("mlp", "--cpus", 1)
    return shared


def test_both_protocols_are_spoken_and_mistakes_are_explained(mlp):
    one = {"inputs": [{"name": "x", "shape": [1, 784], "datatype": "FP32", "data": [0.5] * 784}]}
    done = mlp.run("predict", "mlp", "--json", json.dumps(one), check=0)
    assert json.loads(done.stdout)["outputs"][0]["shape"] == [1, 10]
    for words, code, text in [
            (["mlp", "--json", '{"instances": [[1, 2]]}'], 1, "shape [1, 2]"),
            (["mlp", "--json", "{"], 2, "--json"),
            (["mlp"], 2, "one of --json, --file and --csv"),
            (["mlp", "--file", "nowhere.json"], 2, "nowhere.json"),
            (["other", "--json", "{}"], 1, "there is no deployment 'other'"),
            (["mlp", "--model", "other", "--json", '{"instances": [1]}'], 1, "other")]:
        done = mlp.run("predict", *words)
        assert (done.returncode, text in done.stderr.decode()) == (code, True), (words, done)


def test_who_deploys_is_told_what_is_wrong(mlp):
    for words, code, text in [
            (["nobody"], 1, "nobody"), (["mlp:7"], 1, "7"), (["a b"], 2, "a b"),
            (["mlp"], 73, "there is a deployment 'mlp' already"),
            (["mlp", "--name", "x", "--replicas", 0], 2, "--replicas"),
            (["mlp", "--name", "x", "--host", "localhost"], 2, "'localhost' is not a numeric address"),
            (["mlp", "--name", "x", "--cpus", "0"], 2, "'--cpus': '0' is not a number from 1"),
            (["mlp", "--name", "x", "--batch", "x"], 2, "'--batch': 'x' is not a number"),
            (["mlp", "--name", "x", "--batch-delay", "1h"], 2, "'--batch-delay': '1h' is not a time"),
            (["mlp", "--name", "x", "--device", "tpu"], 2, "'tpu' is not a device"),
            (["n" * 64, "--name", "x"], 2, "its name has 64 characters, and at most 63"),
            (["mlp", "--name", "x", "--backend", "/nowhere"], 1, "/nowhere")]:
        done = mlp.run("serve", "deploy", *words)
        assert (done.returncode, text in done.stderr.decode()) == (code, True), (words, done)
    for words, code, text in [(["--since", "1h"], 2, "--since needs --history"),
                              (["--history", "--since", "31d"], 2, "30 days are kept"),
                              (["--history", "--since", "often"], 2, "--since")]:
        done = mlp.run("serve", "status", "mlp", *words)
        assert (done.returncode, text in done.stderr.decode()) == (code, True), (words, done)


def test_of_deployments_of_one_name_that_begin_at_once_there_is_one(serving):
    for _ in range(3):
        rivals = [serving.start("serve", "deploy", "mlp", "--cpus", 1) for _ in range(4)]
        ends = [(one.communicate(timeout=180)[1].decode(), one.returncode) for one in rivals]
        assert sorted(code for _, code in ends) == [0, 73, 73, 73], ends
        assert all("'mlp'" in said and "--name" in said for said, code in ends if code), ends
        assert len(json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"]) == 1
        serving.run("serve", "stop", "mlp", check=0)


def test_a_model_that_does_not_load_is_not_waited_for(serving):
    version = serving.tmp / "data/ydl/models/mlp/versions/1/model/mlp.onnx"
    version.chmod(0o644)
    version.write_bytes(version.read_bytes()[:-200_000])
    done = serving.run("serve", "deploy", "mlp", "--cpus", 1)
    assert done.returncode == 1
    text = done.stderr.decode()
    said = text[text.index("ydl: 'mlp' does not answer: its replicas end right after they start\n"):].splitlines()
    assert re.fullmatch(r"    a:0.*: ended with exit code 1", said[1]), text
    assert any("/mlp.onnx' is damaged: " in line for line in said[2:-1]), text
    assert len(said) <= 13 and all(line.startswith("    ") for line in said[1:-1]), text
    assert said[-1].startswith("  hint: 'ydl logs local-"), text
    assert not serving.processes()


def test_why_a_deployment_does_not_answer_is_in_the_error_document(serving):
    code = serving.work / "code"
    code.mkdir()
    (code / "model.py").write_text("def load(dir): raise OSError('no \\x1b]0;weights')\n"
                                     "def predict(inputs): pass\n")
    serving.run("model", "push", code, "broken", check=0)
    done = serving.run("serve", "deploy", "broken", "--json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == error["exit"] == 1 and "replicas end right after they start" in error["text"]
    assert (error["cause"]["task"], error["cause"]["class"], error["cause"]["code"]) == ("a:0", "exit", 1)
    assert "OSError: no " in error["cause"]["lines"]
    shown = done.stderr.decode()
    assert "OSError: no " in shown and "\x1b" not in shown


def test_who_interrupts_a_deployment_leaves_none(serving):
    (serving.work / "haproxy").write_text("#!/bin/sh\nsleep 600\n")
    (serving.work / "haproxy").chmod(0o755)
    client = serving.start("serve", "deploy", "mlp", "--cpus", 1, "--haproxy", serving.work / "haproxy")
    serving.wait_for(lambda: servers(serving), "a replica")
    client.send_signal(signal.SIGINT)
    assert client.wait(60) == 130
    assert not serving.processes()


def servers(serving):
    return serving.find("ydl-native serve --host")


def test_replicas_that_are_killed_are_replaced_and_nobody_gets_a_wrong_answer(serving):
    url = serving.deploy("mlp", "--replicas", 3, "--cpus", 1)
    wanted = ask(url)[1]
    serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 3, "three replicas")
    load = [Load(url, wanted) for _ in range(2)]
    for turn in range(5):
        before = [one.n for one in load]
        victim = servers(serving)[turn % 3]
        os.kill(victim, signal.SIGKILL)
        serving.wait_for(lambda v=victim: len(servers(serving)) == 3 and v not in servers(serving), "another one")
        serving.wait_for(lambda b=before: all(one.n > n + 20 for one, n in zip(load, b)), "requests go on")
        serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 3, "it is ready")
    ends = [one.end() for one in load]
    assert [wrong for _, _, wrong in ends] == [[], []]
    # A request that the dead one had in its hands may be lost; the gateway says so.
    bad = [one for _, several, _ in ends for one in several]
    assert len(bad) <= 5 and {status for status, _ in bad} <= {502}, bad


@pytest.mark.parametrize("victim", [pytest.param("haproxy -", marks=pytest.mark.full), "ydl-native deployment"])
def test_the_same_port_answers_again_when_the_gateway_is_killed(serving, victim):
    url = serving.deploy("mlp", "--cpus", 1)
    wanted = ask(url)[1]
    old = serving.find("haproxy -")
    serving.wait_for(lambda: sum(row["requests"] - row["errors"] for row in serving.history()), "the request is in the history")
    before = serving.answered()[1]
    first = serving.history()[0]
    # What `deploy` asked until it was ready is no request to the model.
    assert (first["errors"], first["requests"]) == (0, 1) and 0 < first["p99_ms"]
    os.kill(serving.find(victim)[0], signal.SIGKILL)
    seen = []

    def answers():
        try:
            seen.append(ask(url, timeout=5))
            return seen[-1] == (200, wanted)
        except OSError:
            return False
    began = time.monotonic()
    serving.wait_for(lambda: not set(old) & set(serving.find("haproxy -")), "the old HAProxy has ended")
    serving.wait_for(answers, "an answer", 30)
    assert time.monotonic() - began < stretched(5)
    assert seen == [(200, wanted)]  # a replica that was ready before is known to be ready
    assert serving.predict() == wanted
    serving.wait_for(lambda: serving.answered()[1] >= before + 2, "what it answered since then is there too")
    for words, minutes in (([], 1), (["--since", "30d"], 15)):
        rows = serving.history(*words)
        assert len({(row["time"], row["version"]) for row in rows}) == len(rows)  # each time once
        assert all(row["time"] % (minutes * 60000) == 0 and row["model"] == "mlp"
                   and row["errors"] <= row["requests"] and row["p50_ms"] <= row["p99_ms"] for row in rows), rows
    assert serving.answered("--since", "30d") == serving.answered()
    shown = serving.run("serve", "status", "mlp", "--history", check=0).stdout.decode().splitlines()
    assert shown[0].split()[:5] == ["TIME", "MODEL", "VERSION", "REQUESTS", "ERRORS"] and " mlp " in shown[1]


def test_a_deployment_with_a_key_answers_nobody_else(serving):
    keys = serving.work / "keys"
    keys.write_text("# of the shop\n0123456789abcdef\n")
    keys.chmod(0o600)
    url = serving.deploy("mlp", "--cpus", 1, "--key-file", keys)
    assert ask(url)[0] == 401
    assert ask(url, headers={"Authorization": "Bearer 0123456789abcdef"})[0] == 200
    assert len(serving.predict("mlp", "--key-file", "keys")["predictions"]) == 1
    assert "key" in serving.predict(check=77)
    assert not serving.find("0123456789abcdef")  # on no command line


def test_a_deployment_is_a_job_like_others(mlp):
    status = json.loads(mlp.run("status", "mlp", "--json", check=0).stdout)
    assert (status["framework"], status["state"]) == ("serve", "RUNNING")
    assert {role["name"] for role in status["roles"]} == {"gateway", "a", "b"}
    plan = mlp.run("serve", "deploy", "mlp", "--name", "other", check=0, env={"YDL_PLAN": "1"})
    assert "ydl-native replica" in plan.stdout.decode()
    assert len(list((mlp.tmp / "data/ydl/models/mlp/deployments").iterdir())) == 1  # of the one that runs
    assert "mlp" in mlp.run("list", check=0).stdout.decode()


@pytest.mark.full
def test_one_of_three_is_killed_every_three_seconds_for_a_minute(serving):
    """Whatever the others do just then; restarts never run out."""
    url = serving.deploy("mlp", "--replicas", 3, "--cpus", 1)
    wanted = ask(url)[1]
    serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 3, "three replicas")
    ports = [task["ports"][0] for task in serving.status()["tasks"] if task["role"] == "a"]
    load, began, kills = [Load(url, wanted) for _ in range(4)], time.monotonic(), 0
    while time.monotonic() < began + 60:
        time.sleep(3)
        if victim := serving.find(f"ydl-native serve --host 127.0.0.1 --port {ports[kills % 3]} "):
            os.kill(victim[0], signal.SIGKILL)
        kills += 1
    serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 3, "all of them again")
    ends = [one.end() for one in load]
    assert [wrong for _, _, wrong in ends] == [[]] * 4 and min(n for n, _, _ in ends) > 100 and kills > 10
    bad = [one for _, several, _ in ends for one in several]
    assert len(bad) <= kills and {status for status, _ in bad} <= {502}, (kills, bad)
