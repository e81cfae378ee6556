"""Applications of Slider on YARN: addresses, the registry's record, failures."""

import json
import os
import re
import signal

import pytest
from slider_lives import METHODS, Lives
from slider_support import ask, role, write_job

from ydl_cluster import registry_dns, spec as specs

NAMES = ("ps-0", "worker-0", "worker-1")
PATH = f"/users/{specs.me()}/services/org-apache-slider/app1"
DOMAIN = f"{specs.me()}.{registry_dns.DOMAIN}"


class App:
    """One that runs on a cluster."""

    def __init__(self, jobs, tmp, **keys):
        self.jobs, self.lives = jobs, Lives(tmp / "lives", jobs.wait_for)
        roles = {"ps": role("ps", **keys), "worker": role("worker", count=2, **keys)}
        write_job(jobs.work, METHODS, roles)
        self.process = jobs.start("run", "--on", "yarn", "--env", f"LIVES={tmp / 'lives'}", "-f",
                                  "job.json")

    def finish(self):
        """Everything was done."""
        self.lives.finish()
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, out + err
        assert self.jobs.ended()["finalStatus"] == "SUCCEEDED"

    def record(self):
        """What the registry has of it; None: nothing."""
        done = self.jobs.run("cluster", "registry", "--json", PATH)
        return json.loads(done.stdout)["record"] if done.returncode == 0 else None


def values(document):
    """What is published in a group."""
    return [entry["value"] for entry in document["entries"].get("host_port", [])]


def test_an_application_is_found_by_the_registry_and_comes_back(jobs_on, ha_cluster, tmp_path):
    """As Slider's own clients look for it: the record, the address in it, the exports there."""
    app = App(jobs_on(ha_cluster), tmp_path)
    before = app.lives.wait(dict.fromkeys(NAMES, 1))
    record = app.jobs.wait_for(app.record, "the record")
    ends = {end["api"]: end for end in record["external"]}
    rest = ends["classpath:org.apache.slider.client.rest"]
    assert rest["protocolType"] == "REST" and rest["addressType"] == "uri"
    base = rest["addresses"][0]["uri"]
    assert base == before["ps-0"][0]["rest"] and re.match(r"http://127\.[\d.]+:\d+/ws/v1/slider$", base)
    assert ends["classpath:org.apache.slider.publisher.exports"]["addresses"][0]["uri"] == (
        f"{base}/publisher/exports")
    assert record["yarn:id"] == app.jobs.apps()[0]
    exports = ask(f"{base}/publisher/exports")["exports"]
    told = before["ps-0"][0]["told"]
    assert {name: values(document) for name, document in exports.items()} == told
    entry = exports["worker"]["entries"]["host_port"][1]
    assert entry["tag"] == "2" and re.match(r"container_\w+$", entry["containerId"])
    assert entry["containerId"] in ask(f"{base}/application/live/containers")
    app.lives.kill("worker-1")
    after = app.lives.wait(dict.fromkeys(NAMES, 2))
    assert {life[-1]["generation"] for life in after.values()} == {1}
    assert len({json.dumps(life[-1]["told"]) for life in after.values()}) == 1
    assert ask(f"{base}/application/live/components/worker")["started"] == 2
    app.finish()
    app.jobs.wait_for(lambda: app.record() is None, "the record is gone")


@pytest.mark.full
def test_names_of_instances_can_be_looked_up(jobs_on, names_cluster, tmp_path):
    lay = names_cluster.lay
    dns = registry_dns.RegistryDNS(lay.port("dns", "dns"), None, str(lay.logs / "dns.log"),
                                   lay.host_of("dns"))
    app = App(jobs_on(names_cluster), tmp_path, restart={"policy": "task", "max": 5})
    told = app.lives.wait(dict.fromkeys(NAMES, 1))["ps-0"][0]["told"]
    assert told["ps"][0].startswith(f"ps-0.app1.{DOMAIN}:"), told
    job = json.loads(app.jobs.run("status", "--json", app.jobs.apps()[0], check=0).stdout)
    host = next(t["host"] for t in job["tasks"] if t["task"] == "ps:0")
    dns.wait_for(f"ps-0.app1.{DOMAIN}", [host])
    app.finish()


@pytest.mark.full
def test_with_restart_task_an_instance_goes_on_on_its_port(jobs_on, names_cluster, tmp_path):
    app = App(jobs_on(names_cluster), tmp_path, restart={"policy": "task", "max": 5})
    before = app.lives.wait(dict.fromkeys(NAMES, 1))
    for name in ("ps-0", "worker-1"):
        app.lives.kill(name)
        app.lives.wait({name: 2})
    app.finish()
    for name in NAMES:
        lives = app.lives.of(name)
        assert len(lives) == (1 if name == "worker-0" else 2)
        assert all(life["told"] == before["ps-0"][0]["told"] for life in lives)
        assert {(life["own"], life["generation"]) for life in lives} == {(before[name][0]["own"], 0)}


@pytest.mark.full
def test_a_new_master_is_found_by_the_same_record(jobs_on, names_cluster, tmp_path):
    """Its server is another one: the record says where, and the entries are the same."""
    app = App(jobs_on(names_cluster), tmp_path)
    told = app.lives.wait(dict.fromkeys(NAMES, 1))["ps-0"][0]["told"]
    record = app.jobs.wait_for(app.record, "the record")
    os.kill(next(iter(app.jobs.processes("ydl-node master"))), signal.SIGKILL)

    def elsewhere():
        now = app.record()
        return now if now and now["external"] != record["external"] else None
    now = app.jobs.wait_for(elsewhere, "the new master's record", 60)
    base = next(e for e in now["external"]
                if e["api"] == "classpath:org.apache.slider.client.rest")["addresses"][0]["uri"]

    def same():
        exports = ask(f"{base}/publisher/exports")["exports"]
        return {name: values(document) for name, document in exports.items()} == told
    app.jobs.wait_for(same, "the entries are there again", 60)
    app.finish()
