"""YARN's registry: the job's own record, names that tasks keep when they move, and the scheduler that
a node names."""

import contextlib
import json
import os
import shutil
import signal
import socket
import textwrap
import time

import pytest

from ydl_cluster import registry_dns, spec as specs
from ydl_cluster.patience import stretched

RUN = ("run", "--on", "yarn", "--mem", "128m")
PATH = f"/users/{specs.me()}/services/ydl"
NOTICED_S = 10  # so soon we know of what is lost, whatever YARN knows
DOMAIN = f"{specs.me()}.{registry_dns.DOMAIN}"

# A parameter server that says who it is to whoever connects, and workers that ask it by the address
# that TF_CONFIG gives them. They start once and go on whatever becomes of the server.
TASK = """
import json, os, socket, time
conf = json.loads(os.environ["TF_CONFIG"])
me, at = conf["task"], conf["cluster"]
print("AT", json.dumps(at), flush=True)
own = at[me["type"]][me["index"]].rsplit(":", 1)
if me["type"] == "ps":
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", int(own[1])))
    s.listen()
    while True:
        c, _ = s.accept()
        c.sendall(f"{os.getpid()} {c.getsockname()[0]}".encode())
        c.close()
host, port = at["ps"][0].rsplit(":", 1)
while not os.path.exists(os.environ["ENOUGH"]):
    try:
        with socket.create_connection((host, int(port)), 2) as c:
            print("PS", c.recv(100).decode(), "from", os.getpid(), flush=True)
    except OSError:
        pass
    time.sleep(0.2)
"""


def dns_of(cluster):
    lay = cluster.lay
    return registry_dns.RegistryDNS(lay.port("dns", "dns"), None, str(lay.logs / "dns.log"),
                                    lay.host_of("dns"))


@pytest.fixture
def dns(names_cluster):
    return dns_of(names_cluster)


def events(jobs, app=None):
    text = jobs.run("events", "--json", app or jobs.apps()[-1], check=0).stdout
    return [json.loads(line) for line in text.splitlines()]


def warnings(jobs):
    """Of the last job."""
    return [e["text"] for e in events(jobs) if e["event"] == "note" and e["level"] == "warning"]


def status(jobs):
    """Of the last job; {} when nobody answers."""
    done = jobs.run("status", "--json", jobs.apps()[-1])
    return json.loads(done.stdout) if done.returncode == 0 else {}


def in_registry(jobs):
    """The names of this user's jobs there."""
    return set(jobs.run("cluster", "registry", check=0).stdout.split())


def wait_running(jobs, n):
    def all_run():
        job = status(jobs) if jobs.apps() else {}
        tasks = [t for t in job.get("tasks", []) if t["state"] == "RUNNING"]
        return job if len(tasks) == n else None
    return jobs.wait_for(all_run, f"{n} tasks run")


def finish(process, code=0):
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, out + err
    return out, err


# ---- the scheduler that a node names ----

