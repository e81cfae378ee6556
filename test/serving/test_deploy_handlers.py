"""Deployments of Python handlers and of programs that speak HTTP themselves, from the registry to the
answer."""

import http.client
import json
import shutil
import textwrap
import urllib.parse
import urllib.request
from pathlib import Path

from serving_load import ask

HERE = Path(__file__).resolve().parent

HANDLER = """
    import json
    import os
    import numpy as np

    def load(directory):
        with open(os.path.join(directory, "weights.json")) as file:
            return np.array(json.load(file), "f4")

    def predict(inputs, weights):
        return {"y": inputs["x"].astype("f4") @ weights, "pid": np.full(len(inputs["x"]), os.getpid())}
"""


def push(serving, name, files):
    """A directory of the registry's."""
    model = serving.work / name
    model.mkdir()
    for file, text in files.items():
        if isinstance(text, Path):
            shutil.copy(text, model / file)
        else:
            (model / file).write_text(textwrap.dedent(text))
    serving.run("model", "push", name, name, check=0)


def post(url, path, body):
    """Status and answer."""
    request = urllib.request.Request(url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, json.loads(answer.read())


def test_a_handler_is_deployed_with_its_files(serving):
    push(serving, "linear", {"model.py": HANDLER, "weights.json": "[[1, 0], [0, 2]]"})
    url = serving.deploy("linear", "--replicas", 2, "--cpus", 2)
    serving.wait_for(lambda: list(serving.replicas("linear").values()) == ["ready"] * 2, "both")
    pids = set()

    def answered_by_another():
        status, answer = post(url, "/v1/models/linear:predict", {"instances": [{"x": [3, 4]}]})
        assert (status, answer["predictions"][0]["y"]) == (200, [3.0, 8.0])
        pids.add(answer["predictions"][0]["pid"])
        return len(pids) > 1
    serving.wait_for(answered_by_another, "an answer of the other replica")
    done = serving.run("predict", "linear", "--json", '{"instances": [{"z": 1}]}')
    assert done.returncode == 1 and "input 'x' is missing" in done.stderr.decode()


def test_a_handler_that_cannot_be_loaded_is_given_up(serving):
    push(serving, "broken", {"model.py": """
        import nothing_of_this_name
        def load(directory):
            pass
        def predict(inputs):
            pass
    """})
    done = serving.run("serve", "deploy", "broken")
    assert done.returncode != 0
    log = done.stderr.decode()
    assert "does not answer: its replicas end right after they start" in log, log
    assert not json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"]


def test_an_environment_with_its_requirements_is_made_once(serving):
    push(serving, "plain", {"requirements.txt": "# nothing but the standard library\n", "model.py": """
        import sys
        def load(directory):
            pass
        def predict(inputs):
            return [sys.prefix]
    """})
    url = serving.deploy("plain", "--cpus", 1)
    _, answer = post(url, "/v1/models/plain:predict", {"inputs": 1})
    assert "/ydl/pip/" in answer["outputs"][0]


def test_a_program_is_deployed_and_its_stream_comes_through(serving):
    push(serving, "chat", {
        "command_model.py": HERE.parent / "serve" / "command_model.py",
        "command.json": json.dumps({"command": ["python3", "{dir}/command_model.py", "{port}"],
                                    "health": "/health"})})
    url = serving.deploy("chat", "--cpus", 1)
    at = urllib.parse.urlsplit(url).netloc
    connection = http.client.HTTPConnection(at, timeout=60)
    connection.request("POST", "/stream", b"{}")
    response = connection.getresponse()
    for i in range(3):
        # The program sends nothing more before it is told to.
        assert response.readline() == b"data: %d\n" % i
        assert response.readline() == b"\n"
        with urllib.request.urlopen(url + "/release", timeout=60) as answer:
            assert answer.status == 200
    assert response.read() == b""
    connection.close()
    status, answer = post(url, "/echo", {"prompt": "hello"})
    assert status == 200 and json.loads(answer["body"]) == {"prompt": "hello"}
    serving.wait_for(lambda: list(serving.replicas("chat").values()) == ["ready"], "its replica")
    replica = serving.status("chat")["gateway"]["models"][0]["versions"][0]["replicas"][0]["address"]
    assert ask(f"http://{replica}", "/echo")[0] == 401
    assert "authorization" not in {name.lower() for name in answer["headers"]}
