"""Jobs that share a cluster: placement, room, other queues, limits, and nodes that are broken."""

import json
import os
import re
import shlex
import signal
import time

import pytest

from ydl_cluster import leftovers, private, spec as specs
from ydl_cluster.cluster import Cluster
from ydl_cluster.guide import blocks_of

pytestmark = pytest.mark.full  # needs a daemon or a cluster of its own

RUN = ("run", "--on", "yarn")
WHERE = "echo at $YDL_HOST; sleep 1"  # so long that all stand at the same time
MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"


def write_job(jobs, **job):
    (jobs.work / "job.yaml").write_text(json.dumps(job))
    return "job.yaml"


def events(jobs, app=None):
    text = jobs.run("events", "--json", app or jobs.apps()[0], check=0).stdout
    return [json.loads(line) for line in text.splitlines()]


def places(jobs, done):
    """{"worker:0": "nm2", …} of a job that ran WHERE."""
    found = re.findall(r"(\S+:\d+)│ at (\S+)", done.stdout)
    return {task: jobs.cluster.node_at(host) for task, host in found}


@pytest.fixture(scope="module")
def taking_cluster():
    """Queues take back what is theirs. (YARN does that by the dominant resource: where cores or
    devices are plenty, a queue that has taken all memory is not over its share.) nm3 has a small
    disk, and nobody looks whether it is full."""
    small = {} if private.missing() else {"disks": ["nm3:96"]}
    cluster = Cluster.up(
        name=f"taking-{os.getpid()}", nodes=3, node_mb=1024, node_vcores=3, preemption=True,
        settings=["yarn:yarn.nodemanager.disk-health-checker.enable=false",
                  f"yarn:{MONITOR}.max_wait_before_kill=8000"], **small)
    yield cluster
    cluster.down()


# ---- placement ----

