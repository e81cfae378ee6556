"""`make demo-yarn`: with everything that it calls replaced by scripts that say they were called, and,
in the long suite, as it is."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from ydl_cluster.guide import blocks_of
from ydl_cluster.patience import Limit

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = {"rm_http": "http://127.0.0.1:6024"}
# The stand-in for the test bed: `up` makes a file, `down` removes it.
HADOOP = """#!/bin/sh
echo "hadoop $*" >> ran
case $1 in
up) test ! -e no-ports || { echo 'hadoop: no free block of 100 ports' >&2; exit 1; }
    mkdir -p clusters/demo ;;
down) rm -rf clusters/demo ;;
status) test -e clusters/demo || exit 3; echo '%s' ;;
env) echo 'export HADOOP_CONF_DIR=/conf' ;;
esac
""" % json.dumps(CLUSTER)
YDL = """#!/bin/sh
cd "$(dirname "$0")/../.."
echo "ydl $1" >> ran
case $1 in
run) test ! -e slow || { trap 'echo stopped >> ran; exit 130' INT; sleep 60; }
     test ! -e fails ;;
status) echo '{"job": "application_1_0001"}' ;;
esac
"""


class Tree:
    """A repository with nothing but the script and stand-ins."""

    def __init__(self, root: Path):
        self.root = root
        note = 'echo "$(basename $0) $*" >> ran\n'
        for path, text in (("tools/setup", f"#!/bin/sh\n{note}"), ("Makefile", "all:\n\t@echo make >> ran\n"),
                           ("tools/demo", f"#!/bin/sh\n{note}echo /venv\n"), ("build/bin/ydl", YDL),
                           ("test/cluster/hadoop", HADOOP), ("examples/mxnet-digits/train.py", "")):
            self.write(path, text)
        shutil.copy(ROOT / "tools" / "demo-yarn", root / "tools")

    def write(self, path: str, text: str = "") -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def start(self, *words: str, memory: int = 9000) -> subprocess.Popen:
        """The script, on a machine with so much memory."""
        env = os.environ | {"YDL_CLUSTER_DIR": str(self.root / "clusters")}
        line = f'source tools/demo-yarn; available_mb() {{ echo {memory}; }}; ydl=$PWD/build/bin/ydl; main "$@"'
        return subprocess.Popen(["bash", "-c", line, "demo-yarn", *words], cwd=self.root, env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *words: str, check: int = 0, **options) -> subprocess.CompletedProcess:
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=60)
        assert process.returncode == check, (process.returncode, out, err)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def has_run(self, line: str) -> bool:
        path = self.root / "ran"
        return path.exists() and line in path.read_text()

    def ran(self) -> list[str]:
        """What was called since the last question, by its first two words."""
        path = self.root / "ran"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [" ".join(line.split()[:2]) for line in lines]


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    return Tree(tmp_path)


def test_it_does_everything_itself_and_names_both_pages(tree):
    out = tree.run().stdout
    ran = tree.ran()
    steps = ["setup demo-yarn", "make", "demo --venv", "hadoop up", "ydl run"]
    assert sorted(steps, key=ran.index) == steps
    assert re.search(r"ResourceManager's page +http://127.0.0.1:6024\n", out)
    assert re.search(r"job's page +http://127.0.0.1:6024/cluster/app/application_1_0001\n", out)
    assert "make demo-yarn-down" in out and "hadoop down" not in ran


def test_a_second_call_uses_what_runs_however_little_memory_is_left(tree):
    tree.run()
    tree.ran()
    assert "Hadoop runs already" in tree.run(memory=10).stdout
    ran = tree.ran()
    assert "hadoop heal" in ran and "hadoop up" not in ran and "ydl run" in ran


def test_missing_memory_is_said_before_anything_starts(tree):
    err = tree.run(memory=900, check=1).stderr
    assert "this machine has 900 MB of memory available; Hadoop and the training need 2500 MB" in err
    assert "make demo" in err and "hadoop up" not in tree.ran()


def test_missing_ports_are_said(tree):
    tree.write("no-ports")
    err = tree.run(check=1).stderr
    assert "no free block of 100 ports" in err and "Hadoop could not be started" in err
    assert "hadoop list" in err


def test_a_training_that_fails_leaves_hadoop_to_look_at(tree):
    tree.write("fails")
    err = tree.run(check=1).stderr
    assert "the training failed" in err and CLUSTER["rm_http"] in err and "demo-yarn-down" in err
    assert "hadoop down" not in tree.ran()


@pytest.mark.parametrize("before", [False, True], ids=["its own", "one that ran before"])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_call_ends_what_it_started(tree, sig, before):
    if before:
        tree.run()
        tree.ran()
    tree.write("slow")
    process = tree.start()
    limit = Limit(60)
    while not tree.has_run("ydl run"):
        assert not limit.over()
        time.sleep(0.05)
    process.send_signal(sig)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + sig, (out, err)
    ran = tree.ran()
    assert "stopped" in ran
    assert ("hadoop down" in ran) == (not before)
    assert (tree.root / "clusters" / "demo").exists() == before


def test_down_stops_it_and_may_come_twice(tree):
    tree.run()
    tree.ran()
    tree.run("down")
    assert tree.ran() == ["hadoop down"]
    assert "does not run" in tree.run("down").stdout
    assert tree.ran() == []


@pytest.mark.full
def test_on_a_real_hadoop(tmp_path):
    env = os.environ | {"YDL_CLUSTER_DIR": str(tmp_path / "clusters"), "XDG_STATE_HOME": str(tmp_path / "state")}

    def call(*words, timeout=900):
        return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    block, = blocks_of("README.md", __file__)
    here, there, down = (["bash", "-c", line] for line in block.splitlines())
    try:
        done = call(*here)
        assert done.returncode == 0 and "accuracy" in done.stdout, f"{done.stdout}\n{done.stderr}"
        done = call(*there)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert float(re.search(r"accuracy ([0-9.]+)", done.stdout).group(1)) > 0.9
        rm, job = re.findall(r"page +(http\S+)$", done.stdout, re.MULTILINE)
        for page, word in ((f"{rm}/cluster", "All Applications"), (job, "SUCCEEDED")):
            with urllib.request.urlopen(page, timeout=60) as answer:
                assert word in answer.read().decode()
        told = "\n".join(line.partition("   ")[0] for line in done.stdout.partition("Next, ")[2].splitlines()[1:-1])
        done = call("bash", "-ec", told, timeout=300)
        assert done.returncode == 0 and "accuracy" in done.stdout, f"{told}\n{done.stdout}\n{done.stderr}"
        again = call(*there)
        assert again.returncode == 0 and "Hadoop runs already" in again.stdout, f"{again.stdout}\n{again.stderr}"
    finally:
        done = call(*down)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "clusters").glob("[!.]*"))
