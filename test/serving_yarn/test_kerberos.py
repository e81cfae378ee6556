"""Deployments under Kerberos, where everything is encrypted: whose they are, and tokens that end."""

import os
import re
import signal

import pytest
from serving_load import Load, ask
from test_faults_under_load import answered_on

RENEW_S, LIFE_S, REPLACED = 30, 45, 20  # all files are sent within one life


def refused(done, *told):
    """It says why, and it is no mistake of the command line."""
    assert done.returncode not in (0, 2), (done.args, done.stdout)
    assert done.stderr.startswith("ydl: ") and not done.stdout, (done.stdout, done.stderr)
    for words in told:
        assert words in done.stderr, done.stderr


@pytest.mark.full
def test_a_second_user_neither_controls_it_nor_reads_the_model_unless_permitted(on, krb_cluster):
    serving = on(krb_cluster, "alice")
    serving.push("mlp2")
    url = serving.deploy("mlp:1", "--replicas", 1)
    app, wanted = serving.apps()[-1], serving.predict()
    for name in ("mlp", app):
        for words in (("status", name), ("address", name), ("logs", name), ("update", name, "--to", 2),
                      ("rollback", name), ("scale", name, 2), ("stop", name)):
            refused(serving.run("serve", *words, user="bob"), f"there is no deployment '{name}'")
        refused(serving.run("predict", name, "--file", "one.json", user="bob"), f"no deployment '{name}'")
    for verb in ("status", "logs", "events", "stop", "kill", "scale"):
        refused(serving.run(verb, app, *(("a=2",) if verb == "scale" else ()), user="bob"), "alice")
    assert "mlp" not in serving.run("serve", "list", user="bob", check=0).stdout

    krb_cluster.fs("-chmod", "-R", "700", f"{serving.top}/registry")
    for words in (("model", "list"), ("model", "show", "mlp"), ("model", "pull", "mlp:1", "stolen"),
                  ("serve", "deploy", "mlp:1", "--on", "yarn", "--name", "bobs")):
        refused(serving.run(*words, user="bob"), "ermission")
    assert not (serving.work / "stolen").exists()
    assert ask(url) == (200, wanted)  # its replicas have what they need
    assert (serving.model()["version"], serving.model()["replicas"]) == (1, 1)
    serving.run("serve", "stop", "mlp", check=0)

    krb_cluster.fs("-chmod", "-R", "755", f"{serving.top}/registry")
    assert "mlp" in serving.run("model", "list", user="bob", check=0).stdout
    serving.run("model", "pull", "mlp:1", "given", user="bob", check=0)
    serving.run("serve", "deploy", "mlp:1", "--on", "yarn", "--name", "bobs", "--cpus", 1, "--memory", "256m", user="bob",
                check=0)
    assert serving.run("predict", "bobs", "--file", "one.json", user="bob", check=0).stdout
    refused(serving.run("serve", "stop", "bobs"), "there is no deployment 'bobs'")
    serving.run("serve", "stop", "bobs", user="bob", check=0)


def tokens(cluster) -> set[int]:
    """Sequence numbers of the tokens that the NameNode has made for alice."""
    return {int(n) for n in re.findall(r"Creating password for identifier.*?owner=alice.*?sequenceNumber=(\d+)",
                                       cluster.log("nn"))}


@pytest.mark.full
def test_tokens_are_replaced_twenty_times_under_load(own_cluster, on):
    cluster = own_cluster(nodes=2, datanodes=1, kerberos=True, protection="privacy", token_renew_s=RENEW_S,
                          token_life_s=LIFE_S)
    serving = on(cluster, "alice")
    url = serving.deploy("mlp", "--replicas", 2, "--principal", "alice", "--keytab", cluster.keytab("alice"))
    app, one = serving.apps()[-1], serving.predict()
    serving.wait_ready(2)
    load, before = [Load(url, one) for _ in range(2)], tokens(cluster)
    serving.wait_for(lambda: len(tokens(cluster) - before) > REPLACED, f"{REPLACED} replacements",
                     timeout=3 * REPLACED * RENEW_S)
    # What starts now has never seen the first ones: it reads the registry with the newest.
    serving.run("serve", "scale", "mlp", 3, check=0)
    serving.wait_ready(3)
    ends = [x.end() for x in load]
    assert [(bad, wrong) for _, bad, wrong in ends] == [([], [])] * 2 and min(n for n, _, _ in ends) > 1000
    serving.push("mlp2")
    serving.run("serve", "update", "mlp", "--watch", "1s", check=0)
    assert serving.predict() != one
    told = serving.run("events", app, check=0).stdout
    assert "newer tokens" not in told, told  # nothing went wrong
    serving.run("serve", "stop", "mlp", check=0)


ALONE_RENEW_S, ALONE_LIFE_S = 20, 240


@pytest.mark.full
def test_without_a_keytab_tokens_are_renewed_and_deploy_says_when_they_end(own_cluster, on):
    """The ResourceManager renews them as long as they live; what answers requests goes on after that."""
    cluster = own_cluster(nodes=2, datanodes=1, kerberos=True, protection="privacy", token_renew_s=ALONE_RENEW_S,
                          token_life_s=ALONE_LIFE_S, settings=[
                              "hdfs:dfs.encrypt.data.transfer.cipher.suites=AES/CTR/NoPadding"])
    serving = on(cluster, "alice")
    done = serving.run("serve", "deploy", "mlp", "--on", "yarn", "--replicas", 2, "--cpus", 1, "--memory", "256m",
                       check=0)
    assert re.search(r"note: the deployment's tokens expire in [0-3]:\d\d; after that .* --principal and --keytab",
                     done.stderr), done.stderr
    app, one = serving.apps()[-1], serving.predict()
    serving.wait_ready(2)
    load = [Load(done.stdout.strip(), one) for _ in range(2)]

    def renewed():
        return len(re.findall("Token renewal for identifier.*?owner=alice", cluster.log("nn")))
    before = renewed()
    serving.wait_for(lambda: renewed() >= before + 4, "renewals")
    assert len(tokens(cluster)) == 1
    serving.wait_for(lambda: f"removing failed delegation token for appid=[{app}]" in cluster.log("rm"), "their end",
                     timeout=2 * ALONE_LIFE_S)
    serving.wait_for(answered_on(load), "requests go on")
    old = serving.pids("ydl-native serve --host")
    os.kill(old[0], signal.SIGKILL)
    serving.wait_for(lambda: len(set(serving.pids("ydl-native serve --host")) - set(old)) == 1, "another one")
    serving.wait_ready(2)
    serving.push("mlp2")
    serving.run("serve", "update", "mlp", "--timeout", "10s", check=1)  # its files are not to be had
    serving.wait_for(answered_on(load), "requests go on")
    ends = [x.end() for x in load]
    assert not [wrong for _, _, wrong in ends if wrong]
    bad = [one for _, bad, _ in ends for one in bad]
    assert len(bad) <= 2 and {status for status, _ in bad} <= {502}, bad  # what was killed was answering those
    assert serving.predict() == one and serving.model()["version"] == 1
    serving.run("serve", "stop", "mlp", check=0)
