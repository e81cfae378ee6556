"""Tasks as another user (LinuxContainerExecutor), and in container images: run by YARN's docker
runtime, or by the agent."""

import json
import os
import signal
import stat
import textwrap
import time

import pytest
from ydl_cluster.patience import Limit

pytestmark = pytest.mark.full  # needs a daemon of its own

SHOW = """
import json, os, sys

one = open("/proc/1/cmdline").read().split("\\0")
fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
print("JSON" + json.dumps({
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "uid": os.getuid(),
    "one": one, "image": not os.path.exists("/var/log"), "fds": fds, "path": os.environ["PATH"],
    "dir": oct(os.stat(".").st_mode & 0o7777), "brought": os.path.exists("helper.py")}), flush=True)
open("made", "w").write("here")
"""
GONE_S = 60  # YARN removes its containers in its own time
FOREVER = 'trap "" TERM; echo here; while :; do sleep 0.1; done'


def seen(done):
    """What each task of a job that ran show.py printed."""
    found = {}
    for line in done.stdout.splitlines():
        name, _, text = line.partition("│ ")
        if text.startswith("JSON"):
            found[name.strip()] = json.loads(text[4:])
    return found


def uid_of(cluster, user):
    """In the cluster's own view of the machine."""
    rows = (cluster.run_dir / "etc" / "passwd").read_text().splitlines()
    return int(next(row for row in rows if row.startswith(f"{user}:")).split(":")[2])


@pytest.fixture
def alice(lce_cluster, jobs_on):
    """`alice(*args)` runs `ydl ARGS` as alice."""
    jobs = jobs_on(lce_cluster)
    (jobs.work / "show.py").write_text(SHOW)
    (jobs.work / "helper.py").write_text("")

    def run(*args, **options):
        return jobs.run(*args, user="alice", **options)
    run.jobs = jobs
    return run


@pytest.fixture
def dockers(image, lce_cluster):
    """The image's name; alice may use docker, and no container may be left."""
    socket = lce_cluster.run_dir / "docker.sock"
    mode = socket.stat().st_mode
    socket.chmod(0o666)
    yield image
    limit = Limit(GONE_S)
    while (left := lce_cluster.docker("ps", "--all", "--format", "{{.Names}}").stdout) and \
            not limit.over():
        time.sleep(0.1)
    socket.chmod(mode & 0o777)
    assert left == ""


def test_tasks_run_as_the_user_who_submitted(alice, lce_cluster):
    done = alice("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "python3", "show.py",
                 check=0)
    told = seen(done)
    assert sorted(told) == ["worker:0", "worker:1"]
    for one in told.values():
        assert one["uid"] == uid_of(lce_cluster, "alice")
        assert one["brought"] and not one["image"]
        assert set(one["fds"]) >= {0, 1, 2} and max(one["fds"]) <= 3  # 3 reads the directory
        assert "/bin" in one["path"]


def test_logs_have_the_owner_and_mode_that_their_collectors_need(alice, lce_cluster):
    run = alice.jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "sh", "-c",
                           "echo here; echo there >&2; sleep 4", user="alice")
    assert "here" in run.stdout.readline()
    app = alice.jobs.apps()[0]
    files = [path for path in lce_cluster.run_dir.rglob(f"{app}/container_*/*")
             if path.name in ("worker-0.stdout", "worker-0.stderr", "agent.log", "master.log")]
    told = {path.name: (path.stat(), path.parent.stat()) for path in files}
    run.communicate(timeout=60)
    for file, directory in told.values():
        assert file.st_uid == directory.st_uid == uid_of(lce_cluster, "alice")
        assert file.st_gid == directory.st_gid == os.getgid()  # of the NodeManager
        assert stat.S_IMODE(file.st_mode) & 0o440 == 0o440
        assert not stat.S_IMODE(file.st_mode) & 0o007
    assert set(told) == {"worker-0.stdout", "worker-0.stderr", "agent.log",
                                             "master.log"}


def test_logs_are_aggregated_and_read_back(alice):
    alice("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "sh", "-c",
          "echo in the log; echo bad >&2", check=0)
    app = alice.jobs.apps()[0]
    done = alice("logs", app, check=0)
    assert "in the log" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("user, reason, hint", [
    ("dave", "User dave not found", "every node needs an account with that name"),
    ("bin", "Requested user bin is banned", "container-executor.cfg on the nodes decides")])
def test_a_user_whom_the_nodes_do_not_run_is_told_why(alice, lce_cluster, user, reason, hint):
    """The story's first line is the reason, whatever YARN writes around it."""
    lce_cluster.fs("-mkdir", "-p", f"/user/{user}")
    lce_cluster.fs("-chown", user, f"/user/{user}")
    done = alice.jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "true", user=user)
    story = done.stdout + done.stderr
    assert done.returncode != 0 and f"failed: {reason}\n" in story, story
    assert hint in story and "main : run as" not in story, story
    told = alice.jobs.run("status", alice.jobs.apps()[-1], user=user).stdout
    assert reason in told and hint in told, told


