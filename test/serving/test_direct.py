"""Deployments without a gateway: the replicas' addresses are the deployment's."""

import itertools
import json
import os
import signal
import threading

from serving_load import ask

KEY = "the-key-of-this-deployment"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def addresses(serving, name="mlp"):
    return serving.run("serve", "address", name, check=0).stdout.decode().split()


class Follower(threading.Thread):
    """A client that asks the addresses in the last line of a file, one after the other."""

    def __init__(self, lines):
        super().__init__(daemon=True)
        self.lines, self.answers, self.over = lines, [], False
        self.start()

    def run(self):
        for i in itertools.count():
            urls = self.lines.read_text().splitlines()[-1].split()
            try:
                self.answers.append(ask(urls[i % len(urls)], headers=HEADERS))
            except OSError as error:
                self.answers.append((0, str(error)))
            if self.over:
                return

    def end(self):
        self.over = True
        self.join(60)
        return self.answers


def test_the_list_of_replicas_is_the_address(serving):
    (serving.work / "keys").write_text(KEY + "\n")
    (serving.work / "keys").chmod(0o600)
    serving.push("mlp2")
    urls = serving.deploy("mlp:1", "--gateway", "none", "--replicas", 2, "--cpus", 1, "--key-file", "keys").split()
    assert len(set(urls)) == 2 and addresses(serving) == urls
    assert not serving.find("haproxy")
    one = ask(urls[0], headers=HEADERS)
    assert one[0] == 200 and ask(urls[1], headers=HEADERS) == one
    for url in urls:  # each of them checks the key by itself
        assert [ask(url, headers=h)[0] for h in ({}, {"Authorization": "Bearer no-key-of-this-one"})] == [401, 401]
    assert serving.predict("mlp", "--key-file", "keys") == one[1]
    told = json.loads(serving.run("serve", "targets", check=0).stdout)
    assert [t["labels"]["role"] for t in told] == ["replica"] * 2
    assert {f"http://{t['targets'][0]}" for t in told} == set(urls)
    status = serving.status()
    assert status["url"] in urls and serving.replicas() == {"a-0": "ready", "a-1": "ready"}
    assert "no gateway" in serving.run("serve", "status", "mlp", check=0).stdout.decode()
    refused = serving.run("serve", "status", "mlp", "--history", check=1).stderr.decode()
    assert "'mlp' has no gateway: its requests are not counted over time" in refused and "ydl serve targets" in refused

    # Nobody could shift requests.
    done = serving.run("serve", "update", "mlp", "--to", 2, "--canary", "10%", check=None)
    assert done.returncode == 1 and b"has no gateway that could give a new version a share" in done.stderr
    assert b"leave --canary out" in done.stderr

    # The new version stands beside the old one until it is ready, and the old ones answer what they have.
    with open(serving.work / "lines", "wb") as out:
        watch = serving.start("serve", "address", "mlp", "--watch", stdout=out)
    lines = serving.work / "lines"
    serving.wait_for(lambda: lines.read_text().count("\n") == 1, "the first line")
    client = Follower(lines)
    serving.run("serve", "update", "mlp", "--to", 2, check=0)
    now = addresses(serving)
    assert len(now) == 2 and not set(now) & set(urls)
    two = ask(now[0], headers=HEADERS)
    assert two[0] == 200 and two != one and ask(now[1], headers=HEADERS) == two
    answers = client.end()
    assert one in answers and two in answers and all(said in (one, two) for said in answers)
    serving.wait_for(lambda: lines.read_text().count("\n") == 2, "the second line")
    told = [line.split() for line in lines.read_text().splitlines()]
    assert told == [urls, now]
    assert len(serving.find("ydl-native serve --host")) == 2

    # Who does not answer is passed over.
    os.kill(serving.find("ydl-native serve --host")[0], signal.SIGSTOP)
    serving.wait_for(lambda: len(addresses(serving)) == 1, "one of them does not answer")
    assert serving.predict("mlp", "--key-file", "keys") == two[1]
    for pid in serving.find("ydl-native serve --host"):
        os.kill(pid, signal.SIGCONT)
    serving.wait_for(lambda: addresses(serving) == now, "both again")
    os.kill(serving.find("ydl-native deployment")[0], signal.SIGKILL)  # requests need it for nothing
    assert ask(now[0], headers=HEADERS) == two
    serving.run("serve", "scale", "mlp", 3, check=0)
    serving.wait_for(lambda: len(addresses(serving)) == 3, "a third one")
    serving.run("serve", "stop", "mlp", check=0)
    assert watch.wait(60) == 0
    log = "".join(path.read_text() for path in serving.tmp.rglob("*.err"))
    assert KEY not in log


def test_what_takes_a_gateway_is_refused_with_a_sentence(serving):
    serving.push("mlp2", "other")
    for words, says in ((["--host", "0.0.0.0"], "an address to listen on"), (["--certificate", "c"], "TLS"),
                        (["--haproxy", "h"], "HAProxy"), (["other"], "several models behind one address")):
        done = serving.run("serve", "deploy", "mlp", *words, "--gateway", "none", check=2)
        assert f"{says}: that takes a gateway" in done.stderr.decode()
    done = serving.run("serve", "deploy", "mlp", "--gateway", "nginx", check=2)
    assert "'haproxy' or 'none', not 'nginx'" in done.stderr.decode()
    (serving.work / "shop.yaml").write_text("kind: serve\nmodels: [mlp]\ngateway: {kind: none}\n")
    text = serving.run("serve", "plan", "-f", "shop.yaml", check=0).stdout.decode()
    assert "the addresses are those of the replicas" in text and "a free port" not in text


def test_without_a_key_anybody_may_ask_and_without_haproxy_it_runs(serving):
    """PATH has no HAProxy here; a deployment that needs one says so."""
    serving.env["PATH"] = ":".join(p for p in serving.env["PATH"].split(":") if not p.endswith("sbin"))
    urls = serving.deploy("mlp", "--gateway", "none", "--cpus", 1).split()
    assert len(urls) == 1 and ask(urls[0])[0] == 200
    assert serving.predict() == ask(urls[0])[1]
