"""Deployments as files: `ydl serve deploy -f`, `ydl serve plan`, `ydl serve schema`."""

import json
import subprocess

import jsonschema
import pytest
import yaml

WHOLE = """\
kind: serve
name: shop
registry: models
models:
  - {model: mlp, replicas: 2, cpus: 1, memory: 1.5g, batch: 16, batch-delay: 1ms}
  - model: small@champion
    cpus: 1
gateway: {key-file: keys}
timeout: 90s
"""


@pytest.fixture(name="shop")
def fixture_shop(serving, models):
    """A registry, keys and the file in a directory that is not the working one."""
    place = serving.tmp / "shop"
    place.mkdir()
    for name in ("mlp", "small"):
        serving.run("model", "push", models / f"{name}.onnx", name, "--registry", place / "models", check=0)
    serving.run("model", "alias", "small@champion", 1, "--registry", place / "models", check=0)
    (place / "keys").write_text("0123456789abcdef\n")
    (place / "keys").chmod(0o600)
    (place / "shop.yaml").write_text(WHOLE)
    return serving


def test_a_file_is_deployed_with_all_that_it_says(shop):
    path = shop.tmp / "shop" / "shop.yaml"
    url = shop.deploy("-f", path)
    ask = ["--key-file", shop.tmp / "shop" / "keys", "--json"]
    mlp = json.loads(shop.run("predict", "shop", *ask, json.dumps({"instances": [[0.5] * 784]}), check=0).stdout)
    small = json.loads(shop.run("predict", "shop", "--model", "small", *ask, '{"instances": [[1, 2, 3, 4]]}',
                                check=0).stdout)
    assert len(mlp["predictions"][0]) == 10 and len(small["predictions"][0]) == 3
    assert shop.run("predict", "shop", "--json", "{}").returncode == 77
    status = shop.status("shop")
    assert status["url"] == url
    assert [(one["model"], one["replicas"]) for one in status["models"]] == [("mlp", 2), ("small", 1)]
    assert status["models"][1]["follows"] == "champion"
    commands = shop.command("ps", "-eo", "args").stdout.decode().splitlines()
    servers = [line for line in commands if "ydl-native serve" in line and str(shop.tmp / "shop") in line]
    assert sorted("--batch 16 --batch-delay 1ms" in line for line in servers) == [False, True, True], servers


def test_options_win_over_the_file(shop):
    path = shop.tmp / "shop" / "shop.yaml"
    plan = json.loads(shop.run("serve", "plan", "-f", path, "--name", "other", "--replicas", 3, "--host", "0.0.0.0",
                               "--json", check=0).stdout)
    assert (plan["name"], plan["host"], plan["key_file"]) == ("other", "0.0.0.0", str(shop.tmp / "shop" / "keys"))
    assert [one["replicas"] for one in plan["models"]] == [3, 3]


def test_a_plan_shows_what_would_be_started_and_starts_nothing(shop):
    path = shop.tmp / "shop" / "shop.yaml"
    plan = json.loads(shop.run("serve", "plan", "-f", path, "--json", check=0).stdout)
    assert plan["registry"] == str(shop.tmp / "shop" / "models")
    first, second = plan["models"]
    assert (first["model"], first["version"], first["format"], first["replicas"], first["batch"]) == \
        ("mlp", 1, "onnx", 2, "16")
    assert (first["cpus"], first["memory"], first["batch_delay"]) == ("1", "1536m", "1ms")
    assert (second["follows"], second["groups"], second["memory"]) == ("champion", ["c", "d"], None)
    library = first["library"]
    said = subprocess.run(["sha256sum", library["path"]], check=True, stdout=subprocess.PIPE).stdout.decode()
    assert said.split()[0] == library["sha256"]
    assert (library["name"], library["version"]) == ("ONNX Runtime", library["path"].rpartition(".so.")[2])
    text = shop.run("serve", "plan", "-f", path, check=0).stdout.decode()
    for part in ("mlp:1", "@champion", "http://127.0.0.1", str(shop.tmp / "shop" / "keys"), library["sha256"]):
        assert part in text, text
    assert "models" not in json.loads(shop.run("serve", "list", "--json", check=0).stdout) and not shop.jobs()
    used = shop.tmp / "shop" / "models" / "mlp" / "deployments"
    assert not used.exists() or not list(used.iterdir())
    # Beside it, the plan of the job.
    text = shop.run("serve", "deploy", "-f", path, check=0, env={"YDL_PLAN": "1"}).stdout.decode()
    assert f"ONNX Runtime {library['version']}, {library['path']} sha256 {library['sha256']}" in text
    assert "ydl-native replica" in text and not shop.jobs()
    assert not used.exists() or not list(used.iterdir())
    # A name does as well as a file.
    plan = json.loads(shop.run("serve", "plan", "mlp", "--registry", shop.tmp / "shop" / "models", "--json",
                               check=0).stdout)
    assert [one["model"] for one in plan["models"]] == ["mlp"]


