"""The page to try a model by hand, in Chromium: the form, the answer and the errors that a person sees."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from serving_load import ask
from test_deploy_handlers import push

pytestmark = pytest.mark.full  # Chromium is not in `make check`
HERE = Path(__file__).resolve().parent
LOCK = HERE / "browser.lock"


def environment() -> Path:
    """The environment with Playwright, which tools/setup puts into the cache."""
    cache = os.environ.get("YDL_CACHE_DIR") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ydl"
    found = Path(cache) / f"browser-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    assert (found / "ready").exists() and shutil.which("chromium"), f"{found} is not there: run tools/setup all"
    return found


@pytest.fixture(scope="module", name="person")
def fixture_person():
    """`person([WHAT, …]…)` does that in a browser; what is seen then."""
    with subprocess.Popen([environment() / "bin" / "python", HERE / "try_page_browser.py"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as browser:
        def do(*what):
            browser.stdin.write(json.dumps(what) + "\n")
            browser.stdin.flush()
            told = json.loads(browser.stdout.readline())
            assert not told["complaints"], told
            return told
        yield do
        browser.stdin.close()


@pytest.fixture(scope="module", name="url")
def fixture_url(shared):
    shared.run("model", "push", shared.models / "two.onnx", "two", check=0)
    return shared.deploy("two", "--cpus", 1)


def values(told):
    """The answer's outputs, {name: data}."""
    return {one["name"]: one["data"] for one in json.loads(told["answer"])["outputs"]}


def test_the_form_is_the_models_and_shows_its_answer_and_time(person, url):
    told = person(["open", url])
    assert (told["title"], told["title_bar"]) == ("two 1", "two") and "sum FP32 [-1,2]" in told["about"], told
    assert re.sub(r"\s+", " ", told["inputs"]).startswith("a FP32 [-1,2]") and "b FP32 [-1,2]" in told["inputs"]
    assert [value for _, value in told["fields"]] == ["[1,2]", "0, 0"] * 2
    assert "answer" not in told and "took" not in told

    told = person(["click", "Ask the model"])
    assert values(told) == {"sum": [0, 0], "most": [0]} and not told["bad"]
    told = person(["fill", "a ", "Shape", "[2,2]"], ["fill", "a ", "Values", "[[1, 2], [3, 4]]"],
                  ["fill", "b ", "Shape", "[2,2]"], ["fill", "b ", "Values", "10, 20, 30, 40.5"], ["click", "Ask the model"])
    assert values(told) == {"sum": [11, 22, 33, 44.5], "most": [4]} and not told["bad"], told
    assert re.fullmatch(r"\d+\.\d ms", told["took"]), told
    said = subprocess.run(["sh", "-c", told["curl"]], check=True, capture_output=True)  # as it stands there
    assert {one["name"]: one["data"] for one in json.loads(said.stdout)["outputs"]} == values(told)


def test_what_is_wrong_is_a_sentence_on_the_page(person, url):
    for shape, data, says in (("[1,3]", "1, 2, 3", "400: "), ("[1,2]", "1, x", "a: the values are not numbers"),
                              ("1 2", "1, 2", "a: the shape is not a list")):
        told = person(["open", url], ["fill", "a ", "Shape", shape], ["fill", "a ", "Values", data], ["click", "Ask the model"])
        assert told["bad"] and told["answer"].startswith(says), told
    told = person(["open", url], ["fill", "a ", "Values", "<img src=x onerror=alert(1)>"], ["click", "Ask the model"])
    assert told["bad"] and "not numbers" in told["answer"]


def test_a_model_that_does_not_say_what_it_takes_is_asked_in_json(person, shared):
    push(shared, "twice", {"model.py": """
        def load(directory):
            pass
        def predict(inputs):
            return {"y": inputs["x"] * 2}
    """})
    url = shared.deploy("twice", "--cpus", 1)
    told = person(["open", url], ["click", "Ask the model"])
    assert json.loads(told["answer"]) == {"predictions": [[2, 4, 6]]} and not told["bad"], told
    assert ask(url, "/v1/models/twice:predict", {"instances": [{"x": [1, 2, 3]}]})[1] == json.loads(told["answer"])
    told = person(["fill", "", "Request", "{"], ["click", "Ask the model"])
    assert told["bad"] and told["answer"] == "the request is not JSON"
    shared.run("serve", "stop", "twice", check=0)
    told = person(["click", "Ask the model"])
    assert told["bad"] and told["answer"], told
