"""`image:` on this machine: the agent runs the task by docker."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from ydl_cluster import dockerd
from ydl_cluster.patience import stretched

pytestmark = pytest.mark.full  # needs a daemon of its own

SHOW = """
import json, os, sys

print("JSON" + json.dumps({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
                           "ids": [os.getuid(), os.getgid()], "pid": os.getpid(),
                           "one": open("/proc/1/cmdline").read().split("\\0")}), flush=True)
"""
FOREVER = 'trap "" TERM; echo here; while :; do sleep 0.1; done'


@pytest.fixture
def image(host, local):
    """The name of an image that is there, for the docker that `local` has; no container may be
    left."""
    local.env["DOCKER_HOST"] = host.env()["DOCKER_HOST"]
    yield dockerd.IMAGE
    assert containers(host) == []


def containers(host):
    return host.docker("ps", "--all", "--format", "{{.Names}} {{.Status}}").stdout.splitlines()


def told(done):
    """What a task that ran show.py printed."""
    line = next(line for line in done.stdout.decode().splitlines() if "JSON" in line)
    return json.loads(line.partition("JSON")[2])


def story(done):
    return done.stderr.decode()


def gone(host, local, seconds=5):
    """No container any more."""
    local.wait_for(lambda: not containers(host), "the end of the containers", seconds)


def test_a_task_runs_in_its_image_as_the_same_user_in_the_same_directory(local, image):
    (local.work / "show.py").write_text(SHOW)
    done = local.run("run", "-n", 1, "--image", image, "--", "python3", "show.py", "a b", "$x",
                     check=0)
    seen = told(done)
    assert seen["argv"] == ["a b", "$x"]
    assert seen["cwd"] == str(local.work)
    assert seen["ids"] == [os.getuid(), os.getgid()]
    assert seen["one"][:2] == ["/.ydl-node", "init"] and seen["pid"] != 1
    assert seen["env"]["YDL_RANK"] == "0" and seen["env"]["HOSTNAME"]


def test_every_byte_of_the_environment_arrives_and_the_images_own_stays(local, image):
    (local.work / "show.py").write_text(SHOW)
    odd = ["a b", "$HOME", "`id`", "\\", "'", '"', "line\nline", "", "ü\u2028", "x" * 100_000]
    env = {f"ODD{i}": text for i, text in enumerate(odd)}
    job = {"image": image, "roles": {"worker": {
        "count": 1, "command": ["python3", "show.py", *odd], "env": env}}}
    (local.work / "job.yaml").write_text(json.dumps(job))
    seen = told(local.run("run", "-f", "job.yaml", check=0,
                          env={"FROM_SHELL": "yes", "PYTHONPATH": "/nowhere"}))
    assert seen["argv"] == odd
    assert {key: seen["env"][key] for key in env} == env
    assert seen["env"]["FROM_SHELL"] == "yes" and "PYTHONPATH" not in seen["env"]
    assert seen["env"]["PATH"] != local.env["PATH"]
    assert "DOCKER_HOST" not in seen["env"]


def test_output_exit_codes_and_signals_come_through(local, image):
    done = local.run("run", "-n", 1, "--image", image, "--", "sh", "-c",
                     "echo out; echo err >&2; exit 7", check=7)
    assert b"out" in done.stdout and "err" in story(done)
    done = local.run("run", "-n", 1, "--image", image, "--", "sh", "-c", "kill -SEGV $$", check=139)
    assert "SIGSEGV" in story(done)


def test_what_cannot_be_started_is_told_as_such(local, image, host):
    done = local.run("run", "-n", 1, "--image", image, "--", "no-such-program")
    assert done.returncode == 127 and "there is no command 'no-such-program'" in story(done)
    done = local.run("run", "-n", 1, "--image", "no-such-image:1", "--", "true")
    assert done.returncode != 0 and "no-such-image:1" in story(done)
    assert "start" in story(done)
    done = local.run("run", "-n", 1, "--image", image, "--", "true",
                     env={"DOCKER_HOST": "unix:///nowhere"})
    assert done.returncode != 0 and "/nowhere" in story(done)
    done = local.run("run", "-n", 1, "--image", image, "--", "true",
                     env={"PATH": "/nowhere"})
    assert done.returncode != 0 and "docker" in story(done)


def test_bad_names_are_refused_before_anything_runs(local):
    done = local.run("run", "-n", 1, "--image", "No Such", "--", "true", check=2)
    assert "No Such" in story(done) and not local.jobs()
    done = local.run("run", "-n", 1, "--image", "a:1", "--image-by", "yarn", "--", "true", check=2)
    assert "image-by" in story(done)


def test_tasks_meet_and_the_store_is_theirs(local, image):
    (local.work / "kv.py").write_text("""
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["YDL_SOCKET"])
f = s.makefile("rw")
rank = os.environ["YDL_RANK"]
f.write(f"put k{rank} v{rank}\\n"); f.flush(); f.readline()
f.write(f"wait k{1 - int(rank)}\\n"); f.flush()
print("GOT", f.readline().strip(), os.path.exists(os.environ["YDL_SPEC"]), flush=True)
""")
    done = local.run("run", "-n", 2, "--image", image, "--", "python3", "kv.py", check=0)
    text = done.stdout.decode()
    assert "v1 True" in text and "v0 True" in text


def test_stop_asks_first_and_kills_then(local, image, host):
    run = local.start("run", "-n", 1, "--grace", "20s", "--image", image, "--", "sh", "-c",
                      'trap "echo saved; exit 0" TERM; echo here; while :; do sleep 0.1; done')
    assert b"here" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert b"saved" in out and run.returncode == 130
    run = local.start("run", "-n", 1, "--grace", "1s", "--image", image, "--", "sh", "-c", FOREVER)
    assert b"here" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    begin = time.monotonic()
    run.communicate(timeout=60)
    assert 1 <= time.monotonic() - begin < stretched(8)
    assert containers(host) == []


def test_a_container_ends_with_whoever_runs_it(local, image, host):
    for victim in ("ydl-node agent", "ydl-node master", "docker run"):
        run = local.start("run", "-n", 1, "--image", image, "--", "sh", "-c", FOREVER)
        assert b"here" in run.stdout.readline()
        for pid in local.find(victim):
            os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        assert run.returncode != 0
        gone(host, local)


def test_an_agent_killed_while_docker_starts_leaves_nothing(local, image, host):
    for pause in (0, 0.05, 0.15, 0.3):
        run = local.start("run", "-n", 3, "--image", image, "--", "sh", "-c", FOREVER)
        local.wait_for(lambda: local.find("docker run"), "the docker client")
        time.sleep(pause)
        for pid in local.find("ydl-node agent"):
            os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        gone(host, local)


def test_a_restarted_task_gets_a_new_container(local, image):
    job = {"image": image, "restart": {"policy": "task", "max": 2}, "roles": {"worker": {
        "count": 1, "command": ["sh", "-c", "[ -e again ] && exit 0; touch again; exit 3"]}}}
    (local.work / "job.yaml").write_text(json.dumps(job))
    local.run("run", "-f", "job.yaml", check=0)
    assert (local.work / "again").exists()


def test_memory_is_limited_and_the_story_says_so(local, image):
    done = local.run("run", "-n", 1, "--mem", "64m", "--image", image, "--", "python3", "-c",
                     "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1")
    assert done.returncode == 137 and "64 MB" in story(done)


def test_mounts_and_files_are_there(local, image, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("hello")
    (tmp_path / "brought").write_text("along")
    job = {"image": image, "mounts": [f"{tmp_path}/data:/in:ro"], "files": [f"{tmp_path}/brought"],
           "roles": {"worker": {"count": 1, "command": [
               "sh", "-c", "cat /in/x brought; touch /in/y || echo read-only"]}}}
    (local.work / "job.yaml").write_text(json.dumps(job))
    done = local.run("run", "-f", "job.yaml", check=0)
    assert b"helloalong" in done.stdout and b"read-only" in done.stdout
    assert not Path(tmp_path / "data" / "y").exists()
