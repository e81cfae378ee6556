"""Another version of a model that is served: under load, with a canary, with a broken one."""

import contextlib
import json
import os
import re
import signal
import socket
import time
from pathlib import Path

import pytest
from serving_load import Load, ask

ONE = {"instances": [[0.5] * 784]}


def answer(serving, url, version):
    """What one version of the model says."""
    del serving
    status, said = ask(url, f"/v1/models/mlp/versions/{version}:predict", ONE)
    assert status == 200, said
    return said


@pytest.fixture(scope="module")
def known():
    """What version 2 answers, once a test has asked it."""
    return {}


@pytest.fixture
def both(serving, known):
    """Address of a deployment of version 1, and the answers of versions 1 and 2."""
    serving.push("mlp2")
    if not known:
        url = serving.deploy("mlp:2", "--name", "second", "--cpus", 1)
        known["two"] = answer(serving, url, 2)
        serving.run("serve", "stop", "second", check=0)
    two = known["two"]
    url = serving.deploy("mlp:1", "--replicas", 2, "--cpus", 1)
    one = answer(serving, url, 1)
    assert one != two
    serving.wait_for(lambda: serving.ready(1) == 2, "both replicas")
    return url, one, two


def end(load):
    """The sums of several loads; nothing was wrong."""
    ends = [one.end() for one in load]
    assert [wrong for _, _, wrong in ends if wrong] == []
    return [sum(counts) for counts in zip(*(one.counts for one in load))], [b for _, bad, _ in ends for b in bad]


def alone(serving, group):
    """The two replicas of this group, and no others."""
    serving.wait_for(lambda: serving.replicas() == {f"{group}-0": "ready", f"{group}-1": "ready"}, f"{group} alone")


def update(serving, *words, check=0, name="mlp"):
    return serving.run("serve", "update", name, *words, "--json", check=check)


def result(done):
    return json.loads(done.stdout)


def assert_story(serving, *patterns):
    """What the events of the job tell of updates, sentence by sentence."""
    lines = serving.run("events", "mlp", "--json", check=0).stdout.splitlines()
    told = [(e["task"], e["text"]) for e in map(json.loads, lines) if e["event"] == "task-note"]
    assert len(told) == len(patterns), told
    for (task, text), pattern in zip(told, patterns):
        assert task == "gateway:0" and re.fullmatch("mlp: " + pattern, text), (told, pattern)


def test_an_update_under_load_loses_no_request_and_can_be_rolled_back(serving, both):
    url, one, two = both
    load = [Load(url, one, two) for _ in range(3)]
    serving.wait_for(lambda: all(x.n > 20 for x in load), "requests")
    said = result(update(serving, "--to", 2, "--requests", 50))
    assert (said["from"], said["to"], said["result"]) == (1, 2, "done")
    assert ask(url) == (200, two)
    alone(serving, "b")
    assert (serving.model()["version"], serving.model()["previous"]) == (2, 1)
    back = serving.run("serve", "rollback", "mlp", "--json", check=0)
    assert (result(back)["to"], result(back)["result"]) == (1, "done")
    assert ask(url) == (200, one)
    counts, bad = end(load)
    assert not bad
    assert all(counts)
    alone(serving, "a")
    assert "version 1 serves" in back.stderr.decode()
    assert_story(serving, "update from version 1 to 2 asked for by .+",
                 r"version 2 is ready \(2 replicas are ready\) and gets all requests", "version 2 is kept: .+",
                 "update from version 1 to 2 finished: version 2 serves, the replicas of version 1 are stopped",
                 "rollback from version 2 to 1 asked for by .+",
                 r"version 1 is ready \(2 replicas are ready\) and gets all requests", "version 1 is kept: .+",
                 "update from version 2 to 1 finished: version 1 serves, the replicas of version 2 are stopped")


