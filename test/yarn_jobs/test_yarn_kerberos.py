"""Jobs on a cluster with Kerberos where everything is encrypted: who may do what, and what signs in
where."""

import base64
import json
import os
import signal
import subprocess
import time

import pytest

from ydl_cluster.pool import POOL, Handle, missing
from test_yarn_faults import Run

SMALL = ("--on", "yarn", "--mem", "128m")


@pytest.fixture
def krb(jobs_on, krb_cluster):
    return jobs_on(krb_cluster)


@pytest.fixture(params=["krb_cluster", pytest.param("secure_cluster", marks=pytest.mark.full)])
def each_cluster(request):
    """Containers as the user who runs the daemons, and as the user who submitted."""
    if missing(request.param):
        pytest.skip(missing(request.param))
    return Handle(POOL, request.param)


@pytest.fixture
def each(jobs_on, each_cluster):
    return jobs_on(each_cluster)


def put(jobs, user, path, text):
    """A file that nobody but its owner can read."""
    (jobs.work / "put").write_text(text)
    jobs.run("fs", "put", "-f", "put", path, user=user, check=0)
    jobs.run("fs", "chmod", "600", path, user=user, check=0)


class Submitted:
    """A job that goes on until it is stopped."""

    def __init__(self, jobs, user, name, *options):
        self.jobs, self.user = jobs, user
        self.id = jobs.run("submit", *options, *SMALL, "-q", "-n", 1, "--name", name, "--", "sh",
                           "-c", "echo here; exec sleep 600", user=user, check=0).stdout.strip()
        jobs.wait_for(lambda: "here" in jobs.run("logs", self.id, user=user).stdout, "its output")

    def state(self):
        return json.loads(self.jobs.run("status", "--json", self.id, user=self.user,
                                        check=0).stdout)["state"]

    def address(self):
        return self.jobs.cluster.app(self.id)["amRPCAddress"]

    def key(self):
        return base64.b64decode(self.jobs.run(
            "fs", "cat", f"/user/{self.user}/.ydl/jobs/{self.id}/key", user=self.user,
            check=0).stdout)

    def stop(self):
        self.jobs.run("stop", self.id, user=self.user, check=0)
        self.jobs.ended(self.id)


def ask(address, identity, key):
    """What the master's API answers to who has this key."""
    question = b"GET /v1/job HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    done = subprocess.run(["openssl", "s_client", "-quiet", "-ign_eof", "-tls1_3", "-connect",
                           address, "-psk_identity", identity, "-psk", key.hex()],
                          input=question, capture_output=True, timeout=30, check=False)
    return done.stdout.decode(errors="replace")


# ---- the same jobs as without Kerberos ----

