"""Replicas that follow their load, on the real HAProxy, and what a person says beside that."""

import json
import threading

import pytest

from serving_load import ask
from test_deploy_handlers import push

# Answers when the test opens the gate, and keeps its requests in flight until then.
HELD = """
    import os
    import time

    GATE = {gate!r}

    def load(directory):
        pass

    def predict(inputs):
        while not os.path.exists(GATE):
            time.sleep(0.02)
        return {{"y": inputs["x"]}}
"""


class Held:
    """Requests that are all in flight until open(), to models that are called NAMES."""

    def __init__(self, serving):
        self.serving, self.gate = serving, serving.tmp / "gate"
        self.threads, self.answers, self.url = [], [], None

    def push(self, *names):
        for name in names:
            push(self.serving, name, {"model.py": HELD.format(gate=str(self.gate))})

    def deploy(self, *words):
        self.url = self.serving.deploy("held", "--cpus", 1, *words)

    def send(self, n, model="held"):
        def one():
            self.answers.append(ask(self.url, f"/v1/models/{model}:predict", {"instances": [{"x": [1]}]},
                                    timeout=120)[0])
        for _ in range(n):
            self.threads.append(threading.Thread(target=one, daemon=True))
            self.threads[-1].start()

    def open(self):
        self.gate.touch()
        for thread in self.threads:
            thread.join(120)

    def in_flight(self):
        report = self.serving.status("held")["gateway"]
        return sum(one["in_flight"] for v in report["models"][0]["versions"] for one in v["replicas"])

    def model(self, name="held"):
        return self.serving.model("held", name)

    def wait_for(self, replicas, what, model="held"):
        self.serving.wait_for(lambda: self.model(model)["replicas"] == replicas, what)

    def notes(self):
        """What the job's events tell of it."""
        job = self.serving.status("held")["job"]
        lines = self.serving.run("events", job, "--json", check=0).stdout.decode().splitlines()
        return [e["text"] for e in map(json.loads, lines) if e.get("event") == "task-note"]

    def notes_of_scaling(self):
        return [text for text in self.notes() if "scaled from" in text]


@pytest.fixture(name="held")
def held_fixture(serving):
    held = Held(serving)
    held.push("held")
    yield held
    held.gate.touch()  # or nobody could stop it


def test_replicas_follow_the_load(serving, held):
    held.deploy("--autoscale", "1-3,target=2,cool-down=3s")
    assert held.model()["autoscale"] == {"target": 2, "min": 1, "max": 3, "cool_down": 3000}
    held.send(8)
    held.wait_for(3, "as many as are allowed")
    serving.wait_for(lambda: serving.ready(1, "held", "held") == 3, "all of them")
    text = serving.run("serve", "status", "held", check=0).stdout.decode()
    assert "autoscale 1 to 3 replicas, 2 requests each; 3 now" in text, text
    held.open()
    held.wait_for(1, "the least again")
    assert held.answers == [200] * 8
    notes = held.notes_of_scaling()
    assert notes[0].startswith("held: scaled from 1 to 3 replicas: 8 requests in flight"), notes
    assert notes[-1].startswith("held: scaled from ") and " to 1 replicas: at most " in notes[-1], notes
    assert len(notes) <= 3, notes
    assert held.model()["scaled"]["to"] == 1


def test_a_number_and_the_load_go_together(serving, held):
    held.deploy("--autoscale", "1-3,target=2,cool-down=1h")
    said = serving.run("serve", "scale", "held", 2, check=0)
    assert "autoscaling is still on, from 1 to 3 replicas" in said.stderr.decode()
    held.wait_for(2, "the number that was said")
    said = serving.run("serve", "scale", "held", 4)
    assert said.returncode == 1
    assert "'held' is scaled by its load, from 1 to 3 replicas" in said.stderr.decode()
    assert held.model()["replicas"] == 2
    serving.run("serve", "scale", "held", 4, "--autoscale", "off", check=0)
    held.wait_for(4, "what autoscaling did not allow")
    assert held.model()["autoscale"] is None
    serving.run("serve", "scale", "held", "--autoscale", "1-2", check=0)
    held.wait_for(2, "what it allows now")
    said = serving.run("serve", "scale", "held", 0, check=0)
    assert "autoscaling is paused until there are replicas again" in said.stderr.decode()
    serving.wait_for(lambda: not serving.replicas("held"), "none")
    assert held.model()["replicas"] == 0
    assert "autoscale off while there are 0 replicas" in serving.run("serve", "status", "held").stdout.decode()


