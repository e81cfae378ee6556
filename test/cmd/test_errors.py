"""Bad input gets a sentence, not a stack: one test for each way to fail, on text and exit code."""

import json
import os
import re
import shutil
import subprocess
import time

import pytest
from cmd_support import Shell, program, write_conf, ydl
from fake_server import Silent, Standby, Talker

from ydl_cluster.patience import Limit

INFO = ("cluster", "info")


def sentence(done: subprocess.CompletedProcess, code: int, *parts: str) -> None:
    """It failed with this code and one sentence that has all the parts; perhaps a hint."""
    assert done.returncode == code, (done.returncode, done.stderr)
    lines = done.stderr.rstrip("\n").split("\n")
    assert 1 <= len(lines) <= 2 and lines[0].startswith("ydl: "), done.stderr
    assert len(lines) == 1 or lines[1].startswith("  hint: "), done.stderr
    assert "Exception in thread" not in done.stderr and ".java:" not in done.stderr
    for part in parts:
        assert re.search(part, done.stderr), (part, done.stderr)


def in_time_for(said: str, env, *words: str) -> subprocess.CompletedProcess:
    """ydl with so much time (`--timeout`) that it can have heard what there is to be heard."""
    for seconds in (1, 5, 30):
        done = ydl(env, *words, "--timeout", f"{seconds}s")
        if said in done.stderr:
            break
    return done


def rm_at(tmp_path, address: str) -> dict[str, str]:
    return write_conf(tmp_path / "conf", core={"fs.defaultFS": "hdfs://127.0.0.1:1"},
                      yarn={"yarn.resourcemanager.address": address})


# ---- nobody there ----

def test_wrong_host(tmp_path):
    done = ydl(rm_at(tmp_path, "no-such-host.invalid:8032"), *INFO)
    sentence(done, 69, r"no-such-host\.invalid", "hint: ")


def test_closed_port(tmp_path):
    done = ydl(rm_at(tmp_path, "127.0.0.1:1"), *INFO)
    sentence(done, 69, r"127\.0\.0\.1:1\b", "refused", "hint: .*running")


def test_failures_are_objects_for_programs(tmp_path):
    done = ydl(rm_at(tmp_path, "127.0.0.1:1"), *INFO, "--json")
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "ECONNREFUSED" and error["exit"] == 69 == done.returncode
    assert error["text"] in done.stderr and error["hint"] in done.stderr


def test_standby_only(tmp_path):
    with Standby() as one, Standby() as two:
        yarn = {"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
                "yarn.resourcemanager.address.a": f"127.0.0.1:{one.port}",
                "yarn.resourcemanager.address.b": f"127.0.0.1:{two.port}"}
        env = write_conf(tmp_path / "conf", core={}, yarn=yarn)
        sentence(in_time_for("standby", env, *INFO), 69, "no active ResourceManager", "standby")


def test_a_failover_has_the_time_that_was_given(tmp_path):
    """While two ResourceManagers change places, both refuse."""
    yarn = {"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
            "yarn.resourcemanager.address.a": "127.0.0.1:1",
            "yarn.resourcemanager.address.b": "127.0.0.2:1"}
    env = write_conf(tmp_path / "conf", core={}, yarn=yarn)
    for seconds in (5, 20, 60):
        began = time.monotonic()
        done = ydl(env, *INFO, "--timeout", f"{seconds}s")
        assert done.returncode == 69 and time.monotonic() - began >= seconds, done.stderr
        told = re.search(r"^ydl: warn.*refused; trying again for (\d+) s$", done.stderr, re.MULTILINE)
        if told and int(told[1]) > 0:  # it was not held up until its time was over
            break
    assert told and 1 <= int(told[1]) <= seconds - 3, done.stderr
    assert "no active ResourceManager" in done.stderr


def test_standby_namenodes_only(tmp_path):
    with Standby() as one, Standby() as two:
        core = {"fs.defaultFS": "hdfs://ns"}
        hdfs = {"dfs.nameservices": "ns", "dfs.ha.namenodes.ns": "a,b",
                "dfs.namenode.rpc-address.ns.a": f"127.0.0.1:{one.port}",
                "dfs.namenode.rpc-address.ns.b": f"127.0.0.1:{two.port}"}
        env = write_conf(tmp_path / "conf", core=core, hdfs=hdfs)
        sentence(in_time_for("standby", env, "fs", "ls", "/"), 69, "no active NameNode", "standby")


def until(what, seconds: float = 60):
    limit = Limit(seconds)
    while not what():
        assert not limit.over(), "waited in vain"
        time.sleep(0.1)