def test_yarn_runs_the_image_where_it_can(alice, dockers, lce_cluster):
    for by in ("auto", "yarn"):
        done = alice("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--image", dockers,
                     "--image-by", by, "--", "python3", "show.py", "a b", "$x", check=0)
        told = seen(done)
        assert sorted(told) == ["worker:0", "worker:1"]
        for one in told.values():
            assert one["image"] and one["argv"] == ["a b", "$x"]
            assert one["uid"] == uid_of(lce_cluster, "alice") and one["brought"]
            assert one["one"][0].endswith("bash") or "ydl-node" in one["one"][0]


def test_an_exit_code_comes_out_of_yarns_container(alice, dockers):
    done = alice("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--image", dockers,
                 "--image-by", "yarn", "--", "sh", "-c", "echo no luck >&2; exit 9", check=9)
    assert "no luck" in done.stderr


def test_the_agent_runs_the_image_when_asked(alice, dockers, lce_cluster):
    odd = ["a b", "$HOME", "`id`", "line\nline", "", "x" * 100_000]
    env = {f"ODD{i}": text for i, text in enumerate(odd)}
    job = {"image": dockers, "image-by": "agent", "roles": {"worker": {
        "count": 2, "memory": "128m", "command": ["python3", "show.py", *odd], "env": env}}}
    (alice.jobs.work / "job.yaml").write_text(json.dumps(job))
    told = seen(alice("run", "--on", "yarn", "-f", "job.yaml", check=0))
    assert sorted(told) == ["worker:0", "worker:1"]
    for one in told.values():
        assert one["argv"] == odd and {key: one["env"][key] for key in env} == env
        assert one["image"] and one["one"][:2] == ["/.ydl-node", "init"]
        assert one["uid"] == uid_of(lce_cluster, "alice") and one["brought"]
        assert "DOCKER_HOST" not in one["env"] and "CONTAINER_ID" not in one["env"]


def test_roles_may_have_images_of_their_own(alice, dockers):
    (alice.jobs.work / "job.yaml").write_text(textwrap.dedent(f"""
        image-by: agent
        roles:
          worker: {{count: 1, memory: 128m, image: "{dockers}", command: [python3, show.py]}}
          plain: {{count: 1, memory: 128m, command: [python3, show.py]}}
    """))
    told = seen(alice("run", "--on", "yarn", "-f", "job.yaml", check=0))
    assert told["worker:0"]["image"] and not told["plain:0"]["image"]


@pytest.mark.parametrize("by", ["agent", "yarn"])
def test_an_image_that_is_not_there_is_told(alice, dockers, by):
    done = alice("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--image", "no-such-image:1",
                 "--image-by", by, "--restart", "never", "--", "true")
    assert done.returncode != 0
    assert "no-such-image:1" in done.stderr


def test_an_image_that_is_not_there_is_nobody_elses_fault(alice, dockers):
    """It is not asked for again, and no node is avoided for it."""
    done = alice("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--image", "no-such-image:1",
                 "--image-by", "yarn", "--restart", "gang", "--", "true", check=125)
    assert "could not run the image 'no-such-image:1'" in done.stderr
    assert "hint: check the image's name" in done.stderr and "avoided" not in done.stderr


@pytest.mark.parametrize("by", ["agent", "yarn"])
def test_ctrl_c_reaches_into_the_container(alice, dockers, by):
    run = alice.jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--grace", "2m",
                           "--image", dockers, "--image-by", by, "--", "sh", "-c",
                           'trap "echo saved; exit 0" TERM; echo here; while :; do sleep 0.1; done',
                           user="alice")
    assert "here" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and "saved" in out


def test_containers_end_when_their_agent_is_killed(alice, dockers, lce_cluster):
    run = alice.jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--image", dockers,
                           "--image-by", "agent", "--grace", "1s", "--restart", "task", "--", "sh", "-c",
                           FOREVER,
                           user="alice")
    assert "here" in run.stdout.readline()
    first = lce_cluster.docker("ps", "--quiet").stdout
    agents = [pid for pid, line in alice.jobs.processes("ydl-node agent").items()
              if os.stat(f"/proc/{pid}").st_uid]
    os.kill(max(agents), signal.SIGKILL)  # the keeper above it came first
    alice.jobs.wait_for(lambda: lce_cluster.docker("ps", "--quiet").stdout not in ("", first),
                        "another container")
    assert "here" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)


def test_yarns_own_kill_leaves_no_container(alice, dockers, lce_cluster):
    run = alice.jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--image", dockers,
                           "--image-by", "agent", "--", "sh", "-c", FOREVER, user="alice")
    assert "here" in run.stdout.readline()
    lce_cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-kill",
                     alice.jobs.apps()[0])
    run.communicate(timeout=60)
    alice.jobs.wait_for(lambda: lce_cluster.docker("ps", "--all", "--quiet").stdout == "",
                        "the end of the container")
