"""The real Prometheus reads deployments: it finds them by what `ydl serve targets` prints, from a file
and over HTTP, and its own promtool has nothing to say against their metrics."""

import json

import pytest
from prometheus import Prometheus, promtool, told_over_http
from test_targets import KEY, public, read, targets

pytestmark = pytest.mark.full  # Prometheus is not in `make check`
JOBS = {"replicas": "replica", "gateways": "gateway"}

# The configuration of doc/reference/deployments.md, and the same by HTTP; often, as a test waits for it.
CONFIG = """
global: {scrape_interval: 300ms, scrape_timeout: 300ms}
scrape_configs:
"""
JOB = """
  - job_name: {job}
    {discovery}
    relabel_configs: [{{source_labels: [role], regex: {role}, action: keep}}]
"""


def named(labels):
    """Without those that every target has."""
    return sorted((name, value) for name, value in labels.items() if name not in ("instance", "job"))


@pytest.fixture(scope="module", name="shop")
def fixture_shop(shared):
    """Two deployments, of which `shop` has a key."""
    (shared.work / "keys").write_text(KEY + "\n")
    (shared.work / "keys").chmod(0o600)
    shared.deploy("mlp", "--name", "shop", "--replicas", 2, "--cpus", 1, "--key-file", shared.work / "keys")
    shared.deploy("mlp", "--cpus", 1)
    shared.wait_for(lambda: shared.ready(1, "shop") == 2 and shared.ready(1) == 1, "all replicas")
    return shared


def test_promtool_accepts_what_replicas_and_gateways_say(shop):
    assert "no help text" in promtool("check", "metrics", text="# TYPE a counter\na 1\n")  # it does look
    for n in range(5):
        shop.predict("shop", "--key-file", "keys")
        shop.run("predict", "mlp", "--json", json.dumps({"instances": [[n]]}))  # an error has metrics, too
    for target in targets(shop):
        text = read(target, KEY if target["labels"]["role"] == "gateway" else None)
        if target["labels"]["role"] == "replica":
            assert promtool("check", "metrics", text=text) == ""
            assert "ydl_serve_requests_total" in text
        else:  # HAProxy's own, which is not ours to change
            assert "haproxy_backend_http_responses_total" in text


@pytest.mark.parametrize("way", ["file", "http"])
def test_prometheus_finds_and_reads_them(shop, tmp_path, way):
    file, key = tmp_path / "ydl.json", tmp_path / "deployment.key"
    key.write_text(KEY)
    file.write_text(json.dumps(targets(shop)))
    with told_over_http(lambda: json.dumps(targets(shop))) as url:
        discovery = f"file_sd_configs: [{{files: [{file}]}}]" if way == "file" else \
            f"http_sd_configs: [{{url: '{url}', refresh_interval: 1s}}]"
        config = tmp_path / "prometheus.yml"
        config.write_text(CONFIG + "".join(
            JOB.format(job=job, role=role, discovery=discovery)
            + (f"    authorization: {{credentials_file: {key}}}\n" if role == "gateway" else "")
            for job, role in JOBS.items()))
        assert promtool("check", "config", str(config)) == ""
        one = Prometheus(tmp_path, config)
        try:
            wanted = sorted(named(public(target)) for target in targets(shop))

            def seen():
                return sorted(named(labels) for job, health, labels in one.targets()
                              if health == "up" and labels["role"] == JOBS[job])
            shop.wait_for(lambda: seen() == wanted, "all are up")
            name = 'ydl_serve_requests_total{deployment="shop",operation="predict",code="200"}'
            shop.wait_for(lambda: one.value(name) is not None, "a first value")
            before = one.value(name)
            for _ in range(3):
                shop.predict("shop", "--key-file", "keys")
            shop.wait_for(lambda: one.value(name) == before + 3, "the requests are counted")
            if way == "http":  # a replica more is found without being told
                shop.run("serve", "scale", "mlp", 2, check=0)
                shop.wait_for(lambda: len(seen()) == len(wanted) + 1, "another target")
        finally:
            one.end()