@pytest.mark.parametrize("text, words, expected", [
    ("kind: serve\nmodels:\n  - modle: mlp\n", [], "shop.yaml:3: models[0].modle: unknown key (did you mean 'model'?)"),
    ("kind: serve\nmodels: [mlp]\nreplicas: 2\nnmae: x\n", [], "shop.yaml:4: nmae: unknown key (did you mean 'name'?)"),
    ("kind: serve\nmodels: [mlp\n", [], "shop.yaml:"),
    (WHOLE, ["mlp"], "either --file or the models' names"),
    (WHOLE, ["--replicas", "0"], "option '--replicas': '0'"),
], ids=["key", "several", "yaml", "both", "replicas"])
def test_what_is_wrong_with_a_file_is_told_with_its_line(shop, text, words, expected):
    path = shop.tmp / "shop" / "shop.yaml"
    path.write_text(text)
    for verb in ("deploy", "plan"):
        done = shop.run("serve", verb, "-f", path, *words, check=2)
        assert expected in done.stderr.decode(), done
    assert not shop.jobs()


def test_a_file_that_is_not_there_and_no_model_at_all(serving):
    assert "nowhere.yaml" in serving.run("serve", "deploy", "-f", "nowhere.yaml", check=2).stderr.decode()
    assert "which model?" in serving.run("serve", "deploy", check=2).stderr.decode()


def test_files_of_options_count_from_the_working_directory(serving):
    (serving.work / "keys").write_text("0123456789abcdef\n")
    (serving.work / "keys").chmod(0o600)
    serving.deploy("mlp", "--cpus", 1, "--key-file", "keys")
    assert len(serving.predict("mlp", "--key-file", "keys")["predictions"]) == 1


def test_the_schema_accepts_what_ydl_accepts(serving):
    schema = json.loads(serving.run("serve", "schema", check=0).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(WHOLE), schema)
    jsonschema.validate({"kind": "serve", "models": ["mlp:3"]}, schema)
    for bad in ({"kind": "job", "models": ["m"]}, {"kind": "serve"}, {"kind": "serve", "models": []},
                {"kind": "serve", "models": ["m"], "nmae": "x"},
                {"kind": "serve", "models": [{"model": "m", "replicas": 0}]},
                {"kind": "serve", "models": [{"replicas": 2}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


CHANGING = """\
kind: serve
name: shop
models: [{{model: {model}, replicas: {replicas}, cpus: {cpus}{more}}}]
gateway: {{{gateway}}}
update: {{requests: 1}}
"""


def test_a_deployment_becomes_what_its_file_says_now(serving, models):
    serving.run("model", "push", models / "mlp.onnx", "mlp", check=0)
    path = serving.work / "shop.yaml"

    def write(**what):
        path.write_text(CHANGING.format(**{"cpus": 1, "more": "", "gateway": "", **what}))

    def served():
        model = serving.status("shop")["models"][0]
        return model["version"], model["replicas"], model["follows"]
    write(model="mlp:1", replicas=1, more=", memory: 2048m")
    serving.deploy("-f", path)
    write(model="mlp:1", replicas=1, more=", memory: 2g")
    done = serving.run("serve", "update", "-f", path, check=0)
    assert done.stdout.decode() == "shop: nothing to change\n" and served() == (1, 1, None)
    # What only a new deployment can have is refused by name, and nothing else is done either.
    library = serving.tmp / "libonnxruntime.so"
    library.symlink_to(json.loads(serving.run("serve", "plan", "mlp", "--json", check=0).stdout)
                       ["models"][0]["library"]["path"])
    for what, expected in (
            ({"cpus": 2, "more": ", batch: 8, memory: 2g"},
             "mlp: cpus is 1, and 2 in the file; mlp: batch is not set, and 8 in the file"),
            ({}, "mlp: memory is 2048m, and not set in the file"),
            ({"more": ", memory: 2g", "gateway": "host: 0.0.0.0, key-file: keys"},
             f"gateway: host is 127.0.0.1, and 0.0.0.0 in the file; gateway: key-file is not set, and {serving.work}/keys"),
            ({"more": ", memory: 2g, device: cpu, batch-delay: 5ms, batch: 4"}, "mlp: device is not set, and cpu"),
            ({"model": "mlp:1", "replicas": 3, "more": f", memory: 2g, backend: {library}"}, "mlp:1 runs with")):
        write(**{"model": "mlp:2", "replicas": 2, **what})
        done = serving.run("serve", "update", "-f", path, check=1)
        assert expected in done.stderr.decode() and "nothing was changed" in done.stderr.decode(), done
        assert done.stdout == b"" and served() == (1, 1, None)
    write(model="mlp:2", replicas=2, more=", memory: 2g")
    changed = json.loads(serving.run("serve", "update", "-f", path, "--json", check=0).stdout)["changed"]
    assert changed == [{"model": "mlp", "change": "replicas", "to": 2}, {"model": "mlp", "change": "version", "to": 2}]
    assert served() == (2, 2, None)
    # Where it runs is known, whatever the default is.
    done = serving.run("serve", "update", "-f", path, "--on", "local", env={"YDL_ON": "yarn"}, check=0)
    assert done.stdout.decode() == "shop: nothing to change\n"
    path.write_text(path.read_text() + "platform: yarn\n")
    done = serving.run("serve", "update", "-f", path, check=1)
    assert "'shop' runs on local, and on yarn in the file" in done.stderr.decode()
    for model, expected in (("other", "does not have the models of the file"), ("mlp:9", "9")):
        write(model=model, replicas=1, more=", memory: 2g")
        assert expected in serving.run("serve", "update", "-f", path, check=1).stderr.decode()
    assert "which deployment?" in serving.run("serve", "update", check=2).stderr.decode()
    assert "--file" in serving.run("serve", "update", "-f", path, "--to", 1, check=2).stderr.decode()
    assert served() == (2, 2, None)
