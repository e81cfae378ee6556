"""Applications of Slider as jobs on this machine: addresses, documents, failures."""

import http.client
import json
import re
import socket

import pytest
from slider_lives import METHODS, Lives
from slider_support import archives_and_job, ask, role, write_job

NAMES = ("ps-0", "ps-1", "worker-0", "worker-1")


class App:
    """One that runs."""

    def __init__(self, local, roles, **keys):
        self.local, self.lives = local, Lives(local.tmp / "lives", local.wait_for)
        write_job(local.work, METHODS, roles, **keys)
        self.process = local.start("run", "-f", "job.json", env={"LIVES": str(local.tmp / "lives")})

    def finish(self, code=0):
        """Its output, once it has ended."""
        self.lives.finish()
        return self.end(code)

    def end(self, code):
        """The same for one that ends by itself."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == code, out.decode() + err.decode()
        return out.decode() + err.decode()

    def rest(self, path):
        """A document of the application."""
        return ask(self.lives.of("worker-0")[-1]["rest"] + path)

    def api(self, path):
        """A document of the master."""
        class Unix(http.client.HTTPConnection):
            def connect(self):
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect(self.host)
        path_of = next(iter(self.local.run_dir.glob("**/api.sock")))
        connection = Unix(str(path_of))
        connection.request("GET", path, headers={"Host": "x"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture(name="start")
def _start(local):
    return lambda roles, **keys: App(local, roles, **keys)


def four(**keys):
    """The sample's cluster."""
    return {"ps": role("ps", count=2, **keys), "worker": role("worker", count=2, **keys)}


def values(document, export="host_port"):
    """What is published in a group."""
    return [entry["value"] for entry in document["entries"].get(export, [])]


def test_instances_find_each_other_and_others_find_them(start):
    app = start(four())
    lives = app.lives.wait(dict.fromkeys(NAMES, 1))
    told = lives["ps-0"][0]["told"]
    assert all(life[0]["told"] == told for life in lives.values())
    assert [len(told["ps"]), len(told["worker"]), len(set(told["ps"] + told["worker"]))] == [2, 2, 4]
    exports = app.rest("/publisher/exports")
    assert list(exports) == ["exports"] and sorted(exports["exports"]) == ["ps", "worker"]
    group = app.rest("/publisher/exports/ps")
    assert group == exports["exports"]["ps"] == app.rest("/publisher/exports/ps/")
    assert group["description"] == "ps" and values(group) == told["ps"]
    assert re.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d UTC \d{4}$",
                    group["updatedTime"]) and group["updated"] > 1.7e12
    job = app.local.jobs()[-1].name
    assert [(e["containerId"], e["tag"], e["level"]) for e in group["entries"]["host_port"]] == [
        (f"{job}-ps-0", "1", "component"), (f"{job}-ps-1", "2", "component")]
    assert app.rest("/publisher/exports/nobody") is None
    assert app.api("/v1/exports") == (200, exports)
    assert app.api("/v1/exports/worker") == (200, exports["exports"]["worker"])
    assert app.api("/v1/exports/nobody")[0] == 404
    app.finish()


def test_the_documents_of_a_running_application(start):
    app = start(four(cpus=1))
    app.lives.wait(dict.fromkeys(NAMES, 1))
    base = app.lives.of("worker-0")[0]["rest"]
    assert app.rest("/publisher") == {"uris": {"exports": f"{base}/publisher/exports"}}
    live = app.rest("/application/live/resources")
    assert live["schema"] == "http://example.org/specification/v2.0.0"
    assert live["components"]["ps"] == {"yarn.role.priority": "1", "yarn.component.instances": "2",
                                        "yarn.memory": "128", "yarn.vcores": "1"}
    assert live["components"]["worker"]["yarn.role.priority"] == "2"
    assert "slider-appmaster" in live["components"]
    ps = app.rest("/application/live/components/ps")
    assert ps == app.rest("/application/live/components")["ps"]
    assert {k: ps[k] for k in ("name", "desired", "actual", "started", "completed", "failed")} == {
        "name": "ps", "desired": 2, "actual": 2, "started": 2, "completed": 0, "failed": 0}
    containers = app.rest("/application/live/containers")
    assert len(containers) == 4 and set(ps["containers"]) <= set(containers)
    one = app.rest(f"/application/live/containers/{ps['containers'][0]}")
    assert one == containers[ps["containers"][0]] and (one["component"], one["state"]) == ("ps", 3)
    assert app.rest("/application/live/liveness") == {"allRequestsSatisfied": True,
                                                      "requestsOutstanding": 0}
    assert app.rest("/application/live/statistics")["containers.live"] == 4
    assert app.rest("/application/action/ping")["verb"] == "GET"
    for path in ("", "/", "/application", "/application/live/components/nobody", "/application/live/no",
                 "/application/live/containers/nobody", "x"):
        assert app.rest(path) is None, path
    app.finish()