def test_a_canary_gets_its_share_and_takes_over(serving, both):
    url, one, two = both
    load = [Load(url, one, two) for _ in range(3)]
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "25%", "--requests", 100,
                           "--slower", 1000)
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    text = serving.run("serve", "status", "mlp", check=0).stdout.decode()
    assert "1 → 2, watching: 25 % of the requests" in text
    before = [list(x.counts) for x in load]
    serving.wait_for(lambda: serving.model().get("last") or sum(x.counts[1] for x in load) > 60, "requests")
    if not serving.model().get("last"):
        share = [sum(x.counts[i] - b[i] for x, b in zip(load, before)) for i in (0, 1)]
        assert 0.1 < share[1] / sum(share) < 0.45, share
    assert client.wait(120) == 0
    counts, bad = end(load)
    assert not bad and all(counts)
    assert ask(url) == (200, two)


@pytest.mark.parametrize("canary", [["--canary", "20%"], pytest.param([], marks=pytest.mark.full)])
def test_a_version_that_fails_is_given_up_and_the_story_is_told(serving, both, canary):
    url, one, _ = both
    serving.push("fragile")
    load = [Load(url, one), Load(url, first=7)]
    serving.wait_for(lambda: all(x.n > 20 for x in load), "requests")
    done = update(serving, "--to", 3, *canary, check=1)
    load[1].end()
    text = done.stderr.decode()
    assert "version 3 of 'mlp' was given up, and version 1 continues to serve" in text and "failed, more than 1 %" in text
    assert result(done)["result"] == "returned"
    assert serving.model()["last"]["why"] in text
    n, _, wrong = load[0].end()
    assert n and not wrong
    assert ask(url) == (200, one)
    alone(serving, "a")
    assert "failed, more than 1 %" in serving.run("serve", "status", "mlp", check=0).stdout.decode()
    assert "returned" in serving.run("serve", "logs", "mlp", check=0).stderr.decode()
    part = (", first with 20 % of the requests", "20 % of the") if canary else ("", "all")
    assert_story(serving, "update from version 1 to 3 asked for by .+?" + part[0],
                 rf"version 3 is ready \(2 replicas are ready\) and gets {part[1]} requests",
                 "version 3 is given up, version 1 gets all requests: .*failed, more than 1 %.*",
                 "update from version 1 to 3 returned: version 1 serves, the replicas of version 3 are stopped")
    # Not again by itself, and the next one is tried as if nothing had been.
    assert result(update(serving, "--to", 2, "--watch", "100ms"))["result"] == "done"


def test_a_version_that_does_not_load_never_gets_a_request(serving, both):
    url, one, _ = both
    serving.push("mlp2")
    broken = serving.tmp / "data/ydl/models/mlp/versions/3/model/mlp2.onnx"
    broken.chmod(0o644)
    broken.write_bytes(broken.read_bytes()[:-200_000])
    load = [Load(url, one) for _ in range(2)]
    done = update(serving, "--to", 3, check=1)
    counts, bad = end(load)
    assert not bad and all(counts)
    text = done.stderr.decode()
    assert re.search(r"its replicas end right after they start.*\n    b:[01].*: ended with exit code 1\n"
                     r"    .*mlp2.onnx' is damaged", text), text
    assert "mlp2.onnx" in serving.run("serve", "logs", "mlp", "--version", 3, check=0).stderr.decode()
    alone(serving, "a")


def test_a_version_whose_answers_are_wrong_never_gets_a_request(serving, both):
    """What it was pushed with says what it has to answer."""
    url, one, _ = both
    (serving.work / "wrong.json").write_text(json.dumps({"request": ONE, "expected": {"predictions": [[0] * 10]}}))
    serving.run("model", "push", serving.models / "mlp2.onnx", "mlp", "--warmup", "wrong.json", check=0)
    load = [Load(url, one) for _ in range(2)]
    done = update(serving, "--to", 3, check=1)
    counts, bad = end(load)
    assert not bad and all(counts)
    text = done.stderr.decode()
    assert "was given up, and version 1 continues to serve" in text and "the model's answer is wrong: predictions[0][0] is" in text, text
    alone(serving, "a")


def test_a_version_with_other_inputs_is_given_up(serving, both):
    url, one, _ = both
    serving.push("small")
    load = Load(url, one)
    serving.wait_for(lambda: load.n > 100, "requests")
    done = update(serving, "--to", 3, check=1)
    _, bad, wrong = load.end()
    assert {status for status, _ in bad} == {400} and not wrong
    assert "were refused (status 4xx), of the old version's 0 of" in done.stderr.decode()
    assert ask(url) == (200, one)


