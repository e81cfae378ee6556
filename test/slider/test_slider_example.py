"""The sample of the text, `examples/slider`, with the real TensorFlow on this machine."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import environment
import pytest
from slider_support import EXAMPLE, archives_and_job, command

MINUTES = 180
BIN = Path(os.environ.get("YDL_BIN") or EXAMPLE.parents[1] / "build" / "bin")
SAMPLE, IN_GRAPH = EXAMPLE / "app-packages/tensorflow", EXAMPLE / "app-packages/tensorflow-in-graph"
LEARNED = re.compile(r"(\S+) *│ step (\d+), error 0\.00\d\d, y = (?:2\.9\d|3\.0\d) x \+ -(?:0\.9\d|1\.0\d)")


@pytest.fixture(name="tf")
def _tf(local):
    """This machine, with TensorFlow."""
    local.env |= {"PATH": f"{local.bin}:{environment.directory()}/bin:{os.environ['PATH']}",
                  "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    return local


def component(name, count=1, config=None, **keys) -> dict:
    """One of the sample's, as the command makes it of the three files."""
    config = {"ps.port": "0", "worker.port": "0", "run.mode": "direct",
              "user.scripts.entry": "trainer.py"} | (config or {})
    has_port = name != "client"
    if has_port:
        config[f"{name}.port"] = "{port}"
        keys = {"ports": 1, "exports": {f"{name}/host_port": "{host}:{port}"}} | keys
    text = command(name, config, packages=[{"type": "folder", "name": "files"}],
                   commandParams={"script": "scripts/tensorflow.py", "script_type": "PYTHON"})
    return {"count": count, "memory": "700m", "decides": name != "ps",
            "command": ["python3", "slider/agent.py"], "env": {"SLIDER_COMMAND": text}} | keys


def learned(out: str) -> dict[str, int]:
    """Which tasks said that they had learned the line, and at which step."""
    return {found[0]: int(found[1]) for found in LEARNED.findall(out)}


CREATE = {  # the text's own line, and that of its second scenario
    "sample": ["app-packages/tensorflow", "appConfig-default.json", "resources.default.json"],
    "in-graph": ["app-packages/tensorflow-in-graph", "appConfig-in-graph.json",
                 "resources.in-graph.json"],
}


def create(kind: str) -> list[str]:
    """The words of the command."""
    package, template, resources = CREATE[kind]
    return ["create", "tf1", "--appdef", package, "--template", template, "--resources", resources]


def created(tf, kind: str) -> str:
    """What an application that was made by the command said, once it has succeeded."""
    shutil.copytree(EXAMPLE, tf.work, dirs_exist_ok=True, symlinks=True)
    done = tf.command(tf.bin / "slider", *create(kind), "--on", "local")
    assert done.returncode == 0, done.stdout + done.stderr
    job = done.stdout.decode().split()[0]

    def ended():
        now = json.loads(tf.run("status", "--json", job, check=0).stdout)
        return now if now["state"] in ("SUCCEEDED", "FAILED", "KILLED") else None
    end = tf.wait_for(ended, "its end", MINUTES)
    out = tf.run("logs", job, check=0).stdout.decode()
    assert (end["state"], end["exit"]) == ("SUCCEEDED", 0), out
    return out


def test_the_texts_own_line_trains_between_graphs(tf):
    out = created(tf, "sample")
    assert sorted(learned(out)) == ["worker:0", "worker:1"], out
    told = set(re.findall(r"of (\[.*\])", out))
    assert len(told) == 1 and out.count(told.pop()) == 4


@pytest.mark.full
def test_the_second_scenario_trains_in_one_graph_on_bare_servers(tf):
    out = created(tf, "in-graph")
    assert list(learned(out)) == ["client:0"], out
    assert out.count("serves at grpc://") == 3


@pytest.mark.full
@pytest.mark.parametrize("kind", CREATE)
def test_both_scenarios_train_on_a_cluster(jobs_on, cluster, kind):
    jobs = jobs_on(cluster)
    shutil.copytree(EXAMPLE, jobs.work, dirs_exist_ok=True, symlinks=True)
    env = jobs.env() | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    path = f"PATH={environment.directory()}/bin:{env['PATH']}"
    resources = jobs.work / CREATE[kind][2]
    small = json.loads(resources.read_text())
    for row in small["components"].values():  # the cluster's nodes are small
        row.update({"yarn.memory": "700"} if row else {})
    resources.write_text(json.dumps(small))
    slider(jobs, env, *create(kind), "--env", path, "--wait", "600")
    assert jobs.ended(timeout=MINUTES)["finalStatus"] == "SUCCEEDED", jobs.tell()
    out = jobs.run("logs", jobs.apps()[0], check=0).stdout
    assert sorted(learned(out)) == {"sample": ["worker:0", "worker:1"],
                                    "in-graph": ["client:0"]}[kind], out
    slider(jobs, env, "destroy", "tf1", "--force")