def test_nothing_is_decided_during_an_update(serving, held):
    held.push("other")
    held.deploy("other", "--autoscale", "1-3,target=2,cool-down=1h")
    serving.run("model", "push", "held", "held", check=0)
    serving.run("serve", "update", "held", "--model", "held", "--canary", "1%", "--requests", 1000, "--no-wait", check=0)
    serving.wait_for(lambda: (held.model()["update"] or {}).get("phase") == "watching", "the canary")
    held.send(8)
    serving.wait_for(lambda: held.in_flight() == 8, "all requests")
    held.send(8, "other")
    held.wait_for(3, "the other one, by the same load", "other")
    assert held.model()["replicas"] == 1
    held.open()
    assert held.answers == [200] * 16
    serving.run("serve", "rollback", "held", "--model", "held", "--no-wait", check=0)
    serving.wait_for(lambda: not held.model()["update"], "the end of the update")

    def one_is_left():
        report = serving.status("held")["gateway"]
        return report["settled"] and not report["haproxy"]["leaving"] and len(report["models"][0]["versions"]) == 1
    serving.wait_for(one_is_left, "a gateway that has forgotten it")
    assert [text.split(":")[0] for text in held.notes_of_scaling()] == ["other"]
    held.gate.unlink()
    held.send(8)
    held.wait_for(3, "the load counts again")
    held.open()
    assert held.answers == [200] * 24


def test_a_file_says_it_and_changes_it(serving):
    file = serving.work / "shop.yaml"
    file.write_text("kind: serve\nname: shop\nmodels:\n"
                    "  - {model: mlp, cpus: 1, autoscale: {max: 2, target: 10, cool-down: 2m}}\n")
    plan = json.loads(serving.run("serve", "plan", "-f", file, "--json", check=0).stdout)
    assert plan["models"][0]["autoscale"] == {"target": 10, "min": 1, "max": 2, "cool_down": 120000}
    serving.deploy("-f", file)
    assert "nothing to change" in serving.run("serve", "update", "-f", file, check=0).stdout.decode()
    file.write_text(file.read_text().replace("max: 2", "max: 3, min: 2"))
    assert "autoscale up to 3" in serving.run("serve", "update", "-f", file, check=0).stdout.decode()
    serving.wait_for(lambda: serving.ready(1, "shop") == 2, "the least")
    assert serving.model("shop")["autoscale"]["min"] == 2
    file.write_text(file.read_text().replace("min: 2", "min: 4").replace("max: 3", "max: 1"))
    said = serving.run("serve", "update", "-f", file)
    assert said.returncode != 0 and "models[0].autoscale.min: 4 is more than 'max', which is 1" in said.stderr.decode()
    file.write_text("kind: serve\nname: shop\nmodels:\n  - {model: mlp, cpus: 1}\n")
    serving.run("serve", "update", "-f", file, check=0)
    assert serving.model("shop")["autoscale"] is None
    for rule, says in (("3-2", "does not say from how many"), ("0-2", "does not say"),
                       ("1-2,cool-down=1ms", "does not say"), ("1-2,goal=3", "does not say"), ("", "does not say")):
        said = serving.run("serve", "scale", "shop", f"--autoscale={rule}")
        assert said.returncode == 2 and says in said.stderr.decode(), said.stderr


def test_replicas_are_stopped_when_they_have_answered(serving, held):
    """However long that takes: nobody cuts their requests off."""
    held.deploy("--replicas", 2)
    serving.wait_for(lambda: serving.ready(1, "held", "held") == 2, "both replicas")
    held.send(2)
    serving.wait_for(lambda: held.in_flight() == 2, "a request in each")
    serving.run("serve", "scale", "held", 1, check=0)
    serving.wait_for(lambda: "leaving" in serving.replicas("held").values(), "the end of one")
    assert {g["group"]: g["count"] for g in serving.status("held")["groups"]}["a"] == 2
    held.open()
    assert held.answers == [200] * 2
    serving.wait_for(lambda: serving.replicas("held") == {"a-0": "ready"}, "one replica")
    serving.wait_for(lambda: {g["group"]: g["count"] for g in serving.status("held")["groups"]}["a"] == 1, "its end")
