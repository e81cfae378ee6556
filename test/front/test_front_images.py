"""Front ends whose tasks run in a container image, on this machine."""

import pytest
from front_support import seen
from slider_front import TEXTS_LINE, _here, texts_files, write_package  # noqa: F401
from ydl_cluster import dockerd

pytestmark = pytest.mark.full  # needs a daemon of its own

# What a task sees, and what its first process is; servers and schedulers would stay.
SHOW = """
import json, os, sys, time
print("JSON" + json.dumps({"argv": sys.argv[1:], "env": dict(os.environ),
                           "one": open("/proc/1/cmdline").read().split(chr(0))[:2]}), flush=True)
if os.environ.get("DMLC_ROLE", "worker") != "worker" or "ps" in sys.argv:
    time.sleep(1200)
"""
TRAINER = """
import sys, time
print("TRAINS", sys.argv[1], sys.argv[2], "IN", open("/proc/1/cmdline").read().split(chr(0))[:2], flush=True)
while sys.argv[1] == "ps":
    time.sleep(1)
"""
IN_IMAGE = ["/.ydl-node", "init"]


@pytest.fixture
def image(host, fronts):
    """The name of an image that is there, for the docker that `fronts` has; no container may be left."""
    fronts.env["DOCKER_HOST"] = host.env()["DOCKER_HOST"]
    yield dockerd.IMAGE
    assert host.docker("ps", "--all", "--format", "{{.Names}} {{.Status}}").stdout == ""


MX = ["ydl-mx", "local", "-n", "2", "-s", "1", "--native", "no"]
SUBMIT = ["dmlc-submit", "--cluster", "local", "--num-workers", "2"]
TF = ["ydl-tf", "-job", "job.py", "-numberworkers", "2", "-numberps", "1", "--servers", "script", "--on", "local"]


@pytest.mark.parametrize("front,command", [(MX, ["job.py", "a b"]), (SUBMIT, ["python3", "job.py", "a b"]),
                                           (TF, ["--", "a b"])], ids=lambda v: v[0])
def test_tasks_run_in_the_image_that_was_named(fronts, image, front, command):
    fronts.write("job.py", SHOW)
    found = seen(fronts.run(*front, "--docker-image", image, *command, check=0, timeout=120))
    assert {"worker:0", "worker:1"} <= set(found)
    for name, task in found.items():
        assert task["one"] == IN_IMAGE and task["argv"][-1] == "a b"
        if front is MX:
            assert (task["env"]["DMLC_ROLE"], task["env"]["DMLC_TASK_ID"]) == tuple(name.split(":"))
        if front is TF:
            argv = task["argv"]
            assert argv[argv.index("--job_name") + 1:-1] == [name.split(":")[0], "--task_index", name.split(":")[1]]


def test_an_exit_code_comes_out_of_the_image(fronts, image):
    fronts.write("job.py", "import sys; sys.exit(7 if '/.ydl-node' in open('/proc/1/cmdline').read() else 3)")
    done = fronts.run("ydl-mx", "local", "-n", "1", "-s", "0", "--docker-image", image, "job.py", check=7, timeout=120)
    assert "exit code 7" in done.stderr


@pytest.mark.parametrize("named_by", ["appConfig", "option"])
def test_with_run_mode_docker_sliders_instances_are_in_the_image(here, image, named_by):
    files = texts_files()
    assert files["appConfig-default.json"]["global"]["site.global.run.mode"] == "docker"
    if named_by == "appConfig":
        files["appConfig-default.json"]["global"]["site.global.docker.image"] = image
    write_package(here.work / "app-packages" / "tensorflow", files, trainer=TRAINER)
    more = ["--docker-image", image] if named_by == "option" else []
    job = here.slider("create", "tf1", *TEXTS_LINE, *more, "-q", check=0).stdout.strip()
    here.run("ydl", "wait", job, check=0, timeout=180)
    said = here.run("ydl", "logs", job, check=0).stdout
    for name in ("worker 0", "worker 1"):  # a ps may be stopped before it has said anything
        assert f"TRAINS {name} IN {IN_IMAGE}" in said, said
    assert said.count("TRAINS") == said.count(f" IN {IN_IMAGE}")
    here.slider("destroy", "tf1", "--force", check=0)