@pytest.mark.full
def test_a_version_whose_replicas_are_killed_is_given_up(serving, both):
    url, one, two = both
    load = [Load(url, one, two) for _ in range(2)]
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "5%", "--requests", 1000000)
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    while client.poll() is None:
        for pid in serving.find("--model-version 2"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    _, bad = end(load)
    assert client.returncode == 1
    text = client.stderr.read().decode()
    assert "was given up, and version 1 continues to serve" in text
    assert any(why in text for why in ("one was started again 3 times", "no replica that is ready", "requests failed"))
    assert {status for status, _ in bad} <= {429, 502, 503}, bad  # of requests that were on their way to one
    assert ask(url) == (200, one)
    alone(serving, "a")


def test_a_version_that_is_not_ready_in_time_is_given_up(serving, both):
    _, _, two = both
    del two
    done = update(serving, "--to", 2, "--timeout", "1ms", check=1)
    assert "replicas were ready after" in done.stderr.decode()
    alone(serving, "a")


@pytest.mark.parametrize("phase, victim", [
    pytest.param(phase, victim, marks=() if short else pytest.mark.full) for phase, victim, short in (
        ("warming", "ydl-native deployment", False), ("warming", "haproxy -", False),
        ("watching", "ydl-native deployment", True), ("watching", "haproxy -", False),
        ("routing", "ydl-native deployment", False), ("routing", "haproxy -", True))])
def test_an_update_ends_well_though_the_gateway_is_killed_in_it(serving, both, victim, phase):
    url, one, two = both
    client = serving.start("serve", "update", "mlp", "--to", 2, "--watch", "1s")
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == phase
                     or client.poll() is not None, phase)
    os.kill(serving.find(victim)[0], signal.SIGKILL)
    assert client.wait(120) == 0, client.communicate()
    alone(serving, "b")
    assert ask(url) == (200, two) and one != two
    assert not serving.model()["update"]


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.full)])
def test_an_update_goes_on_without_its_client(serving, both, number):
    url, _, two = both
    client = serving.start("serve", "update", "mlp", "--to", 2, "--watch", "1s")
    serving.wait_for(lambda: serving.model().get("update"), "an update")
    client.send_signal(number)
    assert client.wait(60) == (130 if number == signal.SIGINT else -9)
    assert ("the update continues" in client.stderr.read().decode()) == (number == signal.SIGINT)
    serving.wait_for(lambda: (serving.model().get("last") or {}).get("result") == "done", "its end")
    assert ask(url) == (200, two)


def test_an_update_need_not_be_waited_for(serving, both):
    url, _, two = both
    assert result(update(serving, "--to", 2, "--watch", "100ms", "--no-wait"))["result"] == "started"
    serving.wait_for(lambda: (serving.model().get("last") or {}).get("result") == "done", "its end")
    assert ask(url) == (200, two)
    logs = serving.start("serve", "logs", "mlp", "-f", "--version", 2)
    assert b"mlp:2" in logs.stderr.readline() + logs.stderr.readline()
    logs.kill()
    logs.wait()


def test_who_waits_for_an_update_of_a_deployment_that_is_stopped_is_told(serving):
    serving.push("mlp2")
    serving.deploy("mlp:1", "--cpus", 1)
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "10%")
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    serving.run("serve", "stop", "mlp", check=0)
    said = client.communicate(timeout=120)[1].decode()
    assert client.returncode == 1 and "the deployment 'mlp' has ended, and the update with it" in said, said


def test_one_update_at_a_time_and_it_can_be_taken_back_or_replaced(serving, both):
    url, one, two = both
    serving.push("mlp2")
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "10%")
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    refused = serving.run("serve", "update", "mlp", "--to", 3, check=75)
    assert "is being updated from version 1 to 2" in refused.stderr.decode()
    serving.run("serve", "rollback", "mlp", check=0)
    assert client.wait(60) == 1
    assert "taken back by" in client.stderr.read().decode()
    assert ask(url) == (200, one)
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "10%")
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    assert result(update(serving, "--to", 3, "--replace", "--watch", "100ms"))["result"] == "done"
    assert client.wait(60) == 1
    assert "another update took its place" in client.stderr.read().decode()
    assert serving.model()["version"] == 3
    assert ask(url) == (200, two)


