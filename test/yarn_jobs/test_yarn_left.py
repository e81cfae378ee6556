"""What a job on YARN leaves in HDFS when it has ended: results, output, what became of it; and who
finds that again, from where."""

import json
import subprocess
import time

import pytest

from ydl_cluster import spec as specs

RUN = ("run", "--on", "yarn", "--mem", "128m")
AGGREGATED_S = 120  # YARN takes its time
HOME = f"/user/{specs.me()}/.ydl"

# Lines of known length, on both streams, in parts that the agent cuts off meanwhile.
LONG = """
import os, sys, time
for i in range(4000):
    print(f"{os.environ['YDL_RANK']} {i:06d}", "x" * 90, flush=True)
    if i % 400 == 0:
        print("noted", i, file=sys.stderr, flush=True)
        time.sleep(0.3)
"""


def names(jobs, path):
    """What is in a directory of HDFS."""
    entries = json.loads(jobs.run("fs", "ls", "--json", path, check=0).stdout)["entries"]
    return sorted(e["path"].rpartition("/")[2] for e in entries)


def files_of(jobs, app):
    """Names and contents of what is in HDFS of a job's output."""
    found = [name for name in names(jobs, f"{HOME}/logs/{app}") if name.endswith((".out", ".err"))]
    return {name: jobs.run("fs", "cat", f"{HOME}/logs/{app}/{name}", check=0).stdout
            for name in found}


# ---- results and output ----

def test_results_are_in_hdfs_without_a_flag(jobs):
    """The old front end has no flag for it: its texts promise this place."""
    (jobs.work / "job.py").write_text(
        'import os\n'
        'if os.environ["DMLC_ROLE"] == "worker":\n'
        '    open(os.environ["YDL_OUT"] + "/model-0001.params", "w").write("trained")\n'
        '    print("accuracy 0.96", flush=True)\n')
    subprocess.run([jobs.bin / "ydl-mx", "yarn", "-n", "1", "-s", "1", "--mem", "128m", "--native", "no",
                    "--scheduler", "cluster", "job.py"], env=jobs.env(), cwd=jobs.work, timeout=120,
                   check=True, stdin=subprocess.DEVNULL)
    app = jobs.ended()["id"]
    assert names(jobs, f"{HOME}/out/{app}") == ["model-0001.params"]
    model = jobs.run("fs", "cat", f"{HOME}/out/{app}/model-0001.params", check=0).stdout
    assert model == "trained"
    assert files_of(jobs, app)["worker-0.out"] == "accuracy 0.96\n"
    jobs.run("fs", "rm", "-r", f"{HOME}/out/{app}", check=0)


def test_output_is_in_hdfs_when_the_job_has_ended(jobs, tmp_path):
    """Both have begun before one of them ends the job."""
    jobs.run(*RUN, "-n", 2, "--", "sh", "-c", "echo out $YDL_RANK; echo err $YDL_RANK >&2; "
             f"touch {tmp_path}/$YDL_RANK; until [ -e {tmp_path}/0 ] && [ -e {tmp_path}/1 ]; do "
             "sleep 0.05; done; exit 3", check=3)
    app = jobs.ended()["id"]
    left = files_of(jobs, app)
    assert left == {f"worker-{rank}.{stream}": f"{stream} {rank}\n"
                    for rank in range(2) for stream in ("out", "err")}


# ---- the logs that YARN puts together ----

def wait_aggregated(jobs, app):
    def done():
        return jobs.cluster.app(app).get("logAggregationStatus") in ("SUCCEEDED", "FAILED", "TIME_OUT")
    jobs.wait_for(done, f"{app} has its logs aggregated", AGGREGATED_S)
    assert jobs.cluster.app(app)["logAggregationStatus"] == "SUCCEEDED"


@pytest.mark.full
@pytest.mark.parametrize("gone", ["output", "everything"])
def test_output_is_read_from_yarns_logs_where_ours_is_gone(jobs, gone):
    (jobs.work / "long.py").write_text(LONG)
    (jobs.work / "job.yaml").write_text(json.dumps({
        "log-rotate": "128k", "roles": {"worker": {
            "count": 2, "memory": "128m", "command": ["python3", "-u", "long.py"]}}}))
    jobs.run("run", "--on", "yarn", "-f", "job.yaml", "-q", check=0)
    app = jobs.ended()["id"]
    words = {stream: ("logs", app, "worker:1", f"--{stream}", "--no-prefix")
             for stream in ("stdout", "stderr")}
    written = {"stdout": "".join(f"1 {i:06d} {'x' * 90}\n" for i in range(4000)),
               "stderr": "".join(f"noted {i}\n" for i in range(0, 4000, 400))}

    def check():
        for stream, text in written.items():  # each comes where it belongs
            assert getattr(jobs.run(*words[stream], check=0), stream) == text
    check()
    wait_aggregated(jobs, app)
    ours = files_of(jobs, app)
    assert len(ours) >= 4, ours
    jobs.run("fs", "rm", "-r", *([f"{HOME}/logs/{app}"] if gone == "everything" else
                                 [f"{HOME}/logs/{app}/{name}" for name in ours]), check=0)
    check()
    both = jobs.run("logs", app, "--stdout", check=0).stdout.splitlines()
    assert len(both) == 8000 and sum(line.startswith("worker:0│ 0 ") for line in both) == 4000


# ---- from another machine ----

@pytest.fixture
def elsewhere(jobs, tmp_path):
    """`ydl ARGS` where nobody has ever heard of the job: another home, state and directory."""
    there = tmp_path / "elsewhere"
    for name in ("home", "state", "run", "work"):
        (there / name).mkdir(parents=True)
    env = jobs.env() | {"HOME": str(there / "home"), "XDG_STATE_HOME": str(there / "state"),
                        "TMPDIR": str(there / "run")}

    def run(*args, check=0):
        done = subprocess.run([jobs.bin / "ydl", *map(str, args)], env=env, cwd=there / "work",
                              text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                              check=False)
        assert done.returncode == check, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout
    return run


@pytest.mark.parametrize("by", ["id", "name"])
def test_a_job_is_found_from_another_machine(jobs, elsewhere, by):
    name = f"far-{time.time_ns()}"
    app = jobs.run("submit", "--on", "yarn", "-q", "-n", 2, "--mem", "128m", "--name", name, "--grace",
                   "2m", "--",
                   "sh", "-c", 'trap "echo over; exit 0" TERM; echo here $YDL_RANK; '
                   "while :; do sleep 0.1; done", check=0).stdout.strip()
    job = app if by == "id" else name

    def running():
        status = json.loads(elsewhere("status", "--json", job))
        return [task["state"] for task in status["tasks"]] == ["RUNNING"] * 2
    jobs.wait_for(running, "the tasks run")
    jobs.wait_for(lambda: elsewhere("logs", job, "worker:1") == "worker:1│ here 1\n", "its output")
    assert json.loads(elsewhere("top", "--json", job))["jobs"][0]["job"] == app
    assert len(json.loads(elsewhere("spec", "--json", job))["roles"]["worker"]) == 2
    elsewhere("wait", job, "--timeout", "1s", check=124)
    assert json.loads(elsewhere("stop", "--json", job))["state"] == "KILLED"
    jobs.ended(app)
    status = json.loads(elsewhere("status", "--json", job))
    assert (status["job"], status["state"], status["exit"]) == (app, "KILLED", 143)
    assert elsewhere("logs", job, "worker:0", "--no-prefix") == "here 0\nover\n"
    assert json.loads(elsewhere("events", "--json", job).splitlines()[-1])["event"] == "end"
    elsewhere("wait", job, check=143)