def slider(jobs, env, *words):
    """The command on a cluster, which has to succeed."""
    done = subprocess.run([str(BIN / "slider"), *words], env=env, cwd=jobs.work, text=True,
                          capture_output=True, timeout=MINUTES, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{jobs.tell()}"


@pytest.mark.full
def test_the_sample_trains_as_a_job_file(tf):
    archives_and_job(tf.work, SAMPLE, {"ps": component("ps", 2), "worker": component("worker", 2)})
    out = tf.run("run", "-f", "job.json", check=0, timeout=MINUTES).stdout.decode()
    assert sorted(learned(out)) == ["worker:0", "worker:1"], out
    told = set(re.findall(r"of (\[.*\])", out))
    assert len(told) == 1 and out.count(told.pop()) == 4


@pytest.mark.full
def test_the_second_scenario_trains_as_a_job_file(tf):
    config = {"replication": "in_graph"}
    archives_and_job(tf.work, IN_GRAPH, {"ps": component("ps", 1, config),
                                         "worker": component("worker", 2, config),
                                         "client": component("client", 1, config)})
    out = tf.run("run", "-f", "job.json", check=0, timeout=MINUTES).stdout.decode()
    assert list(learned(out)) == ["client:0"], out
    assert out.count("serves at grpc://") == 3


class Training:
    """A cluster that trains long enough to lose somebody."""

    def __init__(self, tf, **restart):
        self.tf = tf
        self.checkpoints = tf.tmp / "prefix" / "app1" / "checkpoints"
        config = {"user.checkpoint.prefix": str(tf.tmp / "prefix")}
        archives_and_job(tf.work, SAMPLE, {"ps": component("ps", 1, config),
                                           "worker": component("worker", 2, config)},
                         restart={"max": 5} | restart)
        self.process = tf.start("run", "-f", "job.json", env={"TRAINER_STEPS": "4000"})

    def trainer(self, rank: int) -> int:
        """The process of a worker's program, once it is there and has been trained for a while."""
        def find():
            said = [path.read_text() for path in self.tf.state.rglob(f"worker-{rank}.out")]
            if f"worker {rank} of [" not in "".join(said):
                return None
            pids = [pid for pid, line in self.tf.processes().items()
                    if re.match(rf"\S*python\S* \S*/trainer.py .*--job_name=worker --task_index={rank} ",
                                line)]
            return pids and list(self.checkpoints.glob("model-*.index")) and pids[0]
        return self.tf.wait_for(find, f"worker {rank} trains", 60)

    def end(self):
        """Its output and the restarts that its log has."""
        out, err = self.process.communicate(timeout=MINUTES)
        assert self.process.returncode == 0, out.decode() + err.decode()
        lines = (self.tf.jobs()[-1] / "events.jsonl").read_text().splitlines()
        return out.decode(), [e for e in map(json.loads, lines) if e["event"] == "restart"]


@pytest.mark.full
def test_a_lost_worker_has_the_cluster_start_again_from_the_checkpoint(tf):
    training = Training(tf, policy="gang")
    os.kill(training.trainer(1), signal.SIGKILL)
    out, restarts = training.end()
    assert sorted(learned(out)) == ["worker:0", "worker:1"] and len(restarts) == 1
    assert len(re.findall(r"worker:0│ goes on from model-\d+", out)) == 1, out
    assert out.count("worker 0 of [") == out.count("worker 1 of [") == 2


@pytest.mark.full
def test_with_restart_task_a_lost_worker_goes_on_alone_on_its_port(tf):
    training = Training(tf, policy="task")
    os.kill(training.trainer(1), signal.SIGKILL)
    out, restarts = training.end()
    assert sorted(learned(out)) == ["worker:0", "worker:1"] and len(restarts) == 1
    assert out.count("worker 0 of [") == 1 and out.count("worker 1 of [") == 2
    assert len(set(re.findall(r"of (\[.*\])", out))) == 1  # the same addresses


def test_the_sample_is_that_of_the_text():
    """What the text shows of it; its braces are whole here."""
    info = json.loads((SAMPLE / "metainfo.json").read_text())["application"]
    assert [c["name"] for c in info["components"]] == ["ps", "worker"]
    assert info["exportGroups"][0]["exports"][0]["value"] == "${ps_HOST}:${site.global.ps.port}"
    config = json.loads((EXAMPLE / "appConfig-default.json").read_text())["global"]
    assert config["site.global.worker.port"] == "${worker.ALLOCATED_PORT}{PER_CONTAINER}"
    assert config["site.global.user.scripts.entry"] == "trainer.py"
    resources = json.loads((EXAMPLE / "resources.default.json").read_text())["components"]
    assert {name: resources[name]["yarn.memory"] for name in ("ps", "worker")} == {
        "ps": "1024", "worker": "2056"}
    assert Path(SAMPLE / "package" / "scripts" / "tensorflow.py").exists()