def test_a_job_runs_and_its_output_comes_back(each):
    done = each.run("run", *SMALL, "-n", 2, "--", "sh", "-c",
                    "echo out $YDL_RANK; echo err $YDL_RANK >&2", user="alice", check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ out 0", "worker:1│ out 1"]
    assert "worker:0│ err 0" in done.stderr and "worker:1│ err 1" in done.stderr
    app = each.ended()
    assert (app["finalStatus"], app["user"]) == ("SUCCEEDED", "alice")


def test_a_failed_task_gives_its_exit_code_and_the_story(each):
    done = each.run("run", *SMALL, "-n", 2, "--", "sh", "-c",
                    '[ $YDL_RANK = 0 ] || { echo "no such layer" >&2; exit 7; }; sleep 600',
                    user="alice", check=7)
    assert "worker:1" in done.stderr and "no such layer" in done.stderr
    app = each.ended()
    assert app["finalStatus"] == "FAILED" and "no such layer" in app["diagnostics"]
    told = each.run("logs", each.apps()[0], user="alice", check=0)
    assert "no such layer" in told.stdout + told.stderr


def test_results_go_to_hdfs_as_the_user(each):
    each.run("run", *SMALL, "-n", 2, "--output", "/user/alice/krb-results", "--", "sh", "-c",
             "echo $YDL_RANK > $YDL_OUT/model-$YDL_RANK", user="alice", check=0)
    assert set(each.cluster.hdfs_names("/user/alice/krb-results")) == {"model-0", "model-1"}
    row = each.run("fs", "ls", "/user/alice/krb-results", user="alice", check=0).stdout
    assert "alice" in row and "root" not in row
    each.run("fs", "rm", "-r", "/user/alice/krb-results", user="alice", check=0)


def test_verbs_find_a_job_of_the_user(krb):
    job = Submitted(krb, "alice", "krb-verbs")
    assert job.state() == "RUNNING"
    assert job.id in krb.run("list", user="alice", check=0).stdout
    assert "here" in krb.run("logs", "krb-verbs", user="alice", check=0).stdout
    krb.run("stop", "krb-verbs", user="alice", check=0)
    assert krb.ended(job.id)["finalStatus"] == "KILLED"


def test_a_new_master_takes_over(krb):
    run = Run(krb)
    os.kill(run.pid("ydl-node master"), signal.SIGKILL)
    run.end()
    for task in ("worker:0", "worker:1"):
        steps = run.steps(task)
        assert [n for n, _, _ in steps] == list(range(60))
        assert len({(pid, attempt) for _, pid, attempt in steps}) == 1


def test_a_keytab_does_instead_of_a_ticket(krb):
    user = ("--principal", "carol", "--keytab", krb.cluster.keytab("carol"))
    nothing = {"KRB5CCNAME": f"FILE:{krb.home}/none"}
    assert krb.run("run", *SMALL, "-n", 1, "--", "true", env=nothing).returncode not in (0, 2)
    assert krb.apps() == []
    krb.run("run", *user, *SMALL, "-n", 1, "--", "true", env=nothing, check=0)
    assert krb.ended()["user"] == "carol"
    assert krb.apps()[0] in krb.run("list", *user, "--all", env=nothing, check=0).stdout


# ---- what a task gets ----

def test_a_task_has_tokens_for_hdfs_and_nothing_of_ours(each):
    put(each, "alice", "/user/alice/krb-data", "hers")
    script = ('od -An -c -w65536 "$HADOOP_TOKEN_FILE_LOCATION" | tr -d " \\n"; echo; '
              './ydl fs cat /user/alice/krb-data; echo; env')
    done = each.run("run", *SMALL, "-n", 1, "--files", each.bin / "ydl", "--", "sh", "-c", script,
                    user="alice", check=0)
    assert "HDFS_DELEGATION_TOKEN" in done.stdout and "│ hers" in done.stdout
    for secret in ("YARN_AM_RM_TOKEN", "ydl.key", "ydl.boot", "KRB5CCNAME"):
        assert secret not in done.stdout
    each.run("fs", "rm", "/user/alice/krb-data", user="alice", check=0)


def test_no_file_of_the_user_on_a_node_holds_our_secrets(each):
    """Tasks run as the user, and can read whatever that user has on their node."""
    job = Submitted(each, "alice", "krb-secrets")
    key = job.key()
    seen = 0
    for path in each.cluster.run_dir.glob(f"nm*/local/usercache/alice/appcache/{job.id}/**/*"):
        if path.is_file() and path.name != "ydl-node":
            try:
                text = path.read_bytes()
            except FileNotFoundError:  # it was there for a moment
                continue
            seen += b"HDFS_DELEGATION_TOKEN" in text
            assert b"YARN_AM_RM_TOKEN" not in text and key not in text, path
            assert base64.b64encode(key) not in text, path
    assert seen == 1  # the task's own
    for pid, line in each.processes().items():
        try:
            environ = open(f"/proc/{pid}/environ", "rb").read()
        except OSError:  # it has just ended
            continue
        assert base64.b64encode(key) not in environ and key.hex() not in line
    job.stop()


@pytest.mark.full
def test_what_runs_as_the_user_leaves_what_others_may_read_and_nothing_else(jobs_on,
                                                                            secure_cluster):
    """NodeManagers collect logs that others own, by their group; nobody but the user and they may
    look."""
    jobs = jobs_on(secure_cluster)
    rows = (secure_cluster.run_dir / "etc" / "passwd").read_text().splitlines()
    uid = int(next(row for row in rows if row.startswith("alice:")).split(":")[2])
    job = Submitted(jobs, "alice", "krb-modes")
    assert {os.stat(f"/proc/{pid}").st_uid for pid in jobs.processes("ydl-node agent")} == {uid}
    logs = list(secure_cluster.run_dir.glob(f"nm*/logs/{job.id}/container_*/*"))
    assert {"master.log", "agent.log", "worker-0.stdout"} <= {path.name for path in logs}, logs
    for path in logs:
        state = path.stat()
        assert (state.st_uid, state.st_mode & 0o137) == (uid, 0), (path, oct(state.st_mode))
        assert state.st_gid == path.parent.stat().st_gid == os.getgid(), path
    tokens = [path for path in
              secure_cluster.run_dir.glob(f"nm*/local/usercache/alice/appcache/{job.id}/**/tokens")
              if b"HDFS_DELEGATION_TOKEN" in path.read_bytes()]
    assert len(tokens) == 1
    assert (tokens[0].stat().st_uid, tokens[0].stat().st_mode & 0o777) == (uid, 0o600)
    job.stop()


# ---- several people ----

@pytest.mark.full
def test_each_sees_and_stops_only_their_own_jobs(krb):
    mine, other = Submitted(krb, "alice", "krb-mine"), Submitted(krb, "bob", "krb-other")
    for job, stranger in ((mine, "bob"), (other, "alice"), (mine, "carol")):
        listed = krb.run("list", "--all", user=stranger, check=0).stdout
        assert job.id not in listed
        for verb in ("status", "logs", "events", "stop", "kill", "restart"):
            done = krb.run(verb, job.id, user=stranger)
            assert done.returncode not in (0, 2), (verb, done.stdout, done.stderr)
            assert "here" not in done.stdout and job.user in done.stderr, (verb, done.stderr)
    assert (mine.state(), other.state()) == ("RUNNING", "RUNNING")
    mine.stop()
    other.stop()


def test_a_jobs_api_answers_only_to_who_has_its_key(krb):
    job = Submitted(krb, "alice", "krb-api")
    path = f"/user/alice/.ydl/jobs/{job.id}/key"
    for stranger in ("bob", "carol"):
        done = krb.run("fs", "cat", path, user=stranger)
        assert done.returncode != 0 and not done.stdout and "ermission" in done.stderr
    key = job.key()
    assert '"RUNNING"' in ask(job.address(), job.id, key)
    assert ask(job.address(), job.id, bytes(len(key))) == ""
    assert ask(job.address(), "somebody", key) == ""
    plain = subprocess.run(["curl", "-s", "-m", "10", f"http://{job.address()}/v1/job"],
                           capture_output=True, check=False)
    assert plain.returncode != 0 and b"RUNNING" not in plain.stdout
    assert job.state() == "RUNNING"
    job.stop()


def test_one_user_can_act_for_another_where_that_is_allowed(krb):
    put(krb, "bob", "/user/bob/krb-data", "his")
    done = krb.run("run", "--as", "bob", *SMALL, "-n", 1, "--files", krb.bin / "ydl", "--", "sh",
                   "-c", "./ydl fs cat /user/bob/krb-data; echo; echo x > $YDL_OUT/x",
                   user="carol", check=0)
    assert "│ his" in done.stdout
    app = krb.apps()[0]
    assert krb.ended(app)["user"] == "bob"
    assert "his" in krb.run("logs", app, user="bob", check=0).stdout
    refused = krb.run("run", "--as", "alice", *SMALL, "-n", 1, "--", "true", user="carol")
    assert refused.returncode not in (0, 2) and "carol" in refused.stderr
    assert krb.apps() == [app]
    krb.run("fs", "rm", "/user/bob/krb-data", user="bob", check=0)


# ---- tokens that end ----

LIFE_S = 120  # of brief_cluster's tokens
WATCH = """
import os, shutil, subprocess, sys, time

def read(word, tokens):
    done = subprocess.run(["./ydl", "fs", "cat", "/user/alice/krb-long"], capture_output=True,
                          env={**os.environ, "HADOOP_TOKEN_FILE_LOCATION": tokens})
    print(word, done.returncode, done.stdout.decode(), done.stderr.decode()[:300], flush=True)

now = os.environ["HADOOP_TOKEN_FILE_LOCATION"]
print("pid", os.getpid(), flush=True)
shutil.copy(now, "first")
end = time.time() + float(sys.argv[1])
while time.time() < end:
    read("read", now)
    time.sleep(5)
read("first", "first")
open(os.environ["YDL_OUT"] + "/last", "w").write("saved")
"""


class Long:
    """A job of three tasks, one on each node, that read a file with the tokens that they started
    with, and with those that they have by then, until long after the first have ended."""

    RUNS_S = LIFE_S + 60
    SIZE = (*SMALL, "-n", 3, "--restart", "never")
    FILE, OUT = "/user/alice/krb-long", "/user/alice/krb-long-out"

    def __init__(self, jobs, verb, *options, **more):
        self.jobs = jobs
        put(jobs, "alice", self.FILE, "still")
        (jobs.work / "watch.py").write_text(WATCH)
        self.began = time.monotonic()
        self.process = jobs.start(verb, *options, *self.SIZE, "--files", jobs.bin / "ydl",
                                  "--output", self.OUT, "--", "python3", "-u", "watch.py",
                                  self.RUNS_S, **more)

    def until_ended(self):
        """Waits until the first tokens are dead; tasks on all nodes live on."""
        self.jobs.wait_for(lambda: len(self.nodes()) == 3, "its tasks", timeout=LIFE_S)
        time.sleep(max(0.0, self.began + LIFE_S + 10 - time.monotonic()))

    def nodes(self):
        return {self.jobs.node_of(pid) for pid in self.jobs.processes("watch.py")}

    def kill_master(self):
        assert len(self.nodes()) == 3  # wherever the next one starts, its files are there
        masters = self.jobs.processes("ydl-node master")
        assert masters
        os.kill(sorted(masters)[-1], signal.SIGKILL)

    def check(self, out):
        """Nobody noticed anything."""
        lines = out.splitlines()
        reads = [line for line in lines if "│ read" in line]
        first = [line for line in lines if "│ first" in line]
        assert len(first) == 3 and not [line for line in first if "still" in line]  # they did end
        assert len(reads) > 3 * self.RUNS_S / 15
        assert not [line for line in reads if "read 0 still" not in line], out
        assert len({line.split()[-1] for line in lines if "│ pid" in line}) == 3
        cat = self.jobs.run("fs", "cat", f"{self.OUT}/last", user="alice", check=0)
        assert cat.stdout == "saved"
        events = self.jobs.run("events", self.jobs.apps()[0], user="alice", check=0).stdout
        assert "job succeeded" in events  # written after the first tokens had ended
        self.jobs.run("fs", "rm", "-r", self.FILE, self.OUT, user="alice", check=0)
        return events


@pytest.mark.full
@pytest.mark.parametrize("master_dies", (False, True))
def test_a_job_outlives_its_tokens_while_its_client_is_there(jobs_on, brief_cluster, master_dies):
    long = Long(jobs_on(brief_cluster), "run", user="alice")
    if master_dies:
        long.until_ended()
        long.kill_master()
    out, err = long.process.communicate(timeout=2 * LIFE_S + 150)
    assert long.process.returncode == 0, err
    long.check(out)


@pytest.mark.full
@pytest.mark.parametrize("master_dies", (False, True))
def test_a_job_with_a_keytab_outlives_its_tokens_alone(jobs_on, brief_cluster, master_dies):
    jobs = jobs_on(brief_cluster)
    keytab = jobs.cluster.keytab("alice")
    long = Long(jobs, "submit", "-q", "--principal", "alice", "--keytab", keytab,
                env={"KRB5CCNAME": f"FILE:{jobs.home}/none"})
    app, err = long.process.communicate(timeout=60)
    assert long.process.returncode == 0, err
    app = app.strip()
    long.until_ended()
    assert_sealed(jobs, app, keytab)
    if master_dies:
        long.kill_master()
    jobs.run("wait", app, user="alice", check=0, timeout=LIFE_S + 150)
    events = long.check(jobs.run("logs", app, user="alice", check=0).stdout)
    assert "newer tokens" not in events  # nothing went wrong


@pytest.mark.full
def test_a_keytab_that_does_not_work_is_told_of_and_tried_again(jobs_on, brief_cluster):
    jobs = jobs_on(brief_cluster)
    began = time.monotonic()
    job = Submitted(jobs, "alice", "krb-no-kdc", "--principal", "alice", "--keytab",
                    jobs.cluster.keytab("alice"))
    jobs.cluster.kill("kdc")  # when most of the tokens' life is over, nobody answers the helper
    time.sleep(max(0.0, began + LIFE_S * 3 / 4 + 8 - time.monotonic()))
    jobs.cluster.start("kdc")
    told = jobs.wait_for(lambda: next((text for text in [
        jobs.run("events", job.id, user="alice", check=0).stdout] if "after all" in text), None),
        "newer tokens after all")
    assert told.count("newer tokens cannot be got with the job's keytab") == 1
    assert "trying again" in told
    job.stop()


@pytest.mark.full
def test_a_new_master_that_nobody_brings_tokens_waits_and_can_be_stopped(jobs_on, brief_cluster):
    jobs = jobs_on(brief_cluster)
    long = Long(jobs, "submit", "-q", user="alice")
    app = long.process.communicate(timeout=60)[0].strip()
    long.until_ended()
    long.kill_master()
    said = jobs.wait_for(lambda: next((done.stderr for done in [
        jobs.run("status", app, user="alice")] if done.returncode == 75), None), "its sentence")
    assert "tokens have ended" in said and "keytab" in said
    assert len(long.nodes()) == 3  # nothing has been ended
    jobs.run("stop", app, user="alice")
    told = jobs.ended(app)
    assert told["finalStatus"] == "KILLED" and "waited for tokens" in told["diagnostics"]
    jobs.run("list", user="alice", check=0)  # what it could not remove itself
    jobs.run("fs", "rm", "-r", long.FILE, user="alice", check=0)


def assert_sealed(jobs, app, keytab):
    """Nobody who looks at files, command lines or environments finds the keytab or the key."""
    secret = keytab.read_bytes()[-32:]  # of an AES key, all of it random
    paths = list(jobs.cluster.run_dir.glob(f"nm*/local/usercache/alice/appcache/{app}/**/*"))
    sealed = [path for path in paths if path.name == "keytab" and path.is_file()]
    assert sealed
    for path in [path for path in paths if path.is_file()]:
        assert secret not in path.read_bytes(), path
    for path in sealed:
        assert path.stat().st_mode & 0o077 == 0, path
    row = jobs.run("fs", "ls", f"/user/alice/.ydl/jobs/{app}/keytab", user="alice", check=0).stdout
    assert "rw-------" in row, row
    for pid, line in jobs.processes().items():
        assert secret not in open(f"/proc/{pid}/environ", "rb").read()
