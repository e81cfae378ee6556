"""The page to try a model by hand, through the gateway: what its script asks is answered."""

import json
import re
import urllib.request

import pytest


def fetch(url, path, body=None, method=None):
    """Type and text of an answer."""
    request = urllib.request.Request(f"{url}/{path}", None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers.get_content_type(), answer.read().decode()


@pytest.fixture(scope="module", name="url")
def fixture_url(shared):
    return shared.deploy("mlp", "--cpus", 1, "--replicas", 2)


def test_the_page_works_behind_the_gateway(url):
    """The same requests in the same order as the script in try_page.html."""
    kind, page = fetch(url, "")
    assert kind == "text/html" and "<form" in page
    paths = set(re.findall(r'json\("([^"]+)"', page))
    assert paths == {"v2/repository/index"}  # relative to the page, wherever it is
    models = json.loads(fetch(url, "v2/repository/index", {})[1])
    assert [model["name"] for model in models] == ["mlp"]
    base = f"v2/models/{models[0]['name']}"
    model = json.loads(fetch(url, base)[1])
    inputs = [{"name": one["name"], "datatype": one["datatype"], "shape": [max(size, 1) for size in one["shape"]],
               "data": [0] * 784} for one in model["inputs"]]
    answer = json.loads(fetch(url, f"{base}/infer", {"inputs": inputs})[1])
    assert [(one["name"], one["shape"]) for one in answer["outputs"]] == [("y", [1, 10])]


def test_nothing_of_the_page_comes_from_elsewhere(url):
    page = fetch(url, "")[1]
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]', page) and "@import" not in page
