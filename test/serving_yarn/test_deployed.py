"""What a person who serves a model on YARN sees."""

import json
import uuid
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
    before = set(served.cluster.hdfs_names(base))
    plan = json.loads(served.run("serve", "plan", "own:1", "--on", "yarn", "--registry", here, "--json", check=0).stdout)
    assert plan["platform"] == "yarn" and set(served.cluster.hdfs_names(base)) == before
    served.deploy("own:1", "--registry", here)
    first = served.predict("own")
    served.run("serve", "update", "own", "--to", 2, "--watch", "1s", check=0)
    assert served.predict("own") != first
    copies = sorted(set(served.cluster.hdfs_names(base)) - before)
    assert len(copies) == 1 and sorted(served.cluster.hdfs_names(f"{base}/{copies[0]}/own/versions")) == ["1", "2"]
    served.run("serve", "stop", "own", check=0)
    assert not served.cluster.hdfs_names(f"{base}/{copies[0]}/own/versions")
    done = served.run("serve", "deploy", "own@champion", "--on", "yarn", "--registry", here)
    assert done.returncode == 1 and "no alias 'champion'" in done.stderr, done


def test_a_file_says_all_of_it_and_keys_stay_secret(served):
    key = uuid.uuid4().hex
    (served.work / "keys").write_text(f"{key}\n")
    (served.work / "keys").chmod(0o600)
    (served.work / "shop.yaml").write_text(json.dumps({
        "kind": "serve", "name": "shop", "platform": "yarn", "queue": "default",
        "models": [{"model": "mlp:1", "cpus": 1, "memory": "256m"}],
        "gateway": {"key-file": "keys"}, "update": {"canary": "10%"}}))
    plan = json.loads(served.run("serve", "plan", "-f", "shop.yaml", "--json", check=0).stdout)
    assert (plan["platform"], plan["queue"], plan["host"]) == ("yarn", "default", None)
    before = len(served.apps())
    url = served.run("serve", "deploy", "-f", "shop.yaml", check=0).stdout.strip()
    assert len(served.apps()) == before + 1
    body = {"instances": [[0.5] * 784]}
    assert ask(url, body=body)[0] == 401
    assert ask(url, body=body, headers={"Authorization": f"Bearer {key}"})[0] == 200
    assert served.predict("shop", "--key-file", "keys")["predictions"]
    assert "unchanged" not in served.run("serve", "update", "-f", "shop.yaml", check=0).stderr
    app = served.apps()[-1]
    inner = next(Path(one.split("=", 1)[-1]).read_text() for pid in served.cluster.processes(app)
                 for one in Path(f"/proc/{pid}/cmdline").read_text().split("\0") if one.endswith(".key"))
    told = "".join(Path(f"/proc/{pid}/{file}").read_text(errors="replace")
                   for pid in served.cluster.processes(app) for file in ("cmdline", "environ"))
    told += served.run("serve", "logs", "shop", check=0).stdout + served.run("events", app, check=0).stdout
    assert len(inner) == 64 and inner not in told and key not in told
    replica = next(row["address"] for model in served.status("shop")["gateway"]["models"]
                   for version in model["versions"] for row in version["replicas"])
    assert ask(f"http://{replica}", body=body)[0] == 401
    served.run("serve", "stop", "shop", check=0)
