"""What Prometheus is told to read, and that it can: `ydl serve targets`."""

import json
import urllib.error
import urllib.request

KEY = "0123456789abcdef"


def targets(serving, *names):
    return json.loads(serving.run("serve", "targets", *names, check=0).stdout)


def read(target, key=None):
    """What Prometheus would: the text at the target's address and path."""
    labels = target["labels"]
    url = f"http://{target['targets'][0]}{labels.get('__metrics_path__', '/metrics')}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return answer.read().decode()


def public(target):
    return {name: value for name, value in target["labels"].items() if not name.startswith("__")}


def test_all_replicas_and_gateways_are_found_and_read(serving):
    assert targets(serving) == []
    (serving.work / "keys").write_text(KEY + "\n")
    (serving.work / "keys").chmod(0o600)
    url = serving.deploy("mlp", "--name", "shop", "--replicas", 2, "--cpus", 1, "--key-file", serving.work / "keys")
    serving.deploy("mlp", "--cpus", 1)
    serving.wait_for(lambda: serving.ready(1, "shop") == 2 and serving.ready(1) == 1, "all replicas")
    found = targets(serving)
    assert [public(target) for target in found] == [
        {"deployment": "mlp", "role": "gateway"},
        {"deployment": "mlp", "role": "replica", "replica": "a-0", "model": "mlp", "version": "1"},
        {"deployment": "shop", "role": "gateway"},
        {"deployment": "shop", "role": "replica", "replica": "a-0", "model": "mlp", "version": "1"},
        {"deployment": "shop", "role": "replica", "replica": "a-1", "model": "mlp", "version": "1"}]
    assert all(isinstance(value, str) for target in found for value in target["labels"].values())
    assert url.endswith(found[2]["targets"][0])
    assert targets(serving) == found
    assert targets(serving, "shop") == found[2:]
    assert "'nobody'" in serving.run("serve", "targets", "shop", "nobody", check=1).stderr.decode()

    serving.predict("shop", "--key-file", "keys")
    for target in found:
        text = read(target, KEY if target is found[2] else None)
        name = "haproxy_backend_http_responses_total" if target["labels"]["role"] == "gateway" \
            else "ydl_serve_requests_total"
        assert f"# TYPE {name} counter" in text and KEY not in text
    try:
        read(found[2])
        raise AssertionError("the gateway's numbers are shown without its key")
    except urllib.error.HTTPError as refused:
        assert refused.code == 401