def test_scale_during_and_after_an_update_means_the_version_that_serves(serving, both):
    url, one, two = both
    load = [Load(url, one, two) for _ in range(2)]
    client = serving.start("serve", "update", "mlp", "--to", 2, "--canary", "50%", "--requests", 1000000)
    serving.wait_for(lambda: (serving.model().get("update") or {}).get("phase") == "watching", "the canary")
    serving.run("serve", "scale", "mlp", 1, check=0)
    serving.wait_for(lambda: serving.replicas() == {"a-0": "ready", "b-0": "ready"}, "one of each")
    serving.run("serve", "rollback", "mlp", check=0)
    assert client.wait(60) == 1
    serving.wait_for(lambda: serving.replicas() == {"a-0": "ready"}, "one of the old ones")
    update(serving, "--to", 2, "--watch", "100ms")
    serving.run("serve", "scale", "mlp", 2, check=0)
    serving.wait_for(lambda: serving.replicas() == {"b-0": "ready", "b-1": "ready"}, "two of the new ones")
    assert not end(load)[1]
    serving.run("serve", "scale", "mlp", 0, check=0)
    serving.wait_for(lambda: not serving.find("ydl-native serve --host"), "no replica")
    assert ask(url)[0] == 503
    serving.run("serve", "scale", "mlp", 1, check=0)
    serving.wait_for(lambda: serving.ready(2) == 1, "one again")
    assert ask(url) == (200, two)


def put(serving, key, value):
    """Into the job's key-value store, as its owner may."""
    job = serving.jobs()[-1]
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(Path((job / "run").read_text().strip()) / "api.sock"))
        s.sendall(f"PUT /v1/kv/{key} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(value)}\r\n\r\n".encode() + value)
        assert b" 200 " in s.recv(1000)


def test_what_is_no_request_is_in_nobodys_way(serving, both):
    url, _, two = both
    for key, value in [("serve/ask/lines", b"{\n}"), ("serve/ask/none", b"no"), ("serve/ask/list", b"[]"),
                       ("serve/ask/" + "x" * 200, b"{}"), ("serve/ask/", b"{}"), ("serve/ask/zero", b"{\0}"),
                       ("serve/at/a", b"x"), ("serve/at/b/9/0/0/127.0.0.1:1", b"x")]:
        put(serving, key, value)
    assert result(update(serving, "--to", 2, "--watch", "100ms"))["result"] == "done"
    assert ask(url) == (200, two)


def test_what_cannot_be_served_is_refused_and_nothing_changes(serving, both):
    url, one, _ = both
    for words, code, text in [
            (["--to", 1], 73, "serves version 1 already"), (["--to", 9], 1, "there is no version 9"),
            (["--to", "@nobody"], 1, "there is no alias 'nobody'"), (["--to", "x"], 2, "x"),
            (["--to", 2, "--canary", "x"], 2, "--canary"), (["--to", 2, "--errors", "101%"], 2, "--errors"),
            (["--to", 2, "--canary", "0%"], 2, "judged by its requests"),
            (["--to", 2, "--slower", "0"], 2, "--slower"), (["--to", 2, "--model", "bert"], 1, "no model 'bert'"),
            (["--to", 2, "--backend", "/nowhere"], 1, "/nowhere")]:
        done = serving.run("serve", "update", "mlp", *words)
        assert (done.returncode, text in done.stderr.decode()) == (code, True), (words, done)
    done = serving.run("serve", "rollback", "mlp", check=1)
    assert "has served no other version than 1" in done.stderr.decode()
    assert ask(url) == (200, one)