def test_a_master_goes_by_the_scheduler_of_its_node(jobs_on, old_cluster):
    """Its token is one that only the NodeManager takes; the client knows nothing of that."""
    jobs = jobs_on(old_cluster)
    done = jobs.run(*RUN, "--label", "gpu", "-n", 2, "--", "sh", "-c", "echo out $YDL_RANK", check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ out 0", "worker:1│ out 1"]
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"
    app = jobs.apps()[0].removeprefix("application_")
    jobs.wait_for(lambda: [line for line in old_cluster.log("nm1").splitlines()
                           if "FinishAM finished" in line and app in line], "nm1's word on it")


# ---- the job's own record ----

def test_a_job_is_in_the_registry_for_as_long_as_it_runs(jobs_on, ha_cluster):
    jobs, dns = jobs_on(ha_cluster), dns_of(ha_cluster)
    process = jobs.start(*RUN, "-n", 2, "--name", "My Job", "--", "sleep", 600)
    job = wait_running(jobs, 2)
    assert job["registry"] == f"{PATH}/my-job"
    record = json.loads(jobs.run("cluster", "registry", "--json", f"{PATH}/my-job", check=0).stdout)
    page = jobs.cluster.app(jobs.apps()[0])
    assert record["record"]["yarn:id"] == jobs.apps()[0]
    assert record["record"]["yarn:persistence"] == "application"
    ends = {e["protocolType"]: e["addresses"][0] for e in record["record"]["external"]}
    assert ends["REST"] == {"host": page["amHostHttpAddress"].split(":")[0],
                            "port": str(page["amRPCAddress"]).rsplit(":", 1)[-1]}
    assert ends["webui"]["uri"].startswith("http://127.0.0.1")
    dns.wait_for(f"my-job.{DOMAIN}", [ends["REST"]["host"]])
    hosts = {t["rank"]: t["host"] for t in job["tasks"]}
    for rank in range(2):
        dns.wait_for(f"worker-{rank}.my-job.{DOMAIN}", [hosts[rank]])
    assert "my-job" in in_registry(jobs)
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    dns.wait_for(f"worker-0.my-job.{DOMAIN}", [])
    dns.wait_for(f"my-job.{DOMAIN}", [])
    assert "my-job" not in in_registry(jobs)
    assert warnings(jobs) == []


def test_two_jobs_of_one_name_are_told_apart(jobs_on, ha_cluster):
    jobs = jobs_on(ha_cluster)
    first = jobs.start(*RUN, "-n", 1, "--name", "twin", "--", "sleep", 600)
    wait_running(jobs, 1)
    second = jobs.start(*RUN, "-n", 1, "--name", "twin", "--", "sleep", 600)
    jobs.wait_for(lambda: len(jobs.apps()) == 2, "the second one")
    number = int(jobs.apps()[1].rsplit("_", 1)[1])

    jobs.wait_for(lambda: {"twin", f"twin-{number}"} <= in_registry(jobs), "both stand there")
    for process in (first, second):
        process.send_signal(signal.SIGINT)
        finish(process, 130)
    jobs.wait_for(lambda: not {"twin", f"twin-{number}"} & in_registry(jobs), "both are gone")


def waited_for_it(jobs):
    """Was the last job's task ready only when the registry had been given up?"""
    told = [e["event"] == "task" and e["state"] for e in events(jobs)
            if e.get("state") == "READY" or "YARN's registry" in e.get("text", "")]
    return told[0] != "READY"


def test_a_registry_that_is_away_holds_nothing_up(jobs_on, cluster, tmp_path):
    jobs = jobs_on(cluster)
    conf = tmp_path / "conf"
    shutil.copytree(cluster.conf_dir, conf)
    site = conf / "core-site.xml"
    rows = "".join(f"<property><name>hadoop.registry.{key}</name><value>{value}</value></property>"
                   for key, value in {"zk.quorum": "127.0.0.1:9", "dns.enabled": "true",
                                      "dns.domain-name": "ydl.test"}.items())
    site.write_text(site.read_text().replace("</configuration>", rows + "</configuration>"))
    # One that would like names waits for some seconds, others not at all. (A busy machine may need as
    # long for a container.)
    for _ in range(6):
        jobs.run(*RUN, "-n", 1, "--", "true", check=0, env={"HADOOP_CONF_DIR": str(conf)})
        if not waited_for_it(jobs):
            break
    assert not waited_for_it(jobs)
    jobs.run(*RUN, "-n", 1, "--restart", "task", "--", "sleep", 3, check=0,
             env={"HADOOP_CONF_DIR": str(conf)})
    assert waited_for_it(jobs)
    said = [text for text in warnings(jobs) if "YARN's registry" in text]
    assert said == ["the job cannot be found in YARN's registry: ZooKeeper at '127.0.0.1:9' does "
                    "not answer"]


# ---- names ----

def start_tf(jobs, *more):
    """A parameter server and two workers that talk to it until the file that is returned is there."""
    (jobs.work / "task.py").write_text(textwrap.dedent(TASK))
    enough = jobs.work / "enough"
    process = jobs.start(*RUN, "--framework", "tensorflow", "-n", 2, "-s", 1, "--restart", "task",
                         "--attempts", 5, "--name", "tf", "--env", f"ENOUGH={enough}", *more, "--",
                         "python3", "task.py", stdout=open(jobs.work / "out", "w"))
    wait_running(jobs, 3)
    return process, enough


def told(jobs):
    """What the tasks printed so far: the addresses that they were told, and the answers of the
    parameter server with who asked."""
    addresses, answers = {}, []
    for line in (jobs.work / "out").read_text().rpartition("\n")[0].splitlines():
        name, _, text = line.partition("│ ")
        name = name.strip()
        if text.startswith("AT "):
            addresses.setdefault(name, []).append(json.loads(text[3:]))
        elif text.startswith("PS "):
            answers.append((name, *text.split()[1:3], text.split()[4]))
    return addresses, answers


def answered(jobs, unlike=None):
    """The server's answer to each worker, once both have one from another server than `unlike`."""
    last = {name: (pid, host, asker) for name, pid, host, asker in told(jobs)[1]}
    return last if len(last) == 2 and all(a[0] != unlike for a in last.values()) else None


def node_of(pid):
    """nm2 for a process in one of its containers; "" when it is gone."""
    try:
        where = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
    return where.partition("/local/usercache/")[0].rpartition("/")[2]


def start_apart(jobs, *more):
    """The same with the parameter server on a node of its own: nothing else is lost with that."""
    for _ in range(6):
        process, enough = start_tf(jobs, "--role", "worker=2,hosts=127.0.0.12",
                                   "--role", "ps=1,hosts=127.0.0.13", *more)
        pid = int(jobs.wait_for(lambda: answered(jobs), "answers", 30)["worker:0"][0])
        with open(f"/proc/{pid}/environ", "rb") as f:
            job = next(row for row in f.read().split(b"\0") if row.startswith(b"YDL_JOB="))
        mates = [p for p in jobs.cluster.processes(job.decode().partition("=")[2])
                 if node_of(p) == node_of(pid) and
                 os.readlink(f"/proc/{p}/cwd") != os.readlink(f"/proc/{pid}/cwd")]
        if not mates:
            return process, enough
        enough.touch()
        finish(process)
        enough.unlink()
    raise AssertionError("they are always on one node")


def lose_ps(jobs):
    """The machine of the parameter server goes, with everything of ours on it."""
    pid, host, _ = jobs.wait_for(lambda: answered(jobs), "answers", 30)["worker:0"]
    node = jobs.cluster.node_at(host)
    jobs.cluster.kill(node)
    began = time.time()
    while there := [one for one in jobs.processes() if node_of(one) == node]:
        for one in there:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
    for directory in ("local", "recovery"):  # should it come back, then as a new one
        shutil.rmtree(jobs.cluster.lay.run / node / directory, ignore_errors=True)
    return pid, host, began


def check_loss(jobs, began):
    """We noticed it soon, long before YARN, and nobody pays for it."""
    (lost,) = [e for e in events(jobs) if e["event"] == "failure"]
    assert [lost[key] for key in ("task", "class", "counted", "then")] == ["ps:0", "node", False,
                                                                           "move"]
    assert lost["t"] / 1000 - began <= stretched(NOTICED_S)


@pytest.mark.full
def test_a_task_that_moves_keeps_its_name_and_port(jobs_on, names_cluster, dns):
    jobs = jobs_on(names_cluster)
    process, enough = start_apart(jobs)
    before, _ = told(jobs)
    ps = before["worker:0"][0]["ps"][0]
    assert ps.startswith(f"ps-0.tf.{DOMAIN}:")
    askers = {name: answer[2] for name, answer in answered(jobs).items()}
    pid, host, began = lose_ps(jobs)
    after = jobs.wait_for(lambda: answered(jobs, unlike=pid), "the server is back", 90)
    assert {name: answer[2] for name, answer in after.items()} == askers  # the same processes
    assert all(answer[1] != host for answer in after.values())  # on another node
    addresses, _ = told(jobs)
    assert addresses["ps:0"][-1] == before["worker:0"][0]  # nothing that was told has changed
    assert len(addresses["worker:0"]) == 1
    dns.wait_for(f"ps-0.tf.{DOMAIN}", [after["worker:0"][1]])
    enough.touch()
    finish(process)
    said = events(jobs)
    assert {e["generation"] for e in said if e["event"] == "task"} == {0}
    assert [e["names"] for e in said if e.get("names")] == [f"tf.{DOMAIN}"]
    check_loss(jobs, began)
    jobs.cluster.heal()


def start_with_second_master(jobs):
    """The same once another master has taken over, elsewhere than the parameter server."""
    for _ in range(6):
        process, enough = start_apart(jobs)
        before = jobs.wait_for(lambda: answered(jobs), "the workers talk to the server", 30)
        first = next(iter(jobs.processes("ydl-node master")))
        os.kill(first, signal.SIGKILL)
        second = jobs.wait_for(lambda: set(jobs.processes("ydl-node master")) - {first},
                               "a new master", 60)
        if node_of(max(second)) != node_of(int(before["worker:0"][0])):
            return process, enough, before
        enough.touch()
        finish(process)
        enough.unlink()
    raise AssertionError("they are always on one node")


def back(jobs):
    """How many agents have found the newest master."""
    said = events(jobs)
    came = max(i for i, e in enumerate(said) if e["event"] == "master")
    return len({e["agent"] for e in said[came:] if e["event"] == "agent" and e["state"] == "up"})


@pytest.mark.full
def test_a_new_master_goes_on_with_the_names(jobs_on, names_cluster, dns):
    jobs = jobs_on(names_cluster)
    process, enough, before = start_with_second_master(jobs)
    jobs.wait_for(lambda: (status(jobs)).get("registry") == f"{PATH}/tf", "its record", 60)
    jobs.wait_for(lambda: back(jobs) == 3, "the agents are back", 60)
    pid, _, began = lose_ps(jobs)
    after = jobs.wait_for(lambda: answered(jobs, unlike=pid), "the server is back", 90)
    assert {n: a[2] for n, a in after.items()} == {n: a[2] for n, a in before.items()}
    dns.wait_for(f"ps-0.tf.{DOMAIN}", [after["worker:0"][1]])
    dns.wait_for(f"worker-1.tf.{DOMAIN}", ["127.0.0.12"])
    enough.touch()
    finish(process)
    assert {e["generation"] for e in events(jobs) if e["event"] == "task"} == {0}
    check_loss(jobs, began)
    jobs.wait_for(lambda: "tf" not in in_registry(jobs), "its record is gone")
    jobs.cluster.heal()


@pytest.mark.full
def test_where_the_port_is_taken_the_gang_is_formed_anew(jobs_on, names_cluster):
    jobs = jobs_on(names_cluster)
    process, enough = start_apart(jobs, "--max-restarts", 1)
    told_first = told(jobs)[0]["worker:0"][0]["ps"][0]
    pid, _, _ = lose_ps(jobs)
    with take_port(jobs, int(told_first.rsplit(":", 1)[1])):
        jobs.wait_for(lambda: answered(jobs, unlike=pid), "the server is back", 90)
    told_last = told(jobs)[0]["worker:0"][-1]["ps"][0]
    assert told_last != told_first
    assert told_last.split(":")[0] == told_first.split(":")[0]
    enough.touch()
    finish(process)
    said = events(jobs)
    taken = [e for e in said if e["event"] == "failure" and e["class"] == "port"]
    assert [e["counted"] for e in taken] == [False], taken
    assert max(e["generation"] for e in said if e["event"] == "task") == 1
    jobs.cluster.heal()


def take_port(jobs, port):
    """The port, for everybody on this machine, as soon as its owner is gone."""
    def bound():
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("0.0.0.0", port))
            s.listen()
        except OSError:
            s.close()
            return None
        return s
    return jobs.wait_for(bound, f"port {port} is free", 5)
