"""Jobs that outlive many tokens, one after the other: what replaces them, and what becomes of them."""

import re
import threading

import pytest
from test_yarn_kerberos import SMALL, put

RENEW_S, LIFE_S = 20, 30
REPLACED = 50
FILE = "/user/alice/tokens-long"
WATCH = """
import hashlib, os, subprocess, sys, time
tokens, seen = os.environ["HADOOP_TOKEN_FILE_LOCATION"], []
while len(seen) <= int(sys.argv[1]):
    now = hashlib.sha256(open(tokens, "rb").read()).hexdigest()
    done = subprocess.run(["./ydl", "fs", "cat", sys.argv[2]], capture_output=True)
    if done.stdout != b"still" and now == hashlib.sha256(open(tokens, "rb").read()).hexdigest():
        sys.exit(f"after {len(seen)} replacements: {done.stdout} {done.stderr}")
    if now not in seen:
        seen.append(now)
        print("tokens", len(seen) - 1, flush=True)
    time.sleep(1)
open(os.environ["YDL_OUT"] + "/last", "w").write("saved")
"""


def numbers(cluster, words: str) -> set[int]:
    """Sequence numbers of the tokens of alice that the NameNode says this of in its log."""
    return {int(number) for number in re.findall(
        words + r".*?owner=alice.*?sequenceNumber=(\d+)", cluster.log("nn"))}


CREATED, CANCELLED = "Creating password for identifier", "Token cancellation requested for identifier"


def test_a_job_that_nothing_brings_tokens_is_told_of_at_submit(jobs_on, krb_cluster):
    jobs = jobs_on(krb_cluster)
    keytab = ("--principal", "alice", "--keytab", jobs.cluster.keytab("alice"))
    for verb, options, told in [("submit", (), True), ("submit", keytab, False), ("run", (), False)]:
        done = jobs.run(verb, *options, *SMALL, "-n", 1, "--", "true", user="alice", check=0)
        assert ("the job's tokens expire in 7 days" in done.stderr) == told, done.stderr
    for app in jobs.apps():
        jobs.ended(app)


@pytest.mark.full
def test_fifty_times_with_a_keytab_and_with_a_client(own_cluster, jobs_on):
    """Two jobs side by side, one with a keytab and nobody, one with its client and no keytab."""
    cluster = own_cluster(nodes=1, datanodes=1, kerberos=True, protection="privacy",
                          token_renew_s=RENEW_S, token_life_s=LIFE_S)
    jobs = jobs_on(cluster)
    put(jobs, "alice", FILE, "still")
    (jobs.work / "watch.py").write_text(WATCH)
    job = (*SMALL, "-n", 1, "--restart", "never", "--files", jobs.bin / "ydl", "--", "python3", "-u",
           "watch.py", REPLACED, FILE)
    attached = jobs.start("run", *job, user="alice")
    late = threading.Timer(REPLACED * RENEW_S * 2, attached.kill)  # it is replaced after half of that
    late.daemon = True
    late.start()
    alone = jobs.run("submit", "-q", "--principal", "alice", "--keytab", cluster.keytab("alice"), *job,
                     env={"KRB5CCNAME": f"FILE:{jobs.home}/none"}, check=0).stdout.strip()
    out, err = attached.communicate()
    late.cancel()
    assert attached.returncode == 0, f"{out}\n{err}"
    jobs.run("wait", alone, user="alice", check=0, timeout=REPLACED * RENEW_S)
    for text in (out, jobs.run("logs", alone, user="alice", check=0).stdout):
        assert f"worker:0│ tokens {REPLACED}" in text.splitlines(), text
    told = [jobs.run("events", app, user="alice", check=0).stdout for app in jobs.apps()]
    assert len(told) == 2 and not [text for text in told if "newer tokens" in text], told
    for app in jobs.apps():
        jobs.ended(app)
    made = numbers(cluster, CREATED)
    assert len(made) > 2 * REPLACED
    # The last ones were good when the jobs ended; those before had expired by themselves.
    live = sorted(made)[-2:]
    jobs.wait_for(lambda: set(live) <= numbers(cluster, CANCELLED), f"{live} are cancelled")
    jobs.run("fs", "rm", FILE, user="alice", check=0)


@pytest.mark.full
def test_newer_tokens_are_cancelled_unless_a_node_collects_logs_with_them(own_cluster, jobs_on):
    """The second task starts with a newer token, on a node that was not used before: its NodeManager
    has no other to collect the logs with."""
    cluster = own_cluster(nodes=2, datanodes=1, kerberos=True, protection="privacy", node_mb=512,
                          token_renew_s=RENEW_S, token_life_s=LIFE_S, settings=[
                              "yarn:yarn.log-aggregation-enable=true"])
    jobs = jobs_on(cluster)
    app = jobs.run("submit", "-q", "--principal", "alice", "--keytab", cluster.keytab("alice"), *SMALL,
                   "-n", 1, "--restart", "never", "--", "sh", "-c", "echo here; exec sleep 600",
                   env={"KRB5CCNAME": f"FILE:{jobs.home}/none"}, check=0).stdout.strip()
    before = jobs.wait_for(lambda: numbers(cluster, CREATED), "the first token")
    jobs.wait_for(lambda: len(numbers(cluster, CREATED) - before) >= 2, "newer tokens")
    first = sorted(numbers(cluster, CREATED))[-2]  # the last may not have reached the job
    jobs.run("scale", app, "worker=2", user="alice", check=0)
    jobs.wait_for(lambda: jobs.run("logs", app, "worker:1", user="alice").stdout, "the second task")
    then = max(numbers(cluster, CREATED))  # it was started with one of these
    jobs.wait_for(lambda: max(numbers(cluster, CREATED)) > then + 1, "tokens after that")
    jobs.run("stop", app, user="alice", check=0)
    jobs.ended(app)
    last = max(numbers(cluster, CREATED))
    jobs.wait_for(lambda: last in numbers(cluster, CANCELLED), "the last one is cancelled")
    around = {number for number in numbers(cluster, CREATED) if first <= number <= then}
    assert len(around - numbers(cluster, CANCELLED)) == 1, (around, numbers(cluster, CANCELLED))
