"""`ydl-tf`: TensorFlow on YARN's command, both generations, with the real TensorFlow."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from front_support import BIN, ROOT, SHOW, call, counts, roles, tasks

sys.path.insert(0, str(ROOT / "test" / "frameworks"))
import environment  # noqa: E402

MINUTES = 180
FORMS = [  # its text's own line, and the Java client's
    ["-job", "job.py", "-numberworkers", "4", "-numberps", "1", "-jar", "x-with-dependency.jar"],
    ["--tf_client", "job.py", "--num_worker", "4", "--num_ps=1", "--jar", "x.jar", "--jni_so", "b.so"],
]


@pytest.fixture(name="tf")
def _tf(fronts):
    path = f"{environment.directory()}/bin"
    fronts.env |= {"PATH": f"{path}:{fronts.env['PATH']}", "OMP_NUM_THREADS": "1",
                   "TF_CPP_MIN_LOG_LEVEL": "2"}
    shutil.copy(ROOT / "examples" / "tf" / "train.py", fronts.work)
    return fronts


@pytest.mark.parametrize("words", FORMS, ids=["script", "client"])
def test_every_form_of_the_texts_makes_a_plan_for_yarn(fronts, words):
    fronts.write("job.py", SHOW)
    plan = fronts.plan("ydl-tf", *words)
    assert counts(plan) == {"worker": 4, "ps": 1, "client": 1}
    assert roles(plan)["client"]["place"] == "client"
    client, worker = tasks(plan)["client:0"]["argv"], tasks(plan)["worker:3"]["argv"]
    assert client[:2] == ["python3", "job.py"]
    assert len(client[client.index("--wk") + 1].split(",")) == 4 and "--ps" in client
    assert "ydl-native" in worker[0] and worker[1] == "tensorflow"
    jar = next(word for word in words if word.lstrip("-") == "jar")
    assert f"ydl-tf: {jar} has no effect: ydl does not use Java" in plan["notes"].splitlines()


def test_a_script_that_is_its_own_server_is_told_which_one(fronts):
    fronts.write("job.py", SHOW)
    plan = fronts.plan("ydl-tf", "-job", "job.py", "-numberworkers", "2", "-numberps", "1",
                       "--servers", "script", "--", "--lr", "1")
    assert counts(plan) == {"worker": 2, "ps": 1}
    argv = tasks(plan)["worker:1"]["argv"]
    assert argv[argv.index("--job_name") + 1:] == ["worker", "--task_index", "1", "--lr", "1"]


def test_a_script_trains_on_servers_without_python(tf):
    done = tf.run("ydl-tf", "-job", "train.py", "-numberworkers", "2", "-numberps", "1",
                  "--clients", "workers", "--on", "local", check=0, timeout=MINUTES)
    assert done.stdout.count("error 0.0") == 2, done.stdout


def test_servers_stay_until_they_are_killed(tf):
    done = tf.run("ydl-tf", "launch", "--num_worker", "1", "--num_ps", "1", "--on", "local",
                  check=0, timeout=MINUTES)
    assert done.stdout.startswith("ClusterSpec: ") and done.stdout.count("\n") == 1
    spec = json.loads(done.stdout.partition(" ")[2])
    assert sorted(spec) == ["ps", "worker"]
    assert tf.run("ydl-tf", "cluster", "--app_id", "last", check=0).stdout == done.stdout
    trained = call(Path(environment.directory()) / "bin" / "python",
                   ["train.py", "--wk", spec["worker"][0], "--ps", spec["ps"][0]],
                   os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"}, tf.work, MINUTES)
    assert "error 0.0" in trained.stdout, trained.stderr
    tf.run("ydl-tf", "kill", "--application", "last", check=0)


@pytest.mark.parametrize("words", [["ydl-tf", "launch", "--on", "local", "--num_worker", "1", "--num_ps", "0"],
                                   ["ydl", "submit", "--spec", "clusterspec", "-n", "1", "--", "sleep", "600"]],
                         ids=["launch", "submit"])
def test_what_ends_before_it_can_say_where_it_is_tells_why(fronts, words):
    """Files that cannot be put in place end a job before it runs."""
    fronts.write("bad.tar.gz", "no archive")
    program, verb, *rest = words
    for quiet in ([], ["-q"]):
        done = fronts.run(program, verb, *quiet, "--archives", "bad.tar.gz", *rest, check=1)
        assert done.stdout == ""
        assert "failed: worker:0 on " in done.stderr and "bad.tar.gz" in done.stderr, done.stderr
    done = fronts.run(program, verb, "--json", "--archives", "bad.tar.gz", *rest, check=1)
    assert json.loads(done.stdout)["state"] == "FAILED"


NAMES = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]


def _own_library(tmp_path) -> Path:
    """TensorFlow's own two files where nothing else is."""
    lib, = Path(environment.directory()).glob(f"lib/python3*/site-packages/tensorflow/{NAMES[0]}")
    (tmp_path / "own").mkdir()
    for name in NAMES:
        os.link(lib.with_name(name), tmp_path / "own" / name)
    return tmp_path / "own" / NAMES[0]


def _train(work, spec):
    """A client of the servers that `launch` told of."""
    words = ["train.py", "--wk", json.loads(spec.removeprefix("ClusterSpec: "))["worker"][0]]
    done = call(Path(environment.directory()) / "bin" / "python", words, os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"},
                work, MINUTES)
    assert "error 0.0" in done.stdout, done.stderr