def test_a_label_of_the_job_chooses_its_nodes(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    done = jobs.run(*RUN, "-n", 3, "--mem", "128m", "--label", "gpu", "--", "sh", "-c", WHERE,
                    check=0)
    assert list(places(jobs, done).values()) == ["nm1"] * 3


def test_a_label_of_a_role_is_for_that_role_alone(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    roles = {"worker": {"count": 2, "label": "gpu", "memory": "128m"},
             "helper": {"count": 2, "memory": "128m"}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    at = places(jobs, done)
    assert [at[f"worker:{i}"] for i in range(2)] == ["nm1"] * 2
    assert "nm1" not in [at[f"helper:{i}"] for i in range(2)]


@pytest.mark.parametrize("label, nodes", [("gpu", {"nm1"}), (None, {"nm2", "nm3", "nm4"})])
def test_a_label_of_the_master_is_for_it_alone(jobs_on, rich_cluster, label, nodes):
    jobs = jobs_on(rich_cluster)
    job = write_job(jobs, master={"label": label} if label else {},
                    roles={"worker": {"count": 2, "memory": "128m"}}, command=["sh", "-c", WHERE])
    at = places(jobs, jobs.run(*RUN, "-f", job, check=0))
    assert "nm1" not in at.values()
    assert rich_cluster.node_at(jobs.ended()["amHostHttpAddress"].split(":")[0]) in nodes


def test_a_node_for_each_container(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    roles = {"worker": {"count": 3, "memory": "128m", "spread": "node"}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    assert sorted(places(jobs, done).values()) == ["nm2", "nm3", "nm4"]


def test_a_node_for_each_container_whatever_is_preferred(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()["nm3"]["nodeHostName"]
    roles = {"worker": {"count": 2, "memory": "128m", "spread": "node", "hosts": [host]}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    at = sorted(places(jobs, done).values())
    assert len(set(at)) == 2 and "nm3" in at, at


def test_one_node_after_the_other(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    roles = {"worker": {"count": 6, "memory": "128m", "spread": "pack"}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    assert len(set(places(jobs, done).values())) == 1


@pytest.mark.parametrize("node", ["nm2", "nm3", "nm4"])
def test_a_host_that_is_preferred_is_tried_first(jobs_on, rich_cluster, node):
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()[node]["nodeHostName"]
    roles = {"worker": {"count": 2, "memory": "128m", "hosts": [host]}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    assert list(places(jobs, done).values()) == [node] * 2


def test_a_preferred_host_that_is_full_stops_nobody(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()["nm3"]["nodeHostName"]
    roles = {"worker": {"count": 3, "memory": "512m", "hosts": [host]}}
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", WHERE]), check=0)
    at = sorted(places(jobs, done).values())
    assert len(at) == 3 and at.count("nm3") <= 2


def test_a_preferred_host_that_others_have_filled_is_not_waited_for(jobs_on, rich_cluster):
    """What was free there when the job was submitted is all that it knows."""
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()["nm3"]["nodeHostName"]

    def start(count, seconds):
        run = jobs.start(*RUN, "--role", f"worker={count},memory=128m,hosts={host}", "--", "sleep",
                         seconds)
        jobs.wait_for(lambda: len(jobs.processes(f"sleep {seconds}")) == count, "its tasks", 60)
        return run
    runs = [start(1, 601)]
    while room := rich_cluster.nodes()["nm3"]["availMemoryMB"] // 128:
        runs.append(start(room, 601 + len(runs)))
    jobs.run("scale", jobs.apps()[0], "worker=2", check=0)
    jobs.wait_for(lambda: len(jobs.processes("sleep 601")) == 2, "another task", 30)
    at = sorted(jobs.node_of(pid) for pid in jobs.processes("sleep 601"))
    assert len(set(at)) == 2 and "nm3" in at, at
    for run in runs:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        assert run.returncode == 130


# ---- room ----

def test_one_container_too_many_is_told_before_the_submit(jobs_on, rich_cluster):
    """Three nodes without a label, each with room for one task."""
    jobs = jobs_on(rich_cluster)
    done = jobs.run(*RUN, "-n", 3, "--mem", "1000m", "--", "true", check=2)
    assert "needs 4 containers (3 + the master); the cluster can hold" in done.stderr
    assert jobs.apps() == []


def test_a_job_that_waits_starts_when_a_node_is_added(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    run = jobs.start(*RUN, "--wait", "-n", 3, "--mem", "1000m", "--", "sh", "-c", WHERE)
    told = [run.stderr.readline() for _ in range(2)]
    assert "needs 4 containers (3 + the master)" in told[0] and "waiting" in told[1]
    assert run.poll() is None and jobs.apps() == []
    node = rich_cluster.add_node()
    out, err = run.communicate(timeout=90)
    assert run.returncode == 0, err
    assert node in [rich_cluster.node_at(host) for host in re.findall(r"at (\S+)", out)] + [
        rich_cluster.node_at(rich_cluster.app(jobs.apps()[0])["amHostHttpAddress"])]


def both_finish(jobs, seconds):
    """Six places, and two jobs that want four each: if each gets three, somebody has to yield."""
    args = (*RUN, "-n", 4, "--mem", "448m", "--gang-hold", "5s", "--", "sleep", seconds)
    runs = [jobs.start(*args) for _ in range(2)]
    for run in runs:
        _, err = run.communicate(timeout=180)
        assert run.returncode == 0, err


@pytest.mark.parametrize("turn", range(3))
def test_two_jobs_that_do_not_fit_together_finish_both(jobs_on, rich_cluster, turn):
    """One has to wait for longer than it may hold the two that it could get."""
    jobs = jobs_on(rich_cluster)
    both_finish(jobs, 8)
    told = [events(jobs, app) for app in jobs.apps()]
    (yielded,) = [said for said in told if any(e.get("step") == "back-off" for e in said)]
    gave_up = next(e["seq"] for e in yielded if e.get("step") == "back-off")
    up = {e["container"]: e["seq"] for e in yielded
          if e["event"] == "agent" and e["state"] == "up"}
    held = [container for container, seq in up.items() if seq < gave_up]
    assert held and len(up) >= len(held) + 4, up  # what it had it has given back, to the last one


@pytest.mark.full
@pytest.mark.parametrize("turn", range(20))
def test_two_jobs_finish_both_every_time(jobs_on, rich_cluster, turn):
    both_finish(jobs_on(rich_cluster), 1)


# ---- preemption ----

PATIENT = """
import os, signal, sys, time
def told(*_):
    print("told", flush=True)
    os._exit(75)
signal.signal(signal.SIGTERM, told)
print("here", os.environ["YDL_ATTEMPT"], flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


@pytest.mark.parametrize("framework", ["none", "jax"])
def test_what_another_queue_wants_back_is_given_with_grace(jobs_on, taking_cluster, framework):
    """Tasks that do not know of each other lose just those; others are all started anew."""
    jobs = jobs_on(taking_cluster)
    (jobs.work / "patient.py").write_text(PATIENT)
    go = jobs.work / "go"
    run = jobs.start(*RUN, "-n", 6, "--mem", "448m", "--framework", framework, "--restart",
                     "gang", "--max-restarts", 1, "--gang-hold", "5s", "--", "python3", "-u",
                     "patient.py", go)
    here = [run.stdout.readline() for _ in range(6)]
    assert all("here 0" in line for line in here), here
    jobs.run(*RUN, "--queue", "prod", "-n", 2, "--mem", "448m", "--", "sleep", 2, check=0)
    go.touch()
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    page = taking_cluster.app(jobs.apps()[0])
    assert page["numNonAMContainerPreempted"] == 0
    told = set(re.findall(r"(worker:\d)│ told", out))
    assert len(told) == 6 if framework == "jax" else len(told) >= 2, out + err
    failures = [e for e in events(jobs) if e["event"] == "failure"]
    assert failures and all(e["class"] == "preempted" and not e["counted"] for e in failures)


# ---- racks ----

@pytest.mark.full
def test_containers_go_to_the_rack_that_was_named(jobs_on, own_cluster, tmp_path):
    table = tmp_path / "racks"
    table.write_text("127.0.0.11 /r1\n127.0.0.12 /r2\n127.0.0.13 /r2\n")
    cluster = own_cluster(nodes=3, settings=[
        "core:net.topology.node.switch.mapping.impl=org.apache.hadoop.net.TableMapping",
        f"core:net.topology.table.file.name={table}"])
    assert {name: node["rack"] for name, node in cluster.nodes().items()} == {
        "nm1": "/r1", "nm2": "/r2", "nm3": "/r2"}
    jobs = jobs_on(cluster)
    for rack, nodes in (("/r1", {"nm1"}), ("/r2", {"nm2", "nm3"})):
        done = jobs.run(*RUN, "--role", f"worker=4,memory=128m,hosts={rack}", "--", "sh", "-c", WHERE,
                        check=0)
        assert set(places(jobs, done).values()) <= nodes, done.stdout


# ---- GPUs ----

def test_gpus_are_asked_for_by_role(jobs_on, rich_cluster):
    """Two devices on nm2; nm1 has two more, but a label."""
    jobs = jobs_on(rich_cluster)
    roles = {"worker": {"count": 2, "gpus": 1, "memory": "128m"},
             "helper": {"count": 2, "memory": "128m"}}
    script = 'echo at $YDL_HOST; echo "sees [${CUDA_VISIBLE_DEVICES-all that it was given}]"; sleep 1'
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=["sh", "-c", script]),
                    check=0)
    at = places(jobs, done)
    assert [at[f"worker:{i}"] for i in range(2)] == ["nm2"] * 2
    sees = dict(re.findall(r"(\S+:\d)│ sees \[(.*)\]", done.stdout))
    assert sees["helper:0"] == sees["helper:1"] == ""
    # Theirs have no files that we know: what they can see is theirs, and nothing is hidden from them.
    assert sees["worker:0"] == sees["worker:1"] == "all that it was given"


def test_any_resource_that_the_cluster_counts_can_be_asked_for(jobs_on, rich_cluster):
    """One licence on nm2; nm1 has another, but a label. nm3, which would be preferred, has none."""
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()["nm3"]["nodeHostName"]

    def run(licences, **kw):
        role = {"count": 1, "memory": "128m", "hosts": [host],
                "resources": {"example.com/licence": licences}}
        file = write_job(jobs, roles={"worker": role}, command=["sh", "-c", "echo at $YDL_HOST; sleep 1"])
        return jobs.run(*RUN, "-f", file, **kw)
    assert places(jobs, run(1, check=0))["worker:0"] == "nm2"
    assert "example.com/licence" in run(2, check=2).stderr


def test_two_jobs_on_a_node_do_not_get_the_same_device(jobs_on, own_cluster, gpus_alone):
    """YARN counts devices and hides none: the agents settle among themselves who has which."""
    cluster = own_cluster(nodes=1, gpus=True,
                          settings=["yarn:yarn.nodemanager.admin-env=YDL_GPUS=2"])
    jobs = jobs_on(cluster)
    args = (*RUN, "-n", 1, "--procs", 2, "--gpus", 1, "--mem", "128m", "--", "sh", "-c",
            'echo "sees [$CUDA_VISIBLE_DEVICES]"; sleep 3')
    runs = [jobs.start(*args) for _ in range(2)]
    outs = [run.communicate(timeout=90) for run in runs]
    seen = [re.findall(r"sees \[(.*)\]", out) for out, _ in outs]
    assert sorted(seen) == [["0", "0"], ["1", "1"]], outs


def test_what_the_guide_types_gets_two_devices_for_each_container(jobs_on, own_cluster, gpus_alone):
    """On four nodes with two each, which are all on this machine, and so share its eight."""
    block, = blocks_of("doc/guide/gpus.md", __file__)
    jobs = jobs_on(own_cluster(nodes=4, datanodes=1, node_mb=20480, gpus=True,
                               settings=["yarn:yarn.nodemanager.admin-env=YDL_GPUS=8"]))
    (jobs.work / "ddp.py").write_text("import os, time\nprint('sees', os.environ['CUDA_VISIBLE_DEVICES'], 'as', "
                                      "os.environ['LOCAL_RANK'])\ntime.sleep(1)\n")
    ydl, *words = shlex.split(block)
    assert ydl == "ydl"
    seen = re.findall(r"sees (\S+) as (\d)", jobs.run(*words, check=0).stdout)
    pairs = {devices for devices, _ in seen}
    assert sorted(seen) == sorted((devices, rank) for devices in pairs for rank in "01"), seen
    assert sorted(",".join(pairs).split(",")) == list("01234567"), seen


# ---- memory ----

EATER = """
import time
print("eats", flush=True)
eaten = [bytearray(8 << 20) for _ in range(50) if not time.sleep(0.02)]
time.sleep(600)
"""


def hungry(jobs, **options):
    (jobs.work / "eater.py").write_text(EATER)
    done = jobs.run(*RUN, "-n", 1, "--mem", "128m", "--", "python3", "eater.py", check=137)
    return done.stderr


def test_a_task_over_its_memory_is_killed_where_yarn_watches(jobs_on, rich_cluster):
    """Whoever sees it first: YARN or the agent."""
    story = hungry(jobs_on(rich_cluster))
    assert re.search(r"1\d\d(\.\d+)? MB? of 128(\.0)? ?MB|used \S+ ?\S* of 128", story), story


SHARER = """
import os, time
eaten = bytearray(80 << 20)
for _ in range(3):
    if os.fork() == 0:
        break
time.sleep(600)
"""


def test_a_container_over_its_memory_is_killed_by_yarn(jobs_on, rich_cluster):
    """Pages that four processes share: we count them once, YARN counts them four times."""
    jobs = jobs_on(rich_cluster)
    (jobs.work / "sharer.py").write_text(SHARER)
    done = jobs.run(*RUN, "-n", 1, "--mem", "192m", "--", "python3", "sharer.py", check=137)
    assert re.search(r"beyond the 'PHYSICAL' memory limit.* MB of 192 MB", done.stderr), done.stderr
    assert "--mem" in done.stderr
    assert "beyond the 'PHYSICAL' memory limit" in jobs.ended()["diagnostics"]


def test_a_task_over_its_memory_is_killed_where_yarn_does_not(jobs):
    story = hungry(jobs)
    assert re.search(r"used \S+ ?\S* of 128", story), story


# ---- broken things ----

def test_a_node_that_can_start_nothing_is_avoided(jobs_on, taking_cluster, needs_root):
    """Its disk is full: no file of the job gets there."""
    jobs = jobs_on(taking_cluster)
    host = taking_cluster.nodes()["nm3"]["nodeHostName"]
    roles = {"worker": {"count": 2, "memory": "128m", "hosts": [host]}}
    (jobs.work / "data").write_bytes(os.urandom(1 << 20))
    job = write_job(jobs, roles=roles, files=["data"],
                    command=["sh", "-c", "echo at $YDL_HOST; sleep 5"])
    taking_cluster.fill_disk("nm3")
    try:
        run = jobs.start(*RUN, "-f", job)
        jobs.wait_for(lambda: jobs.apps() and blacklist(jobs, host), "the RM to be told", 40)
        out, err = run.communicate(timeout=60)
    finally:
        taking_cluster.empty_disk("nm3")
        forget_tokens(taking_cluster)
    assert run.returncode == 0, err
    assert host not in re.findall(r"at (\S+)", out)
    assert f"'{host}' is avoided" in err


def blacklist(jobs, host):
    """What the ResourceManager has been told by the job's master."""
    page = jobs.cluster.rm_page(f"apps/{jobs.apps()[0]}/appattempts")
    return host in json.dumps([row.get("blacklistedNodes")
                               for row in page.get("appAttempts", {}).get("appAttempt", [])])


def test_a_task_whose_disk_is_full_says_so(jobs_on, rich_cluster, needs_root):
    jobs = jobs_on(rich_cluster)
    host = rich_cluster.nodes()["nm4"]["nodeHostName"]
    roles = {"worker": {"count": 1, "memory": "128m", "hosts": [host]}}
    command = ["sh", "-c", "echo at $YDL_HOST; dd if=/dev/zero of=big bs=64k"]
    done = jobs.run(*RUN, "-f", write_job(jobs, roles=roles, command=command))
    assert places(jobs, done) == {"worker:0": "nm4"}
    assert done.returncode == 1 and "disk" in done.stderr, done.stderr
    assert "full" in done.stderr or "No space left" in done.stderr


def test_a_quota_that_is_reached_is_told(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    rich_cluster.fs("-mkdir", "-p", "/tmp/narrow")
    rich_cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setSpaceQuota", "1m",
                      "/tmp/narrow")
    done = jobs.run(*RUN, "-n", 1, "--mem", "128m", "--output", "/tmp/narrow/out", "--", "sh", "-c",
                    "head -c 3000000 /dev/urandom > $YDL_OUT/model", check=73)
    left = rich_cluster.hdfs_names("/tmp/narrow")
    rich_cluster.fs("-rm", "-r", "/tmp/narrow")
    assert "quota" in done.stderr, done.stderr
    status = json.loads(jobs.run("status", "--json", jobs.apps()[0], check=0).stdout)
    assert (status["state"], status["exit"]) == ("SUCCEEDED", 73) and "quota" in status["unsaved"]
    assert left == []  # neither a result nor the beginning of one
    assert jobs.ended()["state"] == "FINISHED"


def forget_tokens(cluster):
    """NodeManagers keep their copy of the tokens when a container's files could not be fetched."""
    for path in leftovers.seen(cluster.lay, cluster.run_dir).glob("nm*/local/nmPrivate/*.tokens"):
        path.unlink(missing_ok=True)


def test_a_bad_archive_ends_the_job_with_a_story(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    (jobs.work / "bad.tar.gz").write_bytes(b"this is no archive" * 1000)
    done = jobs.run(*RUN, "-n", 1, "--mem", "128m", "--archives", "bad.tar.gz", "--", "true")
    forget_tokens(rich_cluster)
    assert done.returncode == 1 and "bad.tar.gz" in done.stderr, done.stderr
    failures = [e for e in events(jobs) if e["event"] == "failure"]
    assert len(failures) == 3 and all(e["class"] == "files" for e in failures), failures


def test_a_file_that_is_gone_from_the_cache_ends_the_job_with_a_story(jobs_on, rich_cluster):
    jobs = jobs_on(rich_cluster)
    label = ("--label", "gpu")  # one node
    blocker = jobs.start(*RUN, *label, "-n", 1, "--mem", "896m", "--", "sh", "-c",
                         "echo here; exec sleep 600")
    assert "here" in blocker.stdout.readline()
    (jobs.work / "lost.txt").write_text(f"never seen before {time.time()}")
    run = jobs.start(*RUN, *label, "-n", 1, "--mem", "448m", "--files", "lost.txt", "--", "cat",
                     "lost.txt")
    jobs.wait_for(lambda: len(jobs.processes("ydl-node master")) >= 2, "its master", 60)
    found = json.loads(jobs.run("cache", "list", "--json", check=0).stdout)["entries"]
    kept = max((row for row in found if row["name"] == "lost.txt"), key=lambda row: row["used_ms"])
    jobs.run("fs", "rm", f"/user/{specs.me()}/.ydl/cache/{kept['hash']}/lost.txt", check=0)
    jobs.run("kill", jobs.apps()[0], check=0)
    blocker.communicate(timeout=60)
    out, err = run.communicate(timeout=120)
    forget_tokens(rich_cluster)
    assert run.returncode == 1 and "lost.txt" in err, err
