"""Where a deployment finds the library that runs its model."""

import json
import shutil

import environment
import pytest

ENVIRONMENT = environment.directory()
FILE = next((ENVIRONMENT / "lib").glob("python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))


@pytest.fixture(name="bare")
def without(serving):
    """Its PATH has a Python without ONNX Runtime."""
    serving.env["PATH"] = serving.env["PATH"].replace(f"{ENVIRONMENT / 'bin'}:", "")
    return serving


def library(serving, *words):
    """What a deployment would run with."""
    done = serving.run("serve", "plan", "--json", *words, check=0)
    return json.loads(done.stdout)["models"][0]["library"]


def test_a_library_that_is_nowhere_is_a_sentence_with_the_places_and_the_remedy(bare):
    said = bare.run("serve", "deploy", "mlp", check=1).stderr.decode()
    assert "ONNX Runtime (libonnxruntime.so) was not found: looked in the Python in PATH (/" in said
    assert "in the system's library directories" in said
    assert "pip install onnxruntime" in said and "--backend" in said and not bare.find("ydl-node")
    assert "there is no libonnxruntime.so in '/nowhere', which --backend names" in \
        bare.run("serve", "deploy", "mlp", "--backend", "/nowhere", check=1).stderr.decode()


def test_it_is_named_or_found_in_an_environment(bare):
    assert library(bare, "mlp", "--backend", FILE)["path"] == str(FILE)
    (bare.work / "shop.yaml").write_text(
        f"kind: serve\nmodels:\n  - model: mlp\n    backend: {ENVIRONMENT}\n")
    assert library(bare, "-f", "shop.yaml")["path"] == str(FILE)
    assert library(bare, "mlp", "--python", ENVIRONMENT)["path"] == str(FILE)
    assert len(library(bare, "mlp", "--python", ENVIRONMENT / "bin" / "python")["sha256"]) == 64

    # One that ydl made for something else. Half of one, which is newer, does not count.
    made = bare.tmp / "cache" / "ydl" / "pip"
    bare.env["XDG_CACHE_HOME"] = str(bare.tmp / "cache")
    for key in ("half", "whole"):
        (made / key).mkdir(parents=True)
    (made / "whole" / "done").touch()
    (made / "whole" / "env").symlink_to(ENVIRONMENT)
    found = library(bare, "mlp")
    assert found["path"].startswith(str(made / "whole" / "env")) and found["version"]
    said = bare.run("serve", "deploy", "mlp", "--cpus", 1, check=0)
    assert found["path"] in said.stderr.decode() and found["sha256"] in said.stderr.decode()
    assert bare.predict()["predictions"]


def test_a_manifest_names_a_library_that_nobody_else_can_exchange(bare):
    place = bare.tmp / "backend"
    place.mkdir(mode=0o700)
    shutil.copy(FILE, place)
    bare.run("model", "push", bare.models / "mlp.onnx", "mlp", "--tag", f"backend={place}", check=0)
    assert library(bare, "mlp")["path"] == str(place / FILE.name)
    assert library(bare, "mlp", "--backend", FILE)["path"] == str(FILE)
    place.chmod(0o777)
    said = bare.run("serve", "deploy", "mlp", check=77).stderr.decode()
    assert f"the model's manifest names '{place}': others can write to '{place}'" in said
    assert "name it yourself with --backend" in said
    assert library(bare, "mlp", "--backend", place)["path"] == str(place / FILE.name)