@pytest.mark.full
def test_a_real_cluster_that_stands_by(ha_cluster):
    """ResourceManagers that lose sight of ZooKeeper stand by and close their clients' port;
    NameNodes are told to, and answer that they do."""
    env = ha_cluster.env()
    ha_cluster.pause("zk")
    ha_cluster.java("org.apache.hadoop.hdfs.tools.DFSHAAdmin", "-transitionToStandby",
                    ha_cluster.active("nn"))
    sentence(ydl(env, "fs", "ls", "/", "--timeout", "2s"), 69, "no active NameNode",
             "in state standby",
             "hint: .*is one of them active")
    until(lambda: ha_cluster.active("rm") is None)
    sentence(ydl(env, *INFO, "--timeout", "2s"), 69, "no active ResourceManager", "refused",
             "hint: .*is one of them active")
    said = ydl(env, "doctor", "--timeout", "5s")
    assert said.returncode == 69
    for role in ("ResourceManager", "NameNode"):
        assert len(re.findall(rf"^ok +{role} .* is on standby$", said.stdout, re.MULTILINE)) == 2
        assert re.search(rf"^failed +{role} +no {role} is active$", said.stdout, re.MULTILINE)
    ha_cluster.heal()
    assert ydl(env, *INFO).returncode == 0
    assert ydl(env, "fs", "ls", "/").returncode == 0


# ---- somebody else there ----

@pytest.mark.parametrize("bytes_sent", [
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\nIt looks like HTTP",
    b"SSH-2.0-OpenSSH_9.2p1\r\n", b"\xff" * 64, bytes(64), b"\x00\x00\x00\x05\x0a\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff" + b"x" * 100,
], ids=["http", "ssh", "ones", "zeroes", "bad-protobuf", "huge"])
def test_a_server_that_answers_garbage(tmp_path, bytes_sent):
    with Talker(bytes_sent) as server:
        done = ydl(rm_at(tmp_path, f"127.0.0.1:{server.port}"), *INFO, "--timeout", "60s")
        sentence(done, 70, f"127.0.0.1:{server.port}")


def test_a_server_that_hangs_up(tmp_path):
    with Talker(b"", close=True) as server:
        done = ydl(rm_at(tmp_path, f"127.0.0.1:{server.port}"), *INFO)
        sentence(done, 69, f"127.0.0.1:{server.port}", "the server closed the connection",
                 "hint: .*running")


def test_safe_mode(cluster):
    """It is waited for as long as --timeout says, and said."""
    admin, env = "org.apache.hadoop.hdfs.tools.DFSAdmin", cluster.env()
    cluster.java(admin, "-safemode", "enter")
    try:
        sentence(in_time_for("safe mode", env, "fs", "mkdir", "/tmp/safe"), 73,
                 "the NameNode is in safe mode", "hint: ")
        waiting = subprocess.Popen([program(), "fs", "mkdir", "/tmp/safe"], env=env, text=True,
                                   stderr=subprocess.PIPE)
        assert "safe mode" in (said := waiting.stderr.readline()) and "trying again" in said
    finally:
        cluster.java(admin, "-safemode", "leave")
    assert waiting.communicate(timeout=60)[1] == "" and waiting.returncode == 0


def test_a_server_that_says_nothing(tmp_path):
    with Silent() as server:
        begin = time.monotonic()
        done = ydl(rm_at(tmp_path, f"127.0.0.1:{server.port}"), *INFO, "--timeout", "1s")
        sentence(done, 69, f"127.0.0.1:{server.port}", "says nothing|timed out")
        assert time.monotonic() - begin > 0.9


# ---- Kerberos ----

@pytest.fixture
def kerberos(krb_cluster):
    return Shell(krb_cluster, "alice", "/user/alice")


def test_expired_ticket(krb_cluster):
    env = krb_cluster.env("nobody-expired")  # a ticket of one second
    time.sleep(2.5)
    for words in (("fs", "ls", "/"), INFO):
        sentence(ydl(env, *words), 77, "expired", "hint: .*kinit")


def test_no_ticket(kerberos, tmp_path):
    env = kerberos.env | {"KRB5CCNAME": f"FILE:{tmp_path}/none"}
    sentence(ydl(env, *INFO), 77, "hint: .*kinit")


def test_wrong_principal_of_ours(kerberos):
    keytab = kerberos.cluster.run_dir / "krb" / "alice.keytab"
    done = kerberos("--principal", "mallory", "--keytab", str(keytab), *INFO)
    sentence(done, 77, "mallory")


