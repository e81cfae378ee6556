"""What a deployment is asked to be holds on a cluster too: TLS, a priority, GPUs."""

import json
from pathlib import Path

from test_predict_rows import make_certificate


def test_it_answers_with_its_certificate_and_has_its_priority(served):
    """The gateway's node gets the key; nobody can read it in a command line or an environment."""
    certificate, key = make_certificate(served.work, "shop.example.com")
    good = ("--ca", certificate, "--server-name", "shop.example.com")
    before = set(served.apps())
    url = served.deploy("mlp:1", "--name", "shop", "--certificate", certificate, "--private-key", key, "--priority", 7)
    assert url.startswith("https://") and served.status("shop")["url"] == url
    app, = set(served.apps()) - before
    assert served.cluster.app(app)["priority"] == 7
    assert served.predict("shop", *good) == served.predict()
    for words, says in (((), "self-signed certificate"), (good[:2], "mismatch")):
        assert says in served.predict("shop", *words, check=None)
    secret = "".join(key.read_text().splitlines()[1:-1])[100:160]
    told = "".join(Path(f"/proc/{pid}/{file}").read_text(errors="replace")
                   for pid in served.cluster.processes(app) for file in ("cmdline", "environ"))
    told += served.run("serve", "logs", "shop", check=0).stdout + served.run("events", app, check=0).stdout
    assert told and secret not in told.replace("\n", "")
    served.run("serve", "stop", "shop", check=0)


def test_gpus_that_the_cluster_does_not_have_are_refused_before_the_start(served):
    words = ("mlp:1", "--name", "fast", "--on", "yarn", "--gpus", 2)
    plan = json.loads(served.run("serve", "plan", *words, "--json", check=0).stdout)
    assert plan["models"][0]["gpus"] == "2"
    before = set(served.apps())
    done = served.run("serve", "deploy", *words, check=2)
    assert "roles.a.gpus: the cluster does not schedule GPUs" in done.stderr and set(served.apps()) == before, done
