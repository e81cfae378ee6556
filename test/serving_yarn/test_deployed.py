"""What a person who serves a model on YARN sees."""

import json
from pathlib import Path

from serving_load import ask


def test_a_model_is_deployed_asked_scaled_updated_and_rolled_back(served):
    first = served.predict()
    assert len(first["predictions"][0]) == 10 and ask(served.url) == (200, first)
    listed = json.loads(served.run("serve", "list", "--json", check=0).stdout)["deployments"]
    assert [(d["name"], d["url"], d["versions"], d["replicas"], d["job"]) for d in listed] == [
        ("mlp", served.url, ["mlp:1"], 2, served.apps()[0])]
    served.run("serve", "scale", "mlp", 3, check=0)
    served.wait_ready(3)
    served.run("serve", "scale", "mlp", 2, check=0)
    served.wait_ready(2)
    served.push("mlp2")
    served.run("serve", "update", "mlp", "--watch", "1s", check=0)
    assert served.model()["version"] == 2 and served.predict() != first
    served.run("serve", "rollback", "mlp", check=0)
    assert served.model()["version"] == 1 and served.predict() == first


def test_its_tasks_get_programs_from_the_job_and_models_from_the_registry(served):
    for text, file in (("ydl-native serve --host", "/libonnxruntime.so"), ("haproxy -db", "/haproxy")):
        pids = served.pids(text)
        assert pids, text
        for pid in pids:
            used = {line.split()[-1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if file in line}
            assert used and all("/filecache/" in path for path in used), used
    models = [Path(f"/proc/{pid}/cmdline").read_text().split("\0")[-2] for pid in served.pids("ydl-native serve --host")]
    assert len(models) == 2 and all("/usercache/" in one and "/ydl/" in one for one in models), models


def test_a_model_of_this_machine_is_copied_to_the_cluster_and_taken_away(served):
    here = served.home / "models"
    base = f"/user/{served.user}/.ydl/models"
    for name in ("mlp", "mlp2"):
        served.run("model", "push", served.models / f"{name}.onnx", "own", "--registry", here, check=0)
    plan = json.loads(served.run("serve", "plan", "own:1", "--on", "yarn", "--registry", here, "--json", check=0).stdout)
    assert plan["platform"] == "yarn" and not served.cluster.hdfs_names(base)
    served.deploy("own:1", "--registry", here)
    first = served.predict("own")
    served.run("serve", "update", "own", "--to", 2, "--watch", "1s", check=0)
    assert served.predict("own") != first
    copies = served.cluster.hdfs_names(base)
    assert len(copies) == 1 and sorted(served.cluster.hdfs_names(f"{base}/{copies[0]}/own/versions")) == ["1", "2"]
    served.run("serve", "stop", "own", check=0)
    assert not served.cluster.hdfs_names(f"{base}/{copies[0]}/own/versions")
    done = served.run("serve", "deploy", "own@champion", "--on", "yarn", "--registry", here)
    assert done.returncode == 1 and "no alias 'champion'" in done.stderr, done