def test_wrong_principal_of_the_server(kerberos, tmp_path):
    conf = tmp_path / "conf"
    shutil.copytree(kerberos.cluster.conf_dir, conf)
    text = (conf / "yarn-site.xml").read_text()
    assert "rm/" in text
    (conf / "yarn-site.xml").write_text(text.replace(">rm/", ">someone/"))
    done = ydl(kerberos.env | {"HADOOP_CONF_DIR": str(conf)}, *INFO)
    sentence(done, 77, "someone/")


SKEW_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

/* An hour ahead, as far as the calendar goes. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(id, t);

    if (id == CLOCK_REALTIME)
        t->tv_sec += 3600;
    return r;
}

time_t time(time_t *ret)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (ret)
        *ret = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    tv->tv_sec = t.tv_sec;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}
"""


@pytest.fixture(scope="module")
def hour_ahead(tmp_path_factory):
    """A library that makes a program believe that it is an hour later."""
    place = tmp_path_factory.mktemp("skew")
    (place / "skew.c").write_text(SKEW_C)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", place / "skew.so", place / "skew.c", "-ldl"],
                   check=True)
    return {"LD_PRELOAD": str(place / "skew.so")}


def test_clock_skew(kerberos, hour_ahead):
    sentence(ydl(kerberos.env | hour_ahead, *INFO), 77, "[Cc]lock|[Ss]kew")


def test_the_doctor_sees_clock_skew(cluster, hour_ahead):
    done = ydl(cluster.env() | hour_ahead, "doctor")
    assert done.returncode == 0
    assert re.search(r"^warning +clocks +that of the ResourceManager is 3[56]\d\d s behind this machine's$",
                     done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^warning +clocks +that of the NameNode is 3[56]\d\d s behind this machine's$", done.stdout,
                     re.MULTILINE)


# ---- what the cluster refuses ----

def test_no_such_queue(cluster):
    done = ydl(cluster.env(), "cluster", "queues", "pord")
    sentence(done, 1, "no queue 'pord'", "hint: did you mean 'prod'")


def test_no_permission(cluster, tmp_path):
    (tmp_path / "f").write_text("x")
    bob = cluster.env("bob")
    sentence(ydl(bob, "fs", "put", str(tmp_path / "f"), "/user/alice"), 77, "/user/alice", "bob|denied")
    sentence(ydl(bob, "fs", "mkdir", "/user/alice/x"), 77, "/user/alice", "bob|denied")


def test_no_space(shell, tmp_path):
    (tmp_path / "f").write_bytes(bytes(100_000))
    admin = "org.apache.hadoop.hdfs.tools.DFSAdmin"
    shell.cluster.java(admin, "-setSpaceQuota", "50k", shell.dir)
    done = shell("fs", "put", str(tmp_path / "f"), shell.dir)
    sentence(done, 73, "quota", re.escape(shell.dir))
    shell.cluster.java(admin, "-clrSpaceQuota", shell.dir)
    shell.cluster.java(admin, "-setQuota", "1", shell.dir)
    sentence(shell("fs", "mkdir", shell.dir + "/x"), 73, "quota")
    assert shell.names() == []


def test_not_a_file(shell, tmp_path):
    sentence(shell("fs", "cat", shell.dir), 1, f"'{shell.dir}'", "directory")
    sentence(shell("fs", "get", shell.dir, str(tmp_path)), 1, f"'{shell.dir}'", "directory", "-r")
    sentence(shell("fs", "cat", shell.dir + "/none"), 1, "none", "no such file")


# ---- files of the user's ----

def test_truncated_credentials(cluster, tmp_path):
    for i, content in enumerate((b"", b"HDTS", b"HDTS\0\x01\x07a", b"nonsense" * 10)):
        path = tmp_path / f"tokens{i}"
        path.write_bytes(content)
        done = ydl(cluster.env() | {"HADOOP_TOKEN_FILE_LOCATION": str(path)}, *INFO)
        sentence(done, 2, re.escape(str(path)))


def test_a_broken_configuration(tmp_path):
    env = write_conf(tmp_path / "conf", core={})
    (tmp_path / "conf" / "yarn-site.xml").write_text("<configuration>\n<property>\n<name>x</na")
    sentence(ydl(env, *INFO), 2, r"yarn-site\.xml:3")


def test_no_configuration(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_"))}
    sentence(ydl(env, *INFO), 2, "no Hadoop configuration", "hint: .*HADOOP_CONF_DIR")
    sentence(ydl(env, "fs", "ls", "/"), 2, "no Hadoop configuration", "hint: .*HADOOP_CONF_DIR")
    sentence(ydl(env, *INFO, "--conf", str(tmp_path / "none")), 2, "none")
    (tmp_path / "f").write_text("x")
    assert ydl(env, "fs", "cat", f"file://{tmp_path}/f").stdout == "x"
