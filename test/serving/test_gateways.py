"""Several gateways in front of one deployment: the same configuration, counts and updates in each."""

import contextlib
import json
import os
import re
import signal
from pathlib import Path

import pytest
from serving_load import Load, ask


def addresses(serving):
    return serving.run("serve", "address", "mlp", check=0).stdout.decode().split()


def gateways(serving):
    """The processes of the gateways' tasks, by their index."""
    found = {}
    for pid in serving.find("ydl-native deployment"):
        with contextlib.suppress(OSError):  # it has just ended
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            found |= {int(word.partition(b"=")[2]): pid for word in words if word.startswith(b"YDL_INDEX=")}
    return found


def counted(serving):
    """How many requests each version had, as all gateways together say."""
    return {v["version"]: v["requests"] for m in serving.status()["gateway"]["models"] for v in m["versions"]}


@pytest.fixture
def two(serving):
    """Version 1 of two behind two gateways: the addresses, and what the versions answer."""
    serving.push("mlp2")
    urls = serving.deploy("mlp:1", "--gateways", 2, "--replicas", 2, "--cpus", 1).split()
    assert len(set(urls)) == 2
    one = serving.predict()
    serving.wait_for(lambda: serving.ready(1) == 2, "both replicas")
    return urls, one


def test_all_gateways_answer_and_count_together(serving, two):
    urls, one = two
    assert addresses(serving) == urls == serving.status()["urls"]
    shown = serving.run("serve", "status", "mlp", check=0).stdout.decode()
    assert all(url in shown for url in urls)
    before = counted(serving)[1]
    for url, times in zip(urls, (7, 13)):
        for _ in range(times):
            assert ask(url) == (200, one)
    serving.wait_for(lambda: counted(serving)[1] >= before + 20, "the requests of both")
    assert counted(serving)[1] < before + 30
    serving.wait_for(lambda: serving.answered().get(1, 0) >= 20, "both in the history")
    serving.run("serve", "scale", "mlp", 1, check=0)
    serving.wait_for(lambda: serving.replicas() == {"a-0": "ready"}, "one replica")
    assert [ask(url) for url in urls] == [(200, one)] * 2


def test_an_update_is_one_for_all_gateways(serving, two):
    """All requests go to the second one, and the first one judges the new version."""
    urls, one = two
    load = [Load(urls[1], one) for _ in range(2)]
    try:
        serving.wait_for(lambda: all(x.n > 20 for x in load), "requests")
        done = serving.run("serve", "update", "mlp", "--to", 2, "--canary", "20%", "--requests", 60, "--slower", 100,
                           "--json", check=0)
        said = json.loads(done.stdout)
        assert said["result"] == "done" and int(re.match(r"(\d+) requests", said["why"])[1]) >= 60, said
        status, new = ask(urls[0])
        assert status == 200 and new != one and ask(urls[1]) == (200, new)
    finally:
        ends = [x.end() for x in load]
    assert [bad for _, bad, _ in ends] == [[], []]
    assert sum(len(other) for _, _, other in ends) > 60 and all(answer == new for _, _, other in ends for answer in other)
    assert sorted(serving.replicas()) == ["b-0", "b-1"]


def test_the_death_of_one_is_not_noticed_at_the_other_and_it_comes_back(serving, two):
    urls, one = two
    for index in (1, 0):
        load = Load(urls[1 - index], one)
        victim = gateways(serving)[index]
        os.kill(victim, signal.SIGKILL)
        serving.wait_for(lambda: gateways(serving).get(index) not in (None, victim), "another in its place")
        assert serving.predict() == one  # whichever is asked first
        serving.wait_for(lambda: ask_or_none(urls[index]) == (200, one), "an answer at its address")
        n, bad, wrong = load.end()
        assert n > 0 and not bad and not wrong
    assert addresses(serving) == urls
    serving.run("serve", "update", "mlp", "--to", 2, "--watch", "500ms", check=0)  # both are in step again
    assert ask(urls[0])[1] == ask(urls[1])[1] != one


def test_replicas_that_were_to_go_and_stay_are_asked_again(serving, two):
    """The number changes back before the other gateway knows of it, and the job was told of neither."""
    urls, one = two
    other = gateways(serving)[1]
    os.kill(other, signal.SIGSTOP)
    try:
        serving.run("serve", "scale", "mlp", 1, check=0)
        serving.wait_for(lambda: serving.ready(1) == 1, "one replica in the first gateway")
        serving.run("serve", "scale", "mlp", 2, check=0)
    finally:
        os.kill(other, signal.SIGCONT)
    serving.run("serve", "scale", "mlp", 3, check=0)  # the third starts when both gateways know of it
    serving.wait_for(lambda: serving.replicas() == dict.fromkeys(("a-0", "a-1", "a-2"), "ready"), "all of them")
    assert [ask(url) for url in urls] == [(200, one)] * 2


def ask_or_none(url):
    try:
        return ask(url, timeout=5)
    except OSError:
        return None


@pytest.mark.parametrize("words, told", [
    (("--gateways", "2", "--gateway-port", "8080"), "cannot all listen on port 8080"),
    (("--gateways", "2", "--gateway", "none"), "several gateways"),
    (("--gateways", "0"), "number from 1 to 16"),
    (("--gateways", "17"), "number from 1 to 16"),
])
def test_what_cannot_be_is_refused(shared, words, told):
    assert told in shared.run("serve", "plan", "mlp", *words, check=2).stderr.decode()


def test_a_file_says_how_many(shared):
    (shared.work / "two.yaml").write_text("kind: serve\nmodels: [mlp]\ngateway: {count: 2}\n")
    assert "2, each with an address of its own" in shared.run("serve", "plan", "-f", "two.yaml", check=0).stdout.decode()
    assert json.loads(shared.run("serve", "plan", "-f", "two.yaml", "--json", check=0).stdout)["gateways"] == 2