def test_nothing_can_be_changed_there(start):
    app = start({"worker": role("worker")})
    host, _, port = app.lives.wait({"worker-0": 1})["worker-0"][0]["rest"][7:].partition(
        "/")[0].partition(":")
    for method in ("POST", "PUT", "DELETE"):
        connection = http.client.HTTPConnection(host, int(port), timeout=120)
        connection.request(method, "/ws/v1/slider/application/action/stop")
        assert connection.getresponse().status == 405
    app.finish()


def test_an_entry_goes_with_its_task(start):
    app = start({"ps": role("ps"), "worker": role("worker", count=2)})
    app.lives.wait({"ps-0": 1, "worker-0": 1, "worker-1": 1})
    first, second = values(app.rest("/publisher/exports/worker"))
    app.lives.leave("worker-0", 0)
    rest = app.lives.of("worker-1")[0]["rest"]
    app.local.wait_for(lambda: values(ask(f"{rest}/publisher/exports/worker")) == [second],
                       f"{first} is no longer published")
    assert ask(f"{rest}/application/live/components/worker")["completed"] == 1
    app.finish()


@pytest.mark.parametrize("who", [pytest.param("ps-1", marks=pytest.mark.full), "worker-0"])
def test_an_instance_that_is_killed_has_all_start_again(start, who):
    app = start(four())
    before = app.lives.wait(dict.fromkeys(NAMES, 1))
    app.lives.kill(who)
    after = app.lives.wait(dict.fromkeys(NAMES, 2))
    app.finish()
    assert {life[-1]["generation"] for life in after.values()} == {1}
    told = after["ps-0"][-1]["told"]
    assert all(life[-1]["told"] == told for life in after.values())
    assert {life[-1]["rest"] for life in after.values()} == {before["ps-0"][0]["rest"]}
    assert all(len(app.lives.of(name)) == 2 for name in NAMES)


def test_with_restart_task_only_that_one_starts_again_on_its_port(start):
    app = start(four(restart={"policy": "task", "max": 5}))
    before = app.lives.wait(dict.fromkeys(NAMES, 1))
    for name in ("ps-1", "worker-0"):
        app.lives.kill(name)
        app.lives.wait({name: 2})
    app.finish()
    for name in NAMES:
        lives = app.lives.of(name)
        assert len(lives) == (2 if name in ("ps-1", "worker-0") else 1)
        assert all(life["told"] == before["ps-0"][0]["told"] for life in lives)
        assert {(life["own"], life["generation"]) for life in lives} == {(before[name][0]["own"], 0)}


def test_the_limit_of_failures_ends_it_with_the_scripts_code(start):
    app = start({"ps": role("ps"), "worker": role("worker")}, restart={"policy": "gang", "max": 1})
    app.lives.wait({"worker-0": 1})
    app.lives.leave("worker-0", 41)
    out = app.end(41)
    assert len(app.lives.of("worker-0")) == 2 and "worker:0" in out


def test_when_the_workers_are_done_the_rest_is_stopped(start):
    app = start(four())
    app.lives.wait(dict.fromkeys(NAMES, 1))
    app.finish()
    stopped = (app.lives.directory / "stopped").read_text().split()
    assert stopped == ["ps", "ps"]


def test_exports_may_have_any_ports_and_groups(local):
    body = "print('REST', os.environ['SLIDER_REST'], flush=True)\ntime.sleep(600)"
    exports = {"Web/url": "http://{host}:{port:1}/{rank}", "web/all": "{addresses:worker}",
               "other/job": "{job}"}
    write_job(local.work, {"start": body},
              {"worker": role("worker", count=2, ports=2, exports=exports)})
    process = local.start("run", "-f", "job.json", "--grace", "1s")
    rest = local.wait_for(lambda: next((m.group(1) for p in local.jobs() for f in p.glob("logs/*.out")
                                        for m in [re.search("REST (.*)", f.read_text())] if m), None),
                          "a task runs")
    web = local.wait_for(lambda: (d := ask(f"{rest}/publisher/exports/web")) and len(values(d, "url")) == 2 and d,
                         "entries of both")
    urls = values(web, "url")
    assert [u.rpartition("/")[2] for u in urls] == ["0", "1"] and len(set(urls)) == 2
    assert values(web, "all") == ["127.0.0.1,127.0.0.1"] * 2
    assert values(ask(f"{rest}/publisher/exports/other"), "job") == [local.jobs()[-1].name] * 2
    process.terminate()
    process.wait(timeout=50)


def test_a_script_that_can_never_run_is_not_tried_again(local):
    """It is neither this Python's nor one that can be rewritten: one sentence, and no restart of five."""
    write_job(local.work, {}, {"worker": role("worker")})
    broken = local.work / "definition" / "package" / "scripts" / "component.py"
    broken.write_text("class Component(:\n    pass\n")
    archives_and_job(local.work, local.work / "definition", {"worker": role("worker")})
    done = local.run("run", "-f", "job.json", check=126)
    text = (done.stdout + done.stderr).decode()
    assert "'package/scripts/component.py', line 1: " in text and "restarting" not in text, text