def test_a_library_of_ones_own_is_sent_with_its_other_half(tf, tmp_path):
    own = _own_library(tmp_path)
    words = ["launch", "--num_worker", "1", "--num_ps", "0", "--tf_lib", own, "--on"]
    plan = tf.run("ydl-tf", *words, "yarn", "--json", check=0, env={"YDL_PLAN": "1"}).stdout
    assert sorted(row["to"] for row in json.loads(plan)["ship"]) == [*NAMES, "ydl-native"]
    plain = {"PATH": "/usr/bin:/bin"}  # whose Python has no TensorFlow to offer
    done = tf.run("ydl-tf", *words, "local", check=0, timeout=MINUTES, env=plain)
    loaded = {Path(line.split()[-1]) for pid in tf.processes()
              for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "libtensorflow" in line}
    assert sorted(path.name for path in loaded) == NAMES
    assert not any(path.is_relative_to(environment.directory()) for path in loaded)
    _train(tf.work, done.stdout)
    tf.run("ydl-tf", "kill", "--application", "last", check=0)
    own.with_name(NAMES[1]).unlink()
    done = tf.run("ydl-tf", *words, "local", check=2)
    assert f"without {NAMES[1]}, which is not beside it" in done.stderr


def test_wrong_use_gets_a_sentence(fronts):
    assert fronts.wrong("ydl-tf", "lanch", "--num_ps", "1") == "unknown verb 'lanch'; did you mean 'launch'?"
    assert fronts.wrong("ydl-tf", "launch", "--clients", "2") == "unknown option '--clients'"
    assert fronts.wrong("ydl-tf") == "a job is missing"
    assert "no job 'x.py'" in fronts.wrong("ydl-tf", "-job", "x.py")
    assert "-numberworkers" in fronts.wrong("ydl-tf", "-job", "x.py", "-numberworkers", "0")
    assert "-jbo" in fronts.wrong("ydl-tf", "-jbo", "x.py")


def test_the_texts_line_runs_on_a_cluster(jobs):
    shutil.copy(ROOT / "examples" / "tf" / "train.py", jobs.work)
    env = jobs.env() | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    env["PATH"] = f"{environment.directory()}/bin:{env['PATH']}"
    done = call("ydl-tf", ["-job", "train.py", "-numberworkers", 2, "-numberps", 1, "-jar", "x.jar",
                           "--env", f"PATH={env['PATH']}"], env, jobs.work, MINUTES)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{jobs.tell()}"
    assert "client:0│ error 0.0" in done.stdout
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


def _with_tensorflow(jobs) -> dict[str, str]:
    """Variables of somebody whose Python has TensorFlow."""
    env = jobs.env() | {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    return env | {"PATH": f"{environment.directory()}/bin:{env['PATH']}"}


def test_servers_of_a_cluster_are_found_from_anywhere(jobs, tmp_path):
    env = _with_tensorflow(jobs)
    done = call("ydl-tf", ["launch", "--num_worker", 1, "--num_ps", 1, "--container_memory", 700, "--env",
                           f"PATH={env['PATH']}"], env, jobs.work, MINUTES)
    assert done.returncode == 0, f"{done.stderr}\n{jobs.tell()}"
    assert sorted(json.loads(done.stdout.removeprefix("ClusterSpec: "))) == ["ps", "worker"]
    app, = jobs.apps()
    other = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "none")}  # who has not submitted it
    asked = call("ydl-tf", ["cluster", "--app_id", app], jobs.env() | other, tmp_path)
    assert (asked.returncode, asked.stdout) == (0, done.stdout), asked.stderr
    ended = call("ydl-tf", ["kill", "--application", app], jobs.env() | other, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert jobs.ended()["finalStatus"] == "KILLED"


@pytest.mark.full  # half a gigabyte goes through HDFS
def test_a_library_of_ones_own_is_sent_to_a_cluster(jobs, tmp_path):
    shutil.copy(ROOT / "examples" / "tf" / "train.py", jobs.work)
    done = call("ydl-tf", ["launch", "--num_worker", 1, "--num_ps", 0, "--container_memory", 900, "--tf_lib",
                           _own_library(tmp_path)], jobs.env(), jobs.work, MINUTES)
    assert done.returncode == 0, f"{done.stderr}\n{jobs.tell()}"
    _train(jobs.work, done.stdout)
    assert call("ydl-tf", ["kill", "--application", jobs.apps()[0]], jobs.env(), jobs.work).returncode == 0
    assert jobs.ended()["finalStatus"] == "KILLED"


# Holds on to the server, and says when it is lost and when it is back on its port. A connection alone does not prove a
# server: the kernel accepts one more while it takes a killed process apart. Its greeting (HTTP/2) does.
HOLDS = """
import socket, sys, time
host, port = sys.argv[sys.argv.index("--wk") + 1].split(":")
while True:
    try:
        with socket.create_connection((host, int(port))) as s:
            s.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            if s.recv(1000):
                print("THERE", port, flush=True)
            while s.recv(1000):
                pass
    except OSError:
        time.sleep(0.1)
"""


def test_a_lost_server_comes_back_and_ctrl_c_ends_everything(jobs):
    (jobs.work / "job.py").write_text(HOLDS)
    env = _with_tensorflow(jobs)
    running = subprocess.Popen(
        [BIN / "ydl-tf", "-job", "job.py", "--container_memory", "700", "--container_retry_policy", "1",
         "--container_max_retries", "3", "--env", f"PATH={env['PATH']}"], env=env, cwd=jobs.work, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    first = running.stdout.readline()
    server, = jobs.processes("ydl-native")
    os.kill(server, signal.SIGKILL)
    assert first.startswith("client:0│ THERE ") and running.stdout.readline() == first
    again, = jobs.processes("ydl-native")
    assert again != server
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130, told
    assert jobs.ended()["finalStatus"] in ("KILLED", "FAILED")