def test_a_deployment_follows_its_alias(serving):
    serving.push("mlp2")
    serving.run("model", "alias", "mlp@champion", 1, check=0)
    url = serving.deploy("mlp@champion", "--cpus", 1)
    one = ask(url)[1]
    load = Load(url, one)  # so that each version is soon judged
    assert "follows the alias champion" in serving.run("serve", "status", "mlp", check=0).stdout.decode()
    serving.run("model", "alias", "mlp@champion", 2, check=0)
    serving.wait_for(lambda: serving.model()["version"] == 2 and not serving.model().get("update"), "version 2")
    assert ask(url)[1] != one
    assert serving.model()["last"]["by"] == "alias champion"
    # Back by hand stays, until the alias is moved again.
    serving.run("serve", "rollback", "mlp", check=0)
    assert ask(url) == (200, one)
    serving.push("mlp2")
    serving.run("model", "alias", "mlp@champion", 3, check=0)
    serving.wait_for(lambda: serving.model()["version"] == 3 and not serving.model()["update"], "version 3")
    assert serving.model()["last"]["from"] == 1
    assert not load.end()[1]
    serving.run("serve", "update", "mlp", "--to", 2, "--watch", "100ms", check=0)
    assert not serving.model()["follows"]


def test_two_models_behind_one_address_are_updated_on_their_own(serving):
    serving.push("mlp2")
    serving.run("model", "push", serving.models / "small.onnx", "small", check=0)
    url = serving.deploy("mlp:1", "small", "--name", "shop", "--cpus", 1)
    small = ask(url, "/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]})
    first = ask(url)
    assert small[0] == first[0] == 200 and small != first
    assert "several models" in serving.run("serve", "update", "shop", "--to", 2, check=1).stderr.decode()
    update(serving, "--model", "mlp", "--to", 2, "--watch", "100ms", name="shop")
    assert ask(url)[1] != first[1]
    assert ask(url, "/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]}) == small
    assert [(m["model"], m["version"]) for m in serving.status("shop")["models"]] == [("mlp", 2), ("small", 1)]
    assert "twice" in serving.run("serve", "deploy", "mlp", "mlp:1", check=2).stderr.decode()


def test_a_version_that_is_served_stays_in_the_registry(serving, both):
    del both
    used = serving.tmp / "data/ydl/models/mlp/deployments"
    done = serving.run("model", "rm", "mlp:1", check=75)
    assert "mlp:1 is used by the deployment 'mlp'" in done.stderr.decode()
    assert "ydl serve stop" in done.stderr.decode()
    update(serving, "--to", 2, "--watch", "100ms")
    serving.wait_for(lambda: [json.loads(p.read_text())["versions"] for p in used.iterdir()] == [[2]], "version 2")
    serving.run("model", "rm", "mlp:1", check=0)
    serving.run("model", "rm", "mlp:2", check=75)
    assert "there is no version 1" in serving.run("serve", "rollback", "mlp", check=1).stderr.decode()
    serving.run("serve", "stop", "mlp", check=0)
    assert not list(used.iterdir())
    serving.run("model", "rm", "mlp:2", check=0)


def test_a_deployment_that_was_killed_does_not_keep_its_version(serving, both):
    del both
    job = serving.jobs()[-1].name
    record = next((serving.tmp / "data/ydl/models/mlp/deployments").iterdir())
    said = json.loads(record.read_text())
    assert said["job"] == job

    def write(**changes):
        record.unlink()
        record.write_text(json.dumps({**said, **changes}))
    serving.run("model", "rm", "mlp:1", check=75)
    serving.run("kill", "mlp", check=0)
    jobs = serving.tmp / "state/ydl/jobs"
    (jobs / "local-without-lock").mkdir()
    # Whoever cannot be asked may still run.
    for changes in ({"machine": "0" * 16}, {"machine": None}, {"job": "application_1700000000000_0001"},
                    {"job": "local-20200101-000000-123456"}, {"job": "last"}, {"job": "local-without-lock"},
                    {"job": f"local-/../{job}"}):
        write(**changes)
        done = serving.run("model", "rm", "mlp:1", check=75)
        assert f"ydl fs rm {record}" in done.stderr.decode()
    write(machine="0" * 16, at_ms=said["at_ms"] - 25 * 3600 * 1000)
    rows = json.loads(serving.run("model", "prune", "mlp", "--keep", 1, "--dry-run", "--json", check=0).stdout)
    assert [row["reason"] for row in rows["versions"] if row["version"] == 1] == ["not among the newest 1, and not in use"]
    write()
    serving.run("model", "rm", "mlp:1", check=0)
