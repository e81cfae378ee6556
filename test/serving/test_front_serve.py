"""`ydl-mx serve` and `ydl-tf serve`: models behind an address, in the words of other model servers."""

import json
import shutil

from serving_load import ask


def test_a_file_is_pushed_once_and_served_by_its_name(serving):
    shutil.copy(serving.models / "mlp2.onnx", serving.work / "digits.onnx")
    words = (serving.bin / "ydl-mx", "serve", "--on", "local", "digits.onnx", "--cpus", 1)
    done = serving.command(*words)
    url = done.stdout.decode().strip()
    assert done.returncode == 0 and url.startswith("http://") and len(url.splitlines()) == 1, done
    assert "digits:1 published" in done.stderr.decode()
    status, answer = ask(url, "/v1/models/digits:predict")
    assert status == 200 and len(answer["predictions"][0]) == 10
    again = serving.command(*words)  # the same files are no other version
    assert again.returncode == 73 and "there is a deployment 'digits' already" in again.stderr.decode()
    assert "digits:1 has the same files" in again.stderr.decode()


def test_a_directory_of_versions_is_imported_and_one_of_them_served(serving):
    for version, model in ((1, "mlp"), (3, "mlp2")):
        (serving.work / f"base/{version}").mkdir(parents=True)
        shutil.copy(serving.models / f"{model}.onnx", serving.work / f"base/{version}/model.onnx")
    served = [serving.bin / "ydl-tf", "serve", "--model_base_path", "base", "--model_name", "flowers", "--json"]
    done = serving.command(*served, "--model_version", 1, "--cpus", 1, env={"YDL_ON": "local"})
    assert done.returncode == 0, done
    told = json.loads(done.stdout)  # one document
    assert serving.model("flowers", "flowers")["version"] == 1
    assert ask(told["url"], "/v1/models/flowers:predict") == (200, serving.predict("flowers"))
    versions = json.loads(serving.run("model", "list", "flowers", "--json", check=0).stdout)
    assert "3" in json.dumps(versions)
    serving.run("serve", "update", "flowers", "--to", 3, check=0)
    assert serving.model("flowers", "flowers")["version"] == 3


def test_what_cannot_be_pushed_is_not_served(serving):
    (serving.work / "bad.onnx").write_text("not a model")
    (serving.work / "net-symbol.json").write_text("{}")
    for words, code, said, hint in (
            (["bad.onnx", "--json"], 1, "no known model format", ""),
            (["./net"], 2, "there is no model './net'", "is served from the directory of its files, which is '.'"),
            (["nothing"], 1, "there is no model 'nothing'", "ydl model list"),
            ([], 2, "a model is missing", "ydl-mx serve MODEL")):
        done = serving.command(serving.bin / "ydl-mx", "serve", "--on", "local", *words)
        text = done.stderr.decode()
        assert done.returncode == code and said in text and hint in text, done
        if "--json" in words:
            assert json.loads(done.stdout)["error"]["text"].endswith(said)
    assert json.loads(serving.run("serve", "list", "--json", check=0).stdout) == {"deployments": []}
